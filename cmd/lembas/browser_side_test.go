package main

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestKeepingChats is what a person does with many chats.
func TestKeepingChats(t *testing.T) {
	w := newWorld(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"rename in both tabs", renameInBothTabs},
		{"folders", folders},
		{"move by menu and by drag", moveChat},
		{"filter by title", filterChats},
		{"pin", pinChat},
		{"unread, and a toast", unreadAndToast},
		{"delete a chat", deleteChat},
	} {
		t.Run(step.name, func(t *testing.T) { step.run(t, w) })
	}
}

// side is the text of a chat's row in the list, or nothing.
func side(chat string) string {
	return `document.querySelector('#c-` + chat + ` .row-title')?.innerText`
}

// menu opens a menu in the list and takes an action.
func (p *tab) menu(row, act string) {
	p.t.Helper()
	x, y := p.middle(row)
	p.hover(x, y)
	p.click(row + ` [data-menu]`)
	p.until(`document.querySelector('.menu:popover-open[data-placed]')`)
	p.click(`.menu:popover-open[data-placed] [data-act=` + act + `]`)
}

// headMenu takes an action of the menu of the chat that is shown.
func (p *tab) headMenu(act string) {
	p.t.Helper()
	p.click(`.top [popovertarget=chat-menu]`)
	p.until(`document.querySelector('#chat-menu:popover-open[data-placed]')`)
	p.click(`#chat-menu [data-act=` + act + `]`)
}

// answer fills in the dialog that is open.
func (p *tab) answer(words string) {
	p.t.Helper()
	p.until(`document.querySelector('#ask').open && document.activeElement.matches('#ask input')`)
	p.press(words + "\r")
	p.until(`!document.querySelector('#ask').open`)
}

func renameInBothTabs(t *testing.T, w *world) {
	chat := w.ended(t, "rename me", "Yes")
	p, q := w.at(t, chat), w.at(t, chat)
	p.live()
	q.live()
	p.click("#chat-title")
	p.until(`document.activeElement.matches('.rename')`)
	p.shot("rename-heading")
	p.press("The Road\r")
	for _, tab := range []*tab{p, q} {
		tab.until(`document.querySelector('#chat-title').innerText === 'The Road' && ` + side(chat) + ` === 'The Road' && document.title.startsWith('The Road')`)
	}
	q.menu("#c-"+chat, "rename-chat")
	q.until(`document.activeElement.matches('#c-` + chat + ` .rename')`)
	q.press("There and Back\r")
	for _, tab := range []*tab{p, q} {
		tab.until(`document.querySelector('#chat-title').innerText === 'There and Back' && ` + side(chat) + ` === 'There and Back'`)
	}
}

// folderID waits for a folder by its name.
func (p *tab) folderID(name string) string {
	p.t.Helper()
	find := `[...document.querySelectorAll('#side-tree .folder')].find(f => f.querySelector('.row-title').textContent === ` + quote(name) + `)`
	p.until(find)
	return value[string](p, find+`.dataset.folder`)
}

func folders(t *testing.T, w *world) {
	p := w.page(t, "/")
	p.live()
	p.click(`.side-new [data-act=new-folder]`)
	p.answer("Shire")
	shire := p.folderID("Shire")
	p.menu("#f-"+shire+" > summary", "new-folder")
	p.answer("Hobbiton")
	hobbiton := p.folderID("Hobbiton")
	p.until(`document.querySelector('#f-` + hobbiton + `').parentElement.closest('.folder').id === 'f-` + shire + `'`)
	p.until(`document.querySelector('#f-` + hobbiton + ` > summary').checkVisibility({contentVisibilityAuto: true})`) // the outer one opened for it
	p.menu("#f-"+hobbiton+" > summary", "rename-folder")
	p.answer("Bag End")
	p.until(`document.querySelector('#f-` + hobbiton + ` .row-title').innerText === 'Bag End'`)
	p.shot("folders")
	p.menu("#f-"+hobbiton+" > summary", "new-chat-in")
	p.until(`location.search.includes('folder=` + hobbiton + `') && 'ready' in document.documentElement.dataset && document.querySelector('.top .tag')?.innerText === 'Bag End'`)
	p.choose("#model", "gate")
	p.say("made in a folder")
	chat := p.chatID()
	w.gate.next(t).say("Here").end()
	p.until(`document.querySelector('#f-` + hobbiton + ` #c-` + chat + `')`)
	p.menu("#f-"+shire+" > summary", "delete-folder")
	p.until(`document.querySelector('#ask').open`)
	p.shot("dialog-delete-folder")
	p.click(`#ask [data-slot=ok]`)
	p.until(`!document.querySelector('#f-` + shire + `') && document.querySelector('#c-` + chat + `')`)
}

