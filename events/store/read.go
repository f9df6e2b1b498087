package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"lembas/events"
)

// A read goes through the log in chunks and holds nothing of Pebble between
// them, so that a reader that stops keeps no old files alive and no Close
// waiting. The first chunk is small, because most reads are of a short tail.
const (
	firstChunk = 64
	chunkMax   = 2048
	chunkBytes = 1 << 20
)

// lanes is how many chunks of a long read are inflated and decoded at once,
// ahead of the reader: that work costs as much as most of what readers do.
const lanes = 2

// Read implements events.Log.
func (s *Store) Read(ctx context.Context, after events.Position) iter.Seq2[events.Envelope, error] {
	return s.ReadFilter(ctx, after, nil)
}

// ReadFilter is Read for the events of which keep says yes; nil keeps all. keep
// sees type and stream before anything else of the event is decoded; it is
// called from several goroutines and not in order.
func (s *Store) ReadFilter(ctx context.Context, after events.Position, keep func(typ, stream string) bool) iter.Seq2[events.Envelope, error] {
	return func(yield func(events.Envelope, error) bool) {
		r := reader{s: s, ctx: ctx, keep: keep, yield: yield}
		until := s.Head()
		if after >= until {
			return
		}
		at := min(after+firstChunk, until)
		if r.span(after, at) && at < until {
			r.ahead(at, until)
		}
	}
}

// ReadStream implements events.Log.
func (s *Store) ReadStream(ctx context.Context, stream string, after events.Position) iter.Seq2[events.Envelope, error] {
	return func(yield func(events.Envelope, error) bool) {
		r := reader{s: s, ctx: ctx, yield: yield}
		c := &stretch{at: after, to: s.Head(), limit: firstChunk}
		for c.at < c.to {
			r.load(c, func() error { return r.fillStream(c, stream) })
			if !r.give(c) {
				return
			}
			c.limit = min(2*c.limit, chunkMax)
		}
	}
}

// reader is one read under way.
type reader struct {
	s     *Store
	ctx   context.Context
	keep  func(typ, stream string) bool
	yield func(events.Envelope, error) bool
}

// stretch is a part of a read: events of the positions up to at, on the way to to.
type stretch struct {
	at, to events.Position
	limit  int
	events []events.Envelope
	size   int
	err    error
	names  interner
	ready  chan struct{}
}

func (c *stretch) full() bool { return len(c.events) >= c.limit || c.size >= chunkBytes }

// span reads the positions after one up to another, one chunk after the other;
// false when the reader has enough or there was an error.
func (r *reader) span(after, to events.Position) bool {
	return r.rest(&stretch{at: after, to: to, limit: chunkMax})
}

func (r *reader) rest(c *stretch) bool {
	for c.at < c.to {
		r.load(c, func() error { return r.fill(c) })
		if !r.give(c) {
			return false
		}
	}
	return true
}

// ahead reads a long stretch with several chunks in the making. Where it stops
// early, they end by themselves.
func (r *reader) ahead(at, until events.Position) {
	var making []*stretch
	free := make([]*stretch, 0, lanes)
	for at < until || len(making) > 0 {
		for at < until && len(making) < lanes {
			c := &stretch{limit: chunkMax}
			if n := len(free); n > 0 {
				c, free = free[n-1], free[:n-1]
			}
			c.at, c.to, c.ready = at, min(at+chunkMax, until), make(chan struct{})
			go func() {
				defer close(c.ready)
				r.load(c, func() error { return r.fill(c) })
			}()
			making, at = append(making, c), c.to
		}
		c := making[0]
		making = making[1:]
		<-c.ready
		if !r.give(c) || !r.rest(c) { // large events: the chunk ended early
			return
		}
		free = append(free, c)
	}
}

// give yields a chunk's events and its error.
func (r *reader) give(c *stretch) bool {
	for i := range c.events {
		if !r.yield(c.events[i], nil) {
			return false
		}
	}
	if c.err == nil {
		c.err = r.ctx.Err()
	}
	if c.err != nil {
		r.yield(events.Envelope{}, c.err)
	}
	return c.err == nil
}

func (r *reader) load(c *stretch, fill func() error) {
	clear(c.events)
	c.events, c.size = c.events[:0], 0
	if c.err = r.s.enter(); c.err != nil {
		return
	}
	defer r.s.leave()
	c.err = fill()
}

