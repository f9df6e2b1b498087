package generation

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"lembas/events"
	"lembas/projections/transcript"
)

// errDisabled ends a reply whose person or connection was switched off.
var errDisabled = errors.New("switched off")

// watch ends the reply within a moment after its person is disabled, or its
// connection or model is switched off or removed. The function that it gives
// ends the watching and waits for that.
func (r *run) watch(ctx context.Context, t *target) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var both sync.WaitGroup
	both.Go(func() { r.whenever(ctx, events.UserStream(t.owner), r.personGone(t)) })
	both.Go(func() { r.whenever(ctx, events.InstanceStream, r.modelGone(t)) })
	return func() { cancel(); both.Wait() }
}

// whenever looks now and after each event of a stream, until gone says yes and
// ends the reply, or ctx ends.
func (r *run) whenever(ctx context.Context, stream string, gone func(context.Context) (bool, error)) {
	for {
		at := r.loop.Log.Head()
		is, err := gone(ctx)
		if err != nil {
			return // ctx ended, or the log cannot be read: then nothing goes on
		}
		if is {
			r.cancel(errDisabled)
			return
		}
		if r.loop.Log.WaitStream(ctx, stream, at) != nil {
			return
		}
	}
}

func (r *run) personGone(t *target) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		u, err := r.loop.Service.User(ctx, t.owner)
		return u.Disabled, err
	}
}

func (r *run) modelGone(t *target) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		m, err := r.loop.Service.Model(ctx, t.model.ID)
		if err != nil {
			return false, err
		}
		c, err := r.loop.Service.Connection(ctx, t.model.Connection)
		if errors.Is(err, events.ErrNotFound) {
			return true, nil
		}
		return !m.State.Enabled || !c.State.Enabled, err
	}
}

// owner is whose chat the reply is in.
func (r *run) owner(ctx context.Context) (owner string, err error) {
	err = r.loop.Service.WithChat(ctx, r.chat, func(c *transcript.Chat) error {
		owner = c.Owner
		return nil
	})
	return owner, err
}

// contained is answer, with a bug in it made an ending: without that the
// message would be delivered, and the round paid for, again and again.
func (r *run) contained(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.loop.Logger.Error("a reply panicked", "chat", r.chat, "reply", r.reply, "panic", p, "stack", string(debug.Stack()))
			err = r.finish(events.Failed, "internal", &events.RoundError{Kind: "internal",
				Message: "Something went wrong inside the server; its log says what. Try again."}, 0)
		}
	}()
	return r.answer(ctx)
}
