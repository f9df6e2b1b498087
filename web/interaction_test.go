package web

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"lembas/events"
)

// card plays the loop: it stops a running reply on a card that asks about calls
// of the tools.
func (s *server) card(c created, consent string, tools ...string) {
	s.t.Helper()
	all := []events.Payload{events.ReplyStarted{Reply: c.Reply, ModelName: "qwen3"}, events.RoundStarted{Reply: c.Reply, Round: 1}}
	asked := events.ConsentRequested{Consent: consent, Reply: c.Reply, Round: 1, Kind: events.ConsentApproval, Expires: "2026-12-01T12:00:00Z"}
	for i, name := range tools {
		call, args := fmt.Sprint("call", i+1), []byte(`{"url":"https://x.test/","n":1}`)
		all = append(all, events.ToolCalled{Reply: c.Reply, Round: 1, Call: call, Index: i, Name: name, Arguments: args, Risk: events.RiskWrite})
		asked.Items = append(asked.Items, events.ConsentItem{Key: fmt.Sprint(i + 1), Call: call, Name: name, Arguments: args, Risk: events.RiskWrite,
			Reason: "it writes", Edits: "url", Pattern: name})
	}
	s.append(events.ChatStream(c.Chat), append(all, asked)...)
}

// withCard is an instance where ann's reply waits on a card of two calls.
func withCard(t *testing.T, options ...option) (s *server, ann, bob *actor, chat created) {
	t.Helper()
	s = newServer(t, options...)
	root := s.register("root")
	ann, bob = s.register("ann"), s.register("bob")
	s.connect(root)
	chat = s.chat(ann, "hello")
	s.card(chat, "k1", "fetch", "notes")
	return s, ann, bob, chat
}

func answersPath(c created, consent string) string {
	return "/api/v1/chats/" + c.Chat + "/interactions/" + consent
}

const allowBoth = `{"answers":[{"key":"1","verdict":"allow"},{"key":"2","verdict":"deny","reason":"no"}]}`

type cardAnswer struct {
	Consent, State, By, Detail string
	At                         string
	Position                   events.Position
	Answers                    []events.ConsentAnswer
}

func TestWhatWaits(t *testing.T) {
	s, ann, bob, chat := withCard(t)
	var cards []struct {
		Chat    string `json:"chat_id"`
		Consent string
		Kind    string
		Items   []events.ConsentItem
		Since   string
		Expires string
	}
	s.do(ann, "GET", "/api/v1/interactions", nil).json(t, &cards)
	if len(cards) != 1 || cards[0].Chat != chat.Chat || cards[0].Consent != "k1" || cards[0].Kind != "approval" || len(cards[0].Items) != 2 ||
		cards[0].Items[1].Name != "notes" || cards[0].Since == "" || cards[0].Expires != "2026-12-01T12:00:00Z" {
		t.Errorf("%+v", cards)
	}
	if a := s.do(bob, "GET", "/api/v1/interactions", nil); strings.TrimSpace(string(a.body)) != "[]" {
		t.Errorf("another sees %s", a.body)
	}
	if a := s.do(ann, "POST", answersPath(chat, "k1"), allowBoth); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := s.do(ann, "GET", "/api/v1/interactions", nil); strings.TrimSpace(string(a.body)) != "[]" {
		t.Errorf("an answered card waits still: %s", a.body)
	}
}

