package stream

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/pages/view"
	"lembas/web/request"
)

// Users gives accounts by their id. *commands.Service is one.
type Users interface {
	User(ctx context.Context, id string) (commands.User, error)
}

// Chats shows chats at the log's head to fn, which must not keep them.
// *commands.Service is one.
type Chats interface {
	WithChat(ctx context.Context, chat string, fn func(*transcript.Chat) error) error
}

// Options are the hub's times and bounds; zero is the default.
type Options struct {
	Ping     time.Duration // between pings; 10 s (spec MD-4)
	Write    time.Duration // that a write may take before its reader counts as stalled; 5 s
	Check    time.Duration // between looks at an idle reader's rights; 900 ms (revoked within 1 s)
	Lifetime time.Duration // of a connection, so that those of old proxies come anew; 30 min
	Grace    time.Duration // that a feed outlives its last follower; 10 s
	// Gap is the least time between two frames that bring only text; 30 ms. It
	// should stay under the gather time, which gives the pace.
	Gap func() time.Duration
	// Tail is how many bytes of frames a feed keeps for followers that come
	// back; 256 KiB. Whoever is further behind gets the whole state.
	Tail int
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.Ping, 10*time.Second)
	def(&o.Write, 5*time.Second)
	def(&o.Check, 900*time.Millisecond)
	def(&o.Lifetime, 30*time.Minute)
	def(&o.Grace, 10*time.Second)
	if o.Gap == nil {
		o.Gap = func() time.Duration { return 30 * time.Millisecond }
	}
	if o.Tail == 0 {
		o.Tail = 256 << 10
	}
	return o
}

// Hub has all that is followed. Fields are set once; Open completes it.
type Hub struct {
	Log     events.Log
	Users   Users
	Chats   Chats
	Sidebar Sidebar
	Views   *view.Views
	Parts   Parts
	Now     func() time.Time
	Slog    *slog.Logger
	Options Options

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // feeds and the dispatcher

	mu      sync.Mutex // guards the maps and the counts of what is in them
	feeds   map[string]*feed
	people  map[string]*person
	changes changes
}

// Open starts the dispatcher, which Close ends.
func (h *Hub) Open() {
	h.Options = h.Options.withDefaults()
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.feeds, h.people = map[string]*feed{}, map[string]*person{}
	at := h.Log.Head()
	h.changes.floor = at
	h.work.Go(func() { h.dispatch(at) })
}

// Close ends all streams with "shutdown", then waits for the hub's own
// goroutines. Call it before the HTTP server's Shutdown, which waits for
// handlers.
func (h *Hub) Close() {
	h.mu.Lock() // a feed begins before this, or not at all
	h.cancel()
	h.mu.Unlock()
	h.work.Wait()
}

// accept refuses new streams after Close.
func (h *Hub) accept() error {
	if h.ctx.Err() != nil {
		return events.ErrClosed
	}
	return nil
}

// shut gives the reason to end streams after Close, nil before.
func (h *Hub) shut() error {
	if h.ctx.Err() != nil {
		return ended{endShutdown}
	}
	return nil
}

// line is one open stream: its writer, its guard and its times. It belongs to
// the goroutine of its request.
type line struct {
	*writer
	hub    *Hub
	guard  guard
	ctx    context.Context // ends with the request and with the hub
	cancel context.CancelCauseFunc
	pinged time.Time
	closes time.Time
}

// open begins the answer of a stream.
func (h *Hub) open(w http.ResponseWriter, r *http.Request, id commands.Identity) (*line, error) {
	l := &line{hub: h, guard: guard{log: h.Log, users: h.Users, user: id.User.ID, session: id.Session, token: id.Token, now: h.Now}}
	if err := l.guard.check(r.Context()); err != nil {
		return nil, request.Unauthorized()
	}
	var err error
	if l.writer, err = newWriter(w, h.Options.Write); err != nil {
		return l, err
	}
	l.ctx, l.cancel = context.WithCancelCause(r.Context())
	now := time.Now()
	l.pinged = now
	// Some come earlier than others, so that they do not all come back at once.
	l.closes = now.Add(h.Options.Lifetime - rand.N(h.Options.Lifetime/8+1))
	return l, nil
}

// run carries out a follower's loop and says goodbye. The stream has begun, so
// its failures go nowhere but to the log.
func (l *line) run(loop func() error) {
	stop := context.AfterFunc(l.hub.ctx, func() { l.cancel(ended{endShutdown}) })
	defer stop()
	defer l.cancel(nil)
	err := loop()
	if reason := reasonOf(l.ctx, err); reason != "" {
		_ = l.end(reason) // the reader may have gone as well
	} else if err != nil && l.ctx.Err() == nil {
		l.hub.Slog.Debug("event stream", "error", err)
	}
}

// due is when the follower has something to do even if nothing happens.
func (l *line) due() time.Time {
	due := time.Now().Add(l.hub.Options.Check)
	for _, t := range []time.Time{l.pinged.Add(l.hub.Options.Ping), l.closes} {
		if t.Before(due) {
			due = t
		}
	}
	return due
}

// tick checks the reader's rights and does what is due.
func (l *line) tick() error {
	if err := l.guard.check(l.ctx); err != nil {
		return err
	}
	now := time.Now()
	if !now.Before(l.closes) {
		return ended{endLifetime}
	}
	if now.Sub(l.pinged) >= l.hub.Options.Ping {
		return l.pingNow()
	}
	return nil
}

func (l *line) pingNow() error {
	l.pinged = time.Now()
	return l.ping(l.hub.Log.Head())
}
