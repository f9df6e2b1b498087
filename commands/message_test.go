package commands

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// given folds a history of one chat.
func given(t *testing.T, history ...events.Payload) *transcript.Chat {
	t.Helper()
	c := &transcript.Chat{}
	for i, p := range history {
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		info, ok := events.Lookup(p.EventType())
		if !ok {
			t.Fatalf("%s is not registered", p.EventType())
		}
		err = c.Apply(&events.Envelope{Position: events.Position(i + 1), Version: events.Version(i + 1), Stream: "chat/c1",
			Type: info.Name, TypeVersion: info.Version, Time: noon.Add(time.Duration(i) * time.Second), Data: data})
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func created() events.ChatCreated {
	return events.ChatCreated{Chat: "c1", Owner: "ann", Kind: events.KindChat, Model: "m1", Title: "hello"}
}
func submitted(m string) events.MessageSubmitted {
	return events.MessageSubmitted{Message: m, Text: "text of " + m}
}
func requested(r, m string) events.ReplyRequested {
	return events.ReplyRequested{Reply: r, Message: m, Reason: events.ForMessage, Model: "m1"}
}
func finished(r, status string) events.ReplyFinished {
	return events.ReplyFinished{Reply: r, Status: status}
}
func queued(m string) events.MessageQueued {
	return events.MessageQueued{Message: m, Text: "text of " + m}
}

func running() []events.Payload {
	return []events.Payload{created(), submitted("t1"), requested("r1", "t1")}
}
func idle() []events.Payload { return append(running(), finished("r1", events.Complete)) }

func types(ps []events.Payload) []string {
	out := []string{}
	for _, p := range ps {
		out = append(out, p.EventType())
	}
	return out
}

func TestDecisionsOnMessages(t *testing.T) {
	many := running()
	for i := range maxQueue {
		many = append(many, queued(strings.Repeat("q", i+1)))
	}
	type decide func(*transcript.Chat) ([]events.Payload, error)
	submit := func(text string) decide {
		return func(c *transcript.Chat) ([]events.Payload, error) {
			p, _, err := submitMessage(c, "t2", "r2", text)
			return p, err
		}
	}
	edit := func(m string) decide {
		return func(c *transcript.Chat) ([]events.Payload, error) {
			p, _, err := editMessage(c, m, "r9", "other words")
			return p, err
		}
	}
	again := func(r string) decide {
		return func(c *transcript.Chat) ([]events.Payload, error) {
			p, _, err := regenerate(c, r, "r9")
			return p, err
		}
	}
	two := append(idle(), submitted("t2"), requested("r2", "t2"), finished("r2", events.Complete))
	for _, c := range []struct {
		name  string
		given []events.Payload
		when  decide
		then  []string
		err   error
	}{
		{"a turn of an idle chat gets a reply", idle(), submit("hi"), []string{"message.submitted", "reply.requested"}, nil},
		{"a turn while a reply runs is queued", running(), submit("hi"), []string{"message.queued"}, nil},
		{"a failed reply does not hold up the next turn", append(running(), finished("r1", events.Failed)), submit("hi"), []string{"message.submitted", "reply.requested"}, nil},
		{"an empty turn is refused", idle(), submit(" \n"), nil, events.ErrInvalid},
		{"a turn that is not UTF-8 is refused", idle(), submit("a\xff"), nil, events.ErrInvalid},
		{"a turn beyond the bound is refused", idle(), submit(strings.Repeat("a", MaxText+1)), nil, events.ErrTooLarge},
		{"the queue is bounded", many, submit("hi"), nil, events.ErrBusy},
		{"an edit rewinds and asks again", two, edit("t1"), []string{"message.edited", "chat.rewound", "reply.requested"}, nil},
		{"an edit waits for the running reply to be stopped", running(), edit("t1"), nil, events.ErrConflict},
		{"a turn that is not there cannot be edited", idle(), edit("t7"), nil, events.ErrNotFound},
		{"a queued turn is not edited as a sent one", append(running(), queued("q1")), edit("q1"), nil, events.ErrNotFound},
		{"the last reply is made again without a rewind", idle(), again("r1"), []string{"reply.requested"}, nil},
		{"an earlier reply made again rewinds", two, again("r1"), []string{"chat.rewound", "reply.requested"}, nil},
		{"no reply is made again while one runs", running(), again("r1"), nil, events.ErrConflict},
		{"a reply of a turn that left cannot be made again", append(two, events.ChatRewound{Message: "t1"}), again("r2"), nil, events.ErrNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.when(given(t, c.given...))
			if !errors.Is(err, c.err) || (c.err == nil && err != nil) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if c.err == nil && !reflect.DeepEqual(types(got), c.then) {
				t.Errorf("got %v, want %v", types(got), c.then)
			}
		})
	}
}

func TestWhatEndsAnOpenReply(t *testing.T) {
	if got := endOpen(given(t, idle()...), "stopped", noon); got != nil {
		t.Errorf("an idle chat: %v", types(got))
	}
	history := append(running(),
		events.RoundStarted{Reply: "r1", Round: 1},
		events.ToolCalled{Reply: "r1", Round: 1, Call: "k1", Name: "shell_run"},
		events.ToolCalled{Reply: "r1", Round: 1, Call: "k2", Name: "shell_run"},
		events.ToolFinished{Reply: "r1", Round: 1, Call: "k2", Status: events.ToolOK},
		events.ConsentRequested{Consent: "x1", Reply: "r1", Round: 1})
	got := endOpen(given(t, history...), "stopped", noon)
	want := []events.Payload{
		events.ConsentWithdrawn{Consent: "x1", Reason: "stopped"},
		events.ToolFinished{Reply: "r1", Round: 1, Call: "k1", Status: events.ToolStopped},
	}
	if len(got) != 3 || !reflect.DeepEqual(got[:2], want) {
		t.Fatalf("got %+v", got)
	}
	if end := got[2].(events.ReplyFinished); end.Status != events.Stopped || end.Reply != "r1" {
		t.Errorf("the end is %+v", end)
	}
}

func TestTheQueueIsDeliveredOldestFirstAndOnce(t *testing.T) {
	c := given(t, append(running(), queued("q1"), queued("q2"), finished("r1", events.Complete))...)
	got := DeliverNext(c, func() string { return "r2" })
	want := []events.Payload{
		events.MessageDelivered{Message: "q1", Reply: "r2"},
		events.ReplyRequested{Reply: "r2", Message: "q1", Reason: events.ForQueue, Model: "m1"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v", got)
	}
	after := given(t, append(append(running(), queued("q1"), queued("q2"), finished("r1", events.Complete)), got...)...)
	if len(after.Queue) != 1 || after.Queue[0].ID != "q2" || after.Last().ID != "q1" || after.Open() == nil {
		t.Errorf("after delivery: queue %+v, last %+v", after.Queue, after.Last())
	}
	if got := DeliverNext(given(t, idle()...), nil); got != nil {
		t.Errorf("nothing waits, yet %v", types(got))
	}
}

func TestPatchesOfAChat(t *testing.T) {
	s := func(v string) *string { return &v }
	yes := true
	high := &ModelView{ID: "m2", State: events.ModelState{Effort: "high"}}
	byHand := append(idle(), events.ChatEffortChanged{Effort: "", ByHand: true})
	for _, c := range []struct {
		name  string
		given []events.Payload
		cmd   PatchChat
		model *ModelView
		then  []events.Payload
		field string
	}{
		{"a title is one line", idle(), PatchChat{Title: s("  two\n words ")}, nil, []events.Payload{events.ChatRenamed{Title: "two words", Origin: "person"}}, ""},
		{"an empty title is refused", idle(), PatchChat{Title: s(" ")}, nil, nil, "title"},
		{"a long title is refused", idle(), PatchChat{Title: s(strings.Repeat("x", MaxTitle+1))}, nil, nil, "title"},
		{"the same again changes nothing", idle(), PatchChat{Folder: s("")}, nil, nil, ""},
		{"a model brings its default effort", idle(), PatchChat{Model: s("m2")}, high,
			[]events.Payload{events.ChatModelChanged{From: "m1", To: "m2"}, events.ChatEffortChanged{Effort: "high"}}, ""},
		{"an effort cleared by hand stays cleared", byHand, PatchChat{Model: s("m2")}, high,
			[]events.Payload{events.ChatModelChanged{From: "m1", To: "m2"}}, ""},
		{"off is a level", idle(), PatchChat{Effort: s("off")}, nil, []events.Payload{events.ChatEffortChanged{Effort: "off", ByHand: true}}, ""},
		{"an unknown level is refused", idle(), PatchChat{Effort: s("default")}, nil, nil, "effort"},
		{"a pin", idle(), PatchChat{Pinned: &yes}, nil, []events.Payload{events.ChatPinned{Pinned: true}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := patchChat(given(t, c.given...), c.cmd, c.model)
			var f *events.FieldError
			if errors.As(err, &f) != (c.field != "") || (f != nil && f.Field != c.field) {
				t.Fatalf("error %v, want one of field %q", err, c.field)
			}
			if c.field == "" && len(got)+len(c.then) > 0 && !reflect.DeepEqual(got, c.then) {
				t.Errorf("got %+v, want %+v", got, c.then)
			}
		})
	}
}
