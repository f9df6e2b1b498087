package main

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// hastyHand: what is pressed in the moment after an answer is no word on the card
// that has just come to the same place, by mouse or by key.
func hastyHand(t *testing.T, c *court) {
	p, _ := c.card(t, posts("letter-50"))
	value[bool](p, `(new MutationObserver(() => { if ('settling' in document.body.dataset) self.wasSettling = true }).observe(document.body, { attributes: true }), true)`)
	first := value[string](p, waitingCard+`.dataset.consent`)
	p.click(`.card [data-verdict=allow]`)
	c.stage.next(t).calls(posts("letter-51"))
	p.until(waitingCard + `?.dataset.consent && ` + waitingCard + `.dataset.consent !== ` + quote(first) + ` && self.wasSettling && !('settling' in document.body.dataset)`)
	value[bool](p, `(document.body.dataset.settling = '', true)`) // as it is in that moment; no clock ends it here
	p.do(chromedp.Click(chromedp.CSS(`.card [data-verdict=allow]`)))
	p.until(`document.querySelector('#toasts').innerText.includes('This is another card')`)
	if value[bool](p, waitingCard+`.ariaBusy === 'true'`) || len(c.mill.ran("letter-51")) != 0 {
		t.Error("a hasty click answered the next card")
	}
	value[bool](p, `(`+waitingCard+`.querySelector('[data-verdict=allow]').focus(), document.querySelector('#toasts').replaceChildren(), true)`)
	value[bool](p, `(`+waitingCard+`.querySelector('[data-verdict=allow]').dispatchEvent(new KeyboardEvent('keydown', { key: 'a', code: 'KeyA', bubbles: true, cancelable: true })), true)`)
	p.until(`document.querySelector('#toasts').innerText.includes('This is another card')`)
	if len(c.mill.ran("letter-51")) != 0 {
		t.Error("a hasty key answered the next card")
	}
	value[bool](p, `(delete document.body.dataset.settling, true)`)
	p.click(`.card [data-verdict=allow]`)
	tells(t, "the record", p.record(), "letter-51")
	c.stage.next(t).end("Done")
	p.settled("complete")
}
