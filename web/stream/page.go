package stream

import (
	"context"
	"errors"
	"net/http"
	"time"

	"lembas/events"
	"lembas/web/request"
)

// Page is GET /events: the frames of the person's sidebar and of any of their
// chats, on one connection. Chats that are not the caller's, or gone, are left
// out without a word: one deleted chat must not take the stream from the other
// tabs of a browser.
//
// The frames of this function and of those it calls for the whole length of a
// stream are kept small, so that the garbage collector can halve the stack that
// the beginning needed.
func (h *Hub) Page(w http.ResponseWriter, r *http.Request) error {
	p := &follower{bell: newWaker()}
	defer p.leave(h)
	if err := p.begin(h, w, r); err != nil || p.line == nil {
		return err
	}
	p.run(p.follow)
	return nil
}

// begin joins the feeds and begins the answer. The line is nil when there is
// nothing to follow: the cursor was of no use, or the reader has left.
func (p *follower) begin(h *Hub, w http.ResponseWriter, r *http.Request) error {
	if err := h.accept(); err != nil {
		return err
	}
	id, err := request.User(r)
	if err != nil {
		return err
	}
	chats, err := askedChats(r)
	if err != nil {
		return err
	}
	at, given, reason := position(r, h.Log)
	if !given {
		at = h.Log.Head()
	}
	p.user, p.resumes = id.User.ID, r.Header.Get("Last-Event-ID") != ""
	if reason == "" {
		if err := p.join(r.Context(), h, chats, at); err != nil {
			return err
		}
	}
	l, err := h.open(w, r, id)
	if l == nil {
		return err
	}
	if reason != "" {
		_ = l.reset(reason)
	} else if err == nil {
		p.line = l
	}
	return nil
}

// follower is one page stream: a place in the tail of each feed it follows. It
// belongs to the goroutine of its request.
type follower struct {
	*line
	user    string
	resumes bool // it continues a connection
	bell    *waker
	sources []*following
	person  *person
	checked events.Position // of the head before the last check of rights
}

// join enters the feeds first and then makes what the follower missed, so that
// nothing falls between.
func (p *follower) join(ctx context.Context, h *Hub, chats []string, at events.Position) error {
	p.person = h.enterPerson(p.user)
	s := &following{tail: p.person.tail, from: at}
	s.place = s.tail.joinEnd(p.bell)
	p.sources = append(p.sources, s)
	own, err := h.missedSidebar(ctx, p.user, at, p.resumes)
	if err != nil {
		return err
	}
	s.take(own)
	for _, chat := range chats {
		err := p.joinChat(ctx, h, chat, at)
		if err != nil && !errors.Is(err, events.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (p *follower) joinChat(ctx context.Context, h *Hub, chat string, at events.Position) error {
	if err := h.owned(ctx, p.user, chat); err != nil {
		return err
	}
	f := h.enter(chat)
	select {
	case <-f.ready:
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil || f.failed != nil {
		h.leave(f)
		return errors.Join(err, f.failed)
	}
	s := &following{feed: f, tail: f.tail, from: at}
	p.sources = append(p.sources, s)
	var ok bool
	if s.place, ok = f.tail.join(p.bell, at); ok {
		return nil
	}
	return s.catchUp(ctx, h)
}

func (p *follower) leave(h *Hub) {
	for _, s := range p.sources {
		s.tail.leave(p.bell)
		if s.feed != nil {
			h.leave(s.feed)
		}
	}
	if p.person != nil {
		h.leavePerson(p.person)
	}
}

// follow is the loop: write what is there, flush, wait for the bell.
func (p *follower) follow() error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for first := true; ; first = false {
		if err := p.send(); err != nil {
			return err
		}
		if err := p.flush(); err != nil {
			return err
		}
		if first { // what was stored has been sent
			if err := p.pingNow(); err != nil {
				return err
			}
		}
		timer.Reset(time.Until(p.due()))
		select {
		case <-p.bell.bell:
		case <-timer.C:
			if err := p.tick(); err != nil {
				return err
			}
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
	}
}

// send writes all frames that are there. A frame's id is a promise: whoever
// comes back with it has all before it, of every feed. So the frame with the
// lowest event that is due comes first, and when others have events between
// its own, its id is only up to where those begin; it is sent again, under the
// next id that holds, after them. Once would not do: a page that was rendered
// between two ids lets the first one go by.
func (p *follower) send() error {
	for {
		if err := p.refill(); err != nil {
			return err
		}
		s, n := p.next()
		if s == nil {
			return nil
		}
		id, held, err := p.reach(s, n)
		if held || err != nil {
			return err
		}
		if id < s.due(n) {
			continue // meanwhile another feed has a frame that comes first
		}
		if err := p.allowed(n.position); err != nil {
			return err
		}
		if err := p.write(n.as(p.hub.Log.Epoch(), id)); err != nil {
			return err
		}
		s.pass(n, id)
	}
}

// allowed checks the reader's rights for a frame. What was durable before the
// last check needs no other: whatever took a right away before the frame's
// events was durable then, too.
func (p *follower) allowed(at events.Position) error {
	if at <= p.checked {
		return nil
	}
	head := p.hub.Log.Head()
	if err := p.guard.check(p.ctx); err != nil {
		return err
	}
	p.checked = head
	return nil
}

// refill looks after feeds that ended and places that were let go of: a reader
// that is too slow for the tail gets all it missed as one frame.
func (p *follower) refill() error {
	for _, s := range p.sources {
		if s.feed != nil {
			select {
			case <-s.feed.done:
				return errors.Join(errFeedEnded, p.hub.shut())
			default:
			}
		}
		if s.own != nil || !s.tail.behind(s.place) {
			continue
		}
		s.place = s.tail.end()
		if s.feed != nil {
			if err := s.catchUp(p.ctx, p.hub); err != nil {
				return err
			}
			continue
		}
		own, err := p.hub.missedSidebar(p.ctx, p.user, s.from, true)
		if err != nil {
			return err
		}
		s.take(own)
	}
	return nil
}

// next is the frame with the lowest event that is due; of two with one event
// the chat's comes first.
func (p *follower) next() (from *following, first *node) {
	var lowest events.Position
	for i := len(p.sources) - 1; i >= 0; i-- { // the person's is the first
		s := p.sources[i]
		n := s.peek()
		if n == nil {
			continue
		}
		if due := s.due(n); first == nil || due < lowest {
			from, first, lowest = s, n, due
		}
	}
	return from, first
}

// reach is the highest id under which a frame can be sent: all other feeds have
// nothing due up to it. The frame is held while one has not read all that is in
// the log before it; its bell will ring.
func (p *follower) reach(s *following, n *node) (id events.Position, held bool, err error) {
	id = n.position
	for _, other := range p.sources {
		if other == s {
			continue
		}
		clear, unread, err := other.clear(p.ctx, p.hub.Log, n.position)
		if unread || err != nil {
			return 0, true, err
		}
		id = min(id, clear)
	}
	return id, false, nil
}

// errFeedEnded closes a follower of a feed that stopped; it comes back.
var errFeedEnded = errors.New("a feed has ended")
