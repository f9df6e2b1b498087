package main

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestCardsComeToAnEnd is what becomes of a card that waits while the world
// goes on.
func TestCardsComeToAnEnd(t *testing.T) {
	c := newCourt(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *court)
	}{
		{"stopped", stoppedCard},
		{"its chat is deleted", deletedCard},
		{"the network is lost", lostAnswer},
		{"the answer of the network is lost", lostWord},
		{"seen from elsewhere", seenElsewhere},
		{"answered where all wait", answeredWhereAllWait},
		{"the server dies", dyingServer},
		{"nobody answers", nobodyAnswers},
	} {
		t.Run(step.name, func(t *testing.T) {
			c.stage.clear()
			step.run(t, c)
		})
	}
}

func stoppedCard(t *testing.T, c *court) {
	p, chat := c.card(t, posts("letter-20"), strikes("bell-20"))
	p.do(chromedp.Focus(chromedp.CSS(`#prompt`)))
	p.press(kb.Escape)
	tells(t, "the record", p.record(), "the reply was stopped", "Post a letter", "withdrawn")
	p.settled("stopped")
	p.until(`document.querySelector('#composer').dataset.state === 'idle' && !document.querySelector('#c-` + chat + `[data-needs-you]') && !document.title.startsWith('(')`)
	p.shot("cards-20-stopped")
	if got := c.mill.ran("-20"); len(got) != 0 {
		t.Errorf("there ran %v", got)
	}
	c.sameAsLoaded(t, p, chat)
}

func deletedCard(t *testing.T, c *court) {
	p, chat := c.card(t, posts("letter-21"))
	q := c.page(t, "/waiting")
	q.until(`document.querySelectorAll('#waiting-list .card').length === 1`)
	p.headMenu("delete-chat")
	p.until(`document.querySelector('#ask').open`)
	p.click(`#ask [data-slot=ok]`)
	p.until(`location.pathname === '/'`)
	q.until(`!document.querySelector('#waiting-list .card') && !document.querySelector('#c-` + chat + `') && document.querySelector('#waiting').dataset.count === '0'`)
	if got := c.mill.ran("-21"); len(got) != 0 {
		t.Errorf("there ran %v", got)
	}
}

// lostAnswer: an answer that did not go through is kept, and said; it works the
// second time.
func lostAnswer(t *testing.T, c *court) {
	p, chat := c.card(t, c.fetches("asked-22"))
	value[bool](p, `(self.real = fetch, self.fetch = (u, o) => String(u).includes('/interactions/') ? Promise.reject(new TypeError('no network')) : real(u, o), true)`)
	p.click(`.card [data-act=card-edit]`)
	p.press("a", ctrl)
	p.press(c.mill.URL + "/edited-22")
	p.click(`.card [data-verdict=allow]`)
	p.until(waitingCard + `.querySelector('[data-slot=error]').innerText.includes('kept here') && ` + waitingCard + `.ariaBusy !== 'true'`)
	p.until(waitingCard + `.querySelector('[data-slot=argument]').value === ` + quote(c.mill.URL+"/edited-22") + ` && ` + waitingCard + `.querySelector('[data-verdict=allow]').ariaDisabled !== 'true'`)
	p.shot("cards-22-lost")
	value[bool](p, `(self.fetch = real, true)`)
	p.click(`.card [data-verdict=allow]`)
	tells(t, "the record", p.record(), "corrected", "/edited-22")
	c.stage.next(t).end("Read")
	p.settled("complete")
	if got := c.mill.ran("-22"); len(got) != 1 || got[0] != "/edited-22" {
		t.Errorf("there ran %v", got)
	}
	if n := len(c.answered(chat)); n != 1 {
		t.Errorf("the log has %d answers", n)
	}
}

// lostWord: the answer arrived, and the page was not told. The stream shows it.
func lostWord(t *testing.T, c *court) {
	p, chat := c.card(t, posts("letter-23"))
	value[bool](p, `(self.real = fetch, self.fetch = async (u, o) => { const a = await real(u, o); if (String(u).includes('/interactions/')) throw new TypeError('no network'); return a }, true)`)
	p.click(`.card [data-verdict=allow]`)
	tells(t, "the record", p.record(), "You allowed “Post a letter”")
	c.stage.next(t).end("Sent")
	p.settled("complete")
	if n := len(c.answered(chat)); n != 1 || len(c.mill.ran("letter-23")) != 1 {
		t.Errorf("%d answers, there ran %v", n, c.mill.ran("letter-23"))
	}
	p.until(`![...document.querySelectorAll('#toasts .toast')].some(e => e.dataset.kind === 'error')`)
	c.sameAsLoaded(t, p, chat)
}

