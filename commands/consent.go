package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lembas/commands/policy"
	"lembas/events"
	"lembas/projections/transcript"
)

// Bounds of an answer.
const (
	maxReason   = 2000     // characters
	maxAnswer   = 20_000   // characters of an answer to a question
	maxArgument = 64 << 10 // bytes of an argument that was corrected
)

// Answer is a person's word on one item of a card.
type Answer struct {
	Key     string
	Verdict string // allow, always or deny
	// Arguments are the item's with the one argument corrected that may be, nil
	// as they were shown.
	Arguments json.RawMessage
	Text      string // the answer to a question
	Reason    string // of a denial; the model reads it
}

// ConsentClosedError says that a card is no longer open, and what came of it. It
// matches events.ErrConflict.
type ConsentClosedError struct{ Consent transcript.Consent }

func (e *ConsentClosedError) Error() string {
	return map[string]string{
		transcript.CardAnswered:  "this card was answered already",
		transcript.CardExpired:   "nobody answered this card in time",
		transcript.CardWithdrawn: "this card was withdrawn",
	}[e.Consent.State]
}

func (e *ConsentClosedError) Unwrap() error { return events.ErrConflict }

// AnswerConsent records a person's answer to a card, whole: every item once.
// What it remembers is in the same append. The answer that is in the log first
// stands; a later one gets a *ConsentClosedError. Nothing runs before this has
// returned.
func (s *Service) AnswerConsent(ctx context.Context, c Caller, chat, consent string, answers []Answer) (transcript.Consent, events.Result, error) {
	return onChat(ctx, s, c, chat, func(t *transcript.Chat) ([]events.Payload, transcript.Consent, error) {
		card := t.Consent(consent)
		if card == nil {
			return nil, transcript.Consent{}, fmt.Errorf("card: %w", events.ErrNotFound)
		}
		if card.State != transcript.CardWaiting {
			return nil, transcript.Consent{}, &ConsentClosedError{Consent: *card}
		}
		out, err := answerConsent(t, card, c, answers)
		if err != nil {
			return nil, transcript.Consent{}, err
		}
		after := *card
		after.State, after.Answers, after.By = transcript.CardAnswered, out[0].(events.ConsentAnswered).Answers, c.User
		after.Session, after.Address, after.Ended = c.Session, c.Address, s.Now().UTC()
		return out, after, nil
	})
}

func answerConsent(t *transcript.Chat, card *transcript.Consent, c Caller, answers []Answer) ([]events.Payload, error) {
	said := events.ConsentAnswered{Consent: card.Consent, Session: c.Session, Token: c.Token, Address: c.Address}
	for i, a := range answers {
		if slices.ContainsFunc(answers[:i], func(b Answer) bool { return b.Key == a.Key }) {
			return nil, events.Invalid("answers", "the item %q is answered twice", clip(a.Key, 100))
		}
		item := card.Item(a.Key)
		if item == nil {
			return nil, events.Invalid("answers", "this card has no item %q", clip(a.Key, 100))
		}
		checked, err := checkAnswer(item, a)
		if err != nil {
			return nil, err
		}
		said.Answers = append(said.Answers, checked)
	}
	for _, item := range card.Items {
		if !slices.ContainsFunc(answers, func(a Answer) bool { return a.Key == item.Key }) {
			return nil, events.Invalid("answers", "the item %q has no answer; a card is answered whole", item.Key)
		}
	}
	out := []events.Payload{said}
	var remembered []string // one that the list has already is given anew: its tool has changed since
	for _, a := range said.Answers {
		if a.Pattern != "" && !slices.Contains(remembered, a.Pattern) {
			remembered = append(remembered, a.Pattern)
			out = append(out, events.ChatAllowAdded{Pattern: a.Pattern, Consent: card.Consent})
		}
	}
	return out, nil
}

func checkAnswer(item *events.ConsentItem, a Answer) (events.ConsentAnswer, error) {
	field := func(name string) string { return "answers[" + item.Key + "]." + name }
	out := events.ConsentAnswer{Key: a.Key, Verdict: a.Verdict}
	switch {
	case a.Verdict != events.VerdictAllow && a.Verdict != events.VerdictAlways && a.Verdict != events.VerdictDeny:
		return out, events.Invalid(field("verdict"), "allow, always or deny")
	case a.Reason != "" && a.Verdict != events.VerdictDeny:
		return out, events.Invalid(field("reason"), "a reason goes with deny only")
	case utf8.RuneCountInString(a.Reason) > maxReason:
		return out, events.Invalid(field("reason"), "at most %d characters", maxReason)
	case a.Text != "" && item.Question == "":
		return out, events.Invalid(field("text"), "this item asks no question")
	case utf8.RuneCountInString(a.Text) > maxAnswer:
		return out, events.Invalid(field("text"), "at most %d characters", maxAnswer)
	}
	out.Reason = strings.TrimSpace(a.Reason)
	if item.Question != "" {
		return checkReply(item, a, out, field)
	}
	if len(a.Arguments) > 0 && string(a.Arguments) != "null" && a.Verdict != events.VerdictDeny {
		corrected, err := correctedArguments(item, a.Arguments)
		if err != nil {
			return out, events.Invalid(field("arguments"), "%s", err)
		}
		out.Arguments = corrected
	}
	if a.Verdict == events.VerdictAlways {
		if item.Pattern == "" {
			return out, events.Invalid(field("verdict"), "this cannot be allowed always; allow it once")
		}
		out.Pattern = item.Pattern
		if out.Arguments != nil {
			out.Pattern = policy.Pattern(item.Name, out.Arguments)
		}
		if out.Pattern == "" {
			return out, events.Invalid(field("verdict"), "what you typed cannot be allowed always; allow it once")
		}
	}
	return out, nil
}

