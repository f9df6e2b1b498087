package push

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"lembas/commands"
	"lembas/commands/tools/guard"
	"lembas/events"
	"lembas/projections/transcript"
)

// Client asks push services. *guard.Client is one.
type Client interface {
	Do(ctx context.Context, r guard.Request) (*guard.Response, error)
}

// Options are what a Sender needs. All but Contact, Now and Wait have to be
// there; without Keys nobody is told.
type Options struct {
	Service *commands.Service
	Keys    *Keys
	Client  Client
	Logger  *slog.Logger
	// Contact is where a push service reaches who runs this instance: an https
	// address, or mailto:. Some services refuse who names none, so "" sends one
	// that leads nowhere.
	Contact string
	Now     func() time.Time // nil is the clock
	// Wait passes the time between tries, or gives ctx's error; nil sleeps.
	Wait func(ctx context.Context, d time.Duration) error
}

const (
	noContact = "mailto:nobody@lembas.invalid"
	atOnce    = 8    // messages under way, of the whole instance
	remember  = 1024 // cards that were told about
)

// waits are the times between tries. A push service may ask for longer ones.
var waits = [...]time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute}

// Sender tells people's browsers that a card waits. Its methods are safe for
// several goroutines.
type Sender struct {
	o    Options
	ctx  context.Context // of tries in the background
	stop context.CancelFunc
	work sync.WaitGroup // those tries
	free chan struct{}  // one for each message that may be under way

	mu    sync.Mutex // guards what follows
	told  map[string]bool
	order []string // of told, the oldest first
}

// New gives a Sender. Close ends what it does in the background.
func New(o Options) *Sender {
	if o.Contact == "" {
		o.Contact = noContact
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = sleep
	}
	s := &Sender{o: o, told: map[string]bool{}, free: make(chan struct{}, atOnce)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close gives up what has not been told yet, and waits for what is under way.
func (s *Sender) Close() {
	s.stop()
	s.work.Wait()
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// card is a consent.requested that has to be told about.
type card struct {
	chat, id string
	expires  time.Time
}

// Handle is the reactor of consent.requested. It returns after the first try at
// each of the owner's browsers; later ones go on in the background, no longer
// than the card waits. The only error is that of a ctx that ended before the
// first try had: then the event may come again.
func (s *Sender) Handle(ctx context.Context, e *events.Envelope) error {
	p, err := events.Decode(e)
	asked, ok := p.(events.ConsentRequested)
	chat, ours := strings.CutPrefix(e.Stream, events.ChatStream(""))
	if s.o.Keys == nil || err != nil || !ok || !ours || !s.first(asked.Consent) {
		return nil
	}
	k := card{chat: chat, id: asked.Consent, expires: e.Time.Add(24 * time.Hour)}
	if t, err := time.Parse(time.RFC3339, asked.Expires); err == nil {
		k.expires = t
	}
	left, after, err := s.round(ctx, k, nil)
	switch {
	case ctx.Err() != nil:
		s.forget(k.id)
		return ctx.Err()
	case err != nil:
		s.o.Logger.Warn("nobody could be told that a card waits", "chat", chat, "err", err)
	case len(left) > 0:
		s.work.Go(func() { s.again(k, left, after) })
	}
	return nil
}

// first says whether a card is new, and remembers it.
func (s *Sender) first(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told[id] {
		return false
	}
	if len(s.order) >= remember {
		delete(s.told, s.order[0])
		s.order = s.order[1:]
	}
	s.told[id], s.order = true, append(s.order, id)
	return true
}

func (s *Sender) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.told, id) // it stays in order, where it only uses a place
}

// again tries the browsers that are left until all are told, the card no longer
// waits, or its time would be over.
func (s *Sender) again(k card, left map[string]string, after time.Duration) {
	for _, d := range waits {
		d = max(d, after)
		if !s.o.Now().Add(d).Before(k.expires) || s.o.Wait(s.ctx, d) != nil {
			break
		}
		var err error
		if left, after, err = s.round(s.ctx, k, left); err != nil || len(left) == 0 {
			break
		}
	}
	for id, why := range left {
		s.o.Logger.Info("a browser was not told that a card waits", "push", id, "why", why)
	}
}

// round tries each browser of the owner once: those in only, nil is all. It
// gives those to try again, with what went wrong, and the longest time that a
// push service asked to wait. Who they are is looked up anew: the card may have
// been answered, a browser may be gone.
func (s *Sender) round(ctx context.Context, k card, only map[string]string) (left map[string]string, after time.Duration, err error) {
	owner, err := s.owner(ctx, k)
	if err != nil || owner == "" {
		return nil, 0, err
	}
	targets, lost, err := s.o.Service.PushTargets(ctx, owner)
	if err != nil {
		return nil, 0, err
	}
	for _, id := range lost {
		s.end(ctx, owner, id)
	}
	left = map[string]string{}
	var mu sync.Mutex // guards left and after
	var all sync.WaitGroup
	for _, t := range targets {
		if _, ok := only[t.ID]; only != nil && !ok {
			continue
		}
		all.Go(func() {
			a := s.send(ctx, k, t)
			if a.gone {
				s.end(ctx, owner, t.ID)
			}
			mu.Lock()
			defer mu.Unlock()
			if a.retry {
				left[t.ID], after = a.why, max(after, a.after)
			}
		})
	}
	all.Wait()
	return left, after, nil
}

// owner is whose word a card waits for, "" when it no longer waits.
func (s *Sender) owner(ctx context.Context, k card) (owner string, err error) {
	if !s.o.Now().Before(k.expires) {
		return "", nil // without a look: a group that is new gets all cards there ever were
	}
	err = s.o.Service.WithChat(ctx, k.chat, func(c *transcript.Chat) error {
		for _, p := range c.Pending {
			if p.Consent == k.id && !c.Deleted {
				owner = c.Owner
			}
		}
		return nil
	})
	return owner, err
}

// end takes away a subscription that can be told no more.
func (s *Sender) end(ctx context.Context, owner, id string) {
	if err := s.o.Service.EndPush(ctx, owner, id); err != nil && !errors.Is(err, events.ErrNotFound) {
		s.o.Logger.Warn("a dead push subscription could not be taken away", "push", id, "err", fmt.Sprint(err))
	}
}
