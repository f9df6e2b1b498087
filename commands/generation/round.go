package generation

import (
	"context"
	"errors"

	"lembas/commands/llm"
	"lembas/events"
	"lembas/projections/transcript"
)

// ask makes the next request of the reply: first what has to be settled before
// it (a budget that is spent, a turn that waits, room in the model's context),
// then the round.
func (r *run) ask(ctx context.Context, t *target, s state) error {
	if s.budget == "" {
		b, err := r.spent(ctx, t, s)
		if err != nil {
			return err
		}
		if b != nil {
			return r.wrapUp(*b)
		}
		if s.round != nil && len(s.round.Calls) > 0 && len(s.round.Injected) == 0 && len(s.queue) > 0 {
			return r.inject(s)
		}
	}
	o, err := r.offer(ctx, t, s.budget != "")
	if err != nil {
		return err
	}
	body, err := r.request(ctx, t, o)
	if err != nil {
		return err
	}
	if done, err := r.makeRoom(ctx, t, s, body); done || err != nil {
		return err
	}
	return r.round(ctx, t, s, o, body)
}

// wrapUp says which budget is spent; the next round is the last, without tools.
func (r *run) wrapUp(b budget) error {
	return r.append(nil, events.ReplyBudgetSpent{Reply: r.reply, Budget: b.name, Limit: b.limit})
}

// inject delivers the oldest turn that waits into the running reply, at the end
// of a round with tools. A withdrawal that comes first wins.
func (r *run) inject(s state) error {
	b := r.cause
	b.Parts = []events.Part{{Stream: events.ChatStream(r.chat), Expect: events.Exactly(s.deciding),
		Events: news([]events.Payload{events.MessageDelivered{Message: s.queue[0], Reply: r.reply, Round: s.round.N}})}}
	err := r.write(b)
	if conflict := new(events.ConflictError); errors.As(err, &conflict) {
		return nil // look again
	}
	return err
}

// round asks the endpoint once and records all of it. A nil error means that
// the round has finished in the log, well or not.
func (r *run) round(ctx context.Context, t *target, s state, o *offer, body []byte) error {
	n := s.next
	started, puts, err := r.roundStarted(n, body)
	if errors.Is(err, events.ErrTooLarge) {
		return r.finish(events.Failed, "too_large", &events.RoundError{Kind: "unavailable",
			Message: "The conversation is too long to be sent. Start a new chat."}, t.model.State.ContextLength)
	}
	if err != nil {
		return err
	}
	if err := r.append(puts, started); err != nil {
		return err
	}
	ctx, stop := r.roundBudget(ctx, t, s, o.wrap)
	defer stop()
	g := newGatherer(t.gather, func(p events.Payload) error { return r.append(nil, p) })
	g.reply, g.round = r.reply, n
	v := &veil{mask: r.loop.secrets(ctx)}
	res, callErr := t.endpoint.Stream(ctx, body, llm.Handler{
		Delta: func(d llm.Delta) error { return r.delta(g, v, d) },
		Retry: func(a llm.Attempt) {
			g.put(events.RoundRetried{Reply: r.reply, Round: n, Attempt: a.Number, Error: *v.error(a.Err), WaitMS: a.Wait.Milliseconds()})
		},
	})
	for _, d := range v.rest() {
		_ = g.add(d) // the error comes from close
	}
	if err := g.close(); err != nil {
		return err
	}
	return r.settle(ctx, n, t, o, v.mask, res, callErr)
}

// delta takes one piece of the reply and keeps the budget of output.
func (r *run) delta(g *gatherer, v *veil, d llm.Delta) error {
	r.output += len(d.Text)
	if r.maxOutput > 0 && transcript.EstimateTokens(r.output) > r.maxOutput {
		return errOutput
	}
	for _, d := range v.pass(d) {
		if err := g.add(d); err != nil {
			return err
		}
	}
	return nil
}

