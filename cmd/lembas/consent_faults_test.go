package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/projections/transcript"
)

// answerAs gives a person's word to an open directory whose server is down.
func answerAs(t testing.TB, a *app, chat string, card events.ConsentRequested, verdict string) {
	t.Helper()
	var owner string
	must(t, a.service.WithChat(t.Context(), chat, func(c *transcript.Chat) error {
		owner = c.Owner
		return nil
	}))
	var all []commands.Answer
	for _, item := range card.Items {
		all = append(all, commands.Answer{Key: item.Key, Verdict: verdict})
	}
	_, _, err := a.service.AnswerConsent(t.Context(), commands.Caller{User: owner}, chat, card.Consent, all)
	must(t, err)
}

// types counts a chat's events in the log.
func (d *desk) types(chat string) map[string]int {
	d.t.Helper()
	out := map[string]int{}
	for _, e := range d.s.stored(chat) {
		out[e.Type]++
	}
	return out
}

// TestAKillWhileACardWaits: it comes back with the same id and text, as often as
// the server dies; mode, scope and allow list are as they were; nothing is
// allowed by that (F04).
func TestAKillWhileACardWaits(t *testing.T) {
	d := newDesk(t)
	chat, reply := d.begin(plan{Note: "kept", Rounds: [][]planned{{calling("press", "first")}, {calling("shoot", "second"), calling("look", "third")}}})
	one := d.ann.card(chat, 1)
	d.ann.want(200, "POST", cardPath(chat, one), verdicts(one, "always"))
	card := d.ann.card(chat, 2)
	d.ann.want(200, "PATCH", "/api/v1/chats/"+chat, map[string]any{"scope": map[string]bool{"fetch": false}})
	before, listed := d.ann.want(200, "GET", "/api/v1/chats/"+chat, nil), d.ann.do("GET", "/api/v1/interactions", nil)
	if pending, _ := before["pending"].([]any); len(pending) != 1 || !strings.Contains(string(listed.body), card.Consent) {
		t.Fatalf("it waits: %v, %s", before["pending"], listed.body)
	}
	for range 4 { // more than a reply may be taken up without getting on
		d.restart()
		after := d.ann.want(200, "GET", "/api/v1/chats/"+chat, nil)
		if !reflect.DeepEqual(before, after) {
			t.Errorf("before the kill\n%v\nafter it\n%v", before, after)
		}
		if again := d.ann.do("GET", "/api/v1/interactions", nil); string(again.body) != string(listed.body) {
			t.Errorf("listed before\n%s\nafter\n%s", listed.body, again.body)
		}
	}
	if d.tool.count("second")+d.tool.count("third") != 0 {
		t.Error("it ran")
	}
	d.ann.want(200, "POST", cardPath(chat, card), verdicts(card, "allow"))
	if status := d.ann.awaitEnd(chat, reply); status != events.Complete || d.tool.count("second") != 1 || d.tool.count("third") != 1 {
		t.Errorf("ended %s, ran %v", status, d.tool.ran())
	}
	if seen := d.types(chat); seen["consent.requested"] != 2 || seen["consent.answered"] != 2 {
		t.Errorf("%v", seen)
	}
}

// TestAnAnswerThatAKillCutOff: the server dies while Allow is on its way. Either
// the answer is in the log, or the card waits as before and nothing ran (F05).
func TestAnAnswerThatAKillCutOff(t *testing.T) {
	d := newDesk(t)
	rng := seeded(t)
	lost := 0
	for i := range 8 {
		note := fmt.Sprintf("cut-off-%d", i)
		chat, reply := d.begin(once(note, calling("press", note)))
		card := d.ann.card(chat, 1)
		kill := &killer{s: d.s, after: time.Duration(rng.Int64N(int64(6 * time.Millisecond))), done: make(chan struct{})}
		kill.fire()
		_, _ = d.ann.try("POST", cardPath(chat, card), verdicts(card, "allow")) // it may be cut off
		<-kill.done
		durable, ran := false, d.tool.count(note)
		for _, e := range d.s.stored(chat) { // the log as the dead process left it
			durable = durable || e.Type == "consent.answered"
		}
		d.ann.http.CloseIdleConnections()
		d.s.start()
		if !durable {
			lost++
			pending, _ := d.ann.want(200, "GET", "/api/v1/chats/"+chat, nil)["pending"].([]any)
			if len(pending) != 1 || pending[0].(map[string]any)["consent"] != card.Consent || ran+d.tool.count(note) != 0 {
				t.Errorf("%s: not durable; %v waits, ran %d times", note, pending, d.tool.count(note))
			}
			d.ann.want(200, "POST", cardPath(chat, card), verdicts(card, "allow"))
		}
		if status := d.ann.awaitEnd(chat, reply); status != events.Complete || d.tool.count(note) > 1 {
			t.Errorf("%s ended %s, ran %d times", note, status, d.tool.count(note))
		}
	}
	t.Logf("%d of 8 answers were lost", lost)
}

