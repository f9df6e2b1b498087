package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestCardsByFingerAndByEar is who has a small screen and who has none.
func TestCardsByFingerAndByEar(t *testing.T) {
	c := newCourt(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *court)
	}{
		{"by finger", cardByFinger},
		{"long arguments", longArguments},
		{"by ear", cardByEar},
		{"focus after another's answer", focusAfterAnother},
	} {
		t.Run(step.name, func(t *testing.T) {
			c.stage.clear()
			step.run(t, c)
		})
	}
}

// phone opens a chat on a narrow screen with touch.
func (c *court) phone(t *testing.T, chat string) *tab {
	t.Helper()
	p := c.page(t, "/")
	p.size(360, 740)
	p.open(c.url + "/chat/" + chat)
	p.until(`matchMedia('(pointer: coarse)').matches && document.body.dataset.side === 'closed'`)
	p.live()
	return p
}

// fits: nothing is too wide or on top of something else, and on a phone nothing
// is too small.
func (p *tab) fits() {
	p.t.Helper()
	p.noSidewaysScroll()
	for _, e := range value[[]string](p, `(() => { const out = []
		for (const box of document.querySelectorAll('.card, .card *')) {
			const all = [...box.children].map(e => [e, e.getBoundingClientRect()]).filter(([e, r]) => r.width && r.height && !e.matches('.unseen, svg *, option'))
			for (const [i, [a, r]] of all.entries()) for (const [b, s] of all.slice(i + 1))
				if (Math.min(r.right, s.right) - Math.max(r.left, s.left) > 1 && Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top) > 1 && getComputedStyle(a).display !== 'inline' && getComputedStyle(b).display !== 'inline') out.push(a.outerHTML.slice(0, 90) + ' AND ' + b.outerHTML.slice(0, 90))
			const r = box.getBoundingClientRect()
			if (r.width && !box.closest('svg') && !box.matches('.unseen, .unseen *') && (r.right > innerWidth || r.left < 0)) out.push('beyond the edge: ' + box.outerHTML.slice(0, 120))
		}
		return out })()`) {
		p.t.Errorf("on the card: %s", e)
	}
	if !value[bool](p, `matchMedia('(pointer: coarse)').matches`) {
		return
	}
	p.bigEnough()
	for _, e := range value[[]string](p, `[...document.querySelectorAll('.card :is(button, label.card-option, textarea)')].filter(e => { const r = e.getBoundingClientRect(); return r.width && (r.height < 43.5 || r.width < 43.5) }).map(e => e.outerHTML.slice(0, 120))`) {
		p.t.Errorf("too small for a finger: %s", e)
	}
}

// touch taps what the reader has scrolled into the middle.
func (p *tab) touch(css string) {
	p.t.Helper()
	p.until(`(e => e && (e.scrollIntoView({block: 'center'}), true))(document.querySelector(` + quote(css) + `))`)
	p.tap(css)
}

func cardByFinger(t *testing.T, c *court) {
	p := c.phone(t, c.chat("stage", "act"))
	c.stage.next(t).calls(c.fetches("asked-30"), posts("letter-30"), strikes("bell-30"))
	p.until(waitingCard)
	p.fits()
	p.shot("cards-30-phone")
	p.touch(item(1) + ` [data-act=card-edit]`)
	p.until(`document.activeElement.matches('` + item(1) + ` [data-slot=argument]')`)
	p.press("a", ctrl)
	p.press(c.mill.URL + "/edited-30")
	p.touch(item(1) + ` [data-verdict=allow]`)
	p.touch(item(2) + ` [data-verdict=deny]`)
	p.until(`document.activeElement.matches('` + item(2) + ` [data-slot=reason]')`)
	p.press("too far")
	p.fits()
	p.shot("cards-30-begun")
	p.touch(item(2) + ` [data-act=card-deny]`)
	p.touch(item(3) + ` [data-verdict=always]`)
	p.until(waitingCard + `.querySelector('[data-act=card-send]').ariaDisabled !== 'true'`)
	p.shot("cards-30-decided")
	p.touch(`.card [data-act=card-send]`)
	tells(t, "the record", p.record(), "1 corrected", "/edited-30", "too far")
	p.until(`!document.activeElement.matches('textarea, input')`) // no keyboard comes up
	c.stage.next(t).calls(asks("Which way?|North|South", "Why?"))
	p.until(waitingCard)
	p.fits()
	p.touch(item(1) + ` [value=South]`)
	p.touch(item(2) + ` [data-slot=text]`)
	p.press("because")
	p.shot("cards-30-questions")
	p.touch(`.card [data-act=card-send]`)
	p.record()
	next := c.stage.next(t)
	tells(t, "the model's next request", string(next.body), "South", "because")
	next.end("South, then")
	p.settled("complete")
	p.touch(`.record > summary`)
	p.until(`document.querySelector('.record[open] .record-items').checkVisibility()`)
	p.noSidewaysScroll()
	p.bigEnough()
	p.shot("cards-30-record")
	if got := c.mill.ran("-30"); len(got) != 2 {
		t.Errorf("there ran %v", got)
	}
}

