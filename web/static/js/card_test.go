package js_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"testing"

	"github.com/chromedp/chromedp"

	"lembas/events"
	"lembas/projections/transcript"
)

// want compares what was sent with answers written as JSON.
func want(t *testing.T, got []map[string]any, answers string) {
	t.Helper()
	var wanted, had any
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(answers), &wanted); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(data, &had)
	if !reflect.DeepEqual(had, wanted) {
		t.Errorf("sent %s, want %s", data, answers)
	}
}

const (
	allowButton = `#card-k1 [data-item=a] [data-verdict=allow]`
	denyButton  = `#card-k1 [data-item=a] [data-verdict=deny]`
	editButton  = `#card-k1 [data-item=a] [data-act=card-edit]`
	argument    = `document.querySelector('#card-k1 [data-item=a] [data-slot=argument]')`
	reason      = `document.querySelector('#card-k1 [data-item=a] [data-slot=reason]')`
	errorLine   = `document.querySelector('#card-k1 [data-slot=error]').textContent`
)

// twice is a double click on the place where an element is: two clicks, of which
// the second may hit what the first has put there.
func (p *tab) twice(css string) {
	p.t.Helper()
	at := run[[]float64](p, `(e => { e.scrollIntoView({ block: 'center' }); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })(document.querySelector('`+css+`'))`)
	p.do(chromedp.MouseClickXY(at[0], at[1]), chromedp.MouseClickXY(at[0], at[1], chromedp.ClickCount(2)))
}

// TestAllowIsSentOnce: a double click is one answer; nothing is drawn from what
// the server answers, the record comes by the stream, and the focus goes on.
func TestAllowIsSentOnce(t *testing.T) {
	k := approval("k1", 1)
	h := newHouse(t, k)
	hold := make(chan struct{})
	h.answer(answerRoute, func(w http.ResponseWriter, r *http.Request) {
		<-hold
		fmt.Fprint(w, `{"position":12}`)
	})
	p, l := h.open("")
	p.twice(allowButton)
	c := h.called(t, answerRoute, 0)
	want(t, sent(t, c), `[{"key":"a","verdict":"allow"}]`)
	if len(c.Key) != 32 {
		t.Errorf("the key is %q", c.Key)
	}
	p.equal(`[document.getElementById('card-k1').ariaBusy, document.querySelector('`+allowButton+`').ariaDisabled, document.activeElement.dataset.verdict]`, []string{"true", "true", "allow"})
	p.press("a")
	p.press("\r")
	p.exec(`document.querySelector('` + denyButton + `').click()`)
	close(hold)
	p.until(`sessionStorage.getItem('card:k1') === null`)
	p.equal(`[document.getElementById('card-k1').dataset.state, document.querySelector('#card-k1 [data-slot=deny]').hidden]`, []any{"waiting", true})
	l.send(t, frame(12, "c1", h.put(answered(k, events.ConsentAnswer{Key: "a", Verdict: "allow"})), op{"op": "attr", "target": "composer", "name": "data-state", "value": "running"}))
	p.until(`document.getElementById('card-k1').dataset.state === 'answered' && document.activeElement.id === 'prompt'`)
	if n := h.count(answerRoute); n != 1 {
		t.Errorf("%d answers, want one", n)
	}
}

// TestEdit: the corrected argument goes with the others as they were, digit by
// digit; Always is not offered meanwhile, and Esc gives the edit up, not the reply.
func TestEdit(t *testing.T) {
	h := newHouse(t, approval("k1", 1))
	p, _ := h.open("")
	p.click(editButton)
	p.equal(`[document.activeElement === `+argument+`, `+argument+`.value, document.querySelector('#card-k1 .exact').offsetParent !== null || true]`, []any{true, "ls -l a", true})
	p.exec(argument + `.setSelectionRange(99, 99)`)
	p.press("x")
	p.equal(`document.querySelector('#card-k1 [data-verdict=always]').disabled`, true)
	p.press("\x1b")
	p.equal(`[document.querySelector('#card-k1 [data-slot=edit]').hidden, document.activeElement.dataset.act, document.querySelector('#card-k1 [data-verdict=always]').disabled]`, []any{true, "card-edit", false})
	p.press("e") // by its key, from the button
	p.equal(`[document.activeElement === `+argument+`, `+argument+`.value]`, []any{true, "ls -l a"})
	p.exec(argument + `.setSelectionRange(99, 99)`)
	p.press(" d e a") // letters are letters here
	p.press("\r")     // and a line ends
	p.press("b")
	p.equal(argument+`.value`, "ls -l a d e a\nb")
	p.press("\r", chromedp.ModifierCtrl)
	c := h.called(t, answerRoute, 0)
	if wanted := `{"answers":[{"key":"a","verdict":"allow","arguments":{"command":"ls -l a d e a\nb","timeout":9007199254740993}}]}`; c.Body != wanted {
		t.Errorf("sent %s, want %s", c.Body, wanted)
	}
	if h.count("POST /api/v1/chats/c1/stop") != 0 {
		t.Error("Esc in a card stopped the reply")
	}
}

