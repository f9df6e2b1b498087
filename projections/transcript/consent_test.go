package transcript

import (
	"slices"
	"testing"

	"lembas/events"
)

func card(consent, call, args, edits string) events.ConsentRequested {
	return events.ConsentRequested{Consent: consent, Reply: "r1", Round: 1, Kind: events.ConsentApproval,
		Items: []events.ConsentItem{{Key: call, Call: call, Name: "fetch", Arguments: events.RawJSON(args), Edits: edits}}}
}

var opening = []events.Payload{
	events.ChatCreated{Chat: "c1", Owner: "ann", Kind: "chat", Model: "m1", Title: "hello"},
	events.MessageSubmitted{Message: "t1", Text: "hello"},
	events.ReplyRequested{Reply: "r1", Message: "t1", Reason: "message"},
	events.ReplyStarted{Reply: "r1"},
}

func after(base []events.Payload, more ...events.Payload) []events.Payload {
	return append(slices.Clone(base), more...)
}

// more folds further events into a chat, later than those it has.
func more(t *testing.T, c *Chat, list ...events.Payload) {
	t.Helper()
	for _, e := range envelopes(t, list...) {
		e.Position, e.Version = e.Position+c.Position, e.Version+c.Version
		if err := c.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
}

func waitingChat(t *testing.T) *Chat {
	t.Helper()
	return fold(t, after(opening,
		events.RoundStarted{Reply: "r1", Round: 1},
		events.ToolCalled{Reply: "r1", Round: 1, Call: "a", Name: "fetch", Arguments: events.RawJSON(`{"url":"https://a.test/"}`),
			Raw: `{"url":"https://a.test/"}`, Detail: "https://a.test/"},
		events.RoundFinished{Reply: "r1", Round: 1, FinishReason: "tool_calls"},
		card("c1", "a", `{"url":"https://a.test/"}`, "url"))...)
}

func TestCardsStayWhereTheyHappened(t *testing.T) {
	for name, c := range map[string]struct {
		end   events.Payload
		state string
	}{
		"answered":  {events.ConsentAnswered{Consent: "c1", Answers: []events.ConsentAnswer{{Key: "a", Verdict: events.VerdictAllow}}}, CardAnswered},
		"expired":   {events.ConsentExpired{Consent: "c1"}, CardExpired},
		"withdrawn": {events.ConsentWithdrawn{Consent: "c1", Reason: "stopped"}, CardWithdrawn},
	} {
		chat := waitingChat(t)
		if len(chat.Pending) != 1 || chat.Status() != Waiting || chat.Open().Status != Waiting {
			t.Fatalf("%s: a card waits, but the chat is %s", name, chat.Status())
		}
		more(t, chat, c.end)
		k := chat.Consent("c1")
		if k == nil || k.State != c.state || len(chat.Pending) != 0 || chat.Status() != Running {
			t.Errorf("%s: the card is %+v, the chat %s", name, k, chat.Status())
		}
		more(t, chat, events.ConsentAnswered{Consent: "c1", Answers: []events.ConsentAnswer{{Key: "a", Verdict: events.VerdictDeny}}})
		if k.State != c.state || (c.state == CardAnswered && k.Answers[0].Verdict != events.VerdictAllow) {
			t.Errorf("%s: a second answer changed the card to %+v", name, k)
		}
	}
}

// TestCorrectedArgumentsAreTheOnesThatCount also says what a denial leaves.
func TestCorrectedArgumentsAreTheOnesThatCount(t *testing.T) {
	corrected := events.RawJSON(`{"url":"https://b.test/"}`)
	for _, c := range []struct{ verdict, detail string }{
		{events.VerdictAllow, "https://b.test/"}, {events.VerdictAlways, "https://b.test/"}, {events.VerdictDeny, "https://a.test/"},
	} {
		chat := waitingChat(t)
		more(t, chat, events.ConsentAnswered{Consent: "c1", Answers: []events.ConsentAnswer{{Key: "a", Verdict: c.verdict, Arguments: corrected}}})
		k := chat.findCall("r1", 1, "a")
		if k.Detail != c.detail || k.Edited != (c.verdict != events.VerdictDeny) || k.Raw != `{"url":"https://a.test/"}` {
			t.Errorf("%s: the call is %+v", c.verdict, k)
		}
		if item := chat.Consent("c1").Items[0]; string(item.Arguments) != `{"url":"https://a.test/"}` {
			t.Errorf("%s: the card forgot what it showed: %s", c.verdict, item.Arguments)
		}
	}
}

// TestSummaryEndsWithWhatItTellsOf: a turn that is asked again, or taken out,
// makes a summary of it untrue.
func TestSummaryEndsWithWhatItTellsOf(t *testing.T) {
	two := after(opening, events.ReplyFinished{Reply: "r1", Status: events.Complete}, events.MessageSubmitted{Message: "t2", Text: "two"}, events.ReplyRequested{Reply: "r2", Message: "t2"},
		events.ReplyFinished{Reply: "r2", Status: events.Complete})
	for name, c := range map[string]struct {
		upTo string
		then []events.Payload
		kept bool
	}{
		"a later turn":           {"t1", []events.Payload{events.MessageSubmitted{Message: "t3", Text: "three"}, events.ReplyRequested{Reply: "r3", Message: "t3"}}, true},
		"the last again":         {"t2", []events.Payload{events.ReplyRequested{Reply: "r3", Message: "t2", Reason: "regenerate"}}, false},
		"the one after it again": {"t1", []events.Payload{events.ReplyRequested{Reply: "r3", Message: "t2", Reason: "regenerate"}}, true},
		"rewound":                {"t2", []events.Payload{events.ChatRewound{Message: "t1"}}, false},
	} {
		chat := fold(t, after(two, events.ChatCompacted{Message: c.upTo, Summary: "it was said"})...)
		more(t, chat, c.then...)
		if (chat.Summary != nil) != c.kept {
			t.Errorf("%s: the summary is %+v", name, chat.Summary)
		}
	}
}

// TestWhyThereIsNoSummaryIsSaidOnce: with the next turn it has been read.
func TestWhyThereIsNoSummaryIsSaidOnce(t *testing.T) {
	c := fold(t, after(opening, events.ReplyFinished{Reply: "r1", Status: events.Complete}, events.CompactionRequested{Compaction: "k", Message: "t1"},
		events.CompactionFailed{Compaction: "k", Error: events.RoundError{Kind: "empty", Message: "nothing came"}})...)
	if c.Compacting != "" || c.CompactError == nil || c.CompactError.Message != "nothing came" {
		t.Fatalf("%q, %+v", c.Compacting, c.CompactError)
	}
	more(t, c, events.MessageSubmitted{Message: "t2", Text: "go on"}, events.ReplyRequested{Reply: "r2", Message: "t2"})
	if c.CompactError != nil {
		t.Errorf("%+v", c.CompactError)
	}
}
