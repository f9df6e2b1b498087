package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestCards is a person before cards that wait.
func TestCards(t *testing.T) {
	c := newCourt(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *court)
	}{
		{"three calls, edited, denied, always", threeCalls},
		{"a question beside a call", questionBesideCall},
		{"answered in the seventh tab", answeredElsewhere},
		{"two tabs press at once", pressedAtOnce},
		{"questions by keyboard", questionsByKeyboard},
		{"letters answer in the card only", lettersInTheCard},
		{"a click that brings the window to the front", wakingClick},
	} {
		t.Run(step.name, func(t *testing.T) {
			c.stage.clear()
			step.run(t, c)
		})
	}
}

// threeCalls: what runs is what was decided, also over a reload, and everybody
// is told what that was: the person, the model, the log.
func threeCalls(t *testing.T, c *court) {
	p, chat := c.card(t, c.fetches("asked-1"), posts("letter-1"), strikes("bell-1"))
	p.shot("cards-1-three")
	card := value[string](p, waitingCard+`.id`)
	p.click(item(1) + ` [data-act=card-edit]`)
	p.until(`document.activeElement.matches('` + item(1) + ` [data-slot=argument]')`)
	p.press("a", ctrl)
	p.press(c.mill.URL + "/edited-1")
	p.click(item(2) + ` [data-verdict=deny]`)
	p.until(`document.activeElement.matches('` + item(2) + ` [data-slot=reason]')`)
	p.press("not by post, <b>by hand</b>")
	p.shot("cards-1-begun")

	p.open(c.url + "/chat/" + chat)
	p.until(waitingCard + `?.id === ` + quote(card))
	p.until(`document.querySelector('` + item(1) + ` [data-slot=argument]').value === ` + quote(c.mill.URL+"/edited-1") + ` && document.querySelector('` + item(1) + ` [data-slot=argument]').checkVisibility()`)
	p.until(`document.querySelector('` + item(2) + ` [data-slot=reason]').value === 'not by post, <b>by hand</b>'`)
	p.click(item(1) + ` [data-verdict=allow]`)
	p.click(item(2) + ` [data-act=card-deny]`)
	p.until(waitingCard + `.querySelector('[data-slot=count]').innerText === '2 of 3 decided' && ` + waitingCard + `.querySelector('[data-act=card-send]').ariaDisabled === 'true'`)
	p.click(item(3) + ` [data-verdict=always]`)
	p.until(waitingCard + `.querySelector('[data-act=card-send]').ariaDisabled !== 'true'`)
	p.shot("cards-1-decided")
	if n := len(c.mill.ran("-1")); n != 0 {
		t.Fatalf("before the answer there ran %v", c.mill.ran("-1"))
	}
	p.click(`.card [data-act=card-send]`)
	record := p.record()
	tells(t, "the record", record, "You allowed 2 of 3 calls", "1 corrected", c.mill.URL+"/asked-1", c.mill.URL+"/edited-1", "denied", "not by post, <b>by hand</b>", "always in this chat", "strike")
	p.until(`document.querySelector('.record > summary time[datetime]')?.dateTime.length > 10`)

	next := c.stage.next(t)
	tells(t, "the model's next request", string(next.body), `/edited-1`, "not by post, ", "done: /edited-1", "done: /strike bell-1")
	if strings.Contains(string(next.body), "/asked-1") {
		t.Errorf("the model still reads what did not run: %s", next.body)
	}
	ran := c.mill.ran("-1")
	slices.Sort(ran)
	if !slices.Equal(ran, []string{"/edited-1", "/strike bell-1"}) {
		t.Errorf("there ran %v", ran)
	}
	next.calls(strikes("again-1")) // remembered: it does not ask
	c.stage.next(t).end("All done")
	p.settled("complete")
	if got := c.mill.ran("again-1"); len(got) != 1 {
		t.Errorf("the call that is always allowed ran as %v", got)
	}
	if n := len(c.answered(chat)); n != 1 {
		t.Errorf("the log has %d answers", n)
	}
	p.shot("cards-1-done")
	c.sameAsLoaded(t, p, chat)
}

