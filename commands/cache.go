package commands

import (
	"container/list"
	"context"
	"sync"

	"lembas/events"
)

// cache keeps the newest folds of streams in memory. It is only ever a cache:
// each look first applies what the log has more.
type cache[S any] struct {
	log   events.Log
	apply func(*S, *events.Envelope) error
	max   int

	mu      sync.Mutex // guards entries and order
	entries map[string]*entry[S]
	order   *list.List // of streams, the front used last
}

type entry[S any] struct {
	mu       sync.Mutex // guards the rest; held while the state is looked at
	state    *S
	position events.Position
	place    *list.Element
}

func newCache[S any](log events.Log, max int, apply func(*S, *events.Envelope) error) *cache[S] {
	return &cache[S]{log: log, apply: apply, max: max, entries: map[string]*entry[S]{}, order: list.New()}
}

// view shows the state of a stream at the log's head to fn, which must neither
// keep nor change it. The position is that of the last event in the state, 0
// for a stream without events.
func (c *cache[S]) view(ctx context.Context, stream string, fn func(*S, events.Position) error) error {
	e := c.entry(stream)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == nil {
		e.state = new(S)
	}
	for env, err := range c.log.ReadStream(ctx, stream, e.position) {
		if err != nil {
			return err // what was applied stands: a reader who left costs the next one nothing
		}
		if err := c.apply(e.state, &env); err != nil {
			e.state, e.position = nil, 0 // half an event is worse than none
			return err
		}
		e.position = env.Position
	}
	return fn(e.state, e.position)
}

func (c *cache[S]) entry(stream string) *entry[S] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[stream]; ok {
		c.order.MoveToFront(e.place)
		return e
	}
	e := &entry[S]{place: c.order.PushFront(stream)}
	c.entries[stream] = e
	if c.order.Len() > c.max {
		old := c.order.Back()
		c.order.Remove(old)
		delete(c.entries, old.Value.(string))
	}
	return e
}
