package generation

import (
	"context"
	"encoding/json"
	"errors"

	"lembas/commands/llm"
	"lembas/events"
	"lembas/projections/transcript"
)

// round asks the endpoint once and records all of it. A nil error means that
// the round has finished in the log, well or not.
func (r *run) round(ctx context.Context, n int, t *target) error {
	body, err := r.request(ctx, t)
	if err != nil {
		return err
	}
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
	g := newGatherer(t.gather, func(p events.Payload) error { return r.append(nil, p) })
	g.reply, g.round = r.reply, n
	v := &veil{mask: r.loop.secrets(ctx)}
	res, callErr := t.endpoint.Stream(ctx, body, llm.Handler{
		Delta: func(d llm.Delta) error { return r.delta(g, v, d, t) },
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
	return r.settle(ctx, n, t, v.mask, res, callErr)
}

// delta takes one piece of the reply and keeps the budget of output.
func (r *run) delta(g *gatherer, v *veil, d llm.Delta, t *target) error {
	r.output += len(d.Text)
	if t.maxOutput > 0 && transcript.EstimateTokens(r.output) > t.maxOutput {
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
func (r *run) settle(ctx context.Context, n int, t *target, m mask, res llm.Result, callErr error) error {
	end := events.RoundFinished{Reply: r.reply, Round: n, FinishReason: events.FinishReason(res.FinishReason), MS: res.Total.Milliseconds(), Usage: usage(res.Usage)}
	if res.First > 0 {
		first := res.First.Milliseconds()
		end.FirstMS = &first
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStopped):
		return r.cut(cause, t, end)
	case errors.Is(callErr, errOutput):
		return r.cut(errOutput, t, end)
	case cause != nil && callErr != nil:
		return r.cut(cause, t, end)
	case callErr != nil:
		return callErr
	}
	if res.Err != nil {
		end.Error = m.error(res.Err)
	}
	err := r.append(nil, append(r.calls(n, &res, m), end)...)
	if errors.Is(err, events.ErrTooLarge) { // asked again it would be as large
		end.Error = &events.RoundError{Kind: llm.KindTooLarge, Message: "The model made a tool call that is too large to be kept."}
		err = r.append(nil, end)
	}
	return err
}

// calls records the calls that a model made although nothing was offered to
// it, and refuses them in words that it can act on.
func (r *run) calls(n int, res *llm.Result, m mask) []events.Payload {
	var out []events.Payload
	for i, c := range res.Calls {
		raw := c.Raw
		if raw == "" {
			raw = c.Arguments
		}
		args := json.RawMessage(m.text(c.Arguments))
		if !c.ArgumentsValid {
			args = json.RawMessage("{}")
		}
		why := "This tool was not offered in this chat. Answer without tools."
		if res.Err != nil || res.FinishReason == llm.FinishLength {
			why = "The call was cut before it was complete and was not run."
		}
		out = append(out,
			events.ToolCalled{Reply: r.reply, Round: n, Call: m.text(c.ID), Index: i, Name: m.text(c.Name), Arguments: args, Raw: m.text(raw), Risk: ""},
			events.ToolFinished{Reply: r.reply, Round: n, Call: m.text(c.ID), Status: events.ToolRefused, Output: why, Bytes: int64(len(why))})
	}
	return out
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
