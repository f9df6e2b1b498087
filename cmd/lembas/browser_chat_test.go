package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestAPersonSignsUpConnectsAndChats is the first quarter of an hour with the
// product: an account, an endpoint through the form, a chat.
func TestAPersonSignsUpConnectsAndChats(t *testing.T) {
	s := serve(t, dataDir(t))
	p := newProfile(t).tab("")
	p.signUp(s.url, annMail)
	p.until(`document.querySelector('#send').ariaDisabled === 'true' && document.querySelector('.welcome .notice a[href="/admin/connections"]')`)
	p.click(`.welcome .notice a`)
	p.until(`document.querySelector('#connection-form') && 'ready' in document.documentElement.dataset`)
	p.write(`#connection-form [name=name]`, "Workshop")
	p.write(`#connection-form [name=base_url]`, startDemoAt(t, 8))
	p.write(`#connection-form [name=api_key]`, "sk-very-secret-0123456789\r")
	p.until(`location.pathname.startsWith('/admin/connections/') || document.querySelector('#connection-list .row-link')`)
	p.open(s.url + "/admin/connections")
	p.until(`document.querySelector('#connection-list').innerText.includes('Workshop')`)
	if page := value[string](p, `document.documentElement.outerHTML`); strings.Contains(page, "very-secret") {
		t.Error("the page shows the key")
	}
	p.until(`/…|•|\*/.test(document.querySelector('#connection-list [data-label=Key] code').innerText)`)
	p.open(s.url + "/")
	p.choose("#model", "demo-chat")
	p.say("Good morning")
	p.chatID()
	p.settled("complete")
	p.until(newest + `.innerText.includes('You wrote: “Good morning”')`)
	p.until(`document.querySelector('#chat-title').innerText === 'Demo: Good morning'`)
	p.until(`document.querySelector('#side-tree [aria-current=page] .row-title').innerText === 'Demo: Good morning' && document.title.startsWith('Demo: Good morning')`)
}

// TestTalking is what a person does in a chat.
func TestTalking(t *testing.T) {
	w := newWorld(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"stop keeps the text", stopKeeps},
		{"queue, edit, withdraw, delivered at the end", queueWhileRunning},
		{"after a stop the queue waits to be sent", queueAfterStop},
		{"edit rewinds", editRewinds},
		{"regenerate keeps the earlier version", regenerateKeeps},
		{"thinking is folded", thinkingFolded},
		{"a long chat loads earlier messages", earlierMessages},
		{"a refused message keeps its text", refusedKeeps},
	} {
		t.Run(step.name, func(t *testing.T) { step.run(t, w) })
	}
}

func stopKeeps(t *testing.T, w *world) {
	p := w.at(t, w.chat("gate", "stop me"))
	c := w.gate.next(t).say("The first words")
	p.reads("The first words")
	p.until(`document.querySelector('#send').dataset.act === 'stop' && document.querySelector('#log').getAttribute('aria-busy') !== 'x'`)
	p.shot("stop-1-streaming")
	p.press(kb.Escape)
	p.settled("stopped")
	c.left()
	p.reads("The first words")
	p.until(`document.querySelector('#send').dataset.act === 'send' && ` + newest + `.querySelector('.who .status').innerText.trim() === 'stopped'`)
	p.shot("stop-2-stopped")
}

func queueWhileRunning(t *testing.T, w *world) {
	p := w.at(t, w.chat("gate", "first"))
	c := w.gate.next(t).say("Answer one")
	p.reads("Answer one")
	p.say("second")
	p.until(`document.querySelectorAll('.queue-row').length === 1 && document.querySelector('#prompt').value === ''`)
	p.say("third")
	p.until(`document.querySelectorAll('.queue-row').length === 2`)
	p.shot("queue-1-two")
	p.click(`.queue-row:nth-child(1) [data-act=edit-queued]`)
	p.until(`document.activeElement.closest('.turn-edit')`)
	p.press(" thoughts")
	p.shot("queue-2-editing")
	p.press("\r", ctrl)
	p.until(`document.querySelector('.queue-row .turn-text').innerText === 'second thoughts' && !document.querySelector('.turn-edit')`)
	p.click(`.queue-row:nth-child(2) [data-act=withdraw]`)
	p.until(`document.querySelectorAll('.queue-row').length === 1`)
	c.end()
	c = w.gate.next(t)
	if got := c.turn(-1); got != "second thoughts" {
		t.Errorf("delivered %q", got)
	}
	c.say("Answer two").end()
	p.until(`document.querySelectorAll('#log > [data-role=assistant]').length === 2`)
	p.settled("complete")
	p.reads("Answer two")
	p.until(`document.querySelector('#queue').hidden && document.querySelectorAll('#log > [data-role=user]').length === 2`)
}

