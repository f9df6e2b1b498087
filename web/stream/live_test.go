package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/oklog/ulid/v2"

	"lembas/commands"
	"lembas/events"
	"lembas/events/store"
	"lembas/projections/transcript"
	"lembas/web/pages/view"
	"lembas/web/request"
)

// plain is a vault and a hasher that cost nothing.
type plain struct{ m sync.Map }

func (p *plain) Seal(name string, b []byte) (events.Put, error) {
	p.m.Store(name, string(b))
	return events.Put{Space: "vault", Key: []byte(name), Value: []byte("sealed")}, nil
}

func (p *plain) Open(name string) ([]byte, error) {
	if v, ok := p.m.Load(name); ok {
		return []byte(v.(string)), nil
	}
	return nil, events.ErrNotFound
}

func (*plain) Hash(_ context.Context, p string) (string, error)    { return "h:" + p, nil }
func (*plain) Verify(_ context.Context, h, p string) (bool, error) { return h == "h:"+p, nil }

// house is a server with streams alone, over a log in memory.
type house struct {
	*commands.Service
	t    testing.TB
	log  *store.Store
	hub  *Hub
	http *httptest.Server
	look *look
	open atomic.Int64 // handlers that run
}

func newHouse(t testing.TB, o Options) *house {
	t.Helper()
	log, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	secrets := &plain{}
	h := &house{t: t, log: log, look: newLook(t)}
	h.Service = &commands.Service{Log: log, Secrets: secrets, Passwords: secrets, Now: time.Now,
		NewID: func() string { return ulid.Make().String() },
		Discover: func(context.Context, string, string) ([]commands.Discovered, error) {
			return []commands.Discovered{{Name: "mellon-7b"}}, nil
		}}
	h.ok(h.Open(t.Context(), "test"))
	h.hub = &Hub{Log: log, Users: h.Service, Chats: h.Service, Sidebar: sidebar{h}, Views: h.look.views, Parts: h.look.parts,
		Now: time.Now, Slog: slog.New(slog.DiscardHandler), Options: o}
	h.hub.Open()
	front := &request.Front{Auth: h.Service, Log: h.hub.Slog, NewID: h.NewID}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /events", front.Handle(h.hub.Page))
	mux.HandleFunc("GET /api/v1/events", front.Handle(h.hub.Events))
	mux.HandleFunc("GET /api/v1/chats/{id}/events", front.Handle(h.hub.ChatEvents))
	inner := front.Middleware(mux)
	h.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.open.Add(1)
		defer h.open.Add(-1)
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		h.hub.Close()
		h.http.CloseClientConnections()
		h.http.Close()
		h.ok(log.Close())
	})
	return h
}

