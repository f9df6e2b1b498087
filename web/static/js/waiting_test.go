package js_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"lembas/projections/transcript"
)

// see sets what waits, as pages show it from now on.
func (h *house) see(cards ...*transcript.Consent) {
	h.set2(func() { h.cards = cards })
}

func (h *house) set2(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// TestWaitingPage: cards of several chats are answered where they are listed,
// each to its own chat; the list and the count follow the person's stream.
func TestWaitingPage(t *testing.T) {
	k1, k2, k3 := approval("k1", 1), approval("k2", 1), approval("k3", 1)
	h := newHouse(t, k1, k2)
	h.titles["c2"] = "Sparta & more"
	route := "POST /api/v1/chats/c2/interactions/k2"
	h.answer(route, func(w http.ResponseWriter, r *http.Request) {
		h.see(k1)
		fmt.Fprint(w, `{}`)
	})
	p := openTab(t, "")
	p.open(h.URL + "/waiting")
	l := h.next(t)
	ids := `[...document.querySelectorAll('#waiting-list [data-consent]')].map(e => e.dataset.consent)`
	p.equal(`[`+ids+`, document.querySelector('#w-k2 h2 a').getAttribute('href'), document.getElementById('waiting').dataset.count, document.getElementById('waiting').ariaCurrent ?? document.getElementById('waiting').getAttribute('aria-current')]`,
		[]any{[]string{"k1", "k2"}, "/chat/c2#m-r1", "2", "page"})
	p.click(editButton)
	p.press("x")
	p.click(`#card-k2 [data-verdict=allow]`)
	want(t, sent(t, h.called(t, route, 0)), `[{"key":"a","verdict":"allow"}]`)
	// The server's list says that it is gone; what is half written elsewhere stays.
	p.until(ids + `.join() === 'k1'`)
	p.until(`document.activeElement.id === 'card-k1'`)
	p.equal(`[document.querySelector('#card-k1 [data-slot=edit]').hidden, `+argument+`.value.includes('x')]`, []bool{false, true})
	h.see(k1, k3)
	l.send(t, frame(11, "", op{"op": "attr", "target": "waiting", "name": "data-at", "value": 11}))
	p.until(ids + `.join() === 'k1,k3' && document.getElementById('alert').textContent === 'Another card waits for you.' && document.getElementById('waiting').dataset.count === '2'`)
	p.equal(`document.getElementById('waiting').getAttribute('aria-current')`, "page")
	h.see()
	l.send(t, frame(12, "", op{"op": "attr", "target": "waiting", "name": "data-at", "value": 12}))
	p.until(`document.querySelector('#waiting-list .empty')?.textContent.includes('Nothing waits for you') && document.getElementById('waiting').dataset.count === '0'`)
	p.equal(`document.title`, "Rome · LLeMbas")
}

// TestWaitingCount: every page has the count, and the tab's icon says it too when
// the list of chats does not show the one that waits.
func TestWaitingCount(t *testing.T) {
	h := newHouse(t)
	p, l := h.open("")
	icon := `document.querySelector('link[rel=icon]').href.replace(/.*\//, '')`
	p.equal(`[document.getElementById('waiting').dataset.count, `+icon+`]`, []string{"0", "favicon.svg"})
	h.see(approval("k9", 1))
	l.send(t, frame(11, "", op{"op": "attr", "target": "waiting", "name": "data-at", "value": 11}))
	p.until(`document.querySelector('#waiting .count').textContent === '1 card' && ` + icon + ` === 'favicon-waiting.svg'`)
	h.see()
	l.send(t, frame(12, "", op{"op": "attr", "target": "waiting", "name": "data-at", "value": 12}))
	p.until(`!document.querySelector('#waiting .count') && ` + icon + ` === 'favicon.svg'`)
}

// TestRefetchedOnceMore: what changes while a part is being fetched is not missed.
func TestRefetchedOnceMore(t *testing.T) {
	h := newHouse(t)
	hold, first := make(chan struct{}), make(chan struct{}, 8)
	h.answer("GET /waiting", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		nav := h.shell("chat").Waiting
		h.mu.Unlock()
		first <- struct{}{}
		<-hold
		fmt.Fprint(w, h.fragment("waiting-nav", nav))
	})
	p, l := h.open("")
	l.send(t, frame(11, "", op{"op": "attr", "target": "waiting", "name": "data-at", "value": 11}))
	<-first // it has read that nothing waits
	h.see(approval("k9", 1))
	l.send(t, frame(12, "", op{"op": "attr", "target": "waiting", "name": "data-at", "value": 12}), add(13))
	p.until(`document.getElementById('n13')`)
	close(hold)
	p.until(`document.getElementById('waiting').dataset.count === '1'`)
}

// TestCardOnAPhone: 360 pixels, a finger: nothing sticks out, every button is as
// large as a thumb needs, one tap answers, and no keyboard unfolds.
func TestCardOnAPhone(t *testing.T) {
	k := approval("k1", 3)
	h := newHouse(t, k)
	h.scope = sampleScope()
	p := openTab(t, `matchMedia = (old => q => q.includes('coarse') ? {matches: true, addEventListener() {}} : old(q))(matchMedia)`)
	p.do(chromedp.EmulateViewport(360, 700, chromedp.EmulateTouch, chromedp.EmulateMobile))
	for _, path := range []string{"/chat/c1", "/waiting"} {
		p.open(h.URL + path)
		p.click(denyButton)
		p.click(editButton)
		p.equal(`[document.documentElement.scrollWidth, document.querySelector('.scroller').scrollWidth <= document.querySelector('.scroller').clientWidth]`, []any{360, true})
		p.equal(`[...document.querySelectorAll('#card-k1 :is(button, textarea)')].filter(b => b.offsetParent && (b.getBoundingClientRect().height < 43.5 || b.getBoundingClientRect().right > 360)).map(b => b.textContent || b.dataset.slot)`, []string{})
		p.equal(`[...document.querySelectorAll('#card-k1 textarea')].filter(b => parseFloat(getComputedStyle(b).fontSize) < 16).length`, 0)
	}
	p.open(h.URL + "/chat/c1")
	p.exec(`document.querySelector('#card-k1 [data-slot=all] [data-verdict=allow]').scrollIntoView({block: 'center'})`)
	at := run[[]float64](p, `(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('#card-k1 [data-slot=all] [data-verdict=allow]').getBoundingClientRect())`)
	p.tap(at[0], at[1])
	if got := sent(t, h.called(t, answerRoute, 0)); len(got) != 3 {
		t.Errorf("sent %v", got)
	}
	p.equal(`document.activeElement.id !== 'prompt'`, true)
}
