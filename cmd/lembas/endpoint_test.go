package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"lembas/events"
)

// endpoint is an OpenAI-compatible endpoint with one model "m" that a test
// scripts. A request for a title gets one, and does not count.
type endpoint struct {
	*httptest.Server
	answer func(n int, w http.ResponseWriter, r *http.Request)

	mu    sync.Mutex // guards asked
	asked [][]byte
}

func newEndpoint(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *endpoint {
	e := &endpoint{answer: answer}
	e.Server = httptest.NewServer(e)
	t.Cleanup(func() {
		e.CloseClientConnections()
		e.Close()
	})
	return e
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model","context_length":1000}]}`)
		return
	}
	if r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body) // a broken request is asked for in the log
	if bytes.Contains(body, []byte("Give a title")) {
		says(w, "A title")
		ends(w)
		return
	}
	e.mu.Lock()
	e.asked = append(e.asked, body)
	n := len(e.asked)
	e.mu.Unlock()
	e.answer(n, w, r)
}

// count is how often the endpoint was asked for a reply.
func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.asked)
}

// says streams pieces of content, each at once.
func says(w http.ResponseWriter, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, p := range pieces {
		b, _ := json.Marshal(p) // text always encodes
		_, _ = fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":%s}}]}`+"\n\n", b)
		w.(http.Flusher).Flush()
	}
}

// ends finishes a reply as it should be.
func ends(w http.ResponseWriter) {
	_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`+"\n\ndata: [DONE]\n\n")
}

// connect adds the endpoint to the instance.
func (c *client) connect(e *endpoint, key string) {
	c.t.Helper()
	made := c.want(201, "POST", "/api/v1/connections", map[string]any{"name": "fake", "base_url": e.URL + "/v1", "api_key": key})
	if models, _ := made["models"].([]any); len(models) != 1 {
		c.t.Fatalf("connecting: %v", made)
	}
}

// ask begins a chat.
func (c *client) ask(model, message string) (chat, reply string) {
	c.t.Helper()
	made := c.want(201, "POST", "/api/v1/chats", map[string]any{"model": model, "text": message})
	return text(made["chat_id"]), text(made["reply_id"])
}

// until follows a chat until an event of a type.
func (c *client) until(chat, typ string) (out events.Envelope) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	found := false
	err := c.follow(ctx, chat, "0", func(e event) bool {
		if found = e.typ == typ; found {
			must(c.t, json.Unmarshal(e.data, &out))
		}
		return !found
	})
	if !found {
		c.t.Fatalf("waiting for %s: %v", typ, err)
	}
	return out
}

// transcript is a chat as the API shows it.
type shownChat struct {
	Title, Status string
	Messages      []shownMessage
	Queue         []map[string]any
}

type shownMessage struct {
	ID, Role, Status, Content, Reasoning string
	Error                                *events.RoundError
	Tools                                []map[string]any
	Metrics                              map[string]any
}

func (c *client) transcript(chat string) (out shownChat) {
	c.t.Helper()
	a := c.do("GET", "/api/v1/chats/"+chat, nil)
	if a.status != 200 {
		c.t.Fatalf("chat %s: %d %s", chat, a.status, a.body)
	}
	must(c.t, json.Unmarshal(a.body, &out))
	return out
}

// last is the reply that a chat shows last.
func (s shownChat) last() shownMessage { return s.Messages[len(s.Messages)-1] }
