package transcript

import (
	"encoding/json"
	"slices"
	"time"

	"lembas/events"
)

// Where a card stands.
const (
	CardWaiting   = "waiting"
	CardAnswered  = "answered"
	CardExpired   = "expired"
	CardWithdrawn = "withdrawn"
)

// Consent is one card with what came of it. It stays where it happened.
type Consent struct {
	events.ConsentRequested
	Since   time.Time              `json:"since"`
	State   string                 `json:"state"` // CardWaiting and so on
	Why     string                 `json:"why,omitempty"`
	Answers []events.ConsentAnswer `json:"answers,omitempty"`
	By      string                 `json:"by,omitempty"` // the person's id
	Session string                 `json:"session,omitempty"`
	Address string                 `json:"address,omitempty"`
	Ended   time.Time              `json:"ended,omitzero"`
}

// Answer is the word on one item, nil without one.
func (c *Consent) Answer(key string) *events.ConsentAnswer {
	i := slices.IndexFunc(c.Answers, func(a events.ConsentAnswer) bool { return a.Key == key })
	if i < 0 {
		return nil
	}
	return &c.Answers[i]
}

// Item is one thing that the card asks about, nil without one.
func (c *Consent) Item(key string) *events.ConsentItem {
	i := slices.IndexFunc(c.Items, func(x events.ConsentItem) bool { return x.Key == key })
	if i < 0 {
		return nil
	}
	return &c.Items[i]
}

// Card is the newest card that asks about a call of the round, nil for none.
func (x *Round) Card(call string) *Consent {
	for i := len(x.Consents) - 1; i >= 0; i-- {
		if slices.ContainsFunc(x.Consents[i].Items, func(item events.ConsentItem) bool { return item.Call == call }) {
			return x.Consents[i]
		}
	}
	return nil
}

// Consent finds a card of the chat, also of turns that have left, nil when there
// is none. The call ids of a card are of its own round.
func (c *Chat) Consent(id string) *Consent {
	for _, turns := range [][]*Turn{c.Turns, c.Left} {
		for i := len(turns) - 1; i >= 0; i-- {
			for _, r := range turns[i].Replies {
				if k := r.consent(id); k != nil {
					return k
				}
			}
		}
	}
	return nil
}

func (r *Reply) consent(id string) *Consent {
	for _, x := range r.Rounds {
		for _, k := range x.Consents {
			if k.Consent == id {
				return k
			}
		}
	}
	return nil
}

func (c *Chat) stepConsent(e *events.Envelope, p events.Payload) {
	switch p := p.(type) {
	case events.ConsentRequested:
		c.Pending = append(c.Pending, p)
		if x := c.findRound(p.Reply, p.Round); x != nil {
			x.Consents = append(x.Consents, &Consent{ConsentRequested: p, Since: e.Time, State: CardWaiting})
		}
	case events.ConsentAnswered:
		if k := c.endCard(e, p.Consent, CardAnswered, ""); k != nil {
			k.Answers, k.By, k.Session, k.Address = p.Answers, e.Actor.ID, p.Session, p.Address
			c.correct(k)
		}
	case events.ConsentExpired:
		c.endCard(e, p.Consent, CardExpired, "")
	case events.ConsentWithdrawn:
		c.endCard(e, p.Consent, CardWithdrawn, p.Reason)
	}
	if r := c.Open(); r != nil {
		r.Status = Streaming
		if len(c.Pending) > 0 {
			r.Status = Waiting
		}
	}
}

func (c *Chat) endCard(e *events.Envelope, id, state, why string) *Consent {
	c.Pending = slices.DeleteFunc(c.Pending, func(x events.ConsentRequested) bool { return x.Consent == id })
	k := c.Consent(id)
	if k == nil || k.State != CardWaiting {
		return nil
	}
	k.State, k.Why, k.Ended = state, why, e.Time
	return k
}

// correct puts the arguments that a person corrected in place of the model's:
// the card, the runner and the model see the same ones.
func (c *Chat) correct(k *Consent) {
	for _, a := range k.Answers {
		item := k.Item(a.Key)
		if item == nil || len(a.Arguments) == 0 || a.Verdict == events.VerdictDeny {
			continue
		}
		if call := c.findCall(k.Reply, k.Round, item.Call); call != nil {
			call.Arguments, call.Edited = a.Arguments, true
			call.Detail = corrected(call.Detail, item.Edits, a.Arguments)
		}
	}
}

// corrected is a call's detail after its argument was corrected.
func corrected(was, name string, arguments events.RawJSON) string {
	var args map[string]any
	if json.Unmarshal(arguments, &args) != nil {
		return was
	}
	if text, ok := args[name].(string); ok {
		return text
	}
	return was
}
