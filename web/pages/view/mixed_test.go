package view

import (
	"testing"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/templates"
)

// TestACardOfBothKinds: questions beside calls are questions, asked and on
// record, and the card says how many of each.
func TestACardOfBothKinds(t *testing.T) {
	k := &transcript.Consent{ConsentRequested: events.ConsentRequested{Kind: events.ConsentApproval, Items: []events.ConsentItem{
		{Key: "0", Name: "post", Arguments: events.RawJSON(`{"to":"a\u202eb"}`), Pattern: "post"},
		{Key: "1", Name: "ask_user", Question: "Which?", Options: []string{"a"}, Arguments: events.RawJSON(`{}`)}, {Key: "2", Name: "ask_user", Question: "Why?"}}}}
	if got, want := Asks(k), "Allow 1 call, and answer 2 questions?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	call, question := cardItem(k, 0), cardItem(k, 1)
	if call.Question != "" || call.Exact == "" || call.Pattern != "post" || !call.Unseen {
		t.Errorf("the call is %+v", call)
	}
	if question.Question != "Which?" || question.Exact != "" || question.Pattern != "" || len(question.Options) != 1 {
		t.Errorf("the question is %+v", question)
	}
	k.State, k.Answers = transcript.CardAnswered, []events.ConsentAnswer{{Key: "0", Verdict: events.VerdictDeny},
		{Key: "1", Verdict: events.VerdictAllow, Text: "this one"}, {Key: "2", Verdict: events.VerdictDeny}}
	card := templates.Card{}
	for i, want := range []struct{ said, text string }{{"denied", ""}, {"answered", "this one"}, {"not answered", ""}} {
		item := cardItem(k, i)
		recordItem(&item, &k.Items[i], k)
		if item.Said != want.said || item.Text != want.text {
			t.Errorf("item %d is %q %q", i, item.Said, item.Text)
		}
		card.Items = append(card.Items, item)
	}
	record(&card, &transcript.Chat{}, k)
	if want := "You allowed or answered 1 of 3"; card.Title != want {
		t.Errorf("%q, want %q", card.Title, want)
	}
}
