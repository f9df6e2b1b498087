package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/mod/sumdb/tlog"

	"lembas/events"
)

// Report is what Verify read.
type Report struct {
	Epoch   string
	Head    events.Position
	Root    tlog.Hash // of the tree over all events, as recomputed
	Streams int
	Rows    int // in keyspaces, snapshots and outcomes
}

// BadError names the first position that is not what was written. It matches
// ErrDamaged.
type BadError struct {
	Position events.Position
	Reason   string
}

func (e *BadError) Error() string {
	return fmt.Sprintf("damaged: position %d: %s", e.Position, e.Reason)
}

// Is makes errors.Is(err, ErrDamaged) true.
func (e *BadError) Is(target error) bool { return target == events.ErrDamaged }

// Verify reads everything up to the head at the time of the call and
// recomputes leaves, tree, stream index, versions, scopes and stream records.
// The error is a *BadError for the first bad position. progress, when not nil,
// hears of the position that was reached. Appends go on meanwhile.
func (s *Store) Verify(ctx context.Context, progress func(done, total events.Position)) (Report, error) {
	if err := s.enter(); err != nil {
		return Report{}, err
	}
	defer s.leave()
	recorded, err := readRecord(s.o.FS, s.o.FS.PathJoin(s.dir, headFile))
	if err != nil {
		return Report{}, err
	}
	// The snapshot may be ahead of the head by the group that is being synced,
	// never behind the recorded one, which was read before.
	snap := s.db.NewSnapshot()
	defer snap.Close()
	return verify(ctx, snap, recorded, progress)
}

// VerifyDir verifies the store of a directory that no process has open,
// without changing it.
func VerifyDir(ctx context.Context, dir string, o Options, progress func(done, total events.Position)) (Report, error) {
	s := newStore(dir, o)
	state, err := look(s.o.FS, dir)
	if err == nil && state != present && state != copied {
		err = fmt.Errorf("%w: no data directory", events.ErrNotFound)
	}
	if err != nil {
		return Report{}, fmt.Errorf("verify %s: %w", dir, err)
	}
	if s.lock, err = lock(s.o.FS, dir); err != nil {
		return Report{}, fmt.Errorf("verify %s: %w", dir, err)
	}
	defer closeQuietly(s.lock)
	recorded, err := readRecord(s.o.FS, s.o.FS.PathJoin(dir, headFile))
	if err != nil {
		return Report{}, fmt.Errorf("verify %s: %w", dir, err)
	}
	db, err := s.openReadOnly()
	if err != nil {
		return Report{}, fmt.Errorf("verify %s: %w", dir, err)
	}
	defer closeQuietly(db)
	r, err := verify(ctx, db, recorded, progress)
	if err != nil {
		return r, fmt.Errorf("verify %s: %w", dir, err)
	}
	return r, nil
}

// verifier is one verification under way.
type verifier struct {
	db       pebble.Reader
	recorded slot
	report   Report
	tree     frontier
	streams  map[string]*verifiedStream
	scopes   map[string]bool // key of an open scope
}

// verifiedStream is a stream as its events say, with a fingerprint of its
// positions to compare the index with.
type verifiedStream struct {
	streamState
	print uint64
}

func (v *verifiedStream) mix(p events.Position) {
	v.print = (v.print ^ uint64(p)) * 1099511628211 // FNV-1a's prime
}

func verify(ctx context.Context, db pebble.Reader, recorded slot, progress func(done, total events.Position)) (Report, error) {
	v := &verifier{db: db, recorded: recorded, streams: map[string]*verifiedStream{}, scopes: map[string]bool{}}
	total, err := lastPosition(db)
	if err != nil {
		return v.report, err
	}
	for _, step := range []func() error{
		func() error { return v.log(ctx, total, progress) },
		v.compareRecord, v.index, v.streamRecords, v.openScopes,
		func() error { return v.rest(ctx) },
	} {
		if err := step(); err != nil {
			return v.report, err
		}
	}
	v.report.Streams = len(v.streams)
	return v.report, nil
}

// span is some hundred events on their way through the verification.
type span struct {
	first  events.Position
	values [][]byte
	leaves [][]byte // as stored
	parsed []stored
	err    error
	done   chan struct{}
}

const spanEvents = 1024

// check recomputes the leaves of a span. It runs beside other spans.
func (sp *span) check() {
	defer close(sp.done)
	var names interner
	sp.parsed = make([]stored, 0, len(sp.values))
	for i, value := range sp.values {
		p := sp.first + events.Position(i)
		e, err := parseEvent(value)
		if err != nil {
			sp.err = &BadError{p, err.Error()}
			return
		}
		env := e.header(p, &names)
		leaf, err := e.leaf(&env)
		if err != nil {
			sp.err = &BadError{p, err.Error()}
			return
		}
		if !bytes.Equal(leaf[:], sp.leaves[i]) {
			sp.err = &BadError{p, "the event is not the one that its leaf was made of"}
			return
		}
		sp.parsed = append(sp.parsed, e)
	}
}