// TestAnApprovalThatDidNotBeginBeforeAKill: within the resume window the call
// runs once under it. Later a new card asks, and says why; with a window of 0
// it always does (F06).
func TestAnApprovalThatDidNotBeginBeforeAKill(t *testing.T) {
	for _, window := range []int{600, 0} {
		t.Run(fmt.Sprint("window ", window), func(t *testing.T) {
			d := newDesk(t)
			d.ann.want(200, "PATCH", "/api/v1/settings", map[string]any{"resume_window": window})
			chat, reply := d.begin(once("late", calling("press", "late")))
			card := d.ann.card(chat, 1)
			d.between(func(a *app) {
				answerAs(t, a, chat, card, "allow")
				if d.tool.count("late") != 0 {
					t.Error("it ran before the restart")
				}
			})
			under := card.Consent
			if window == 0 {
				again := d.ann.card(chat, 2)
				item := again.Items[0]
				if again.Caused != card.Consent || again.Consent == card.Consent || len(again.Items) != 1 ||
					!strings.Contains(item.Reason, "approved before a restart") || !strings.Contains(item.Reason, "not started") ||
					string(item.Arguments) != string(card.Items[0].Arguments) || d.tool.count("late") != 0 {
					t.Fatalf("%+v, ran %d times", again, d.tool.count("late"))
				}
				d.ann.want(200, "POST", cardPath(chat, again), verdicts(again, "allow"))
				under = again.Consent
			}
			if status := d.ann.awaitEnd(chat, reply); status != events.Complete || d.tool.count("late") != 1 {
				t.Errorf("ended %s, ran %d times", status, d.tool.count("late"))
			}
			for _, e := range d.s.stored(chat) {
				if e.Type == "tool.started" && payload[events.ToolStarted](t, e.AppendJSON(nil)).Consent != under {
					t.Errorf("it began under %s, want %s", e.Data, under)
				}
			}
		})
	}
}

// TestAnApprovalAfterTheRestart: what was approved in this life of the server
// was not approved before a restart, however short the window is (F06).
func TestAnApprovalAfterTheRestart(t *testing.T) {
	d := newDesk(t)
	d.ann.want(200, "PATCH", "/api/v1/settings", map[string]any{"resume_window": 0})
	chat, reply := d.begin(once("fresh", calling("press", "fresh")))
	card := d.ann.card(chat, 1)
	d.restart()
	d.ann.want(200, "POST", cardPath(chat, card), verdicts(card, "allow"))
	if again := d.ann.cardOrEnd(chat, reply, 2); again != nil {
		t.Fatalf("it asks again: %+v", again.Items[0].Reason)
	}
	if d.tool.count("fresh") != 1 {
		t.Errorf("it ran %d times", d.tool.count("fresh"))
	}
}

// TestAKillWhileACallRuns: its outcome is unknown. It is not run again; reader
// and model are told (F07).
func TestAKillWhileACallRuns(t *testing.T) {
	d := newDesk(t)
	begun, left := make(chan struct{}), make(chan struct{})
	d.tool.does(hangs(begun, left))
	chat, reply := d.begin(once("cut", calling("press", "cut")))
	card := d.ann.card(chat, 1)
	d.ann.want(200, "POST", cardPath(chat, card), verdicts(card, "allow"))
	<-begun
	d.restart()
	<-left
	if status := d.ann.awaitEnd(chat, reply); status != events.Complete || d.tool.count("cut") != 1 {
		t.Errorf("ended %s, ran %d times", status, d.tool.count("cut"))
	}
	told, shown := d.told("cut")[callID(0, 0)], d.ann.transcript(chat).tools()[callID(0, 0)]
	if shown["status"] != "interrupted" || !strings.Contains(told, "not known") || !strings.Contains(told, "not run again") {
		t.Errorf("the reader sees %v, the model %q", shown, told)
	}
	if page := d.ann.do("GET", "/chat/"+chat, nil, "Accept", "text/html"); page.status != 200 || !strings.Contains(string(page.body), "outcome unknown") {
		t.Errorf("the page (%d) does not say that the outcome is unknown", page.status)
	}
}

