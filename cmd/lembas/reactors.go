package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"lembas/events"
	"lembas/events/bus"
)

// reactors are the handlers that events set off. Each is a durable consumer
// group, so a crash redelivers what was not acknowledged.
type reactors struct {
	router   *message.Router
	handlers map[string]*message.Handler // by group
}

// routerTime is how long handlers get to return when the server ends.
const routerTime = 3 * time.Second

// startReactors begins to answer replies, to go on when a card was answered, to
// tell browsers of cards, and to title chats. The loop's handler
// goes through no retry and no poison queue: a retried handler is a round paid
// twice; what the log says decides what a redelivery does.
func startReactors(ctx context.Context, a *app, push func(context.Context, *events.Envelope) error) (*reactors, error) {
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: routerTime}, watermill.NewSlogLogger(slog.New(quiet{a.logger.Handler()})))
	if err != nil {
		return nil, err
	}
	b := bus.New(a.log, a.logger)
	handlers := map[string]*message.Handler{}
	for _, r := range []struct {
		group, topic string
		handle       func(context.Context, *events.Envelope) error
	}{
		{"generation", "reply.requested", a.loop.Handle},
		{"titles", "reply.finished", a.loop.Title},
		{"answers", "consent.answered", a.loop.Resume},
		{"expiries", "consent.expired", a.loop.Resume},
		{"compactions", "compaction.requested", a.loop.Compact},
		{"pushes", "consent.requested", push},
		{"disabled-people", "user.changed", a.loop.EndDisabled},
		{"disabled-connections", "connection.changed", a.loop.EndDisabled},
		{"removed-connections", "connection.removed", a.loop.EndDisabled},
		{"disabled-models", "model.changed", a.loop.EndDisabled},
	} {
		sub, err := b.Subscriber(bus.Config{Group: r.group, Order: bus.OrderStream, RedeliverAfter: 2 * time.Second})
		if err != nil {
			return nil, err
		}
		handlers[r.group] = router.AddConsumerHandler(r.group, r.topic, sub, func(msg *message.Message) error {
			var env events.Envelope
			if err := json.Unmarshal(msg.Payload, &env); err != nil {
				return fmt.Errorf("%s: %w", r.group, err)
			}
			return r.handle(msg.Context(), &env)
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- router.Run(ctx) }() // ends with ctx or close
	select {
	case <-router.Running():
		return &reactors{router: router, handlers: handlers}, nil
	case err := <-ended: // a subscription could not begin
		return nil, fmt.Errorf("starting what answers: %w", errors.Join(err, ctx.Err()))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stopped is an error when one has ended, as it does when the log cannot be
// read; the server then takes messages and answers none.
func (r *reactors) stopped() error {
	for group, h := range r.handlers {
		select {
		case <-h.Stopped():
			return fmt.Errorf("the reactor %s has stopped: %w", group, events.ErrClosed)
		default:
		}
	}
	return nil
}

// close lets handlers return without acknowledgement.
func (r *reactors) close() error { return r.router.Close() }

// quiet passes on watermill's warnings and errors only: it narrates.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

func (q quiet) WithAttrs(as []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(as)} }
func (q quiet) WithGroup(n string) slog.Handler       { return quiet{q.Handler.WithGroup(n)} }
