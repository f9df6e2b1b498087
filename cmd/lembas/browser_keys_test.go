package main

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestByKeyboardAlone: sign in, a new chat, send, stop, rename, another chat,
// sign out, without a mouse.
func TestByKeyboardAlone(t *testing.T) {
	w := newWorld(t)
	other := w.ended(t, "the other chat", "Yes")
	p := newProfile(t).tab("")
	p.size(1280, 800)
	p.do(chromedp.Navigate(w.url + "/auth/login"))
	p.until(`document.activeElement.matches('[name=email]')`)
	p.press(annMail + "\t" + password + "\r")
	p.until(`document.querySelector('#composer') && 'ready' in document.documentElement.dataset`)
	p.press("\t")
	p.until(`document.activeElement.matches('.skip') && document.activeElement.getBoundingClientRect().top >= 0`)
	p.shot("keys-1-skip")
	p.tabTo(`#model`)
	p.choose("#model", "gate") // the list of a select is the browser's own
	p.press("n", chromedp.ModifierAlt)
	p.until(`location.pathname === '/' && 'ready' in document.documentElement.dataset && !document.activeElement.matches('#model')`)
	p.choose("#model", "gate")
	p.press("/")
	p.until(`document.activeElement.matches('#prompt')`)
	p.press("by keyboard\r")
	chat := p.chatID()
	w.gate.next(t).say("Some words")
	p.reads("Some words")
	p.press(kb.Escape)
	p.settled("stopped")
	p.tabTo(`#chat-title`)
	p.shot("keys-2-focus")
	p.press("\r")
	p.until(`document.activeElement.matches('.rename')`)
	p.press("Keys\r")
	p.until(side(chat) + ` === 'Keys' && document.activeElement.id === 'chat-title'`)
	p.press(kb.ArrowDown, chromedp.ModifierAlt)
	p.until(`location.pathname === '/chat/` + other + `' && 'ready' in document.documentElement.dataset`)
	p.press(kb.ArrowUp, chromedp.ModifierAlt)
	p.until(`location.pathname === '/chat/` + chat + `' && 'ready' in document.documentElement.dataset`)
	p.press("?")
	p.until(`document.querySelector('dialog[open] .keys')`)
	p.shot("keys-3-help")
	p.press(kb.Escape)
	p.until(`!document.querySelector('dialog[open]')`)
	p.tabTo(`#c-` + chat + ` [data-menu]`)
	p.press("\r")
	p.until(`document.activeElement.matches('#chat-menu:popover-open[data-placed] [data-act=rename-chat]')`)
	p.press(kb.ArrowDown + kb.ArrowUp + kb.Escape)
	p.until(`!document.querySelector(':popover-open') && document.activeElement.matches('#c-` + chat + ` [data-menu]')`)
	p.tabTo(`form[action="/auth/logout"] button`)
	p.press("\r")
	p.until(`location.pathname === '/auth/login'`)
}

// tabTo walks with the Tab key until an element has the focus; the focus can
// be seen on every way station.
func (p *tab) tabTo(css string) {
	p.t.Helper()
	for range 120 {
		p.press("\t")
		at := value[string](p, `(e => e.matches(`+quote(css)+`) ? 'there' : e === document.body || [e, e.closest('.card-option')].some(x => x && getComputedStyle(x).outlineStyle !== 'none') || e.matches('#prompt, #side-filter, #side-grip, .rename, .switch, select') || e.closest('.composer, .search') ? '' : e.outerHTML.slice(0, 200))(document.activeElement)`)
		if at == "there" {
			return
		}
		if at != "" {
			p.t.Errorf("no focus ring on %s", at)
		}
	}
	p.t.Fatalf("the Tab key does not come to %s", css)
}

// TestOnAPhone: 360 px wide, by touch.
func TestOnAPhone(t *testing.T) {
	w := newWorld(t)
	other := w.ended(t, "the other chat", "Yes")
	p := w.page(t, "/")
	p.size(360, 740)
	p.open(w.url + "/")
	p.until(`matchMedia('(pointer: coarse)').matches && document.body.dataset.side === 'closed'`)
	p.choose("#model", "gate")
	p.tap("#prompt")
	p.until(`document.activeElement.matches('#prompt')`)
	p.press("one line\ranother line") // Enter is a new line there
	p.until(`document.querySelector('#prompt').value === 'one line\nanother line'`)
	p.shot("phone-1-written")
	p.tap("#send")
	chat := p.chatID()
	c := w.gate.next(t).say("| a wide table | with | many | columns | so | that | it | scrolls |\n|-|-|-|-|-|-|-|-|\n| one | two | three | four | five | six | seven | eight |\n\n")
	p.until(newest + `.querySelector('table')`)
	p.tap("#send") // it is Stop
	p.settled("stopped")
	c.left()
	p.noSidewaysScroll()
	p.tap(`#log [data-role=assistant] [data-act=regenerate]`) // there without hovering
	w.gate.next(t).say("Again").end()
	p.settled("complete")
	p.reads("Again")
	p.shot("phone-2-chat")
	p.tap(`.side-open`)
	p.until(`document.body.dataset.side === 'open' && document.querySelector('main').inert`)
	p.shot("phone-3-drawer")
	p.tap(`#c-` + chat + ` [data-menu]`)
	p.until(`document.querySelector('#chat-menu:popover-open[data-placed]')`)
	p.shot("phone-4-menu")
	p.tap(`#chat-menu [data-act=rename-chat]`)
	p.until(`document.activeElement.matches('.rename, #ask input')`)
	p.press("Phone\r")
	p.until(side(chat) + ` === 'Phone'`)
	p.tap(`#c-` + other + ` a`)
	p.until(`location.pathname === '/chat/` + other + `' && 'ready' in document.documentElement.dataset && document.body.dataset.side === 'closed'`)
	for _, path := range []string{"/", "/settings", "/chat/" + chat} {
		p.open(w.url + path)
		p.noSidewaysScroll()
		p.bigEnough()
	}
}

func (p *tab) noSidewaysScroll() {
	p.t.Helper()
	if over := value[int](p, `Math.max(document.documentElement.scrollWidth, document.body.scrollWidth, document.querySelector('.scroller').scrollWidth) - innerWidth`); over > 0 {
		p.t.Errorf("%s is %d px too wide", value[string](p, `location.pathname`), over)
	}
}

// bigEnough: what is to be touched is 44 px high, or stands in a row of text.
func (p *tab) bigEnough() {
	p.t.Helper()
	small := value[[]string](p, `[...document.querySelectorAll('main :is(button, select, summary, input:not([type=hidden], .switch)), main a.button')].filter(e => { const r = e.getBoundingClientRect(); return r.width && r.height && !e.closest('.unseen, .code, .table') && !e.matches('.unseen, input[type=radio], .skip, select *') && Math.max(r.height, e.closest('label')?.getBoundingClientRect().height || 0) < 43.5 }).map(e => e.outerHTML.slice(0, 160) + ' ' + e.getBoundingClientRect().height)`)
	for _, e := range small {
		p.t.Errorf("%s: too small for a finger: %s", value[string](p, `location.pathname`), e)
	}
}