// TestAKillBeforeTheModelIsTold: the outcome that is in the log is used, and the
// call does not run again (F08).
func TestAKillBeforeTheModelIsTold(t *testing.T) {
	d := newDesk(t)
	asking := make(chan struct{})
	var first sync.Once
	d.ask = func(_ http.ResponseWriter, r *http.Request, a *deskRequest) (done bool) {
		if _, behind := a.turn(); behind == 1 {
			first.Do(func() {
				close(asking)
				<-r.Context().Done()
				done = true
			})
		}
		return done
	}
	chat, reply := d.begin(once("known", calling("press", "known")))
	card := d.ann.card(chat, 1)
	d.ann.want(200, "POST", cardPath(chat, card), verdicts(card, "allow"))
	<-asking
	d.restart()
	if status := d.ann.awaitEnd(chat, reply); status != events.Complete || d.tool.count("known") != 1 {
		t.Errorf("ended %s, ran %d times", status, d.tool.count("known"))
	}
	seen := d.types(chat)
	if told := d.told("known")[callID(0, 0)]; !strings.Contains(told, "did known") || seen["tool.started"] != 1 || seen["tool.interrupted"] != 0 || seen["reply.resumed"] != 1 {
		t.Errorf("the model was told %q; %v", told, seen)
	}
}

// TestChangesWhileCallsAreQueued: what was asked is not approved by a setting, an
// "always" or a scope that changes meanwhile; the next round sees it, and the log
// says who changed it (F44).
func TestChangesWhileCallsAreQueued(t *testing.T) {
	d := newDesk(t)
	chat, reply := d.begin(plan{Note: "queued", Rounds: [][]planned{
		{calling("press", "yes"), calling("press", "no"), calling("shoot", "never")},
		{calling("press", "later"), calling("shoot", "then")},
		{calling("look", "off")}}})
	card := d.ann.card(chat, 1)
	d.ann.want(200, "PATCH", "/api/v1/settings", map[string]any{"tools.ask": []string{"execute"}})
	d.ann.want(200, "PATCH", "/api/v1/chats/"+chat, map[string]any{"allow": []string{}, "scope": map[string]bool{"ask_user": false}})
	pending, _ := d.ann.want(200, "GET", "/api/v1/chats/"+chat, nil)["pending"].([]any)
	if len(pending) != 1 || d.tool.total() != 0 {
		t.Fatalf("%v waits, ran %v", pending, d.tool.ran())
	}
	d.ann.want(200, "PATCH", "/api/v1/settings", map[string]any{"tools.ask": nil})
	d.ann.want(200, "POST", cardPath(chat, card), verdicts(card, "always", "deny", "deny"))
	next := d.ann.card(chat, 2) // press is remembered, so it asks for shoot only
	if len(next.Items) != 1 || next.Items[0].Name != "shoot" || d.tool.count("yes") != 1 || d.tool.count("no")+d.tool.count("never") != 0 {
		t.Fatalf("%+v, ran %v", next.Items, d.tool.ran())
	}
	// The list is cleared and the tool taken away while the call is allowed and waits.
	d.ann.want(200, "PATCH", "/api/v1/chats/"+chat, map[string]any{"allow": []string{}, "scope": map[string]bool{"custom:look": false}})
	d.ann.want(200, "POST", cardPath(chat, next), verdicts(next, "allow"))
	if status := d.ann.awaitEnd(chat, reply); status != events.Complete {
		t.Errorf("ended %s", status)
	}
	if want := map[string]int{"yes": 1, "later": 1, "then": 1}; !maps.Equal(d.tool.ran(), want) {
		t.Errorf("ran %v, want %v", d.tool.ran(), want)
	}
	if told := d.told("queued")[callID(2, 0)]; !strings.Contains(told, `no tool "look"`) {
		t.Errorf("of a tool that was taken away the model was told %q", told)
	}
	var who []string
	for _, e := range d.s.stored(chat) {
		if e.Type == "chat.scope_changed" || e.Type == "chat.allow_added" || e.Type == "chat.allow_cleared" {
			who = append(who, e.Type)
			if e.Actor.Kind != events.Person || e.Actor.ID == "" || e.Time.IsZero() {
				t.Errorf("%s by %+v at %v", e.Type, e.Actor, e.Time)
			}
		}
	}
	if want := []string{"chat.scope_changed", "chat.allow_added", "chat.scope_changed", "chat.allow_cleared"}; !slices.Equal(who, want) {
		t.Errorf("the log has %q, want %q", who, want)
	}
}

