package store

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"lembas/events"
)

// Store is the log in Pebble, with keyspaces beside it. Safe for several
// goroutines.
type Store struct {
	o     Options
	dir   string
	epoch string
	lock  io.Closer
	db    *pebble.DB

	head    atomic.Uint64 // position of the last event whose sync has returned
	streams streamCache
	waiters waiters
	space   space

	// Of the appender alone, after Open; record of the commit under way.
	frontier frontier // with the group that is being built
	record   *record
	types    map[string]typeRecord
	queue    chan *request

	gate    gate
	closing chan struct{} // closed when Close begins: waits end
	stop    chan struct{} // closed when no append is left
	stopped chan struct{} // closed when the appender has ended

	failed  atomic.Pointer[error]
	opening atomic.Bool
	once    sync.Once     // of fatal
	dead    chan struct{} // closed after a fatal error
}

var _ events.Log = (*Store)(nil)

// Epoch implements events.Log.
func (s *Store) Epoch() string { return s.epoch }

// Head implements events.Log.
func (s *Store) Head() events.Position { return events.Position(s.head.Load()) }

// Dir is the data directory.
func (s *Store) Dir() string { return s.dir }

// gate counts the calls that are inside Pebble, so that Close can wait for
// them. A call from inside another one is refused, not blocked, once Close has
// begun.
type gate struct {
	mu     sync.Mutex // guards all
	inside int
	closed bool
	idle   chan struct{} // closed when the last one has left a closed gate
}

func (s *Store) enter() error {
	if s.failed.Load() != nil {
		return s.failure()
	}
	g := &s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return events.ErrClosed
	}
	g.inside++
	return nil
}

func (s *Store) leave() {
	g := &s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 && g.closed {
		close(g.idle)
	}
}

// shut closes the gate; false when it was closed before.
func (g *gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.closed = true
	if g.inside == 0 {
		close(g.idle)
	}
	return true
}

// Close lets appends that are under way finish, ends all waits with ErrClosed,
// records the head and closes the files. Later calls get ErrClosed. It waits
// for iterators of keyspaces.
func (s *Store) Close() error {
	if !s.gate.shut() {
		return nil
	}
	close(s.closing)
	if !s.drain() {
		// Nothing more may be written; the process is about to end.
		return errors.Join(s.failure(), s.lock.Close())
	}
	err := s.attempt(func() error {
		return errors.Join(s.record.both(), s.record.file.Close(), s.db.Close())
	})
	if err = errors.Join(err, s.lock.Close()); err != nil {
		return fmt.Errorf("close %s: %w", s.dir, err)
	}
	return nil
}

// drain waits until nobody is inside and the appender has ended; false when the
// store failed.
func (s *Store) drain() bool {
	select {
	case <-s.gate.idle:
		close(s.stop)
	case <-s.dead:
		return false
	}
	select {
	case <-s.stopped:
		return true
	case <-s.dead:
		return false
	}
}

// fatal is where failed commits and syncs end up, from any goroutine. After it
// nothing is written or acknowledged again. It does not return: Pebble panics
// under its locks when it gets an error back in such places. Where OnFatal
// returns (tests) and while the store is being opened, the goroutine is parked
// and everybody else is told through dead.
func (s *Store) fatal(err error) {
	s.once.Do(func() {
		err = fmt.Errorf("%s: %w", s.dir, err)
		s.failed.Store(&err)
		close(s.dead)
		if !s.opening.Load() {
			s.o.OnFatal(err)
		}
	})
	select {}
}

func (s *Store) failure() error {
	if err := s.failed.Load(); err != nil {
		return fmt.Errorf("log stopped: %w", *err)
	}
	return nil
}

// apply commits a batch for a caller that is not the appender. Should that fail,
// the process ends.
func (s *Store) apply(b *pebble.Batch, how *pebble.WriteOptions) error {
	if err := b.Commit(how); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return s.failure()
}
