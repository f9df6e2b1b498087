package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"lembas/events"
	"lembas/events/store"
)

// How much is gathered before it is written, and how far a checkpoint may lag
// while a projection's rows do not change: those events are looked at again
// after a restart, which changes nothing.
const (
	flushEvents = 512
	flushRows   = 2048
	maxLag      = 1 << 14
)

// Runner keeps projections in step with the log.
type Runner struct {
	st     *store.Store
	states []*state
	wants  map[string][]*state // by event type

	mu      sync.Mutex      // guards the rest
	at      events.Position // what all projections have applied
	failed  error
	changed chan struct{} // closed when at or failed changes
}

// state is one projection of a Runner, of the goroutine of Run alone.
type state struct {
	p     Projection
	tx    *Tx
	at    events.Position // applied
	saved events.Position // the stored checkpoint
}

// NewRunner prepares projections, and drops the rows of those that another
// version made or that are ahead of the log. One Runner a store.
func NewRunner(st *store.Store, ps ...Projection) (*Runner, error) {
	r := &Runner{st: st, wants: map[string][]*state{}, changed: make(chan struct{})}
	for i, p := range ps {
		s, err := r.prepare(p)
		if err != nil {
			return nil, fmt.Errorf("projection %s: %w", p.Name(), err)
		}
		r.states = append(r.states, s)
		for _, typ := range p.Types() {
			r.wants[typ] = append(r.wants[typ], s)
		}
		if i == 0 || s.at < r.at {
			r.at = s.at
		}
	}
	return r, nil
}

func (r *Runner) prepare(p Projection) (*state, error) {
	ks := keyspace(r.st, p.Name())
	c, err := readCheckpoint(ks)
	if err != nil {
		return nil, err
	}
	if c.version != p.Version() || c.position > r.st.Head() {
		if err := r.st.DropKeyspace("p/" + p.Name()); err != nil {
			return nil, err
		}
		c = checkpoint{}
	}
	return &state{p: p, tx: &Tx{ks: ks, changes: map[string][]byte{}}, at: c.position, saved: c.position}, nil
}

// Run applies events as they come until ctx ends or the log is closed, which is
// no error.
func (r *Runner) Run(ctx context.Context) error {
	err := r.run(ctx)
	if ctx.Err() != nil || errors.Is(err, events.ErrClosed) {
		err = nil
		if r.st.Head() > 0 {
			err = r.save()
		}
	}
	if errors.Is(err, events.ErrClosed) {
		err = nil // the checkpoints lag, which is right as well
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed = err; err == nil {
		r.failed = events.ErrClosed
	}
	r.tell()
	return err
}

// tell wakes who waits; the caller holds mu.
func (r *Runner) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *Runner) run(ctx context.Context) error {
	for {
		if err := r.CatchUp(ctx); err != nil {
			return err
		}
		if err := r.st.Wait(ctx, r.Position()); err != nil {
			return err
		}
	}
}

// CatchUp applies what the log has now. It is for commands that look once; not
// beside Run.
func (r *Runner) CatchUp(ctx context.Context) error {
	until := r.st.Head()
	pending := 0
	for env, err := range r.st.ReadFilter(ctx, r.Position(), r.wanted) {
		if err == nil {
			err = r.apply(ctx, &env)
		}
		if err != nil {
			r.forget()
			return err
		}
		until = max(until, env.Position)
		if pending++; pending >= flushEvents || r.rows() >= flushRows {
			pending = 0
			if err := r.commit(env.Position, maxLag); err != nil {
				return err
			}
		}
	}
	return r.commit(until, maxLag)
}

func (r *Runner) wanted(typ, _ string) bool { return len(r.wants[typ]) > 0 }

func (r *Runner) apply(ctx context.Context, env *events.Envelope) error {
	p, err := events.Decode(env)
	if err != nil {
		return err
	}
	for _, s := range r.wants[env.Type] {
		if env.Position <= s.at {
			continue // it was ahead of the others
		}
		if err := s.p.Apply(ctx, s.tx, env, p); err != nil {
			return fmt.Errorf("projection %s at %d: %w", s.p.Name(), env.Position, err)
		}
	}
	return nil
}

// forget drops what was not committed: half of a pass that failed.
func (r *Runner) forget() {
	for _, s := range r.states {
		clear(s.tx.changes)
	}
}

func (r *Runner) rows() (n int) {
	for _, s := range r.states {
		n += len(s.tx.changes)
	}
	return n
}

// commit makes what was applied up to a position visible and tells who waits.
func (r *Runner) commit(at events.Position, lag events.Position) error {
	for _, s := range r.states {
		if at <= s.at {
			continue
		}
		if len(s.tx.changes) > 0 || at-s.saved >= lag {
			if err := s.tx.write(checkpoint{version: s.p.Version(), position: at}); err != nil {
				return fmt.Errorf("projection %s: %w", s.p.Name(), err)
			}
			s.saved = at
		}
		s.at = at
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at > r.at {
		r.at = at
		r.tell()
	}
	return nil
}

// save writes all checkpoints, so that the next start has nothing to look at.
func (r *Runner) save() error {
	for _, s := range r.states {
		if s.saved == s.at {
			continue
		}
		if err := s.tx.write(checkpoint{version: s.p.Version(), position: s.at}); err != nil {
			return fmt.Errorf("projection %s: %w", s.p.Name(), err)
		}
		s.saved = s.at
	}
	return nil
}

// Position is the position that all projections have applied.
func (r *Runner) Position() events.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// Failed says why Run has ended, nil while it has not.
func (r *Runner) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Await returns when all projections have applied a position, so that a handler
// reads what it wrote. The error is ctx's, Run's, or ErrClosed after Run ended.
func (r *Runner) Await(ctx context.Context, p events.Position) error {
	for {
		r.mu.Lock()
		at, failed, changed := r.at, r.failed, r.changed
		r.mu.Unlock()
		if at >= p {
			return nil
		}
		if failed != nil {
			return fmt.Errorf("projections stand at %d, not at %d: %w", at, p, failed)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