// TestEditThatChangesNothing is an answer as it was asked.
func TestEditThatChangesNothing(t *testing.T) {
	h := newHouse(t, approval("k1", 1))
	p, _ := h.open("")
	p.click(editButton)
	p.click(allowButton)
	want(t, sent(t, h.called(t, answerRoute, 0)), `[{"key":"a","verdict":"allow"}]`)
}

func TestEmptyEditIsNotSent(t *testing.T) {
	h := newHouse(t, approval("k1", 1))
	p, _ := h.open("")
	p.click(editButton)
	p.exec(`(` + argument + `.select(), document.execCommand('delete'))`)
	p.click(allowButton)
	p.until(errorLine + `.startsWith('What is edited is empty.')`)
	if h.count(answerRoute) != 0 {
		t.Error("an empty command was allowed")
	}
}

// TestDeny: the button opens the reason, a double click too; only the second step
// denies.
func TestDeny(t *testing.T) {
	for _, c := range []struct{ name, reason, want string }{
		{"with a reason", "not on this machine", `[{"key":"a","verdict":"deny","reason":"not on this machine"}]`},
		{"without", "", `[{"key":"a","verdict":"deny"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, approval("k1", 1))
			p, _ := h.open("")
			p.twice(denyButton)
			p.equal(`[document.activeElement === `+reason+`, document.querySelector('`+denyButton+`').ariaExpanded]`, []any{true, "true"})
			if h.count(answerRoute) != 0 {
				t.Fatal("the first press denied")
			}
			p.press(c.reason)
			p.press("\r")
			want(t, sent(t, h.called(t, answerRoute, 0)), c.want)
		})
	}
}

func TestDenyIsTakenBack(t *testing.T) {
	h := newHouse(t, approval("k1", 1))
	p, _ := h.open("")
	p.click(denyButton)
	p.press("why")
	p.press("\x1b")
	p.equal(`[document.querySelector('#card-k1 [data-slot=deny]').hidden, document.activeElement.dataset.verdict]`, []any{true, "deny"})
	p.click(allowButton)
	want(t, sent(t, h.called(t, answerRoute, 0)), `[{"key":"a","verdict":"allow"}]`)
}

// TestSeveralItems are chosen one by one and sent together, each once.
func TestSeveralItems(t *testing.T) {
	h := newHouse(t, approval("k1", 3))
	p, _ := h.open("")
	send := `#card-k1 [data-act=card-send]`
	p.click(`#card-k1 [data-item=b] [data-verdict=always]`)
	p.equal(`[document.querySelector('#card-k1 [data-item=b]').dataset.chosen, document.querySelector('#card-k1 [data-item=b] [data-verdict=always]').ariaPressed, document.querySelector('#card-k1 [data-slot=count]').textContent, document.querySelector('`+send+`').ariaDisabled]`,
		[]string{"always", "true", "1 of 3 decided", "true"})
	p.click(send)
	p.until(errorLine + `.startsWith('Decide each call first') && document.activeElement.closest('[data-item]').dataset.item === 'a'`)
	p.click(`#card-k1 [data-item=a] [data-act=card-edit]`)
	p.exec(argument + `.setSelectionRange(99, 99)`)
	p.press("/tmp")
	p.press("\r", chromedp.ModifierCtrl)
	p.equal(`document.querySelector('#card-k1 [data-item=a]').dataset.chosen`, "allow")
	p.click(`#card-k1 [data-item=c] [data-verdict=allow]`)
	p.click(`#card-k1 [data-item=c] [data-verdict=allow]`) // and not
	p.equal(`[document.querySelector('#card-k1 [data-item=c]').dataset.chosen ?? '', document.querySelector('`+send+`').ariaDisabled]`, []string{"", "true"})
	p.click(`#card-k1 [data-item=c] [data-verdict=deny]`)
	p.press("too much\r")
	p.equal(`[document.activeElement.dataset.act, document.querySelector('`+send+`').hasAttribute('aria-disabled')]`, []any{"card-send", false})
	if h.count(answerRoute) != 0 {
		t.Fatal("sent before Send")
	}
	p.press("\r")
	want(t, sent(t, h.called(t, answerRoute, 0)), `[{"key":"a","verdict":"allow","arguments":{"command":"ls -l a/tmp","timeout":9007199254740993}},{"key":"b","verdict":"always"},{"key":"c","verdict":"deny","reason":"too much"}]`)
}

// TestForAll: the buttons for all send at once, also what is being edited.
func TestForAll(t *testing.T) {
	for _, c := range []struct{ name, css, then, want string }{
		{"allow", `#card-k1 [data-slot=all] [data-verdict=allow]`, "", `[{"key":"a","verdict":"allow","arguments":{"command":"ls -l a!","timeout":9007199254740993}},{"key":"b","verdict":"allow"}]`},
		{"deny", `#card-k1 [data-slot=all] [data-verdict=deny]`, "no\r", `[{"key":"a","verdict":"deny","reason":"no"},{"key":"b","verdict":"deny","reason":"no"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, approval("k1", 2))
			p, _ := h.open("")
			p.click(editButton)
			p.exec(argument + `.setSelectionRange(99, 99)`)
			p.press("!")
			p.click(`#card-k1 [data-item=b] [data-verdict=always]`)
			p.click(c.css)
			p.press(c.then)
			want(t, sent(t, h.called(t, answerRoute, 0)), c.want)
		})
	}
}

// TestConflict: another tab was first; the card says so and shows that answer.
func TestConflict(t *testing.T) {
	for state, words := range map[string]string{"answered": "answered already", "expired": "has expired", "withdrawn": "was withdrawn"} {
		t.Run(state, func(t *testing.T) {
			k := approval("k1", 1)
			h := newHouse(t, k)
			h.answer(answerRoute, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusConflict)
				fmt.Fprintf(w, `{"title":"Conflict","detail":"It is over.","state":%q}`, state)
			})
			p, l := h.open("")
			p.click(allowButton)
			p.until(`document.querySelector('.toast')?.textContent.includes(` + quote(words) + `)`)
			p.equal(`[document.getElementById('card-k1').ariaBusy, `+errorLine+`, sessionStorage.getItem('card:k1')]`, []any{"true", "", nil})
			done := answered(k, events.ConsentAnswer{Key: "a", Verdict: "deny", Reason: "by another"})
			if state != "answered" {
				done.State, done.Answers = map[string]string{"expired": transcript.CardExpired, "withdrawn": transcript.CardWithdrawn}[state], nil
			}
			l.send(t, frame(12, "c1", h.put(done)))
			p.until(`document.getElementById('card-k1').dataset.state === ` + quote(state))
		})
	}
}

