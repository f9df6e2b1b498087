package events

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// promised is the contract's set of types that exist from the start, less those
// of rooms that are not built yet.
const promised = `chat.created chat.renamed chat.moved chat.mode_changed chat.model_changed chat.effort_changed chat.scope_changed
chat.allow_added chat.allow_cleared chat.rewound chat.compacted chat.imported chat.forked chat.deleted
message.submitted message.queued message.withdrawn message.delivered message.edited
reply.requested reply.started reply.chunk reply.resumed reply.folded reply.nudged reply.budget_spent reply.finished
round.started round.superseded round.finished tool.called tool.started tool.finished tool.interrupted
consent.requested consent.answered consent.expired consent.withdrawn
user.registered user.signed_in user.sign_in_failed user.password_changed user.preferences_changed session.opened session.revoked
token.created token.revoked chat.seen setting.changed`

func TestTheContractsTypesExist(t *testing.T) {
	all := Types()
	for _, name := range strings.Fields(promised) {
		if !slices.Contains(all, name) {
			t.Errorf("%s is promised and not registered", name)
		}
	}
	form := regexp.MustCompile(`^[a-z]+\.[a-z]+(_[a-z]+)*$`)
	for _, name := range all {
		if !form.MatchString(name) {
			t.Errorf("%q is not noun.past_participle", name)
		}
	}
}

func TestEachTypeDecodesToItself(t *testing.T) {
	for _, name := range Types() {
		i, _ := Lookup(name)
		p, err := Decode(&Envelope{Type: name, TypeVersion: i.Version, Data: json.RawMessage("{}")})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.EventType() != name || reflect.TypeOf(p).Kind() != reflect.Struct {
			t.Errorf("%s decodes to %T", name, p)
		}
		if _, err := Decode(&Envelope{Type: name, TypeVersion: i.Version, Data: json.RawMessage(`[1]`)}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: a list is no payload, got %v", name, err)
		}
	}
}

func TestWhatIsFromTheFutureIsKept(t *testing.T) {
	for _, e := range []Envelope{
		{Type: "dragon.slain", TypeVersion: 1, Data: json.RawMessage(`{"x":1}`)},
		{Type: "chat.renamed", TypeVersion: 99, Data: json.RawMessage(`[]`)},
	} {
		p, err := Decode(&e)
		if u, ok := p.(Unknown); err != nil || !ok || string(u.Data) != string(e.Data) {
			t.Errorf("%s: %T, %v", e.Type, p, err)
		}
	}
}

func TestErasedPayloads(t *testing.T) {
	p, err := Decode(&Envelope{Type: "message.submitted", TypeVersion: 1, Data: json.RawMessage(`{"erased":"00ff"}`)})
	if x, ok := p.(Erased); err != nil || !ok || x.Hash != "00ff" {
		t.Errorf("%#v, %v", p, err)
	}
}

func TestUpcasting(t *testing.T) {
	i := define[ChatRenamed](3)
	i.Name = "test.upcast"
	i.upcasters = []Upcaster{
		func(b json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(strings.Replace(string(b), "name", "label", 1)), nil
		},
		func(b json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(strings.Replace(string(b), "label", "title", 1)), nil
		},
	}
	types["test.upcast"] = i
	defer delete(types, "test.upcast")
	for version, data := range map[int]string{1: `{"name":"x"}`, 2: `{"label":"x"}`, 3: `{"title":"x"}`} {
		p, err := Decode(&Envelope{Type: "test.upcast", TypeVersion: version, Data: json.RawMessage(data)})
		if err != nil || p.(ChatRenamed).Title != "x" {
			t.Errorf("version %d: %+v, %v", version, p, err)
		}
	}
	if _, err := Decode(&Envelope{Type: "test.upcast", TypeVersion: 0, Data: json.RawMessage(`{}`)}); !errors.Is(err, ErrDamaged) {
		t.Errorf("version 0: %v", err)
	}
}

func TestScopes(t *testing.T) {
	for _, c := range []struct{ typ, data, opened, closed string }{
		{"reply.requested", `{"reply":"r1"}`, "r1", ""},
		{"reply.finished", `{"reply":"r1"}`, "", "r1"},
		{"reply.chunk", `{"reply":"r1"}`, "", ""},
		{"reply.requested", `{"reply":7}`, "", ""},
		{"reply.requested", `nonsense`, "", ""},
		{"dragon.slain", `{"reply":"r1"}`, "", ""},
	} {
		if o, cl := Scopes(c.typ, json.RawMessage(c.data)); o != c.opened || cl != c.closed {
			t.Errorf("%s %s: opened %q, closed %q", c.typ, c.data, o, cl)
		}
	}
}

func TestExpectations(t *testing.T) {
	open := func(s string) bool { return s == "r1" }
	for _, c := range []struct {
		x    Expectation
		have Version
		ok   bool
	}{{Any(), 7, true}, {Exactly(7), 7, true}, {Exactly(0), 0, true}, {Exactly(6), 7, false}, {WhileOpen("r1"), 7, true}, {WhileOpen("r2"), 7, false}} {
		err := c.x.Check("chat/1", c.have, open)
		if (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrConflict)) {
			t.Errorf("%+v at %d: %v", c.x, c.have, err)
		}
	}
}
