package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
)

func isConflict(err error) bool {
	var c *events.ConflictError
	return errors.As(err, &c)
}

// Submitted answers a command that may start a reply.
type Submitted struct {
	Message string `json:"message_id"`
	Reply   string `json:"reply_id,omitempty"`
	Queued  bool   `json:"queued"`
}

// maxQueue bounds the turns that wait in one chat.
const maxQueue = 20

// SubmitMessage sends a turn: it gets a reply at once, or waits in the queue
// while another reply runs.
func (s *Service) SubmitMessage(ctx context.Context, c Caller, chat, text string) (Submitted, events.Result, error) {
	if err := s.mayChat(ctx, c); err != nil {
		return Submitted{}, events.Result{}, err
	}
	message, reply := s.NewID(), s.NewID()
	return onChat(ctx, s, c, chat, func(t *transcript.Chat) ([]events.Payload, Submitted, error) {
		return submitMessage(t, message, reply, text)
	})
}

func submitMessage(t *transcript.Chat, message, reply, text string) ([]events.Payload, Submitted, error) {
	if err := checkText(text); err != nil {
		return nil, Submitted{}, err
	}
	if t.Open() != nil {
		if len(t.Queue) >= maxQueue {
			return nil, Submitted{}, fmt.Errorf("%d messages wait already: %w", maxQueue, events.ErrBusy)
		}
		return []events.Payload{events.MessageQueued{Message: message, Text: text, Attachments: []events.Attachment{}}},
			Submitted{Message: message, Queued: true}, nil
	}
	return []events.Payload{
		events.MessageSubmitted{Message: message, Text: text, Attachments: []events.Attachment{}},
		events.ReplyRequested{Reply: reply, Message: message, Reason: events.ForMessage, Model: t.Model},
	}, Submitted{Message: message, Reply: reply}, nil
}

// WithdrawMessage takes a queued turn back.
func (s *Service) WithdrawMessage(ctx context.Context, c Caller, chat, message string) (events.Result, error) {
	_, res, err := onChat(ctx, s, c, chat, func(t *transcript.Chat) ([]events.Payload, struct{}, error) {
		if err := mustBeQueued(t, message); err != nil {
			return nil, struct{}{}, err
		}
		return []events.Payload{events.MessageWithdrawn{Message: message}}, struct{}{}, nil
	})
	return res, err
}

// EditQueued changes the words of a queued turn.
func (s *Service) EditQueued(ctx context.Context, c Caller, chat, message, text string) (events.Result, error) {
	_, res, err := onChat(ctx, s, c, chat, func(t *transcript.Chat) ([]events.Payload, struct{}, error) {
		if err := errors.Join(checkText(text)); err != nil {
			return nil, struct{}{}, err
		}
		if err := mustBeQueued(t, message); err != nil {
			return nil, struct{}{}, err
		}
		return []events.Payload{events.MessageEdited{Message: message, Text: text}}, struct{}{}, nil
	})
	return res, err
}

// SendNow delivers one queued turn of an idle chat, out of turn if need be.
func (s *Service) SendNow(ctx context.Context, c Caller, chat, message string) (Submitted, events.Result, error) {
	if err := s.mayChat(ctx, c); err != nil {
		return Submitted{}, events.Result{}, err
	}
	reply := s.NewID()
	return onChat(ctx, s, c, chat, func(t *transcript.Chat) ([]events.Payload, Submitted, error) {
		if err := mustBeQueued(t, message); err != nil {
			return nil, Submitted{}, err
		}
		if t.Open() != nil {
			return nil, Submitted{}, fmt.Errorf("a reply is running; the message is delivered when it ends: %w", events.ErrConflict)
		}
		return deliver(t.Model, message, reply), Submitted{Message: message, Reply: reply}, nil
	})
}

func deliver(model, message, reply string) []events.Payload {
	return []events.Payload{
		events.MessageDelivered{Message: message, Reply: reply},
		events.ReplyRequested{Reply: reply, Message: message, Reason: events.ForQueue, Model: model},
	}
}

// DeliverNext gives the payloads that deliver the oldest queued turn, none when
// nothing waits. The loop appends them together with the end of a reply.
func DeliverNext(t *transcript.Chat, newID func() string) []events.Payload {
	if len(t.Queue) == 0 {
		return nil
	}
	return deliver(t.Model, t.Queue[0].ID, newID())
}

func mustBeQueued(t *transcript.Chat, message string) error {
	if t.QueuedTurn(message) != nil {
		return nil
	}
	if t.Turn(message) != nil {
		return fmt.Errorf("the message was delivered already: %w", events.ErrConflict)
	}
	return fmt.Errorf("message: %w", events.ErrNotFound)
}

// EditMessage changes a turn that was sent, takes the later turns out of the
// transcript and asks for a new reply.
func (s *Service) EditMessage(ctx context.Context, c Caller, chat, message, text string) (Submitted, events.Result, error) {
	if err := s.mayChat(ctx, c); err != nil {
		return Submitted{}, events.Result{}, err
	}
	reply := s.NewID()
	return onChat(ctx, s, c, chat, func(t *transcript.Chat) ([]events.Payload, Submitted, error) {
		return editMessage(t, message, reply, text)
	})
}