// settle records how a round ended. One that came whole counts even when the
// process is going down, because it was paid for; Stop wins over it.
func (r *run) settle(ctx context.Context, n int, t *target, o *offer, m mask, res llm.Result, callErr error) error {
	end := events.RoundFinished{Reply: r.reply, Round: n, FinishReason: events.FinishReason(res.FinishReason), MS: res.Total.Milliseconds(), Usage: usage(res.Usage)}
	if res.First > 0 {
		first := res.First.Milliseconds()
		end.FirstMS = &first
	}
	cause := context.Cause(ctx)
	if errors.Is(callErr, errOutput) && !errors.Is(cause, errStopped) {
		cause = errOutput
	}
	switch {
	case errors.Is(cause, errStopped):
		return r.cut(cause, t, end)
	case callErr != nil && len(o.tools) > 0 && errors.Is(cause, errOutput):
		return r.append(nil, end, events.ReplyBudgetSpent{Reply: r.reply, Budget: "limits.output_tokens", Limit: int64(t.maxOutput)})
	case callErr != nil && len(o.tools) > 0 && errors.Is(cause, errWallTime):
		return r.append(nil, end, events.ReplyBudgetSpent{Reply: r.reply, Budget: "limits.wall_clock", Limit: int64(t.wallClock.Seconds())})
	case cause != nil && callErr != nil:
		return r.cut(cause, t, end)
	case callErr != nil:
		return callErr
	}
	if res.Err != nil {
		end.Error = m.error(res.Err)
	}
	err := r.record(n, o, m, &res, end)
	switch conflict := new(events.ConflictError); {
	case errors.Is(err, events.ErrTooLarge): // asked again it would be as large
		end.Error = &events.RoundError{Kind: llm.KindTooLarge, Message: "The model made a tool call that is too large to be kept."}
		return r.append(nil, end)
	case err != nil && len(res.Calls) > 0 && !errors.As(err, &conflict) && !errors.Is(err, events.ErrClosed) && !errors.Is(err, events.ErrReadOnly):
		r.loop.Logger.Error("recording what a model asked to do", "chat", r.chat, "reply", r.reply, "err", err)
		return r.finish(events.Failed, "not_recorded", &events.RoundError{Kind: "unavailable",
			Message: "What the model asked to do could not be recorded, so nothing was run. Try again."}, t.model.State.ContextLength, end)
	}
	return err
}

// record appends a round's calls, its end and the card that asks for its person,
// in one append: there is never a call of which it is not yet known whether it
// asks. It decides with the chat as it is at that moment.
func (r *run) record(n int, o *offer, m mask, res *llm.Result, end events.RoundFinished) error {
	consent := r.loop.NewID()
	r.fresh = append(r.fresh, consent)
	for {
		b := r.cause
		err := r.loop.Service.WithChat(context.WithoutCancel(r.life), r.chat, func(c *transcript.Chat) error {
			_, reply := c.Reply(r.reply)
			d := r.decide(n, o, res, m, c.Allow, callIDs(reply))
			out := append(d.called, end)
			if card := d.request(consent, r.reply, n, c, o, c.Allow, r.loop.Now()); card != nil {
				out = append(out, card)
			}
			expect := events.WhileOpen(r.reply)
			if len(d.called) > 0 { // what it decided with must still be so
				expect = events.Exactly(c.Deciding)
			}
			b.Parts = []events.Part{{Stream: events.ChatStream(r.chat), Expect: expect, Events: news(out)}}
			if reply == nil || reply.Ended() {
				b.Parts[0].Expect = events.WhileOpen(r.reply)
			}
			return nil
		})
		if err != nil {
			return err
		}
		decided := b.Parts[0].Expect != events.WhileOpen(r.reply)
		err = r.write(b)
		if conflict := new(events.ConflictError); !decided || !errors.As(err, &conflict) {
			return err
		}
	}
}

func usage(u *llm.Usage) *events.Usage {
	if u == nil {
		return nil
	}
	return &events.Usage{Prompt: int(u.Prompt), Completion: int(u.Completion), Cached: count(u.Cached), Reasoning: count(u.Reasoning)}
}

// count keeps apart nothing reported and none.
func count(n *int64) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}
