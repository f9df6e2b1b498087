package stream

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/templates"
)

// open renders a chat's page now, with the cursor that the page would carry.
func (h *house) page(chat string) (p *page, cur events.Position) {
	h.t.Helper()
	head := h.log.Head()
	h.ok(h.WithChat(context.Background(), chat, func(c *transcript.Chat) error {
		v := h.look.views.Chat(c)
		v.Shell = templates.Shell{Title: c.Title}
		var b bytes.Buffer
		if err := h.look.set.Page(&b, "chat", v); err != nil {
			return err
		}
		p, cur = openPage(h.t, b.String()), max(head, c.Position)
		return nil
	}))
	return p, cur
}

// browser is a tab: its page, what it has seen, and its connection.
type browser struct {
	*page
	h     *house
	who   human
	chats []string
	seen  map[string]events.Position
	last  string
	live  bool // the last event was a ping: all that was stored has come
}

// read connects and applies up to n frames, as web/static/js does. It stops
// early when done says so.
func (b *browser) read(n int, done func() bool) {
	path := fmt.Sprintf("/events?after=%s.%d", b.h.log.Epoch(), b.seen[b.chats[0]])
	for _, chat := range b.chats {
		path += "&chat=" + chat
	}
	c := b.h.get(b.who, path, b.last)
	defer c.close()
	for i := 0; i < n; {
		m, ok := c.next()
		if !ok {
			return
		}
		if b.live = m.event == "ping"; b.live && done() {
			return
		}
		if m.event != "frame" {
			continue
		}
		i++
		b.last = m.id
		chat, ops := frameOf(b.t, m)
		if at(m.id) <= b.seen[chat] {
			continue
		}
		b.seen[chat] = at(m.id)
		if chat == b.chats[0] {
			b.apply(ops)
		}
		if done() {
			return
		}
	}
}

// TestPagesFollowThroughBreaks: pages that are opened at any moment of a
// running reply, whose connections break at random, end up as a fresh page.
// Each follows a second busy chat on the same connection, as two tabs do.
func TestPagesFollowThroughBreaks(t *testing.T) {
	none := func() time.Duration { return 0 }
	for _, tail := range []int{1 << 20, 600} { // with room for all, and hardly any
		t.Run(fmt.Sprint("tail ", tail), func(t *testing.T) {
			h := newHouse(t, Options{Tail: tail, Gap: none, Ping: 20 * time.Millisecond})
			ann := h.human("ann")
			made, other := h.chat(ann, "hello"), h.chat(ann, "other")
			var group sync.WaitGroup
			group.Go(func() {
				h.append(made.Chat, round(made.Reply, 1))
				h.append(other.Chat, round(other.Reply, 1))
				for i := range 120 {
					h.chunk(made, fmt.Sprintf("- item **%d**\n", i))
					h.chunk(other, "noise ")
					if i%40 == 20 {
						h.append(made.Chat, events.MessageQueued{Message: fmt.Sprint("q", i), Text: "and?"})
					}
				}
				h.append(made.Chat, roundEnd(made.Reply, 1, "stop", nil), end(made.Reply, events.Complete, "", nil))
			})
			var last events.Position // of the chat, once all is written
			var all sync.Mutex
			ended := func(b *browser) func() bool {
				return func() bool {
					all.Lock()
					defer all.Unlock()
					return last > 0 && b.seen[made.Chat] >= last
				}
			}
			for i := range 12 {
				group.Go(func() {
					random := rand.New(rand.NewPCG(uint64(i), 9))
					p, cur := h.page(made.Chat)
					b := &browser{page: p, h: h, who: ann, chats: []string{made.Chat, other.Chat},
						seen: map[string]events.Position{made.Chat: cur, other.Chat: cur, "": cur}}
					for done := ended(b); !done(); {
						b.read(1+random.IntN(40), done)
					}
					want, _ := h.page(made.Chat)
					if got, want := b.serial(), want.serial(); got != want {
						t.Errorf("browser %d\n%s", i, difference(got, want))
					}
				})
			}
			group.Go(func() {
				eventually(t, "the reply ends", func() bool {
					st, err := h.log.Stream(context.Background(), events.ChatStream(made.Chat))
					h.ok(err)
					list := h.stored(events.ChatStream(made.Chat), st.Last-1)
					all.Lock()
					defer all.Unlock()
					if len(list) == 1 && list[0].Type == "reply.finished" {
						last = st.Last
					}
					return last > 0
				})
			})
			group.Wait()
		})
	}
}