// TestAnswerFails: nothing is lost, the words say what to do, the buttons come
// back, and the same answer again has the same key.
func TestAnswerFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"the log is full", 503, `{"detail":"The log cannot be written."}`, "The log cannot be written. Your answer was not taken and is kept here: try again."},
		{"bad", 422, `{"detail":"The arguments do not fit."}`, "The arguments do not fit. Change the answer and send it again."},
		{"gone", 404, `{"detail":"Not found."}`, "This card is not there any more; its chat may have been deleted. Reload the page."},
		{"a key of another answer", 409, `{"detail":"This key was used."}`, "This key was used. Your answer was not taken and is kept here: try again."},
		{"no server", 0, ``, "The server cannot be reached. Your answer was not taken and is kept here: try again."},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, approval("k1", 1))
			h.answer(answerRoute, func(w http.ResponseWriter, r *http.Request) {
				if c.status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			})
			p, _ := h.open("")
			p.click(editButton)
			p.exec(argument + `.setSelectionRange(99, 99)`)
			p.press("!")
			p.click(allowButton)
			p.until(errorLine + ` === ` + quote(c.want))
			first := h.called(t, answerRoute, 0)
			p.equal(`[`+argument+`.value, document.getElementById('card-k1').ariaBusy, document.querySelector('`+allowButton+`').ariaDisabled, document.activeElement.dataset.verdict]`, []any{"ls -l a!", nil, nil, "allow"})
			h.answer(answerRoute, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{}`) })
			n := h.count(answerRoute) // a browser may try a broken connection again
			p.press("\r")
			again := h.called(t, answerRoute, n)
			p.until(errorLine + ` === ''`)
			if again.Body != first.Body || again.Key != first.Key {
				t.Errorf("again %+v, first %+v", again, first)
			}
		})
	}
}

// TestAnotherAnswerHasAnotherKey: else the server would repeat what it said to
// the first.
func TestAnotherAnswerHasAnotherKey(t *testing.T) {
	h := newHouse(t, approval("k1", 1))
	h.answer(answerRoute, func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"detail":"no"}`, http.StatusServiceUnavailable)
	})
	p, _ := h.open("")
	p.click(allowButton)
	p.until(errorLine + ` !== ''`)
	p.click(denyButton)
	p.press("\r")
	first, second := h.called(t, answerRoute, 0), h.called(t, answerRoute, 1)
	if first.Key == second.Key || first.Body == second.Body {
		t.Errorf("the second answer %+v, the first %+v", second, first)
	}
}
