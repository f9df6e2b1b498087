package js_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestBoxIsSeenWhole: the box of a reason or of an edit that opens is in view with
// its own buttons, above the composer; so is a line that says what is wrong.
func TestBoxIsSeenWhole(t *testing.T) {
	seen := func(part string) string {
		return `(([box, view]) => box.height > 0 && box.top >= view.top && box.bottom <= view.bottom)([document.querySelector('#card-k1 ` + part + `').getBoundingClientRect(), document.querySelector('.scroller').getBoundingClientRect()])`
	}
	for _, c := range []struct {
		name          string
		calls         int
		press, part   string
		width, height int64
	}{
		{"deny all", 3, `[data-slot=all] [data-verdict=deny]`, `[data-slot=all] [data-slot=deny]`, 1280, 800},
		{"deny all, small", 3, `[data-slot=all] [data-verdict=deny]`, `[data-slot=all] [data-slot=deny]`, 360, 740},
		{"deny one", 1, `[data-item=a] [data-verdict=deny]`, `[data-item=a] [data-slot=deny]`, 1280, 800},
		{"edit", 1, `[data-act=card-edit]`, `[data-slot=edit]`, 360, 740},
		{"edit, and its answer", 1, `[data-act=card-edit]`, `[data-slot=acts]`, 360, 740},
		{"not decided", 3, `[data-act=card-send]`, `[data-slot=error]`, 360, 740},
	} {
		for _, path := range []string{"/chat/c1", "/waiting"} {
			t.Run(c.name+" in "+path, func(t *testing.T) {
				h := newHouse(t, approval("k1", c.calls))
				p := openTab(t, "")
				p.do(chromedp.EmulateViewport(c.width, c.height))
				p.open(h.URL + path)
				h.next(t)
				// The button at the lower edge, as one finds it there.
				p.exec(`document.querySelector('#card-k1 ` + c.press + `').scrollIntoView({ block: 'end' })`)
				p.exec(`document.querySelector('#card-k1 ` + c.press + `').click()`)
				p.exec(settledView)
				p.equal(seen(c.part), true)
			})
		}
	}
}

// TestHintGoes when what it asks for is done.
func TestHintGoes(t *testing.T) {
	h := newHouse(t, questions("k1"))
	p, _ := h.open("")
	p.click(`#card-k1 [data-act=card-send]`)
	p.until(errorLine + `.startsWith('Answer each question')`)
	p.click(`#card-k1 input[value=Rome]`)
	p.equal(errorLine+` !== ''`, true)
	p.exec(`document.querySelector('#card-k1 [data-item=q2] [data-slot=text]').focus()`)
	p.press("753")
	p.equal(errorLine, "")
}

// TestHelpBegins at its top, with its button in view, however small the page is.
func TestHelpBegins(t *testing.T) {
	h := newHouse(t)
	p := openTab(t, "")
	p.do(chromedp.EmulateViewport(360, 640))
	p.open(h.URL + "/chat/c1")
	p.exec(`document.activeElement.blur()`)
	p.press("?")
	p.until(`document.querySelector('dialog[open] .keys')`)
	p.exec(settledView)
	inside := `(e => { const r = e.getBoundingClientRect(), d = e.closest('dialog').getBoundingClientRect(); return r.top >= d.top && r.bottom <= d.bottom && r.bottom <= innerHeight })`
	p.equal(`[document.querySelector('dialog[open] .dialog-text').scrollTop, document.querySelector('dialog[open]').scrollTop, document.activeElement.className, ...['h2', 'dt', '.button'].map(css => `+inside+`(document.querySelector('dialog[open] ' + css)))]`,
		[]any{0, 0, "dialog-text", true, true, true})
	p.press("\x1b")
	p.until(`!document.querySelector('dialog[open]')`)
}
