package stream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"lembas/events"
	"lembas/web/pages/view"
)

// Sidebar is the read model of people's lists of chats.
type Sidebar interface {
	// Wait returns when the model has applied the log up to a position, or with
	// ctx's error.
	Wait(ctx context.Context, at events.Position) error
	// List gives one page of a person's chats, as they stand at a position: on
	// the first one all pinned chats and those with the newest activity, on the
	// others older ones that are not pinned. next is "" at the end.
	List(ctx context.Context, user string, limit int, cursor string) (rows []view.Row, next string, at events.Position, err error)
	// Owner gives whose a chat is, "" when there is none.
	Owner(ctx context.Context, chat string) (user string, err error)
}

// maxRows is how many chats the sidebar shows.
const maxRows = 60

// person is the feed of one person: sidebar and toasts. The dispatcher makes
// its frames, from the person's first follower to the last.
type person struct {
	id        string
	tail      *tail
	followers int // guarded by hub.mu
}

// enterPerson gives a person's feed, which stays until leavePerson.
func (h *Hub) enterPerson(id string) *person {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.people[id]
	if p == nil {
		p = &person{id: id, tail: newTail(h.Log.Head(), h.Options.Tail)}
		h.people[id] = p
	}
	p.followers++
	return p
}

func (h *Hub) leavePerson(p *person) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.followers--; p.followers == 0 {
		delete(h.people, p.id)
	}
}

const (
	// recent and slack are how long, and over how many events, a change of a
	// list may take to reach its followers: whoever begins or comes back within
	// them may have missed it.
	recent = 5 * time.Second
	slack  = 10_000
	// maxChanges bounds the people whose last change is remembered.
	maxChanges = 20_000
)

// change is when a person's list last changed.
type change struct {
	at   events.Position
	when time.Time
}

// changes remembers last changes. It belongs to hub.mu.
type changes struct {
	floor events.Position // of what was forgotten
	last  map[string]change
}

func (c *changes) note(user string, at events.Position, when time.Time) {
	if len(c.last) >= maxChanges {
		c.last, c.floor = nil, at
	}
	if c.last == nil {
		c.last = map[string]change{}
	}
	c.last[user] = change{at, when}
}

// missed says whether a follower that has everything up to a position may have
// missed a change. resumes says that it comes back: then a frame of another
// feed may have moved its position past a change that was still on its way.
func (h *Hub) missed(user string, after events.Position, resumes bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.changes.last[user]
	c.at = max(c.at, h.changes.floor)
	return c.at > after || (resumes && c.at+slack > after) || h.Now().Sub(c.when) < recent
}

// missedSidebar gives the whole list for a follower that may have missed some
// of it, nil for one that has not. The follower is in the person's tail already:
// what the dispatcher has not read yet will come from there.
func (h *Hub) missedSidebar(ctx context.Context, user string, after events.Position, resumes bool) (*node, error) {
	if !h.missed(user, after, resumes) {
		return nil, nil
	}
	frame, _, err := h.list(ctx, user)
	if err != nil || frame.Position <= after {
		return nil, err
	}
	frame.Ops = append(frame.Ops, waitingAt(frame.Position))
	data, err := frame.encode(h.Log.Epoch(), "")
	if err != nil {
		return nil, err
	}
	return &node{position: frame.Position, data: data}, nil
}

// list is the frame of a person's whole list, and its rows.
func (h *Hub) list(ctx context.Context, user string) (Frame, []view.Row, error) {
	u, err := h.Users.User(ctx, user)
	if err != nil {
		return Frame{}, nil, err
	}
	rows, next, at, err := h.Sidebar.List(ctx, user, maxRows, "")
	if err != nil {
		return Frame{}, nil, err
	}
	tree := view.Tree(u.Folders, rows, h.Now())
	tree.More = view.More(next)
	html, err := h.Parts.Fragment("sidebar-tree", tree)
	return Frame{Position: at, Ops: []Op{put("side-tree", "", "", html)}}, rows, err
}

// waitingAt lets a page fetch anew what waits for its person.
func waitingAt(at events.Position) Op {
	return attr("waiting", "data-at", strconv.FormatUint(uint64(at), 10))
}

