package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestScreens walks through the product and writes what it looks like, in both
// themes, wide and narrow: make screens. Without LEMBAS_SCREENS it only walks,
// once wide and once narrow; no page may be wider than its window.
func TestScreens(t *testing.T) {
	w := newWorld(t)
	w.furnish(t)
	for _, theme := range []string{"moria", "shire"} {
		for _, width := range []int64{1280, 360} {
			if os.Getenv("LEMBAS_SCREENS") == "" && (theme == "shire") != (width < 700) {
				continue
			}
			t.Run(fmt.Sprintf("%s %d", theme, width), func(t *testing.T) {
				v := &screens{world: w, t: t, theme: theme, width: width}
				v.p = (&profile{t, w.b.ctx}).tab("")
				height := int64(800)
				if width < 700 {
					height = 740
				}
				v.p.size(width, height)
				v.streams()
				v.ended()
				v.errors()
				v.overlays()
				v.pages()
				v.adminPages()
			})
		}
	}
}

// screens is one walk.
type screens struct {
	*world
	t     *testing.T
	p     *tab
	theme string
	width int64
}

// furnish gives ann a life: folders, a pinned chat, one that failed, an unread one.
func (w *world) furnish(t *testing.T) {
	t.Helper()
	outer := text(w.ann.want(201, "POST", "/api/v1/folders", map[string]any{"name": "Journeys"})["id"])
	inner := text(w.ann.want(201, "POST", "/api/v1/folders", map[string]any{"name": "Over the mountains", "parent_id": outer})["id"])
	for words, patch := range map[string]map[string]any{
		"Pack": {"title": "What to pack for a long walk", "folder_id": inner},
		"Pony": {"title": "Feeding a pony", "folder_id": outer},
		"Tea":  {"title": "Second breakfast, and how to plan it around a council", "pinned": true},
		"Ring": {"title": "Riddles in the dark"},
	} {
		chat := w.ended(t, words, "As you like.")
		w.ann.want(200, "PATCH", "/api/v1/chats/"+chat, patch)
	}
}

// see opens a path in the walk's theme.
func (v *screens) see(path string) {
	v.t.Helper()
	v.p.open(v.url + path)
	v.p.until(`(document.documentElement.dataset.theme = ` + quote(v.theme) + `, document.fonts.status === 'loaded')`)
}

// take writes a screenshot.
func (v *screens) take(name string) {
	v.t.Helper()
	v.p.shot(fmt.Sprintf("%s-%d-%s", v.theme, v.width, name))
	v.p.noSidewaysScroll()
}

func (v *screens) streams() {
	v.see("/")
	v.take("new")
	chat := v.chat("gate", "Tell me about the road, and take your time")
	c := v.gate.next(v.t)
	v.see("/chat/" + chat)
	v.p.until(newest + `.querySelector('.wait')`)
	v.take("asking")
	c.say("The road goes on, past the **last house** and down to the ford.\n\n1. a first stage\n2. a second one\n\n```go\nfunc main() {\n\tfmt.Println(\"on the w")
	v.p.until(newest + `.querySelector('pre')`)
	v.take("streaming")
	v.queue("And what do we eat?")
	v.p.until(`document.querySelectorAll('.queue-row').length === 1`)
	v.queue("Is there an inn, and if there is, does it take ponies?")
	v.p.until(`document.querySelectorAll('.queue-row').length === 2`)
	v.take("queue")
	v.p.click(`.queue-row [data-act=edit-queued]`)
	v.p.until(`document.activeElement.closest('.turn-edit')`)
	v.take("queue-edit")
	v.p.press(kb.Escape + kb.Escape)
	v.p.settled("stopped")
	c.left()
	v.p.until(`document.querySelector('[data-act=send-now]').offsetParent`)
	v.take("stopped-and-held")
}

// queue sends a message; on a phone Enter is a new line.
func (v *screens) queue(words string) {
	v.t.Helper()
	v.p.write("#prompt", words)
	v.p.click("#send")
}

// ended shows replies that ended well: texts, code, tables, thoughts, versions.
func (v *screens) ended() {
	for _, model := range []string{"demo-markdown", "demo-code", "demo-thinking"} {
		v.see("/chat/" + v.chat(model, "Show me"))
		v.p.settled("complete")
		if model == "demo-thinking" {
			v.take("thinking-folded")
			v.p.click(`.think summary`)
			v.p.until(newest + `.querySelector('.think').open`)
		}
		for part := range 4 {
			at := value[bool](v.p, fmt.Sprintf(`(s => { s.scrollTop = %d * (s.clientHeight - 60); return s.scrollTop >= %d * (s.clientHeight - 60) - 1 })(document.querySelector('#scroll'))`, part, part))
			v.take(fmt.Sprintf("%s-%d", model, part))
			if !at {
				break
			}
		}
	}
	v.see("/chat/" + v.world.ended(v.t, "A riddle, please", "No legs has it."))
	v.p.click(`[data-act=regenerate]`)
	v.gate.next(v.t).say("Thirty white horses on a red hill.").end()
	v.p.until(newest + `.querySelector('.versions')`)
	v.p.settled("complete")
	v.take("versions")
	v.p.click(`[data-act=edit-message]`)
	v.p.until(`document.activeElement.closest('.turn-edit')`)
	v.take("edit")
}

