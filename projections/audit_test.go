package projections_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
	"lembas/events/store"
	"lembas/projections"
)

// as appends to a stream in somebody's name.
func as(t testing.TB, st *store.Store, actor events.Actor, stream string, payloads ...events.Payload) {
	t.Helper()
	part := events.Part{Stream: stream}
	for _, p := range payloads {
		part.Events = append(part.Events, events.New{Payload: p})
	}
	if _, err := st.Append(context.Background(), events.Batch{Actor: actor, Parts: []events.Part{part}}); err != nil {
		t.Fatal(err)
	}
}

var (
	ann   = events.Actor{Kind: events.Person, ID: "ann"}
	root  = events.Actor{Kind: events.Person, ID: "root"}
	model = events.Actor{Kind: events.Model, ID: "mo"}
)

// marker stands for all that is content: it must never be in the trail.
const marker = "MARKER-of-a-person"

func jsonOf(members ...string) []byte {
	m := map[string]string{}
	for i := 0; i < len(members); i += 2 {
		m[members[i]] = members[i+1]
	}
	b, _ := json.Marshal(m)
	return b
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// story is a chat with a card of three calls: one corrected, one allowed for
// ever, one denied.
func story(t testing.TB, st *store.Store) {
	t.Helper()
	chat := events.ChatStream("c")
	as(t, st, ann, chat, events.ChatCreated{Chat: "c", Owner: "ann", Kind: events.KindChat, Mode: "manual", Title: marker},
		events.MessageSubmitted{Message: "m", Text: marker}, events.ReplyRequested{Reply: "r", Message: "m"})
	var called []events.Payload
	var items []events.ConsentItem
	for i, name := range []string{"fetch", "notes_add", "web_search"} {
		call, args := fmt.Sprint("call", i), jsonOf("text", marker, "a", "1")
		called = append(called, events.ToolCalled{Reply: "r", Round: 1, Call: call, Index: i, Name: name, Arguments: args, Raw: marker, Risk: events.RiskWrite, Why: marker, Label: marker, Detail: marker})
		items = append(items, events.ConsentItem{Key: fmt.Sprint(i), Call: call, Name: name, Arguments: args, Risk: events.RiskWrite,
			Detail: marker, Reason: marker, Why: marker, Question: marker, Options: []string{marker}, Label: marker, Pattern: name})
	}
	called = append(called, events.ConsentRequested{Consent: "k", Reply: "r", Round: 1, Kind: events.ConsentApproval, Items: items, Mode: "manual",
		Allow: []string{marker}, Deny: []string{marker}, Expires: "2026-12-01T00:00:00Z"})
	as(t, st, model, chat, called...)
	as(t, st, ann, chat, events.ConsentAnswered{Consent: "k", Session: "s1", Token: "t1", Address: "192.0.2.7", Answers: []events.ConsentAnswer{
		{Key: "0", Verdict: events.VerdictAllow, Arguments: []byte(`{ "b":2, "a":1 }`)},
		{Key: "1", Verdict: events.VerdictAlways, Pattern: "notes_add", Arguments: []byte(`{"text":"` + marker + `", "a":"1"}`)}, // the same ones
		{Key: "2", Verdict: events.VerdictDeny, Reason: marker, Text: marker, Arguments: []byte(`{"a":"2"}`)}}},                  // denied is not edited
		events.ChatAllowAdded{Pattern: "notes_add", Consent: "k"}, events.ChatAllowAdded{Pattern: marker, Consent: "k"})
	exit := 3
	as(t, st, model, chat, events.ToolStarted{Reply: "r", Round: 1, Call: "call0", Consent: "k"}, events.ToolStarted{Reply: "r", Round: 1, Call: "call1", Consent: "k"},
		events.ToolFinished{Reply: "r", Round: 1, Call: "call0", Status: events.ToolOK, Output: marker, Bytes: 18, Exit: &exit, MS: 7, Diff: marker, Sources: []events.Source{{Title: marker}}},
		events.ToolInterrupted{Reply: "r", Round: 1, Call: "call1"},
		events.ToolFinished{Reply: "r", Round: 1, Call: "call2", Status: events.ToolDenied, Output: marker})
	as(t, st, ann, chat, events.ChatModeChanged{From: "manual", To: "auto"}, events.ChatScopeChanged{Scope: map[string]bool{"fetch": false}}, events.ChatAllowCleared{})
	as(t, st, model, chat, events.ReplyFinished{Reply: "r", Status: events.Complete, Reason: marker})
}

// household is what happens outside of chats.
func household(t testing.TB, st *store.Store) {
	t.Helper()
	yes := true
	name := marker
	as(t, st, ann, events.UserStream("ann"), events.UserRegistered{User: "ann", Email: marker + "@x.test", Name: marker, Admin: true},
		events.UserSignedIn{Session: "s1", Address: "192.0.2.7"},
		events.SessionOpened{Session: "s1", Hash: marker, Address: "192.0.2.7", Agent: marker}, events.UserSignInFailed{Address: "192.0.2.8"},
		events.UserPasswordChanged{}, events.SessionRevoked{Session: "s1", Reason: "password"},
		events.TokenCreated{Token: "t1", Name: marker, Hash: marker, Scope: events.ScopeRead}, events.TokenRevoked{Token: "t1"},
		events.PushSubscribed{Push: "p1", Host: "push.test", Agent: marker}, events.PushUnsubscribed{Push: "p1", Reason: "gone"})
	as(t, st, root, events.UserStream("ann"), events.UserChanged{Name: &name, Admin: &yes, Disabled: &yes})
	as(t, st, root, events.InstanceStream,
		events.ConnectionCreated{Connection: "co", State: events.ConnectionState{Name: "Demo", BaseURL: "http://" + marker, Enabled: true}},
		events.ConnectionChanged{Connection: "co", State: events.ConnectionState{Name: "Demo"}}, events.ConnectionRemoved{Connection: "co"},
		events.ModelChanged{Model: "mo", State: events.ModelState{Title: "Mo", SystemPrompt: marker}}, events.SettingChanged{Key: "signup", Value: []byte("false")},
		events.CustomAdded{Tool: "x", State: events.CustomState{Slug: "weather", Risk: events.RiskRead, URL: marker, Guidance: marker, Enabled: true}},
		events.CustomChanged{Tool: "x", State: events.CustomState{Slug: "weather"}}, events.CustomRemoved{Tool: "x"},
		events.ServerAdded{Server: "v", State: events.ServerState{Slug: "every", URL: marker, Enabled: true}}, events.ServerChanged{Server: "v"},
		events.ServerListed{Server: "v", Tools: []events.ServerTool{{Name: marker, Schema: []byte("{}")}}}, events.ServerReviewed{Server: "v"}, events.ServerRemoved{Server: "v"},
		events.SearchChanged{State: events.SearchState{Provider: events.SearchSearXNG, URL: marker}})
}

// trail lists rows, the oldest first.
func trail(t testing.TB, set *projections.Set, q projections.AuditQuery) []projections.AuditRow {
	t.Helper()
	q.Limit = 1000
	rows, next, err := set.Audit.List(context.Background(), q)
	if err != nil || next != "" {
		t.Fatalf("%v, next %q", err, next)
	}
	slices.Reverse(rows)
	return rows
}

func TestTheTrailOfACard(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	story(t, st)
	catchUp(t, set)
	was, ran := sha(`{"a":"1","text":"`+marker+`"}`), sha(`{"a":1,"b":2}`)
	annActor, moActor := projections.AuditActor{Kind: "person", ID: "ann"}, projections.AuditActor{Kind: "model", ID: "mo"}
	item := func(i int, tool, verdict string) projections.AuditItem {
		return projections.AuditItem{Key: fmt.Sprint(i), Call: fmt.Sprint("call", i), Tool: tool, Risk: "write", Verdict: verdict, Arguments: was}
	}
	corrected := item(0, "fetch", "allow")
	corrected.Edited, corrected.Arguments = true, ran
	always := item(1, "notes_add", "always")
	always.Pattern = "notes_add"
	exit := 3
	want := []projections.AuditRow{
		{Type: "chat.created", Actor: annActor, Detail: "chat", Mode: "manual"},
		{Type: "consent.requested", Actor: moActor, Reply: "r", Consent: "k", Kind: "approval", Risk: "write", Mode: "manual", Arguments: was,
			Items: []projections.AuditItem{item(0, "fetch", ""), item(1, "notes_add", ""), item(2, "web_search", "")}},
		{Type: "consent.answered", Actor: annActor, Reply: "r", Consent: "k", Kind: "approval", Risk: "write", Mode: "manual", Verdict: "mixed", Edited: true,
			Session: "s1", Token: "t1", Address: "192.0.2.7", Items: []projections.AuditItem{corrected, always, item(2, "web_search", "deny")}},
		{Type: "chat.allow_added", Actor: annActor, Consent: "k", Mode: "manual", Pattern: "notes_add"},
		{Type: "chat.allow_added", Actor: annActor, Consent: "k", Mode: "manual", PatternHash: sha(marker)},
		{Type: "tool.started", Actor: moActor, Reply: "r", Consent: "k", Call: "call0", Tool: "fetch", Risk: "write", Mode: "manual", Edited: true, Arguments: ran},
		{Type: "tool.started", Actor: moActor, Reply: "r", Consent: "k", Call: "call1", Tool: "notes_add", Risk: "write", Mode: "manual", Arguments: was},
		{Type: "tool.finished", Actor: moActor, Reply: "r", Consent: "k", Call: "call0", Tool: "fetch", Risk: "write", Mode: "manual", Edited: true, Arguments: ran,
			Status: "ok", Output: sha(marker), Bytes: 18, Exit: &exit, MS: 7},
		{Type: "tool.interrupted", Actor: moActor, Reply: "r", Consent: "k", Call: "call1", Tool: "notes_add", Risk: "write", Mode: "manual", Arguments: was},
		{Type: "tool.finished", Actor: moActor, Reply: "r", Consent: "k", Call: "call2", Tool: "web_search", Risk: "write", Mode: "manual", Arguments: was,
			Status: "denied", Output: sha(marker)},
		{Type: "chat.mode_changed", Actor: annActor, Mode: "auto", Detail: "manual → auto"},
		{Type: "chat.scope_changed", Actor: annActor, Mode: "auto", Detail: "fetch off"},
		{Type: "chat.allow_cleared", Actor: annActor, Mode: "auto"},
	}
	got := trail(t, set, projections.AuditQuery{Chat: "c"})
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d: %s", len(got), len(want), asJSON(t, got))
	}
	for i := range want {
		if got[i].Position == 0 || got[i].Time.IsZero() || got[i].User != "ann" || got[i].Chat != "c" {
			t.Errorf("row %d: %s", i, asJSON(t, got[i]))
		}
		want[i].Position, want[i].Time, want[i].User, want[i].Chat = got[i].Position, got[i].Time, "ann", "c"
		same(t, want[i].Type, got[i], want[i])
	}
}