// news is what a batch of the log means to one person.
type news struct {
	whole  bool            // the list has other rows, or others before them
	rows   map[string]bool // chats whose row changed
	cards  bool            // what waits for the person changed
	toasts []toastOf
}

// toastOf is a toast whose text needs the chat's title.
type toastOf struct {
	chat, kind, before, after, key string
}

// dispatch reads the log once for all people who are followed, and wakes those
// whom it concerns. It ends with the hub.
func (h *Hub) dispatch(at events.Position) {
	for h.ctx.Err() == nil {
		if err := h.Log.Wait(h.ctx, at); err != nil {
			if !errors.Is(err, context.Canceled) && !errors.Is(err, events.ErrClosed) {
				h.Slog.Error("the sidebar's dispatcher stopped", "error", err)
			}
			return
		}
		next, err := h.dispatchBatch(at)
		if err != nil && h.ctx.Err() == nil {
			h.Slog.Error("a change of the sidebar was not sent", "error", err)
		}
		at = max(next, at)
		h.rest(sidebarGap)
	}
}

// sidebarGap gathers what happens to lists: a few frames a second are enough.
const sidebarGap = 50 * time.Millisecond

func (h *Hub) rest(d time.Duration) {
	select {
	case <-time.After(d):
	case <-h.ctx.Done():
	}
}

// dispatchBatch reads on from a position, and gives up to where it came.
func (h *Hub) dispatchBatch(at events.Position) (events.Position, error) {
	all := map[string]*news{}
	var unknown []ownerless
	for e, err := range h.Log.Read(h.ctx, at) {
		if err != nil {
			return at, err
		}
		at = e.Position
		if user, ok := concerned(&e); user != "" {
			h.note(all, user, &e)
		} else if ok {
			unknown = append(unknown, ownerless{chat: e.Stream[len("chat/"):], event: e})
		}
	}
	if err := h.Sidebar.Wait(h.ctx, at); err != nil {
		return at, err
	}
	for _, o := range unknown {
		user, err := h.Sidebar.Owner(h.ctx, o.chat)
		if err != nil {
			return at, err
		}
		h.note(all, user, &o.event)
	}
	var errs []error
	for user, n := range all {
		errs = append(errs, h.tell(user, n, at))
	}
	return at, errors.Join(errs...)
}

// ownerless is an event of a chat that was not caused by its person.
type ownerless struct {
	chat  string
	event events.Envelope
}

func (h *Hub) personOf(id string) *person {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.people[id]
}

// tell publishes what a batch means to one person, if somebody follows.
func (h *Hub) tell(user string, n *news, at events.Position) error {
	p := h.personOf(user)
	if p == nil {
		return nil
	}
	frame, rows, err := h.list(h.ctx, user)
	if err != nil {
		return err
	}
	frame.Position = at
	if !n.whole {
		frame.Ops, err = h.rows(rows, n.rows)
	}
	if err != nil {
		return err
	}
	for _, t := range n.toasts {
		if i := slices.IndexFunc(rows, func(r view.Row) bool { return r.ID == t.chat }); i >= 0 {
			words := t.before + "“" + cmp.Or(rows[i].Title, "a chat") + "”" + t.after
			frame.Ops = append(frame.Ops, Op{Op: "toast", Kind: t.kind, Text: &words, Href: "/chat/" + t.chat, Key: t.key})
		}
	}
	if n.cards {
		frame.Ops = append(frame.Ops, waitingAt(at))
	}
	if len(frame.Ops) == 0 {
		return nil
	}
	data, err := frame.encode(h.Log.Epoch(), "")
	if err != nil {
		return err
	}
	p.tail.publish(at, data)
	return nil
}

// rows shows single rows; one that is not on the list is left out.
func (h *Hub) rows(rows []view.Row, changed map[string]bool) (ops []Op, err error) {
	for _, row := range rows {
		if !changed[row.ID] {
			continue
		}
		html, err := h.Parts.Fragment("chat-row", row.View())
		if err != nil {
			return nil, err
		}
		ops = append(ops, put("c-"+row.ID, "", "", html))
	}
	return ops, nil
}
