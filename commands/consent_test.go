package commands

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"lembas/events"
	"lembas/projections/transcript"
)

// waiting makes a chat of ann's with a card of two calls and one with a question.
func (h *house) waiting(t *testing.T, c Caller) (chat string) {
	t.Helper()
	made, _, err := h.CreateChat(t.Context(), c, CreateChat{Text: "x"})
	check(t, err)
	card := events.ConsentRequested{Consent: "card", Reply: made.Reply, Round: 1, Kind: events.ConsentApproval, Items: []events.ConsentItem{
		{Key: "0", Call: "a", Name: "fetch", Arguments: events.RawJSON(`{"url":"https://a.test/","n":1}`), Edits: "url", Pattern: "fetch"},
		{Key: "1", Call: "b", Name: "post", Arguments: events.RawJSON(`{"x":1}`)},
		{Key: "2", Call: "c", Name: "ask_user", Question: "Which?"}}}
	h.put(t, made.Chat, events.ReplyStarted{Reply: made.Reply}, events.RoundStarted{Reply: made.Reply, Round: 1},
		events.ToolCalled{Reply: made.Reply, Round: 1, Call: "a", Name: "fetch"}, events.RoundFinished{Reply: made.Reply, Round: 1}, card)
	return made.Chat
}

func (h *house) put(t *testing.T, chat string, list ...events.Payload) {
	t.Helper()
	_, err := h.log.Append(t.Context(), events.Batch{Actor: events.Actor{Kind: events.Model, ID: "m"}, Correlation: "c", Causation: "d",
		Parts: []events.Part{{Stream: events.ChatStream(chat), Expect: events.Any(), Events: happened(list...)}}})
	check(t, err)
}

var all = []Answer{{Key: "0", Verdict: "allow"}, {Key: "1", Verdict: "allow"}, {Key: "2", Verdict: "allow", Text: "this one"}}

func with(i int, a Answer) []Answer {
	out := slices.Clone(all)
	a.Key = out[i].Key
	out[i] = a
	return out
}

// TestAnswersThatAreRefused: each names the field, and nothing is recorded.
func TestAnswersThatAreRefused(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	h.connect(t, ann)
	chat := h.waiting(t, ann)
	for name, c := range map[string]struct {
		answers []Answer
		field   string
	}{
		"none":                     {nil, "answers"},
		"one is missing":           {all[:2], "answers"},
		"one twice":                {append(slices.Clone(all), all[0]), "answers"},
		"one that is not there":    {append(slices.Clone(all), Answer{Key: "9", Verdict: "allow"}), "answers"},
		"no verdict":               {with(0, Answer{}), "answers[0].verdict"},
		"another verdict":          {with(0, Answer{Verdict: "Allow"}), "answers[0].verdict"},
		"always without a pattern": {with(1, Answer{Verdict: "always"}), "answers[1].verdict"},
		"a reason to allow":        {with(0, Answer{Verdict: "allow", Reason: "x"}), "answers[0].reason"},
		"a long reason":            {with(0, Answer{Verdict: "deny", Reason: strings.Repeat("x", maxReason+1)}), "answers[0].reason"},
		"text without a question":  {with(0, Answer{Verdict: "allow", Text: "x"}), "answers[0].text"},
		"an empty answer":          {with(2, Answer{Verdict: "allow", Text: " "}), "answers[2].text"},
		"a question for always":    {with(2, Answer{Verdict: "always", Text: "x"}), "answers[2].verdict"},
		"a denied answer":          {with(2, Answer{Verdict: "deny", Text: "x"}), "answers[2].text"},
		"a question corrected":     {with(2, Answer{Verdict: "allow", Text: "x", Arguments: json.RawMessage(`{}`)}), "answers[2].arguments"},
		"what cannot be edited":    {with(1, Answer{Verdict: "allow", Arguments: json.RawMessage(`{"x":2}`)}), "answers[1].arguments"},
		"another argument":         {with(0, Answer{Verdict: "allow", Arguments: json.RawMessage(`{"url":"https://b.test/","n":2}`)}), "answers[0].arguments"},
		"one more argument":        {with(0, Answer{Verdict: "allow", Arguments: json.RawMessage(`{"url":"https://b.test/","n":1,"m":1}`)}), "answers[0].arguments"},
		"one argument fewer":       {with(0, Answer{Verdict: "allow", Arguments: json.RawMessage(`{"url":"https://b.test/"}`)}), "answers[0].arguments"},
		"an argument twice":        {with(0, Answer{Verdict: "allow", Arguments: json.RawMessage(`{"url":"https://b.test/","URL":"https://c.test/","n":1}`)}), "answers[0].arguments"},
		"not a text":               {with(0, Answer{Verdict: "allow", Arguments: json.RawMessage(`{"url":1,"n":1}`)}), "answers[0].arguments"},
		"nothing":                  {with(0, Answer{Verdict: "allow", Arguments: json.RawMessage(`{"url":" ","n":1}`)}), "answers[0].arguments"},
		"no object":                {with(0, Answer{Verdict: "allow", Arguments: json.RawMessage(`["https://b.test/"]`)}), "answers[0].arguments"},
	} {
		_, _, err := h.AnswerConsent(t.Context(), ann, chat, "card", c.answers)
		var f *events.FieldError
		if !errors.As(err, &f) || f.Field != c.field {
			t.Errorf("%s: %v, want one of %s", name, err, c.field)
		}
	}
	check(t, h.ViewChat(t.Context(), ann.User, chat, func(c *transcript.Chat) error {
		if k := c.Consent("card"); k.State != transcript.CardWaiting || len(c.Allow) != 0 {
			t.Errorf("the card is %s, %q is remembered", k.State, c.Allow)
		}
		return nil
	}))
}

