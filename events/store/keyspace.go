package store

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"lembas/events"
)

// Keyspace is a part of the store that belongs to one name: a projection, a
// subscription, the vault, the blobs. Nothing outside of it can be reached
// through it. Safe for several goroutines.
type Keyspace struct {
	s           *Store
	prefix, end []byte
	err         error
}

// Keyspace gives the keyspace of a name of at most MaxName printable bytes.
// Names are not nested: "p/a" does not hold "p/a/b".
func (s *Store) Keyspace(name string) *Keyspace {
	return &Keyspace{s: s, prefix: spacePrefix(name), end: spaceEnd(name), err: checkName("keyspace", name)}
}

// DropKeyspace removes all rows of a keyspace, durably.
func (s *Store) DropKeyspace(name string) error {
	k := s.Keyspace(name)
	b := k.NewBatch()
	b.DeleteRange(nil, nil)
	if err := b.CommitSync(); err != nil {
		return fmt.Errorf("drop keyspace %s: %w", name, err)
	}
	return nil
}

// Get gives a copy of the value of a key, or ErrNotFound.
func (k *Keyspace) Get(key []byte) ([]byte, error) { return k.get(k.s.db, key) }

func (k *Keyspace) get(db pebble.Reader, key []byte) ([]byte, error) {
	if err := k.enter(); err != nil {
		return nil, err
	}
	defer k.s.leave()
	return value(db, k.key(key))
}

// value gives a copy of what lies under a whole key, or ErrNotFound.
func value(db pebble.Reader, key []byte) ([]byte, error) {
	v, closer, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, events.ErrNotFound
	}
	if err != nil {
		return nil, damaged(err)
	}
	defer closer.Close()
	return bytes.Clone(v), nil
}

// Row is a key of a keyspace, without the keyspace's prefix, and its value.
type Row struct{ Key, Value []byte }

// Iter yields the rows of lower ≤ key < upper in order; nil is no bound. Key
// and value are valid until the next row. The rows are those of one moment;
// they are held for the reader, so it must not wait for a person or a network.
func (k *Keyspace) Iter(lower, upper []byte) iter.Seq2[Row, error] {
	return k.rows(k.s.db, lower, upper, false)
}

// Reverse is Iter from the last row to the first.
func (k *Keyspace) Reverse(lower, upper []byte) iter.Seq2[Row, error] {
	return k.rows(k.s.db, lower, upper, true)
}

func (k *Keyspace) rows(db pebble.Reader, lower, upper []byte, reverse bool) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if err := k.enter(); err != nil {
			yield(Row{}, err)
			return
		}
		defer k.s.leave()
		it, err := db.NewIter(k.bounds(lower, upper))
		if err != nil {
			yield(Row{}, damaged(err))
			return
		}
		defer it.Close()
		step, ok := it.Next, false
		if reverse {
			step, ok = it.Prev, it.Last()
		} else {
			ok = it.First()
		}
		for ; ok; ok = step() {
			if !yield(Row{Key: it.Key()[len(k.prefix):], Value: it.Value()}, nil) {
				return
			}
		}
		if err := it.Error(); err != nil {
			yield(Row{}, damaged(err))
		}
	}
}

func (k *Keyspace) bounds(lower, upper []byte) *pebble.IterOptions {
	o := &pebble.IterOptions{LowerBound: k.key(lower), UpperBound: k.end}
	if upper != nil {
		o.UpperBound = k.key(upper)
	}
	return o
}

func (k *Keyspace) key(key []byte) []byte { return append(bytes.Clone(k.prefix), key...) }

func (k *Keyspace) enter() error {
	if k.err != nil {
		return k.err
	}
	return k.s.enter()
}

// View calls f with a keyspace as it is at this moment, so that what f reads
// in several calls belongs together (a projection's rows and its checkpoint).
func (k *Keyspace) View(f func(*View) error) error {
	if err := k.enter(); err != nil {
		return err
	}
	defer k.s.leave()
	snap := k.s.db.NewSnapshot()
	defer snap.Close()
	return f(&View{k: k, snap: snap})
}

// View is a keyspace at one moment.
type View struct {
	k    *Keyspace
	snap *pebble.Snapshot
}

// Get is Keyspace.Get.
func (v *View) Get(key []byte) ([]byte, error) { return v.k.get(v.snap, key) }

// Iter is Keyspace.Iter.
func (v *View) Iter(lower, upper []byte) iter.Seq2[Row, error] {
	return v.k.rows(v.snap, lower, upper, false)
}

// Reverse is Keyspace.Reverse.
func (v *View) Reverse(lower, upper []byte) iter.Seq2[Row, error] {
	return v.k.rows(v.snap, lower, upper, true)
}

// KeyBatch gathers changes of one keyspace that become visible together, whole
// or not at all, also over a crash. Not for several goroutines.
type KeyBatch struct {
	k     *Keyspace
	batch *pebble.Batch
}

// NewBatch begins a batch. It is dropped by not committing it.
func (k *Keyspace) NewBatch() *KeyBatch { return &KeyBatch{k: k, batch: k.s.db.NewBatch()} }

// Set puts a row. Key and value are copied.
func (b *KeyBatch) Set(key, value []byte) {
	_ = b.batch.Set(b.k.key(key), value, nil) // a batch in memory does not fail
}

// Delete removes a row; one that is not there is no error.
func (b *KeyBatch) Delete(key []byte) { _ = b.batch.Delete(b.k.key(key), nil) }

// DeleteRange removes the rows of lower ≤ key < upper; nil is no bound.
func (b *KeyBatch) DeleteRange(lower, upper []byte) {
	o := b.k.bounds(lower, upper)
	_ = b.batch.DeleteRange(o.LowerBound, o.UpperBound, nil)
}

// Len is the number of changes.
func (b *KeyBatch) Len() int { return int(b.batch.Count()) }

// Commit makes the changes visible at once and durable with the next synced
// commit, or at the latest by Close: a crash may take the last ones back, in
// order and never an event that came before. It is right for what is derived
// from the log. The batch is empty after it and can be used again.
func (b *KeyBatch) Commit() error { return b.commit(pebble.NoSync) }

// CommitSync is Commit, durable when it returns.
func (b *KeyBatch) CommitSync() error { return b.commit(b.k.s.writeOptions()) }

func (b *KeyBatch) commit(how *pebble.WriteOptions) error {
	if err := b.k.enter(); err != nil {
		return err
	}
	defer b.k.s.leave()
	err := b.k.s.apply(b.batch, how)
	_ = b.batch.Close() // it only gives its memory back
	b.batch = b.k.s.db.NewBatch()
	return err
}
