package stream

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/request"
)

// maxChats bounds the chats of one connection.
const maxChats = 64

// batch is how many bytes of events are written at once.
const batch = 32 << 10

// source is one stream that an API client follows, or, without a name, what of
// the whole log it is shown.
type source struct {
	stream string
	at     events.Position             // the last event that was sent, or need not be
	shown  func(*events.Envelope) bool // nil is all
}

func (s *source) read(ctx context.Context, log events.Log) iter.Seq2[events.Envelope, error] {
	if s.stream == "" {
		return log.Read(ctx, s.at)
	}
	return log.ReadStream(ctx, s.stream, s.at)
}

// ChatEvents is GET /api/v1/chats/{id}/events: the chat's events after a
// cursor, then those to come. With follow=0 and Accept: application/x-ndjson it
// gives the stored ones, one a line.
func (h *Hub) ChatEvents(w http.ResponseWriter, r *http.Request) error {
	id, err := request.User(r)
	if err != nil {
		return err
	}
	chat := r.PathValue("id")
	if err := h.owned(r.Context(), id.User.ID, chat); err != nil {
		return err
	}
	at, _, reason := position(r, h.Log)
	src := []*source{{stream: events.ChatStream(chat), at: at}}
	if r.URL.Query().Get("follow") == "0" && strings.Contains(r.Header.Get("Accept"), "application/x-ndjson") {
		if reason != "" {
			return request.Fail(http.StatusUnprocessableEntity, "This cursor is not of this log.")
		}
		return h.stored(w, r, src)
	}
	return h.events(w, r, src, reason)
}

// Events is GET /api/v1/events: what concerns the caller, and all of any of
// their chats, on one connection and in the order of the log.
func (h *Hub) Events(w http.ResponseWriter, r *http.Request) error {
	id, err := request.User(r)
	if err != nil {
		return err
	}
	at, _, reason := position(r, h.Log)
	chats, err := askedChats(r)
	if err != nil {
		return err
	}
	src := []*source{{at: at, shown: h.concerns(r.Context(), id.User.ID, chats)}}
	for _, chat := range chats {
		if err := h.owned(r.Context(), id.User.ID, chat); err != nil {
			return err
		}
		src = append(src, &source{stream: events.ChatStream(chat), at: at})
	}
	return h.events(w, r, src, reason)
}

// concerns says of an event whether a person is told of it whatever chats they
// follow: of their own stream what is theirs to follow (how they sign in is not
// for every token), of each of their chats what changes its row in a list. All
// of the followed chats comes by itself.
func (h *Hub) concerns(ctx context.Context, user string, followed []string) func(*events.Envelope) bool {
	own, mine := events.UserStream(user), h.ownership(ctx, user)
	return func(e *events.Envelope) bool {
		if e.Stream == own {
			return e.Type == "chat.seen" || e.Type == "user.preferences_changed" || strings.HasPrefix(e.Type, "folder.")
		}
		chat, is := strings.CutPrefix(e.Stream, "chat/")
		return is && onRow(e.Type) && !slices.Contains(followed, chat) && mine(chat, e)
	}
}

// ownership says whose the chat of an event is, and remembers it for a
// connection: a reader from the log's beginning passes every chat there is.
func (h *Hub) ownership(ctx context.Context, user string) func(chat string, e *events.Envelope) bool {
	known := map[string]bool{}
	return func(chat string, e *events.Envelope) bool {
		if is, ok := known[chat]; ok {
			return is
		}
		owner := ""
		if p, err := events.Decode(e); err == nil {
			if made, ok := p.(events.ChatCreated); ok {
				owner = made.Owner
			}
		}
		if owner == "" && h.Chats.WithChat(ctx, chat, func(c *transcript.Chat) error { owner = c.Owner; return nil }) != nil {
			return false // a chat that cannot be read is nobody's, for now
		}
		known[chat] = owner == user
		return known[chat]
	}
}

// onRow are the types that make, name, move, mark or take away a chat's row.
func onRow(typ string) bool {
	switch typ {
	case "chat.created", "chat.renamed", "chat.moved", "chat.deleted", "reply.finished":
		return true
	}
	return strings.HasPrefix(typ, "consent.")
}

// askedChats reads the chats of a request, each once.
func askedChats(r *http.Request) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for _, chat := range r.URL.Query()["chat"] {
		if chat != "" && !seen[chat] {
			seen[chat] = true
			out = append(out, chat)
		}
	}
	if len(out) > maxChats {
		return nil, request.Fail(http.StatusUnprocessableEntity, "At most %d chats on one connection.", maxChats)
	}
	return out, nil
}

// owned refuses a chat that is not the person's, or was deleted.
func (h *Hub) owned(ctx context.Context, user, chat string) error {
	return h.Chats.WithChat(ctx, chat, func(c *transcript.Chat) error {
		if c.Owner != user || c.Deleted {
			return events.ErrNotFound
		}
		return nil
	})
}