// TestLateFollowersGetTheWholeState: one that comes back after very long, or
// from nowhere, gets one frame with everything.
func TestLateFollowersGetTheWholeState(t *testing.T) {
	h := newHouse(t, Options{})
	ann := h.human("ann")
	made := h.chat(ann, "hello")
	h.append(made.Chat, round(made.Reply, 1))
	stale, _ := h.page(made.Chat)
	for range 30 {
		var list []events.Payload
		for range 100 {
			list = append(list, events.ReplyChunk{Reply: made.Reply, Round: 1, Kind: events.ChunkContent, Text: "word ", Cuts: [][2]int64{{0, 1}}})
		}
		h.append(made.Chat, list...)
	}
	h.finish(made, events.Complete)
	c := h.get(ann, "/events?after=0&chat="+made.Chat, "")
	defer c.close()
	for {
		m := c.until("frame")
		if chat, ops := frameOf(t, m); chat == made.Chat {
			stale.apply(ops)
			break
		}
	}
	want, _ := h.page(made.Chat)
	if got, want := stale.serial(), want.serial(); got != want {
		t.Error(difference(got, want))
	}
}

// TestStalledFollower: one that reads nothing is closed; the others go on, and
// its feed keeps no more than its tail.
func TestStalledFollower(t *testing.T) {
	h := newHouse(t, Options{Write: time.Second, Gap: func() time.Duration { return 0 }, Tail: 64 << 10})
	ann := h.human("ann")
	made := h.chat(ann, "hello")
	h.append(made.Chat, round(made.Reply, 1))
	path := fmt.Sprintf("/events?chat=%s&after=%d", made.Chat, h.log.Head())
	api := h.get(ann, "/api/v1/chats/"+made.Chat+"/events?after=0", "")
	defer api.close()
	stalled := h.get(ann, path, "")
	defer stalled.close()
	good := h.get(ann, path, "")
	defer good.close()
	good.until("ping")
	eventually(t, "three handlers", func() bool { return h.open.Load() == 3 })
	big := strings.Repeat("many words and more of them ", 10_000)
	frames := 0
	for h.open.Load() > 1 { // until the two that do not read are gone
		h.append(made.Chat, events.MessageQueued{Message: fmt.Sprint("q", frames), Text: big}, events.MessageWithdrawn{Message: fmt.Sprint("q", frames-1)})
		m := good.until("frame")
		if chat, _ := frameOf(t, m); chat == made.Chat {
			frames++
		}
		if frames > 1000 {
			t.Fatal("the stalled ones stay")
		}
	}
	h.chunk(made, "the last")
	for m := good.until("frame"); !strings.Contains(m.data, "the last"); m = good.until("frame") {
	}
	h.hub.mu.Lock()
	f := h.hub.feeds[made.Chat]
	h.hub.mu.Unlock()
	f.tail.mu.Lock()
	defer f.tail.mu.Unlock()
	if f.tail.size > 64<<10+len(big)*4 {
		t.Errorf("the tail has %d bytes", f.tail.size)
	}
	if len(f.tail.wakers) != 1 {
		t.Errorf("%d followers are waited for", len(f.tail.wakers))
	}
}

// TestFeedsEnd: with its last follower a feed ends, after its grace.
func TestFeedsEnd(t *testing.T) {
	h := newHouse(t, Options{Grace: time.Millisecond})
	ann := h.human("ann")
	made := h.chat(ann, "hello")
	c := h.get(ann, "/events?chat="+made.Chat, "")
	c.until("ping")
	c.close()
	eventually(t, "no feed and no person", func() bool {
		h.hub.mu.Lock()
		defer h.hub.mu.Unlock()
		return len(h.hub.feeds) == 0 && len(h.hub.people) == 0
	})
}

