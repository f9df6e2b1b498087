package js_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"lembas/events"
)

const (
	// cardTop is where a card begins, in px below the top of the view.
	cardTop = `Math.round(document.getElementById('card-k1').getBoundingClientRect().top - document.getElementById('scroll').getBoundingClientRect().top)`
	// settledView waits until what a frame started has been drawn.
	settledView = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))`
	jumpHidden  = `document.getElementById('jump').hidden`
)

// phone makes the tab a small one with a finger.
func (p *tab) phone() {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(360, 640, chromedp.EmulateTouch, chromedp.EmulateMobile))
}

// words is a put of so many paragraphs into the round of the card.
func words(position, n int) string {
	html := ""
	for range n {
		html += "<p>One moment more.</p>"
	}
	return frame(position, "c1", op{"op": "put", "target": "text-r1-1", "html": `<div id="text-r1-1" class="text">` + html + `</div>`})
}

// TestTallCardScroll: a card that does not fit is seen from its top when the chat
// opens and when it comes; what else happens does not move its reader, and when it
// is answered the page follows again.
func TestTallCardScroll(t *testing.T) {
	k := approval("k1", 6)
	for _, c := range []struct {
		name  string
		opens bool // the card is there when the chat opens
	}{{"opens", true}, {"comes", false}} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			if c.opens {
				h.see(k)
			}
			p := openTab(t, "")
			p.phone()
			p.open(h.URL + "/chat/c1")
			l := h.next(t)
			if !c.opens {
				l.send(t, words(11, 40))
				p.until(gap + ` === 0 && document.getElementById('scroll').scrollTop > 500`)
				l.send(t, frame(12, "c1", h.put(k)))
			}
			p.until(`Math.abs(` + cardTop + ` - 24) < 2`)
			l.send(t, words(13, 50)) // above the card
			p.until(`document.querySelectorAll('#text-r1-1 p').length === 50 && Math.abs(` + cardTop + ` - 24) < 2`)

			p.wheel(200) // down in the card
			p.until(cardTop + ` < -100`)
			p.exec(settledView)
			p.exec(`window.was = ` + cardTop)
			l.send(t, frame(14, "", op{"op": "announce", "text": "elsewhere"}))
			p.until(`document.getElementById('live').textContent === 'elsewhere'`)
			p.exec(settledView)
			p.equal(cardTop+` === was`, true)

			p.exec(`(b => { b.scrollTop = b.scrollHeight })(document.getElementById('scroll'))`)
			p.exec(settledView)
			l.send(t, frame(15, "", op{"op": "announce", "text": "and again"}))
			p.until(`document.getElementById('live').textContent === 'and again'`)
			p.exec(settledView)
			p.equal(gap, 0) // nothing moved away from the buttons

			l.send(t, frame(16, "c1", h.put(answered(k, events.ConsentAnswer{Key: "a", Verdict: "allow"}))), words(17, 120))
			p.until(`document.querySelectorAll('#text-r1-1 p').length === 120 && ` + gap + ` === 0`)
		})
	}
}

// TestCardScrollLeavesTheReaderAlone: who scrolled up sees no card come, and who
// then goes down past its top is not taken back to it.
func TestCardScrollLeavesTheReaderAlone(t *testing.T) {
	k := approval("k1", 6)
	h := newHouse(t)
	p := openTab(t, "")
	p.phone()
	p.open(h.URL + "/chat/c1")
	l := h.next(t)
	l.send(t, words(11, 60))
	p.until(gap + ` === 0 && document.getElementById('scroll').scrollTop > 500`)
	p.wheel(-300)
	p.until(gap + ` > 200`)
	p.exec(settledView)
	p.exec(`window.was = document.getElementById('scroll').scrollTop`)
	l.send(t, frame(12, "c1", h.put(k)))
	p.until(`document.getElementById('card-k1')`)
	p.exec(settledView)
	p.equal(`document.getElementById('scroll').scrollTop === was`, true)

	p.exec(`(b => { b.scrollTop = b.scrollHeight })(document.getElementById('scroll'))`)
	p.exec(settledView)
	l.send(t, frame(13, "", op{"op": "announce", "text": "elsewhere"}))
	p.until(`document.getElementById('live').textContent === 'elsewhere'`)
	p.exec(settledView)
	p.equal(gap, 0)
}

// TestShortCardScroll: a card that fits is followed to the end as all else.
func TestShortCardScroll(t *testing.T) {
	k := approval("k1", 1)
	h := newHouse(t)
	p, l := h.open("")
	p.do(chromedp.EmulateViewport(1000, 900))
	l.send(t, words(11, 60))
	p.until(gap + ` === 0 && document.getElementById('scroll').scrollTop > 500`)
	l.send(t, frame(12, "c1", h.put(k)))
	p.until(`document.getElementById('card-k1') && ` + gap + ` === 0 && ` + cardTop + ` > 24`)
}

// TestJumpIsNotOverACard: on a phone the button lies over no control of a card
// that waits, wherever the reader is, and is there again below an answered one.
func TestJumpIsNotOverACard(t *testing.T) {
	k := approval("k1", 6)
	h := newHouse(t, k)
	p := openTab(t, "")
	p.phone()
	p.open(h.URL + "/chat/c1")
	l := h.next(t)
	l.send(t, words(11, 60))
	p.until(`document.querySelectorAll('#text-r1-1 p').length === 60`)
	p.exec(`document.getElementById('scroll').scrollTop = 0`)
	p.until(`!` + jumpHidden) // the card is out of sight
	p.exec(`document.getElementById('jump').click()`)
	p.until(`Math.abs(` + cardTop + ` - 24) < 2`) // its top first
	covered := run[string](p, `(async box => {
		let bad = '', seen = 0
		const apart = (a, b) => a.bottom <= b.top || a.top >= b.bottom || a.right <= b.left || a.left >= b.right
		for (box.scrollTop = 0; ; box.scrollTop += 40) {
			await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
			const jump = document.getElementById('jump'), r = jump.getBoundingClientRect()
			for (const b of document.querySelectorAll('.asks button')) if (b.offsetParent) {
				const at = b.getBoundingClientRect()
				if (at.top < r.bottom && at.bottom > 0) seen++
				if (!jump.hidden && !apart(at, r)) bad += box.scrollTop + ' ' + b.textContent + '; '
			}
			if (box.scrollHeight - box.scrollTop - box.clientHeight < 1) return seen ? bad : 'no button came in view'
		}
	})(document.getElementById('scroll'))`)
	if covered != "" {
		t.Errorf("the button lies over: %s", covered)
	}
	p.exec(`document.querySelector('#card-k1 [data-item=b] [data-verdict=allow]').scrollIntoView({ block: 'end' })`)
	p.exec(settledView)
	p.equal(`[`+jumpHidden+`, `+gap+` > 200]`, []bool{true, true})

	l.send(t, frame(12, "c1", h.put(answered(k, events.ConsentAnswer{Key: "a", Verdict: "allow"}))))
	p.until(`document.getElementById('card-k1').dataset.state === 'answered'`)
	p.exec(`document.getElementById('scroll').scrollTop = 300`)
	p.until(`!` + jumpHidden)
}

// TestJumpGoesThroughACard: from its top on to its end, where it stays.
func TestJumpGoesThroughACard(t *testing.T) {
	k := approval("k1", 6)
	h := newHouse(t, k)
	p := openTab(t, "")
	p.phone()
	p.open(h.URL + "/chat/c1")
	l := h.next(t)
	p.until(`Math.abs(` + cardTop + ` - 24) < 2`)
	p.exec(`document.getElementById('jump').click()`)
	p.until(gap + ` === 0`)
	l.send(t, frame(11, "", op{"op": "announce", "text": "elsewhere"}))
	p.until(`document.getElementById('live').textContent === 'elsewhere'`)
	p.exec(settledView)
	p.equal(gap, 0)
}

// TestTallCardIsSeen: the top of such a card is the end as far as unread goes.
func TestTallCardIsSeen(t *testing.T) {
	h := newHouse(t, approval("k1", 6))
	p := openTab(t, "")
	p.phone()
	p.open(h.URL + "/chat/c1")
	l := h.next(t)
	p.until(`Math.abs(` + cardTop + ` - 24) < 2 && ` + gap + ` > 200`)
	l.send(t, frame(11, "", op{"op": "attr", "target": "c-c1", "name": "data-unread", "value": "true"}))
	h.called(t, "POST /api/v1/chats/c1/seen", 0)
	p.forgive() // the site knows no such route
}

// TestNoToastOverItsCard: what waits is told where its card is not before the
// reader's eyes.
func TestNoToastOverItsCard(t *testing.T) {
	k := approval("k1", 1)
	told := func(position int, key, chat string) string {
		return frame(position, "", op{"op": "toast", "kind": "warn", "text": fmt.Sprintf("“%s” waits for your answer", chat), "href": "/chat/" + chat, "key": key},
			op{"op": "toast", "kind": "ok", "text": "Reply finished in Sparta", "href": "/chat/c9", "key": "r9"})
	}
	toasts := `[...document.querySelectorAll('.toast')].map(e => e.dataset.key)`
	for _, c := range []struct {
		name, path, key, chat, away string
		want                        []string
	}{
		{"on the page of what waits", "/waiting", "k7", "c2", "", []string{"r9"}},
		{"on it, in a hidden tab", "/waiting", "k7", "c2", "away", []string{"r9"}},
		{"in its chat, in a hidden tab", "/chat/c1", "k1", "c1", "away", []string{"r9"}},
		{"another chat's", "/chat/c1", "k7", "c2", "", []string{"k7", "r9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, k)
			p := openTab(t, `if (`+quote(c.away)+`) Object.defineProperty(document, 'hidden', { get: () => true })`)
			p.open(h.URL + c.path)
			h.next(t).send(t, told(11, c.key, c.chat))
			p.until(`document.querySelector('.toast[data-key=r9]')`)
			p.equal(toasts, c.want)
		})
	}
}
