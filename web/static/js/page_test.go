package js_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestShortcuts: by the physical key, not while writing where the key is text,
// and not at all when switched off.
func TestShortcuts(t *testing.T) {
	s := newSite(t)
	s.side = row("c0", "Before", "") + row("c1", "Rome", "") + row("c2", "After", "")
	s.answer("POST /api/v1/chats/c1/messages", accepted)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.exec(`window.hit = o => !document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, cancelable: true, ...o}))`)
	p.equal(`[hit({code: 'Slash', key: '-'}), document.activeElement.id]`, []any{true, "prompt"}) // a German layout has - there
	p.equal(`[hit({code: 'Slash', key: '/'}), hit({code: 'Minus', key: '?'}), hit({code: 'KeyK', key: 'k'})]`, []bool{false, false, false})
	p.exec(`document.activeElement.blur()`)
	p.equal(`[hit({code: 'KeyT', key: 't', ctrlKey: true}), hit({code: 'KeyN', key: 'n', ctrlKey: true}), hit({code: 'KeyN', key: 'n', altKey: true, isComposing: true})]`, []bool{false, false, false})
	p.equal(`[hit({code: 'Minus', key: '?'}), document.querySelectorAll('dialog[open] dt').length > 10]`, []bool{true, true})
	p.press("\x1b")
	p.exec(`document.body.dataset.shortcuts = 'off'`)
	p.equal(`[hit({code: 'KeyK', key: 'k', ctrlKey: true}), hit({code: 'Minus', key: '?'})]`, []bool{false, false})
	p.exec(`delete document.body.dataset.shortcuts`)
	p.equal(`hit({code: 'ArrowDown', key: 'ArrowDown', altKey: true})`, true)
	p.until(`location.pathname === '/chat/c2'`)
}

