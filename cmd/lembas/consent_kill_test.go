package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lembas/events"
)

// openTest opens a data directory in this process.
func openTest(t testing.TB, dir string) *app {
	t.Helper()
	a, err := openApp(context.Background(), &program{env: func(string) string { return "" }}, dir, slog.New(slog.NewTextHandler(io.Discard, nil)), 0)
	must(t, err)
	return a
}

// allStored gives the log's events by chat.
func (s *server) allStored() map[string][]events.Envelope {
	s.t.Helper()
	out := map[string][]events.Envelope{}
	for line := range strings.Lines(mustCLI(s.t, "", "events", "--data", s.dir)) {
		var e events.Envelope
		must(s.t, json.Unmarshal([]byte(line), &e))
		if chat, ok := strings.CutPrefix(e.Stream, "chat/"); ok {
			out[chat] = append(out[chat], e)
		}
	}
	return out
}

// seeded gives random numbers that LEMBAS_SEED repeats.
func seeded(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("LEMBAS_SEED"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		must(t, err)
		seed = n
	}
	t.Logf("LEMBAS_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// killer kills a server once, some time after it was fired.
type killer struct {
	s     *server
	after time.Duration
	once  sync.Once
	done  chan struct{}
}

func (k *killer) fire() {
	k.once.Do(func() {
		go func() {
			<-time.After(k.after) // the random moment is the test
			k.s.kill()
			close(k.done)
		}()
	})
}

// The moments from which a kill is counted.
const (
	fromRequest = iota
	fromCard
	fromAnswer
	fromCall
	fromResult
	moments
)

// within is how long after its moment a kill may come.
var within = [moments]time.Duration{40 * time.Millisecond, 40 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 20 * time.Millisecond}

// TestKillsAroundAConsent kills the real server with SIGKILL at random moments
// between the request and the end of a reply that asks for a consent. Nothing
// runs twice, nothing runs that was not allowed before, durably; the card comes
// back as it was; what a kill cut is told to reader and model; every reply ends.
func TestKillsAroundAConsent(t *testing.T) {
	rng := seeded(t)
	d := newDesk(t)
	d.tool.does(func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		select {
		case <-time.After(15 * time.Millisecond):
		case <-r.Context().Done():
		}
		return false
	})
	lives := make([]*life, times(t, 25))
	for i := range lives {
		note := fmt.Sprintf("life-%d-", i)
		l := &life{note: note, from: i % moments, plan: once(note, calling("look", note+"look"), calling("press", note+"yes"), calling("press", note+"no"), calling("shoot", note+"also"))}
		l.kill = &killer{s: d.s, after: time.Duration(rng.Int64N(int64(within[l.from]))), done: make(chan struct{})}
		lives[i] = l
		d.live(l)
	}
	byChat := d.s.allStored()
	all := map[string]int{}
	for _, l := range lives {
		for what, n := range d.judge(l, byChat[l.chat]) {
			all[what] += n
		}
	}
	t.Logf("%d kills: %v", len(lives), all)
	if out := mustCLI(t, "", "verify", "--data", d.s.dir); !strings.HasPrefix(out, "good: ") {
		t.Errorf("verify: %s", out)
	}
}

// life is a reply with a card, in which the server dies once.
type life struct {
	note        string
	plan        plan
	from        int
	kill        *killer
	chat, reply string
	reborn      bool   // the server was killed and started again
	card        string // consent.requested as it was shown first
}

// live takes a chat to its end.
func (d *desk) live(l *life) {
	d.t.Helper()
	prompt, err := json.Marshal(l.plan)
	must(d.t, err)
	if l.from == fromRequest {
		l.kill.fire()
	}
	var act acts
	act = d.tool.does(func(w http.ResponseWriter, r *http.Request, nonce string) bool {
		if l.from == fromCall {
			l.kill.fire()
		}
		return act(w, r, nonce)
	})
	for l.chat == "" {
		a, err := d.ann.try("POST", "/api/v1/chats", map[string]any{"model": "m", "text": string(prompt)}, "Idempotency-Key", l.note)
		switch {
		case err != nil:
			d.again(l)
		case a.status != 201:
			d.t.Fatalf("%s: %d %s", l.note, a.status, a.body)
		default:
			made := a.json(d.t)
			l.chat, l.reply = text(made["chat_id"]), text(made["reply_id"])
		}
	}
	for !d.follows(l) {
		d.again(l)
	}
	l.kill.fire()
	if !l.reborn { // it ended before its kill
		d.again(l)
	}
	d.tool.does(act)
}

// again starts the server after its kill.
func (d *desk) again(l *life) {
	d.t.Helper()
	select {
	case <-l.kill.done:
	case <-time.After(time.Minute):
		d.t.Fatalf("%s: cut, and nobody killed the server", l.note)
	}
	d.ann.http.CloseIdleConnections()
	d.s.start()
	l.reborn = true
}

// follows shows the chat to a person who answers its card, until the reply has
// ended or the server is gone.
func (d *desk) follows(l *life) (ended bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = d.ann.follow(ctx, l.chat, "0", func(e event) bool { // it ends when the server does
		switch e.typ {
		case "consent.requested":
			if l.card != "" && l.card != string(e.data) {
				d.t.Errorf("%s: the card\n%s\ncame back as\n%s", l.note, l.card, e.data)
			}
			l.card = string(e.data)
			d.word(l, payload[events.ConsentRequested](d.t, e.data))
		case "tool.finished":
			if l.from == fromResult {
				l.kill.fire()
			}
		case "reply.finished":
			ended = true
		}
		return !ended
	})
	if ctx.Err() != nil {
		d.t.Fatalf("%s: the reply does not end", l.note)
	}
	return ended
}

// word allows what is called yes and also, and denies what is called no.
func (d *desk) word(l *life, card events.ConsentRequested) {
	if l.from == fromCard || l.from == fromAnswer {
		l.kill.fire()
	}
	if l.from == fromCard { // the person reads for a while
		select {
		case <-l.kill.done:
		case <-time.After(20 * time.Millisecond):
		}
	}
	a, err := d.ann.try("POST", cardPath(l.chat, card), verdicts(card, "allow", "deny", "allow"))
	if err != nil {
		return // killed: it is shown again, as waiting or as answered
	}
	var told said
	must(d.t, json.Unmarshal(a.body, &told))
	if a.status != 200 && a.status != 409 || told.State != "answered" || len(told.Answers) != 3 || told.Answers[1].Verdict != "deny" {
		d.t.Errorf("%s: %d %s", l.note, a.status, a.body)
	}
}

// judge compares what the log, the tool, the reader and the model have of a
// life, and counts what happened.
func (d *desk) judge(l *life, log []events.Envelope) map[string]int {
	t := d.t
	t.Helper()
	seen := map[string]int{}
	nonce := map[string]string{callID(0, 0): "look", callID(0, 1): "yes", callID(0, 2): "no", callID(0, 3): "also"}
	started, over := map[string]bool{}, map[string]string{}
	answered, before := false, ""
	for i := range log {
		e := &log[i]
		p, err := events.Decode(e)
		must(t, err)
		seen[e.Type]++
		switch e.Type {
		case "reply.resumed":
			seen["cut after "+before]++
		case "round.superseded", "tool.interrupted":
		default:
			before = e.Type
		}
		switch p := p.(type) {
		case events.ConsentAnswered:
			answered = true
		case events.ToolStarted:
			if !answered || started[p.Call] || seen["reply.finished"] > 0 || nonce[p.Call] == "no" || (nonce[p.Call] != "look") != (p.Consent != "") {
				t.Errorf("%s: %s began at %d: answered %t, begun before %t", l.note, p.Call, e.Position, answered, started[p.Call])
			}
			started[p.Call] = true
		case events.ToolFinished:
			over[p.Call] = p.Status
		case events.ToolInterrupted:
			over[p.Call] = "interrupted"
		case events.ReplyFinished:
			if p.Status != events.Complete {
				t.Errorf("%s ended %s %s", l.note, p.Status, p.Reason)
			}
		}
	}
	if seen["reply.finished"] != 1 || seen["consent.requested"] != 1 || seen["consent.answered"] != 1 {
		t.Errorf("%s: %v", l.note, seen)
	}
	told, shown := d.told(l.note), d.ann.transcript(l.chat).tools()
	for call, name := range nonce {
		ran := d.tool.count(l.note + name)
		status := over[call]
		ok := map[string]bool{
			events.ToolOK:     ran == 1 && strings.Contains(told[call], "did "+l.note+name),
			events.ToolDenied: ran == 0 && name == "no" && strings.Contains(told[call], "denied"),
			"interrupted":     ran <= 1 && strings.Contains(told[call], "not known"),
		}[status]
		if !ok || ran > 0 && !started[call] || shown[call]["status"] != status {
			t.Errorf("%s%s: %s in the log, %v to the reader, %q to the model; ran %d times", l.note, name, status, shown[call]["status"], told[call], ran)
		}
	}
	keep := []string{"round.superseded", "reply.resumed", "tool.interrupted", "tool.started"}
	for typ := range seen {
		if !slices.Contains(keep, typ) && !strings.HasPrefix(typ, "cut ") {
			delete(seen, typ)
		}
	}
	return seen
}