func editMessage(t *transcript.Chat, message, reply, text string) ([]events.Payload, Submitted, error) {
	if err := checkText(text); err != nil {
		return nil, Submitted{}, err
	}
	if t.Turn(message) == nil {
		return nil, Submitted{}, fmt.Errorf("message: %w", events.ErrNotFound)
	}
	if err := mustBeIdle(t); err != nil {
		return nil, Submitted{}, err
	}
	return []events.Payload{
		events.MessageEdited{Message: message, Text: text},
		events.ChatRewound{Message: message},
		events.ReplyRequested{Reply: reply, Message: message, Reason: events.ForEdit, Model: t.Model},
	}, Submitted{Message: message, Reply: reply}, nil
}

// Regenerate asks again for a reply to the same turn. A reply in the middle of
// the transcript takes the later turns out.
func (s *Service) Regenerate(ctx context.Context, c Caller, chat, reply string) (Submitted, events.Result, error) {
	if err := s.mayChat(ctx, c); err != nil {
		return Submitted{}, events.Result{}, err
	}
	id := s.NewID()
	return onChat(ctx, s, c, chat, func(t *transcript.Chat) ([]events.Payload, Submitted, error) {
		return regenerate(t, reply, id)
	})
}

func regenerate(t *transcript.Chat, reply, id string) ([]events.Payload, Submitted, error) {
	turn, r := t.Reply(reply)
	if r == nil || turn.Left != 0 {
		return nil, Submitted{}, fmt.Errorf("reply: %w", events.ErrNotFound)
	}
	if err := mustBeIdle(t); err != nil {
		return nil, Submitted{}, err
	}
	var out []events.Payload
	if turn != t.Last() {
		out = append(out, events.ChatRewound{Message: turn.ID})
	}
	out = append(out, events.ReplyRequested{Reply: id, Message: turn.ID, Reason: events.ForRegenerate, Model: t.Model})
	return out, Submitted{Message: turn.ID, Reply: id}, nil
}

func mustBeIdle(t *transcript.Chat) error {
	if t.Open() != nil {
		return fmt.Errorf("a reply is running; stop it first: %w", events.ErrConflict)
	}
	return nil
}

// Stop ends the running reply of a chat; without one it does nothing. The reply
// to a queued turn that was delivered meanwhile goes on.
func (s *Service) Stop(ctx context.Context, c Caller, chat string) (events.Result, error) {
	reply, err := s.stopLoop(ctx, c.User, chat)
	if err != nil {
		return events.Result{}, err
	}
	_, res, err := onChat(ctx, s, c, chat, func(t *transcript.Chat) ([]events.Payload, struct{}, error) {
		if r := t.Open(); r == nil || r.ID != reply {
			return nil, struct{}{}, nil
		}
		return endOpen(t, "stopped", s.Now()), struct{}{}, nil
	})
	if err != nil || res.First > 0 {
		s.cutLoop(ctx, reply)
	}
	return res, err
}

// cutLoop ends the work of a loop that took an ended reply up between stopLoop
// and the append: what it runs would go on until it next writes.
func (s *Service) cutLoop(ctx context.Context, reply string) {
	if reply == "" || s.Stopper == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	s.Stopper.StopReply(ctx, reply)
}

// stopLoop lets the loop that streams the open reply end it, so that what
// arrived and was not yet appended is kept, and gives that reply, "" for none.
// When no loop has it the caller's own append ends it.
func (s *Service) stopLoop(ctx context.Context, user, chat string) (reply string, err error) {
	err = s.ViewChat(ctx, user, chat, func(t *transcript.Chat) error {
		if r := t.Open(); r != nil {
			reply = r.ID
		}
		return nil
	})
	if err != nil || reply == "" || s.Stopper == nil {
		return reply, err
	}
	ctx, cancel := context.WithTimeout(ctx, 700*time.Millisecond) // GEN-4: within a second
	defer cancel()
	s.Stopper.StopReply(ctx, reply)
	return reply, nil
}

// endOpen gives the payloads that end an open reply from outside the loop.
func endOpen(t *transcript.Chat, reason string, now time.Time) []events.Payload {
	r := t.Open()
	if r == nil {
		return nil
	}
	return append(EndCalls(t, r, reason), events.ReplyFinished{Reply: r.ID, Status: events.Stopped, Reason: reason,
		Metrics: transcript.Measure(r, 0, now)})
}

// EndCalls gives what has to be recorded before the end of an open reply: its
// cards are withdrawn, its calls stopped. Reason is stopped, deleted or disabled.
func EndCalls(t *transcript.Chat, r *transcript.Reply, reason string) []events.Payload {
	var out []events.Payload
	for _, p := range t.Pending {
		if p.Reply == r.ID {
			out = append(out, events.ConsentWithdrawn{Consent: p.Consent, Reason: reason})
		}
	}
	for _, x := range r.Live() {
		for _, k := range x.Calls {
			if !k.Over() {
				out = append(out, events.ToolFinished{Reply: r.ID, Round: x.N, Call: k.ID, Status: events.ToolStopped})
			}
		}
	}
	return out
}
