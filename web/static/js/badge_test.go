package js_test

import (
	"strings"
	"testing"
)

// TestTitleBadge: chats that want the reader are counted in the title; the one
// before the reader's eyes is not, one behind a hidden tab is.
func TestTitleBadge(t *testing.T) {
	s := sideSite(t)
	s.main += `<link rel="icon" href="/favicon.svg">`
	p := openTab(t, `Object.defineProperty(document, 'hidden', { get: () => !!window.away })`)
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	see := func(away string) {
		p.exec(`(window.away = ` + away + `, document.dispatchEvent(new Event('visibilitychange')))`)
	}
	icon := `document.querySelector('link[rel=icon]').href.replace(/.*\//, '')`
	p.equal(`[document.title, `+icon+`]`, []string{"Rome · LLeMbas", "favicon.svg"})
	see("true")
	l.send(t, frame(11, "", op{"op": "attr", "target": "c-c3", "name": "data-unread", "value": "true"}, op{"op": "attr", "target": "c-c1", "name": "data-needs-you", "value": "true"}))
	p.until(`document.title === '(2) Rome · LLeMbas'`)
	p.equal(icon, "favicon-waiting.svg")
	l.send(t, frame(12, "c1", op{"op": "title", "text": "Roma · LLeMbas"}))
	p.until(`document.title === '(2) Roma · LLeMbas'`)
	s.set(func(s *site) {
		for _, c := range s.calls {
			if strings.HasSuffix(c.Path, "/seen") {
				t.Error("a hidden page says that it was seen")
			}
		}
	})
	see("false")
	p.equal(`[document.title, `+icon+`]`, []string{"(1) Roma · LLeMbas", "favicon.svg"})
	// The whole list anew: a card waits in another chat, and c3 was read.
	l.send(t, frame(13, "", op{"op": "put", "target": "side-tree", "html": `<div id="side-tree">` + row("c1", "Roma", ` data-needs-you="true"`) + row("c3", "Sparta", ` data-needs-you="true"`) + `</div>`}))
	p.until(`document.title === '(1) Roma · LLeMbas' && ` + icon + ` === 'favicon-waiting.svg'`)
	l.send(t, frame(14, "", op{"op": "put", "target": "c-c3", "html": row("c3", "Sparta", "")}))
	p.until(`document.title === 'Roma · LLeMbas' && ` + icon + ` === 'favicon.svg'`)
}
