package stream

import (
	"bytes"
	"sync"
	"sync/atomic"

	"lembas/events"
)

// node is one published frame. It never changes but for next, which is set
// once, so followers read it without a lock.
type node struct {
	position events.Position
	no       uint64 // counts the frames of the tail
	data     []byte
	// events are the positions of the events in it, in order, the last of them
	// its own; nil is its own alone.
	events []events.Position
	next   atomic.Pointer[node]
}

// as is the frame as it goes over the wire under another id.
func (n *node) as(epoch string, id events.Position) []byte {
	if id == n.position {
		return n.data
	}
	_, rest, _ := bytes.Cut(n.data, []byte{'\n'})
	return append([]byte("id: "+cursor(epoch, id)+"\n"), rest...)
}

// weight is what a tail counts a frame as, in bytes.
func (n *node) weight() int { return len(n.data) + 8*len(n.events) }

// tail is the newest frames of a feed, as a list that followers walk. The tail
// lets go of its oldest ones; a follower that stands on one of them can still
// walk on, but is told that it is behind.
type tail struct {
	max    int
	oldest atomic.Uint64 // first.no

	mu     sync.Mutex // guards the rest
	first  *node      // the oldest that is kept
	last   *node
	size   int
	wakers []*waker
}

// waker is the one-slot bell of a follower.
type waker struct{ bell chan struct{} }

func newWaker() *waker { return &waker{bell: make(chan struct{}, 1)} }

func (w *waker) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// newTail is a tail whose next frame is after position.
func newTail(at events.Position, max int) *tail {
	n := &node{position: at}
	return &tail{max: max, first: n, last: n}
}

// publish appends a frame, which brings the events at the given positions, and
// wakes all followers.
func (t *tail) publish(position events.Position, data []byte, brings ...events.Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &node{position: position, no: t.last.no + 1, data: data, events: brings}
	t.last.next.Store(n)
	t.last = n
	t.size += n.weight()
	for t.size > t.max && t.first.next.Load() != t.last {
		t.first = t.first.next.Load()
		t.size -= t.first.weight()
		t.oldest.Store(t.first.no)
	}
	for _, w := range t.wakers {
		w.ring()
	}
}

// wakeAll wakes all followers without a frame.
func (t *tail) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.wakers {
		w.ring()
	}
}

// join lets a follower that has everything up to a position in; it is woken
// from now on. Its place is the frame after which it reads on; ok is false when
// that frame is gone, or was never in this tail: then the place is the end.
func (t *tail) join(w *waker, at events.Position) (place *node, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wakers = append(t.wakers, w)
	if at < t.first.position {
		return t.last, false
	}
	place = t.first
	for n := place.next.Load(); n != nil && n.position <= at; n = n.next.Load() {
		place = n
	}
	return place, true
}

func (t *tail) leave(w *waker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, x := range t.wakers {
		if x == w {
			last := len(t.wakers) - 1
			t.wakers[i], t.wakers[last] = t.wakers[last], nil
			t.wakers = t.wakers[:last]
			return
		}
	}
}

// behind says whether a follower's place was let go of.
func (t *tail) behind(place *node) bool { return place.no < t.oldest.Load() }

// joinEnd lets a follower in that needs nothing of what was; it is woken from
// now on.
func (t *tail) joinEnd(w *waker) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wakers = append(t.wakers, w)
	return t.last
}

// end is the newest frame's place.
func (t *tail) end() *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}
