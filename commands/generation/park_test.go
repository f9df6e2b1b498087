package generation

import (
	"context"
	"testing"

	"lembas/commands"
	"lembas/events"
)

// blindLog appends something right after a card is durable, and wakes nobody
// that waits for a stream: nothing watches at that moment.
type blindLog struct {
	events.Log
	after func()
}

func (l *blindLog) Append(ctx context.Context, b events.Batch) (events.Result, error) {
	res, err := l.Log.Append(ctx, b)
	for _, part := range b.Parts {
		for _, e := range part.Events {
			if e.Payload.EventType() == "consent.requested" {
				l.after()
			}
		}
	}
	return res, err
}

func (l *blindLog) WaitStream(ctx context.Context, _ string, _ events.Position) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestAPersonIsDisabledJustAsTheCardComes: whoever ends cards of disabled
// persons came before the card, and the reply's own watch sees nothing any more.
// The card is withdrawn all the same (F45).
func TestAPersonIsDisabledJustAsTheCardComes(t *testing.T) {
	w, m := withTools(t, answerByTurns)
	c := w.chat("x")
	log := &blindLog{Log: w.log}
	w.reborn(log)
	admin, yes := commands.Caller{User: "another admin", Admin: true}, true
	log.after = func() {
		_, err := w.service.ChangeUser(t.Context(), admin, w.ann.User, commands.ChangeUser{Disabled: &yes})
		must(t, err)
	}
	must(t, w.handle(t.Context(), c.Chat))
	if r := w.reply(c.Chat, c.Reply); r.Status != events.Stopped || r.Why != "disabled" || len(m.did()) != 0 {
		t.Fatalf("%s (%s), ran %q: %v", r.Status, r.Why, m.did(), w.types(c.Chat))
	}
	env := w.last(c.Chat, "consent.withdrawn")
	if p, _ := events.Decode(&env); p.(events.ConsentWithdrawn).Reason != "disabled" {
		t.Errorf("%+v", p)
	}
}
