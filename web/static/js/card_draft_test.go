package js_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"lembas/events"
)

// TestCardDraftSurvives a reload of the page and what the stream changes around
// it, and is gone with the answer.
func TestCardDraftSurvives(t *testing.T) {
	k := approval("k1", 2)
	h := newHouse(t, k)
	p, l := h.open("")
	p.click(editButton)
	p.exec(argument + `.setSelectionRange(5, 5)`)
	p.press("h ")
	p.click(`#card-k1 [data-item=b] [data-verdict=deny]`)
	p.press("half a rea")
	p.click(`#card-k1 [data-item=a] [data-verdict=always], #card-k1 [data-item=a] [data-verdict=allow]`)
	p.exec(argument + `.focus()`)
	p.exec(argument + `.setSelectionRange(2, 4)`)
	state := `[` + argument + `.value, document.querySelector('#card-k1 [data-item=a] [data-slot=edit]').hidden, document.querySelector('#card-k1 [data-item=a]').dataset.chosen,
		document.querySelector('#card-k1 [data-item=b] [data-slot=reason]').value, document.querySelector('#card-k1 [data-item=b] [data-slot=deny]').hidden, document.querySelector('#card-k1 [data-slot=count]').textContent]`
	wanted := []any{"ls -lh  a", false, "allow", "half a rea", false, "1 of 2 decided"}
	p.equal(state, wanted)
	l.send(t, frame(11, "c1", h.put(k), op{"op": "put", "target": "text-r1-1", "html": `<div id="text-r1-1" class="text"><p>One moment, please.</p></div>`}))
	p.until(`document.getElementById('text-r1-1').textContent.includes('please')`)
	p.equal(state, wanted)
	p.equal(`[document.activeElement === `+argument+`, `+argument+`.selectionStart, `+argument+`.selectionEnd]`, []any{true, 2, 4})
	p.open(h.URL + "/chat/c1")
	l = h.next(t)
	p.equal(state, wanted)
	p.equal(`document.activeElement === document.body`, true)
	l.send(t, frame(12, "c1", h.put(answered(k, events.ConsentAnswer{Key: "a", Verdict: "allow"}, events.ConsentAnswer{Key: "b", Verdict: "deny"}))))
	p.until(`document.getElementById('card-k1').dataset.state === 'answered' && sessionStorage.getItem('card:k1') === null`)
}

// TestQuestions are answered together: options, own words, and none left out.
func TestQuestions(t *testing.T) {
	h := newHouse(t, questions("k1"))
	p, _ := h.open("")
	send := `#card-k1 [data-act=card-send]`
	p.click(send)
	p.until(errorLine + `.startsWith('Answer each question')`)
	p.equal(`document.activeElement.closest('[data-item]').dataset.item`, "q1")
	p.click(`#card-k1 input[value=Sparta]`)
	p.press("a") // no letter answers questions
	p.exec(`document.querySelector('#card-k1 [data-item=q1] [data-slot=text]').focus()`)
	p.press("Both")
	p.equal(`document.querySelector('#card-k1 [data-slot=other]').checked`, true)
	p.click(`#card-k1 input[value=Rome]`) // what was written is not sent, and not lost
	p.equal(`document.querySelector('#card-k1 [data-item=q1] [data-slot=text]').value`, "Both")
	p.exec(`document.querySelector('#card-k1 [data-item=q2] [data-slot=text]').focus()`)
	p.press("753")
	p.press("\r", chromedp.ModifierShift)
	p.press("or so")
	p.open(h.URL + "/chat/c1")
	p.equal(`[document.querySelector('#card-k1 input[value=Rome]').checked, document.querySelector('#card-k1 [data-item=q1] [data-slot=text]').value, document.querySelector('`+send+`').ariaDisabled]`, []any{true, "Both", nil})
	p.click(`#card-k1 [data-slot=other]`)
	p.exec(`document.querySelector('#card-k1 [data-item=q2] [data-slot=text]').focus()`)
	p.press("\r")
	want(t, sent(t, h.called(t, answerRoute, 0)), `[{"key":"q1","verdict":"allow","text":"Both"},{"key":"q2","verdict":"allow","text":"753\nor so"}]`)
}

// TestEnterGoesToTheNextQuestion while one is open.
func TestEnterGoesToTheNextQuestion(t *testing.T) {
	h := newHouse(t, questions("k1"))
	p, _ := h.open("")
	p.exec(`document.querySelector('#card-k1 [data-item=q2] [data-slot=text]').focus()`)
	p.press("753\r")
	p.equal(`[document.activeElement.closest('[data-item]').dataset.item, document.getElementById('card-k1').ariaBusy]`, []any{"q1", nil})
}

