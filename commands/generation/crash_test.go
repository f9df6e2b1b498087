package generation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/projections/transcript"
)

var errDied = errors.New("the process died")

// mortal is a log whose process dies: after so many appends nothing more is
// written. With before the last append is lost, too; else it is durable, but
// nobody is told.
type mortal struct {
	events.Log
	left   int // appends until it dies
	before bool

	mu   sync.Mutex // guards left and dead: the calls of a round append at once
	dead bool
}

func (m *mortal) died() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *mortal) Append(ctx context.Context, b events.Batch) (events.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return events.Result{}, errDied
	}
	m.left--
	if m.left > 0 {
		return m.Log.Append(ctx, b)
	}
	m.dead = true
	if !m.before {
		if _, err := m.Log.Append(ctx, b); err != nil {
			return events.Result{}, err
		}
	}
	return events.Result{}, errDied
}

// reborn is a new process over the same log that gets what was not acknowledged
// again, as the bus does: its own loop, its own caches.
func (w *world) reborn(log events.Log) {
	w.t.Helper()
	s := *w.service
	s.Log = log
	must(w.t, s.Open(w.t.Context(), "test"))
	l := &Loop{Service: &s, Log: log, HTTP: w.loop.HTTP, Blobs: w.loop.Blobs, Now: w.loop.Now, NewID: w.loop.NewID,
		Logger: w.loop.Logger, Retry: w.loop.Retry, Tools: w.loop.Tools}
	s.Stopper = l
	w.service, w.loop = &s, l
}

// deliver gives the loop the messages that were not acknowledged, in order, as
// long as its process lives.
func (w *world) deliver(chat string, acked map[events.Position]bool) {
	for _, e := range w.events(chat) {
		if acked[e.Position] {
			continue
		}
		var err error
		switch e.Type {
		case "reply.requested":
			err = w.loop.Handle(context.Background(), &e)
		case "consent.answered", "consent.expired":
			err = w.loop.Resume(context.Background(), &e)
		default:
			continue
		}
		acked[e.Position] = err == nil
	}
}

// TestEveryCrashOfALifeWithACard: the process dies before or after each append
// between the request and the end. Whatever the moment, a call runs at most
// once, none runs that its person did not allow, the card comes back with the
// same id, and the reply ends.
func TestEveryCrashOfALifeWithACard(t *testing.T) {
	for _, before := range []bool{true, false} {
		for at := 1; ; at++ {
			name := fmt.Sprintf("append %d, lost %t", at, before)
			finished := false
			t.Run(name, func(t *testing.T) {
				w, m := withTools(t, answerByTurns)
				chat := w.chat("x").Chat
				finished = lives(t, w, m, chat, &mortal{Log: w.log, left: at, before: before})
			})
			if finished || t.Failed() {
				break
			}
		}
	}
}

// lives takes a chat through a life in which the process dies once, and says
// whether it never did.
func lives(t *testing.T, w *world, m *machine, chat string, log *mortal) (unharmed bool) {
	acked := map[events.Position]bool{}
	w.reborn(log)
	var card string
	for life := 0; ; life++ {
		if life > 20 {
			t.Fatalf("the chat does not end: %v", w.types(chat))
		}
		w.deliver(chat, acked)
		var open bool
		var waiting *transcript.Consent
		must(t, w.service.WithChat(t.Context(), chat, func(c *transcript.Chat) error {
			open = c.Open() != nil
			if len(c.Pending) > 0 {
				cp := *c.Consent(c.Pending[0].Consent)
				waiting = &cp
			}
			return nil
		}))
		if !open {
			break
		}
		if waiting != nil {
			if card != "" && waiting.Consent != card {
				t.Fatalf("the card %s came back as %s", card, waiting.Consent)
			}
			card = waiting.Consent
			if ran := m.did(); len(ran) != 0 {
				t.Fatalf("before its person's word ran %q", ran)
			}
			_, _, err := w.service.AnswerConsent(t.Context(), w.ann, chat, waiting.Consent, []commands.Answer{
				{Key: waiting.Items[0].Key, Verdict: "allow"}, {Key: waiting.Items[1].Key, Verdict: "deny"}})
			if err != nil && !errors.Is(err, errDied) && !errors.Is(err, events.ErrConflict) {
				t.Fatal(err)
			}
		}
		if log.died() {
			w.reborn(w.log)
		}
	}
	ran := m.did()
	for i, what := range ran {
		if slices.Contains(ran[:i], what) || strings.HasPrefix(what, "shoot") {
			t.Errorf("ran %q", ran)
		}
	}
	requested := 0
	for _, e := range w.events(chat) {
		if e.Type == "consent.requested" {
			requested++
		}
	}
	if requested != 1 {
		t.Errorf("%d cards", requested)
	}
	end := w.last(chat, "reply.finished")
	if p, _ := events.Decode(&end); p.(events.ReplyFinished).Status != events.Complete {
		t.Errorf("the reply ended %+v", p)
	}
	for _, k := range w.replyOf(chat).Live()[0].Calls {
		switch {
		case !k.Over():
			t.Errorf("%s is %s", k.ID, k.Status)
		case k.Status == transcript.Interrupted && !strings.Contains(w.told()[k.ID], "not known"):
			t.Errorf("of %s the model was told %q", k.ID, w.told()[k.ID])
		}
	}
	return !log.died()
}

