package js_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestKeysOfACard answer only while the card, or something in it that is no
// field, has the focus.
func TestKeysOfACard(t *testing.T) {
	h := newHouse(t, approval("k1", 1))
	p, _ := h.open("")
	h.answer("POST /api/v1/chats/c1/stop", accepted)
	p.exec(`document.activeElement.blur()`)
	p.press("a")
	p.click("#prompt")
	p.press("aed")
	p.equal(`document.getElementById('prompt').value`, "aed")
	p.exec(`document.getElementById('log').parentElement.focus()`)
	p.press("a")
	p.exec(`document.getElementById('card-k1').focus()`)
	p.press("a", chromedp.ModifierCtrl)
	p.press("a", chromedp.ModifierAlt)
	p.press("A")
	p.exec(`document.body.dataset.shortcuts = 'off'`)
	p.press("a")
	p.exec(`delete document.body.dataset.shortcuts`)
	// A key that is held since before the card had the focus.
	p.exec(`document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', code: 'KeyA', bubbles: true, cancelable: true, repeat: true}))`)
	p.equal(`document.getElementById('card-k1').ariaBusy`, nil)
	p.press("d")
	p.equal(`document.activeElement.dataset.slot`, "reason")
	p.press("\x1b\x1b")
	p.equal(`document.activeElement.id`, "prompt")
	if h.count(answerRoute)+h.count("POST /api/v1/chats/c1/stop") != 0 {
		t.Error("something was answered or stopped")
	}
	p.exec(`document.getElementById('card-k1').focus()`)
	p.press("a")
	want(t, sent(t, h.called(t, answerRoute, 0)), `[{"key":"a","verdict":"allow"}]`)
}

// TestKeysOfAnItem are about the item that has the focus, or all.
func TestKeysOfAnItem(t *testing.T) {
	h := newHouse(t, approval("k1", 2))
	p, _ := h.open("")
	p.exec(`document.querySelector('#card-k1 [data-item=b]').focus()`)
	p.press("a")
	p.equal(`[document.querySelector('#card-k1 [data-item=b]').dataset.chosen, document.querySelector('#card-k1 [data-item=a]').dataset.chosen ?? '']`, []string{"allow", ""})
	p.press("e") // nothing of it can be edited
	p.equal(`document.activeElement.dataset.item`, "b")
	p.exec(`document.getElementById('card-k1').focus()`)
	p.press("a")
	want(t, sent(t, h.called(t, answerRoute, 0)), `[{"key":"a","verdict":"allow"},{"key":"b","verdict":"allow"}]`)
}

// TestOtherLayouts: a Latin letter counts as it is written, other scripts by the
// place of the key.
func TestOtherLayouts(t *testing.T) {
	h := newHouse(t, approval("k1", 1))
	p, _ := h.open("")
	hit := func(key, code string) {
		p.exec(`(document.getElementById('card-k1').focus(), document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: ` + quote(key) + `, code: ` + quote(code) + `, bubbles: true, cancelable: true})))`)
	}
	hit("q", "KeyA") // French: the key beside Tab
	p.equal(`document.getElementById('card-k1').ariaBusy`, nil)
	hit("ф", "KeyA") // Russian
	h.called(t, answerRoute, 0)
}

// TestWakingClick: the click that brings the window to the front answers nothing,
// and does not put the focus where the next letter would.
func TestWakingClick(t *testing.T) {
	h := newHouse(t, approval("k1", 1))
	p, _ := h.open(`window.now = 0; performance.now = () => window.now`)
	p.click("#prompt")
	p.exec(`(window.now = 1000, dispatchEvent(new Event('blur')), dispatchEvent(new Event('focus')), window.now = 1100)`)
	p.click(allowButton)
	p.until(`document.querySelector('.toast').textContent.includes('Press again to answer.')`)
	p.equal(`[document.getElementById('card-k1').ariaBusy, document.activeElement.id]`, []any{nil, "prompt"})
	p.exec(`window.now = 2000`)
	p.click(allowButton)
	want(t, sent(t, h.called(t, answerRoute, 0)), `[{"key":"a","verdict":"allow"}]`)
}

// TestGoToWhatWaits: by one key to the card, or to the page with all of them.
func TestGoToWhatWaits(t *testing.T) {
	h := newHouse(t, approval("k1", 1))
	p, _ := h.open("")
	p.click("#prompt")
	p.press("w", chromedp.ModifierAlt)
	p.equal(`document.activeElement.id`, "card-k1")
	p.open(h.URL + "/")
	p.press("w", chromedp.ModifierAlt)
	p.until(`location.pathname === '/waiting'`)
}