// log goes through all events: one goroutine reads, several recompute leaves,
// this one checks order, streams and tree.
func (v *verifier) log(ctx context.Context, total events.Position, progress func(done, total events.Position)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	todo, order := make(chan *span, workers), make(chan *span, 2*workers)
	for range workers {
		go func() {
			for sp := range todo {
				sp.check()
			}
		}()
	}
	read := make(chan error, 1)
	go func() {
		defer close(order)
		defer close(todo)
		read <- v.readSpans(ctx, total, todo, order)
	}()
	var failed error
	for sp := range order {
		<-sp.done
		if failed != nil {
			continue
		}
		if failed = v.take(sp); failed != nil {
			cancel()
		} else if progress != nil {
			progress(v.report.Head, total)
		}
	}
	err := <-read
	if failed != nil {
		return failed
	}
	return err
}

func (v *verifier) readSpans(ctx context.Context, total events.Position, todo, order chan<- *span) error {
	open := func(kind byte) (*pebble.Iterator, error) {
		return v.db.NewIter(&pebble.IterOptions{LowerBound: []byte{kind}, UpperBound: []byte{kind + 1}})
	}
	log, err := open(kindEvent)
	if err != nil {
		return damaged(err)
	}
	defer log.Close()
	leaves, err := open(kindLeaf)
	if err != nil {
		return damaged(err)
	}
	defer leaves.Close()
	more, moreLeaves := log.First(), leaves.First()
	for at := events.Position(1); at <= total; {
		sp := &span{first: at, done: make(chan struct{})}
		for size := 0; at <= total && len(sp.values) < spanEvents && size < chunkBytes; at++ {
			if err := errors.Join(damaged(log.Error()), damaged(leaves.Error())); err != nil {
				return &BadError{at, err.Error()}
			}
			if !more || positionOf(log.Key()) != at {
				return &BadError{at, "the event is missing"}
			}
			if !moreLeaves || positionOf(leaves.Key()) != at {
				return &BadError{at, "the leaf is missing"}
			}
			sp.values = append(sp.values, bytes.Clone(log.Value()))
			sp.leaves = append(sp.leaves, bytes.Clone(leaves.Value()))
			size += len(log.Value())
			more, moreLeaves = log.Next(), leaves.Next()
		}
		for _, c := range []chan<- *span{order, todo} {
			select {
			case c <- sp:
			case <-ctx.Done():
				close(sp.done)
				return ctx.Err()
			}
		}
	}
	if moreLeaves {
		return &BadError{positionOf(leaves.Key()), "a leaf without an event"}
	}
	return errors.Join(damaged(log.Error()), damaged(leaves.Error()))
}

// take checks a span against its streams and adds it to the tree.
func (v *verifier) take(sp *span) error {
	for i := range sp.parsed {
		e, p := &sp.parsed[i], sp.first+events.Position(i)
		st := v.streams[string(e.stream)]
		if st == nil {
			st = &verifiedStream{}
			v.streams[string(e.stream)] = st
		}
		switch {
		case e.version != st.Version+1:
			return &BadError{p, fmt.Sprintf("stream %s goes from version %d to %d", e.stream, st.Version, e.version)}
		case st.Version > 0 && e.micros < st.micros:
			return &BadError{p, fmt.Sprintf("the time of stream %s goes back", e.stream)}
		}
		st.Version, st.Last, st.micros = e.version, p, e.micros
		st.mix(p)
		if info, _ := events.Lookup(string(e.typ)); !info.Weak {
			st.Deciding = e.version
		}
		opened, closed := events.Scopes(string(e.typ), e.payload)
		if opened != "" {
			v.scopes[string(scopeKey(nil, string(e.stream), opened))] = true
		}
		if closed != "" {
			delete(v.scopes, string(scopeKey(nil, string(e.stream), closed)))
		}
		if err := v.addLeaf(sp.leaves[i], p); err != nil {
			return err
		}
	}
	return sp.err
}

func (v *verifier) addLeaf(leaf []byte, p events.Position) (err error) {
	v.tree.add(tlog.Hash(leaf), func(level int, n int64, h tlog.Hash) {
		if got, e := (hashes{v.db}).get(nodeKey(nil, level, n)); e != nil || got != h {
			err = &BadError{p, fmt.Sprintf("tree node %d of level %d is not what its leaves give", n, level)}
		}
	})
	v.report.Head = p
	if p == v.recorded.position && v.tree.root() != v.recorded.root {
		return &BadError{p, "the tree up to here is not the one that was recorded"}
	}
	return err
}

func (v *verifier) compareRecord() error {
	v.report.Root = v.tree.root()
	epoch, closer, err := v.db.Get(metaEpoch)
	if err != nil {
		return fmt.Errorf("the log's epoch: %w", damaged(err))
	}
	v.report.Epoch = string(epoch)
	closeQuietly(closer)
	if v.report.Epoch != v.recorded.epoch {
		return fmt.Errorf("%w: the recorded head is of another epoch", events.ErrDamaged)
	}
	if v.report.Head < v.recorded.position {
		return &BadError{v.report.Head + 1, fmt.Sprintf("events are missing from here on; position %d was recorded", v.recorded.position)}
	}
	return nil
}
