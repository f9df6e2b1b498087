package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"lembas/commands"
	"lembas/events"
	"lembas/web/request"
)

// conversation is the promised shape of a chat.
type conversation struct {
	ID, Title, Kind, Mode, Model, Status string
	Folder                               string `json:"folder_id"`
	Pinned                               bool
	Position                             events.Position
	Earlier                              string
	Messages                             []struct {
		ID, Role, Status, Content, Reasoning string
		Tools                                []json.RawMessage
		Versions                             []struct{ ID, Content string }
	}
	Queue []struct {
		Message string `json:"message_id"`
		Text    string
	}
	Pending []json.RawMessage
}

func (w *world) see(chat, query string) conversation {
	w.t.Helper()
	a := w.do(w.ann, "GET", "/api/v1/chats/"+chat+query, nil)
	if a.status != 200 {
		w.t.Fatalf("%d %s", a.status, a.body)
	}
	var c conversation
	a.json(w.t, &c)
	return c
}

// told is a conversation as "role status content" lines.
func told(c conversation) (out []string) {
	for _, m := range c.Messages {
		out = append(out, m.Role+" "+m.Status+" "+m.Content)
	}
	return out
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestConversation(t *testing.T) {
	w := newWorld(t)
	c := w.chat(w.ann, "First words")
	got := w.see(c.Chat, "")
	if got.ID != c.Chat || got.Title != "First words" || got.Kind != "chat" || got.Model != w.names["model"] || got.Status != "running" || got.Position != c.Position {
		t.Errorf("%+v", got)
	}
	if got.Queue == nil || got.Pending == nil || got.Messages[0].Tools == nil {
		t.Error("empty lists are lists")
	}
	same(t, told(got), []string{"user complete First words", "assistant streaming "})

	path := "/api/v1/chats/" + c.Chat
	var queued struct {
		Message string `json:"message_id"`
		Queued  bool
	}
	w.do(w.ann, "POST", path+"/messages", `{"text":"Second"}`).json(t, &queued)
	w.do(w.ann, "PATCH", path+"/messages/"+queued.Message, `{"text":"Second, better"}`)
	got = w.see(c.Chat, "")
	same(t, told(got), []string{"user complete First words", "assistant streaming ", "user queued Second, better"})
	if len(got.Queue) != 1 || got.Queue[0].Message != queued.Message || got.Queue[0].Text != "Second, better" {
		t.Errorf("queue %+v", got.Queue)
	}
	if a := w.do(w.ann, "POST", path+"/messages/"+c.Message+"/edit", `{"text":"x"}`); a.status != 409 {
		t.Errorf("editing while a reply runs: %d", a.status)
	}
	if a := w.do(w.ann, "DELETE", path+"/messages/"+queued.Message, nil); a.status != 204 {
		t.Errorf("withdraw: %d", a.status)
	}
	if a := w.do(w.ann, "POST", path+"/stop", nil); a.status != 202 {
		t.Errorf("stop: %d", a.status)
	}
	same(t, told(w.see(c.Chat, "")), []string{"user complete First words", "assistant stopped "})

	var again struct {
		Reply string `json:"reply_id"`
	}
	w.do(w.ann, "POST", path+"/replies/"+c.Reply+"/regenerate", nil).json(t, &again)
	w.reply(created{Chat: c.Chat, Reply: again.Reply}, "Answer.")
	got = w.see(c.Chat, "")
	same(t, told(got), []string{"user complete First words", "assistant complete Answer."})
	if v := got.Messages[1].Versions; len(v) != 2 || v[0].ID != c.Reply || v[1].ID != again.Reply {
		t.Errorf("versions %+v", v)
	}
	w.do(w.ann, "POST", path+"/messages/"+c.Message+"/edit", `{"text":"Other words"}`)
	same(t, told(w.see(c.Chat, "")), []string{"user complete Other words", "assistant streaming "})
	same(t, told(w.see(c.Chat, fmt.Sprintf("?at=%d", c.Position))), []string{"user complete First words", "assistant streaming "})

	for query, field := range map[string]string{"?at=x": "at", "?at=1": "at", "?limit=0": "limit", "?limit=5000": "limit", "?before=none": "before"} {
		if a := w.do(w.ann, "GET", path+query, nil); a.status != 422 || a.fields(t)[0] != field {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

func TestMessagesPageFromTheEnd(t *testing.T) {
	w := newWorld(t)
	c := w.chat(w.ann, "turn 0")
	w.reply(c, "reply 0")
	for i := 1; i < 4; i++ {
		a := w.do(w.ann, "POST", "/api/v1/chats/"+c.Chat+"/messages", map[string]string{"text": "turn " + strconv.Itoa(i)})
		var s struct {
			Reply string `json:"reply_id"`
		}
		a.json(t, &s)
		w.reply(created{Chat: c.Chat, Reply: s.Reply}, "reply "+strconv.Itoa(i))
	}
	var pages []string
	for before := ""; ; {
		got := w.see(c.Chat, "?limit=3&before="+before)
		var words []string
		for _, m := range got.Messages {
			words = append(words, m.Content)
		}
		pages = append(pages, strings.Join(words, ", "))
		if before = got.Earlier; before == "" {
			break
		}
	}
	same(t, pages, []string{"reply 2, turn 3, reply 3", "turn 1, reply 1, turn 2", "turn 0, reply 0"})
}

func TestIdempotencyKey(t *testing.T) {
	w := newWorld(t)
	key := "Idempotency-Key: abc"
	first := w.do(w.ann, "POST", "/api/v1/chats", `{"text":"once"}`, key)
	head := w.log.Head()
	again := w.do(w.ann, "POST", "/api/v1/chats", `{"text":"once"}`, key)
	var a, b created
	first.json(t, &a)
	w.do(w.ann, "POST", "/api/v1/folders", `{"name":"later"}`)
	if late := w.do(w.ann, "POST", "/api/v1/chats", `{"text":"once"}`, key); late.status != 201 || string(late.body) != string(first.body) {
		t.Errorf("%s, and after more events %s", first.body, late.body)
	}
	again.json(t, &b)
	if first.status != 201 || again.status != 201 || a.Chat != b.Chat || a.Reply != b.Reply || w.log.Head() != head+1 {
		t.Errorf("%s then %s", first.body, again.body)
	}
	for name, other := range map[string]answer{
		"another body":  w.do(w.ann, "POST", "/api/v1/chats", `{"text":"twice"}`, key),
		"another route": w.do(w.ann, "POST", "/api/v1/chats/"+a.Chat+"/messages", `{"text":"once"}`, key),
	} {
		if other.status != 409 {
			t.Errorf("%s: %d %s", name, other.status, other.body)
		}
	}
	if other := w.do(w.bob, "POST", "/api/v1/chats", `{"text":"twice"}`, key); other.status != 201 {
		t.Errorf("another person's key: %d %s", other.status, other.body)
	}
	if long := w.do(w.ann, "POST", "/api/v1/chats", `{"text":"x"}`, "Idempotency-Key: "+strings.Repeat("k", 201)); long.status != 400 {
		t.Errorf("a long key: %d", long.status)
	}
}

// TestPasswordsLeaveNoHash: a body with a password is not hashed into the log.
func TestPasswordsLeaveNoHash(t *testing.T) {
	w := newWorld(t)
	a := w.do(w.root, "POST", "/api/v1/users", `{"email":"x@example.test","password":"some password"}`, "Idempotency-Key: k1")
	if a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if _, used, err := w.log.Outcome(context.Background(), events.Actor{Kind: events.Person, ID: w.root.id}, "k1"); err != nil || used {
		t.Errorf("used %v %v", used, err)
	}
}

func TestPatchChat(t *testing.T) {
	w := newWorld(t)
	path := w.fill("/api/v1/chats/$chat")
	var got conversation
	w.do(w.ann, "PATCH", path, w.fill(`{"title":"  New   name ","folder_id":"$folder","pinned":true}`)).json(t, &got)
	if got.Title != "New name" || got.Folder != w.names["folder"] || !got.Pinned {
		t.Errorf("%+v", got)
	}
	got = conversation{}
	w.do(w.ann, "PATCH", path, `{"folder_id":null}`).json(t, &got)
	if got.Folder != "" || got.Title != "New name" || !got.Pinned {
		t.Errorf("null clears, absent stays: %+v", got)
	}
	for body, field := range map[string]string{`{"title":""}`: "title", `{"title":null}`: "title", `{"folder_id":"none"}`: "folder_id",
		`{"model":"none"}`: "model", `{"effort":"huge"}`: "effort", `{"mode":"auto"}`: "mode", `{"scope":{"X":false}}`: "scope", `{"allow":["x"]}`: "allow",
		`{"Title":"x"}`: "Title", `{"owner_id":"x"}`: "owner_id", `{"title":"x","title":"y"}`: "title", `{"pinned":"yes"}`: "pinned"} {
		if a := w.do(w.ann, "PATCH", path, body); a.status != 422 || a.fields(t)[0] != field {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	for _, body := range []string{`{"kind":"agent"}`, `{"profile_id":"p"}`, `{"project_dir":null,"title":"x"}`} {
		if a, b := w.do(w.ann, "PATCH", path, body), w.do(w.bob, "PATCH", path, body); a.status != 409 || b.status != 404 {
			t.Errorf("%s: %d %s, for another person %d", body, a.status, a.body, b.status)
		}
	}
}

func TestCreateChatRefuses(t *testing.T) {
	w := newWorld(t)
	for body, field := range map[string]string{`{"text":" "}`: "text", `{"text":"x","model":"none"}`: "model", `{"text":"x","kind":"agent"}`: "kind",
		`{"text":"x","profile_id":"p"}`: "profile_id", `{"text":"x","mode":"auto"}`: "mode", `{"text":"x","attachments":["a"]}`: "attachments",
		`{"text":"x","folder_id":"none"}`: "folder_id", `{"text":"x","owner":"bob"}`: "owner"} {
		if a := w.do(w.ann, "POST", "/api/v1/chats", body); a.status != 422 || a.fields(t)[0] != field {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	if a := w.do(w.ann, "POST", "/api/v1/chats", map[string]string{"text": strings.Repeat("x", commands.MaxText+1)}); a.status != 413 {
		t.Errorf("a long text: %d", a.status)
	}
	if a := w.do(w.ann, "POST", "/api/v1/chats", map[string]string{"text": strings.Repeat("x", request.MaxBody)}); a.status != 413 {
		t.Errorf("a long body: %d", a.status)
	}
	if a := w.do(w.ann, "POST", "/api/v1/chats", map[string]string{"text": strings.Repeat("\x01", commands.MaxText/2)}); a.status != 201 {
		t.Errorf("half a mebibyte of characters that are escaped: %d", a.status)
	}
}

func TestConnections(t *testing.T) {
	w := newWorld(t)
	w.discover = func(context.Context, string, string) ([]commands.Discovered, error) {
		return nil, errors.New("connection refused")
	}
	a := w.do(w.root, "POST", "/api/v1/connections", `{"name":"down","base_url":"http://down.test/v1"}`)
	var down struct {
		ID     string
		Models []any
		Error  string
	}
	a.json(t, &down)
	if a.status != 201 || down.ID == "" || down.Models == nil || len(down.Models) != 0 || !strings.Contains(down.Error, "refused") {
		t.Errorf("%d %s", a.status, a.body)
	}
	var asked string
	w.discover = func(_ context.Context, _, key string) ([]commands.Discovered, error) {
		asked = key
		return []commands.Discovered{{Name: "a"}, {Name: "b"}}, nil
	}
	path := "/api/v1/connections/" + down.ID
	w.do(w.root, "PATCH", path, `{"api_key":"sk-1"}`)
	down.Error = ""
	w.do(w.root, "POST", path+"/refresh", nil).json(t, &down)
	if len(down.Models) != 2 || down.Error != "" || asked != "sk-1" {
		t.Errorf("%+v, asked with %q", down, asked)
	}
	if a := w.do(w.root, "PATCH", path, `{"base_url":"http://other.test/v1"}`); a.status != 422 || a.fields(t)[0] != "api_key" {
		t.Errorf("a key followed to another host: %d %s", a.status, a.body)
	}
	var c struct {
		HasKey bool `json:"has_key"`
	}
	w.do(w.root, "PATCH", path, `{"base_url":"http://other.test/v1","api_key":null}`).json(t, &c)
	if c.HasKey {
		t.Error("null takes the key away")
	}
}

func TestModels(t *testing.T) {
	w := newWorld(t)
	path := w.fill("/api/v1/models/$model")
	var m struct {
		Title         string
		Enabled       bool
		ContextLength int `json:"context_length"`
		Params        map[string]float64
		SystemPrompt  string `json:"system_prompt"`
	}
	w.do(w.root, "PATCH", path, `{"title":"Nice","params":{"temperature":0.5},"system_prompt":"Be brief.","position":1}`).json(t, &m)
	if m.Title != "Nice" || m.Params["temperature"] != 0.5 || m.ContextLength != 4096 || m.SystemPrompt != "Be brief." {
		t.Errorf("%+v", m)
	}
	if a := w.do(w.ann, "GET", "/api/v1/models", nil); strings.Contains(string(a.body), "Be brief.") {
		t.Errorf("an administrator's prompt is shown to all: %s", a.body)
	}
	if a := w.do(w.root, "PATCH", path, `{"system_prompt":null}`); !strings.Contains(string(a.body), `"system_prompt":""`) {
		t.Errorf("an empty prompt is a value too: %s", a.body)
	}
	w.do(w.root, "PATCH", path, `{"enabled":false}`)
	count := func(who *actor) int {
		var l struct{ Items []any }
		w.do(who, "GET", "/api/v1/models", nil).json(t, &l)
		return len(l.Items)
	}
	if count(w.ann) != 0 || count(w.root) != 1 {
		t.Errorf("one that is off: %d and %d", count(w.ann), count(w.root))
	}
	for body, field := range map[string]string{`{"params":{"heat":1}}`: "params", `{"position":0}`: "position", `{"context_length":-1}`: "context_length", `{"id":"x"}`: "id"} {
		if a := w.do(w.root, "PATCH", path, body); a.status != 422 || a.fields(t)[0] != field {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}

func TestSettings(t *testing.T) {
	w := newWorld(t)
	var got map[string]any
	w.do(w.root, "PATCH", "/api/v1/settings", `{"limits.jobs":3,"tools.ask":["write"]}`).json(t, &got)
	if got["limits.jobs"] != 3.0 || got["signup"] != true {
		t.Errorf("%v", got)
	}
	w.do(w.root, "PATCH", "/api/v1/settings", `{"limits.jobs":null}`).json(t, &got)
	if got["limits.jobs"] != 8.0 {
		t.Errorf("null is the default again: %v", got["limits.jobs"])
	}
	a := w.do(w.root, "PATCH", "/api/v1/settings", `{"approval_timeout":5,"nothing":1,"signup":false}`)
	if a.status != 422 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	same(t, a.fields(t), []string{"approval_timeout", "nothing"})
	w.do(w.root, "GET", "/api/v1/settings", nil).json(t, &got)
	if got["signup"] != true {
		t.Error("a refused change changed something")
	}
}

func TestListsPage(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		w.do(w.bob, "POST", "/api/v1/folders", map[string]string{"name": "f" + strconv.Itoa(i)})
	}
	var names []string
	for cursor := ""; ; {
		var l struct {
			Items []struct{ Name string }
			Next  string
		}
		w.do(w.bob, "GET", "/api/v1/folders?limit=3&cursor="+cursor, nil).json(t, &l)
		for _, f := range l.Items {
			names = append(names, f.Name)
		}
		if cursor = l.Next; cursor == "" {
			break
		}
		names = append(names, "|")
	}
	same(t, names, []string{"f0", "f1", "f2", "|", "f3"})
	for query, field := range map[string]string{"limit=0": "limit", "limit=x": "limit", "cursor=none": "cursor"} {
		if a := w.do(w.bob, "GET", "/api/v1/folders?"+query, nil); a.status != 422 || a.fields(t)[0] != field {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	if a := w.do(w.root, "GET", "/api/v1/interactions", nil); strings.TrimSpace(string(a.body)) != `[]` {
		t.Errorf("an empty list: %s", a.body)
	}
}

func TestExport(t *testing.T) {
	w := newWorld(t)
	path := w.fill("/api/v1/chats/$chat/export?format=")
	for format, want := range map[string]string{"md": "# hello\n", "html": "<h1>hello</h1>", "json": `"content": "Hello."`, "jsonl": `"type":"chat.created"`} {
		a := w.do(w.ann, "GET", path+format, nil)
		if a.status != 200 || !strings.Contains(string(a.body), want) || !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment;") {
			t.Errorf("%s: %d %v %s", format, a.status, a.header, a.body)
		}
	}
	if a := w.do(w.ann, "GET", path+"exe", nil); a.status != 422 || a.fields(t)[0] != "format" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestRender(t *testing.T) {
	w := newWorld(t)
	if a := w.do(w.ann, "POST", "/api/v1/render", `{"streaming":true}`); a.status != 422 || a.fields(t)[0] != "markdown" {
		t.Errorf("without a text: %d %s", a.status, a.body)
	}
	var got struct{ HTML string }
	w.do(w.ann, "POST", "/api/v1/render", `{"markdown":"**a** <script>alert(1)</script>"}`).json(t, &got)
	if !strings.Contains(got.HTML, "<strong>a</strong>") || strings.Contains(got.HTML, "<script") {
		t.Errorf("%q", got.HTML)
	}
	whole, cut := got.HTML, ""
	w.do(w.ann, "POST", "/api/v1/render", `{"markdown":"**a","streaming":true}`).json(t, &got)
	if cut = got.HTML; cut == whole || !strings.Contains(cut, "a") {
		t.Errorf("%q", cut)
	}
}

func TestUsers(t *testing.T) {
	w := newWorld(t)
	w.do(w.root, "PATCH", "/api/v1/settings", `{"signup":false}`)
	a := w.do(w.root, "POST", "/api/v1/users", `{"email":"new@example.test","password":"some password","disabled":true}`)
	var u struct {
		ID       string
		Disabled bool
	}
	a.json(t, &u)
	if a.status != 201 || !u.Disabled {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := w.do(nil, "POST", "/auth/login", `{"email":"new@example.test","password":"some password"}`); a.status != 401 {
		t.Errorf("a disabled account: %d", a.status)
	}
	w.do(w.root, "PATCH", "/api/v1/users/"+u.ID, `{"disabled":false,"password":"better password"}`)
	if a := w.do(nil, "POST", "/auth/login", `{"email":"new@example.test","password":"better password"}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.do(w.root, "POST", "/api/v1/users", `{"email":"bad","password":"x"}`); a.status != 422 {
		t.Errorf("%d", a.status)
	} else {
		same(t, a.fields(t), []string{"email", "password"})
	}
	if a := w.do(w.root, "PATCH", "/api/v1/users/"+w.root.id, `{"admin":false}`); a.status != 422 {
		t.Errorf("giving up the last administrator: %d", a.status)
	}
}

func TestTokens(t *testing.T) {
	w := newWorld(t)
	for body, field := range map[string]string{`{"name":""}`: "name", `{"name":"x","scope":"all"}`: "scope", `{"name":"x","expires":"soon"}`: "expires",
		`{"name":"x","expires":"2020-01-01"}`: "expires"} {
		if a := w.do(w.ann, "POST", "/api/v1/tokens", body); a.status != 422 || a.fields(t)[0] != field {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	var made struct{ ID, Token string }
	w.do(w.ann, "POST", "/api/v1/tokens", `{"name":"x","expires":"2026-12-01T00:00:00Z"}`).json(t, &made)
	if a := w.do(w.ann, "GET", "/api/v1/tokens", nil); strings.Contains(string(a.body), made.Token) {
		t.Error("a token is shown once")
	}
	who := &actor{token: made.Token}
	if a := w.do(who, "GET", "/api/v1/me", nil); a.status != 200 {
		t.Errorf("%d", a.status)
	}
	w.clock.add(24 * 60 * 60 * 1e9)
	if a := w.do(who, "GET", "/api/v1/me", nil); a.status != 401 {
		t.Errorf("expired: %d", a.status)
	}
}

// TestTokenNeverGainsRights: a token of an administrator that has not the scope
// admin gets none that has. The form on the pages has its own test there.
func TestTokenNeverGainsRights(t *testing.T) {
	w := newWorld(t)
	for _, scope := range []string{"read", "write"} {
		var made struct{ Token string }
		w.do(w.root, "POST", "/api/v1/tokens", `{"name":"x","scope":"`+scope+`"}`).json(t, &made)
		who := &actor{token: made.Token}
		if a := w.do(who, "POST", "/api/v1/tokens", `{"name":"y","scope":"admin"}`); a.status != 403 {
			t.Errorf("%s by the API: %d %s", scope, a.status, a.body)
		}
	}
}

func TestSeenAndSearch(t *testing.T) {
	w := newWorld(t)
	path := w.fill("/api/v1/chats/$chat/seen")
	if a := w.do(w.ann, "POST", path, nil); a.status != 204 {
		t.Errorf("without a body: %d", a.status)
	}
	if n := len(w.stored("chat.seen")); n != 1 {
		t.Errorf("%d", n)
	}
	if a := w.do(w.ann, "POST", path, `{"position":1}`); a.status != 204 || len(w.stored("chat.seen")) != 1 {
		t.Errorf("less than before: %d", a.status)
	}
	var l struct{ Items []struct{ ID string } }
	w.do(w.ann, "GET", "/api/v1/search?q="+url.QueryEscape("HELL"), nil).json(t, &l)
	if len(l.Items) != 1 || l.Items[0].ID != w.names["chat"] {
		t.Errorf("%+v", l)
	}
	if a := w.do(w.ann, "GET", "/api/v1/search", nil); a.status != 422 {
		t.Errorf("%d", a.status)
	}
}

func TestFailuresSayNothingInternal(t *testing.T) {
	w := newWorld(t)
	w.panics = true
	page := w.do(w.ann, "GET", "/", nil)
	if page.status != 500 || !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") || strings.Contains(string(page.body), "secret") {
		t.Errorf("%d %s", page.status, page.body)
	}
	doc := w.do(w.ann, "GET", "/", nil, "HX-Request: true")
	var p request.Problem
	doc.json(t, &p)
	if doc.status != 500 || p.Request == "" || p.Request != doc.header.Get("X-Request-Id") || strings.Contains(string(doc.body), "secret") {
		t.Errorf("%d %s", doc.status, doc.body)
	}
	none := w.do(w.ann, "GET", "/api/v1/nothing", nil)
	if none.status != 404 || none.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %v", none.status, none.header)
	}
	_ = w.log.Close()
	if a := w.do(w.ann, "POST", "/api/v1/folders", `{"name":"x"}`); a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("a closed log: %d %s", a.status, a.body)
	}
}

func TestNotReady(t *testing.T) {
	s := newServer(t, func(c *Config) {
		c.Ready = func(context.Context) error { return errors.New("no space on /var/lib") }
	})
	if a := s.do(nil, "GET", "/readyz", nil); a.status != 503 || strings.Contains(string(a.body), "/var") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.do(nil, "GET", "/healthz", nil); a.status != 200 {
		t.Errorf("%d", a.status)
	}
}

func TestMetricsCountRoutesNotPaths(t *testing.T) {
	w := newWorld(t)
	w.do(w.ann, "GET", w.fill("/api/v1/chats/$chat"), nil)
	w.do(w.ann, "GET", "/no/such/path", nil)
	got := string(w.do(w.root, "GET", "/metrics", nil).body)
	if !strings.Contains(got, `lembas_http_request_seconds_count{method="GET",route="/api/v1/chats/{id}",status="200"} 1`) {
		t.Errorf("%s", got)
	}
	if strings.Contains(got, w.names["chat"]) || strings.Contains(got, "no/such") {
		t.Error("a path became a label")
	}
}