// checkReply is the answer to a question: words, or a refusal to answer.
func checkReply(item *events.ConsentItem, a Answer, out events.ConsentAnswer, field func(string) string) (events.ConsentAnswer, error) {
	switch {
	case a.Verdict == events.VerdictAlways:
		return out, events.Invalid(field("verdict"), "a question is answered with allow and text, or declined with deny")
	case len(a.Arguments) > 0 && string(a.Arguments) != "null":
		return out, events.Invalid(field("arguments"), "a question has no arguments to correct")
	case a.Verdict == events.VerdictAllow && strings.TrimSpace(a.Text) == "":
		return out, events.Invalid(field("text"), "the answer is empty; choose one or write one")
	case a.Verdict == events.VerdictDeny && a.Text != "":
		return out, events.Invalid(field("text"), "a question that is declined has no answer; give a reason instead")
	}
	out.Text = a.Text
	return out, nil
}

// correctedArguments gives the item's arguments with the one that may be edited
// as the person has it; nil when nothing was changed. All others must be as
// they were shown.
func correctedArguments(item *events.ConsentItem, raw json.RawMessage) (json.RawMessage, error) {
	shown, err := policy.Object(item.Arguments)
	if err != nil {
		return nil, err
	}
	given, err := policy.Object(raw)
	if err != nil {
		return nil, err
	}
	_, had := shown[item.Edits]
	_, has := given[item.Edits]
	text, ok := given[item.Edits].(string)
	edits := item.Edits != "" && (had || has) // an optional argument may be on neither side
	switch {
	case edits && !ok:
		return nil, fmt.Errorf("%q must be a text", item.Edits)
	case len(text) > maxArgument:
		return nil, fmt.Errorf("%q may have at most %d bytes", item.Edits, maxArgument)
	case edits && strings.TrimSpace(text) == "":
		return nil, fmt.Errorf("%q must not be empty; deny the item instead", item.Edits)
	}
	for name := range given {
		if _, known := shown[name]; !known && name != item.Edits {
			return nil, fmt.Errorf("%q was not shown on the card", clip(name, 100))
		}
	}
	changed := edits && !had
	for name, v := range shown {
		now, there := given[name]
		if there && reflect.DeepEqual(now, v) {
			continue
		}
		if name != item.Edits {
			if item.Edits == "" {
				return nil, fmt.Errorf("nothing of this item can be corrected; deny it and say why")
			}
			return nil, fmt.Errorf("only %q can be corrected", item.Edits)
		}
		changed = true
	}
	if !changed {
		return nil, nil
	}
	shown[item.Edits] = text
	return policy.Encode(shown)
}

// ExpireConsent ends a card that nobody answered in time; one that is closed
// already stays as it is.
func (s *Service) ExpireConsent(ctx context.Context, chat, consent string) error {
	_, _, err := handle(ctx, s, Caller{}, func() (attempt[struct{}], error) {
		var a attempt[struct{}]
		err := s.WithChat(ctx, chat, func(t *transcript.Chat) error {
			if k := t.Consent(consent); k == nil || k.State != transcript.CardWaiting || t.Deleted {
				return nil
			}
			a.parts = []events.Part{{Stream: events.ChatStream(chat), Expect: events.Exactly(t.Deciding),
				Events: happened(events.ConsentExpired{Consent: consent})}}
			return nil
		})
		return a, err
	})
	return err
}

// EndWaiting ends the reply of a chat that waits on a card for a reason other
// than its person's word ("disabled"); a reply that does not wait is left to its
// loop.
func (s *Service) EndWaiting(ctx context.Context, chat, reason string) error {
	_, _, err := handle(ctx, s, Caller{}, func() (attempt[struct{}], error) {
		var a attempt[struct{}]
		err := s.WithChat(ctx, chat, func(t *transcript.Chat) error {
			if len(t.Pending) == 0 || t.Deleted {
				return nil
			}
			a.parts = []events.Part{{Stream: events.ChatStream(chat), Expect: events.Exactly(t.Deciding),
				Events: happened(endOpen(t, reason, s.Now())...)}}
			return nil
		})
		return a, err
	})
	return err
}

// ApprovalTimeout is how long a card waits before it expires.
func (s Settings) ApprovalTimeout() time.Duration {
	return time.Duration(s.Int("approval_timeout")) * time.Second
}
