package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"lembas/events"
	"lembas/projections"
)

// TestReactorsThatCannotBeginAreAnError: progress that cannot be read ends the
// start with a word, instead of a server that waits for ever.
func TestReactorsThatCannotBeginAreAnError(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	a, err := openApp(t.Context(), &program{env: func(string) string { return "" }}, t.TempDir(), log, 0)
	must(t, err)
	t.Cleanup(func() { must(t, a.close()) })
	b := a.log.Keyspace("sub/generation/reply.requested").NewBatch()
	b.Set([]byte("low"), []byte{0x80})
	must(t, b.CommitSync())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := startReactors(ctx, a, func(context.Context, *events.Envelope) error { return nil }); !errors.Is(err, events.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// TestAReactorThatEndedIsNotReady: a server that answers nothing says so.
func TestAReactorThatEndedIsNotReady(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	a, err := openApp(t.Context(), &program{env: func(string) string { return "" }}, t.TempDir(), log, 0)
	must(t, err)
	h := &house{app: a}
	h.set, err = projections.Open(a.log)
	must(t, err)
	h.reactors, err = startReactors(t.Context(), a, func(context.Context, *events.Envelope) error { return nil })
	must(t, err)
	if err := h.ready(t.Context()); err != nil {
		t.Errorf("while all run: %v", err)
	}
	must(t, a.close()) // no reactor can read on
	<-h.reactors.handlers["generation"].Stopped()
	if err := h.ready(t.Context()); !errors.Is(err, events.ErrClosed) {
		t.Errorf("after its end: %v", err)
	}
	must(t, h.reactors.close())
}

// TestProjectionsThatEndedAreNotReady: lists that no longer move are a fault.
func TestProjectionsThatEndedAreNotReady(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	a, err := openApp(t.Context(), &program{env: func(string) string { return "" }}, t.TempDir(), log, 0)
	must(t, err)
	defer func() { must(t, a.close()) }()
	h := &house{app: a, reactors: &reactors{}}
	h.set, err = projections.Open(a.log)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, h.set.Run(ctx))
	if err := h.ready(t.Context()); err == nil {
		t.Error("ready without projections")
	}
}