func TestAnswer(t *testing.T) {
	s, ann, _, chat := withCard(t)
	a := s.do(ann, "POST", answersPath(chat, "k1"),
		`{"answers":[{"key":"2","verdict":"deny","reason":"not now"},{"key":"1","verdict":"always","arguments":{"url":"https://y.test/","n":1}}]}`)
	var got cardAnswer
	a.json(t, &got)
	if a.status != 200 || got.Consent != "k1" || got.State != "answered" || got.By != ann.id || got.At == "" || len(got.Answers) != 2 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	stored := s.stored("consent.answered")
	if len(stored) != 1 || stored[0].Actor != (events.Actor{Kind: events.Person, ID: ann.id}) || stored[0].Position > got.Position {
		t.Fatalf("%+v", stored)
	}
	said, err := events.Decode(&stored[0])
	if err != nil {
		t.Fatal(err)
	}
	p := said.(events.ConsentAnswered)
	for _, x := range p.Answers {
		switch {
		case x.Key == "1" && x.Verdict == "always" && strings.Contains(string(x.Arguments), "https://y.test/") && x.Pattern == "fetch":
		case x.Key == "2" && x.Verdict == "deny" && x.Reason == "not now" && x.Arguments == nil && x.Pattern == "":
		default:
			t.Errorf("%+v", x)
		}
	}
	if p.Session == "" || p.Address == "" {
		t.Errorf("from which session and address is not kept: %+v", p)
	}

	again := s.do(ann, "POST", answersPath(chat, "k1"), allowBoth)
	var stands cardAnswer
	again.json(t, &stands)
	if stands.At != got.At {
		t.Errorf("answered at %s, but at %s for who comes later", got.At, stands.At)
	}
	if again.status != 409 || again.header.Get("Content-Type") != "application/problem+json" || stands.State != "answered" ||
		len(stands.Answers) != 2 || stands.By != ann.id || !strings.HasPrefix(stands.Detail, "This card was answered") {
		t.Errorf("%d %s", again.status, again.body)
	}
	for _, x := range stands.Answers {
		if (x.Key == "1" && x.Verdict != "always") || (x.Key == "2" && x.Reason != "not now") {
			t.Errorf("the answer that stands is %+v", x)
		}
	}
}

func TestAnswerToAClosedCard(t *testing.T) {
	for state, end := range map[string]events.Payload{
		"expired":   events.ConsentExpired{Consent: "k1"},
		"withdrawn": events.ConsentWithdrawn{Consent: "k1", Reason: "stopped"},
	} {
		s, ann, _, chat := withCard(t)
		s.append(events.ChatStream(chat.Chat), end)
		a := s.do(ann, "POST", answersPath(chat, "k1"), allowBoth)
		var got cardAnswer
		a.json(t, &got)
		if a.status != 409 || got.State != state || got.Answers == nil || len(got.Answers) != 0 || got.Detail == "" {
			t.Errorf("%s: %d %s", state, a.status, a.body)
		}
	}
}