// seenElsewhere: a page of another chat says that this one waits, and stops
// saying it.
func seenElsewhere(t *testing.T, c *court) {
	q := c.at(t, c.ended(t, "another chat", "Yes"))
	q.live()
	q.until(`!document.title.startsWith('(')`)
	calm := value[string](q, `document.querySelector('link[rel=icon]').href`)
	p, chat := c.card(t, posts("letter-24"))
	q.until(`document.querySelector('#c-` + chat + `[data-needs-you] .mark[data-when=needs-you]').checkVisibility() && document.querySelector('#waiting').dataset.count === '1'`)
	q.until(`document.title.startsWith('(1) ') && document.querySelector('link[rel=icon]').href.endsWith('favicon-waiting.svg')`)
	q.until(`[...document.querySelectorAll('#toasts .toast')].some(e => e.querySelector('a')?.getAttribute('href') === '/chat/` + chat + `')`)
	q.shot("cards-24-elsewhere")
	p.click(`.card [data-verdict=allow]`)
	p.record()
	q.until(`!document.querySelector('#c-` + chat + `[data-needs-you]') && document.querySelector('#waiting').dataset.count === '0' && document.querySelector('link[rel=icon]').href === ` + quote(calm))
	c.stage.next(t).end("Sent")
	p.settled("complete")
	p.until(`document.querySelector('#c-` + chat + `:not([data-unread])')`)
	q.until(`!document.title.startsWith('(')`)
}

// answeredWhereAllWait: the page of what waits follows, and answers.
func answeredWhereAllWait(t *testing.T, c *court) {
	q := c.page(t, "/waiting")
	q.live()
	q.until(`document.querySelector('#waiting-list .empty')`)
	q.shot("cards-25-none")
	p, first := c.card(t, posts("letter-25"))
	q.until(`document.querySelector('#waiting-list [data-chat="` + first + `"] .card')`)
	_, second := c.card(t, asks("Which way?|North|South"))
	q.until(`document.querySelectorAll('#waiting-list .card').length === 2`)
	q.shot("cards-25-two")
	q.click(`#waiting-list [data-chat="` + second + `"] [value=North]`)
	q.click(`#waiting-list [data-chat="` + first + `"] [data-verdict=deny]`)
	q.press("not today\r")
	q.until(`document.querySelectorAll('#waiting-list .card').length === 1 && document.querySelector('#waiting-list [data-chat="` + second + `"] [value=North]').checked`)
	tells(t, "the record in the chat", p.record(), "denied", "not today")
	c.stage.next(t).end("Not sent")
	q.click(`#waiting-list [data-chat="` + second + `"] [data-act=card-send]`)
	q.until(`document.querySelector('#waiting-list .empty')`)
	next := c.stage.next(t)
	tells(t, "the model's next request", string(next.body), "North")
	next.end("North, then")
	p.settled("complete")
}

// dyingServer: kill -9 with a card on the screen; it is there again, the same,
// and what was begun on it.
func dyingServer(t *testing.T, c *court) {
	p, chat := c.card(t, c.fetches("asked-26"))
	card := value[string](p, `(self.sameDocument = true, `+waitingCard+`.id)`)
	p.click(`.card [data-act=card-edit]`)
	p.press("a", ctrl)
	p.press(c.mill.URL + "/edited-26")
	c.kill()
	p.until(`document.querySelector('.banner.lost').getClientRects().length`)
	p.click(`.card [data-verdict=allow]`)
	p.until(waitingCard + `.querySelector('[data-slot=error]').innerText.includes('kept here') && ` + waitingCard + `.ariaBusy !== 'true'`)
	const seen = `(r => r.height > 10 && r.bottom <= document.querySelector('#scroll').getBoundingClientRect().bottom + 1)(` + waitingCard + `.querySelector('[data-slot=error]').getBoundingClientRect())`
	p.until(seen)
	p.shot("cards-26-dead")
	c.start()
	p.until(`document.body.dataset.connection === 'live' && !document.querySelector('.banner.lost').getClientRects().length`)
	p.until(`self.sameDocument && ` + waitingCard + `.id === ` + quote(card) + ` && ` + waitingCard + `.querySelector('[data-slot=argument]').value === ` + quote(c.mill.URL+"/edited-26"))
	if got := c.mill.ran("-26"); len(got) != 0 {
		t.Fatalf("there ran %v", got)
	}
	p.click(`.card [data-verdict=allow]`)
	tells(t, "the record", p.record(), "corrected", "/edited-26")
	c.stage.next(t).end("Read")
	p.settled("complete")
	if got := c.mill.ran("-26"); len(got) != 1 || got[0] != "/edited-26" {
		t.Errorf("there ran %v", got)
	}
	p.forgive()
	c.sameAsLoaded(t, p, chat)
}

// nobodyAnswers: an hour and a day are gone while the page was open. What a
// server does then is done by a process of the test's own, between two servers.
func nobodyAnswers(t *testing.T, c *court) {
	p, chat := c.card(t, posts("letter-27"))
	card := value[string](p, waitingCard+`.dataset.consent`)
	p.do(chromedp.Focus(chromedp.CSS(`.card`)))
	c.kill()
	a := openTest(t, c.dir)
	must(t, a.service.ExpireConsent(context.Background(), chat, card))
	must(t, a.close())
	c.start()
	tells(t, "the record", p.record(), "Not answered in time", "Post a letter", "not answered")
	p.until(`document.activeElement.matches('.record > summary')`)
	p.shot("cards-27-expired")
	next := c.stage.next(t)
	if !strings.Contains(string(next.body), "time") {
		t.Errorf("the model is not told that nobody answered: %s", next.body)
	}
	next.end("Then not")
	p.settled("complete")
	if got := c.mill.ran("-27"); len(got) != 0 {
		t.Errorf("there ran %v", got)
	}
	p.forgive()
	c.sameAsLoaded(t, p, chat)
}