func TestTheTrailHasNoContent(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	story(t, st)
	household(t, st)
	catchUp(t, set)
	if n := len(trail(t, set, projections.AuditQuery{})); n != 13+10+1+14 {
		t.Errorf("%d rows", n)
	}
	for k, v := range dump(t, st, "audit") {
		if strings.Contains(k, marker) || strings.Contains(v, marker) || strings.Contains(k, "call0") {
			t.Errorf("%q %s", k, v)
		}
		if !strings.HasPrefix(k, "re") && strings.Contains(v, "192.0.2") {
			t.Errorf("an address outside of rows: %q %s", k, v)
		}
	}
}

func TestTheTrailOfTheHousehold(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	household(t, st)
	catchUp(t, set)
	var got []string
	for _, r := range trail(t, set, projections.AuditQuery{}) {
		got = append(got, strings.Join(strings.Fields(fmt.Sprint(r.Type, " ", r.Actor.ID, " ", r.User, " ", r.Subject, " ", r.Tool, " ", r.Detail, " ", r.Session, " ", r.Address)), " "))
	}
	want := []string{
		"user.registered ann ann ann administrator", "user.signed_in ann ann s1 192.0.2.7", "session.opened ann ann s1 192.0.2.7",
		"user.sign_in_failed ann ann 192.0.2.8", "user.password_changed ann ann", "session.revoked ann ann password s1",
		"token.created ann ann t1 read", "token.revoked ann ann t1", "push.subscribed ann ann p1 push.test", "push.unsubscribed ann ann p1 gone",
		"user.changed root ann ann name, administrator on, account off",
		"connection.created root co Demo, on", "connection.changed root co Demo, off", "connection.removed root co", "model.changed root mo Mo, off, tools off, vision off",
		"setting.changed root signup false", "tool.added root x weather on", "tool.changed root x weather off", "tool.removed root x",
		"server.added root v every, on", "server.changed root v off", "server.listed root v 1 tools", "server.reviewed root v 0 tools", "server.removed root v",
		"search.changed root searxng",
	}
	same(t, "rows", got, want)
}

