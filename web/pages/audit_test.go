package pages_test

import (
	"context"
	"strings"
	"testing"

	"lembas/commands"
	"lembas/events"
	"lembas/projections"
)

// trail is the real trail over the house's log.
type trail struct {
	*projections.Set
	fail error
}

func (h *house) trail() *trail {
	h.t.Helper()
	set, err := projections.Open(h.log)
	h.ok(err)
	t := &trail{Set: set}
	h.pages.Audit = t
	return t
}

func (t *trail) Audit(ctx context.Context, q projections.AuditQuery) ([]projections.AuditRow, string, error) {
	if t.fail != nil {
		return nil, "", t.fail
	}
	if err := t.CatchUp(ctx); err != nil {
		return nil, "", err
	}
	return t.Set.Audit.List(ctx, q)
}

// carded is ann (the administrator) and bob, whose reply asked about two calls
// and got an answer.
func carded(t *testing.T) (h *house, ann, bob human, chat string) {
	t.Helper()
	h = newHouse(t)
	ann, bob = h.human("ann"), h.human("bob")
	h.connect(ann.Caller, "Tower", "")
	made, _, err := h.CreateChat(t.Context(), bob.Caller, commands.CreateChat{Text: "private words"})
	h.ok(err)
	var called []events.Payload
	asked := events.ConsentRequested{Consent: "k1", Reply: made.Reply, Round: 1, Kind: events.ConsentApproval}
	for i, name := range []string{"fetch", "<b>notes"} {
		key := string(rune('a' + i))
		args := events.RawJSON(`{"url":"https://private.test/"}`)
		called = append(called, events.ToolCalled{Reply: made.Reply, Round: 1, Call: "call_" + key, Index: i, Name: name, Arguments: args, Risk: events.RiskWrite})
		asked.Items = append(asked.Items, events.ConsentItem{Key: key, Call: "call_" + key, Name: name, Arguments: args, Edits: "url", Reason: "private reason", Pattern: name})
	}
	h.append(made.Chat, append(append([]events.Payload{events.RoundStarted{Reply: made.Reply, Round: 1}}, called...), asked)...)
	_, _, err = h.AnswerConsent(t.Context(), bob.Caller, made.Chat, "k1", []commands.Answer{
		{Key: "a", Verdict: events.VerdictAllow, Arguments: []byte(`{"url":"https://other.test/"}`)}, {Key: "b", Verdict: events.VerdictDeny, Reason: "private reason"}})
	h.ok(err)
	h.append(made.Chat, events.ToolStarted{Reply: made.Reply, Round: 1, Call: "call_a", Consent: "k1"},
		events.ToolFinished{Reply: made.Reply, Round: 1, Call: "call_a", Status: events.ToolOK, Output: "private output", Bytes: 14, MS: 3},
		events.ToolFinished{Reply: made.Reply, Round: 1, Call: "call_b", Status: events.ToolDenied})
	h.trail()
	return h, ann, bob, made.Chat
}

func TestAuditPage(t *testing.T) {
	_, ann, bob, chat := carded(t)
	page := ann.get("/audit").is(200).says("h1", "Audit")
	page.node("#side a[href=/audit][aria-current=page]")
	for _, content := range []string{"private words", "private.test", "other.test", "private reason", "private output"} {
		if strings.Contains(page.source, content) {
			t.Errorf("the administrator is shown %q", content)
		}
	}
	if len(page.all("#audit-list b")) == 0 || strings.Contains(page.source, "<b>notes") {
		t.Error("a tool's name is markup, or nothing is shown")
	}
	answered := page.all("#audit-list [data-type=consent.answered]")
	if len(answered) != 1 {
		t.Fatalf("%d answers", len(answered))
	}
	row := "#audit-list [data-type=consent.answered]"
	page.says(row+" .audit-who", "bob")
	for _, words := range []string{"fetch", "allowed", "edited", "notes", "denied"} {
		page.says(row+" .audit-out", words)
	}
	ended := ann.get("/audit?type=tool.finished").all("#audit-list .audit-item")
	if len(ended) != 2 || !strings.Contains(words(ended[0]), "Tool not run") || !strings.Contains(words(ended[0]), "denied") ||
		!strings.Contains(words(ended[1]), "Tool finished") || !strings.Contains(words(ended[1]), "done") || !strings.Contains(words(ended[1]), "in a chat of bob") {
		t.Errorf("%d calls ended", len(ended))
	}
	if len(page.all(row+" [href=/audit?consent=k1]")) != 1 || len(page.all(row+" [href=/audit?chat="+chat+"]")) != 1 {
		t.Error("an entry does not lead to its card and chat")
	}
	if strings.Contains(page.source, `href="/chat/`+chat+`#`) {
		t.Error("another person's chat is linked")
	}

	own := bob.get("/audit").is(200)
	if len(own.all(row)) != 1 || len(own.all("#audit-list [data-type=connection.created]")) != 0 || len(own.all("#audit-form [name=user]")) != 0 {
		t.Error("bob does not see just his own")
	}
	if !strings.Contains(own.source, `href="/chat/`+chat+`#m-`) {
		t.Error("one's own chat is not linked")
	}
	own.says(row+" .audit-who", "you")
	bob.get("/settings").is(200).node("main a[href=/audit]")
	if (human{h: ann.h}).get("/audit").is(303).header.Get("Location") != "/auth/login?next=%2Faudit" {
		t.Error("nobody is not asked to sign in")
	}
}

