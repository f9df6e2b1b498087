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

// Read implements events.Log.
func (s *Store) Read(ctx context.Context, after events.Position) iter.Seq2[events.Envelope, error] {
	return s.ReadFilter(ctx, after, nil)
}

// ReadFilter is Read for the events of which keep says yes; nil keeps all. keep
// sees type and stream before anything else of the event is decoded.
func (s *Store) ReadFilter(ctx context.Context, after events.Position, keep func(typ, stream string) bool) iter.Seq2[events.Envelope, error] {
	return func(yield func(events.Envelope, error) bool) {
		r := reader{s: s, keep: keep, until: s.Head(), at: after, limit: firstChunk}
		r.run(ctx, yield, r.fill)
	}
}

// ReadStream implements events.Log.
func (s *Store) ReadStream(ctx context.Context, stream string, after events.Position) iter.Seq2[events.Envelope, error] {
	return func(yield func(events.Envelope, error) bool) {
		r := reader{s: s, stream: stream, until: s.Head(), at: after, limit: firstChunk}
		r.run(ctx, yield, r.fillStream)
	}
}

// reader is one read under way.
type reader struct {
	s      *Store
	stream string
	keep   func(typ, stream string) bool
	until  events.Position
	at     events.Position // everything up to it was looked at
	limit  int
	chunk  []events.Envelope
	size   int
	names  interner
}

func (r *reader) run(ctx context.Context, yield func(events.Envelope, error) bool, fill func() error) {
	for r.at < r.until {
		err := ctx.Err()
		if err == nil {
			err = r.load(fill)
		}
		for i := range r.chunk {
			if !yield(r.chunk[i], nil) {
				return
			}
		}
		if err != nil {
			yield(events.Envelope{}, err)
			return
		}
	}
}

func (r *reader) load(fill func() error) error {
	clear(r.chunk)
	r.chunk, r.size = r.chunk[:0], 0
	if err := r.s.enter(); err != nil {
		return err
	}
	defer r.s.leave()
	err := fill()
	r.limit = min(2*r.limit, chunkMax)
	return err
}

func (r *reader) full() bool { return len(r.chunk) >= r.limit || r.size >= chunkBytes }

// fill takes the next chunk of the whole log. A missing position is damage.
func (r *reader) fill() error {
	it, err := r.s.db.NewIter(&pebble.IterOptions{
		LowerBound: positionKey(nil, kindEvent, r.at+1), UpperBound: positionKey(nil, kindEvent, r.until+1),
	})
	if err != nil {
		return damaged(err)
	}
	defer it.Close()
	seen := 0
	for it.First(); it.Valid() && !r.full() && seen < chunkMax; it.Next() {
		if p := positionOf(it.Key()); p != r.at+1 {
			return fmt.Errorf("%w: event %d is missing", events.ErrDamaged, r.at+1)
		}
		if err := r.take(it.Value(), r.at+1); err != nil {
			return err
		}
		r.at++
		seen++
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("event %d: %w", r.at+1, damaged(err))
	}
	if !it.Valid() && r.at < r.until {
		return fmt.Errorf("%w: event %d is missing", events.ErrDamaged, r.at+1)
	}
	return nil
}

// take decodes an event into the chunk, unless it is not wanted.
func (r *reader) take(value []byte, p events.Position) error {
	e, err := parseEvent(value)
	if err != nil {
		return fmt.Errorf("event %d: %w", p, err)
	}
	if r.keep != nil && !r.keep(r.names.get(e.typ), r.names.get(e.stream)) {
		return nil
	}
	r.chunk = append(r.chunk, e.envelope(p, &r.names))
	r.size += len(value)
	return nil
}

// fillStream takes the next chunk of one stream: positions from its index, the
// events from the log, without a seek where they lie side by side.
func (r *reader) fillStream() error {
	index, err := r.s.db.NewIter(&pebble.IterOptions{
		LowerBound: indexKey(nil, r.stream, r.at+1), UpperBound: indexKey(nil, r.stream, r.until+1),
	})
	if err != nil {
		return damaged(err)
	}
	defer index.Close()
	log, err := r.s.db.NewIter(&pebble.IterOptions{
		LowerBound: positionKey(nil, kindEvent, r.at+1), UpperBound: positionKey(nil, kindEvent, r.until+1),
	})
	if err != nil {
		return damaged(err)
	}
	defer log.Close()
	var key []byte
	next := events.Position(0) // what log.Next would come to
	for index.First(); index.Valid() && !r.full(); index.Next() {
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
		if err := r.take(log.Value(), p); err != nil {
			return err
		}
		r.at, next = p, p+1
	}
	if err := index.Error(); err != nil {
		return damaged(err)
	}
	if !index.Valid() {
		r.at = r.until
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
