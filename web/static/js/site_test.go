package js_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// csp is the policy of the pages, and of the worker's own file.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'"

// patience is how long anything may take before a test gives up.
const patience = 20 * time.Second

// site is a small server with the markup of the protocol. Tests say what its
// API answers and write the event streams by hand.
type site struct {
	*httptest.Server
	lines chan *line   // each new connection to /events
	files http.Handler // the product's static files, or nil
	root  http.Handler // and those at the top

	mu     sync.Mutex // guards what follows
	attrs  string     // of body
	main   string     // inside main
	side   string     // inside #side-tree
	api    map[string]http.HandlerFunc
	calls  []call
	cursor int
}

// call is one request to the API or to a form.
type call struct {
	Method, Path, Body, Key string
}

// line is one open event stream.
type line struct {
	After, LastID string
	Chats         []string
	out           chan string
	gone          chan struct{} // closed when the client went away
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{lines: make(chan *line, 32), api: map[string]http.HandlerFunc{}, cursor: 10, main: chatMain}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// set changes what pages look like from now on.
func (s *site) set(change func(s *site)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// answer says what "METHOD PATH" does.
func (s *site) answer(route string, h http.HandlerFunc) {
	s.set(func(s *site) { s.api[route] = h })
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", csp)
	path := r.URL.Path
	switch {
	case path == "/events":
		s.stream(w, r)
	case s.files != nil && strings.HasPrefix(path, "/static/") && !strings.HasPrefix(path, "/static/v1/"):
		s.files.ServeHTTP(w, r)
	case s.root != nil && (path == "/favicon.svg" || path == "/manifest.webmanifest" || path == "/sw.js"):
		s.root.ServeHTTP(w, r)
	case strings.HasPrefix(path, "/static/v1/"):
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		serveFile(w, r, strings.TrimPrefix(path, "/static/v1/"))
	case path == "/sw.js":
		w.Header().Set("ETag", `"v1"`)
		serveFile(w, r, "js/sw.js")
	default:
		s.dispatch(w, r)
	}
}

// dispatch notes the request, then gives the test's answer or a page.
func (s *site) dispatch(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	h := s.api[r.Method+" "+r.URL.Path]
	if strings.HasPrefix(r.URL.Path, "/api/") || r.Method != http.MethodGet {
		s.calls = append(s.calls, call{r.Method, r.URL.Path, string(body), r.Header.Get("Idempotency-Key")})
	}
	html := s.page(r.URL.Path)
	s.mu.Unlock()
	switch {
	case h != nil:
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		h(w, r)
	case strings.HasPrefix(r.URL.Path, "/api/"):
		http.Error(w, `{"detail":"Not found."}`, http.StatusNotFound)
	case r.URL.Path == "/offline":
		fmt.Fprint(w, `<!doctype html><title>Offline</title><link rel="icon" href="/static/v1/js/toast.js"><p>No network</p>`)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, html)
	}
}

// page is called with the lock held.
func (s *site) page(path string) string {
	id := ""
	if chat, ok := strings.CutPrefix(path, "/chat/"); ok {
		id = chat
	}
	return fmt.Sprintf(layout, s.cursor, s.attrs, s.side, id, strings.ReplaceAll(s.main, "CHAT", id))
}

func serveFile(w http.ResponseWriter, r *http.Request, name string) {
	body, err := os.ReadFile("../" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(body)
}

// stream hands the connection to the test and writes what it sends.
func (s *site) stream(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	l := &line{After: q.Get("after"), LastID: r.Header.Get("Last-Event-ID"), Chats: q["chat"], out: make(chan string), gone: make(chan struct{})}
	defer close(l.gone)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush(w)
	s.lines <- l
	for {
		select {
		case text, open := <-l.out:
			if !open {
				return
			}
			_, _ = io.WriteString(w, text)
			flush(w)
		case <-r.Context().Done():
			return
		}
	}
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// next waits for the next connection to /events.
func (s *site) next(t *testing.T) *line {
	t.Helper()
	select {
	case l := <-s.lines:
		return l
	case <-time.After(patience):
		t.Fatal("no connection to /events came")
		return nil
	}
}

// send writes raw bytes of the stream.
func (l *line) send(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		select {
		case l.out <- text:
		case <-l.gone:
			t.Fatal("the client has left this connection")
		case <-time.After(patience):
			t.Fatal("the connection takes nothing")
		}
	}
}

func (l *line) waitGone(t *testing.T) {
	t.Helper()
	select {
	case <-l.gone:
	case <-time.After(patience):
		t.Fatal("the client keeps the connection")
	}
}

// called waits until a request for "METHOD PATH" was made and gives the n-th, from 0.
func (s *site) called(t *testing.T, route string, n int) call {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var found []call
		s.set(func(s *site) {
			for _, c := range s.calls {
				if c.Method+" "+c.Path == route {
					found = append(found, c)
				}
			}
		})
		if len(found) > n {
			return found[n]
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s was called %d times, want %d", route, len(found), n+1)
		}
	}
}

type op map[string]any

// frame is one event of the stream.
func frame(position int, chat string, ops ...op) string {
	data, err := json.Marshal(map[string]any{"chat": chat, "ops": ops})
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("event: frame\nid: E.%d\ndata: %s\n\n", position, data)
}

// add appends a line to #log, so that a test sees which frames were applied.
func add(position int) string {
	return frame(position, "c1", op{"op": "put", "target": fmt.Sprintf("n%d", position), "into": "log", "html": fmt.Sprintf(`<p id="n%d">%d</p>`, position, position)})
}

func control(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// layout has the cursor, body attributes, the tree, the chat's id and main.
const layout = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Rome · LLeMbas</title>
<meta name="htmx-config" content='{"noSwap":["204","304","401","403","404","409","413","429","5xx"],"history":false,"includeIndicatorCSS":false}'>
<script src="/static/v1/vendor/htmx.min.js" defer></script><script type="module" src="/static/v1/js/app.js"></script></head>
<body data-connection="connecting" data-epoch="E" data-cursor="E.%d" data-user="u1"%s>
<script src="/static/v1/js/early.js"></script>
<nav id="side"><button id="toggle" data-act="toggle-sidebar">Hide</button><input id="side-filter"><div id="side-tree">%s</div><div id="side-grip" tabindex="0"></div></nav>
<main data-chat-id="%s">%s</main>
<div id="chat-menu" popover><button data-act="rename-chat">Rename</button><button data-act="pin-chat">Pin</button><button data-act="move-chat">Move</button><button data-act="delete-chat">Delete</button></div>
<dialog id="ask"><form method="dialog"><h2 data-slot="title"></h2><p data-slot="text" hidden></p><label data-slot="label" hidden><span></span><input data-slot="input"></label><div data-slot="choice" hidden></div>
<button value="cancel" formnovalidate>Cancel</button><button value="ok" data-slot="ok">OK</button></form></dialog>
<template id="tpl-toast"><div class="toast"><span data-slot="text"></span><a data-slot="link" hidden>Open</a><button data-act="close-toast">x</button></div></template>
<template id="tpl-edit"><form class="turn-edit"><textarea name="text"></textarea><span class="hint">Hint</span><button type="button" data-act="cancel-edit">Cancel</button><button type="submit" data-act="save-edit">Send again</button></form></template>
<div id="toasts"></div><div id="live" role="status"></div><div id="alert" role="alert"></div></body></html>`

// chatMain is a chat with a short turn and a composer.
const chatMain = `<button id="chat-title" data-act="rename-chat" data-id="CHAT">Rome</button><p class="banner lost"><span></span></p>
<div id="scroll"><div id="log" role="log"><article id="m-t1" data-message="t1" data-role="user" data-status="complete"><div class="turn"><div id="text-t1">When was <b>Rome</b> founded?</div></div>
<footer><button data-act="copy-message" data-id="t1">Copy</button><button data-act="edit-message" data-id="t1">Edit</button></footer></article></div><div id="room"></div></div>
<button id="jump" data-act="jump" hidden>Latest</button><section id="queue"></section>
<form id="composer" data-composer data-state="idle" data-chat-id="CHAT"><input type="hidden" name="folder" value=""><textarea id="prompt" name="text"></textarea>
<select name="model"><option value="m1" selected>One</option><option value="m2">Two</option></select>
<button id="send" type="submit" data-act="send"><svg><use href="#i-send"></use></svg></button></form>`

// row is a chat in the sidebar.
func row(id, title, attrs string) string {
	return fmt.Sprintf(`<li id="c-%s" data-chat="%s" draggable="true"%s><a class="row" href="/chat/%s"><span class="row-title">%s</span></a><button popovertarget="chat-menu" data-menu data-id="%s">…</button></li>`, id, id, attrs, id, title, id)
}
