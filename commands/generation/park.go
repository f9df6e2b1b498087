package generation

import (
	"context"

	"lembas/events"
	"lembas/projections/transcript"
)

// Cards lists what waits.
type Cards interface {
	// OpenCards gives the chats that wait on a card, all that the log has now.
	OpenCards(ctx context.Context) ([]OpenCard, error)
}

// OpenCard is a card that waits for an answer.
type OpenCard struct{ Chat, Consent string }

// park ends the work on a reply that waits for a person. No goroutine waits: the
// answer's own event starts the loop again. What was switched off just before
// the card was there ends it here: EndDisabled came too early to see it.
func (r *run) park() error {
	l := r.loop
	l.mu.Lock()
	if l.parked == nil {
		l.parked = map[string]string{}
	}
	l.parked[r.chat] = r.reply
	l.mu.Unlock()
	gone, err := l.disabled(r.life, r.chat)
	if err != nil || !gone {
		return err
	}
	return l.Service.EndWaiting(r.life, r.chat, "disabled")
}

// unpark says whether this very process left the reply waiting, so that no
// restart lies between.
func (l *Loop) unpark(chat, reply string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.parked[chat] == reply
	delete(l.parked, chat)
	return was
}

// Resume goes on with the reply of a card that was answered or has expired: it
// is the handler of both. It returns as Handle does.
func (l *Loop) Resume(ctx context.Context, env *events.Envelope) error {
	p, err := events.Decode(env)
	if err != nil {
		return err
	}
	var consent string
	switch p := p.(type) {
	case events.ConsentAnswered:
		consent = p.Consent
	case events.ConsentExpired:
		consent = p.Consent
	default:
		return nil // erased, or from a newer version
	}
	var reply, model string
	err = l.Service.WithChat(ctx, env.Stream[len("chat/"):], func(c *transcript.Chat) error {
		k := c.Consent(consent)
		if k == nil || c.Deleted {
			return nil
		}
		if _, x := c.Reply(k.Reply); x != nil && !x.Ended() {
			reply, model = x.ID, x.Model
		}
		return nil
	})
	if err != nil || reply == "" {
		return err
	}
	r := l.newRun(ctx, env, reply, model)
	defer r.cancel(nil)
	if l.Since > 0 && env.Position > l.Since {
		r.fresh = append(r.fresh, consent)
	}
	return r.takeInTurn()
}

// left waits until no run of this process has the reply.
func (l *Loop) left(ctx context.Context, reply string) error {
	l.mu.Lock()
	other := l.running[reply]
	l.mu.Unlock()
	if other == nil {
		return nil
	}
	select {
	case <-other.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// EndDisabled ends the replies that wait on a card of a person, connection or
// model that was switched off: no loop watches while a card waits. It is the
// handler of what can switch one off.
func (l *Loop) EndDisabled(ctx context.Context, _ *events.Envelope) error {
	if l.Cards == nil {
		return nil
	}
	open, err := l.Cards.OpenCards(ctx)
	if err != nil {
		return err
	}
	for _, card := range open {
		gone, err := l.disabled(ctx, card.Chat)
		if err != nil {
			return err
		}
		if gone {
			if err := l.Service.EndWaiting(ctx, card.Chat, "disabled"); err != nil {
				return err
			}
		}
	}
	return nil
}

// disabled says whether the open reply of a chat may not go on.
func (l *Loop) disabled(ctx context.Context, chat string) (bool, error) {
	var owner, model string
	err := l.Service.WithChat(ctx, chat, func(c *transcript.Chat) error {
		owner = c.Owner
		if r := c.Open(); r != nil {
			model = r.Model
		}
		return nil
	})
	if err != nil || model == "" {
		return false, err
	}
	t := &target{owner: owner}
	if t.model, err = l.Service.Model(ctx, model); err != nil {
		return false, err
	}
	r := &run{loop: l, chat: chat}
	if gone, err := r.personGone(t)(ctx); gone || err != nil {
		return gone, err
	}
	return r.modelGone(t)(ctx)
}