func (h *house) ok(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// human is a person with a session.
type human struct {
	commands.Caller
	cookie string
}

func (h *house) human(name string) human {
	h.t.Helper()
	r, _, err := h.Register(h.t.Context(), commands.Caller{}, commands.Register{Email: name + "@example.org", Name: name, Password: "correct horse"})
	h.ok(err)
	c := commands.Caller{User: r.User, Admin: r.Admin}
	cookie, id, err := h.OpenSession(h.t.Context(), c, "test")
	h.ok(err)
	c.Session = id.Session
	if r.Admin {
		n, u := "local", "http://127.0.0.1:9/v1"
		made, _, err := h.CreateConnection(h.t.Context(), c, commands.PatchConnection{Name: &n, BaseURL: &u})
		h.ok(err)
		_, err = h.RefreshConnection(h.t.Context(), c, made.ID)
		h.ok(err)
	}
	return human{c, cookie}
}

func (h *house) chat(who human, text string) commands.Created {
	h.t.Helper()
	made, _, err := h.CreateChat(h.t.Context(), who.Caller, commands.CreateChat{Text: text})
	h.ok(err)
	return made
}

// append writes what the loop writes.
func (h *house) append(chat string, payloads ...events.Payload) {
	var list []events.New
	for _, p := range payloads {
		list = append(list, events.New{Payload: p})
	}
	_, err := h.log.Append(context.Background(), events.Batch{Actor: events.Actor{Kind: events.Model, ID: "m"},
		Parts: []events.Part{{Stream: events.ChatStream(chat), Events: list}}})
	if err != nil {
		h.t.Error(err)
	}
}

func (h *house) chunk(made commands.Created, words string) {
	h.append(made.Chat, events.ReplyChunk{Reply: made.Reply, Round: 1, Kind: events.ChunkContent, Text: words, Cuts: [][2]int64{{0, 1}}})
}

func (h *house) finish(made commands.Created, status string) {
	h.append(made.Chat, events.ReplyFinished{Reply: made.Reply, Status: status})
}

// events of a stream after a position.
func (h *house) stored(stream string, after events.Position) (out []events.Envelope) {
	h.t.Helper()
	for e, err := range h.log.ReadStream(context.Background(), stream, after) {
		h.ok(err)
		out = append(out, e)
	}
	return out
}

// sidebar is the read model as a scan of the log.
type sidebar struct{ h *house }

func (sidebar) Wait(context.Context, events.Position) error { return nil }

func (s sidebar) Owner(ctx context.Context, chat string) (owner string, err error) {
	err = s.h.WithChat(ctx, chat, func(c *transcript.Chat) error { owner = c.Owner; return nil })
	return owner, err
}

func (s sidebar) List(ctx context.Context, user string, _ int, _ string) (rows []view.Row, next string, at events.Position, err error) {
	at = s.h.log.Head()
	chats := map[string]bool{}
	for e, err := range s.h.log.Read(ctx, 0) {
		if err != nil {
			return nil, "", 0, err
		}
		if e.Type == "chat.created" {
			chats[strings.TrimPrefix(e.Stream, "chat/")] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(chats)) {
		err = s.h.WithChat(ctx, id, func(c *transcript.Chat) error {
			if c.Owner == user && !c.Deleted {
				rows = append(rows, view.Row{ID: id, Title: c.Title, Updated: c.Updated, Pinned: c.Pinned, Folder: c.Folder})
			}
			return nil
		})
		if err != nil {
			return nil, "", 0, err
		}
	}
	return rows, "", at, nil
}

// message is one event of a stream as a client reads it.
type message struct{ event, id, data string }

// client reads an event stream.
type client struct {
	t    testing.TB
	resp *http.Response
	r    *bufio.Reader
	stop context.CancelFunc
}

func (h *house) get(who human, path, lastID string) *client {
	h.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	r, err := http.NewRequestWithContext(ctx, "GET", h.http.URL+path, nil)
	h.ok(err)
	r.AddCookie(&http.Cookie{Name: "lembas_session", Value: who.cookie})
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := h.http.Client().Do(r)
	if err != nil {
		stop()
		h.t.Fatal(err)
	}
	return &client{h.t, resp, bufio.NewReader(resp.Body), stop}
}

func (c *client) close() {
	c.stop()
	c.resp.Body.Close()
}

// next reads one event, also a control event; false at the end of the stream.
func (c *client) next() (m message, ok bool) {
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return m, false
		}
		line = strings.TrimSuffix(line, "\n")
		field, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && m.event != "":
			return m, true
		case field == "event":
			m.event = value
		case field == "id":
			m.id = value
		case field == "data":
			m.data += value
		}
	}
}

// until reads up to an event of a kind.
func (c *client) until(event string) message {
	c.t.Helper()
	for {
		m, ok := c.next()
		if !ok {
			c.t.Fatalf("the stream ended before %q", event)
		}
		if m.event == event {
			return m
		}
	}
}

func at(id string) (p events.Position) {
	_, number, _ := strings.Cut(id, ".")
	fmt.Sscan(number, &p)
	return p
}

// eventually polls without a clock of its own: the test's deadline ends it.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("never: %s", what)
		}
	}
}

// body of a frame.
func frameOf(t testing.TB, m message) (chat string, ops []Op) {
	t.Helper()
	var f struct {
		Chat string
		Ops  []Op
	}
	if err := json.Unmarshal([]byte(m.data), &f); err != nil {
		t.Fatalf("%v in %s", err, m.data)
	}
	return f.Chat, f.Ops
}