func queueAfterStop(t *testing.T, w *world) {
	p := w.at(t, w.chat("gate", "go"))
	w.gate.next(t).say("On the way")
	p.reads("On the way")
	p.say("and then")
	p.until(`document.querySelectorAll('.queue-row').length === 1`)
	p.press(kb.Escape)
	p.settled("stopped")
	p.until(`document.querySelector('.queue-row [data-act=send-now]').offsetParent`)
	p.shot("queue-3-held")
	p.click(`.queue-row [data-act=send-now]`)
	w.gate.next(t).say("Then this").end()
	p.until(`document.querySelectorAll('#log > [data-role=assistant]').length === 2`)
	p.settled("complete")
	p.reads("Then this")
}

func editRewinds(t *testing.T, w *world) {
	p := w.at(t, w.ended(t, "one", "Answer to one"))
	p.say("two")
	w.gate.next(t).say("Answer to two").end()
	p.until(`document.querySelectorAll('#log > [data-role=assistant]').length === 2`)
	p.settled("complete")
	p.click(`#log > [data-role=user] [data-act=edit-message]`)
	p.until(`document.activeElement.closest('.turn-edit')`)
	p.press(", changed")
	p.shot("edit-in-place")
	p.press("\r", ctrl)
	c := w.gate.next(t)
	if got := c.turn(-1); got != "one, changed" || c.turn(-3) == "one" {
		t.Errorf("asked with %v", c.body["messages"])
	}
	c.say("Answer to the change").end()
	p.until(`document.querySelectorAll('#log > [data-role=user]').length === 1 && document.querySelector('#log > [data-role=user] .turn-text').innerText === 'one, changed'`)
	p.settled("complete")
	p.reads("Answer to the change")
}

func regenerateKeeps(t *testing.T, w *world) {
	p := w.at(t, w.ended(t, "a riddle", "Answer A"))
	p.click(`[data-act=regenerate]`)
	w.gate.next(t).say("Answer B").end()
	p.until(newest + `.querySelector('.versions')?.innerText.trim() === '2/2'`)
	p.settled("complete")
	p.reads("Answer B")
	p.shot("versions")
	p.click(`#log .versions [aria-label="Earlier version"]`)
	p.reads("Answer A")
	p.until(newest + `.querySelector('.versions').innerText.trim() === '1/2'`)
	p.click(`#log .versions [aria-label="Later version"]`)
	p.reads("Answer B")
}

func thinkingFolded(t *testing.T, w *world) {
	for _, model := range []string{"demo-thinking", "demo-think-tags"} {
		p := w.at(t, w.chat(model, "how much is 17 times 23?"))
		p.settled("complete")
		p.until(newest + `.querySelector('.think summary').innerText.startsWith('Thought for')`)
		if value[bool](p, newest+`.querySelector('.think').open || `+newest+`.querySelector('.round > .text').innerText.includes('think>')`) {
			t.Errorf("%s: the thinking is open, or in the answer", model)
		}
		p.click(`#log .think summary`)
		p.until(newest + `.querySelector('.think').open && ` + newest + `.querySelector('.thought').getClientRects().length`)
		p.shot("thinking-open-" + model)
		p.close()
	}
}

func earlierMessages(t *testing.T, w *world) {
	chat := w.ended(t, "message 0", "reply 0")
	for i := range 30 {
		made := w.ann.want(202, "POST", "/api/v1/chats/"+chat+"/messages", map[string]any{"text": "more " + strings.Repeat("and more ", i)})
		w.gate.next(t).say("Yes.\n\n" + strings.Repeat("Another line.\n\n", 12)).end()
		w.ann.awaitEnd(chat, text(made["reply_id"]))
	}
	p := w.at(t, chat)
	p.until(`(s => s.scrollHeight - s.scrollTop - s.clientHeight < 4)(document.querySelector('#scroll'))`)
	if value[bool](p, `document.body.innerText.includes('message 0')`) {
		t.Error("the whole chat came at once")
	}
	p.until(`(document.querySelector('#scroll').scrollTop = 0, document.querySelector('#log').innerText.includes('message 0'))`)
	p.until(`!document.querySelector('#jump').hidden`)
	p.shot("jump-to-latest")
	p.click("#jump")
	p.until(`document.querySelector('#jump').hidden`)
}

func refusedKeeps(t *testing.T, w *world) {
	p := w.at(t, w.ended(t, "hello", "Hello"))
	p.live()
	value[bool](p, `(self.realFetch = fetch, self.fetch = (u, o) => o?.method === 'POST' && String(u).includes('/messages') ? Promise.reject(new TypeError('no network')) : realFetch(u, o), true)`)
	p.say("do not lose me")
	p.until(`document.querySelector('.toast[data-kind=error]') && document.querySelector('#prompt').value === 'do not lose me'`)
	p.shot("toast-refused")
	value[bool](p, `(self.fetch = realFetch, true)`)
	p.click(`.toast .button`)
	w.gate.next(t).say("Kept").end()
	p.until(`document.querySelectorAll('#log > [data-role=assistant]').length === 2 && document.querySelector('#prompt').value === ''`)
	p.settled("complete")
	p.reads("Kept")
	p.forgive()
}
