package generation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/oklog/ulid/v2"

	"lembas/commands"
	"lembas/commands/llm"
	"lembas/events"
	"lembas/events/store"
	"lembas/projections/transcript"
)

// secrets and blobs in memory.
type secrets struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *secrets) Seal(name string, b []byte) (events.Put, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[name] = b
	return events.Put{Space: "vault", Key: []byte(name), Value: []byte("sealed")}, nil
}

func (s *secrets) Open(name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.m[name]
	if !ok {
		return nil, events.ErrNotFound
	}
	return b, nil
}

type blobs struct{ m map[string][]byte }

func (b blobs) Put(data []byte) (events.BlobRef, events.Put, error) {
	h := sha256.Sum256(data)
	d := hex.EncodeToString(h[:])
	b.m[d] = data
	return events.BlobRef{Digest: d, Size: int64(len(data))}, events.Put{Space: "blob", Key: h[:], Value: data}, nil
}

func (b blobs) Get(d string) ([]byte, error) { return b.m[d], nil }

// world is a log, a service, a loop and an endpoint that a test scripts.
type world struct {
	t       *testing.T
	log     *store.Store
	service *commands.Service
	loop    *Loop
	ann     commands.Caller

	mu     sync.Mutex
	asked  []map[string]any
	answer func(n int, w http.ResponseWriter, r *http.Request)
}

func newWorld(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *world {
	t.Helper()
	log, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, log: log, answer: answer}
	endpoint := httptest.NewServer(w)
	newID := func() string { return ulid.Make().String() }
	w.service = &commands.Service{Log: log, Secrets: &secrets{m: map[string][]byte{}}, Now: time.Now, NewID: newID,
		Passwords: commands.NewArgon(), Discover: func(context.Context, string, string) ([]commands.Discovered, error) {
			return []commands.Discovered{{Name: "m", ContextLength: 1000}}, nil
		}}
	w.loop = &Loop{Service: w.service, Log: log, HTTP: llm.NewHTTP(), Blobs: blobs{m: map[string][]byte{}}, Now: time.Now,
		NewID: newID, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Retry: llm.Retry{Max: 2, Base: time.Millisecond}}
	w.service.Stopper = w.loop
	t.Cleanup(func() {
		endpoint.CloseClientConnections()
		endpoint.Close()
		w.loop.HTTP.CloseIdleConnections()
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := t.Context()
	must(t, w.service.Open(ctx, "test"))
	r, _, err := w.service.Register(ctx, commands.Caller{}, commands.Register{Email: "ann@example.test", Password: "correct horse"})
	must(t, err)
	w.ann = commands.Caller{User: r.User}
	name, url, key := "fake", endpoint.URL+"/v1", "sk-secret-key"
	c, _, err := w.service.CreateConnection(ctx, w.ann, commands.PatchConnection{Name: &name, BaseURL: &url, APIKey: &key})
	must(t, err)
	if trouble, err := w.service.RefreshConnection(ctx, w.ann, c.ID); err != nil || trouble != "" {
		t.Fatal(trouble, err)
	}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.t.Error(err)
	}
	if turns, _ := body["messages"].([]any); len(turns) > 0 {
		if last, _ := turns[len(turns)-1].(map[string]any); last["role"] == "tool" {
			r.Header.Set("Had-Results", "yes") // for scripts that answer by what they were told
		}
	}
	w.mu.Lock()
	w.asked = append(w.asked, body)
	n := len(w.asked)
	w.mu.Unlock()
	w.answer(n, rw, r)
}

func (w *world) requests() []map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// stream writes pieces of content as a reply that ends well.
func stream(rw http.ResponseWriter, pieces ...string) {
	piece(rw, pieces...)
	_, _ = fmt.Fprint(rw, `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`+"\n\ndata: [DONE]\n\n")
}

func piece(rw http.ResponseWriter, pieces ...string) {
	rw.Header().Set("Content-Type", "text/event-stream")
	for _, p := range pieces {
		b, _ := json.Marshal(p)
		_, _ = fmt.Fprintf(rw, `data: {"choices":[{"delta":{"content":%s}}]}`+"\n\n", b)
		rw.(http.Flusher).Flush()
	}
}

func (w *world) chat(text string) commands.Created {
	w.t.Helper()
	c, _, err := w.service.CreateChat(w.t.Context(), w.ann, commands.CreateChat{Text: text})
	must(w.t, err)
	return c
}

// handle runs the loop for the newest reply.requested of a chat.
func (w *world) handle(ctx context.Context, chat string) error {
	w.t.Helper()
	env := w.last(chat, "reply.requested")
	return w.loop.Handle(ctx, &env)
}

func (w *world) events(chat string) []events.Envelope {
	w.t.Helper()
	var out []events.Envelope
	for e, err := range w.log.ReadStream(context.Background(), events.ChatStream(chat), 0) {
		must(w.t, err)
		out = append(out, e)
	}
	return out
}

func (w *world) last(chat, typ string) events.Envelope {
	w.t.Helper()
	all := w.events(chat)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Type == typ {
			return all[i]
		}
	}
	w.t.Fatalf("no %s in the chat", typ)
	return events.Envelope{}
}

// types gives the types of a chat's events, runs of chunks as one.
func (w *world) types(chat string) []string {
	var out []string
	for _, e := range w.events(chat) {
		if e.Type == "reply.chunk" && len(out) > 0 && out[len(out)-1] == e.Type {
			continue
		}
		out = append(out, e.Type)
	}
	return out
}

// replyOf is the reply to the last turn of a chat.
func (w *world) replyOf(chat string) *transcript.Reply {
	w.t.Helper()
	var id string
	must(w.t, w.service.WithChat(w.t.Context(), chat, func(c *transcript.Chat) error {
		id = c.Last().Reply().ID
		return nil
	}))
	return w.reply(chat, id)
}

func (w *world) reply(chat, reply string) *transcript.Reply {
	w.t.Helper()
	var out *transcript.Reply
	must(w.t, w.service.WithChat(w.t.Context(), chat, func(c *transcript.Chat) error {
		_, r := c.Reply(reply)
		if r == nil {
			return errors.New("no such reply")
		}
		cp := *r
		out = &cp
		return nil
	}))
	return out
}

// until waits until the chat's stream has an event that pleases.
func (w *world) until(chat string, pleases func(events.Envelope) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	var at events.Position
	for {
		for e, err := range w.log.ReadStream(ctx, events.ChatStream(chat), at) {
			must(w.t, err)
			at = e.Position
			if pleases(e) {
				return
			}
		}
		must(w.t, w.log.WaitStream(ctx, events.ChatStream(chat), at))
	}
}

func ofType(typ string) func(events.Envelope) bool {
	return func(e events.Envelope) bool { return e.Type == typ }
}