// stored answers with the events that there are.
func (h *Hub) stored(w http.ResponseWriter, r *http.Request, src []*source) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &writer{w: w, control: http.NewResponseController(w), timeout: h.Options.Write}
	buf := make([]byte, 0, batch)
	for e, err := range merged(r.Context(), h.Log, src, h.Log.Head()) {
		if err != nil && len(buf) == 0 && out.held == 0 {
			return err
		}
		if err != nil {
			panic(http.ErrAbortHandler) // half an answer must not look whole
		}
		if buf = append(e.AppendJSON(buf), '\n'); len(buf) >= batch {
			if out.write(buf) != nil {
				return nil
			}
			buf = buf[:0]
		}
	}
	_ = out.write(buf)
	return nil
}

// events follows sources until the reader, the rights or the server end it.
func (h *Hub) events(w http.ResponseWriter, r *http.Request, src []*source, reason string) error {
	if err := h.accept(); err != nil {
		return err
	}
	id, err := request.User(r)
	if err != nil {
		return err
	}
	l, err := h.open(w, r, id)
	if l == nil {
		return err
	}
	if err != nil {
		return nil // the reader left
	}
	if reason != "" {
		_ = l.reset(reason)
		return nil
	}
	l.run(func() error { return l.follow(src) })
	return nil
}

// follow is the loop: read, write, flush, wait.
func (l *line) follow(src []*source) error {
	for first := true; ; first = false {
		head := l.hub.Log.Head()
		if err := l.send(src, head); err != nil {
			return err
		}
		if err := l.flush(); err != nil {
			return err
		}
		if first {
			if err := l.pingNow(); err != nil {
				return err
			}
		}
		if err := l.wait(src, head); err != nil {
			return err
		}
	}
}

// send writes the events of the sources up to a position. The deletion of a
// chat that is followed ends the stream.
func (l *line) send(src []*source, head events.Position) error {
	buf := make([]byte, 0, 512)
	var gone bool
	for e, err := range merged(l.ctx, l.hub.Log, src, head) {
		if err != nil {
			return err
		}
		buf = appendEvent(buf, cursor(l.hub.Log.Epoch(), e.Position), e.Type, e.AppendJSON(nil))
		gone = e.Type == (events.ChatDeleted{}).EventType() && slices.ContainsFunc(src, func(s *source) bool { return s.stream == e.Stream })
		if gone || len(buf) >= batch {
			if err := l.sendChecked(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
		if gone {
			return ended{endDeleted}
		}
	}
	return l.sendChecked(buf)
}

func (l *line) sendChecked(buf []byte) error {
	if len(buf) == 0 {
		return nil
	}
	if err := l.guard.check(l.ctx); err != nil {
		return err
	}
	return l.write(buf)
}

// wait returns when a source has more, keeping up pings and checks meanwhile.
func (l *line) wait(src []*source, head events.Position) error {
	for {
		ctx, cancel := context.WithDeadline(l.ctx, l.due())
		err := l.waitOnce(ctx, src, &head)
		cancel()
		if err == nil {
			return nil
		}
		if l.ctx.Err() != nil {
			return l.ctx.Err()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if err := l.tick(); err != nil {
			return err
		}
	}
}

// waitOnce returns when a source has more. For several it wakes with every
// event of the log and looks at where each of the streams stands.
func (l *line) waitOnce(ctx context.Context, src []*source, head *events.Position) error {
	if len(src) == 1 && src[0].stream != "" {
		return l.hub.Log.WaitStream(ctx, src[0].stream, src[0].at)
	}
	for {
		for _, s := range src {
			if s.stream == "" {
				if l.hub.Log.Head() > s.at {
					return nil
				}
				continue
			}
			st, err := l.hub.Log.Stream(ctx, s.stream)
			if err != nil || st.Last > s.at {
				return err
			}
		}
		if err := l.hub.Log.Wait(ctx, *head); err != nil {
			return err
		}
		*head = l.hub.Log.Head()
	}
}

// merged yields the events of the sources up to a position in the order of the
// log, and moves the sources past them.
func merged(ctx context.Context, log events.Log, src []*source, head events.Position) iter.Seq2[events.Envelope, error] {
	return func(yield func(events.Envelope, error) bool) {
		heads := make([]pulled, len(src))
		for i, s := range src {
			next, stop := iter.Pull2(s.read(ctx, log))
			defer stop()
			heads[i] = pulled{next: next}
			heads[i].pull()
		}
		for {
			best := -1
			for i := range heads {
				if heads[i].ok && (best < 0 || heads[i].err != nil || heads[i].e.Position < heads[best].e.Position) {
					best = i
				}
			}
			if best < 0 {
				return
			}
			p, s := &heads[best], src[best]
			if p.err == nil && p.e.Position > head {
				return // all others are past it, too
			}
			if p.err == nil {
				s.at = p.e.Position
			}
			if (p.err != nil || s.shown == nil || s.shown(&p.e)) && !yield(p.e, p.err) {
				return
			}
			if p.err != nil {
				return
			}
			p.pull()
		}
	}
}

type pulled struct {
	next func() (events.Envelope, error, bool)
	e    events.Envelope
	err  error
	ok   bool
}

func (p *pulled) pull() { p.e, p.err, p.ok = p.next() }
