package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"lembas/events"
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
	if _, err := startReactors(ctx, a); !errors.Is(err, events.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}