func TestQuestionsNotAnswered(t *testing.T) {
	h := newHouse(t, questions("k1"))
	p, _ := h.open("")
	p.click(`#card-k1 [data-slot=all] [data-verdict=deny]`)
	p.press("ask later\r")
	want(t, sent(t, h.called(t, answerRoute, 0)), `[{"key":"q1","verdict":"deny","reason":"ask later"},{"key":"q2","verdict":"deny","reason":"ask later"}]`)
}

// TestAnotherTabAnswers while the focus is in the card: it goes to the record.
func TestAnotherTabAnswers(t *testing.T) {
	k := approval("k1", 1)
	h := newHouse(t, k)
	p, l := h.open("")
	p.click(editButton)
	p.press("x")
	l.send(t, frame(12, "c1", h.put(answered(k, events.ConsentAnswer{Key: "a", Verdict: "deny"}))))
	p.until(`document.activeElement.closest('#card-k1')?.dataset.state === 'answered'`)
	p.equal(`sessionStorage.getItem('card:k1')`, nil)
}

// TestNewCardTakesNoFocus from who is writing; it is said aloud at once.
func TestNewCardTakesNoFocus(t *testing.T) {
	h := newHouse(t)
	p, l := h.open("")
	p.click("#prompt")
	p.press("half")
	l.send(t, frame(12, "c1", h.put(approval("k1", 1)), op{"op": "attr", "target": "composer", "name": "data-state", "value": "waiting"}, op{"op": "announce", "text": "Allow Run a command?", "assertive": true}))
	p.until(`document.getElementById('card-k1') && document.getElementById('alert').textContent === 'Allow Run a command?'`)
	p.press(" done a")
	p.equal(`[document.activeElement.id, document.getElementById('prompt').value, document.getElementById('prompt').placeholder]`, []string{"prompt", "half done a", "Message, or answer the card above"})
	p.exec(`(document.getElementById('prompt').value = '', document.getElementById('prompt').dispatchEvent(new Event('input')))`)
	p.equal(`document.getElementById('send').dataset.act`, "stop")
	l.send(t, frame(13, "c1", op{"op": "attr", "target": "composer", "name": "data-state", "value": "running"}))
	p.until(`document.getElementById('prompt').placeholder === 'Write a message'`)
}

// TestTimesMove: the time of a call counts up, and what a card has
// left is added to the moment that the server wrote.
func TestTimesMove(t *testing.T) {
	h := newHouse(t)
	p, l := h.open(`{ const real = Date.now; Date.now = () => window.now ?? real() }`)
	p.exec(`window.now = Date.parse('2026-03-03T14:01:05Z')`)
	l.send(t, frame(12, "c1", op{"op": "put", "target": "x", "into": "log", "html": `<p id="x"><time data-elapsed datetime="2026-03-03T14:00:00Z"></time> <time data-until datetime="2026-03-03T14:31:00Z">Tue 14:31 UTC</time></p>`}))
	p.until(`document.querySelector('#x time').textContent === '65 s' && document.querySelector('#x [data-until]').textContent === 'Tue 14:31 UTC, 30 min left'`)
	p.exec(`window.now += 120000`)
	p.until(`document.querySelector('#x time').textContent === '3 min 5 s' && document.querySelector('#x [data-until]').textContent === 'Tue 14:31 UTC, 28 min left'`)
	p.exec(`window.now -= 3 * 3600e3`)
	p.until(`document.querySelector('#x [data-until]').textContent === 'Tue 14:31 UTC, 3 h left'`)
}

// TestCardKeepsItsPlace: a box that opens in a card at the end of the chat comes
// whole into view with what answers it, and the page goes no further than that:
// the button stays under the finger.
func TestCardKeepsItsPlace(t *testing.T) {
	h := newHouse(t, approval("k1", 1))
	p := openTab(t, "")
	p.do(chromedp.EmulateViewport(1000, 1000))
	p.open(h.URL + "/chat/c1")
	p.exec(`(document.getElementById('log').firstElementChild.style.minHeight = '1500px', document.querySelector('.scroller').scrollTop = 1e6, 0)`)
	p.exec(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	place := `document.querySelector('` + editButton + `').getBoundingClientRect().top`
	p.until(`document.querySelector('.scroller').scrollHeight - document.querySelector('.scroller').scrollTop - document.querySelector('.scroller').clientHeight < 2`)
	before := run[float64](p, place)
	p.click(editButton)
	p.exec(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))`)
	if after := run[float64](p, place); after < before || after > before+60 {
		t.Errorf("the edit moved its button from %v to %v", before, after)
	}
}
