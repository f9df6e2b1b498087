package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// TestComingBack is what a person does who does not stay until a reply ends.
func TestComingBack(t *testing.T) {
	w := newWorld(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"reload in mid-reply", reloadInMidReply},
		{"close the tab and come back", closeAndComeBack},
		{"a second tab sees the same", secondTab},
		{"the seventh tab works", seventhTab},
		{"without SharedWorker", withoutSharedWorker},
		{"plain http by an address", plainHTTP},
		{"sign out in another tab", signOutElsewhere}, // the last: it ends ann's session
	} {
		t.Run(step.name, func(t *testing.T) { step.run(t, w) })
	}
}

func reloadInMidReply(t *testing.T, w *world) {
	chat := w.chat("gate", "tell me more")
	c := w.gate.next(t).say("alpha ")
	p := w.at(t, chat)
	p.reads("alpha")
	p.open(w.url + "/chat/" + chat)
	p.reads("alpha")
	c.say("beta ")
	p.reads("alpha beta")
	p.open(w.url + "/chat/" + chat)
	p.reads("alpha beta")
	c.say("gamma").end()
	p.settled("complete")
	p.reads("alpha beta gamma")
}

func closeAndComeBack(t *testing.T, w *world) {
	p := w.page(t, "/")
	p.choose("#model", "gate")
	p.say("go on without me")
	chat := p.chatID()
	c := w.gate.next(t).say("while you look, ")
	p.reads("while you look,")
	p.close()
	c.say("and while you do not, ")
	p = w.at(t, chat)
	p.reads("while you look, and while you do not,")
	p.close()
	c.say("to the end").end()
	p = w.at(t, chat)
	p.settled("complete")
	p.reads("while you look, and while you do not, to the end")
}

func secondTab(t *testing.T, w *world) {
	chat := w.ended(t, "hello", "Hello")
	p, q := w.at(t, chat), w.at(t, chat)
	p.say("for both")
	w.gate.next(t).say("Both see this").end()
	for _, tab := range []*tab{p, q} {
		tab.until(`document.querySelectorAll('#log > [data-role=user]').length === 2`)
		tab.settled("complete")
		tab.reads("Both see this")
	}
	if a, b := value[string](p, stillDOM), value[string](q, stillDOM); a != b {
		t.Errorf("the tabs differ:\n%s", difference(a, b))
	}
}

// lines is a proxy before the product that counts the event streams that are
// open, and the most that ever were.
type lines struct {
	url       string
	now, most atomic.Int64
}

func newLines(t testing.TB, to string) *lines {
	t.Helper()
	target, err := url.Parse(to)
	must(t, err)
	l := &lines{}
	forward := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // as a proxy is to do
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			l.most.Store(max(l.most.Load(), l.now.Add(1)))
			defer l.now.Add(-1)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	l.url = s.URL
	return l
}

// seventhTab: HTTP/1.1 has six connections for a browser; seven tabs use one.
func seventhTab(t *testing.T, w *world) {
	l := newLines(t, w.url)
	chats := make([]string, 7)
	calls := make([]*asked, 7)
	tabs := make([]*tab, 7)
	for i := range chats {
		chats[i] = w.chat("gate", fmt.Sprintf("tab %d", i))
		calls[i] = w.gate.next(t).say("begun")
		// Cookies know no ports: the session counts at the proxy, too.
		tabs[i] = w.tabWith(t, "", l.url+"/chat/"+chats[i])
	}
	for i, p := range tabs {
		calls[i].say(fmt.Sprint(", done ", i)).end()
		p.settled("complete")
		p.reads(fmt.Sprint("begun, done ", i))
		p.live()
	}
	if n := l.now.Load(); n != 1 {
		t.Errorf("seven tabs hold %d streams, want 1", n)
	}
	if n := l.most.Load(); n > 2 { // the old one may end while the new one begins
		t.Errorf("there were %d streams at a time", n)
	}
}

func withoutSharedWorker(t *testing.T, w *world) {
	chat := w.chat("gate", "without a worker")
	c := w.gate.next(t).say("one ")
	const without = `delete self.SharedWorker`
	p := w.tabWith(t, without, w.url+"/chat/"+chat)
	q := w.tabWith(t, without, w.url+"/chat/"+chat)
	p.reads("one")
	q.reads("one")
	c.say("two ")
	p.reads("one two")
	q.reads("one two")
	if way := value[string](q, `document.body.dataset.transport`); way != "led" {
		t.Errorf("the tab uses %q", way)
	}
	p.close() // the first tab led
	c.say("three").end()
	q.settled("complete")
	q.reads("one two three")
}

