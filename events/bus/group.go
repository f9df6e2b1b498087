package bus

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"lembas/events"
)

// A group reads ahead of what subscriptions have, within these bounds. Messages
// whose stream has another one in flight count: past the bounds, they hold up
// the rest.
const (
	idleMax   = 1024     // messages
	idleBytes = 16 << 20 // of payload
)

// item is a message that was read and is not acknowledged.
type item struct {
	env  events.Envelope
	busy bool // a subscription has it
	rest time.Time
}

// group gives the messages of one topic to the subscriptions of one name. It
// has two goroutines, which end with ctx: one reads the log, one hands out.
type group struct {
	bus      *Bus
	key      string // in bus.groups; empty without a name
	cfg      Config
	src      source
	progress *progress
	members  int // guarded by bus.mu
	ready    chan *item
	kick     chan struct{} // something may be ready
	room     chan struct{} // something may be read
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
	ended    chan struct{} // closed when a new group may begin

	mu       sync.Mutex      // guards the rest
	cursor   events.Position // everything up to it was read
	open     []*item         // in order of position
	size     int             // payload bytes of those in open that are not in flight
	inFlight int
	streams  map[string]bool // those with a message in flight
}

func (g *group) start() {
	g.work.Go(g.read)
	g.work.Go(g.handOut)
}

// finish waits for the goroutines after cancel and writes how far the group
// came.
func (g *group) finish() {
	g.work.Wait()
	g.advance(true)
}

// read is the log's loop: read, then wait.
func (g *group) read() {
	for g.ctx.Err() == nil {
		until := g.bus.st.Head()
		full, err := g.fill()
		if err == nil && !full {
			g.reached(until)
			err = g.src.wait(g.ctx, g.bus.st, g.position())
		}
		if err != nil {
			g.fail(err)
			return
		}
		if !full {
			continue
		}
		select {
		case <-g.room:
		case <-g.ctx.Done():
		}
	}
}

// fill reads until the end of the log or until the group is full.
func (g *group) fill() (full bool, err error) {
	if g.full() {
		return true, nil
	}
	for env, err := range g.src.read(g.ctx, g.bus.st, g.position()) {
		if err != nil {
			return false, err
		}
		if g.add(env) {
			return true, nil
		}
	}
	return false, nil
}

// full is also true while the group is more than half full: reading on for
// each message that goes would read the same part of the log many times.
func (g *group) full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.open)-g.inFlight > idleMax/2 || g.size > idleBytes/2
}

func (g *group) add(env events.Envelope) (full bool) {
	done := g.progress.has(env.Position)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cursor = env.Position
	if done {
		return false
	}
	g.open = append(g.open, &item{env: env})
	g.size += len(env.Data)
	wake(g.kick)
	return len(g.open)-g.inFlight >= idleMax || g.size >= idleBytes
}

func (g *group) reached(p events.Position) {
	g.mu.Lock()
	g.cursor = max(g.cursor, p)
	g.mu.Unlock()
	g.advance(false)
}

func (g *group) position() events.Position {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cursor
}

// fail ends the group: its subscriptions close their channels.
func (g *group) fail(err error) {
	if g.ctx.Err() == nil && !errors.Is(err, events.ErrClosed) {
		g.bus.logger.Error("reading a topic failed", slog.String("topic", g.src.topic),
			slog.String("group", g.cfg.Group), slog.Any("error", err))
	}
	g.cancel()
}

func (g *group) handOut() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		it, rest := g.next(time.Now())
		if it != nil {
			select {
			case g.ready <- it:
				continue
			case <-g.ctx.Done():
				return
			}
		}
		if rest > 0 {
			timer.Reset(rest)
		}
		select {
		case <-g.kick:
		case <-timer.C:
		case <-g.ctx.Done():
			return
		}
	}
}

// next takes the first message that may go now; else it says when one may
// without anything else happening, 0 for never.
func (g *group) next(now time.Time) (it *item, rest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inFlight >= g.cfg.MaxInFlight {
		return nil, 0
	}
	ordered := g.cfg.Order == OrderStream
	var seen map[string]bool // streams whose first message rests
	for _, it := range g.open {
		if it.busy || (ordered && (g.streams[it.env.Stream] || seen[it.env.Stream])) {
			continue
		}
		if d := it.rest.Sub(now); d > 0 {
			if rest == 0 || d < rest {
				rest = d
			}
			if !ordered {
				return nil, rest
			}
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[it.env.Stream] = true
			continue
		}
		it.busy = true
		g.inFlight++
		g.size -= len(it.env.Data)
		wake(g.room)
		g.streams[it.env.Stream] = true
		return it, 0
	}
	return nil, rest
}

// release takes a message back that was not acknowledged.
func (g *group) release(it *item, rest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	it.busy, it.rest = false, time.Now().Add(rest)
	g.inFlight--
	g.size += len(it.env.Data)
	delete(g.streams, it.env.Stream)
	wake(g.kick)
}

// acked makes an acknowledgement durable and lets go of the message.
func (g *group) acked(it *item) {
	if err := g.progress.ack(it.env.Position); err != nil {
		if !errors.Is(err, events.ErrClosed) {
			g.bus.logger.Error("writing an acknowledgement failed", slog.String("message", it.env.Ref()), slog.Any("error", err))
		}
		g.release(it, g.cfg.RedeliverAfter)
		return
	}
	g.mu.Lock()
	i, _ := slices.BinarySearchFunc(g.open, it.env.Position, func(x *item, p events.Position) int {
		return cmp.Compare(x.env.Position, p)
	})
	g.open = slices.Delete(g.open, i, i+1)
	g.inFlight--
	delete(g.streams, it.env.Stream)
	g.mu.Unlock()
	wake(g.kick)
	g.advance(false)
}

// advance tells progress the position up to which nothing is open.
func (g *group) advance(must bool) {
	g.mu.Lock()
	low := g.cursor
	if len(g.open) > 0 {
		low = g.open[0].env.Position - 1
	}
	g.mu.Unlock()
	if err := g.progress.advance(low, must); err != nil && !errors.Is(err, events.ErrClosed) {
		g.bus.logger.Error("writing a low-water mark failed", slog.String("topic", g.src.topic), slog.Any("error", err))
	}
}

// wake fills a channel of one slot: the signal is kept until it is looked at.
func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
