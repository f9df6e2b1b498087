package bus

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
	"lembas/events/store"
)

// Against the plain rule: a position is done when it is at or below low or has
// a row. After a reload nothing acknowledged is open and nothing open is done.
func TestProgress(t *testing.T) {
	st, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		ks := st.Keyspace(fmt.Sprint("sub/test/", seed))
		p, err := loadProgress(ks)
		if err != nil {
			t.Fatal(err)
		}
		order := rng.Perm(300)
		done := map[events.Position]bool{}
		for _, i := range order {
			at := events.Position(i + 1)
			if err := p.ack(at); err != nil {
				t.Fatal(err)
			}
			done[at] = true
			low := events.Position(0)
			for done[low+1] {
				low++
			}
			if err := p.advance(low, rng.IntN(50) == 0); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(20) > 0 {
				continue
			}
			if p, err = loadProgress(ks); err != nil {
				t.Fatal(err)
			}
			for at := events.Position(1); at <= 300; at++ {
				if got := at <= p.low || p.has(at); got != done[at] {
					t.Fatalf("seed %d: position %d done: %v, want %v", seed, at, got, done[at])
				}
			}
		}
		if n := rows(t, ks); n > maxRows {
			t.Errorf("seed %d: %d rows are left above a low-water mark of %d", seed, n, p.low)
		}
	}
}

func rows(t *testing.T, ks *store.Keyspace) (n int) {
	t.Helper()
	for _, err := range ks.Iter(ackedPrefix, []byte("b")) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// Events of other types are not looked at again and again: low follows.
func TestProgressFollowsSkippedEvents(t *testing.T) {
	st, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ks := st.Keyspace("sub/test")
	p, _ := loadProgress(ks)
	for low := range events.Position(maxBehind + 2) {
		if err := p.advance(low, false); err != nil {
			t.Fatal(err)
		}
	}
	if p, _ = loadProgress(ks); p.low < maxBehind {
		t.Errorf("low is %d", p.low)
	}
	if err := p.advance(p.low-1, true); err != nil || slices.ContainsFunc(p.acked, func(events.Position) bool { return true }) {
		t.Errorf("low moved back: %v", err)
	}
	if q, _ := loadProgress(ks); q.low != p.low {
		t.Errorf("low went from %d to %d", p.low, q.low)
	}
}

// After a clean close the next start has nothing to look at again.
func TestCloseWritesLow(t *testing.T) {
	st, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b := New(st, slog.New(slog.DiscardHandler))
	for range 3 {
		if err := b.Publisher().Publish("topic", message.NewMessage("id", nil)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Subscriber(Config{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	ch, err := s.Subscribe(context.Background(), "topic")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		(<-ch).Ack()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ks := st.Keyspace("sub/g/topic")
	if p, err := loadProgress(ks); err != nil || p.low != st.Head() || rows(t, ks) != 0 {
		t.Errorf("low is %d of %d with %d rows, %v", p.low, st.Head(), rows(t, ks), err)
	}
}
