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

// appendLoop is the one goroutine that gives events their place. Groups become
// durable one after the other; while one is being synced, the next one grows.
// Close stops it when no append is left; a fatal error parks it.
func (s *Store) appendLoop() {
	defer close(s.stopped)
	timer := time.NewTimer(time.Hour) // armed while the recorded head is behind
	timer.Stop()
	var ahead *building // the group that is being synced
	for {
		if ahead == nil && s.record.behind && !s.record.armed {
			s.record.armed = true
			timer.Reset(recordEvery)
		}
		var synced chan struct{}
		if ahead != nil {
			synced = ahead.synced
		}
		select {
		case r := <-s.queue:
			ahead = s.group(r, ahead)
		case <-synced:
			ahead = nil
		case <-timer.C:
			if ahead != nil {
				<-ahead.synced
				ahead = nil
			}
			s.record.armed = false
			s.syncRecord()
		case <-s.stop:
			if ahead != nil { // answered, but its head is still being recorded
				<-ahead.synced
			}
			return
		}
	}
}

// group makes a group of what is queued and of what comes while the one ahead
// is being synced. It gives the new group when its sync is still under way.
func (s *Store) group(first *request, ahead *building) *building {
	// The writers of the last group were woken just now: let them queue, or
	// every other group would have one request.
	runtime.Gosched()
	b := s.build(ahead)
	b.take(first)
	for more := true; more && b.room(); {
		select {
		case r := <-s.queue:
			b.take(r)
		default:
			more = false
		}
	}
	if ahead != nil {
		for waiting := true; waiting && b.room(); {
			select {
			case r := <-s.queue:
				b.take(r)
			case <-ahead.synced:
				waiting = false
			}
		}
		<-ahead.synced
		b.ahead = nil
	}
	b.root = s.frontier.root()
	if len(b.requests) == 1 { // nobody else writes: save the way there and back
		s.commit(b)
		return nil
	}
	go s.commit(b)
	return b
}

// building is a group while its batch grows.
type building struct {
	s        *Store
	ahead    *building // the group before, while it is not yet durable
	batch    *pebble.Batch
	requests []*request
	size     int
	now      time.Time
	refused  error           // why the store is read-only
	head     events.Position // with the group
	root     tlog.Hash       // with the group, once it is whole
	streams  map[string]*pendingStream
	outcomes map[string]*request
	urgent   bool
	synced   chan struct{} // closed when it is durable and visible
	key, val []byte
}

func (s *Store) build(ahead *building) *building {
	b := &building{s: s, ahead: ahead, batch: s.db.NewBatch(), now: s.o.Now(), head: events.Position(s.frontier.size),
		streams: map[string]*pendingStream{}, outcomes: map[string]*request{}, synced: make(chan struct{})}
	b.refused = s.spaceError(b.now)
	return b
}

func (b *building) room() bool { return len(b.requests) < groupMax && b.size < groupBytes }

func (b *building) take(r *request) {
	b.requests = append(b.requests, r)
	b.size += r.size
	if r.err = b.refused; r.err == nil {
		r.err = b.add(r)
	}
}

// commit makes a group durable with one sync, then moves the head, then wakes
// who waits and answers who asked.
func (s *Store) commit(b *building) {
	defer close(b.synced)
	if b.head > s.Head() {
		// A commit or sync that fails does not return (see Store.fatal), so
		// nothing is ever synced again and called good.
		if err := b.batch.Commit(s.writeOptions()); err != nil {
			s.fatal(err)
		}
		s.publish(b)
	}
	for _, r := range b.requests {
		close(r.done)
	}
	if s.record.behind && !b.urgent {
		s.writeRecord() // off the way of who asked
	}
	_ = b.batch.Close() // it only gives its memory back
}

// publish makes a committed group visible. The recorded head of a consent comes
// first: no one may see it while a cut of the log could lose it without a word.
func (s *Store) publish(b *building) {
	s.record.note(b.head, b.root)
	if b.urgent {
		s.syncRecord()
	}
	s.streams.put(b.streams)
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
	if b.ahead != nil {
		if st := b.ahead.streams[name]; st != nil {
			p := &pendingStream{streamState: st.streamState, ahead: st.scopes}
			b.streams[name] = p
			return p, nil
		}
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
	for _, scopes := range []map[string]bool{st.scopes, st.ahead} {
		if open, changed := scopes[scope]; changed {
			return open, nil
		}
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
	b.s.frontier.add(leaf, func(level int, n int64, h tlog.Hash) {
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
