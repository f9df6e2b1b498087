package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"lembas/cmd/lembas/demo"
)

// gate is an endpoint with one model, whose replies go as the test says: what
// happens in mid-reply happens there, however slow the machine is. It names
// chats by itself.
type gate struct {
	url   string
	calls chan *asked
}

// asked is one request that is being answered.
type asked struct {
	t    testing.TB
	body map[string]any
	said chan string
	gone chan struct{} // closed when the asker has left
}

func newGate(t testing.TB) *gate {
	t.Helper()
	g := &gate{calls: make(chan *asked, 32)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"gate","object":"model"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		c := &asked{t: t, said: make(chan string), gone: make(chan struct{})}
		defer close(c.gone)
		if err := json.NewDecoder(r.Body).Decode(&c.body); err != nil {
			t.Errorf("a request that is no JSON: %v", err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if first := c.turn(0); strings.HasPrefix(first, "Give a title") {
			c.chunk(w, map[string]any{"content": "On " + strings.Fields(c.turn(1))[1]}, "stop")
			return
		}
		g.calls <- c
		c.answer(w, r)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	g.url = s.URL + "/v1"
	return g
}

// turn is the text of the request's message i, counted from the end below 0.
func (c *asked) turn(i int) string {
	all, _ := c.body["messages"].([]any)
	if i < 0 {
		i += len(all)
	}
	if i < 0 || i >= len(all) {
		return ""
	}
	m, _ := all[i].(map[string]any)
	return text(m["content"])
}

func (c *asked) answer(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case words, more := <-c.said:
			if !more {
				c.chunk(w, map[string]any{}, "stop")
				_, _ = io.WriteString(w, "data: [DONE]\n\n")
				return
			}
			c.chunk(w, map[string]any{"content": words}, nil)
		case <-r.Context().Done():
			return
		}
	}
}

func (c *asked) chunk(w http.ResponseWriter, delta map[string]any, finish any) {
	b, err := json.Marshal(map[string]any{"id": "g", "object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
	if err != nil {
		c.t.Error(err)
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", b) // an asker that has left is no concern
	_ = http.NewResponseController(w).Flush()
}

// next waits for the next request.
func (g *gate) next(t testing.TB) *asked {
	t.Helper()
	select {
	case c := <-g.calls:
		return c
	case <-time.After(patience):
		t.Fatal("the endpoint was not asked")
		return nil
	}
}

// say sends words of the reply.
func (c *asked) say(words string) *asked {
	c.t.Helper()
	select {
	case c.said <- words:
	case <-c.gone:
		c.t.Fatalf("nobody is there any more for %q", words)
	case <-time.After(patience):
		c.t.Fatalf("nobody took %q", words)
	}
	return c
}

// end ends the reply well.
func (c *asked) end() { close(c.said) }

// left waits until the asker has broken the reply off.
func (c *asked) left() {
	c.t.Helper()
	select {
	case <-c.gone:
	case <-time.After(patience):
		c.t.Fatal("the request goes on")
	}
}

// world is a running product with an administrator, two endpoints (the gate and
// a fast demo), and a browser in which ann is signed in.
type world struct {
	*server
	gate  *gate
	admin *client
	ann   *client
	b     *profile
	demo  string // the demo's connection
}

const (
	annMail   = "ann@example.org"
	adminMail = "ada@example.org"
	password  = "correct horse battery"
)

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{server: serve(t, dataDir(t)), gate: newGate(t), b: newProfile(t)}
	w.admin = w.person(adminMail, true)
	w.connect(t, "Gate", w.gate.url)
	w.demo = w.connect(t, "Demo", startDemoAt(t, 8))
	w.ann = w.person(annMail, false)
	p := w.b.tab("")
	p.signIn(w.url, annMail)
	p.close()
	return w
}

// startDemoAt runs the scripted models in this process, so many times as fast
// as they usually are.
func startDemoAt(t testing.TB, pace float64) string {
	t.Helper()
	url, stop, err := demo.New(demo.Options{Pace: pace}).Start(context.Background())
	must(t, err)
	t.Cleanup(stop)
	return url
}

func (w *world) connect(t testing.TB, name, url string) (id string) {
	t.Helper()
	got := w.admin.want(201, "POST", "/api/v1/connections", map[string]any{"name": name, "base_url": url})
	if models, _ := got["models"].([]any); len(models) == 0 {
		t.Fatalf("%s has no models: %v", name, got)
	}
	return text(got["id"])
}

// chat makes a chat of ann's and gives its id.
func (w *world) chat(model, words string) string {
	w.t.Helper()
	return text(w.ann.want(201, "POST", "/api/v1/chats", map[string]any{"model": model, "text": words})["chat_id"])
}

// ended makes a chat whose reply has ended.
func (w *world) ended(t testing.TB, words, answer string) string {
	t.Helper()
	made := w.ann.want(201, "POST", "/api/v1/chats", map[string]any{"model": "gate", "text": words})
	w.gate.next(t).say(answer).end()
	w.ann.awaitEnd(text(made["chat_id"]), text(made["reply_id"]))
	return text(made["chat_id"])
}

// page opens a tab of the test's own at a path.
func (w *world) page(t testing.TB, path string) *tab {
	t.Helper()
	return w.tabWith(t, "", w.url+path)
}

// tabWith opens a tab of the test's own at an address, with a script that runs
// before those of each page.
func (w *world) tabWith(t testing.TB, before, url string) *tab {
	t.Helper()
	p := (&profile{t, w.b.ctx}).tab(before)
	p.size(1280, 800)
	p.open(url)
	return p
}

// at opens a tab of the test's own on a chat.
func (w *world) at(t testing.TB, chat string) *tab {
	t.Helper()
	return w.page(t, "/chat/"+chat)
}

// signIn signs in through the form.
func (p *tab) signIn(url, email string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url + "/auth/login"))
	p.until(`document.querySelector('input[name=password]')`)
	p.write(`input[name=email]`, email)
	p.write(`input[name=password]`, password+"\r")
	p.until(`document.querySelector('#composer') && 'ready' in document.documentElement.dataset`)
}

// newest is the last reply of the page, in the page's language.
const newest = `[...document.querySelectorAll('#log > [data-role=assistant]')].at(-1)`

// reads waits until the newest reply says exactly these words.
func (p *tab) reads(words string) {
	p.t.Helper()
	p.until(`[...` + newest + `.querySelectorAll('.round > .text')].map(e => e.innerText.trim()).filter(Boolean).join('|') === ` + quote(words))
}

// live waits until the page follows its stream.
func (p *tab) live() {
	p.t.Helper()
	p.until(`document.body.dataset.connection === 'live'`)
}

// choose takes an option of a select by its title, as its list does.
func (p *tab) choose(css, title string) {
	p.t.Helper()
	if !value[bool](p, fmt.Sprintf(`(s => { const o = [...s.options].find(o => o.textContent.trim().startsWith(%s)); if (!o) return false
		s.value = o.value; s.dispatchEvent(new Event('input', {bubbles: true})); s.dispatchEvent(new Event('change', {bubbles: true})); return true })(document.querySelector(%s))`, quote(title), quote(css))) {
		p.t.Fatalf("%s offers no %q", css, title)
	}
}

// middle is where the middle of an element is, after it was scrolled into view.
func (p *tab) middle(css string) (x, y float64) {
	p.t.Helper()
	p.until(`document.querySelector(` + quote(css) + `)?.getClientRects().length`)
	at := value[[]float64](p, `(e => { e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })(document.querySelector(`+quote(css)+`))`)
	return at[0], at[1]
}

// tap touches an element with a finger.
func (p *tab) tap(css string) {
	p.t.Helper()
	x, y := p.middle(css)
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		for _, e := range []input.DispatchTouchEventParams{
			{Type: "touchStart", TouchPoints: []*input.TouchPoint{{X: x, Y: y}}},
			{Type: "touchEnd", TouchPoints: []*input.TouchPoint{}},
		} {
			if _, err := cdp.Call(ctx, target, input.DispatchTouchEvent, e); err != nil {
				return chromedp.Void{}, err
			}
		}
		return chromedp.Void{}, nil
	})
}

