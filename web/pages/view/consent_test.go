package view

import (
	"encoding/json"
	"strings"
	"testing"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/templates"
)

func fetchItem(key string) events.ConsentItem {
	return events.ConsentItem{Key: key, Call: "k" + key, Name: "fetch", Label: "Read a page", Arguments: json.RawMessage(`{"url":"https://a.test","why":"to look"}`),
		Detail: "https://a.test", Risk: "read", Reason: "asks here", Why: "to look", Edits: "url", Pattern: "fetch"}
}

func cardOf(state string, answers []events.ConsentAnswer, items ...events.ConsentItem) templates.Card {
	k := &transcript.Consent{ConsentRequested: events.ConsentRequested{Consent: "q", Reply: "r1", Round: 1, Kind: events.ConsentApproval, Items: items, Expires: "2026-03-04T14:02:00Z"},
		State: state, Answers: answers, By: "ann"}
	return testViews().Card(&transcript.Chat{ID: "c1", Owner: "ann"}, &transcript.Reply{ID: "r1"}, k)
}

// TestACardShowsWhatWouldRun: the detail alone only when it is all of it.
func TestACardShowsWhatWouldRun(t *testing.T) {
	for _, row := range []struct {
		name, detail, arguments string
		first, rest             string
	}{
		{"all of it", "https://a.test", `{"url":"https://a.test"}`, "https://a.test", ""},
		{"and why", "https://a.test", `{"why":"w","url":"https://a.test"}`, "https://a.test", ""},
		{"more", "ls", `{"command":"ls","cwd":"/"}`, "ls", "{\n  \"command\": \"ls\",\n  \"cwd\": \"/\"\n}"},
		{"other than the argument", "ls -l", `{"command":"ls"}`, "ls -l", "{\n  \"command\": \"ls\"\n}"},
		{"a part of a list", "ls", `{"command":["ls"]}`, "ls", "{\n  \"command\": [\n    \"ls\"\n  ]\n}"},
		{"no detail", "", `{"n":1.50}`, "{\n  \"n\": 1.50\n}", ""},
		{"no object", "", `"ls"`, `"ls"`, ""},
		{"no JSON", "", "ls\x07", `ls\x07`, ""},
		{"unseen", "ls \u202etxt.sh\u202c \x1b[2K\x07 rm -rf /srv", "{\"command\":\"ls \u202etxt.sh\u202c \\u001b[2K\\u0007 rm -rf /srv\"}", `ls \u{202e}txt.sh\u{202c} \x1b[2K\x07 rm -rf /srv`, ""},
	} {
		first, rest := exact(row.detail, events.RawJSON(row.arguments))
		if first != row.first || rest != row.rest {
			t.Errorf("%s: %q and %q", row.name, first, rest)
		}
	}
	long := fetchItem("1")
	long.Detail = strings.Repeat("x", 1<<20)
	long.Arguments = json.RawMessage(`{"url":"` + long.Detail + `"}`)
	if got := cardOf(transcript.CardWaiting, nil, long).Items[0]; got.Exact != long.Detail {
		t.Errorf("%d bytes of %d", len(got.Exact), len(long.Detail))
	}
}

func TestWhatACardOffers(t *testing.T) {
	card := cardOf(transcript.CardWaiting, nil, fetchItem("1"))
	i := card.Items[0]
	if card.Title != "Allow “Read a page”?" || card.Many || i.Edit == nil || i.Edit.Text != "https://a.test" || i.Edit.Name != "url" || i.Pattern != "fetch" || i.Reason != "asks here" || i.Why != "to look" || i.Unseen {
		t.Errorf("%+v %+v", card, i)
	}
	if i.Edit.Arguments != `{"url":"https://a.test","why":"to look"}` || card.Expires.ISO != "2026-03-04T14:02:00Z" || card.Expires.Short != "Wed 14:02 UTC" {
		t.Errorf("%+v %+v", i.Edit, card.Expires)
	}
	plain := fetchItem("1")
	plain.Edits, plain.Pattern = "", ""
	number := fetchItem("2")
	number.Edits, number.Arguments = "n", json.RawMessage(`{"n":1}`)
	both := cardOf(transcript.CardWaiting, nil, plain, number)
	if both.Title != "Allow these 2 calls?" || !both.Many || both.Items[0].Edit != nil || both.Items[0].Pattern != "" || both.Items[1].Edit != nil || both.Items[1].Number != "2 of 2" {
		t.Errorf("%+v", both)
	}
	lines := fetchItem("1")
	lines.Arguments = json.RawMessage(`{"url":"https://a.test","body":"one\ntwo\u202e"}`)
	if got := cardOf(transcript.CardWaiting, nil, lines).Items[0].Texts; len(got) != 1 || got[0].Name != "body" || got[0].Text != "one\ntwo\\u{202e}" {
		t.Errorf("%+v", got)
	}
}

