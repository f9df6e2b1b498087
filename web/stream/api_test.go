package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sse "github.com/r3labs/sse/v2"

	"lembas/commands"
	"lembas/events"
)

// TestFollowersThatDropSeeEveryEventOnce: a hundred followers drop at random
// and come back with the id they saw last; each sees every event of the chat
// once, in order, also those from before it came.
func TestFollowersThatDropSeeEveryEventOnce(t *testing.T) {
	h := newHouse(t, Options{})
	ann := h.human("ann")
	made := h.chat(ann, "hello")
	other := h.chat(ann, "noise")
	var group sync.WaitGroup
	group.Go(func() {
		for i := range 300 {
			h.chunk(made, fmt.Sprint("word ", i, "\n"))
			h.chunk(other, "noise")
		}
		h.finish(made, events.Complete)
	})
	seen := make([][]events.Position, 100)
	for i := range seen {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 5))
			last := ""
			for done := false; !done; {
				c := h.get(ann, "/api/v1/chats/"+made.Chat+"/events?after=0", last)
				for n := 1 + random.IntN(120); n > 0 && !done; n-- {
					m, ok := c.next()
					if !ok {
						break
					}
					if m.id == "" {
						continue
					}
					last = m.id
					seen[i] = append(seen[i], at(m.id))
					done = m.event == "reply.finished"
				}
				c.close()
			}
		})
	}
	group.Wait()
	var want []events.Position
	for _, e := range h.stored(events.ChatStream(made.Chat), 0) {
		want = append(want, e.Position)
	}
	for i, got := range seen {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("follower %d saw %d events, not %d, or in another order", i, len(got), len(want))
		}
	}
}

// TestEventsOfSeveralStreams: the person's own stream and two chats, in the
// order of the log, without what is private in it, and of the other chats what
// changes their rows, of nobody else's anything.
func TestEventsOfSeveralStreams(t *testing.T) {
	h := newHouse(t, Options{})
	ann := h.human("ann")
	a, b := h.chat(ann, "a"), h.chat(ann, "b")
	other := h.chat(ann, "not followed")
	bob := h.human("bob")
	foreign := h.chat(bob, "not ann's")
	name := "Folder"
	_, _, err := h.CreateFolder(t.Context(), ann.Caller, commands.PatchFolder{Name: &name})
	h.ok(err)
	c := h.get(ann, "/api/v1/events?chat="+a.Chat+"&chat="+b.Chat+"&after=0", "")
	defer c.close()
	var got []string
	var last events.Position
	for len(got) < 8 {
		m, ok := c.next()
		if !ok {
			t.Fatal("the stream ended")
		}
		if m.id == "" {
			continue
		}
		if at(m.id) <= last {
			t.Errorf("%s after %d", m.id, last)
		}
		last = at(m.id)
		got = append(got, m.event)
	}
	if want := "chat.created message.submitted reply.requested chat.created message.submitted reply.requested chat.created folder.created"; strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
	h.chunk(b, "later")
	if m := c.until("reply.chunk"); !strings.Contains(m.data, `"text":"later"`) {
		t.Errorf("got %s", m.data)
	}
	h.chunk(other, "not for this stream")
	title := "Renamed"
	_, err = h.PatchChat(t.Context(), bob.Caller, foreign.Chat, commands.PatchChat{Title: &title})
	h.ok(err)
	_, err = h.PatchChat(t.Context(), ann.Caller, other.Chat, commands.PatchChat{Title: &title})
	h.ok(err)
	_, err = h.DeleteChat(t.Context(), ann.Caller, other.Chat)
	h.ok(err)
	h.chunk(b, "last") // the deletion of a chat that is not followed ends nothing
	got = nil
	for len(got) < 4 {
		if m, ok := c.next(); !ok {
			t.Fatal("the stream ended")
		} else if m.id != "" {
			got = append(got, m.event)
			if strings.Contains(m.data, foreign.Chat) {
				t.Errorf("another person's %s", m.data)
			}
		}
	}
	if want := "chat.renamed reply.finished chat.deleted reply.chunk"; strings.Join(got, " ") != want {
		t.Errorf("then %v", got)
	}
}

