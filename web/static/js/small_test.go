package js_test

import (
	"testing"

	"lembas/events"
	"lembas/web/templates"
)

// TestSmallToolLine: on a phone the label of a call is whole, how it stands is
// beside it whatever it is, and what it acts on has the line below.
func TestSmallToolLine(t *testing.T) {
	h := newHouse(t)
	p := openTab(t, "")
	p.phone()
	p.open(h.URL + "/chat/c1")
	l := h.next(t)
	tools := templates.Round{Reply: "r1", N: 1}
	for i, status := range []string{"ok", "denied", "error", "running"} {
		tools.Tools = append(tools.Tools, templates.ToolLine{Reply: "r1", N: 1, Index: i, Call: "c", Icon: "globe", Label: "Read a page of the web", Target: "https://example.org/reports/2026/q1.html", Status: status, Duration: "0.3 s"})
	}
	l.send(t, frame(11, "c1", op{"op": "put", "target": "tools-r1-1", "html": h.fragment("tools", tools)}))
	p.until(`document.querySelectorAll('.tool').length === 4`)
	p.equal(`[...document.querySelectorAll('.tool > summary')].map(line => {
		const at = css => line.querySelector(css).getBoundingClientRect(), label = line.querySelector('b')
		return label.scrollWidth <= label.clientWidth && label.getClientRects().length === 1 && label.offsetHeight < 30 &&
			at('.status .icon').top < at('b').bottom && at('code').top >= at('b').bottom && at('code').width > 250
	})`, []bool{true, true, true, true})
}

// TestSmallQueue: when a message that waits goes in is said on a phone, too.
func TestSmallQueue(t *testing.T) {
	h := newHouse(t)
	p := openTab(t, "")
	p.phone()
	p.open(h.URL + "/chat/c1")
	l := h.next(t)
	l.send(t, frame(11, "c1", op{"op": "put", "target": "queue", "html": h.fragment("queue", templates.Queue{Chat: "c1", Rows: []templates.QueueRow{{Chat: "c1", ID: "m7", Text: "And Sparta?"}}})}))
	p.until(`document.getElementById('queue').innerText.includes('Goes in after the present step, or when the reply ends.')`)
}

// TestAlwaysIsRead: the line of a record of several calls says which are allowed
// from now on.
func TestAlwaysIsRead(t *testing.T) {
	k := approval("k1", 2)
	h := newHouse(t, answered(k, events.ConsentAnswer{Key: "a", Verdict: "allow"}, events.ConsentAnswer{Key: "b", Verdict: "always"}))
	p, _ := h.open("")
	p.equal(`[...document.querySelectorAll('#card-k1 .record-marks > span')].map(e => [...e.querySelectorAll('em')].map(e => e.innerText).join())`, []string{"", "· always"})
}
