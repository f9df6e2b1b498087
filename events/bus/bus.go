package bus

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"lembas/events"
	"lembas/events/store"
)

// Order says which messages wait for an acknowledgement.
type Order int

const (
	// OrderTopic gives one message of a topic at a time.
	OrderTopic Order = iota
	// OrderStream gives one message of a stream at a time.
	OrderStream
)

// Config is what a subscriber wants. All subscribers of a group must want the
// same of a topic.
type Config struct {
	// Group is the durable name, at most 100 letters, digits, '.', '_' and '-';
	// empty for a reader that keeps nothing.
	Group string
	Order Order
	// MaxInFlight bounds the unacknowledged messages of a group with OrderStream;
	// 0 is DefaultInFlight.
	MaxInFlight int
	// RedeliverAfter is how long a refused message rests; 0 is 100 ms.
	RedeliverAfter time.Duration
}

// DefaultInFlight is more replies than one server streams at once.
const DefaultInFlight = 256

// Bus is the log for Watermill. Safe for several goroutines.
type Bus struct {
	st     *store.Store
	logger *slog.Logger

	mu     sync.Mutex        // guards groups and the members of each
	groups map[string]*group // by group and topic
}

// New makes the bus over a log. It holds nothing that must be closed but its
// subscribers.
func New(st *store.Store, logger *slog.Logger) *Bus {
	return &Bus{st: st, logger: logger, groups: map[string]*group{}}
}

// Publisher appends messages to the log.
func (b *Bus) Publisher() *Publisher { return &Publisher{st: b.st} }

// Subscriber reads messages from the log. The error matches ErrInvalid.
func (b *Bus) Subscriber(c Config) (*Subscriber, error) {
	if c.Group != "" && !safe(c.Group) {
		return nil, fmt.Errorf("%w: consumer group %q", events.ErrInvalid, c.Group)
	}
	if c.MaxInFlight <= 0 {
		c.MaxInFlight = DefaultInFlight
	}
	if c.Order == OrderTopic {
		c.MaxInFlight = 1
	}
	if c.RedeliverAfter <= 0 {
		c.RedeliverAfter = 100 * time.Millisecond
	}
	return &Subscriber{bus: b, cfg: c, done: make(chan struct{})}, nil
}

// attach gives the group of a topic, started, with one member more.
func (b *Bus) attach(c Config, src source) (*group, error) {
	if c.Group == "" {
		g := newGroup(b, c, src, &progress{})
		g.start()
		return g, nil
	}
	key := "sub/" + c.Group + "/" + src.name()
	for {
		b.mu.Lock()
		g := b.groups[key]
		if g == nil {
			g, err := b.open(c, src, key)
			b.mu.Unlock()
			return g, err
		}
		if g.ctx.Err() == nil {
			defer b.mu.Unlock()
			if g.cfg != c {
				return nil, fmt.Errorf("%w: group %s reads %s in another way already", events.ErrInvalid, c.Group, src.topic)
			}
			g.members++
			return g, nil
		}
		b.mu.Unlock()
		<-g.ended // its last member is leaving
	}
}

func (b *Bus) open(c Config, src source, key string) (*group, error) {
	p, err := loadProgress(b.st.Keyspace(key))
	if err != nil {
		return nil, fmt.Errorf("group %s of %s: %w", c.Group, src.topic, err)
	}
	g := newGroup(b, c, src, p)
	g.key = key
	b.groups[key] = g
	g.start()
	return g, nil
}

// detach takes a member away; the last one ends the group and waits for it.
func (b *Bus) detach(g *group) {
	b.mu.Lock()
	g.members--
	last := g.members == 0
	if last {
		g.cancel()
	}
	b.mu.Unlock()
	if !last {
		return
	}
	g.finish()
	b.mu.Lock()
	defer b.mu.Unlock()
	if g.key != "" {
		delete(b.groups, g.key)
	}
	close(g.ended)
}

func newGroup(b *Bus, c Config, src source, p *progress) *group {
	g := &group{bus: b, cfg: c, src: src, progress: p, members: 1, cursor: p.low, streams: map[string]bool{},
		ready: make(chan *item), kick: make(chan struct{}, 1), room: make(chan struct{}, 1), ended: make(chan struct{})}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}