func TestAuditFilters(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	story(t, st)
	household(t, st)
	chatOf(t, st, "bob", "d", "Other")
	as(t, st, model, events.ChatStream("d"), events.ConsentRequested{Consent: "k2", Reply: "r", Round: 1, Items: []events.ConsentItem{{Key: "0", Name: "fetch"}}},
		events.ConsentExpired{Consent: "k2"})
	catchUp(t, set)
	for name, c := range map[string]struct {
		q    projections.AuditQuery
		want int
	}{
		"all":                     {projections.AuditQuery{}, 13 + 25 + 3},
		"a person's":              {projections.AuditQuery{User: "ann"}, 13 + 11},
		"what somebody did":       {projections.AuditQuery{User: "root"}, 15},
		"own things of an admin":  {projections.AuditQuery{Owner: "root"}, 0},
		"own things":              {projections.AuditQuery{Owner: "ann"}, 13 + 11},
		"own things, done by":     {projections.AuditQuery{Owner: "ann", User: "root"}, 1},
		"another's chat":          {projections.AuditQuery{Owner: "bob", Chat: "c"}, 0},
		"another's card":          {projections.AuditQuery{Owner: "bob", Consent: "k"}, 0},
		"a chat":                  {projections.AuditQuery{Chat: "d"}, 3},
		"a card":                  {projections.AuditQuery{Consent: "k"}, 9},
		"a type":                  {projections.AuditQuery{Type: "setting.changed"}, 1},
		"types":                   {projections.AuditQuery{Type: "consent.*"}, 4},
		"all types":               {projections.AuditQuery{Type: "*"}, 13 + 25 + 3},
		"no type":                 {projections.AuditQuery{Type: "none"}, 0},
		"allowed":                 {projections.AuditQuery{Verdict: "allow"}, 1},
		"denied":                  {projections.AuditQuery{Verdict: "deny"}, 1},
		"not answered":            {projections.AuditQuery{Verdict: "expired"}, 1},
		"not answered by ann":     {projections.AuditQuery{Verdict: "expired", User: "ann"}, 0},
		"withdrawn":               {projections.AuditQuery{Verdict: "withdrawn"}, 0},
		"no verdict of that type": {projections.AuditQuery{Verdict: "allow", Type: "tool.*"}, 0},
		"a tool":                  {projections.AuditQuery{Tool: "fetch"}, 6},
		"a tool that was added":   {projections.AuditQuery{Tool: "weather"}, 2},
		"a tool in a chat":        {projections.AuditQuery{Tool: "fetch", Chat: "d"}, 2},
		"a profile":               {projections.AuditQuery{Profile: "box"}, 0},
		"a strange chat":          {projections.AuditQuery{Chat: "c\x00\xff"}, 0},
		"until before it began":   {projections.AuditQuery{To: time.Unix(1e9, 0)}, 0},
		"since before it began":   {projections.AuditQuery{From: time.Unix(1e9, 0)}, 13 + 25 + 3},
		"since it ended":          {projections.AuditQuery{From: time.Now().Add(time.Hour)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := trail(t, set, c.q); len(got) != c.want {
				t.Errorf("%d rows, want %d: %s", len(got), c.want, asJSON(t, got))
			}
			var paged []projections.AuditRow
			q := c.q
			for q.Limit = 1; ; {
				rows, next, err := set.Audit.List(context.Background(), q)
				if err != nil {
					t.Fatal(err)
				}
				paged = append(paged, rows...)
				if q.Cursor = falling(t, q.Cursor, next); next == "" {
					break
				}
			}
			slices.Reverse(paged)
			same(t, "page by page", paged, append([]projections.AuditRow(nil), trail(t, set, c.q)...))
		})
	}
}

