package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/mod/sumdb/tlog"

	"lembas/events"
)

// Bounds of one group commit. 256 is more writers than a busy server has at
// once, and keeps a group's work under 2 ms; the bytes keep a group below half
// a memtable unless one batch alone is larger.
const (
	queueLength = 256
	groupMax    = 256
	groupBytes  = 4 << 20
)

// Append implements events.Log.
func (s *Store) Append(ctx context.Context, b events.Batch) (events.Result, error) {
	r, err := s.prepare(&b)
	if err != nil {
		return events.Result{}, err
	}
	if err := s.enter(); err != nil {
		return events.Result{}, err
	}
	defer s.leave()
	select {
	case s.queue <- r:
	case <-ctx.Done():
		return events.Result{}, ctx.Err()
	case <-s.dead:
		return events.Result{}, s.failure()
	}
	select {
	case <-r.done:
		return r.result, r.err
	case <-s.dead:
		return events.Result{}, s.failure()
	}
}

// appendLoop is the one goroutine that writes events. Close stops it when no
// append is left; a fatal error ends it inside a commit.
func (s *Store) appendLoop() {
	defer close(s.stopped)
	timer := time.NewTimer(time.Hour) // armed while the recorded head is behind
	timer.Stop()
	for {
		select {
		case r := <-s.queue:
			s.commit(s.gather(r))
			if s.record.behind && !s.record.armed {
				s.record.armed = true
				timer.Reset(recordEvery)
			}
		case <-timer.C:
			s.record.armed = false
			s.syncRecord()
		case <-s.stop:
			return
		}
	}
}

// gather drains what is queued, up to the bounds of a group.
func (s *Store) gather(first *request) []*request {
	// The writers of the last group were woken just now: let them queue, or
	// every other group would have one request.
	runtime.Gosched()
	group := append(s.group[:0], first)
	for size := first.size; len(group) < groupMax && size < groupBytes; {
		select {
		case r := <-s.queue:
			group = append(group, r)
			size += r.size
		default:
			s.group = group
			return group
		}
	}
	s.group = group
	return group
}

// building is a group while its batch grows.
type building struct {
	s        *Store
	batch    *pebble.Batch
	now      time.Time
	head     events.Position
	tree     frontier
	streams  map[string]*pendingStream
	outcomes map[string]*request
	types    map[string]typeRecord
	urgent   bool
	key, val []byte
}

// commit makes a group durable with one sync, then moves the head, then wakes
// who waits and answers who asked.
func (s *Store) commit(group []*request) {
	b := &building{s: s, batch: s.db.NewBatch(), now: s.o.Now(), head: s.Head(), tree: s.frontier.clone(),
		streams: make(map[string]*pendingStream, len(group)), outcomes: map[string]*request{}, types: map[string]typeRecord{}}
	readOnly := s.checkSpace()
	for _, r := range group {
		if r.err = readOnly; r.err == nil {
			r.err = b.add(r)
		}
	}
	if b.head > s.Head() {
		// A commit or sync that fails does not return (see Store.fatal), so
		// nothing is ever synced again and called good.
		if err := b.batch.Commit(s.writeOptions()); err != nil {
			s.fatal(err)
		}
		s.publish(b)
	}
	for _, r := range group {
		close(r.done)
	}
	_ = b.batch.Close() // it only gives its memory back
	clear(group)
}

// publish makes a committed group visible. The recorded head comes first: no
// one may see an event that a cut of the log could lose without a word.
func (s *Store) publish(b *building) {
	s.frontier = b.tree
	s.record.note(b.head, b.tree.root())
	if b.urgent {
		s.syncRecord()
	} else {
		s.writeRecord()
	}
	s.streams.put(b.streams)
	for name, t := range b.types {
		s.types[name] = t
	}
	s.head.Store(uint64(b.head))
	s.wake(b.streams)
}

func (s *Store) writeOptions() *pebble.WriteOptions {
	if s.o.noSync {
		return pebble.NoSync
	}
	return pebble.Sync
}

// add puts a request into the batch, whole or not at all.
func (b *building) add(r *request) error {
	if r.batch.Key != "" {
		if done, err := b.repeated(r); done || err != nil {
			return err
		}
	}
	for i := range r.parts {
		if err := b.check(&r.parts[i]); err != nil {
			return err
		}
	}
	r.result.First = b.head + 1
	r.result.Streams = make(map[string]events.StreamInfo, len(r.parts))
	for i := range r.parts {
		p := &r.parts[i]
		micros := b.write(p)
		r.result.Streams[p.stream] = b.streams[p.stream].StreamInfo
		if len(p.events) > 0 {
			r.result.Time = time.UnixMicro(micros).UTC()
		}
	}
	r.result.Last = b.head
	r.result.Outcome = r.batch.Outcome
	b.urgent = b.urgent || r.urgent
	for _, p := range r.batch.Puts {
		k := append(spacePrefix(p.Space), p.Key...)
		if p.Value == nil {
			_ = b.batch.Delete(k, nil) // a batch in memory does not fail
		} else {
			_ = b.batch.Set(k, p.Value, nil)
		}
	}
	if r.batch.Key != "" {
		b.key = outcomeKey(b.key, r.batch.Actor, r.batch.Key)
		b.outcomes[string(b.key)] = r
		b.val = appendOutcome(b.val[:0], r.batch.KeyBody, &r.result)
		_ = b.batch.Set(b.key, b.val, nil)
	}
	return nil
}

