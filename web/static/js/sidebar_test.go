package js_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

const folders = `<section class="group"><h2>Folders</h2><ul>` +
	`<li id="f-f1" class="folder" data-folder="f1"><details><summary><span class="row-title">Work</span></summary><ul>` +
	`<li id="f-f2" class="folder" data-folder="f2"><details><summary><span class="row-title">Deep</span></summary><ul></ul></details></li>%s</ul></details></li></ul></section>` +
	`<section class="group"><h2>Today</h2><ul id="today">%s</ul></section><p class="tree-none" hidden>None</p>`

func sideSite(t *testing.T) *site {
	s := newSite(t)
	s.side = fmt.Sprintf(folders, row("c2", "Nginx logs", ""), row("c1", "Rome", "")+row("c3", "Sparta", ""))
	for _, r := range []string{"PATCH /api/v1/chats/c3", "PATCH /api/v1/chats/c1", "DELETE /api/v1/chats/c3", "DELETE /api/v1/chats/c1", "POST /api/v1/chats/c1/seen", "PATCH /api/v1/folders/f2"} {
		s.answer(r, func(w http.ResponseWriter, r *http.Request) {})
	}
	return s
}

// menu opens the shared menu of a chat and chooses.
func (p *tab) menu(id, act string) {
	p.t.Helper()
	p.click(`#c-` + id + ` [data-menu]`)
	p.until(`document.querySelector('#chat-menu:popover-open') && document.activeElement.closest('#chat-menu')`)
	p.click(`#chat-menu [data-act=` + act + `]`)
	p.until(`!document.querySelector('#chat-menu:popover-open')`)
}

func TestRowActions(t *testing.T) {
	s := sideSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.menu("c3", "rename-chat")
	p.until(`document.activeElement.className === 'rename' && document.activeElement.value === 'Sparta'`)
	p.press("Athens\r")
	if c := s.called(t, "PATCH /api/v1/chats/c3", 0); c.Body != `{"title":"Athens"}` {
		t.Errorf("renamed with %s", c.Body)
	}
	p.equal(`document.querySelector('.rename')`, nil)
	p.menu("c3", "pin-chat")
	if c := s.called(t, "PATCH /api/v1/chats/c3", 1); c.Body != `{"pinned":true}` {
		t.Errorf("pinned with %s", c.Body)
	}
	p.menu("c3", "move-chat")
	p.until(`document.getElementById('ask').open`)
	p.equal(`[...document.querySelectorAll('#ask label:has([type=radio])')].map(l => l.textContent)`, []string{"No folder", "Work", "\u2003Deep"})
	p.click(`#ask [type=radio][value=f2]`)
	p.click(`#ask [value=ok]`)
	if c := s.called(t, "PATCH /api/v1/chats/c3", 2); c.Body != `{"folder_id":"f2"}` {
		t.Errorf("moved with %s", c.Body)
	}
	p.menu("c3", "delete-chat")
	p.until(`document.getElementById('ask').open`)
	p.equal(`[document.activeElement.value, document.getElementById('ask').hasAttribute('data-danger')]`, []any{"cancel", true})
	p.press("\x1b")
	p.until(`!document.getElementById('ask').open && document.activeElement.dataset.id === 'c3'`)
	p.menu("c3", "delete-chat")
	p.click(`#ask [value=ok]`)
	s.called(t, "DELETE /api/v1/chats/c3", 0)
	p.click("#chat-title")
	p.until(`document.activeElement.className === 'rename'`)
	p.press("\x1b")
	p.until(`document.activeElement.id === 'chat-title'`)
	p.equal(`location.pathname`, "/chat/c1")
}

func TestFolderDialogs(t *testing.T) {
	s := sideSite(t)
	s.side += `<button id="nf" data-act="new-folder" data-id="f1">New</button><button id="mf" data-act="move-folder" data-id="f2">Move</button>`
	s.answer("POST /api/v1/folders", accepted)
	p := openTab(t, "")
	p.open(s.URL + "/")
	p.click("#nf")
	p.press("Mill\r") // Enter is OK, not the first button
	if c := s.called(t, "POST /api/v1/folders", 0); c.Body != `{"name":"Mill","parent_id":"f1"}` {
		t.Errorf("created with %s", c.Body)
	}
	p.click("#mf")
	p.until(`document.getElementById('ask').open`)
	p.press("\r") // the first choice: the top
	if c := s.called(t, "PATCH /api/v1/folders/f2", 0); c.Body != `{"parent_id":null}` {
		t.Errorf("moved with %s", c.Body)
	}
}