// sameAsLoaded: the document that followed is the one that a fresh load gives.
func (c *court) sameAsLoaded(t *testing.T, p *tab, chat string) {
	t.Helper()
	p.until(`document.querySelector('#send').dataset.act === 'send' && (` + newest + `.dataset.status !== 'complete' || document.querySelector('#chat-title').innerText === 'A title')`)
	fresh := c.at(t, chat)
	fresh.live()
	p.live()
	if a, b := value[string](p, stillDOM), value[string](fresh, stillDOM); a != b {
		t.Errorf("streamed and loaded differ: %s", difference(a, b))
	}
}

// questionBesideCall: a card of both kinds shows both and takes an answer to each.
func questionBesideCall(t *testing.T, c *court) {
	p, chat := c.card(t, posts("letter-2"), asks("Which way?|North|South"), asks("Why?"))
	p.shot("cards-2-mixed")
	tells(t, "the card", value[string](p, waitingCard+`.innerText`), "letter-2", "Which way?", "North", "South", "Why?")
	p.click(item(1) + ` [data-verdict=allow]`)
	p.click(item(2) + ` [type=radio][value=South]`)
	p.write(item(3)+` [data-slot=text]`, "because")
	p.click(`.card [data-act=card-send]`)
	tells(t, "the record", p.record(), "letter-2", "Which way?", "South", "Why?", "because", "answered")
	next := c.stage.next(t)
	tells(t, "the model's next request", string(next.body), "South", "because", "done: /post letter-2")
	next.end("Thank you")
	p.settled("complete")
	c.sameAsLoaded(t, p, chat)
}

func answeredElsewhere(t *testing.T, c *court) {
	p, chat := c.card(t, posts("letter-3"))
	value[bool](p, `(self.sameDocument = true)`)
	tabs := []*tab{p}
	for range 6 {
		tabs = append(tabs, c.at(t, chat))
	}
	seventh := tabs[6]
	seventh.until(waitingCard)
	seventh.click(`.card [data-verdict=allow]`)
	for _, q := range tabs {
		tells(t, "a tab's record", q.record(), "You allowed “Post a letter”")
	}
	p.until(`self.sameDocument`)
	c.stage.next(t).end("Sent")
	for _, q := range tabs {
		q.settled("complete")
	}
	if got := c.mill.ran("letter-3"); len(got) != 1 {
		t.Errorf("there ran %v", got)
	}
	c.sameAsLoaded(t, p, chat)
}

// held makes a page's answers wait until it is let go.
const held = `(() => { const real = fetch; let go; const gate = new Promise(done => go = done); self.letGo = go; self.holding = 0
	self.fetch = async (u, o) => { if (String(u).includes('/interactions/')) { self.holding++; await gate } return real(u, o) }; return true })()`

func pressedAtOnce(t *testing.T, c *court) {
	p, chat := c.card(t, posts("letter-4"))
	q := c.at(t, chat)
	q.live()
	for i, tab := range []*tab{p, q} {
		value[bool](tab, held)
		if i == 0 {
			tab.click(`.card [data-verdict=allow]`)
		} else {
			tab.click(`.card [data-verdict=deny]`)
			tab.press("no")
			tab.click(`.card [data-act=card-deny]`)
		}
		tab.until(`self.holding === 1 && ` + waitingCard + `.ariaBusy === 'true'`)
	}
	for _, tab := range []*tab{q, p} {
		value[bool](tab, `(letGo(), true)`)
	}
	next := c.stage.next(t)
	first, second := p.record(), q.record()
	if first != second {
		t.Errorf("the tabs differ:\n%s\n%s", first, second)
	}
	const told = `[...document.querySelectorAll('#toasts .toast')].some(e => e.innerText.includes('answered already'))`
	denied := strings.Contains(first, "denied")
	loser := map[bool]*tab{true: p, false: q}[denied]
	loser.until(told)
	loser.shot("cards-4-too-late")
	winner := map[bool]*tab{true: q, false: p}[denied]
	if value[bool](winner, told) {
		t.Error("both tabs were too late")
	}
	if all := c.answered(chat); len(all) != 1 || len(c.mill.ran("letter-4")) != map[bool]int{true: 0, false: 1}[denied] {
		t.Errorf("%v answered, %v ran", all, c.mill.ran("letter-4"))
	}
	next.end("Well")
	p.settled("complete")
}