func TestAuditRefusesBounds(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	for field, q := range map[string]projections.AuditQuery{
		"verdict": {Verdict: "maybe"},
		"type":    {Type: "consent.["},
		"to":      {From: time.Unix(5, 0), To: time.Unix(5, 0)},
		"cursor":  {Cursor: "x"},
	} {
		_, _, err := set.Audit.List(context.Background(), q)
		var wrong *events.FieldError
		if !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, _, err := set.Audit.List(context.Background(), projections.AuditQuery{Cursor: "0"}); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("cursor 0: %v", err)
	}
}

// What erasure leaves of a deleted chat builds the rows that deleting it left.
func TestTheTrailOfADeletedChat(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	story(t, st)
	as(t, st, ann, events.ChatStream("c"), events.ChatDeleted{})
	as(t, st, model, events.ChatStream("c"), events.ToolFinished{Reply: "r", Round: 1, Call: "call0", Status: events.ToolStopped, Bytes: 7}) // it comes late
	catchUp(t, set)
	rows := trail(t, set, projections.AuditQuery{Owner: "ann"})
	if len(rows) != 15 {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		who := r.Actor
		bare := projections.AuditRow{Position: r.Position, Time: r.Time, Type: r.Type, Actor: who, User: "ann", Chat: "c", Erased: true}
		same(t, r.Type, r, bare)
		if who.ID == "" || r.Time.IsZero() {
			t.Errorf("who and when remain: %s", asJSON(t, r))
		}
	}
	erased := openStore(t, vfs.NewMem())
	for e, err := range st.Read(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		e.Data = []byte(`{"erased":"` + strings.Repeat("0", 64) + `"}`)
		_, err = erased.Append(context.Background(), events.Batch{Actor: e.Actor, Parts: []events.Part{{Stream: e.Stream, Events: []events.New{{Raw: &e}}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	catchUp(t, openSet(t, erased))
	if got, want := dump(t, erased, "audit"), dump(t, st, "audit"); !maps.Equal(got, want) {
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%q\nafter erasure %s\nafter deletion %s", k, got[k], v)
			}
		}
		t.Errorf("%d rows after erasure, %d after deletion", len(got), len(want))
	}
}

// An answer to a card that the trail does not know still is one.
func TestAnswerToAnUnknownCard(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	chatOf(t, st, "bob", "d", "Other")
	appendTo(t, st, events.ChatStream("d"), events.ConsentAnswered{Consent: "k", Answers: []events.ConsentAnswer{{Key: "a", Verdict: events.VerdictDeny}}})
	catchUp(t, set)
	rows := trail(t, set, projections.AuditQuery{Verdict: events.VerdictDeny})
	if len(rows) != 1 || rows[0].Consent != "k" || rows[0].Verdict != events.VerdictDeny {
		t.Errorf("%s", asJSON(t, rows))
	}
}

// TestNamesThatNoToolHadAreContent: a model can write what it likes in place of
// a tool's name.
func TestNamesThatNoToolHadAreContent(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	chatOf(t, st, "bob", "d", "Other")
	call := func(id, name, risk string) []events.Payload {
		return []events.Payload{events.ToolCalled{Reply: "r", Round: 1, Call: id, Name: name, Risk: risk, Arguments: events.RawJSON("{}")},
			events.ToolFinished{Reply: "r", Round: 1, Call: id, Status: events.ToolRefused}}
	}
	appendTo(t, st, events.ChatStream("d"), append(call("a", "the patient has "+marker, ""), call("b", "fetch", events.RiskRead)...)...)
	catchUp(t, set)
	var names []string
	for _, r := range trail(t, set, projections.AuditQuery{Type: "tool.*"}) {
		names = append(names, r.Tool)
	}
	if got := strings.Join(names, " "); got != "unknown fetch" {
		t.Errorf("the trail names %q", got)
	}
}
