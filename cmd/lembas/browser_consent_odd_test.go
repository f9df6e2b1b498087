package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestCardsAndOddPeople is what else a person may do with a card, and what else
// a model may put on one.
func TestCardsAndOddPeople(t *testing.T) {
	c := newCourt(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *court)
	}{
		{"three calls by keyboard", callsByKeyboard},
		{"eight hostile questions on a phone", hostileQuestions},
		{"an edit that cannot be", impossibleEdits},
		{"answered while another edits", answeredWhileEditing},
		{"reload while it is sent", reloadWhileSent},
		{"without SharedWorker", cardWithoutWorker},
		{"denied all", deniedAll},
		{"a hasty hand", hastyHand},
	} {
		t.Run(step.name, func(t *testing.T) {
			c.stage.clear()
			step.run(t, c)
		})
	}
}

// callsByKeyboard: an edit, a denial and an approval without a mouse; each way
// station shows that it has the focus.
func callsByKeyboard(t *testing.T, c *court) {
	p, _ := c.card(t, c.fetches("asked-40"), posts("letter-40"), strikes("bell-40"))
	p.tabTo(item(1) + ` [data-act=card-edit]`)
	p.press("\r")
	p.until(`document.activeElement.matches('` + item(1) + ` [data-slot=argument]')`)
	p.press("a", ctrl)
	p.press(c.mill.URL + "/edited-40")
	p.press("\r", ctrl)
	p.until(`document.querySelector('` + item(1) + `').dataset.chosen === 'allow'`)
	p.tabTo(item(2) + ` [data-verdict=deny]`)
	p.press("d")
	p.until(`document.activeElement.matches('` + item(2) + ` [data-slot=reason]')`)
	p.press("no stamps\r")
	p.until(`document.querySelector('` + item(2) + `').dataset.chosen === 'deny' && document.activeElement.closest('` + item(3) + `')`)
	p.press("a")
	p.until(`document.querySelector('` + item(3) + `').dataset.chosen === 'allow'`)
	p.tabTo(`.card [data-act=card-send]`)
	p.shot("cards-40-keys")
	p.press("\r")
	tells(t, "the record", p.record(), "1 corrected", "/edited-40", "no stamps")
	p.until(`document.activeElement.matches('#prompt')`)
	c.stage.next(t).end("Done")
	p.settled("complete")
	ran := c.mill.ran("-40")
	slices.Sort(ran)
	if !slices.Equal(ran, []string{"/edited-40", "/strike bell-40"}) {
		t.Errorf("there ran %v", ran)
	}
}

// hostileQuestions: as many as fit, as long as they may be, with markup and with
// characters that turn what is read around.
func hostileQuestions(t *testing.T, c *court) {
	p := c.phone(t, c.chat("stage", "act"))
	long := strings.Repeat("unbroken", 24)
	var all []string
	for range 6 {
		all = append(all, long+"?|"+long+"|two|three|four|five|six|seven|eight")
	}
	all = append(all, `<img src=x onerror="console.error('ran')"> or <b>not</b>?|<script>console.error('ran')</script>|"quoted' \ `, "one \u202eowt\u202c three?|\u202eon\u202c|yes")
	c.stage.next(t).calls(asks(all...))
	p.until(waitingCard + ` && document.querySelectorAll('.card .card-item').length === 8`)
	p.fits()
	p.shot("cards-41-hostile")
	tells(t, "the card", value[string](p, waitingCard+`.innerText`), `<img src=x onerror="console.error('ran')"> or <b>not</b>?`, `<script>`)
	if value[bool](p, `/[\u202e\u202c]/.test(`+waitingCard+`.innerText)`) {
		t.Error("what is read can be turned around")
	}
	for n := 1; n <= 6; n++ {
		p.touch(item(n) + ` .card-option:nth-child(8)`)
	}
	p.touch(item(7) + ` .card-option:nth-child(1)`)
	p.touch(item(8) + ` .card-option:nth-child(2)`)
	p.until(waitingCard + `.querySelector('[data-act=card-send]').ariaDisabled !== 'true'`)
	p.touch(`.card [data-act=card-send]`)
	tells(t, "the record", p.record(), "eight", `<script>`, "yes")
	p.noSidewaysScroll()
	next := c.stage.next(t)
	tells(t, "the model's next request", string(next.body), "eight", `console.error('ran')`, "yes")
	next.end("Thank you")
	p.settled("complete")
}