// plainHTTP: an address that is neither TLS nor localhost gives a page no
// locks, no randomUUID, no clipboard and no service worker.
func plainHTTP(t *testing.T, w *world) {
	at := strings.Replace(w.url, "127.0.0.1", "lan.test", 1)
	for i, before := range []string{"", `delete self.SharedWorker`} {
		p := w.tabWith(t, before, w.url)
		if i == 0 { // cookies know no ports, but hosts
			p.signIn(at, annMail)
		}
		p.open(at + "/")
		if value[bool](p, `isSecureContext`) {
			t.Fatal("this is no plain http")
		}
		p.choose("#model", "gate")
		p.say("over plain http")
		w.gate.next(t).say("It works").end()
		p.settled("complete")
		p.reads("It works")
		p.click(`#log [data-role=assistant] [data-act=copy-message]`)
		p.until(`document.querySelector('[data-act=copy-message][data-done=Copied]')`)
		p.close()
	}
}

func signOutElsewhere(t *testing.T, w *world) {
	p, q := w.at(t, w.ended(t, "bye", "Bye")), w.page(t, "/")
	p.live()
	q.live()
	q.click(`form[action="/auth/logout"] button`)
	p.until(`location.pathname === '/auth/login'`)
	q.until(`location.pathname === '/auth/login'`)
}

// TestTheServerDiesInMidReply kills the server with SIGKILL while a page is
// open: the page says so, comes back by itself, and has the whole reply.
func TestTheServerDiesInMidReply(t *testing.T) {
	w := newWorld(t)
	p := w.at(t, w.chat("gate", "hold on"))
	w.gate.next(t).say("half an ans")
	p.reads("half an ans")
	value[bool](p, `(self.sameDocument = true)`)
	w.kill()
	p.until(`document.querySelector('.banner.lost').getClientRects().length`)
	p.shot("killed-1-lost")
	p.say("written while nobody listened")
	p.until(`document.querySelector('.toast[data-kind=error]') && document.querySelector('#prompt').value !== ''`)
	p.forgive()
	w.start()
	c := w.gate.next(t).say("the whole answer")
	p.reads("the whole answer")
	p.live()
	c.end()
	p.settled("complete")
	p.reads("the whole answer")
	p.until(`self.sameDocument && ` + newest + `.innerText.includes('Interrupted by a restart, asked again.')`)
	p.until(`!document.querySelector('.banner.lost').getClientRects().length`)
	p.shot("killed-2-whole")
	p.forgive()
}

// stillDOM is the transcript as text, less what belongs to the page and not to
// the chat: data-local, style and open (what a person folded, an editor, the
// room below a question), data-target (the anchor), data-htmx-powered, aria-busy of
// no value.
const stillDOM = `(() => { const c = document.querySelector('#log').cloneNode(true)
	for (const e of c.querySelectorAll('*')) for (const a of ['data-local', 'style', 'open', 'data-target', 'data-htmx-powered']) e.removeAttribute(a)
	for (const e of c.querySelectorAll('[data-done]')) e.removeAttribute('data-done')
	const head = ['#chat-title', '#chat-status', '#chat-meter', '#queue', '#send'].map(s => { const e = document.querySelector(s).cloneNode(true); if (s === '#send') e.removeAttribute('title'); return e.outerHTML }).join('\n') // its title is the script's
	const row = document.querySelector('#side-tree [aria-current]').closest('[data-chat]').cloneNode(true)
	row.removeAttribute('data-unread')
	return (head + '\n' + row.outerHTML + '\n' + c.innerHTML).replaceAll(/>\s*</g, '>\n<') })()`

// difference shows where two texts part.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\n  %s\n  %s", i, strings.Join(x[max(0, i-1):min(i+2, len(x))], "\n  "), strings.Join(y[max(0, i-1):min(i+2, len(y))], "\n  "))
		}
	}
	return fmt.Sprintf("%d lines and %d", len(x), len(y))
}

// TestWhatStreamedIsWhatLoads: the document that a reply was streamed into is
// the one that a fresh load gives.
func TestWhatStreamedIsWhatLoads(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ model, words string }{
		{"demo-markdown", "everything"}, {"demo-code", "some sources"}, {"demo-thinking", "a sum"}, {"demo-think-tags", "a sum"},
		{"demo-chat", "cut the table"}, {"demo-chat", "error"}, {"demo-chat", "tools"}, {"demo-chat", "busy"}, {"demo-chat", "long"},
	} {
		t.Run(c.model+" "+c.words, func(t *testing.T) {
			if c.words == "long" { // its 20,000 tokens at once
				w.admin.want(200, "PATCH", "/api/v1/connections/"+w.demo, map[string]any{"base_url": startDemoAt(t, -1)})
			}
			p := w.page(t, "/")
			p.choose("#model", c.model)
			p.say(c.words)
			chat := p.chatID()
			p.settled("complete", "failed")
			p.until(`document.querySelector('#send').dataset.act === 'send' && document.querySelector('#chat-title').innerText !== ''`)
			if c.words != "cut the table" && c.words != "error" && c.words != "tools" {
				p.until(`document.querySelector('#chat-title').innerText.startsWith('Demo: ')`)
			}
			fresh := w.at(t, chat)
			fresh.live()
			p.live()
			if a, b := value[string](p, stillDOM), value[string](fresh, stillDOM); a != b {
				t.Errorf("streamed and loaded differ: %s", difference(a, b))
			}
		})
	}
}
