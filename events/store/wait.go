package store

import (
	"context"
	"fmt"
	"sync"

	"lembas/events"
)

// signal wakes all who wait for one thing, once. It is there only while
// someone waits.
type signal struct {
	ch      chan struct{}
	waiting int
}

// waiters has who waits: for the head, and for single streams. A commit costs
// one look per stream that it wrote to, however many wait for others.
type waiters struct {
	mu      sync.Mutex // guards the maps and what is in them
	streams map[string]*signal
	head    signal
}

// join begins a wait for a stream; the caller looks at the stream after it and
// calls leave in the end.
func (w *waiters) join(stream string) *signal {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.streams[stream]
	if s == nil {
		s = &signal{ch: make(chan struct{})}
		w.streams[stream] = s
	}
	s.waiting++
	return s
}

func (w *waiters) leave(stream string, s *signal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.waiting--; s.waiting == 0 && w.streams[stream] == s {
		delete(w.streams, stream)
	}
}

func (w *waiters) joinHead() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.head.ch == nil {
		w.head.ch = make(chan struct{})
	}
	return w.head.ch
}

func (s *Store) wake(streams map[string]*pendingStream) {
	w := &s.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.head.ch != nil {
		close(w.head.ch)
		w.head.ch = nil
	}
	if len(w.streams) == 0 {
		return
	}
	for name, st := range streams {
		if sig := w.streams[name]; sig != nil && st.changed {
			close(sig.ch)
			delete(w.streams, name)
		}
	}
}

// Wait implements events.Log.
func (s *Store) Wait(ctx context.Context, after events.Position) error {
	for s.Head() <= after {
		ch := s.waiters.joinHead()
		if s.Head() > after {
			return nil
		}
		if err := s.sleep(ctx, ch); err != nil {
			return err
		}
	}
	return nil
}

// WaitStream implements events.Log.
func (s *Store) WaitStream(ctx context.Context, stream string, after events.Position) error {
	for {
		sig := s.waiters.join(stream)
		st, err := s.Stream(ctx, stream)
		if err == nil && st.Last <= after {
			err = s.sleep(ctx, sig.ch)
		}
		s.waiters.leave(stream, sig)
		if err != nil {
			return fmt.Errorf("wait for %s: %w", stream, err)
		}
		if st.Last > after {
			return nil
		}
	}
}

func (s *Store) sleep(ctx context.Context, ch <-chan struct{}) error {
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return events.ErrClosed
	case <-s.dead:
		return s.failure()
	}
}