// TestHtmx runs the vendored htmx under the page's policy: forms swap 200 and
// 422, other errors become toasts, and questions are our own dialog.
func TestHtmx(t *testing.T) {
	s := newSite(t)
	form := func(words string) string {
		return `<section id="sec" data-section><form hx-post="/settings/x" hx-target="closest [data-section]" hx-swap="outerHTML"><input name="a" value="1">` + words + `<button id="save">Save</button></form></section>`
	}
	s.main = form("") + `<button id="gone" hx-delete="/settings/gone" hx-confirm="Really revoke it?" hx-target="#sec">Revoke</button><input type="checkbox" name="notify">`
	status := http.StatusUnprocessableEntity
	s.answer("POST /settings/x", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		if status == http.StatusOK {
			fmt.Fprint(w, form(`<p data-saved>Saved.</p>`))
			return
		}
		fmt.Fprint(w, form(`<input name="b" aria-invalid="true"><p>Not that.</p>`))
	})
	s.answer("DELETE /settings/gone", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"detail":"It is gone already."}`, http.StatusNotFound)
	})
	p := openTab(t, "")
	p.open(s.URL + "/settings")
	p.until(`document.querySelector('[data-htmx-powered]')`)
	p.click("#save")
	p.until(`document.getElementById('sec').textContent.includes('Not that.') && document.activeElement.name === 'b'`)
	if c := s.called(t, "POST /settings/x", 0); c.Body != "a=1" {
		t.Errorf("the form sends %q", c.Body)
	}
	status = http.StatusOK
	p.click("#save")
	p.until(`document.getElementById('live').textContent === 'Saved.'`)
	p.click("#gone")
	p.until(`document.getElementById('ask').open && document.querySelector('#ask [data-slot=title]').textContent === 'Really revoke it?'`)
	p.click("#ask [value=cancel]")
	p.until(`!document.getElementById('ask').open`)
	p.click("#gone")
	p.until(`document.getElementById('ask').open`)
	p.click("#ask [value=ok]")
	p.until(`document.querySelector('.toast')?.textContent.includes('It is gone already.')`)
	p.equal(`!!document.getElementById('save')`, true) // the problem was not swapped in
	s.set(func(s *site) {
		n := 0
		for _, c := range s.calls {
			if c.Method == http.MethodDelete {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d deletes, want one", n)
		}
	})
	p.forgive()
}

// TestPutBringsHtmx: markup from the stream is wired, and wired anew when it changes.
func TestPutBringsHtmx(t *testing.T) {
	s := newSite(t)
	s.answer("GET /v/2", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `<p id="got">2</p>`) })
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.apply(op{"op": "put", "target": "x", "into": "log", "html": `<div id="x"><button hx-get="/v/1" hx-target="#x">1</button></div>`})
	p.apply(op{"op": "put", "target": "x", "into": "log", "html": `<div id="x"><button hx-get="/v/2" hx-target="#x">2</button></div>`})
	p.click("#x button")
	p.until(`document.getElementById('got')`)
}

func TestNotificationsSayWhyNot(t *testing.T) {
	s := newSite(t)
	s.main = `<input type="checkbox" name="notify"><span id="notify-why"></span>`
	p := openTab(t, "")
	p.open(lan(s) + "/settings")
	p.equal(`[document.querySelector('[name=notify]').disabled, document.getElementById('notify-why').textContent]`,
		[]any{true, "Browsers allow notifications only over https or on localhost."})
}

func TestTheme(t *testing.T) {
	s := newSite(t)
	s.main = `<button id="theme" data-act="theme">Theme</button>`
	s.answer("POST /settings/preferences", func(w http.ResponseWriter, r *http.Request) {})
	p := openTab(t, "")
	p.open(s.URL + "/settings")
	p.exec(`document.documentElement.dataset.theme = 'moria'`)
	p.click("#theme")
	p.equal(`document.documentElement.dataset.theme`, "shire")
	if c := s.called(t, "POST /settings/preferences", 0); c.Body != "theme=shire" {
		t.Errorf("saved with %q", c.Body)
	}
	p.open(s.URL + "/settings")
	p.equal(`document.documentElement.dataset.theme`, "shire")
}

// TestServiceWorker: static files and the offline page are kept, nothing else.
func TestServiceWorker(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.exec(`navigator.serviceWorker.ready`)
	p.until(`navigator.serviceWorker.controller`)
	p.open(s.URL + "/chat/c1")
	p.exec(`Promise.all([fetch('/api/v1/me'), fetch('/chat/c1'), fetch('/auth/login')])`)
	kept := run[[]string](p, `caches.open('lembas-static').then(c => c.keys()).then(k => k.map(r => new URL(r.url).pathname))`)
	offline := false
	for _, path := range kept {
		offline = offline || path == "/offline"
		if path != "/offline" && !strings.HasPrefix(path, "/static/v1/") {
			t.Errorf("%s is kept", path)
		}
	}
	if !offline {
		t.Errorf("the offline page is not kept, only %q", kept)
	}
	s.CloseClientConnections()
	s.Listener.Close()
	p.do(chromedp.Navigate(s.URL + "/chat/c2"))
	p.until(`document.body.textContent.includes('No network')`)
	p.forgive()
}

// TestNewVersionIsOffered: after a break the server may be newer; the reader decides.
func TestNewVersionIsOffered(t *testing.T) {
	s := newSite(t)
	p := openTab(t, `const old = fetch; self.fetch = (url, o) => url === '/sw.js' ? Promise.resolve(new Response('', {headers: {ETag: '"v2"'}})) : old(url, o)`)
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	l.send(t, add(11))
	p.until(`document.getElementById('n11')`)
	p.exec(`window.old = true`)
	close(l.out)
	s.next(t).send(t, control("ping", `{"position":11}`))
	p.until(`document.querySelector('.toast')?.textContent.includes('A new version is here.')`)
	p.equal(`window.old`, true)
	p.exec(`[...document.querySelectorAll('.toast button')].find(b => b.textContent === 'Reload').click()`)
	p.until(`!window.old`)
}

// TestSize keeps the scripts small: all together, compressed one by one.
func TestSize(t *testing.T) {
	files, err := filepath.Glob("*.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	raw, packed := 0, 0
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write(body)
		_ = w.Close()
		raw, packed = raw+len(body), packed+out.Len()
	}
	t.Logf("%d bytes, %d compressed", raw, packed)
	if raw > 120<<10 || packed > 50<<10 {
		t.Errorf("%d bytes, %d compressed: too much for a page without a framework", raw, packed)
	}
}