// drag takes one element with the mouse and lets it go on another.
func (p *tab) drag(from, to string) {
	p.t.Helper()
	x, y := p.middle(from)
	u, v := p.middle(to)
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		for _, e := range []input.DispatchMouseEventParams{
			{Type: "mouseMoved", X: x, Y: y},
			{Type: "mousePressed", X: x, Y: y, Button: "left", Buttons: 1, ClickCount: 1},
			{Type: "mouseMoved", X: x + 4, Y: y + 4, Button: "left", Buttons: 1},
			{Type: "mouseMoved", X: (x + u) / 2, Y: (y + v) / 2, Button: "left", Buttons: 1},
			{Type: "mouseMoved", X: u, Y: v, Button: "left", Buttons: 1},
			{Type: "mouseMoved", X: u + 1, Y: v, Button: "left", Buttons: 1},
			{Type: "mouseReleased", X: u + 1, Y: v, Button: "left", ClickCount: 1},
		} {
			if _, err := cdp.Call(ctx, target, input.DispatchMouseEvent, e); err != nil {
				return chromedp.Void{}, err
			}
		}
		return chromedp.Void{}, nil
	})
}

// hover moves the mouse.
func (p *tab) hover(x, y float64) {
	p.t.Helper()
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: "mouseMoved", X: x, Y: y})
		return chromedp.Void{}, err
	})
}