// sixQueued begins a round with six calls that were allowed: four hang until
// release is closed, two wait for a place.
func (d *desk) sixQueued(release chan struct{}) (chat, reply string) {
	d.t.Helper()
	going := make(chan struct{}, 6)
	d.tool.does(func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		going <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return false
	})
	var calls []planned
	for i := range 6 {
		calls = append(calls, calling("press", fmt.Sprint("n", i)))
	}
	chat, reply = d.begin(once("places", calls...))
	card := d.ann.card(chat, 1)
	d.ann.want(200, "POST", cardPath(chat, card), verdicts(card, "allow"))
	for range 4 {
		<-going
	}
	return chat, reply
}

// TestAScopeThatChangesWithinARound: what was allowed and is queued goes on as it
// was allowed; the next round is not offered what was taken away (F44).
func TestAScopeThatChangesWithinARound(t *testing.T) {
	d := newDesk(t)
	release := make(chan struct{})
	chat, reply := d.sixQueued(release)
	d.ann.want(200, "PATCH", "/api/v1/chats/"+chat, map[string]any{"scope": map[string]bool{"custom": false}})
	close(release)
	if status := d.ann.awaitEnd(chat, reply); status != events.Complete {
		t.Errorf("ended %s", status)
	}
	if want := map[string]int{"n0": 1, "n1": 1, "n2": 1, "n3": 1, "n4": 1, "n5": 1}; !maps.Equal(d.tool.ran(), want) {
		t.Errorf("ran %v", d.tool.ran())
	}
	var next deskRequest
	must(t, json.Unmarshal(d.e.body(d.e.count()), &next))
	for _, tool := range next.Tools {
		if strings.Contains(string(tool), `"press"`) {
			t.Errorf("the next round was offered %s", tool)
		}
	}
}

// TestStopWhileCallsAreQueued: the four that run are left, the two that wait for
// a place never begin, and all six are stopped (F43).
func TestStopWhileCallsAreQueued(t *testing.T) {
	d := newDesk(t)
	chat, reply := d.sixQueued(nil)
	d.ann.want(202, "POST", "/api/v1/chats/"+chat+"/stop", nil)
	if status := d.ann.awaitEnd(chat, reply); status != events.Stopped {
		t.Errorf("ended %s", status)
	}
	if seen := d.types(chat); seen["tool.started"] != 4 || d.tool.total() != 4 {
		t.Errorf("%d began, ran %v", seen["tool.started"], d.tool.ran())
	}
	for id, k := range d.ann.transcript(chat).tools() {
		if k["status"] != events.ToolStopped {
			t.Errorf("%s: %v", id, k)
		}
	}
}

// cardOrEnd waits for a card with a number, or for the end of a reply: then it
// gives nil.
func (c *client) cardOrEnd(chat, reply string, number int) (card *events.ConsentRequested) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	seen, ended := 0, false
	err := c.follow(ctx, chat, "0", func(e event) bool {
		switch e.typ {
		case "consent.requested":
			if seen++; seen == number {
				p := payload[events.ConsentRequested](c.t, e.data)
				card = &p
			}
		case "reply.finished":
			ended = payload[events.ReplyFinished](c.t, e.data).Reply == reply
		}
		return card == nil && !ended
	})
	if card == nil && !ended {
		c.t.Fatalf("waiting for card %d of %s: %v", number, chat, err)
	}
	return card
}
