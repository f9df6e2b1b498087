package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"lembas/events"
)

// inWorkers does something n times, four at a time.
func inWorkers(n int, do func(i int)) {
	var work sync.WaitGroup
	next := make(chan int)
	for range 4 {
		work.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	work.Wait()
}

// atOnce does things at the same moment and waits for all.
func atOnce(things ...func()) {
	var work sync.WaitGroup
	start := make(chan struct{})
	for _, do := range things {
		work.Go(func() {
			<-start
			do()
		})
	}
	close(start)
	work.Wait()
}

// said is what an answer to a card, or its refusal, says that stands.
type said struct {
	State   string
	Consent string
	Answers []events.ConsentAnswer
}

// TestTwoTabsAnswerTheSameCard: two sessions of one person give different
// verdicts at once. One is taken, the other is told it, and what runs is what
// the log's first verdict says (F43).
func TestTwoTabsAnswerTheSameCard(t *testing.T) {
	d := newDesk(t)
	one, other := d.session(), d.session()
	pairs := [][2]string{{"allow", "deny"}, {"deny", "allow"}, {"always", "deny"}, {"deny", "always"}}
	chats := make([]string, times(t, 60))
	var mu sync.Mutex
	first := [2]int{}
	inWorkers(len(chats), func(i int) {
		note := fmt.Sprint("race-", i)
		chat, reply := d.begin(once(note, calling("press", note)))
		chats[i] = chat
		card := d.ann.card(chat, 1)
		var got [2]answer
		atOnce(func() { got[0], _ = one.try("POST", cardPath(chat, card), verdicts(card, pairs[i%4][0])) },
			func() { got[1], _ = other.try("POST", cardPath(chat, card), verdicts(card, pairs[i%4][1])) })
		won := slices.IndexFunc(got[:], func(a answer) bool { return a.status == 200 })
		if won < 0 || got[1-won].status != 409 {
			t.Errorf("%s: %d %s and %d %s", note, got[0].status, got[0].body, got[1].status, got[1].body)
			return
		}
		mu.Lock()
		first[won]++
		mu.Unlock()
		var taken, told said
		must(t, json.Unmarshal(got[won].body, &taken))
		must(t, json.Unmarshal(got[1-won].body, &told))
		if taken.State != "answered" || told.State != "answered" || len(told.Answers) != 1 || told.Answers[0].Verdict != pairs[i%4][won] {
			t.Errorf("%s: %s stands, the other was told %s", note, got[won].body, got[1-won].body)
		}
		if status := d.ann.awaitEnd(chat, reply); status != events.Complete {
			t.Errorf("%s ended %s", note, status)
		}
		ran := 1
		if pairs[i%4][won] == "deny" {
			ran = 0
		}
		if n := d.tool.count(note); n != ran {
			t.Errorf("%s: %s was first and it ran %d times", note, pairs[i%4][won], n)
		}
	})
	t.Logf("the first session won %d times, the second %d times", first[0], first[1])
	byChat := d.s.allStored()
	for i, chat := range chats {
		var words []string
		for _, e := range byChat[chat] {
			if e.Type == "consent.answered" {
				words = append(words, payload[events.ConsentAnswered](t, e.AppendJSON(nil)).Answers[0].Verdict)
			}
		}
		if len(words) != 1 || (words[0] != "deny") != (d.tool.count(fmt.Sprint("race-", i)) == 1) {
			t.Errorf("race-%d: the log has %q", i, words)
		}
	}
}

// TestStopAgainstAllow: Stop and Allow are pressed at once. The reply is stopped
// whoever came first, and nothing begins after its end (F43).
func TestStopAgainstAllow(t *testing.T) {
	d := newDesk(t)
	d.tool.does(func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		<-r.Context().Done() // a call that runs ends with Stop only
		return true
	})
	one, other := d.session(), d.session()
	n := times(t, 60)
	chats := make([]string, n)
	inWorkers(n, func(i int) {
		note := fmt.Sprint("stop-", i)
		chat, reply := d.begin(once(note, calling("press", note)))
		chats[i] = chat
		card := d.ann.card(chat, 1)
		var allow, stop answer
		atOnce(func() { allow, _ = one.try("POST", cardPath(chat, card), verdicts(card, "allow")) },
			func() { stop, _ = other.try("POST", "/api/v1/chats/"+chat+"/stop", nil) })
		if stop.status != 202 || allow.status != 200 && allow.status != 409 {
			t.Errorf("%s: stop %d %s, allow %d %s", note, stop.status, stop.body, allow.status, allow.body)
			return
		}
		var told said
		must(t, json.Unmarshal(allow.body, &told))
		if allow.status == 409 && told.State != "withdrawn" {
			t.Errorf("%s: allow was told %s", note, allow.body)
		}
		if status := d.ann.awaitEnd(chat, reply); status != events.Stopped {
			t.Errorf("%s ended %s", note, status)
		}
	})
	byChat := d.s.allStored()
	begun := 0
	for i, chat := range chats {
		note := fmt.Sprint("stop-", i)
		ended, started := false, false
		for _, e := range byChat[chat] {
			switch e.Type {
			case "reply.finished":
				ended = true
			case "tool.started":
				started = true
				begun++
				if ended {
					t.Errorf("%s: a call began after the end", note)
				}
			}
		}
		if n := d.tool.count(note); n > 1 || n == 1 && !started {
			t.Errorf("%s: ran %d times; started %t", note, n, started)
		}
		if got := d.ann.transcript(chat); got.Status != "idle" || got.tools()[callID(0, 0)]["status"] != events.ToolStopped {
			t.Errorf("%s: %+v", note, got.last())
		}
	}
	t.Logf("in %d of %d races the call had begun", begun, n)
}

// TestTheSameAnswerTwice: a double click, and a try after a timeout, are one
// answer, and the second is told it (F42).
func TestTheSameAnswerTwice(t *testing.T) {
	d := newDesk(t)
	chat, reply := d.begin(once("twice", calling("press", "twice")))
	card := d.ann.card(chat, 1)
	got := make([]answer, 8)
	var all []func()
	for i := range got {
		all = append(all, func() {
			got[i], _ = d.ann.try("POST", cardPath(chat, card), verdicts(card, "allow"), "Idempotency-Key", "click")
		})
	}
	atOnce(all...)
	d.ann.awaitEnd(chat, reply)
	d.restart()
	got = append(got, d.ann.do("POST", cardPath(chat, card), verdicts(card, "allow"), "Idempotency-Key", "click"))
	for _, a := range got {
		var told said
		must(t, json.Unmarshal(a.body, &told))
		if a.status != 200 && a.status != 409 || told.State != "answered" || len(told.Answers) != 1 || told.Answers[0].Verdict != "allow" {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if n := d.tool.count("twice"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// hangs answers nothing until the other side leaves, which closes left.
func hangs(begun, left chan struct{}) func(http.ResponseWriter, *http.Request, string) bool {
	return func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		close(begun)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(left)
		return true
	}
}