// questionsByKeyboard: from the address bar to the answer without a mouse.
func questionsByKeyboard(t *testing.T, c *court) {
	p, chat := c.card(t, asks("Which quarter?|The first|The second|The third", "Who reads it?", "In which tongue?|Quenya|Westron"))
	p.shot("cards-5-questions")
	p.tabTo(item(1) + ` [type=radio]`)
	p.press(" ")
	p.press(kb.ArrowDown)
	p.until(`document.querySelector('` + item(1) + ` [value="The second"]').checked`)
	p.tabTo(item(2) + ` [data-slot=text]`)
	p.press("aed, all of them\r") // letters are letters here; Enter goes on
	p.until(`document.activeElement.closest('` + item(3) + `')`)
	p.tabTo(item(3) + ` [data-slot=text]`)
	p.press("Sindarin")
	p.until(`document.querySelector('` + item(3) + ` [data-slot=other]').checked && ` + waitingCard + `.querySelector('[data-act=card-send]').ariaDisabled !== 'true'`)
	p.shot("cards-5-answers")
	p.tabTo(`.card [data-act=card-send]`)
	p.press("\r")
	tells(t, "the record", p.record(), "Which quarter?", "The second", "Who reads it?", "aed, all of them", "In which tongue?", "Sindarin")
	p.until(`document.activeElement.matches('#prompt')`)
	next := c.stage.next(t)
	tells(t, "the model's next request", string(next.body), "The second", "aed, all of them", "Sindarin")
	next.end("Thank you")
	p.settled("complete")
	c.sameAsLoaded(t, p, chat)
}

func lettersInTheCard(t *testing.T, c *court) {
	p, chat := c.card(t, c.fetches("asked-6"))
	p.press("aed") // the focus is on the page
	p.write("#prompt", "ade")
	p.until(`document.querySelector('#prompt').value === 'ade' && ` + waitingCard + `.querySelector('[data-slot=edit]').hidden && ` + waitingCard + `.querySelector('[data-slot=deny]').hidden`)
	p.do(chromedp.Focus(chromedp.CSS(`.card`)))
	p.press("e")
	p.until(`document.activeElement.matches('[data-slot=argument]')`)
	p.press(kb.End + "aed") // written, not done
	p.until(`document.activeElement.value.endsWith('asked-6aed')`)
	p.press(kb.Escape)
	p.until(`document.activeElement.matches('[data-act=card-edit]') && ` + waitingCard + `.querySelector('[data-slot=edit]').hidden`)
	p.press("d")
	p.until(`document.activeElement.matches('[data-slot=reason]')`)
	p.press("ade")
	p.until(`document.activeElement.value === 'ade'`)
	p.press(kb.Escape)
	p.until(`document.activeElement.matches('[data-verdict=deny]')`)
	if n := len(c.answered(chat)); n != 0 || value[bool](p, waitingCard+`.ariaBusy === 'true'`) {
		t.Fatalf("a letter in a field answered: %d", n)
	}
	p.press("a")
	tells(t, "the record", p.record(), "You allowed “Read a page”")
	next := c.stage.next(t)
	if got := c.mill.ran("-6"); !slices.Equal(got, []string{"/asked-6"}) {
		t.Errorf("there ran %v", got)
	}
	next.end("Read")
	p.settled("complete")
}

// stillClock lets a test say what time it is for the page.
const stillClock = `{ const real = performance.now.bind(performance); self.clock = null; performance.now = () => self.clock ?? real() }`

// wakingClick: the click that brings a window to the front is none on what
// happens to lie below it.
func wakingClick(t *testing.T, c *court) {
	chat := c.chat("stage", "act")
	p := c.tabWith(t, stillClock, c.url+"/chat/"+chat)
	p.live()
	c.stage.next(t).calls(posts("letter-7"))
	p.until(waitingCard)
	value[bool](p, `(self.clock = performance.now(), dispatchEvent(new Event('blur')), dispatchEvent(new Event('focus')), true)`)
	p.click(`.card [data-verdict=allow]`)
	p.until(`[...document.querySelectorAll('#toasts .toast')].some(e => e.innerText.includes('Press again'))`)
	p.click(`.card .card-head`) // neither does a click on the card
	if value[bool](p, waitingCard+`.ariaBusy === 'true'`) || len(c.answered(chat)) != 0 {
		t.Fatal("the click that woke the window answered")
	}
	value[bool](p, `(self.clock += 1000, true)`)
	p.click(`.card [data-verdict=allow]`)
	p.record()
	c.stage.next(t).end("Sent")
	p.settled("complete")
	if got := c.mill.ran("letter-7"); len(got) != 1 {
		t.Errorf("there ran %v", got)
	}
}
