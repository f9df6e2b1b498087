package export

import (
	"cmp"
	"strings"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
)

// Verdict is what came of a call on one card: one for each item that asked about
// it, in the order in which they were asked.
type Verdict struct {
	Call    string `json:"tool_call_id"`
	Consent string `json:"consent"`
	// Verdict is allow, always or deny, for a question answered or declined; of a
	// card without an answer expired, withdrawn or waiting.
	Verdict  string    `json:"verdict"`
	By       string    `json:"by,omitempty"` // the person's id
	At       time.Time `json:"at"`           // of a card that waits: since when
	Reason   string    `json:"reason,omitempty"`
	Pattern  string    `json:"pattern,omitempty"` // what always remembered
	Question string    `json:"question,omitempty"`
	Answer   string    `json:"answer,omitempty"`
	// Arguments are those that the person corrected, Sent what the model sent.
	Arguments events.RawJSON `json:"arguments,omitempty"`
	Sent      string         `json:"sent,omitempty"`
}

// The verdicts that only a question has.
const (
	answered = "answered"
	declined = "declined"
)

func verdicts(x *transcript.Round, k *transcript.Call) []Verdict {
	var out []Verdict
	for _, card := range x.Consents {
		for _, item := range card.Items {
			if item.Call == k.ID {
				out = append(out, verdict(card, &item, k))
			}
		}
	}
	return out
}

func verdict(card *transcript.Consent, item *events.ConsentItem, k *transcript.Call) Verdict {
	v := Verdict{Call: k.ID, Consent: card.Consent, Verdict: card.State, At: card.Ended.UTC(), Reason: card.Why, Question: item.Question}
	switch card.State {
	case transcript.CardWaiting:
		v.At = card.Since.UTC()
		return v
	case transcript.CardAnswered:
		v.By, v.Verdict = card.By, events.VerdictDeny
	default:
		return v
	}
	a := card.Answer(item.Key)
	if a != nil {
		v.Verdict, v.Reason, v.Pattern, v.Answer = a.Verdict, a.Reason, a.Pattern, a.Text
	}
	if v.Verdict != events.VerdictDeny && len(a.Arguments) > 0 {
		v.Arguments, v.Sent = a.Arguments, k.Raw
	}
	switch {
	case v.Question == "":
	case v.Verdict == events.VerdictDeny:
		v.Verdict = declined
	default:
		v.Verdict = answered
	}
	return v
}

// words is a verdict for a reader; the owner of the chat is "you".
func (v Verdict) words(owner string) string {
	who := cmp.Or(v.By, "somebody")
	if v.By == owner && owner != "" {
		who = "you"
	}
	word := map[string]string{events.VerdictAllow: "Allowed by " + who, events.VerdictAlways: "Allowed always by " + who,
		events.VerdictDeny: "Denied by " + who, answered: "Answered by " + who, declined: "Declined by " + who,
		transcript.CardExpired: "Not answered in time", transcript.CardWithdrawn: "Withdrawn without an answer",
		transcript.CardWaiting: "Waiting for an answer since"}[v.Verdict]
	if v.Verdict == transcript.CardWaiting {
		word += " " + stamp(v.At)
	} else {
		word += ", " + stamp(v.At)
	}
	if v.Question != "" {
		word = "Question: " + strings.TrimSpace(v.Question) + "\n" + word
	}
	if said := cmp.Or(v.Answer, v.Reason); said != "" {
		word += ": " + strings.TrimSpace(said)
	}
	if v.Pattern != "" {
		word += "\nRemembered for this chat: " + v.Pattern
	}
	if v.Sent != "" {
		word += "\nThe arguments were corrected."
	}
	return word
}

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") }

// said is all that people said of a call, "" when nobody was asked.
func said(owner string, x *transcript.Round, k *transcript.Call) string {
	var out []string
	for _, v := range verdicts(x, k) {
		out = append(out, v.words(owner))
	}
	return strings.Join(out, "\n\n")
}