// TestSidebarFrames: what happens to a person's chats reaches their pages, and
// nobody else's: rows alone where the list stays, the list where it changes, a
// toast for an end.
func TestSidebarFrames(t *testing.T) {
	h := newHouse(t, Options{})
	ann, bob := h.human("ann"), h.human("bob")
	made := h.chat(ann, "hello")
	stranger := h.get(bob, "/events?after="+fmt.Sprint(h.log.Head()), "")
	defer stranger.close()
	c := h.get(ann, fmt.Sprintf("/events?after=%d", h.log.Head()), "")
	defer c.close()
	c.until("ping")
	stranger.until("ping")
	frame := func() (ops []Op) {
		for {
			if chat, ops := frameOf(t, c.until("frame")); chat == "" {
				return ops
			}
		}
	}
	pinned, title := true, "Better"
	_, err := h.PatchChat(t.Context(), ann.Caller, made.Chat, commands.PatchChat{Pinned: &pinned})
	h.ok(err)
	if ops := frame(); len(ops) != 1 || ops[0].Target != "side-tree" || !strings.Contains(*ops[0].HTML, "Pinned") {
		t.Errorf("pinned: %+v", ops)
	}
	_, err = h.PatchChat(t.Context(), ann.Caller, made.Chat, commands.PatchChat{Title: &title})
	h.ok(err)
	if ops := frame(); len(ops) != 1 || ops[0].Target != "c-"+made.Chat || !strings.Contains(*ops[0].HTML, "Better") {
		t.Errorf("renamed: %+v", ops)
	}
	h.chunk(made, "no news for a sidebar")
	h.finish(made, events.Failed)
	ops := frame()
	toast := ops[len(ops)-1]
	if toast.Op != "toast" || *toast.Text != "Reply failed in “Better”" || toast.Key != made.Reply || toast.Href != "/chat/"+made.Chat {
		t.Errorf("ended: %+v", toast)
	}
	_, err = h.DeleteChat(t.Context(), ann.Caller, made.Chat)
	h.ok(err)
	if ops := frame(); len(ops) != 1 || strings.Contains(*ops[0].HTML, "Better") {
		t.Errorf("deleted: %+v", ops)
	}
	h.chat(bob, "of bob")
	if m := stranger.until("frame"); strings.Contains(m.data, "Better") || !strings.Contains(m.data, "of bob") {
		t.Errorf("bob's first frame is %s", m.data)
	}
}

// TestSidebarAfterABreak: a connection that is continued gets the whole list,
// one that begins at the page's cursor nothing.
func TestSidebarAfterABreak(t *testing.T) {
	h := newHouse(t, Options{Ping: 20 * time.Millisecond})
	h.hub.Now = func() time.Time { return time.Now().Add(time.Hour) } // what changed did so long ago
	ann := h.human("ann")
	h.chat(ann, "one")
	cur := cursor(h.log.Epoch(), h.log.Head())
	c := h.get(ann, "/events?after="+cur, "")
	if m, _ := c.next(); m.event != "ping" {
		t.Errorf("a page at its cursor got %+v", m)
	}
	c.close()
	h.chat(ann, "two")
	c = h.get(ann, "/events?after="+cur, cur)
	defer c.close()
	if _, ops := frameOf(t, c.until("frame")); ops[0].Target != "side-tree" || !strings.Contains(*ops[0].HTML, "two") {
		t.Errorf("got %+v", ops)
	}
}

// TestDeletedChatOfAPage: its tab is told, the stream goes on.
func TestDeletedChatOfAPage(t *testing.T) {
	h := newHouse(t, Options{Ping: 20 * time.Millisecond})
	ann := h.human("ann")
	made, other := h.chat(ann, "one"), h.chat(ann, "two")
	c := h.get(ann, fmt.Sprintf("/events?after=%d&chat=%s&chat=%s", h.log.Head(), made.Chat, other.Chat), "")
	defer c.close()
	c.until("ping")
	_, err := h.DeleteChat(t.Context(), ann.Caller, made.Chat)
	h.ok(err)
	for {
		chat, ops := frameOf(t, c.until("frame"))
		if chat == made.Chat {
			if ops[0].Op != "toast" || *ops[0].Text != "This chat was deleted." {
				t.Errorf("got %+v", ops)
			}
			break
		}
	}
	h.append(other.Chat, round(other.Reply, 1))
	h.chunk(other, "goes on")
	for m := c.until("frame"); !strings.Contains(m.data, "goes on"); m = c.until("frame") {
	}
}
