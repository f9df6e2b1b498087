package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
)

// feed makes the frames of one chat for all who follow it. It has one
// goroutine, from its first follower until some time after its last.
type feed struct {
	hub    *Hub
	chat   string
	stream string
	tail   *tail
	cancel context.CancelFunc
	ready  chan struct{} // closed when at and tail are set, or failed is
	failed error         // why the feed could not begin
	done   chan struct{} // closed when no frame will come any more

	// at is the position of the last event of the chat that is in the tail, or
	// needs nothing shown.
	at atomic.Uint64

	followers int         // guarded by hub.mu
	timer     *time.Timer // guarded by hub.mu: the end of the grace

	// Of the goroutine alone.
	texts    *growing
	deciding events.Version // when the last frame was made
	shown    time.Time      // of the last frame that brought text
}

// enter gives the chat's feed, which stays at least until leave. After Close it
// is one that has failed already.
func (h *Hub) enter(chat string) *feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[chat]
	if f == nil {
		ctx, cancel := context.WithCancel(h.ctx)
		f = &feed{hub: h, chat: chat, stream: events.ChatStream(chat), cancel: cancel,
			ready: make(chan struct{}), done: make(chan struct{}), texts: newGrowing(h.Views.Markdown())}
		if h.ctx.Err() != nil { // Close may be waiting already, and waits for no more
			f.failed = events.ErrClosed
			close(f.ready)
			close(f.done)
		} else {
			h.feeds[chat] = f
			h.work.Go(func() { f.run(ctx) })
		}
	}
	f.followers++
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	return f
}

// leave ends a stay. The feed outlives its last follower for a while, because
// pages are reloaded.
func (h *Hub) leave(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.followers--; f.followers > 0 {
		return
	}
	f.timer = time.AfterFunc(h.Options.Grace, func() { h.retire(f) })
}

func (h *Hub) retire(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.followers == 0 {
		h.drop(f)
		f.cancel()
	}
}

// drop forgets a feed, so that the next follower begins a new one. h.mu is held.
func (h *Hub) drop(f *feed) {
	if h.feeds[f.chat] == f {
		delete(h.feeds, f.chat)
	}
}

// run begins at the chat's present state and follows its stream.
func (f *feed) run(ctx context.Context) {
	defer f.cancel()
	err := contained(func() error {
		return f.hub.Chats.WithChat(ctx, f.chat, func(c *transcript.Chat) error {
			f.begin(c)
			return nil
		})
	})
	f.failed = err
	close(f.ready)
	for err == nil {
		err = contained(func() error { return f.step(ctx) })
	}
	f.hub.mu.Lock()
	f.hub.drop(f)
	f.hub.mu.Unlock()
	close(f.done)
	if f.tail != nil {
		f.tail.wakeAll()
	}
	if ctx.Err() == nil && !errors.Is(err, events.ErrNotFound) && !errors.Is(err, events.ErrClosed) {
		f.hub.Slog.Error("the frames of a chat stopped", "chat", f.chat, "error", err)
	}
}

// contained makes an error of a panic: what one chat says must not end the
// process for all.
func contained(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return fn()
}

func (f *feed) begin(c *transcript.Chat) {
	f.at.Store(uint64(c.Position))
	f.tail = newTail(c.Position, f.hub.Options.Tail)
	if r := c.Open(); r != nil {
		for _, x := range r.Live() {
			f.texts.sync(r, x)
		}
	}
}

// step waits for the next events and makes one frame of all that are there.
func (f *feed) step(ctx context.Context) error {
	at := events.Position(f.at.Load())
	if err := f.hub.Log.WaitStream(ctx, f.stream, at); err != nil {
		return err
	}
	if err := f.pace(ctx); err != nil {
		return err
	}
	return f.hub.Chats.WithChat(ctx, f.chat, func(c *transcript.Chat) error {
		m, err := f.hub.read(ctx, c, at)
		if err != nil {
			return err
		}
		d := drawing{c: c, v: f.hub.Views, parts: f.hub.Parts, texts: f.texts}
		ops, err := d.draw(m)
		if err != nil {
			return err
		}
		if f.deciding = c.Deciding; m.text {
			f.shown = time.Now()
		}
		return f.publish(Frame{Position: c.Position, Ops: ops, events: m.events})
	})
}