// TestStoredEvents: NDJSON of what there is, envelope by envelope.
func TestStoredEvents(t *testing.T) {
	h := newHouse(t, Options{})
	ann := h.human("ann")
	made := h.chat(ann, "hello")
	h.chunk(made, "two\nlines")
	r, err := http.NewRequest("GET", h.http.URL+"/api/v1/chats/"+made.Chat+"/events?follow=0", nil)
	h.ok(err)
	r.Header.Set("Accept", "application/x-ndjson")
	r.AddCookie(&http.Cookie{Name: "lembas_session", Value: ann.cookie})
	resp, err := h.http.Client().Do(r)
	h.ok(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	h.ok(err)
	lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	want := h.stored(events.ChatStream(made.Chat), 0)
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d: %s", len(lines), len(want), body)
	}
	for i, line := range lines {
		var e events.Envelope
		h.ok(json.Unmarshal([]byte(line), &e))
		if e.Position != want[i].Position || string(e.AppendJSON(nil)) != line {
			t.Errorf("line %d is %s", i, line)
		}
	}
}

// TestCursors: a bare position and a cursor, Last-Event-ID before after, and
// what cannot be used is one reset with status 200.
func TestCursors(t *testing.T) {
	h := newHouse(t, Options{})
	ann := h.human("ann")
	made := h.chat(ann, "hello")
	all := h.stored(events.ChatStream(made.Chat), 0)
	second := all[1].Position
	cases := []struct{ name, after, last, event, reason string }{
		{"bare", fmt.Sprint(second), "", "reply.requested", ""},
		{"cursor", fmt.Sprint(h.log.Epoch(), ".", second), "", "reply.requested", ""},
		{"last wins", "0", fmt.Sprint(h.log.Epoch(), ".", second), "reply.requested", ""},
		{"last wins also when it is bad", "0", "nonsense", "reset", "bad"},
		{"none", "", "", "chat.created", ""},
		{"foreign", "someone." + fmt.Sprint(second), "", "reset", "foreign"},
		{"future", fmt.Sprint(h.log.Epoch(), ".", h.log.Head()+1), "", "reset", "future"},
		{"negative", "-1", "", "reset", "bad"},
		{"huge", "99999999999999999999999", "", "reset", "bad"},
	}
	for _, x := range cases {
		for _, path := range []string{"/api/v1/chats/" + made.Chat + "/events?after=" + x.after, "/events?chat=" + made.Chat + "&after=" + x.after} {
			if strings.HasPrefix(path, "/events") && x.reason == "" {
				continue // pages: their own tests
			}
			t.Run(x.name+" "+path[:5], func(t *testing.T) {
				c := h.get(ann, path, x.last)
				defer c.close()
				m, _ := c.next()
				if m.event != x.event || c.resp.StatusCode != http.StatusOK {
					t.Fatalf("status %d, first %+v", c.resp.StatusCode, m)
				}
				if x.reason == "" {
					return
				}
				if want := `{"reason":"` + x.reason + `"}`; m.data != want || m.id != "" {
					t.Errorf("got %+v, want %s", m, want)
				}
				if m, ok := c.next(); ok {
					t.Errorf("after the reset came %+v", m)
				}
			})
		}
	}
}