// TestAnApprovalThatWasNotUsedInTime: it was given before a restart and its call
// had not begun. Within the window it counts; later a new card asks, caused by
// the old one.
func TestAnApprovalThatWasNotUsedInTime(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			w, m := withTools(t, answerByTurns)
			c := w.chat("x")
			must(t, w.handle(t.Context(), c.Chat))
			k := w.card(c.Chat)
			_, _, err := w.service.AnswerConsent(t.Context(), w.ann, c.Chat, k.Consent, []commands.Answer{
				{Key: k.Items[0].Key, Verdict: "allow"}, {Key: k.Items[1].Key, Verdict: "deny"}})
			must(t, err)
			w.reborn(w.log) // it died before the answer was taken up
			if late {
				w.loop.Now = func() time.Time { return time.Now().Add(time.Hour) }
			}
			must(t, w.resume(c.Chat, "consent.answered"))
			if !late {
				if r := w.reply(c.Chat, c.Reply); r.Status != events.Complete || !slices.Contains(m.did(), `send {"to":"2"}`) {
					t.Fatalf("%s, ran %q", r.Status, m.did())
				}
				return
			}
			again := w.card(c.Chat)
			if again.Caused != k.Consent || again.Consent == k.Consent || len(again.Items) != 1 || again.Items[0].Call != "b" ||
				!strings.Contains(again.Items[0].Reason, "before a restart") || len(m.did()) != 0 {
				t.Fatalf("the card is %+v after %q", again, m.did())
			}
			w.say(c.Chat, again, commands.Answer{Key: again.Items[0].Key, Verdict: "allow"})
			ran := m.did()
			slices.Sort(ran)
			if !slices.Equal(ran, []string{`look {"to":"1"}`, `send {"to":"2"}`}) || w.reply(c.Chat, c.Reply).Status != events.Complete {
				t.Errorf("ran %q", ran)
			}
		})
	}
}

// TestNothingTakesEffectThatIsNotRecorded (F50, G5): the append of each consent
// event fails, and nothing happens.
func TestNothingTakesEffectThatIsNotRecorded(t *testing.T) {
	for _, refused := range []string{"consent.requested", "consent.answered", "consent.expired", "chat.allow_added", "chat.allow_cleared",
		"chat.scope_changed", "tool.started", "consent.withdrawn"} {
		t.Run(refused, func(t *testing.T) {
			w, m := withTools(t, answerByTurns)
			c := w.chat("x")
			log := &picky{Log: w.log, refused: refused}
			w.reborn(log)
			_ = w.handle(t.Context(), c.Chat)
			var k *transcript.Consent
			must(t, w.service.WithChat(t.Context(), c.Chat, func(chat *transcript.Chat) error {
				if len(chat.Pending) > 0 {
					cp := *chat.Consent(chat.Pending[0].Consent)
					k = &cp
				}
				return nil
			}))
			if refused == "consent.requested" {
				r := w.reply(c.Chat, c.Reply)
				if k != nil || r.Status != events.Failed || r.Error == nil || !strings.Contains(r.Error.Message, "nothing was run") || len(m.did()) != 0 {
					t.Fatalf("%+v, %s, ran %q", k, r.Status, m.did())
				}
				return
			}
			_, _, answered := w.service.AnswerConsent(t.Context(), w.ann, c.Chat, k.Consent, []commands.Answer{
				{Key: k.Items[0].Key, Verdict: "always"}, {Key: k.Items[1].Key, Verdict: "deny"}})
			switch refused {
			case "consent.answered", "chat.allow_added":
				must(t, w.service.WithChat(t.Context(), c.Chat, func(chat *transcript.Chat) error {
					if len(chat.Allow) != 0 || len(chat.Pending) != 1 {
						t.Errorf("remembered %q, %d cards wait", chat.Allow, len(chat.Pending))
					}
					return nil
				}))
				if answered == nil || len(m.did()) != 0 {
					t.Errorf("the answer said %v, ran %q", answered, m.did())
				}
				return
			case "consent.expired":
				if err := w.service.ExpireConsent(t.Context(), c.Chat, "none"); err != nil {
					t.Error(err)
				}
			}
			must(t, answered)
			err := w.resume(c.Chat, "consent.answered")
			if refused == "tool.started" && (err == nil || len(m.did()) != 0) {
				t.Errorf("%v, ran %q", err, m.did())
			}
			scope := map[string]bool{"fetch": false}
			for typ, change := range map[string]commands.PatchChat{"chat.allow_cleared": {ForgetAllowed: true}, "chat.scope_changed": {Scope: &scope}} {
				if _, err := w.service.PatchChat(t.Context(), w.ann, c.Chat, change); (err != nil) != (typ == refused) {
					t.Errorf("%s: %v", typ, err)
				}
			}
		})
	}
}

// picky is a log that cannot write one type of event.
type picky struct {
	events.Log
	refused string
}

var errPicky = errors.New("input/output error")

func (p *picky) Append(ctx context.Context, b events.Batch) (events.Result, error) {
	for _, part := range b.Parts {
		for _, e := range part.Events {
			if e.Payload.EventType() == p.refused {
				return events.Result{}, errPicky
			}
		}
	}
	return p.Log.Append(ctx, b)
}
