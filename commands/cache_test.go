package commands

import (
	"context"
	"errors"
	"iter"
	"testing"

	"lembas/events"
)

// cutLog has five events and breaks off each read after two.
type cutLog struct {
	events.Log
	err   error
	after []events.Position // of each read
}

func (l *cutLog) ReadStream(_ context.Context, _ string, after events.Position) iter.Seq2[events.Envelope, error] {
	l.after = append(l.after, after)
	return func(yield func(events.Envelope, error) bool) {
		for p := after + 1; p <= min(after+2, 5); p++ {
			if !yield(events.Envelope{Position: p}, nil) {
				return
			}
		}
		if after+2 < 5 {
			yield(events.Envelope{}, l.err)
		}
	}
}

// TestAReadThatBreaksOffLosesNothing: a client that goes away in the middle of a
// long fold does not make the next one begin anew.
func TestAReadThatBreaksOffLosesNothing(t *testing.T) {
	log := &cutLog{err: context.Canceled}
	c := newCache(log, 1, func(sum *events.Position, e *events.Envelope) error { *sum += e.Position; return nil })
	var got events.Position
	for range 2 {
		wantErr(t, c.view(t.Context(), "s", func(*events.Position, events.Position) error { return nil }), context.Canceled)
	}
	check(t, c.view(t.Context(), "s", func(sum *events.Position, _ events.Position) error { got = *sum; return nil }))
	if got != 15 || len(log.after) != 3 || log.after[1] != 2 || log.after[2] != 4 {
		t.Errorf("folded %d in reads after %v", got, log.after)
	}
}

// TestAnEventThatCannotBeAppliedLeavesNoHalf: the next look folds from the
// beginning.
func TestAnEventThatCannotBeAppliedLeavesNoHalf(t *testing.T) {
	log, bad := &cutLog{err: context.Canceled}, errors.New("damaged")
	c := newCache(log, 1, func(sum *events.Position, e *events.Envelope) error {
		if *sum += e.Position; e.Position == 2 {
			return bad
		}
		return nil
	})
	for range 2 {
		wantErr(t, c.view(t.Context(), "s", func(*events.Position, events.Position) error { return nil }), bad)
	}
	if len(log.after) != 2 || log.after[1] != 0 {
		t.Errorf("read after %v", log.after)
	}
}