// TestPings: a first one when what was stored has been sent, then again and
// again, with the head's position and no id.
func TestPings(t *testing.T) {
	h := newHouse(t, Options{Ping: 20 * time.Millisecond})
	ann := h.human("ann")
	made := h.chat(ann, "hello")
	for _, path := range []string{"/api/v1/chats/" + made.Chat + "/events?after=0", "/events?chat=" + made.Chat} {
		c := h.get(ann, path, "")
		for range 3 {
			m := c.until("ping")
			if want := fmt.Sprintf(`{"position":%d}`, h.log.Head()); m.data != want || m.id != "" {
				t.Errorf("%s: ping %+v, want %s", path, m, want)
			}
		}
		c.close()
	}
	for k, want := range map[string]string{"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
		c := h.get(ann, "/events", "")
		if got := c.resp.Header.Get(k); got != want {
			t.Errorf("%s is %q, want %q", k, got, want)
		}
		c.close()
	}
}

// TestEnds: whatever takes a reader's right away ends the streams at once and
// says why.
func TestEnds(t *testing.T) {
	yes := true
	ends := []struct {
		name, reason string
		page         bool // whether it ends page streams, too
		do           func(h *house, ann, admin human, chat string) error
	}{
		{"signed out", endSignedOut, true, func(h *house, ann, _ human, _ string) error {
			_, err := h.RevokeSession(context.Background(), ann.Caller, ann.Session, "signed_out")
			return err
		}},
		{"password changed elsewhere", endSignedOut, true, func(h *house, ann, _ human, _ string) error {
			c := ann.Caller
			c.Session = ""
			return h.SetPassword(context.Background(), c, ann.User, "another horse")
		}},
		{"disabled", endSignedOut, true, func(h *house, ann, admin human, _ string) error {
			_, err := h.ChangeUser(context.Background(), admin.Caller, ann.User, commands.ChangeUser{Disabled: &yes})
			return err
		}},
		{"deleted", endDeleted, false, func(h *house, ann, _ human, chat string) error {
			_, err := h.DeleteChat(context.Background(), ann.Caller, chat)
			return err
		}},
		{"shut down", endShutdown, true, func(h *house, _, _ human, _ string) error { h.hub.Close(); return nil }},
	}
	for _, x := range ends {
		t.Run(x.name, func(t *testing.T) {
			h := newHouse(t, Options{Check: 20 * time.Millisecond})
			admin, ann := h.human("admin"), h.human("ann")
			made := h.chat(ann, "hello")
			paths := []string{"/api/v1/chats/" + made.Chat + "/events", "/api/v1/events?chat=" + made.Chat}
			if x.page {
				paths = append(paths, "/events?chat="+made.Chat)
			}
			var open []*client
			for _, path := range paths {
				c := h.get(ann, path, "")
				c.until("ping")
				open = append(open, c)
			}
			h.ok(x.do(h, ann, admin, made.Chat))
			for i, c := range open {
				if m := c.until("end"); m.data != `{"reason":"`+x.reason+`"}` || m.id != "" {
					t.Errorf("%s: %+v", paths[i], m)
				}
				if m, ok := c.next(); ok {
					t.Errorf("%s: after the end came %+v", paths[i], m)
				}
				c.close()
			}
		})
	}
}

// TestNoNewStreamsAfterTheEnd: they are told to come back.
func TestNoNewStreamsAfterTheEnd(t *testing.T) {
	h := newHouse(t, Options{})
	ann := h.human("ann")
	made := h.chat(ann, "hello")
	h.hub.Close()
	for _, path := range []string{"/api/v1/chats/" + made.Chat + "/events", "/api/v1/events", "/events?chat=" + made.Chat} {
		c := h.get(ann, path, "")
		if c.resp.StatusCode != http.StatusServiceUnavailable || c.resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d", path, c.resp.StatusCode)
		}
		c.close()
	}
}

// TestNoFeedBeginsAfterTheEnd: a request that was let in just before the end
// gets a feed that has failed, and no goroutine that nobody waits for.
func TestNoFeedBeginsAfterTheEnd(t *testing.T) {
	h := newHouse(t, Options{})
	made := h.chat(h.human("ann"), "hello")
	h.hub.Close()
	f := h.hub.enter(made.Chat)
	defer h.hub.leave(f)
	<-f.ready
	<-f.done
	if !errors.Is(f.failed, events.ErrClosed) {
		t.Errorf("got %v", f.failed)
	}
}

