package js_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestFrameStays: whatever is gone to in a page, only its column scrolls; header
// and sidebar stay where they are.
func TestFrameStays(t *testing.T) {
	for _, c := range []struct{ name, path string }{
		{"by its address", "/waiting#card-k2"}, {"what waits", "/waiting"}, {"a chat", "/chat/c1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, approval("k1", 6), approval("k2", 6))
			p := openTab(t, "")
			p.do(chromedp.EmulateViewport(1280, 800))
			p.open(h.URL + c.path)
			p.exec(`(document.querySelector('#card-k2 [data-slot=all] [data-act=card-send]').scrollIntoView({ block: 'start' }), document.querySelector('#card-k2 [data-slot=all] .unseen').scrollIntoView({ block: 'start' }), 0)`)
			p.exec(`(document.scrollingElement.scrollTop = 400, document.body.scrollTop = 400, document.getElementById('main').scrollTop = 400, document.querySelector('.stage').scrollTop = 400, 0)`)
			p.equal(`[document.querySelector('.top').getBoundingClientRect().top, document.getElementById('side').getBoundingClientRect().top, document.documentElement.scrollHeight, document.querySelector('.scroller').scrollTop > 400]`,
				[]any{0, 0, 800, true})
		})
	}
}
