package stream

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"lembas/events"
	"lembas/projections/transcript"
)

// TestWhatWaitsIsToldToLookAnew: cards change what waits for a person, on every
// page that they look at; other news does not.
func TestWhatWaitsIsToldToLookAnew(t *testing.T) {
	h := newHouse(t, Options{})
	ann := h.human("ann")
	made := h.chat(ann, "hello")
	c := h.get(ann, fmt.Sprintf("/events?after=%d", h.log.Head()), "")
	defer c.close()
	c.until("ping")
	looks := func() bool {
		for {
			if chat, ops := frameOf(t, c.until("frame")); chat == "" {
				return slices.ContainsFunc(ops, func(o Op) bool {
					return o.Op == "attr" && o.Target == "waiting" && o.Name == "data-at" && o.Value != nil
				})
			}
		}
	}
	h.append(made.Chat, events.ConsentRequested{Consent: "q1", Reply: made.Reply, Round: 1, Kind: events.ConsentApproval, Items: []events.ConsentItem{item("a", "k10")}})
	if !looks() {
		t.Error("a card was put up")
	}
	h.append(made.Chat, events.ConsentExpired{Consent: "q1"})
	if !looks() {
		t.Error("a card expired")
	}
	h.append(made.Chat, events.ChatRenamed{Title: "Other", Origin: "person"})
	if looks() {
		t.Error("a new title is no card")
	}
}

// TestScopeIsToldToLookAnew: what the scope menu says comes from elsewhere.
func TestScopeIsToldToLookAnew(t *testing.T) {
	l := newLook(t)
	for _, p := range []events.Payload{events.ChatScopeChanged{Scope: map[string]bool{"fetch": false}}, events.ChatAllowAdded{Pattern: "fetch"}, events.ChatAllowCleared{}, events.ChatModelChanged{To: "m2"}} {
		history := happened(t, chain(answered(1), p))
		ops := l.frames(t, history, len(history)-1, nil, func() int { return 1 })[0].Ops
		if !slices.ContainsFunc(ops, func(o Op) bool { return o.Op == "attr" && o.Target == "scope" && o.Name == "data-at" && o.Value != nil }) {
			t.Errorf("%s: %+v", p.EventType(), ops)
		}
	}
}

// TestACardIsAnnounced: at once, with what it asks; its answer is not.
func TestACardIsAnnounced(t *testing.T) {
	l := newLook(t)
	history := happened(t, chain(three(), events.ConsentAnswered{Consent: "q1", Answers: []events.ConsentAnswer{says2("a", "allow"), says2("b", "deny")}}))
	var said []string
	for _, f := range l.frames(t, history, len(history)-2, nil, func() int { return 1 }) {
		for _, op := range f.Ops {
			if op.Op == "announce" && op.Assertive {
				said = append(said, *op.Text)
			}
		}
	}
	if len(said) != 1 || said[0] != "Waiting for you: Allow these 2 calls?" {
		t.Errorf("%q", said)
	}
}

// TestALineIsPutOnce: a call's line is never put again; what changes are its
// parts, so that it stays as the person left it.
func TestALineIsPutOnce(t *testing.T) {
	l := newLook(t)
	history := happened(t, toolHistories()["a card with several items"])
	lines := map[string]int{}
	for _, f := range l.frames(t, history, 1, nil, func() int { return 1 }) {
		for _, op := range f.Ops {
			if op.Op == "put" && strings.HasPrefix(op.Target, "tool-") {
				lines[op.Target]++
			}
			if op.Op == "put" && strings.HasPrefix(op.Target, "tools-") || op.Op == "blocks" && strings.HasPrefix(op.Target, "tool") {
				t.Errorf("%s %s", op.Op, op.Target)
			}
		}
	}
	if len(lines) != 3 || lines["tool-r1-1-0"] != 1 || lines["tool-r1-1-1"] != 1 || lines["tool-r1-1-2"] != 1 {
		t.Errorf("%v", lines)
	}
}

// TestProgressIsSmall: a line of progress does not bring what ran again.
func TestProgressIsSmall(t *testing.T) {
	l := newLook(t)
	history := happened(t, chain(three(), started("k11", ""), goes("k11", "page 1")))
	ops := l.frames(t, history, len(history)-1, nil, func() int { return 1 })[0].Ops
	for _, op := range ops {
		if strings.HasPrefix(op.Target, "toolbody") {
			t.Errorf("%s %s", op.Op, op.Target)
		}
	}
	if !slices.ContainsFunc(ops, func(o Op) bool { return o.Target == "toolend-r1-1-1" && strings.Contains(*o.HTML, "page 1") }) {
		t.Errorf("%+v", ops)
	}
}

// TestTextBeginsNoEvent: rows of xss.json that could end an event of the stream.
func TestTextBeginsNoEvent(t *testing.T) {
	data, err := os.ReadFile("../../testdata/cases/xss.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		ID, Expect string
		Input      json.RawMessage
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	l, found := newLook(t), 0
	for _, row := range rows {
		if row.Expect != "one_event" {
			continue
		}
		found++
		var in struct{ Value string }
		if err := json.Unmarshal(row.Input, &in); err != nil {
			t.Fatal(err)
		}
		ask := item("a", "k10")
		ask.Detail, ask.Why, ask.Label = in.Value, in.Value, in.Value
		history := happened(t, chain(begun(), call("r1", 1, 0, "fetch", `{}`), card("q1", ask), events.ConsentAnswered{Consent: "q1", Answers: []events.ConsentAnswer{{Key: "a", Verdict: "deny", Reason: in.Value}}},
			started("k10", ""), goes("k10", in.Value), came("k10", events.ToolOK, in.Value)))
		for _, f := range l.frames(t, history, 4, nil, func() int { return 1 }) {
			wire, err := f.encode("e", "c1")
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(wire), "\n\n"); n != 1 || strings.Count("\n"+string(wire), "\nevent:") != 1 || !strings.HasSuffix(string(wire), "\n\n") {
				t.Errorf("%s: %d events in %q", row.ID, n, wire)
			}
		}
	}
	if found == 0 {
		t.Error("no rows")
	}
}

// TestFoldOfHistoriesHasTheirCalls: the histories are about calls that exist.
func TestFoldOfHistoriesHasTheirCalls(t *testing.T) {
	for name, payloads := range toolHistories() {
		c := fold(t, happened(t, payloads), len(payloads))
		for _, p := range payloads {
			if done, ok := p.(events.ToolFinished); ok {
				_, r := c.Reply(done.Reply)
				if !slices.ContainsFunc(r.Rounds[done.Round-1].Calls, func(k *transcript.Call) bool { return k.ID == done.Call && k.Status == done.Status }) {
					t.Errorf("%s: %s is no call", name, done.Call)
				}
			}
		}
	}
}