// TestAnAnswerIsWholeAndOnce: what it remembers is in the same append; a second
// one gets the first.
func TestAnAnswerIsWholeAndOnce(t *testing.T) {
	h := newHouse(t)
	ann, bob := h.register(t, "ann@example.test"), h.register(t, "bob@example.test")
	ann.Session, ann.Address = "s1", "192.0.2.7"
	h.connect(t, ann)
	chat := h.waiting(t, ann)
	for name, try := range map[string]func() error{
		"another person": func() error { _, _, err := h.AnswerConsent(t.Context(), bob, chat, "card", all); return err },
		"another card":   func() error { _, _, err := h.AnswerConsent(t.Context(), ann, chat, "none", all); return err },
	} {
		if err := try(); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	before := h.log.Head()
	answers := with(0, Answer{Verdict: "always", Arguments: json.RawMessage(`{"n":1,"url":"https://b.test/"}`)})
	answers[1] = Answer{Key: "1", Verdict: "deny", Reason: " not this "}
	got, res, err := h.AnswerConsent(t.Context(), ann, chat, "card", answers)
	check(t, err)
	if got.State != transcript.CardAnswered || got.By != ann.User || res.Last != before+2 {
		t.Errorf("%+v up to %d", got, res.Last)
	}
	var types []string
	for e, err := range h.log.ReadStream(t.Context(), events.ChatStream(chat), before) {
		check(t, err)
		types = append(types, e.Type)
		if p, _ := events.Decode(&e); e.Type == "consent.answered" {
			said := p.(events.ConsentAnswered)
			if e.Actor.ID != ann.User || said.Session != "s1" || said.Address != "192.0.2.7" || said.Answers[0].Pattern != "fetch" ||
				string(said.Answers[0].Arguments) != `{"n":1,"url":"https://b.test/"}` || said.Answers[1].Reason != "not this" || said.Answers[2].Text != "this one" {
				t.Errorf("%+v", said)
			}
		}
	}
	if !slices.Equal(types, []string{"consent.answered", "chat.allow_added"}) {
		t.Errorf("%q", types)
	}
	_, _, err = h.AnswerConsent(t.Context(), ann, chat, "card", all)
	var closed *ConsentClosedError
	if !errors.As(err, &closed) || closed.Consent.Answers[1].Verdict != "deny" || h.log.Head() != res.Last {
		t.Errorf("a second answer: %v", err)
	}
}

// TestArgumentsAsTheyWereShownAreNoEdit.
func TestArgumentsAsTheyWereShownAreNoEdit(t *testing.T) {
	item := &events.ConsentItem{Arguments: events.RawJSON(`{"url":"https://a.test/","n":1.0}`), Edits: "url"}
	if got, err := correctedArguments(item, json.RawMessage(`{"n":1.0,"url":"https://a.test/"}`)); err != nil || got != nil {
		t.Errorf("%s (%v)", got, err)
	}
}

// TestScopeNarrows: on is the absence of a key, and only what can be a key is
// taken.
func TestScopeNarrows(t *testing.T) {
	for _, c := range []struct {
		set, want map[string]bool
		bad       bool
	}{
		{nil, map[string]bool{}, false},
		{map[string]bool{"fetch": false, "mcp:files": false, "custom:weather": true}, map[string]bool{"fetch": false, "mcp:files": false}, false},
		{map[string]bool{"Fetch": false}, nil, true},
		{map[string]bool{"mcp:": false}, nil, true},
		{map[string]bool{"websearch": false}, nil, true},
		{map[string]bool{"fetch:x": false}, nil, true},
		{map[string]bool{"a:b:c": true}, nil, true},
	} {
		got, err := newScope(c.set)
		if (err != nil) != c.bad || !c.bad && !maps.Equal(got, c.want) {
			t.Errorf("%v: %v (%v)", c.set, got, err)
		}
	}
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	h.connect(t, ann)
	made, _, err := h.CreateChat(t.Context(), ann, CreateChat{Text: "x", Scope: map[string]bool{"fetch": false, "mcp": false}})
	check(t, err)
	_, err = h.PatchChat(t.Context(), ann, made.Chat, PatchChat{Scope: &map[string]bool{"mcp": false}})
	check(t, err)
	check(t, h.ViewChat(t.Context(), ann.User, made.Chat, func(c *transcript.Chat) error {
		if want := map[string]bool{"mcp": false}; !maps.Equal(c.Scope, want) {
			t.Errorf("the scope is %v", c.Scope)
		}
		return nil
	}))
}

// TestAnArgumentThatTheModelLeftOut: what a person types for it is not lost, and
// leaving it out again is no edit.
func TestAnArgumentThatTheModelLeftOut(t *testing.T) {
	item := &events.ConsentItem{Key: "0", Name: "send", Arguments: events.RawJSON(`{"why":"x"}`), Edits: "to"}
	for given, want := range map[string]string{`{"why":"x"}`: "", `{"why":"x","to":"me"}`: `{"to":"me","why":"x"}`} {
		got, err := checkAnswer(item, Answer{Key: "0", Verdict: events.VerdictAllow, Arguments: json.RawMessage(given)})
		if err != nil || string(got.Arguments) != want {
			t.Errorf("%s: %s (%v)", given, got.Arguments, err)
		}
	}
	for _, given := range []string{`{"why":"x","to":""}`, `{"why":"x","to":1}`, `{"to":"me"}`} {
		if got, err := checkAnswer(item, Answer{Key: "0", Verdict: events.VerdictAllow, Arguments: json.RawMessage(given)}); err == nil {
			t.Errorf("%s: %s", given, got.Arguments)
		}
	}
}

// TestNullIsNoCorrection: clients send it for what they leave out.
func TestNullIsNoCorrection(t *testing.T) {
	for _, item := range []*events.ConsentItem{{Key: "0", Question: "which?"}, {Key: "0", Name: "send", Arguments: events.RawJSON(`{}`)}} {
		a := Answer{Key: "0", Verdict: events.VerdictAllow, Arguments: json.RawMessage("null")}
		if item.Question != "" {
			a.Text = "this"
		}
		if got, err := checkAnswer(item, a); err != nil || got.Arguments != nil {
			t.Errorf("%+v: %+v (%v)", item, got, err)
		}
	}
}
