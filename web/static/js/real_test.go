package js_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"lembas/web/static"
	"lembas/web/templates"
)

// realSite serves the product's own markup and style, with their static files.
func realSite(t *testing.T) *site {
	t.Helper()
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	set, err := templates.New(files)
	if err != nil {
		t.Fatal(err)
	}
	shell := templates.Shell{
		Title: "Rome", Page: "chat", Person: templates.Person{ID: "u1", Name: "Ann", Initial: "A", Admin: true}, Epoch: "E", Cursor: "E.10",
		Sidebar: templates.SidebarTree{
			Folders: []templates.Folder{{ID: "f1", Name: "Work", Folders: []templates.Folder{{ID: "f2", Name: "Deep", Parent: "f1"}}}},
			Groups:  []templates.ChatGroup{{Label: "Today", Chats: []templates.ChatRow{{ID: "c1", Title: "Rome", Current: true}, {ID: "c3", Title: "Sparta"}}}},
		},
	}
	chat := templates.Chat{Shell: shell, ID: "c1", Name: "Rome",
		Messages: templates.MessagePage{Chat: "c1", Messages: []templates.Message{
			{Chat: "c1", ID: "t1", Role: "user", Status: "complete", Author: "You", Text: "When was Rome founded?", Editable: true},
			{Chat: "c1", ID: "r1", Role: "assistant", Status: "complete", Author: "Model", Again: true, Rounds: []templates.Round{{Reply: "r1", N: 1, HTML: "<p>In 753 BC.</p>"}}},
		}},
		Composer: templates.Composer{Chat: "c1", State: "idle", Send: templates.Send{Chat: "c1", Act: "send"}, MaxLength: 100000,
			Models: []templates.ModelOption{{ID: "m1", Title: "One", Selected: true}, {ID: "m2", Title: "Two"}}},
	}
	s := newSite(t)
	s.answer("GET /chat/c1", func(w http.ResponseWriter, r *http.Request) {
		var page bytes.Buffer
		if err := set.Page(&page, "chat", chat); err != nil {
			t.Errorf("rendering: %v", err)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = page.WriteTo(w)
	})
	s.files, s.root = files.Handler(), files.Root()
	return s
}

// TestProductMarkup drives the product's own page, so that hooks and scripts
// cannot drift apart.
func TestProductMarkup(t *testing.T) {
	s := realSite(t)
	s.answer("POST /api/v1/chats/c1/messages", accepted)
	s.answer("POST /api/v1/chats/c1/messages/t1/edit", accepted)
	for _, r := range []string{"PATCH /api/v1/chats/c3", "DELETE /api/v1/chats/c3", "POST /api/v1/chats/c1/stop"} {
		s.answer(r, func(w http.ResponseWriter, r *http.Request) {})
	}
	p := openTab(t, copied)
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	p.until(`document.body.dataset.connection === 'live'`)

	p.click("#prompt")
	p.press("And Sparta?\r")
	s.called(t, "POST /api/v1/chats/c1/messages", 0)
	p.until(`document.querySelector('#send use').getAttribute('href') === '#i-stop'`)
	p.press("\x1b")
	s.called(t, "POST /api/v1/chats/c1/stop", 0)
	l.send(t, frame(11, "c1", op{"op": "blocks", "target": "text-r1-1", "keep": []int{1}, "html": "<p>Or so they say.</p>"}, op{"op": "attr", "target": "composer", "name": "data-state", "value": "idle"}))
	p.until(`document.querySelector('#text-r1-1').textContent === 'In 753 BC.Or so they say.' && document.querySelector('#send use').getAttribute('href') === '#i-send'`)

	p.exec(`document.querySelector('#foot-r1 [data-act=copy-text]').click()`)
	p.until(`window.copied === 'In 753 BC.\n\nOr so they say.'`)
	p.exec(`document.querySelector('#m-t1 [data-act=edit-message]').click()`)
	p.until(`document.activeElement.value === 'When was Rome founded?' && getComputedStyle(document.getElementById('text-t1')).display !== 'contents' && !document.getElementById('text-t1').offsetParent`)
	p.press("!")
	p.click("#m-t1 [data-act=save-edit]")
	if c := s.called(t, "POST /api/v1/chats/c1/messages/t1/edit", 0); !strings.Contains(c.Body, "founded?!") {
		t.Errorf("edited with %s", c.Body)
	}
	p.until(`document.getElementById('text-t1').offsetParent`)

	p.exec(`document.querySelector('#c-c3 [data-menu]').click()`)
	p.until(`document.activeElement.closest('#chat-menu')`)
	p.click("#chat-menu [data-act=move-chat]")
	p.until(`document.getElementById('ask').open`)
	p.equal(`[...document.querySelectorAll('#ask [type=radio]')].map(r => [r.value, r.parentElement.textContent])`, [][]string{{"", "No folder"}, {"f1", "Work"}, {"f2", "\u2003Deep"}})
	p.click("#ask [value=ok]")
	s.called(t, "PATCH /api/v1/chats/c3", 0)
	p.exec(`document.querySelector('#c-c3 [data-menu]').click()`)
	p.until(`document.activeElement.closest('#chat-menu')`)
	p.click("#chat-menu [data-act=rename-chat]")
	p.until(`document.activeElement.className === 'rename'`)
	p.press("Athens\r")
	if c := s.called(t, "PATCH /api/v1/chats/c3", 1); c.Body != `{"title":"Athens"}` {
		t.Errorf("renamed with %s", c.Body)
	}
	p.apply(op{"op": "toast", "kind": "ok", "text": "Sparta is done", "href": "/chat/c3", "key": "k"})
	p.until(`document.querySelector('.toast a').getAttribute('href') === '/chat/c3' && document.querySelector('.toast [data-slot=text]').textContent === 'Sparta is done'`)
	p.exec(`document.activeElement.blur()`)
	p.press("?")
	p.until(`document.querySelector('dialog[open] .keys')`)
}