func TestAnswerToAQuestion(t *testing.T) {
	s := newServer(t)
	ann := s.register("ann")
	s.connect(ann)
	chat := s.chat(ann, "hello")
	s.append(events.ChatStream(chat.Chat), events.ReplyStarted{Reply: chat.Reply}, events.RoundStarted{Reply: chat.Reply, Round: 1},
		events.ToolCalled{Reply: chat.Reply, Round: 1, Call: "c", Name: "ask_user", Arguments: []byte(`{}`)},
		events.ConsentRequested{Consent: "k", Reply: chat.Reply, Round: 1, Kind: events.ConsentQuestion,
			Items: []events.ConsentItem{{Key: "q", Call: "c", Name: "ask_user", Arguments: []byte(`{}`), Question: "Which way?", Options: []string{"left", "right"}}}})
	a := s.do(ann, "POST", answersPath(chat, "k"), `{"answers":[{"key":"q","verdict":"allow","text":"neither"}]}`)
	var got cardAnswer
	a.json(t, &got)
	if a.status != 200 || len(got.Answers) != 1 || got.Answers[0].Text != "neither" || !strings.Contains(string(s.stored("consent.answered")[0].Data), `"neither"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	s, ann, bob, chat := withCard(t)
	other := s.chat(ann, "another")
	s.card(other, "k2", "fetch")
	for _, c := range []struct {
		name  string
		who   *actor
		path  string
		body  string
		want  int
		field string
	}{
		{"another's chat", bob, answersPath(chat, "k1"), allowBoth, 404, ""},
		{"another's chat, bad body", bob, answersPath(chat, "k1"), `{"x":1}`, 404, ""},
		{"no card", ann, answersPath(chat, "none"), allowBoth, 404, ""},
		{"a card of another chat", ann, answersPath(chat, "k2"), allowBoth, 404, ""},
		{"no chat", ann, "/api/v1/chats/none/interactions/k1", allowBoth, 404, ""},
		{"no answers", ann, answersPath(chat, "k1"), `{}`, 422, "answers"},
		{"one is missing", ann, answersPath(chat, "k1"), `{"answers":[{"key":"1","verdict":"allow"}]}`, 422, "answers"},
		{"one twice", ann, answersPath(chat, "k1"), `{"answers":[{"key":"1","verdict":"allow"},{"key":"1","verdict":"deny"},{"key":"2","verdict":"deny"}]}`, 422, "answers"},
		{"a strange item", ann, answersPath(chat, "k1"), `{"answers":[{"key":"1","verdict":"allow"},{"key":"2","verdict":"deny"},{"key":"3","verdict":"deny"}]}`, 422, "answers"},
		{"a strange verdict", ann, answersPath(chat, "k1"), `{"answers":[{"key":"1","verdict":"yes"},{"key":"2","verdict":"deny"}]}`, 422, "answers[1].verdict"},
		{"arguments that are no object", ann, answersPath(chat, "k1"), `{"answers":[{"key":"1","verdict":"allow","arguments":"rm"},{"key":"2","verdict":"deny"}]}`, 422, "answers[1].arguments"},
		{"another argument", ann, answersPath(chat, "k1"), `{"answers":[{"key":"1","verdict":"allow","arguments":{"url":"https://x.test/","n":2}},{"key":"2","verdict":"deny"}]}`, 422, "answers[1].arguments"},
		{"an unknown member", ann, answersPath(chat, "k1"), `{"answers":[{"key":"1","verdict":"allow","pattern":"*"},{"key":"2","verdict":"deny"}]}`, 422, "answers.0.pattern"},
		{"a member twice", ann, answersPath(chat, "k1"), `{"answers":[],"answers":[]}`, 422, "answers"},
		{"not JSON", ann, answersPath(chat, "k1"), `{"answers":`, 400, ""},
		{"not an object", ann, answersPath(chat, "k1"), `[]`, 400, ""},
		{"no body", ann, answersPath(chat, "k1"), ``, 400, ""},
	} {
		a := s.do(c.who, "POST", c.path, c.body)
		if a.status != c.want || (c.field != "" && a.fields(t)[0] != c.field) {
			t.Errorf("%s: %d, want %d: %s", c.name, a.status, c.want, a.body)
		}
	}
	if n := len(s.stored("consent.answered")); n != 0 {
		t.Errorf("%d answers were kept", n)
	}
}

// Two tabs that answer at once give one answer, and both know it.
func TestTwoTabsAnswerAtOnce(t *testing.T) {
	s, ann, _, chat := withCard(t)
	bodies := []string{allowBoth, `{"answers":[{"key":"1","verdict":"deny"},{"key":"2","verdict":"deny"}]}`}
	got := make([]answer, 8)
	var tabs sync.WaitGroup
	for i := range got {
		tabs.Go(func() { got[i] = s.do(ann, "POST", answersPath(chat, "k1"), bodies[i%2]) })
	}
	tabs.Wait()
	stored := s.stored("consent.answered")
	if len(stored) != 1 {
		t.Fatalf("%d answers", len(stored))
	}
	took := 0
	for _, a := range got {
		var c cardAnswer
		a.json(t, &c)
		if a.status == 200 {
			took++
		} else if a.status != 409 {
			t.Errorf("%d %s", a.status, a.body)
		}
		want := "deny"
		if strings.Contains(string(stored[0].Data), `"allow"`) {
			want = "allow"
		}
		if c.State != "answered" || len(c.Answers) != 2 || c.Answers[0].Verdict != want {
			t.Errorf("a tab is told %s, %q stands", a.body, want)
		}
	}
	if took != 1 {
		t.Errorf("%d tabs were told that theirs counts", took)
	}
}

// A key that comes again gives the first outcome and not a refusal.
func TestAnswerIsSentAgain(t *testing.T) {
	s, ann, _, chat := withCard(t)
	first := s.do(ann, "POST", answersPath(chat, "k1"), allowBoth, "Idempotency-Key: once")
	second := s.do(ann, "POST", answersPath(chat, "k1"), allowBoth, "Idempotency-Key: once")
	if first.status != 200 || second.status != 200 || string(first.body) != string(second.body) {
		t.Errorf("%d %s\n%d %s", first.status, first.body, second.status, second.body)
	}
	if other := s.do(ann, "POST", answersPath(chat, "k1"), `{"answers":[]}`, "Idempotency-Key: once"); other.status != 409 {
		t.Errorf("the key for something else: %d %s", other.status, other.body)
	}
}

// The rows of the cases about origins, on the route that they name: an answer
// with a session comes from a script of our own page, or not at all.
func TestAnswerComesFromOurPage(t *testing.T) {
	for _, c := range []struct {
		name    string
		want    int
		headers []string
	}{
		{"wc30", 403, []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}},
		{"wc31", 403, []string{"Origin: https://evil.test"}},
		{"wc33", 200, []string{"Sec-Fetch-Site: same-origin", "Origin: " + site}},
		{"as our script sends it", 200, []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Origin: " + site}},
		{"an older browser", 200, []string{"Origin: " + site}},
		{"neither header", 403, nil},
		{"null", 403, []string{"Origin: null"}},
		{"null of our own page", 403, []string{"Sec-Fetch-Site: same-origin", "Origin: null"}},
		{"a sister site", 403, []string{"Sec-Fetch-Site: same-site", "Origin: https://www.example.test"}},
		{"plain http", 403, []string{"Origin: http://chat.example.test"}},
		{"a form on our page", 403, []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: navigate", "Origin: " + site}},
		{"no-cors on our page", 403, []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: no-cors", "Origin: " + site}},
		{"text/plain", 415, []string{"Sec-Fetch-Site: same-origin", "Origin: " + site, "Content-Type: text/plain"}},
		{"a form's type", 415, []string{"Sec-Fetch-Site: same-origin", "Origin: " + site, "Content-Type: application/x-www-form-urlencoded"}},
		{"no type", 415, []string{"Sec-Fetch-Site: same-origin", "Origin: " + site, "Content-Type: ", "Accept: application/json"}},
		{"wc38", 200, []string{"Sec-Fetch-Site: same-origin", "Origin: " + site, "X-HTTP-Method-Override: DELETE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, ann, _, chat := withCard(t, behindTLS)
			a := s.do(ann, "POST", answersPath(chat, "k1"), allowBoth, append([]string{"Sec-Fetch-Site: ", "Host: chat.example.test"}, c.headers...)...)
			if a.status != c.want {
				t.Errorf("%d, want %d: %s", a.status, c.want, a.body)
			}
			if n := len(s.stored("consent.answered")); n != map[int]int{200: 1}[c.want] {
				t.Errorf("%d answers were kept", n)
			}
		})
	}
	t.Run("a token needs none of it", func(t *testing.T) {
		s, ann, _, chat := withCard(t, behindTLS)
		token := s.token(ann, "write")
		if a := s.do(s.token(ann, "read"), "POST", answersPath(chat, "k1"), allowBoth, "Host: chat.example.test"); a.status != 403 {
			t.Errorf("scope read: %d", a.status)
		}
		if a := s.do(token, "POST", answersPath(chat, "k1"), allowBoth, "Host: chat.example.test", "Content-Type: "); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
	t.Run("GET", func(t *testing.T) { // wc35, wc37: a wrong verb changes nothing
		s, ann, _, chat := withCard(t)
		for _, method := range []string{"GET", "PATCH", "DELETE", "PUT"} {
			if a := s.do(ann, method, answersPath(chat, "k1"), nil); a.status != 405 || a.header.Get("Allow") != "POST" {
				t.Errorf("%s: %d %v", method, a.status, a.header)
			}
		}
	})
}

func TestScopeAndAllow(t *testing.T) {
	s, ann, _, chat := withCard(t)
	path := "/api/v1/chats/" + chat.Chat
	type head struct {
		Scope map[string]bool
		Allow []string
	}
	patch := func(body string) (h head) {
		t.Helper()
		a := s.do(ann, "PATCH", path, body)
		if a.status != 200 {
			t.Fatalf("%s: %d %s", body, a.status, a.body)
		}
		a.json(t, &h)
		if h.Scope == nil || h.Allow == nil {
			t.Errorf("%s: %s", body, a.body)
		}
		return h
	}
	if h := patch(`{"scope":{"fetch":false,"custom:weather":false}}`); len(h.Scope) != 2 {
		t.Errorf("%+v", h)
	}
	if h := patch(`{"scope":{"fetch":true,"mcp:files":false}}`); len(h.Scope) != 1 || h.Scope["mcp:files"] {
		t.Errorf("the scope is set whole, and what is on is not kept: %+v", h)
	}
	if h := patch(`{"scope":{"fetch":null,"mcp:files":false}}`); len(h.Scope) != 1 || h.Scope["mcp:files"] {
		t.Errorf("null is on: %+v", h)
	}
	if h := patch(`{"title":"x"}`); len(h.Scope) != 1 {
		t.Errorf("what was not sent changed: %+v", h)
	}
	if h := patch(`{"scope":null}`); len(h.Scope) != 0 {
		t.Errorf("null clears: %+v", h)
	}
	s.append(events.ChatStream(chat.Chat), events.ChatAllowAdded{Pattern: "fetch", Consent: "k0"})
	if h := patch(`{"title":"y"}`); len(h.Allow) != 1 || h.Allow[0] != "fetch" {
		t.Errorf("%+v", h)
	}
	if h := patch(`{"allow":[]}`); len(h.Allow) != 0 || len(s.stored("chat.allow_cleared")) != 1 {
		t.Errorf("%+v", h)
	}
	for body, field := range map[string]string{`{"allow":["fetch"]}`: "allow", `{"allow":"fetch"}`: "allow", `{"scope":{"../x":false}}`: "scope",
		`{"scope":{"fetch":1}}`: "scope.fetch", `{"scope":{"../x":null}}`: "scope", `{"scope":[]}`: "scope", `{"mode":"auto"}`: "mode"} {
		if a := s.do(ann, "PATCH", path, body); a.status != 422 || a.fields(t)[0] != field {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	var made created
	s.do(ann, "POST", "/api/v1/chats", `{"text":"x","scope":{"fetch":false,"ask_user":null}}`).json(t, &made)
	var got head
	s.do(ann, "GET", "/api/v1/chats/"+made.Chat, nil).json(t, &got)
	if on, there := got.Scope["fetch"]; on || !there || len(got.Scope) != 1 {
		t.Errorf("a new chat's scope: %+v", got)
	}
}

func TestCompact(t *testing.T) {
	s, ann, bob, busy := withCard(t)
	done := s.chat(ann, "hello")
	s.reply(done, "Hello.")
	a := s.do(ann, "POST", "/api/v1/chats/"+done.Chat+"/compact", nil)
	var got struct {
		Compaction string
		Position   events.Position
	}
	a.json(t, &got)
	if a.status != 202 || got.Compaction == "" || got.Position == 0 || len(s.stored("compaction.requested")) != 1 {
		t.Errorf("%d %s", a.status, a.body)
	}
	for name, c := range map[string]struct {
		who  *actor
		chat string
		want int
	}{"again": {ann, done.Chat, 409}, "while a reply waits": {ann, busy.Chat, 409}, "another's": {bob, done.Chat, 404}} {
		if a := s.do(c.who, "POST", "/api/v1/chats/"+c.chat+"/compact", nil); a.status != c.want {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}
