package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"lembas/commands"
	"lembas/events/store"
	"lembas/projections"
)

// expirer ends cards that nobody answered in time. A card's time is that which
// passed while a server ran: it is counted with the monotonic clock and kept
// beside the log, so that neither a clock that jumps nor a server that is down
// expires anything.
type expirer struct {
	service *commands.Service
	log     *store.Store
	cards   *projections.Set
	logger  *slog.Logger

	waited map[string]time.Duration // by consent; nil before the first look
	kept   map[string]time.Duration // as the store has it
}

const (
	// expiryGap keeps a busy log from making it look all the time. A card waits a
	// minute at least.
	expiryGap = time.Second
	// expiryRetry is how long a card that could not be ended is left.
	expiryRetry = 10 * time.Second
	// expiryKeep is how much waiting a crash may forget.
	expiryKeep = time.Minute
	// expirySpace has the nanoseconds that each open card has waited.
	expirySpace = "waited"
)

// run ends with ctx.
func (x *expirer) run(ctx context.Context) {
	last := time.Now()
	for ctx.Err() == nil {
		head := x.log.Head()
		if err := x.cards.Await(ctx, head); err != nil {
			return
		}
		now := time.Now()
		next, err := x.look(ctx, now.Sub(last))
		if last = now; err != nil && ctx.Err() == nil {
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

// look ends the cards whose time is over, now that so much of it has passed
// since the last look, and says when to look again.
func (x *expirer) look(ctx context.Context, passed time.Duration) (time.Duration, error) {
	if err := x.load(); err != nil {
		return expiryRetry, err
	}
	for id := range x.waited {
		x.waited[id] += passed
	}
	open, err := x.cards.Consents.Open(ctx)
	if err != nil {
		return expiryRetry, err
	}
	set, err := x.service.Settings(ctx)
	if err != nil {
		return expiryRetry, err
	}
	next, waited := time.Hour, map[string]time.Duration{}
	for _, c := range open {
		if c.Expires.IsZero() {
			continue
		}
		waited[c.Consent] = x.waited[c.Consent]
		if left := cardTime(c, set) - waited[c.Consent]; left > 0 {
			next = min(next, left, expiryKeep)
			continue
		}
		if err := x.service.ExpireConsent(ctx, c.Chat, c.Consent); err != nil {
			next = min(next, expiryRetry)
			x.logger.Error("ending a card that nobody answered", "chat", c.Chat, "consent", c.Consent, "err", err)
		}
	}
	x.waited = waited
	return next, x.keep()
}

// cardTime is how long a card waits. One that was put up just after the clock
// was set back has an end before its beginning: it waits as long as one of now.
func cardTime(c projections.OpenCard, set commands.Settings) time.Duration {
	if d := c.Expires.Sub(c.Since); d >= time.Minute-time.Second { // an end has no fractions
		return d
	}
	return set.ApprovalTimeout()
}

// load reads what cards had waited when the server before this one ended.
func (x *expirer) load() error {
	if x.waited != nil {
		return nil
	}
	waited, kept := map[string]time.Duration{}, map[string]time.Duration{}
	for row, err := range x.log.Keyspace(expirySpace).Iter(nil, nil) {
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(row.Value), 10, 64)
		if err != nil {
			return fmt.Errorf("what the card %s has waited: %w", row.Key, err)
		}
		waited[string(row.Key)], kept[string(row.Key)] = time.Duration(n), time.Duration(n)
	}
	x.waited, x.kept = waited, kept
	return nil
}

// keep writes down what has changed much.
func (x *expirer) keep() error {
	b := x.log.Keyspace(expirySpace).NewBatch()
	for id := range x.kept {
		if _, open := x.waited[id]; !open {
			b.Delete([]byte(id))
			delete(x.kept, id)
		}
	}
	for id, d := range x.waited {
		if d-x.kept[id] >= expiryKeep {
			b.Set([]byte(id), strconv.AppendInt(nil, int64(d), 10))
			x.kept[id] = d
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return b.CommitSync()
}
