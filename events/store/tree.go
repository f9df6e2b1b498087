package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/bits"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/mod/sumdb/tlog"

	"lembas/events"
)

// storedLevel is the lowest level of inner nodes that is stored: one node per
// 256 leaves and those above it, 0.26 bytes an event. Lower ones are recomputed
// from at most 128 leaves each, one short scan.
const storedLevel = 8

// frontier is the right edge of the tree: the roots of its complete subtrees,
// the largest first, one for each set bit of size.
type frontier struct {
	size  uint64
	roots []tlog.Hash
}

// add puts one leaf to the right. For each inner node of storedLevel or above
// that this completes, put is called. O(1) hashes amortised.
func (f *frontier) add(leaf tlog.Hash, put func(level int, n int64, h tlog.Hash)) {
	h := leaf
	for level := range bits.TrailingZeros64(^f.size) {
		last := len(f.roots) - 1
		h = tlog.NodeHash(f.roots[last], h)
		f.roots = f.roots[:last]
		if level+1 >= storedLevel {
			put(level+1, int64(f.size>>(level+1)), h)
		}
	}
	f.roots = append(f.roots, h)
	f.size++
}

// root is the hash of the whole tree; of the empty one, SHA-256 of nothing.
func (f *frontier) root() tlog.Hash {
	if len(f.roots) == 0 {
		return sha256.Sum256(nil)
	}
	h := f.roots[len(f.roots)-1]
	for i := len(f.roots) - 2; i >= 0; i-- {
		h = tlog.NodeHash(f.roots[i], h)
	}
	return h
}

// hashes reads the tree's nodes; those below storedLevel are recomputed.
type hashes struct{ db pebble.Reader }

// ReadHashes implements tlog.HashReader.
func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		level, n := tlog.SplitStoredHashIndex(x)
		var err error
		if level >= storedLevel {
			out[i], err = h.get(nodeKey(nil, level, n))
		} else {
			out[i], err = h.fold(level, n)
		}
		if err != nil {
			return nil, fmt.Errorf("tree node %d at level %d: %w", n, level, err)
		}
	}
	return out, nil
}

func (h hashes) get(key []byte) (tlog.Hash, error) {
	v, closer, err := h.db.Get(key)
	if err != nil {
		return tlog.Hash{}, damaged(err)
	}
	defer closer.Close()
	return hashOf(v)
}

func hashOf(v []byte) (tlog.Hash, error) {
	if len(v) != tlog.HashSize {
		return tlog.Hash{}, fmt.Errorf("%w: tree hash of %d bytes", events.ErrDamaged, len(v))
	}
	return tlog.Hash(v), nil
}

// fold computes the node n of a level from its leaves.
func (h hashes) fold(level int, n int64) (tlog.Hash, error) {
	first := events.Position(n<<level) + 1
	count := 1 << level
	it, err := h.db.NewIter(&pebble.IterOptions{
		LowerBound: positionKey(nil, kindLeaf, first),
		UpperBound: positionKey(nil, kindLeaf, first+events.Position(count)),
	})
	if err != nil {
		return tlog.Hash{}, damaged(err)
	}
	defer it.Close()
	var f frontier
	for it.First(); it.Valid(); it.Next() {
		leaf, err := hashOf(it.Value())
		if err != nil {
			return tlog.Hash{}, err
		}
		f.add(leaf, func(int, int64, tlog.Hash) {})
	}
	if err := it.Error(); err != nil {
		return tlog.Hash{}, damaged(err)
	}
	if f.size != uint64(count) {
		return tlog.Hash{}, fmt.Errorf("%w: %d of %d leaves from position %d", events.ErrDamaged, f.size, count, first)
	}
	return f.root(), nil
}

// readFrontier builds the frontier of a tree of the given size from what is
// stored.
func readFrontier(db pebble.Reader, size uint64) (frontier, error) {
	f := frontier{size: size}
	var at uint64
	for level := 63; level >= 0; level-- {
		if size&(1<<level) == 0 {
			continue
		}
		h, err := hashes{db}.ReadHashes([]int64{tlog.StoredHashIndex(level, int64(at>>level))})
		if err != nil {
			return f, err
		}
		f.roots = append(f.roots, h[0])
		at += 1 << level
	}
	return f, nil
}

// Root is the root of the tree over the first size events. ErrInvalid when
// there are not as many.
func (s *Store) Root(size events.Position) (tlog.Hash, error) {
	var h tlog.Hash
	err := s.tree(size, func(r tlog.HashReader) (err error) {
		h, err = tlog.TreeHash(int64(size), r)
		return err
	})
	return h, err
}

// InclusionProof shows that the event at a position is in the tree over the
// first size events. ErrInvalid when it is not.
func (s *Store) InclusionProof(p, size events.Position) (tlog.RecordProof, error) {
	if p < 1 || p > size {
		return nil, fmt.Errorf("%w: position %d is not in a tree of %d", events.ErrInvalid, p, size)
	}
	var proof tlog.RecordProof
	err := s.tree(size, func(r tlog.HashReader) (err error) {
		proof, err = tlog.ProveRecord(int64(size), int64(p-1), r)
		return err
	})
	return proof, err
}

// ConsistencyProof shows that the tree over the first size events begins with
// the one over the first old events.
func (s *Store) ConsistencyProof(old, size events.Position) (tlog.TreeProof, error) {
	if old < 1 || old > size {
		return nil, fmt.Errorf("%w: a tree of %d does not begin with one of %d", events.ErrInvalid, size, old)
	}
	var proof tlog.TreeProof
	err := s.tree(size, func(r tlog.HashReader) (err error) {
		proof, err = tlog.ProveTree(int64(size), int64(old), r)
		return err
	})
	return proof, err
}

func (s *Store) tree(size events.Position, f func(tlog.HashReader) error) error {
	if head := s.Head(); size > head {
		return fmt.Errorf("%w: tree of %d, the log has %d events", events.ErrInvalid, size, head)
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return f(hashes{s.db})
}

// erasedHash reads the hash that erasure left.
func erasedHash(payload []byte) (h [32]byte, err error) {
	var x events.Erased
	if err := json.Unmarshal(payload, &x); err != nil {
		return h, fmt.Errorf("%w: erased payload: %w", events.ErrDamaged, err)
	}
	if n, err := hex.Decode(h[:], []byte(x.Hash)); err != nil || n != len(h) || len(x.Hash) != 64 {
		return h, fmt.Errorf("%w: erased payload has no hash", events.ErrDamaged)
	}
	return h, nil
}