// impossibleEdits: what cannot run is said in the card, and stays to be mended.
func impossibleEdits(t *testing.T, c *court) {
	p, chat := c.card(t, c.fetches("asked-42"))
	p.click(`.card [data-act=card-edit]`)
	p.press("a", ctrl)
	p.press(kb.Backspace)
	p.click(`.card [data-verdict=allow]`)
	p.until(waitingCard + `.querySelector('[data-slot=error]').innerText.includes('empty')`)
	value[bool](p, `(e => { e.value = 'http://x/' + 'y'.repeat(70000); e.dispatchEvent(new Event('input', {bubbles: true})); return true })(document.querySelector('.card [data-slot=argument]'))`)
	p.click(`.card [data-verdict=allow]`)
	p.until(waitingCard + `.querySelector('[data-slot=error]').innerText === '"url" may have at most 65536 bytes. Change the answer and send it again.' && ` + waitingCard + `.ariaBusy !== 'true' && ` + waitingCard + `.querySelector('[data-slot=argument]').value.length > 70000`)
	p.shot("cards-42-too-long")
	if n := len(c.answered(chat)); n != 0 {
		t.Fatalf("%d answers", n)
	}
	p.click(`.card [data-act=card-unedit]`)
	p.click(`.card [data-verdict=allow]`)
	p.record()
	c.stage.next(t).end("Read")
	p.settled("complete")
	if got := c.mill.ran("-42"); !slices.Equal(got, []string{"/asked-42"}) {
		t.Errorf("there ran %v", got)
	}
}

// answeredWhileEditing: an editor that is open goes with its card, also in the
// tab's memory.
func answeredWhileEditing(t *testing.T, c *court) {
	p, chat := c.card(t, c.fetches("asked-43"))
	q := c.at(t, chat)
	q.until(waitingCard)
	p.click(`.card [data-act=card-edit]`)
	p.press("more")
	p.until(`Object.keys(sessionStorage).some(k => k.startsWith('card:'))`)
	q.click(`.card [data-verdict=allow]`)
	p.record()
	p.until(`document.activeElement.matches('.record > summary') && !document.querySelector('#log textarea') && !Object.keys(sessionStorage).some(k => k.startsWith('card:'))`)
	c.stage.next(t).end("Read")
	p.settled("complete")
	c.sameAsLoaded(t, p, chat)
}

// reloadWhileSent: an answer on its way is one answer, whatever the page does.
func reloadWhileSent(t *testing.T, c *court) {
	p, chat := c.card(t, posts("letter-44"))
	value[bool](p, `(document.querySelector('.card [data-verdict=allow]').click(), location.reload(), true)`)
	p.until(`'ready' in document.documentElement.dataset && (document.querySelector('.record') || ` + waitingCard + `)`)
	p.live()
	if value[bool](p, `!!`+waitingCard) { // the request may have been broken off
		p.until(`(` + waitingCard + `?.querySelector('[data-verdict=allow]').click(), document.querySelector('.record'))`)
	}
	p.record()
	c.stage.next(t).end("Sent")
	p.settled("complete")
	if n := len(c.answered(chat)); n != 1 || len(c.mill.ran("letter-44")) != 1 {
		t.Errorf("%d answers, there ran %v", n, c.mill.ran("letter-44"))
	}
}

func cardWithoutWorker(t *testing.T, c *court) {
	chat := c.chat("stage", "act")
	p := c.tabWith(t, `delete self.SharedWorker`, c.url+"/chat/"+chat)
	q := c.tabWith(t, `delete self.SharedWorker`, c.url+"/chat/"+chat)
	p.live()
	q.live()
	c.stage.next(t).calls(posts("letter-45"))
	p.until(waitingCard)
	q.until(waitingCard)
	q.click(`.card [data-verdict=always]`)
	tells(t, "the record", p.record(), "You always allow “Post a letter” in this chat")
	c.stage.next(t).end("Sent")
	p.settled("complete")
	q.settled("complete")
	c.sameAsLoaded(t, q, chat)
}

// deniedAll: one reason goes to each; nothing runs.
func deniedAll(t *testing.T, c *court) {
	p, chat := c.card(t, posts("letter-46"), strikes("bell-46"))
	p.do(chromedp.Focus(chromedp.CSS(`.card footer [data-verdict=deny]`)))
	p.press("\r")
	p.until(`document.activeElement.matches('.card footer [data-slot=reason]')`)
	p.press("not on a Monday\r")
	if n := strings.Count(p.record(), "not on a Monday"); n != 2 {
		t.Errorf("the record has the reason %d times", n)
	}
	next := c.stage.next(t)
	if n := strings.Count(string(next.body), "not on a Monday"); n != 2 {
		t.Errorf("the model reads the reason %d times", n)
	}
	next.end("Then not")
	p.settled("complete")
	if got := c.mill.ran("-46"); len(got) != 0 {
		t.Errorf("there ran %v", got)
	}
	c.sameAsLoaded(t, p, chat)
}