func TestAuditPageFilters(t *testing.T) {
	_, ann, bob, chat := carded(t)
	for path, want := range map[string]int{
		"/audit?consent=k1": 5, "/audit?type=consent.*&tool=&from=&to=&user=&verdict=": 2, "/audit?verdict=deny": 1, "/audit?verdict=always": 0,
		"/audit?tool=fetch&chat=" + chat: 4, "/audit?user=bob@example.org&type=consent.answered": 1, "/audit?user=" + ann.User + "&type=consent.answered": 0,
	} {
		if got := len(ann.get(path).is(200).all("#audit-list [data-audit]")); got != want {
			t.Errorf("%s: %d entries, want %d", path, got, want)
		}
	}
	kept := ann.get("/audit?type=consent.*&verdict=deny&tool=fetch&from=2026-01-01&to=2036-01-01&chat=c9")
	for _, selector := range []string{"[name=type] [value=consent.*][selected]", "[name=verdict] [value=deny][selected]", "[name=tool][value=fetch]", "[name=from][value=2026-01-01]", "[name=chat][value=c9]"} {
		kept.node("#audit-form " + selector)
	}
	kept.says("#audit-list .empty", "Nothing like that")
	for path, field := range map[string]string{"/audit?from=yesterday": "From", "/audit?verdict=maybe": "Verdict", "/audit?user=nobody@example.org": "Person", "/audit?cursor=x": "Cursor"} {
		ann.get(path).is(422).says("#audit-list .notice", field+":").lacks("#audit-list [data-audit]").node("#audit-form")
	}
	if got := len(bob.get("/audit?chat=" + chat).is(200).all("#audit-list [data-audit]")); got < 4 {
		t.Errorf("bob's own chat has %d entries", got)
	}
	if got := len(ann.h.human("eve").get("/audit?chat=" + chat).is(200).all("#audit-list [data-audit]")); got != 0 {
		t.Errorf("eve sees %d entries of bob's chat", got)
	}
}

// A long trail is read page by page, by links that keep the filters.
func TestAuditPages(t *testing.T) {
	h := newHouse(t)
	h.trail()
	ann := h.human("ann")
	for range 130 {
		_, err := h.log.Append(t.Context(), events.Batch{Actor: events.Actor{Kind: events.System, ID: "lembas"},
			Parts: []events.Part{{Stream: events.UserStream(ann.User), Events: []events.New{{Payload: events.UserSignInFailed{Address: "192.0.2.1"}}}}}})
		h.ok(err)
	}
	seen, pages := map[string]bool{}, 0
	for path := "/audit?type=user.sign_in_failed"; path != ""; pages++ {
		d := ann.get(path).is(200)
		for _, n := range d.all("#audit-list [data-audit]") {
			seen[attr(n, "data-audit")] = true
		}
		path = ""
		for _, n := range d.all(".audit-more a") {
			path = attr(n, "href")
		}
	}
	if len(seen) != 130 || pages != 3 {
		t.Errorf("%d entries on %d pages", len(seen), pages)
	}
}

func TestAuditPageFails(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	h.trail().fail = events.ErrDamaged
	d := ann.get("/audit")
	if d.status != 500 || strings.Contains(d.source, "damaged") {
		t.Errorf("%d %.300s", d.status, d.source)
	}
}

// Every type of the trail has words for people.
func TestAuditWords(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	rows := &fixed{}
	h.pages.Audit = rows
	for _, typ := range projections.AuditTypes() {
		rows.rows = []projections.AuditRow{{Position: 1, Type: typ, Actor: projections.AuditActor{Kind: events.System}}}
		d := ann.get("/audit").is(200)
		if what := d.all("#audit-list .audit-what b"); len(what) != 1 || what[0].FirstChild.Data == typ {
			t.Errorf("%s has no words", typ)
		}
	}
}

type fixed struct{ rows []projections.AuditRow }

func (f *fixed) Audit(context.Context, projections.AuditQuery) ([]projections.AuditRow, string, error) {
	return f.rows, "", nil
}