// longArguments: all of what would run can be read, whatever it is, and what
// cannot be seen is written out.
func longArguments(t *testing.T, c *court) {
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, "line %d of the letter\n", i+1)
	}
	wide := strings.Repeat("0123456789", 1024) + "THE-END"
	hidden := "rm \u202e-rf\u202c /\x1b[2K\u200b\x07 now"
	p := c.phone(t, c.chat("stage", "act"))
	c.stage.next(t).calls(posts(lines.String()), strikes(wide), strikes(hidden), c.fetches("?"+hidden))
	p.until(waitingCard)
	p.fits()
	for n, words := range map[int][]string{1: {"line 1 of", "line 100 of the letter"}, 2: {"0123456789", "THE-END"}, 3: {"202e", "200b", "-rf"}, 4: {"202e", "200b", "-rf"}} {
		box := `document.querySelector('` + item(n) + `')`
		tells(t, fmt.Sprint("item ", n), value[string](p, box+`.innerText`), words...)
		if raw := value[bool](p, `/[\u202e\u202c\u200b\x1b\x07]/.test([...`+box+`.querySelectorAll('pre, code, q, p')].map(e => e.textContent).join(''))`); raw {
			t.Errorf("item %d has characters that are not seen", n)
		}
		if hid := value[[]string](p, `[...`+box+`.querySelectorAll('pre')].filter(e => (e.scrollHeight > e.clientHeight + 1 && !(/auto|scroll/.test(getComputedStyle(e).overflowY) && e.tabIndex === 0)) || (e.scrollWidth > e.clientWidth + 1 && !/auto|scroll/.test(getComputedStyle(e).overflowX))).map(e => e.outerHTML.slice(0, 200))`); len(hid) > 0 {
			t.Errorf("item %d cannot be read whole: %v", n, hid)
		}
	}
	p.until(`(document.querySelector('` + item(2) + `').scrollIntoView(), true)`)
	p.shot("cards-31-wide")
	p.until(`(document.querySelector('` + item(3) + `').scrollIntoView(), true)`)
	p.shot("cards-31-hidden")
	p.size(1280, 800)
	p.fits()
	p.shot("cards-31-desktop")
	p.size(360, 740)
	p.touch(`.card footer [data-verdict=deny]`)
	p.until(`document.activeElement.matches('.card footer [data-slot=reason]')`)
	p.fits()
	p.touch(`.card footer [data-act=card-deny]`)
	tells(t, "the record", p.record(), "You denied all 4 calls", "THE-END")
	p.noSidewaysScroll()
	c.stage.next(t).end("Well")
	p.settled("complete")
}

// cardByEar is what a screen reader is told, and when.
func cardByEar(t *testing.T, c *court) {
	chat := c.chat("stage", "act")
	p := c.at(t, chat)
	p.live()
	value[bool](p, `(self.spoken = [], new MutationObserver(() => { const s = document.querySelector('#alert').textContent; if (s) spoken.push(s) }).observe(document.querySelector('#alert'), {childList: true, characterData: true, subtree: true}), true)`)
	p.do(chromedp.Focus(chromedp.CSS(`#prompt`)))
	c.stage.next(t).calls(c.fetches("asked-32"), posts("letter-32"), posts("letter-33"))
	p.until(waitingCard + ` && spoken.length`)
	if got := value[[]string](p, `spoken`); len(got) != 1 || !strings.Contains(got[0], "3 calls") {
		t.Errorf("spoken at once: %q", got)
	}
	p.until(`document.activeElement.matches('#prompt')`) // who writes is not torn away
	tree := p.tree()
	for _, want := range []string{"region: Allow these 3 calls?", "group: 1 of 3: Read a page", "group: 2 of 3: Post a letter", "group: 3 of 3: Post a letter"} {
		if !slices.ContainsFunc(tree, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("no %q in the tree", want)
		}
	}
	names := map[string]int{}
	for _, s := range tree {
		if name, ok := strings.CutPrefix(s, "button: "); ok && (strings.Contains(name, "Allow") || strings.Contains(name, "Always") || strings.Contains(name, "Deny") || strings.Contains(name, "Edit…") || name == "") {
			names[name]++
		}
	}
	for name, n := range names {
		if n > 1 || name == "" {
			t.Errorf("%d buttons are called %q", n, name)
		}
	}
	if len(names) < 3+2+1+3+2 {
		t.Errorf("the buttons are called %v", names)
	}
	if s := strings.Join(tree, "\n"); !strings.Contains(s, "waiting for you") {
		t.Errorf("no status word in\n%s", s)
	}
	p.click(`.card footer [data-verdict=allow]`)
	p.record()
	p.until(`document.activeElement.matches('#prompt')`)
	c.stage.next(t).end("Done")
	p.settled("complete")
	tree = p.tree()
	if !slices.ContainsFunc(tree, func(s string) bool { return strings.Contains(s, "You allowed all 3 calls") }) {
		t.Errorf("the record has no name in\n%s", strings.Join(tree, "\n"))
	}
	if got := value[[]string](p, `spoken`); len(got) != 1 {
		t.Errorf("spoken at once until the end: %q", got)
	}
}

// focusAfterAnother: who stands in a card that somebody else answers is put on
// its record, not at the beginning of the page.
func focusAfterAnother(t *testing.T, c *court) {
	p, chat := c.card(t, posts("letter-34"))
	q := c.at(t, chat)
	p.do(chromedp.Focus(chromedp.CSS(`.card [data-verdict=always]`)))
	q.until(waitingCard)
	q.click(`.card [data-verdict=allow]`)
	p.record()
	p.until(`document.activeElement.matches('.record > summary')`)
	c.stage.next(t).end("Sent")
	p.settled("complete")
}