// TestLifetime: old connections end and may come again.
func TestLifetime(t *testing.T) {
	h := newHouse(t, Options{Lifetime: 30 * time.Millisecond})
	ann := h.human("ann")
	c := h.get(ann, "/events", "")
	defer c.close()
	if m := c.until("end"); m.data != `{"reason":"lifetime"}` {
		t.Errorf("got %+v", m)
	}
}

// TestNothingAfterTheRightIsGone: an event that was appended after a sign-out
// is never sent, even if nothing had noticed the sign-out yet.
func TestNothingAfterTheRightIsGone(t *testing.T) {
	h := newHouse(t, Options{Check: time.Hour})
	ann := h.human("ann")
	made := h.chat(ann, "hello")
	for _, path := range []string{"/api/v1/chats/" + made.Chat + "/events", "/events?chat=" + made.Chat} {
		c := h.get(ann, path, "")
		c.until("ping")
		defer c.close()
		defer func() {
			for m, ok := c.next(); ok; m, ok = c.next() {
				if strings.Contains(m.data, "secret") {
					t.Errorf("%s sent %+v", path, m)
				}
				if m.event == "end" {
					return
				}
			}
			t.Errorf("%s did not end", path)
		}()
	}
	_, err := h.RevokeSession(t.Context(), ann.Caller, ann.Session, "signed_out")
	h.ok(err)
	h.chunk(made, "secret")
}

// TestOthersChats are not found, and a page's stream leaves them out.
func TestOthersChats(t *testing.T) {
	h := newHouse(t, Options{})
	ann, bob := h.human("ann"), h.human("bob")
	made, own := h.chat(ann, "hello"), h.chat(bob, "mine")
	for _, path := range []string{"/api/v1/chats/" + made.Chat + "/events", "/api/v1/chats/none/events", "/api/v1/events?chat=" + made.Chat} {
		c := h.get(bob, path, "")
		if c.resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, c.resp.StatusCode)
		}
		c.close()
	}
	c := h.get(bob, "/events?chat="+made.Chat+"&chat=none&chat="+own.Chat, "")
	defer c.close()
	c.until("ping")
	h.chunk(made, "not for bob")
	h.chunk(own, "for bob")
	if m := c.until("frame"); strings.Contains(m.data, made.Chat) || !strings.Contains(m.data, own.Chat) {
		t.Errorf("got %+v", m)
	}
}

// TestSecondOpinion: another client library reads our stream as we mean it.
func TestSecondOpinion(t *testing.T) {
	h := newHouse(t, Options{Ping: 20 * time.Millisecond})
	ann := h.human("ann")
	made := h.chat(ann, "hello\r\n\r\ndata: no\n: no\nid: 7\n")
	h.chunk(made, "line\nline\r\n\x00 :")
	c := sse.NewClient(h.http.URL + "/api/v1/chats/" + made.Chat + "/events?after=0")
	c.Headers["Cookie"] = "lembas_session=" + ann.cookie
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	want := h.stored(events.ChatStream(made.Chat), 0)
	var got []*sse.Event
	pings := 0
	_ = c.SubscribeRawWithContext(ctx, func(m *sse.Event) {
		if string(m.Event) == "ping" {
			pings++
		} else if len(m.Event) > 0 {
			got = append(got, m)
		}
		if pings > 1 && len(got) == len(want) {
			cancel()
		}
	})
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i, m := range got {
		if string(m.Event) != want[i].Type || string(m.ID) != cursor(h.log.Epoch(), want[i].Position) || string(m.Data) != string(want[i].AppendJSON(nil)) {
			t.Errorf("event %d: %s %s %s", i, m.Event, m.ID, m.Data)
		}
	}
}
