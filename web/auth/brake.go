package auth

import (
	"container/list"
	"math"
	"sync"
	"time"
)

// bucket is an allowance that refills.
type bucket struct {
	tokens float64
	at     time.Time // of tokens
	place  *list.Element
}

// brake counts attempts by key. Each key has burst attempts at once and one
// more every refill. It forgets the keys used longest ago beyond max, so that
// nobody can fill the memory; who floods it with keys is still slowed by the
// brake on addresses.
type brake struct {
	burst  float64
	refill time.Duration
	max    int
	now    func() time.Time

	mu      sync.Mutex // guards the rest
	buckets map[string]*bucket
	order   *list.List // of keys, the front used last
}

func newBrake(burst int, refill time.Duration, max int, now func() time.Time) *brake {
	return &brake{burst: float64(burst), refill: refill, max: max, now: now, buckets: map[string]*bucket{}, order: list.New()}
}

// take uses one attempt up; without one it says how long to wait.
func (b *brake) take(key string) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.bucket(key)
	if x.tokens < 1 {
		return time.Duration((1 - x.tokens) * float64(b.refill)), false
	}
	x.tokens--
	return 0, true
}

// give returns an attempt that turned out to be right.
func (b *brake) give(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.bucket(key)
	x.tokens = math.Min(b.burst, x.tokens+1)
}

// bucket finds the allowance of a key and refills it. The lock is held.
func (b *brake) bucket(key string) *bucket {
	now := b.now()
	x, ok := b.buckets[key]
	if ok {
		b.order.MoveToFront(x.place)
		if past := now.Sub(x.at); past > 0 {
			x.tokens = math.Min(b.burst, x.tokens+float64(past)/float64(b.refill))
			x.at = now
		}
		return x
	}
	x = &bucket{tokens: b.burst, at: now, place: b.order.PushFront(key)}
	b.buckets[key] = x
	if b.order.Len() > b.max {
		old := b.order.Back()
		b.order.Remove(old)
		delete(b.buckets, old.Value.(string))
	}
	return x
}
