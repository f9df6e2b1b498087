package bus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"lembas/events"
	"lembas/events/store"
)

// How far "low" may stay behind: rows above it are read at the start of a
// group, and events above it are looked at again.
const (
	maxRows   = 64
	maxBehind = 1 << 16
)

// progress is the durable state of a group: what was acknowledged.
type progress struct {
	ks *store.Keyspace // nil keeps nothing

	mu    sync.Mutex        // guards the rest, and the order of writes of low
	low   events.Position   // as written
	acked []events.Position // rows above low, sorted; all of them durable
}

var (
	lowKey      = []byte("low")
	ackedPrefix = []byte("a")
)

func ackedKey(p events.Position) []byte {
	return binary.BigEndian.AppendUint64(slices.Clone(ackedPrefix), uint64(p))
}

func loadProgress(ks *store.Keyspace) (*progress, error) {
	p := &progress{ks: ks}
	v, err := ks.Get(lowKey)
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return nil, err
	}
	if err == nil {
		low, n := binary.Uvarint(v)
		if n <= 0 {
			return nil, fmt.Errorf("%w: low-water mark of a subscription", events.ErrDamaged)
		}
		p.low = events.Position(low)
	}
	for row, err := range ks.Iter(ackedPrefix, []byte("b")) {
		if err != nil {
			return nil, err
		}
		if len(row.Key) != 9 {
			return nil, fmt.Errorf("%w: row of a subscription", events.ErrDamaged)
		}
		p.acked = append(p.acked, events.Position(binary.BigEndian.Uint64(row.Key[1:])))
	}
	return p, nil
}

// has says whether the event at a position above low was acknowledged.
func (p *progress) has(at events.Position) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, found := slices.BinarySearch(p.acked, at)
	return found
}

// ack makes an acknowledgement durable before it returns. It writes a row of
// its own, so that acknowledgements may come in any order and at once.
func (p *progress) ack(at events.Position) error {
	if p.ks == nil {
		return nil
	}
	b := p.ks.NewBatch()
	b.Set(ackedKey(at), nil)
	if err := b.CommitSync(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i, found := slices.BinarySearch(p.acked, at); !found {
		p.acked = slices.Insert(p.acked, i, at)
	}
	return nil
}

// advance moves low to where every message is acknowledged, when that is worth
// a write or must be. Only durable acknowledgements may be below it.
func (p *progress) advance(low events.Position, must bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ks == nil || low <= p.low {
		return nil
	}
	n, found := slices.BinarySearch(p.acked, low)
	if found {
		n++
	}
	if !must && n < maxRows && low-p.low < maxBehind {
		return nil
	}
	b := p.ks.NewBatch()
	b.Set(lowKey, binary.AppendUvarint(nil, uint64(low)))
	for _, at := range p.acked[:n] {
		b.Delete(ackedKey(at))
	}
	if err := b.Commit(); err != nil {
		return err
	}
	p.low, p.acked = low, slices.Delete(p.acked, 0, n)
	return nil
}