func TestRecords(t *testing.T) {
	allow, always, deny := events.ConsentAnswer{Key: "1", Verdict: "allow"}, events.ConsentAnswer{Key: "1", Verdict: "always", Pattern: "fetch"}, events.ConsentAnswer{Key: "1", Verdict: "deny", Reason: "no\u202e"}
	edited := allow
	edited.Arguments = json.RawMessage(`{"url":"https://b.test","why":"to look"}`)
	same := allow
	same.Arguments = json.RawMessage(`{"why":"to look","url":"https://a.test"}`)
	second := func(a events.ConsentAnswer) events.ConsentAnswer { a.Key = "2"; return a }
	one, two := []events.ConsentItem{fetchItem("1")}, []events.ConsentItem{fetchItem("1"), fetchItem("2")}
	for _, row := range []struct {
		state, title, tone string
		items              []events.ConsentItem
		answers            []events.ConsentAnswer
	}{
		{"answered", "You allowed “Read a page”", "ok", one, []events.ConsentAnswer{allow}},
		{"answered", "You allowed “Read a page”", "ok", one, []events.ConsentAnswer{same}},
		{"answered", "You allowed “Read a page”, corrected", "ok", one, []events.ConsentAnswer{edited}},
		{"answered", "You always allow “Read a page” in this chat", "ok", one, []events.ConsentAnswer{always}},
		{"answered", "You denied “Read a page”", "danger", one, []events.ConsentAnswer{deny}},
		{"answered", "You allowed all 2 calls", "ok", two, []events.ConsentAnswer{allow, second(always)}},
		{"answered", "You allowed 1 of 2 calls, 1 corrected", "ok", two, []events.ConsentAnswer{edited, second(deny)}},
		{"answered", "You denied all 2 calls", "danger", two, []events.ConsentAnswer{deny, second(deny)}},
		{"expired", "Not answered in time, so it did not run", "warn", one, nil},
	} {
		card := cardOf(row.state, row.answers, row.items...)
		if card.Title != row.title || card.Tone != row.tone {
			t.Errorf("%q %s, want %q %s", card.Title, card.Tone, row.title, row.tone)
		}
		for _, i := range card.Items {
			if i.Edit != nil || i.Pattern != "" {
				t.Errorf("%q still offers something", card.Title)
			}
		}
	}
	got := cardOf("answered", []events.ConsentAnswer{edited, second(deny)}, two...).Items
	if x := got[0].Corrected; x == nil || x.Name != "url" || x.Before != "https://a.test" || x.After != "https://b.test" {
		t.Errorf("%+v", got[0].Corrected)
	}
	if got[1].Because != `no\u{202e}` || got[1].Verdict != "deny" || got[1].Corrected != nil {
		t.Errorf("%+v", got[1])
	}
	if x := cardOf("answered", []events.ConsentAnswer{always}, one...).Items[0]; x.Remembered != "fetch" {
		t.Errorf("%+v", x)
	}
}

// TestARecordOfNoArguments shows none; the card that asks shows that there are none.
func TestARecordOfNoArguments(t *testing.T) {
	k := &transcript.Consent{ConsentRequested: events.ConsentRequested{Items: []events.ConsentItem{{Key: "1", Name: "now", Label: "Now", Arguments: events.RawJSON(`{ }`)}}}, State: transcript.CardWaiting}
	exact := func() string { return testViews().Card(&transcript.Chat{}, &transcript.Reply{}, k).Items[0].Exact }
	if got := exact(); got != "{}" {
		t.Errorf("it asks for %q", got)
	}
	for _, state := range []string{transcript.CardAnswered, transcript.CardExpired} {
		k.State, k.Answers = state, []events.ConsentAnswer{{Key: "1", Verdict: "allow"}}
		if got := exact(); got != "" {
			t.Errorf("%s: %q", state, got)
		}
	}
}

// TestHowACardEnded: stopped, deleted and switched off are told apart, and
// whose word it was.
func TestHowACardEnded(t *testing.T) {
	seen := map[string]bool{}
	for _, why := range []string{"stopped", "deleted", "disabled", "?"} {
		k := &transcript.Consent{ConsentRequested: events.ConsentRequested{Items: []events.ConsentItem{fetchItem("1")}}, State: transcript.CardWithdrawn, Why: why}
		title := testViews().Card(&transcript.Chat{}, &transcript.Reply{}, k).Title
		if seen[title] || !strings.HasPrefix(title, "Not answered") {
			t.Errorf("%s: %q", why, title)
		}
		seen[title] = true
	}
	other := &transcript.Consent{ConsentRequested: events.ConsentRequested{Items: []events.ConsentItem{fetchItem("1")}}, State: transcript.CardAnswered, By: "bob",
		Answers: []events.ConsentAnswer{{Key: "1", Verdict: "allow"}}}
	if title := testViews().Card(&transcript.Chat{Owner: "ann"}, &transcript.Reply{}, other).Title; !strings.HasPrefix(title, "Another person") {
		t.Error(title)
	}
}

func TestQuestions(t *testing.T) {
	k := &transcript.Consent{ConsentRequested: events.ConsentRequested{Consent: "q", Kind: events.ConsentQuestion, Items: []events.ConsentItem{
		{Key: "1", Question: "Which\u202e?", Options: []string{"a\u200b"}, Arguments: json.RawMessage(`{}`)}, {Key: "2", Question: "Why?"}}}, State: transcript.CardWaiting}
	v, c, r := testViews(), &transcript.Chat{}, &transcript.Reply{}
	card := v.Card(c, r, k)
	if card.Title != "2 questions for you" || card.Items[0].Question != `Which\u{202e}?` || card.Items[0].Options[0] != (templates.CardOption{Value: "a\u200b", Text: `a\u{200b}`}) || card.Items[0].Exact != "" {
		t.Errorf("%+v", card)
	}
	k.State, k.Answers = transcript.CardAnswered, []events.ConsentAnswer{{Key: "1", Verdict: "allow", Text: "<b>"}, {Key: "2", Verdict: "deny", Reason: "no"}}
	card = v.Card(c, r, k)
	if card.Title != "You answered 1 of 2 questions" || card.Items[0].Text != "<b>" || card.Items[1].Said != "not answered" || card.Items[1].Because != "no" {
		t.Errorf("%+v", card)
	}
}
