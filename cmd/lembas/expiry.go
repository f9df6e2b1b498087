package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"lembas/commands"
	"lembas/events/store"
	"lembas/projections"
)

// expirer ends cards that nobody answered in time. A card's time is that which
// passed while a server ran, so a clock that jumps expires nothing: within this
// process it is measured with the monotonic clock, before it by what the log
// has.
type expirer struct {
	service *commands.Service
	log     *store.Store
	cards   *projections.Set
	logger  *slog.Logger

	due map[string]time.Time // by consent, monotonic
}

// expiryGap keeps a busy log from making it look all the time. A card waits a
// minute at least.
const expiryGap = time.Second

// expiryRetry is how long a card that could not be ended is left.
const expiryRetry = 10 * time.Second

// run ends with ctx.
func (x *expirer) run(ctx context.Context) {
	x.due = map[string]time.Time{}
	last := x.lastSign(ctx)
	for ctx.Err() == nil {
		head := x.log.Head()
		if err := x.cards.Await(ctx, head); err != nil {
			return
		}
		next, err := x.look(ctx, last)
		if err != nil && ctx.Err() == nil {
			x.logger.Error("looking for cards that nobody answered", "err", err)
		}
		wait, cancel := context.WithTimeout(ctx, next)
		err = x.log.Wait(wait, head)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return
		}
		select {
		case <-time.After(expiryGap):
		case <-ctx.Done():
		}
	}
}

// lastSign is when the server before this one last wrote something: so long it
// ran at least. Zero for a new log.
func (x *expirer) lastSign(ctx context.Context) time.Time {
	head := x.log.Head()
	if head == 0 {
		return time.Time{}
	}
	for e, err := range x.log.Read(ctx, head-1) {
		if err == nil {
			return e.Time
		}
	}
	return time.Time{}
}

// look ends the cards whose time is over and says when to look again.
func (x *expirer) look(ctx context.Context, last time.Time) (time.Duration, error) {
	open, err := x.cards.Consents.Open(ctx)
	if err != nil {
		return expiryRetry, err
	}
	now, next := time.Now(), time.Hour
	known := map[string]bool{}
	for _, c := range open {
		if c.Expires.IsZero() {
			continue
		}
		known[c.Consent] = true
		due, ok := x.due[c.Consent]
		if !ok {
			waited := max(0, min(last.Sub(c.Since), c.Expires.Sub(c.Since)))
			due = now.Add(c.Expires.Sub(c.Since) - waited)
			x.due[c.Consent] = due
		}
		if left := due.Sub(now); left > 0 {
			next = min(next, left)
			continue
		}
		if err := x.service.ExpireConsent(ctx, c.Chat, c.Consent); err != nil {
			next = min(next, expiryRetry)
			x.logger.Error("ending a card that nobody answered", "chat", c.Chat, "consent", c.Consent, "err", err)
		}
	}
	for id := range x.due {
		if !known[id] {
			delete(x.due, id)
		}
	}
	return next, nil
}
