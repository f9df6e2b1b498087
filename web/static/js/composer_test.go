package js_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func accepted(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprint(w, `{"message_id":"t2","reply_id":"r2","queued":false}`)
}

func TestEnterSends(t *testing.T) {
	s := newSite(t)
	s.answer("POST /api/v1/chats/c1/messages", accepted)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	s.next(t)
	p.click("#prompt")
	p.press("one")
	p.press("\r", chromedp.ModifierShift)
	p.press("two")
	p.equal(`[document.getElementById('prompt').value, document.getElementById('send').dataset.act]`, []string{"one\ntwo", "send"})
	p.press("\r")
	c := s.called(t, "POST /api/v1/chats/c1/messages", 0)
	if c.Body != `{"text":"one\ntwo"}` || len(c.Key) != 32 {
		t.Errorf("sent %s with key %q", c.Body, c.Key)
	}
	p.until(`document.getElementById('prompt').value === '' && document.getElementById('send').dataset.act === 'stop'`)
}

// TestComposition: the Enter that ends a composition must not send, neither
// where isComposing tells nor where only the key code does.
func TestComposition(t *testing.T) {
	s := newSite(t)
	s.answer("POST /api/v1/chats/c1/messages", accepted)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.exec(`(window.box = document.getElementById('prompt'), box.value = 'かな', box.dispatchEvent(new Event('input')), window.enter = o => box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', code: 'Enter', bubbles: true, cancelable: true, ...o})), 0)`)
	p.equal(`[enter({isComposing: true}), enter({keyCode: 229})]`, []bool{true, true})
	// In the same turn of the loop: Safari's order.
	p.equal(`[box.dispatchEvent(new CompositionEvent('compositionstart')), box.dispatchEvent(new CompositionEvent('compositionend')), enter({})]`, []bool{true, true, true})
	p.until(`!enter({})`)
	if c := s.called(t, "POST /api/v1/chats/c1/messages", 0); c.Body != `{"text":"かな"}` {
		t.Errorf("sent %s", c.Body)
	}
	s.set(func(s *site) {
		if n := len(s.calls); n != 1 {
			t.Errorf("%d requests, want one", n)
		}
	})
}

func TestEnterMakesNewLine(t *testing.T) {
	touch := `matchMedia = (old => q => q.includes('coarse') ? {matches: true, addEventListener() {}} : old(q))(matchMedia)`
	for _, c := range []struct{ name, attrs, before string }{{"preference", ` data-enter="newline"`, ""}, {"touch", "", touch}} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.attrs = c.attrs
			s.answer("POST /api/v1/chats/c1/messages", accepted)
			p := openTab(t, c.before)
			p.open(s.URL + "/chat/c1")
			p.click("#prompt")
			p.press("a")
			p.press("\r")
			p.press("b")
			p.equal(`[document.getElementById('prompt').value, document.getElementById('prompt').enterKeyHint]`, []string{"a\nb", "enter"})
			p.press("\r", chromedp.ModifierCtrl)
			if got := s.called(t, "POST /api/v1/chats/c1/messages", 0); got.Body != `{"text":"a\nb"}` {
				t.Errorf("sent %s", got.Body)
			}
		})
	}
}

// TestOneButton: Stop while something runs, Send as soon as there is text, with
// what the stream says having the last word.
func TestOneButton(t *testing.T) {
	s := newSite(t)
	s.main = strings.Replace(chatMain, `data-state="idle"`, `data-state="running"`, 1)
	s.answer("POST /api/v1/chats/c1/messages", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"message_id":"q1","queued":true}`)
	})
	s.answer("POST /api/v1/chats/c1/stop", func(w http.ResponseWriter, r *http.Request) {})
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	button := `[document.getElementById('send').dataset.act, document.getElementById('send').ariaLabel, document.querySelector('#send use').getAttribute('href')]`
	p.equal(button, []string{"stop", "Stop the reply", "#i-stop"})
	p.click("#prompt")
	p.press("next")
	p.equal(button, []string{"send", "Queue", "#i-send"})
	p.click("#send")
	s.called(t, "POST /api/v1/chats/c1/messages", 0)
	p.equal(`document.activeElement.id`, "prompt")
	p.until(`document.getElementById('send').dataset.act === 'stop'`)
	p.press("\x1b")
	s.called(t, "POST /api/v1/chats/c1/stop", 0)
	p.click("#send")
	s.called(t, "POST /api/v1/chats/c1/stop", 1)
	l.send(t, frame(11, "c1", op{"op": "attr", "target": "composer", "name": "data-state", "value": "idle"}))
	p.until(`document.getElementById('send').dataset.act === 'send'`)
}

func TestFailedSendKeepsTheText(t *testing.T) {
	s := newSite(t)
	s.answer("POST /api/v1/chats/c1/messages", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"title":"Read only","detail":"The log cannot be written."}`, http.StatusServiceUnavailable)
	})
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	s.next(t)
	p.click("#prompt")
	p.press("precious")
	p.press("\r")
	first := s.called(t, "POST /api/v1/chats/c1/messages", 0)
	p.until(`document.querySelector('.toast [data-slot=text]')?.textContent === 'The log cannot be written.'`)
	p.equal(`[document.getElementById('prompt').value, document.getElementById('composer').dataset.state]`, []string{"precious", "idle"})
	s.answer("POST /api/v1/chats/c1/messages", accepted)
	p.exec(`[...document.querySelectorAll('.toast button')].find(b => b.textContent === 'Retry').click()`)
	second := s.called(t, "POST /api/v1/chats/c1/messages", 1)
	if first.Key != second.Key || first.Body != second.Body {
		t.Errorf("the repeat is %+v, want the same as %+v", second, first)
	}
	p.until(`document.getElementById('prompt').value === ''`)
	p.forgive()
}