// fill takes the next events of the whole log. A missing position is damage.
func (r *reader) fill(c *stretch) error {
	it, err := r.s.db.NewIter(&pebble.IterOptions{
		LowerBound: positionKey(nil, kindEvent, c.at+1), UpperBound: positionKey(nil, kindEvent, c.to+1),
	})
	if err != nil {
		return damaged(err)
	}
	defer it.Close()
	for it.First(); it.Valid() && !c.full(); it.Next() {
		if p := positionOf(it.Key()); p != c.at+1 {
			return fmt.Errorf("%w: event %d is missing", events.ErrDamaged, c.at+1)
		}
		if err := r.take(c, it.Value(), c.at+1); err != nil {
			return err
		}
		c.at++
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("event %d: %w", c.at+1, damaged(err))
	}
	if !it.Valid() && c.at < c.to {
		return fmt.Errorf("%w: event %d is missing", events.ErrDamaged, c.at+1)
	}
	return nil
}

// take decodes an event into the chunk, unless it is not wanted.
func (r *reader) take(c *stretch, value []byte, p events.Position) error {
	e, err := parseEvent(value)
	if err != nil {
		return fmt.Errorf("event %d: %w", p, err)
	}
	if r.keep != nil && !r.keep(c.names.get(e.typ), c.names.get(e.stream)) {
		return nil
	}
	c.events = append(c.events, e.envelope(p, &c.names))
	c.size += len(value)
	return nil
}

// fillStream takes the next events of one stream: positions from its index, the
// events from the log, without a seek where they lie side by side.
func (r *reader) fillStream(c *stretch, stream string) error {
	index, err := r.s.db.NewIter(&pebble.IterOptions{
		LowerBound: indexKey(nil, stream, c.at+1), UpperBound: indexKey(nil, stream, c.to+1),
	})
	if err != nil {
		return damaged(err)
	}
	defer index.Close()
	log, err := r.s.db.NewIter(&pebble.IterOptions{
		LowerBound: positionKey(nil, kindEvent, c.at+1), UpperBound: positionKey(nil, kindEvent, c.to+1),
	})
	if err != nil {
		return damaged(err)
	}
	defer log.Close()
	var key []byte
	next := events.Position(0) // what log.Next would come to
	for index.First(); index.Valid() && !c.full(); index.Next() {
		p := positionOf(index.Key())
		found := false
		if p == next {
			found = log.Next()
		} else {
			key = positionKey(key, kindEvent, p)
			found = log.SeekGE(key)
		}
		if err := log.Error(); err != nil {
			return fmt.Errorf("event %d: %w", p, damaged(err))
		}
		if !found || positionOf(log.Key()) != p {
			return fmt.Errorf("%w: event %d is missing", events.ErrDamaged, p)
		}
		if err := r.take(c, log.Value(), p); err != nil {
			return err
		}
		c.at, next = p, p+1
	}
	if err := index.Error(); err != nil {
		return damaged(err)
	}
	if !index.Valid() {
		c.at = c.to
	}
	return nil
}

// Stream implements events.Log.
func (s *Store) Stream(ctx context.Context, stream string) (events.StreamInfo, error) {
	if st, ok := s.streams.get(stream); ok {
		return st.StreamInfo, nil
	}
	if err := s.enter(); err != nil {
		return events.StreamInfo{}, err
	}
	defer s.leave()
	st, err := readStream(s.db, stream)
	if err != nil {
		return events.StreamInfo{}, err
	}
	if st.Last > 0 {
		if err := s.Wait(ctx, st.Last-1); err != nil { // its sync may be on its way
			return events.StreamInfo{}, err
		}
	}
	return st.StreamInfo, nil
}

// ReadSalt gives the salt of an event, for receipts; nil when it was erased.
func (s *Store) ReadSalt(p events.Position) ([]byte, error) {
	if p < 1 || p > s.Head() {
		return nil, fmt.Errorf("%w: event %d", events.ErrNotFound, p)
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	v, closer, err := s.db.Get(positionKey(nil, kindEvent, p))
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", p, damaged(err))
	}
	defer closer.Close()
	e, err := parseEvent(v)
	return append([]byte(nil), e.salt...), err
}

func appendVersion(dst []byte, v events.Version) []byte { return binary.AppendUvarint(dst, uint64(v)) }
