package commands

import (
	"context"
	"testing"

	"lembas/events"
	"lembas/projections/transcript"
)

// stopperFunc ends a reply as a test wants.
type stopperFunc func(ctx context.Context, reply string) bool

func (f stopperFunc) StopReply(ctx context.Context, reply string) bool { return f(ctx, reply) }

// TestStopEndsTheReplyThatRan: one that ended by itself at that moment has
// delivered the next queued turn, whose reply nobody asked to stop.
func TestStopEndsTheReplyThatRan(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	h.connect(t, ann)
	made, _, err := h.CreateChat(t.Context(), ann, CreateChat{Text: "one"})
	check(t, err)
	_, _, err = h.SubmitMessage(t.Context(), ann, made.Chat, "two")
	check(t, err)
	h.Stopper = stopperFunc(func(ctx context.Context, reply string) bool {
		part := events.Part{Stream: events.ChatStream(made.Chat)}
		check(t, h.WithChat(ctx, made.Chat, func(c *transcript.Chat) error {
			part.Events = happened(append([]events.Payload{events.ReplyFinished{Reply: reply, Status: events.Complete}}, DeliverNext(c, h.NewID)...)...)
			return nil
		}))
		_, err := h.log.Append(ctx, events.Batch{Actor: ann.actor(), Correlation: "c", Causation: "d", Parts: []events.Part{part}})
		check(t, err)
		return true
	})
	_, err = h.Stop(t.Context(), ann, made.Chat)
	check(t, err)
	check(t, h.ViewChat(t.Context(), ann.User, made.Chat, func(c *transcript.Chat) error {
		if r := c.Open(); r == nil || r.ID == made.Reply {
			t.Errorf("open is %+v, want the reply to the second turn", r)
		}
		return nil
	}))
}