func (v *screens) errors() {
	for _, words := range []string{"cut the table", "an error", "html"} {
		v.see("/chat/" + v.chat("demo-chat", words))
		v.p.settled("failed")
		v.p.click(`.bubble summary`)
		v.take("error-" + words[:3])
	}
	v.see("/chat/" + v.chat("demo-chat", "busy"))
	v.p.until(newest + `.innerText.includes('trying again in')`)
	v.take("busy")
	v.p.settled("complete")
	v.take("busy-done")
}

// overlays shows what lies over a page: menus, dialogs, toasts, the drawer.
func (v *screens) overlays() {
	chat := v.world.ended(v.t, "Overlays", "Here.")
	away := v.chat("gate", "Elsewhere")
	c := v.gate.next(v.t).say("Working on it")
	v.see("/chat/" + chat)
	v.p.live()
	v.p.click(`.top [popovertarget=chat-menu]`)
	v.p.until(`document.querySelector('#chat-menu:popover-open[data-placed]')`)
	v.take("menu")
	v.p.click(`#chat-menu [data-act=move-chat]`)
	v.p.until(`document.querySelector('#ask').open`)
	v.take("dialog-move")
	v.p.press(kb.Escape)
	v.p.click(`.top [popovertarget=export-menu]`)
	v.p.until(`document.querySelector('#export-menu:popover-open[data-placed]')`)
	v.take("menu-export")
	v.p.press(kb.Escape)
	v.p.headMenu("delete-chat")
	v.p.until(`document.querySelector('#ask').open`)
	v.take("dialog-delete")
	v.p.press(kb.Escape)
	c.say(", and done").end()
	v.p.until(`document.querySelector('.toast a[href="/chat/` + away + `"]')`)
	v.take("toast")
	if v.width < 700 {
		v.p.tap(`.side-open`)
	} else {
		v.p.press("?")
		v.p.until(`document.querySelector('dialog[open] .keys')`)
		v.take("keys")
		v.p.press(kb.Escape)
		v.p.click(`#model`)
		v.take("picker")
		v.p.press(kb.Escape)
	}
	v.p.until(`document.body.dataset.side === 'open'`)
	v.p.until(`[...document.querySelectorAll('#side-tree details')].every(d => d.open = true)`)
	v.take("side")
	if v.width < 700 {
		v.p.press(kb.Escape)
	}
	v.p.until(`(document.body.dataset.wasLive = '', document.body.dataset.connection = 'lost')`)
	v.take("lost")
}

// pages shows ann's settings, whole.
func (v *screens) pages() {
	v.see("/settings")
	v.p.write(`#tokens [name=name]`, "laptop\r")
	v.p.until(`document.querySelector('#new-token')`)
	v.long("settings")
	v.p.do(chromedp.Navigate(v.url + "/nothing-here"))
	v.p.until(`(document.documentElement.dataset.theme = ` + quote(v.theme) + `, document.readyState === 'complete')`)
	v.p.shot(fmt.Sprintf("%s-%d-404", v.theme, v.width))
}

// long takes a page that scrolls, piece by piece.
func (v *screens) long(name string) {
	v.t.Helper()
	for part := range 6 {
		at := value[bool](v.p, fmt.Sprintf(`(s => { s.scrollTop = %d * (s.clientHeight - 40); return s.scrollTop + s.clientHeight < s.scrollHeight - 1 })(document.querySelector('.scroller'))`, part))
		v.take(fmt.Sprintf("%s-%d", name, part))
		if !at {
			return
		}
	}
}

// adminPages shows the administrator's, and the ones without a session.
func (v *screens) adminPages() {
	b := newProfile(v.t)
	ann := v.p
	v.p = b.tab("")
	defer func() { v.p = ann }()
	height := int64(800)
	if v.width < 700 {
		height = 740
	}
	v.p.size(v.width, height)
	for _, path := range []string{"login", "register"} {
		v.p.do(chromedp.Navigate(v.url + "/auth/" + path))
		v.p.until(`document.querySelector('form') && (document.documentElement.dataset.theme = ` + quote(v.theme) + `)`)
		v.p.shot(fmt.Sprintf("%s-%d-%s", v.theme, v.width, path))
	}
	v.p.signIn(v.url, adminMail)
	for _, path := range []string{"connections", "connections/" + v.demo, "models", "models/" + v.modelID("gate"), "users", "settings"} {
		v.see("/admin/" + path)
		name := "admin-" + path
		if len(path) > 20 {
			name = "admin-one-" + path[:4]
		}
		v.long(name)
	}
	v.toolPages()
}