// pace keeps frames that bring only text apart, so that a page is not drawn
// more often than it can be seen. The first words and everything else go at
// once.
func (f *feed) pace(ctx context.Context) error {
	rest := f.hub.Options.Gap() - time.Since(f.shown)
	if rest <= 0 {
		return nil
	}
	st, err := f.hub.Log.Stream(ctx, f.stream)
	if err != nil || st.Deciding != f.deciding {
		return err
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// publish puts a frame into the tail. A frame that shows nothing only moves the
// feed on.
func (f *feed) publish(frame Frame) error {
	if len(frame.Ops) == 0 {
		f.at.Store(uint64(frame.Position))
		f.tail.wakeAll() // some may hold another chat's frame until this one is past it
		return nil
	}
	data, err := frame.encode(f.hub.Log.Epoch(), f.chat)
	if err != nil {
		return err
	}
	f.tail.publish(frame.Position, data, frame.events...)
	f.at.Store(uint64(frame.Position))
	f.tail.wakeAll()
	return nil
}

// read gives what the events of a chat after a position touch, up to where the
// chat stands.
func (h *Hub) read(ctx context.Context, c *transcript.Chat, after events.Position) (*marks, error) {
	m := newMarks()
	for e, err := range h.Log.ReadStream(ctx, events.ChatStream(c.ID), after) {
		if err != nil {
			return nil, err
		}
		if e.Position > c.Position {
			break
		}
		p, err := events.Decode(&e)
		if err != nil {
			return nil, err
		}
		m.add(p)
		m.events = append(m.events, e.Position)
	}
	return m, nil
}

// maxCatchUp is how many events are made one frame for a follower that comes
// back; after more, everything is shown anew.
const maxCatchUp = 2000

// maxParts is how often a frame for one follower alone may be sent between
// frames of other chats; one of more events is sent twice at most, because it
// can have all the words of a chat. What that gives up: a tab that joins the
// browser's connection between the two, if the connection then breaks.
const maxParts = 16

// catchUp makes the frame that brings a follower from a position to where the
// chat stands now. For one at 0, and one that is far behind, it is the whole
// state.
func (h *Hub) catchUp(ctx context.Context, chat string, after events.Position) (frame Frame, err error) {
	err = h.Chats.WithChat(ctx, chat, func(c *transcript.Chat) error {
		frame.Position = c.Position
		if c.Position <= after {
			return nil
		}
		var far bool
		if frame.events, far, err = h.missedEvents(ctx, c, after); err != nil {
			return err
		}
		m := &marks{log: true, title: true, queue: true, status: true, summary: true, scope: true, deleted: c.Deleted}
		if !far {
			if m, err = h.read(ctx, c, after); err != nil {
				return err
			}
		}
		d := drawing{c: c, v: h.Views, parts: h.Parts}
		frame.Ops, err = d.draw(m)
		return err
	})
	return frame, err
}

// missedEvents gives the events of a chat after a position, and says whether
// they are more than one frame is made of. Of more than maxParts they are the
// first and the last.
func (h *Hub) missedEvents(ctx context.Context, c *transcript.Chat, after events.Position) (list []events.Position, far bool, err error) {
	n := 0
	for e, err := range h.Log.ReadStream(ctx, events.ChatStream(c.ID), after) {
		if err != nil {
			return nil, false, err
		}
		if e.Position > c.Position {
			break
		}
		if n++; n <= maxParts {
			list = append(list, e.Position)
		}
		if far = after == 0 || n > maxCatchUp; far {
			break
		}
	}
	if far || n > maxParts {
		list = []events.Position{list[0], c.Position}
	}
	return list, far, nil
}