func moveChat(t *testing.T, w *world) {
	chat, other := w.ended(t, "move me", "Yes"), w.ended(t, "and me", "Yes")
	w.ended(t, "leave me", "Yes")
	folder := text(w.ann.want(201, "POST", "/api/v1/folders", map[string]any{"name": "Rohan"})["id"])
	p, q := w.at(t, chat), w.page(t, "/")
	p.live()
	q.live()
	p.menu("#c-"+chat, "move-chat")
	p.until(`document.querySelector('#ask').open`)
	p.shot("dialog-move")
	p.click(`#ask label:has([value="` + folder + `"])`)
	p.click(`#ask [data-slot=ok]`)
	for _, tab := range []*tab{p, q} {
		tab.until(`document.querySelector('#f-` + folder + ` #c-` + chat + `')`)
	}
	p.headMenu("move-chat")
	p.until(`document.querySelector('#ask :checked').value === '` + folder + `'`) // where it is
	p.press(kb.Escape)
	p.drag("#c-"+other+" .row-title", "#f-"+folder+" > summary .row-title")
	for _, tab := range []*tab{p, q} {
		tab.until(`document.querySelector('#f-` + folder + ` #c-` + other + `')`)
	}
	p.click("#f-" + folder + " > summary .row-title")
	p.until(`document.querySelector('#f-` + folder + `').open`)
	p.drag("#c-"+other+" .row-title", `[data-group=date] h2`)
	p.until(`document.querySelector('[data-group=date] #c-` + other + `')`)
	p.until(`!document.querySelector('[data-drop]')`)
}

func filterChats(t *testing.T, w *world) {
	chat, other := w.ended(t, "Isengard", "Yes"), w.ended(t, "Lothlorien", "Yes")
	p := w.page(t, "/")
	p.until(side(chat) + ` === 'On Isengard' && ` + side(other) + ` === 'On Lothlorien'`)
	p.press("k", ctrl)
	p.press("isen")
	p.until(`document.querySelector('#c-` + chat + `').offsetParent && !document.querySelector('#c-` + other + `').offsetParent`)
	p.press("gardens")
	p.until(`document.querySelector('.tree-none').offsetParent`)
	p.shot("filter-none")
}

func pinChat(t *testing.T, w *world) {
	chat := w.ended(t, "pin me", "Yes")
	p := w.page(t, "/")
	p.live()
	p.menu("#c-"+chat, "pin-chat")
	p.until(`document.querySelector('[data-group=pinned] #c-` + chat + `')`)
	p.click(`#c-` + chat + ` [data-menu]`)
	p.until(`document.querySelector('#chat-menu:popover-open[data-placed] [data-act=pin-chat]').innerText.trim() === 'Unpin'`)
	p.click(`#chat-menu [data-act=pin-chat]`)
	p.until(`document.querySelector('[data-group=date] #c-` + chat + `')`)
	p.open(w.url + "/chat/" + chat)
	p.click(`.top [popovertarget=export-menu]`) // beside its button
	p.until(`document.querySelector('#export-menu:popover-open[data-placed]').getBoundingClientRect().left > innerWidth / 2`)
}

// unreadAndToast: a reply ends in a chat that nobody looks at.
func unreadAndToast(t *testing.T, w *world) {
	chat := w.chat("gate", "while I am away")
	c := w.gate.next(t).say("Working")
	p, q := w.page(t, "/"), w.page(t, "/settings")
	p.live()
	q.live()
	for _, tab := range []*tab{p, q} {
		tab.until(`document.querySelector('#c-` + chat + `').dataset.status === 'streaming'`)
	}
	c.say(", done").end()
	for _, tab := range []*tab{p, q} {
		tab.until(`document.querySelector('#c-` + chat + `').dataset.unread && document.querySelector('#c-` + chat + ` [data-when=unread]').getClientRects().length`)
		tab.until(`document.querySelectorAll('.toast').length === 1 && document.querySelector('.toast a[href="/chat/` + chat + `"]')`)
	}
	p.shot("toast-finished")
	p.click(`.toast a`)
	p.settled("complete")
	for _, tab := range []*tab{p, q} {
		tab.until(`!document.querySelector('#c-` + chat + `').dataset.unread`)
	}
}

func deleteChat(t *testing.T, w *world) {
	chat := w.ended(t, "delete me", "Yes")
	p, q := w.at(t, chat), w.page(t, "/")
	p.live()
	q.live()
	p.click(`.top [popovertarget=chat-menu]`)
	p.until(`document.querySelector('#chat-menu:popover-open[data-placed]')`)
	p.shot("menu-chat")
	p.click(`#chat-menu [data-act=delete-chat]`)
	p.until(`document.querySelector('#ask').open && document.activeElement.value === 'cancel'`)
	p.shot("dialog-delete")
	p.click(`#ask [data-slot=ok]`)
	p.until(`location.pathname === '/'`)
	q.until(`!document.querySelector('#c-` + chat + `')`)
	p.do(chromedp.Navigate(w.url + "/chat/" + chat))
	p.until(`document.querySelector('.fault-status').innerText === '404'`)
}
