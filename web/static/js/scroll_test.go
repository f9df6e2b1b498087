package js_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// styled adds a sheet by script: the page's policy forbids it in the markup.
const styled = `const sheet = new CSSStyleSheet()
sheet.replaceSync('#scroll { height: 400px; overflow-y: auto; position: relative } .old, .turn { height: 120px } body { margin: 0 }')
document.adoptedStyleSheets.push(sheet)`

// turns is n messages of 120 px, the first with the given number.
func turns(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, `<article id="m-%d" class="old" data-message="%d" data-role="assistant">%d</article>`, i, i, i)
	}
	return b.String()
}

func longSite(t *testing.T) *site {
	s := newSite(t)
	s.main = strings.Replace(chatMain, `role="log">`, `role="log"><button id="older" hx-get="/chat/c1/messages?before=100" hx-target="this" hx-swap="outerHTML">Earlier</button>`+turns(100, 20), 1)
	s.answer("GET /chat/c1/messages", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "before=100" {
			fmt.Fprint(w, `<button id="older" hx-get="/chat/c1/messages?before=60" hx-target="this" hx-swap="outerHTML">Earlier</button>`+turns(60, 40))
			return
		}
		fmt.Fprint(w, turns(50, 10))
	})
	return s
}

const gap = `(box => Math.round(box.scrollHeight - box.scrollTop - box.clientHeight))(document.getElementById('scroll'))`

func (p *tab) wheel(dy float64) {
	p.t.Helper()
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: "mouseWheel", X: 100, Y: 250, DeltaX: 1, DeltaY: dy})
		return chromedp.Void{}, err
	})
}

func TestFollowsWhilePinned(t *testing.T) {
	s := longSite(t)
	p := openTab(t, styled)
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	p.equal(`[`+gap+`, document.getElementById('jump').hidden]`, []any{0, true})
	l.send(t, frame(11, "c1", op{"op": "put", "target": "m-200", "into": "log", "html": turns(200, 1)}))
	p.until(`document.getElementById('m-200') && ` + gap + ` === 0`)

	p.wheel(-80) // the least upward scroll lets go
	p.until(gap + ` > 0`)
	p.exec(`window.was = document.getElementById('scroll').scrollTop`)
	p.equal(`document.getElementById('jump').hidden`, true)
	l.send(t, frame(12, "c1", op{"op": "put", "target": "m-201", "into": "log", "html": turns(201, 1)}, op{"op": "put", "target": "m-202", "into": "log", "html": turns(202, 1)}))
	p.until(`document.getElementById('m-202') && !document.getElementById('jump').hidden`)
	p.equal(`document.getElementById('scroll').scrollTop === was`, true)
	p.exec(`document.getElementById('jump').click()`)
	p.until(gap + ` === 0 && document.getElementById('jump').hidden`)
	l.send(t, frame(13, "c1", op{"op": "put", "target": "m-203", "into": "log", "html": turns(203, 1)}))
	p.until(`document.getElementById('m-203') && ` + gap + ` === 0`)
}

// TestJumpHysteresis: between 60 and 200 px the button stays what it was.
func TestJumpHysteresis(t *testing.T) {
	s := longSite(t)
	p := openTab(t, styled)
	p.open(s.URL + "/chat/c1")
	for _, c := range []struct {
		gap    int
		hidden bool
	}{{150, true}, {201, false}, {150, false}, {61, false}, {59, true}, {199, true}} {
		p.exec(fmt.Sprintf(`(box => { box.scrollTop = box.scrollHeight - box.clientHeight - %d })(document.getElementById('scroll'))`, c.gap))
		p.exec(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
		p.equal(`document.getElementById('jump').hidden`, c.hidden)
	}
}

func TestFollowingOff(t *testing.T) {
	s := longSite(t)
	s.attrs = ` data-follow="off"`
	p := openTab(t, styled)
	p.open(s.URL + "/chat/c1")
	p.equal(gap, 0)
	s.next(t).send(t, frame(11, "c1", op{"op": "put", "target": "m-200", "into": "log", "html": turns(200, 2)}))
	p.until(`document.getElementById('m-200')`)
	p.equal(gap, 120)
}

func TestOlderPagesDoNotJump(t *testing.T) {
	s := longSite(t)
	p := openTab(t, styled)
	p.open(s.URL + "/chat/c1")
	p.exec(`(box => { box.scrollTop = 700 })(document.getElementById('scroll')), window.shift = () => document.getElementById("m-106").getBoundingClientRect().top - document.getElementById("scroll").getBoundingClientRect().top, window.was = shift(), 0`)
	p.exec(`(box => { box.scrollTop = 500 })(document.getElementById('scroll')), 0`) // within reach of the older ones
	p.until(`document.getElementById('m-60')`)
	p.until(`Math.abs(shift() - was - 200) < 2`)
	p.equal(`[...document.querySelectorAll('#log > [data-message]')].slice(0, 3).map(e => e.id)`, []string{"m-60", "m-61", "m-62"})
}

func TestDeepLinkLoadsOlder(t *testing.T) {
	s := longSite(t)
	p := openTab(t, styled)
	p.open(s.URL + "/chat/c1#m-52")
	p.until(`document.getElementById('m-52') && Math.abs(document.getElementById('m-52').getBoundingClientRect().top - document.getElementById('scroll').getBoundingClientRect().top) < 2`)
}

// TestQuestionStandsNearTheTop: after Send there is room for the answer, and
// the page follows only when the room is used up.
func TestQuestionStandsNearTheTop(t *testing.T) {
	s := longSite(t)
	s.answer("POST /api/v1/chats/c1/messages", accepted)
	p := openTab(t, styled)
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	p.click("#prompt")
	p.press("why?")
	p.press("\r")
	s.called(t, "POST /api/v1/chats/c1/messages", 0)
	p.until(`document.getElementById('prompt').value === ''`)
	l.send(t, frame(11, "c1", op{"op": "put", "target": "m-q", "into": "log", "html": `<article id="m-q" class="old" data-message="q" data-role="user">why?</article>`}))
	top := `Math.round(document.getElementById('m-q').getBoundingClientRect().top - document.getElementById('scroll').getBoundingClientRect().top)`
	p.until(top + ` === 24`)
	l.send(t, frame(12, "c1", op{"op": "put", "target": "m-300", "into": "log", "html": turns(300, 1)}))
	p.until(`document.getElementById('m-300') && ` + top + ` === 24 && document.getElementById('jump').hidden`)
	for i := range 4 {
		l.send(t, frame(13+i, "c1", op{"op": "put", "target": fmt.Sprint("m-", 301+i), "into": "log", "html": turns(301+i, 1)}))
	}
	p.until(`document.getElementById('m-304') && ` + top + ` < 0 && document.getElementById('room').offsetHeight === 0 && ` + gap + ` === 0`)
}