// check compares a part with its stream as the group so far leaves it. After
// all parts of a request passed, nothing of it can fail.
func (b *building) check(p *part) error {
	st, err := b.stream(p.stream)
	if err != nil {
		return err
	}
	var failed error
	err = p.expect.Check(p.stream, st.Deciding, func(scope string) bool {
		open, err := b.open(st, p.stream, scope)
		failed = err
		return open
	})
	if err = errors.Join(failed, err); failed != nil || err != nil {
		return err
	}
	last := st.micros
	for i := range p.events {
		e := &p.events[i]
		if !e.raw {
			last = max(last, b.now.UnixMicro())
			continue
		}
		if want := st.Version + events.Version(i) + 1; e.Version != 0 && e.Version != want {
			return fmt.Errorf("%w: %s: event has version %d where %d is next", events.ErrInvalid, p.stream, e.Version, want)
		}
		if e.Time.UnixMicro() < last {
			return fmt.Errorf("%w: %s: event is older than the one before it", events.ErrInvalid, p.stream)
		}
		last = e.Time.UnixMicro()
	}
	return nil
}

func (b *building) stream(name string) (*pendingStream, error) {
	if st := b.streams[name]; st != nil {
		return st, nil
	}
	st, ok := b.s.streams.get(name)
	if !ok {
		var err error
		if st, err = readStream(b.s.db, name); err != nil {
			return nil, err
		}
	}
	p := &pendingStream{streamState: st}
	b.streams[name] = p
	return p, nil
}

func (b *building) open(st *pendingStream, stream, scope string) (bool, error) {
	if open, changed := st.scopes[scope]; changed {
		return open, nil
	}
	if checkName("scope", scope) != nil {
		return false, nil
	}
	_, closer, err := b.s.db.Get(scopeKey(nil, stream, scope))
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, damaged(err)
	}
	return true, closer.Close()
}

// write puts the events of a part into the batch and gives the time of the
// last.
func (b *building) write(p *part) (micros int64) {
	st := b.streams[p.stream]
	for i := range p.events {
		e := &p.events[i]
		b.head++
		st.Version++
		if !e.weak {
			st.Deciding = st.Version
		}
		if !e.raw {
			e.Time = time.UnixMicro(st.stamp(b.now)).UTC()
		}
		st.Last, st.micros = b.head, e.Time.UnixMicro()
		e.Position, e.Version = b.head, st.Version
		b.writeEvent(e)
		b.scope(st, e)
		b.noteType(e)
	}
	if len(p.events) > 0 {
		st.changed = true
		b.key, b.val = streamKey(b.key, p.stream), st.append(b.val)
		_ = b.batch.Set(b.key, b.val, nil)
	}
	return st.micros
}

// writeEvent puts the event, its leaf, its index entry and the nodes of the
// tree that it completes.
func (b *building) writeEvent(e *newEvent) {
	b.val = appendEvent(b.val[:0], &e.Envelope, e.salt[:])
	b.key = positionKey(b.key, kindEvent, e.Position)
	_ = b.batch.Set(b.key, b.val, nil)
	leaf := tlog.RecordHash(events.LeafData(e.Header(), e.payload))
	b.key = positionKey(b.key, kindLeaf, e.Position)
	_ = b.batch.Set(b.key, leaf[:], nil)
	b.key = indexKey(b.key, e.Stream, e.Position)
	b.val = appendVersion(b.val[:0], e.Version)
	_ = b.batch.Set(b.key, b.val, nil)
	b.tree.add(leaf, func(level int, n int64, h tlog.Hash) {
		b.key = nodeKey(b.key, level, n)
		_ = b.batch.Set(b.key, h[:], nil)
	})
}

func (b *building) scope(st *pendingStream, e *newEvent) {
	if e.opened == "" && e.closed == "" {
		return
	}
	if st.scopes == nil {
		st.scopes = map[string]bool{}
	}
	if e.opened != "" {
		st.scopes[e.opened] = true
		b.key = scopeKey(b.key, e.Stream, e.opened)
		_ = b.batch.Set(b.key, nil, nil)
	}
	if e.closed != "" {
		st.scopes[e.closed] = false
		b.key = scopeKey(b.key, e.Stream, e.closed)
		_ = b.batch.Delete(b.key, nil)
	}
}
