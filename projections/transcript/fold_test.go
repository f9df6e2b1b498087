package transcript

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lembas/events"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// envelopes writes a history as the log would have it, a second apart.
func envelopes(t *testing.T, history ...events.Payload) []events.Envelope {
	t.Helper()
	var out []events.Envelope
	for i, p := range history {
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		info, ok := events.Lookup(p.EventType())
		if !ok {
			t.Fatalf("%s is not registered", p.EventType())
		}
		out = append(out, events.Envelope{Position: events.Position(10 + 2*i), Version: events.Version(i + 1), Stream: "chat/c1", Type: info.Name,
			TypeVersion: info.Version, Time: noon.Add(time.Duration(i) * time.Second), Data: data})
	}
	return out
}

func fold(t *testing.T, history ...events.Payload) *Chat {
	t.Helper()
	c := &Chat{}
	for _, e := range envelopes(t, history...) {
		if err := c.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// outline is a transcript in one line a message, as a reader would tell it.
func outline(c *Chat) string {
	var b strings.Builder
	for _, t := range c.Turns {
		fmt.Fprintf(&b, "%s %q", t.ID, t.Text())
		if n := len(t.Texts); n > 1 {
			fmt.Fprintf(&b, " (version %d)", n)
		}
		b.WriteString("\n")
		for i, r := range t.Replies {
			fmt.Fprintf(&b, "  %s %s %q", r.ID, r.Status, r.Content())
			if s := r.Reasoning(); s != "" {
				fmt.Fprintf(&b, " thinking %q", s)
			}
			for _, x := range r.Rounds {
				if x.Superseded {
					fmt.Fprintf(&b, " superseded %q", x.Content.String())
				}
				for _, k := range x.Calls {
					fmt.Fprintf(&b, " call %s %s", k.Name, k.Status)
				}
				for _, q := range x.Injected {
					fmt.Fprintf(&b, " injected %q", q.Text)
				}
			}
			if i < len(t.Replies)-1 {
				b.WriteString(" (earlier)")
			}
			b.WriteString("\n")
		}
	}
	for _, q := range c.Queue {
		fmt.Fprintf(&b, "queued %s %q\n", q.ID, q.Text)
	}
	for _, t := range c.Left {
		fmt.Fprintf(&b, "left %s\n", t.ID)
	}
	return b.String() + c.Status()
}

func chunk(r string, n int, kind, text string) events.ReplyChunk {
	return events.ReplyChunk{Reply: r, Round: n, Kind: kind, Text: text, Cuts: [][2]int64{{0, 5}}}
}

func TestFolds(t *testing.T) {
	start := []events.Payload{
		events.ChatCreated{Chat: "c1", Owner: "ann", Kind: "chat", Model: "m1", Title: "hello"},
		events.MessageSubmitted{Message: "t1", Text: "hello"},
		events.ReplyRequested{Reply: "r1", Message: "t1", Reason: "message"},
		events.ReplyStarted{Reply: "r1"},
		events.RoundStarted{Reply: "r1", Round: 1},
		chunk("r1", 1, "reasoning", "hm"),
		chunk("r1", 1, "content", "Hi"),
		chunk("r1", 1, "content", " there"),
	}
	ended := append(slices.Clone(start), events.RoundFinished{Reply: "r1", Round: 1, FinishReason: "stop"}, events.ReplyFinished{Reply: "r1", Status: "complete"})
	then := func(base []events.Payload, more ...events.Payload) []events.Payload {
		return append(slices.Clone(base), more...)
	}
	for name, c := range map[string]struct {
		given []events.Payload
		want  string
	}{
		"a reply that streams": {start, "t1 \"hello\"\n  r1 streaming \"Hi there\" thinking \"hm\"\nrunning"},
		"a reply that ended":   {ended, "t1 \"hello\"\n  r1 complete \"Hi there\" thinking \"hm\"\nidle"},
		"a round that a restart cut": {then(start, events.RoundSuperseded{Reply: "r1", Round: 1}, events.ReplyResumed{Reply: "r1"},
			events.RoundStarted{Reply: "r1", Round: 2}, chunk("r1", 2, "content", "Anew")),
			"t1 \"hello\"\n  r1 streaming \"Anew\" superseded \"Hi there\"\nrunning"},
		"text that was thinking": {then(start, events.ReplyReclassified{Reply: "r1", Round: 1, From: "content", To: "reasoning"}, chunk("r1", 1, "content", "42")),
			"t1 \"hello\"\n  r1 streaming \"42\" thinking \"hmHi there\"\nrunning"},
		"a queue, with an edit and a withdrawal": {then(start, events.MessageQueued{Message: "q1", Text: "a"}, events.MessageQueued{Message: "q2", Text: "b"},
			events.MessageEdited{Message: "q1", Text: "A"}, events.MessageWithdrawn{Message: "q2"}),
			"t1 \"hello\"\n  r1 streaming \"Hi there\" thinking \"hm\"\nqueued q1 \"A\"\nrunning"},
		"a queued turn becomes a turn": {then(ended, events.MessageQueued{Message: "q1", Text: "a"}, events.MessageDelivered{Message: "q1", Reply: "r2"},
			events.ReplyRequested{Reply: "r2", Message: "q1"}),
			"t1 \"hello\"\n  r1 complete \"Hi there\" thinking \"hm\"\nq1 \"a\"\n  r2 streaming \"\"\nrunning"},
		"a queued turn goes into the running reply": {then(start, events.MessageQueued{Message: "q1", Text: "a"}, events.MessageDelivered{Message: "q1", Reply: "r1", Round: 1}),
			"t1 \"hello\"\n  r1 streaming \"Hi there\" thinking \"hm\" injected \"a\"\nrunning"},
		"a turn delivered into a round that has not begun": {then(start, events.MessageQueued{Message: "q1", Text: "a"}, events.MessageDelivered{Message: "q1", Reply: "r1", Round: 2}),
			"t1 \"hello\"\n  r1 streaming \"Hi there\" thinking \"hm\" injected \"a\"\nrunning"},
		"another reply to the same turn": {then(ended, events.ReplyRequested{Reply: "r2", Message: "t1", Reason: "regenerate"}),
			"t1 \"hello\"\n  r1 complete \"Hi there\" thinking \"hm\" (earlier)\n  r2 streaming \"\"\nrunning"},
		"an edit takes later turns out": {then(ended, events.MessageSubmitted{Message: "t2", Text: "two"}, events.ReplyRequested{Reply: "r2", Message: "t2"},
			events.ReplyFinished{Reply: "r2", Status: "failed"}, events.MessageEdited{Message: "t1", Text: "HELLO"}, events.ChatRewound{Message: "t1"},
			events.ReplyRequested{Reply: "r3", Message: "t1", Reason: "edit"}),
			"t1 \"HELLO\" (version 2)\n  r1 complete \"Hi there\" thinking \"hm\" (earlier)\n  r3 streaming \"\"\nleft t2\nrunning"},
		"calls and their ends": {then(start, events.ToolCalled{Reply: "r1", Round: 1, Call: "k1", Name: "a"}, events.ToolCalled{Reply: "r1", Round: 1, Call: "k2", Name: "b"},
			events.ToolStarted{Reply: "r1", Round: 1, Call: "k1"}, events.ToolInterrupted{Reply: "r1", Round: 1, Call: "k1"}, events.ToolFinished{Reply: "r1", Round: 1, Call: "k2", Status: "refused"}),
			"t1 \"hello\"\n  r1 streaming \"Hi there\" thinking \"hm\" call a interrupted call b refused\nrunning"},
		"a card waits": {then(start, events.ConsentRequested{Consent: "x1", Reply: "r1"}), "t1 \"hello\"\n  r1 waiting \"Hi there\" thinking \"hm\"\nwaiting"},
		"a card was answered": {then(start, events.ConsentRequested{Consent: "x1", Reply: "r1"}, events.ConsentAnswered{Consent: "x1"}),
			"t1 \"hello\"\n  r1 streaming \"Hi there\" thinking \"hm\"\nrunning"},
		"chunks were erased": {then(ended, events.ReplyFolded{Reply: "r1", Rounds: []events.FoldedRound{{Round: 1, Content: "whole", Reasoning: "thought"}}}),
			"t1 \"hello\"\n  r1 complete \"whole\" thinking \"thought\"\nidle"},
		"what names nothing changes nothing": {then(ended, chunk("r9", 1, "content", "x"), chunk("r1", 9, "content", "x"), events.MessageWithdrawn{Message: "q9"},
			events.MessageDelivered{Message: "q9"}, events.ChatRewound{Message: "t9"}, events.ReplyRequested{Reply: "r9", Message: "t9"}, events.MessageEdited{Message: "t9", Text: "x"},
			events.ReplyFinished{Reply: "r9", Status: "failed"}, events.RoundFinished{Reply: "r9", Round: 1}, events.ToolFinished{Reply: "r1", Round: 1, Call: "k9"}),
			"t1 \"hello\"\n  r1 complete \"Hi there\" thinking \"hm\"\nidle"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outline(fold(t, c.given...)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestOverlapsAreIgnoredAndVersionsKept(t *testing.T) {
	all := envelopes(t, events.ChatCreated{Chat: "c1", Owner: "ann"}, events.MessageSubmitted{Message: "t1", Text: "x"},
		events.ReplyRequested{Reply: "r1", Message: "t1"}, events.RoundStarted{Reply: "r1", Round: 1}, chunk("r1", 1, "content", "a"))
	c := &Chat{}
	for _, i := range []int{0, 1, 0, 2, 1, 3, 4, 4, 2} {
		if err := c.Apply(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got := outline(c); got != "t1 \"x\"\n  r1 streaming \"a\"\nrunning" {
		t.Error(got)
	}
	if c.Version != 5 || c.Deciding != 3 || c.Position != 18 {
		t.Errorf("version %d, deciding %d, position %d", c.Version, c.Deciding, c.Position)
	}
}

func TestUnknownTypesMoveThePositionOnly(t *testing.T) {
	c := fold(t, events.ChatCreated{Chat: "c1", Owner: "ann"})
	before := outline(c)
	e := events.Envelope{Position: 99, Version: 2, Stream: "chat/c1", Type: "dragon.slain", TypeVersion: 1, Data: json.RawMessage(`{"x":[]}`)}
	if err := c.Apply(&e); err != nil || c.Position != 99 || outline(c) != before {
		t.Errorf("%v, %d, %s", err, c.Position, outline(c))
	}
}

func TestMeasure(t *testing.T) {
	first := int64(200)
	r := &Reply{Requested: noon, Rounds: []*Round{
		{Started: noon.Add(50 * time.Millisecond), Estimate: 100, MS: 400, Superseded: true, Content: Text{b: []byte("12345678")}},
		{Started: noon.Add(time.Second), Estimate: 100, MS: 2200, FirstMS: &first, Usage: &events.Usage{Prompt: 50, Completion: 20}},
	}}
	m := Measure(r, 200, noon.Add(4*time.Second))
	share := 25.0
	after := int64(1200)
	want := events.Metrics{Prompt: 150, Completion: 22, Estimated: true, Context: &share, Rounds: 1, MS: 4000, FirstMS: &after, TokensPerSecond: 11}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, want %+v", m, want)
	}
	if m := Measure(&Reply{Requested: noon}, 0, noon.Add(-time.Hour)); m.MS != 0 || m.Context != nil || m.FirstMS != nil {
		t.Errorf("nothing was asked and the clock went back: %+v", m)
	}
}
