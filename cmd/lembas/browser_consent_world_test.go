package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"lembas/events"
)

// court is a world in which replies act: a model that calls what the test says
// and when, and tools of the test that write down what was asked of them.
type court struct {
	*world
	stage *stage
	mill  *mill
}

// newCourt has fetch (whose address may be corrected), post (write) and strike
// (execute); each asks.
func newCourt(t testing.TB) *court {
	t.Helper()
	c := &court{world: newWorld(t), stage: newStage(t), mill: newMill(t)}
	c.connect(t, "Stage", c.stage.url)
	c.admin.want(200, "PATCH", "/api/v1/settings", map[string]any{"fetch.private": true, "tools.ask": []string{"read", "write", "execute"}})
	for slug, risk := range map[string]string{"post": "write", "strike": "execute"} {
		c.admin.want(201, "POST", "/api/v1/tools", map[string]any{"slug": slug, "label": map[string]string{"post": "Post a letter", "strike": "Strike the bell"}[slug],
			"description": "Does it.", "risk": risk, "method": "POST", "url": c.mill.URL + "/" + slug, "body": `{"what":"{{what}}"}`, "enabled": true, "timeout": 30,
			"parameters": []any{map[string]any{"name": "what", "type": "string", "required": true}}})
	}
	models, _ := c.admin.want(200, "GET", "/api/v1/models", nil)["items"].([]any)
	for _, m := range models {
		if m := m.(map[string]any); m["name"] == "stage" {
			c.admin.want(200, "PATCH", "/api/v1/models/"+text(m["id"]), map[string]any{"tools": true})
		}
	}
	return c
}

// mill writes down each request as PATH, or PATH WHAT.
type mill struct {
	*httptest.Server
	mu   sync.Mutex // guards seen
	seen []string
}

func newMill(t testing.TB) *mill {
	t.Helper()
	h := &mill{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ What string }
		line := r.URL.RequestURI()
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Errorf("a tool sent no JSON: %v", err)
			}
			line += " " + in.What
		}
		h.mu.Lock()
		h.seen = append(h.seen, line)
		h.mu.Unlock()
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "done: "+line)
	}))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return h
}

// ran are the requests that have a mark in them, in their order.
func (h *mill) ran(mark string) (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.seen {
		if strings.Contains(s, mark) {
			out = append(out, s)
		}
	}
	return out
}

// stage is an endpoint with one model, each of whose rounds is said by the test.
type stage struct {
	url  string
	cues chan *cue
}

// cue is one request that waits for what the model is to do.
type cue struct {
	t    testing.TB
	body []byte
	out  chan map[string]any // the one choice of the answer
}

func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{cues: make(chan *cue, 32)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"stage","object":"model"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the asker has left
		}
		c := &cue{t: t, body: body, out: make(chan map[string]any, 1)}
		if strings.Contains(string(body), "Give a title") {
			c.end("A title")
		} else {
			s.cues <- c
		}
		select {
		case choice := <-c.out:
			b, err := json.Marshal(map[string]any{"id": "s", "object": "chat.completion.chunk", "choices": []any{choice}})
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", b)
		case <-r.Context().Done():
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	s.url = server.URL + "/v1"
	return s
}

// next waits for the model to be asked.
func (s *stage) next(t testing.TB) *cue {
	t.Helper()
	select {
	case c := <-s.cues:
		c.t = t
		return c
	case <-time.After(patience):
		t.Fatal("the model was not asked")
		return nil
	}
}

// clear forgets requests that a test before left unanswered.
func (s *stage) clear() {
	for {
		select {
		case <-s.cues:
		default:
			return
		}
	}
}

// end answers in words; the reply is over.
func (c *cue) end(words string) {
	c.out <- map[string]any{"index": 0, "delta": map[string]any{"content": words}, "finish_reason": "stop"}
}

// wish is a call that the model makes.
type wish struct {
	name string
	args map[string]any
}

// calls ends the round with calls.
func (c *cue) calls(all ...wish) {
	c.t.Helper()
	var list []any
	for i, w := range all {
		args, err := json.Marshal(w.args)
		must(c.t, err)
		list = append(list, map[string]any{"index": i, "id": fmt.Sprint("call-", w.name, "-", i), "type": "function", "function": map[string]any{"name": w.name, "arguments": string(args)}})
	}
	c.out <- map[string]any{"index": 0, "delta": map[string]any{"tool_calls": list}, "finish_reason": "tool_calls"}
}

func (c *court) fetches(mark string) wish {
	return wish{"fetch", map[string]any{"url": c.mill.URL + "/" + mark}}
}

func posts(what string) wish   { return wish{"post", map[string]any{"what": what}} }
func strikes(what string) wish { return wish{"strike", map[string]any{"what": what}} }

// asks makes an ask_user call; a question with | has options.
func asks(questions ...string) wish {
	var all []any
	for _, q := range questions {
		parts := strings.Split(q, "|")
		one := map[string]any{"question": parts[0]}
		if len(parts) > 1 {
			one["options"] = parts[1:]
		}
		all = append(all, one)
	}
	return wish{"ask_user", map[string]any{"questions": all}}
}

// card shows a chat whose reply waits on a card with these calls.
func (c *court) card(t testing.TB, calls ...wish) (p *tab, chat string) {
	t.Helper()
	chat = c.chat("stage", "act")
	p = c.at(t, chat)
	p.live()
	c.stage.next(t).calls(calls...)
	p.until(waitingCard)
	return p, chat
}

// waitingCard is the card of the page that waits, in the page's language.
const waitingCard = `document.querySelector('.card[data-state=waiting]')`

// item is the selector of an item of the card, from 1.
func item(n int) string { return fmt.Sprintf(`.card .card-item:nth-child(%d)`, n) }

// record waits until no card waits and gives the record's words, opened.
func (p *tab) record() string {
	p.t.Helper()
	p.until(`!` + waitingCard + ` && document.querySelector('.record')`)
	return value[string](p, `(all => { const r = all[all.length - 1], was = r.open; r.open = true; const words = r.innerText; r.open = was; return words })(document.querySelectorAll('.record'))`)
}

// answered are the answers that the log has for a chat's cards.
func (s *server) answered(chat string) (out []events.ConsentAnswered) {
	s.t.Helper()
	for _, env := range s.stored(chat) {
		if env.Type == "consent.answered" {
			var p events.ConsentAnswered
			must(s.t, json.Unmarshal(env.Data, &p))
			out = append(out, p)
		}
	}
	return out
}

// tells reports each of the words that is not in a text.
func tells(t testing.TB, what, in string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(in, w) {
			t.Errorf("%s does not say %q:\n%s", what, w, in)
		}
	}
}

// tree is what a screen reader is given of the page: each node that is not
// ignored, as "role: name".
func (p *tab) tree() (out []string) {
	p.t.Helper()
	for _, n := range p.nodes() {
		if !n.Ignored && n.Role != nil && n.Name != nil {
			out = append(out, axText(n.Role)+": "+axText(n.Name))
		}
	}
	return out
}

func (p *tab) nodes() (out []*accessibility.Node) {
	p.t.Helper()
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		r, err := cdp.Call(ctx, target, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		out = r.Nodes
		return chromedp.Void{}, err
	})
	return out
}

func axText(v *accessibility.Value) (s string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &s) // another kind of value says nothing
	}
	return s
}