func TestDragAndDrop(t *testing.T) {
	s := sideSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	drag := `((from, to) => { const data = new DataTransfer(); const fire = (el, type) => el.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: data}))
		fire(from, 'dragstart'); fire(to, 'dragover'); const marked = document.querySelector('[data-drop]')?.id; fire(to, 'drop'); fire(from, 'dragend'); return [marked ?? null, document.querySelectorAll('[data-drop]').length] })`
	p.equal(drag+`(document.querySelector('#c-c3 a'), document.querySelector('#f-f1 summary'))`, []any{"f-f1", 0})
	if c := s.called(t, "PATCH /api/v1/chats/c3", 0); c.Body != `{"folder_id":"f1"}` {
		t.Errorf("dropped with %s", c.Body)
	}
	p.equal(drag+`(document.querySelector('#f-f1 summary'), document.querySelector('#f-f2 summary'))`, []any{nil, 0}) // not into itself
	p.equal(drag+`(document.querySelector('#f-f2 summary'), document.getElementById('today'))`, []any{"side-tree", 0})
	if c := s.called(t, "PATCH /api/v1/folders/f2", 0); c.Body != `{"parent_id":null}` {
		t.Errorf("taken out with %s", c.Body)
	}
}

func TestFilter(t *testing.T) {
	s := sideSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	shown := `[...document.querySelectorAll('[data-chat]')].filter(e => !e.closest('[data-out]')).map(e => e.id)`
	p.press("k", chromedp.ModifierCtrl)
	p.until(`document.activeElement.id === 'side-filter'`)
	p.press("LOGS ng")
	p.equal(`[`+shown+`, document.querySelector('#f-f1 details').open]`, []any{[]string{"c-c2"}, true})
	l.send(t, frame(11, "", op{"op": "put", "target": "c-c9", "into": "today", "html": row("c9", "Nginx logs too", "")}, op{"op": "put", "target": "c-c8", "into": "today", "html": row("c8", "Corinth", "")}))
	p.until(`document.getElementById('c-c8')`)
	p.equal(shown, []string{"c-c2", "c-c9"})
	p.press("zzz")
	p.equal(`[`+shown+`, document.querySelector('.tree-none').hidden]`, []any{[]string{}, false})
	p.exec(`(document.getElementById('side-filter').value = '', document.getElementById('side-filter').dispatchEvent(new Event('input')))`)
	p.equal(`[`+shown+`.length, document.querySelector('#f-f1 details').open, document.querySelector('.tree-none').hidden]`, []any{5, false, true})
}

// TestSeen: a chat that is looked at, at its end, is told to be seen; one row
// serves all pages, so the script marks the current one.
func TestSeen(t *testing.T) {
	s := sideSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	p.equal(`document.querySelector('[aria-current]').getAttribute('href')`, "/chat/c1")
	l.send(t, frame(11, "", op{"op": "put", "target": "c-c1", "html": row("c1", "Rome", ` data-unread="true"`)}))
	s.called(t, "POST /api/v1/chats/c1/seen", 0)
	p.equal(`document.querySelector('[aria-current]').getAttribute('href')`, "/chat/c1")
}

func TestSideBox(t *testing.T) {
	s := sideSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.press("s", chromedp.ModifierAlt)
	p.equal(`[document.body.dataset.side, document.getElementById('side').inert]`, []any{"closed", true})
	p.open(s.URL + "/chat/c1")
	p.equal(`document.body.dataset.side`, "closed")
	p.press("s", chromedp.ModifierAlt)
	p.exec(`(grip => { grip.focus(); grip.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true, cancelable: true})) })(document.getElementById('side-grip'))`)
	p.exec(`window.width = document.documentElement.style.getPropertyValue('--sidebar-w'), 0`)
	p.equal(`/^\d+px$/.test(width)`, true)
	width := run[string](p, `width`)
	p.open(s.URL + "/chat/c1")
	p.equal(`[document.body.dataset.side, document.documentElement.style.getPropertyValue('--sidebar-w')]`, []string{"open", width})
}

// TestDrawer: on a phone the sidebar lies over the page and takes the focus.
func TestDrawer(t *testing.T) {
	s := sideSite(t)
	s.main = `<button id="open" data-act="toggle-sidebar">Chats</button>` + chatMain
	p := openTab(t, "")
	p.do(chromedp.EmulateViewport(360, 700))
	p.open(s.URL + "/chat/c1")
	p.equal(`document.body.dataset.side`, "closed")
	p.click("#open")
	p.equal(`[document.body.dataset.side, document.querySelector('main').inert, !!document.activeElement.closest('#side')]`, []any{"open", true, true})
	p.press("\x1b")
	p.equal(`[document.body.dataset.side, document.querySelector('main').inert, document.activeElement.id]`, []any{"closed", false, "open"})
	swipe := `((from, to) => { for (const [type, x] of [['touchstart', from], ['touchend', to]]) {
		const touch = new Touch({identifier: 1, target: document.body, clientX: x, clientY: 300})
		document.body.dispatchEvent(new TouchEvent(type, {bubbles: true, touches: type === 'touchstart' ? [touch] : [], changedTouches: [touch]})) } return document.body.dataset.side })`
	p.equal(`[`+swipe+`(200, 300), `+swipe+`(5, 200), `+swipe+`(250, 50)]`, []string{"closed", "open", "closed"})
	p.open(s.URL + "/chat/c1")
	p.equal(`document.body.dataset.side`, "closed")
}