func TestFailedSendSparesTheNewerDraft(t *testing.T) {
	s := newSite(t)
	hold := make(chan struct{})
	s.answer("POST /api/v1/chats/c1/messages", func(w http.ResponseWriter, r *http.Request) {
		<-hold
		http.Error(w, `{"detail":"no"}`, http.StatusBadGateway)
	})
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.click("#prompt")
	p.press("old")
	p.press("\r")
	s.called(t, "POST /api/v1/chats/c1/messages", 0)
	p.press("new")
	close(hold)
	p.until(`document.getElementById('prompt').value === 'old\n\nnew'`)
	p.forgive()
}

func TestDraftsSurviveReload(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.click("#prompt")
	p.press("half a thought")
	p.open(s.URL + "/chat/c2")
	p.equal(`document.getElementById('prompt').value`, "")
	p.open(s.URL + "/chat/c1")
	p.equal(`document.getElementById('prompt').value`, "half a thought")
}

func TestNewChat(t *testing.T) {
	s := newSite(t)
	s.answer("POST /api/v1/chats", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"chat_id":"c7","message_id":"t1","reply_id":"r1","position":12}`)
	})
	p := openTab(t, "")
	p.open(s.URL + "/")
	if l := s.next(t); len(l.Chats) != 0 {
		t.Errorf("a new chat follows %q", l.Chats)
	}
	p.click("#prompt")
	p.press("hello")
	p.press("\r")
	c := s.called(t, "POST /api/v1/chats", 0)
	if c.Body != `{"model":"m1","text":"hello"}` || c.Key == "" {
		t.Errorf("created with %s, key %q", c.Body, c.Key)
	}
	p.until(`location.pathname === '/chat/c7' && 'ready' in document.documentElement.dataset`)
	p.open(s.URL + "/")
	p.equal(`document.getElementById('prompt').value`, "")
}

func TestCommands(t *testing.T) {
	s := newSite(t)
	s.answer("POST /api/v1/chats/c1/messages", accepted)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	for i, c := range []struct{ typed, sent string }{
		{"//help", `{"text":"/help"}`}, {"/helpme", `{"text":"/helpme"}`}, {"/help me", `{"text":"/help me"}`}, {"/nothing", `{"text":"/nothing"}`}, {"/constructor", `{"text":"/constructor"}`},
	} {
		p.click("#prompt")
		p.press(c.typed)
		p.press("\r")
		if got := s.called(t, "POST /api/v1/chats/c1/messages", i); got.Body != c.sent {
			t.Errorf("%s sends %s, want %s", c.typed, got.Body, c.sent)
		}
		p.until(`document.getElementById('prompt').value === ''`)
	}
	p.press("/help")
	p.press("\r")
	p.until(`document.querySelector('dialog[open] .keys')`)
	p.press("\x1b")
	p.until(`!document.querySelector('dialog[open]') && document.activeElement.id === 'prompt'`)
	p.equal(`document.getElementById('prompt').value`, "")
}

func TestRefusalsSayWhy(t *testing.T) {
	s := newSite(t)
	s.main = strings.NewReplacer(`<textarea id="prompt"`, `<textarea id="prompt" maxlength="10"`).Replace(chatMain)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.exec(`(document.getElementById('prompt').value = 'x'.repeat(11), document.getElementById('send').click())`)
	p.until(`document.querySelector('.toast [data-slot=text]').textContent === 'Too long: 11 of 10 characters.'`)
	p.exec(`(document.getElementById('prompt').value = 'x', document.getElementById('send').setAttribute('aria-disabled', 'true'), document.getElementById('send').title = 'No model yet.', document.getElementById('send').click())`)
	p.until(`document.querySelector('.toast [data-slot=text]').textContent === 'No model yet.'`)
	s.set(func(s *site) {
		if len(s.calls) != 0 {
			t.Errorf("sent all the same: %+v", s.calls)
		}
	})
}

func TestModelOfAChat(t *testing.T) {
	s := newSite(t)
	s.answer("PATCH /api/v1/chats/c1", func(w http.ResponseWriter, r *http.Request) { http.Error(w, `{"detail":"Gone."}`, http.StatusConflict) })
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.exec(`(window.pick = document.querySelector('[name=model]'), pick.value = 'm2', pick.dispatchEvent(new Event('change', {bubbles: true})))`)
	if c := s.called(t, "PATCH /api/v1/chats/c1", 0); c.Body != `{"model":"m2"}` {
		t.Errorf("changed with %s", c.Body)
	}
	p.until(`pick.value === 'm1' && document.querySelector('.toast').textContent.includes('Gone.')`)
	p.forgive()
}

// TestCommandList is a combobox: it opens under a /, is walked by arrow keys, and
// without a choice Enter sends what is written.
func TestCommandList(t *testing.T) {
	s := newSite(t)
	s.answer("POST /api/v1/chats/c1/messages", accepted)
	s.answer("POST /api/v1/chats/c1/compact", accepted)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	s.next(t)
	p.click("#prompt")
	p.press("/")
	listed := `[...document.querySelectorAll('#commands:not([hidden]) [role=option] code')].map(e => e.textContent)`
	box := `(b => [b.getAttribute('role'), b.getAttribute('aria-expanded'), document.getElementById(b.getAttribute('aria-activedescendant'))?.querySelector('code').textContent ?? null])(document.getElementById('prompt'))`
	p.equal(`[`+listed+`, `+box+`, document.getElementById('live').textContent]`, []any{[]string{"/help", "/new", "/stop", "/compact"}, []any{"combobox", "true", nil}, "4 commands; arrow keys choose."})
	p.press("c")
	p.exec(`document.getElementById('prompt').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', code: 'ArrowDown', bubbles: true, cancelable: true}))`)
	p.equal(`[`+listed+`, `+box+`]`, []any{[]string{"/compact"}, []any{"combobox", "true", "/compact"}})
	p.press("\t") // writes it out, and does not run it
	p.equal(`[document.getElementById('prompt').value, document.activeElement.id, `+box+`]`, []any{"/compact", "prompt", []any{nil, nil, nil}})
	p.press("\r")
	if c := s.called(t, "POST /api/v1/chats/c1/compact", 0); c.Body != `{}` {
		t.Errorf("compacts with %s", c.Body)
	}
	p.until(`document.getElementById('prompt').value === ''`)
	p.press("/co\r")
	if c := s.called(t, "POST /api/v1/chats/c1/messages", 0); c.Body != `{"text":"/co"}` {
		t.Errorf("sends %s", c.Body)
	}
	p.until(`document.getElementById('prompt').value === ''`)
	p.press("/he")
	p.press("\x1b") // closes the list, not more
	p.equal(`[`+listed+`, document.getElementById('prompt').value]`, []any{[]string{}, "/he"})
	p.press("l")
	p.equal(listed, []string{"/help"})
	p.click(`#commands [role=option]`)
	p.until(`document.querySelector('dialog[open] .keys')`)
	p.equal(`[document.getElementById('prompt').value, ['/compact', 'A', 'D', 'E'].filter(k => ![...document.querySelectorAll('dialog kbd')].some(e => e.textContent === k))]`, []any{"", []string{}})
	p.press("\x1b")
	p.press("//")
	p.press("a b")
	p.equal(listed, []string{})
}

// TestCompactSaysWhyNot: a refusal is said, and nothing is sent to the model.
func TestCompactSaysWhyNot(t *testing.T) {
	s := newSite(t)
	s.answer("POST /api/v1/chats/c1/compact", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"detail":"A reply is running."}`, http.StatusConflict)
	})
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.click("#prompt")
	p.press("/compact\r")
	p.until(`document.querySelector('.toast')?.textContent.includes('A reply is running.')`)
	p.open(s.URL + "/")
	p.click("#prompt")
	p.press("/compact\r")
	p.until(`document.querySelector('.toast')?.textContent.includes('There is nothing to put together yet.')`)
	p.forgive()
	if n := s.count("POST /api/v1/chats"); n != 0 {
		t.Errorf("%d chats were made of a command", n)
	}
}
