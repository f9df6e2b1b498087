package llm

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
)

// maxCalls bounds the tool calls of one reply; more is a runaway, not a plan.
const maxCalls = 256

// Call is one tool call as the model asked for it.
type Call struct {
	// ID goes back unchanged with the result. It is never empty and unique in its reply: made up here when the endpoint
	// sent none or used one twice.
	ID string `json:"id"`
	// Name is cut before channel markup ("<|"). It may be empty when the endpoint sent none: nothing to run.
	Name string `json:"name"`
	// Arguments is the JSON object to use when ArgumentsValid, else the text as it came.
	Arguments string `json:"arguments"`
	// ArgumentsValid: Arguments is one JSON object, read once, here. False means it must not be run as if it were fine.
	ArgumentsValid bool `json:"arguments_valid"`
	// Raw is what the endpoint sent, when that is not Arguments ("" otherwise): text after the first object was dropped.
	Raw string `json:"raw,omitempty"`
	// Extra is the call's extra_content, which some endpoints want back (a thought signature). Nil when there was none.
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

// fragment is a piece of a call as it stands in a chunk.
type fragment struct {
	key   string // the index as text, "" when there was none
	id    string
	name  string
	args  string // as text, possibly cut inside a character
	extra json.RawMessage
	first bool // the first of its list
}

// building is a call whose fragments are still coming.
type building struct {
	key, id, name string
	args          strings.Builder
	join          joiner
	scan          scanner
	ended         bool // args hold a complete object
	extra         json.RawMessage
}

// callSet rejoins fragments. Its events go out through emit: KindToolCall when a call begins or its id or name becomes
// known, KindToolArguments for text.
type callSet struct {
	list []*building
	emit func(Delta)
}

// add puts a fragment where it belongs. It is an error when there are too many calls.
func (s *callSet) add(f fragment) error {
	i := s.find(f)
	if i < 0 {
		if f.id == "" && f.name == "" && strings.TrimSpace(f.args) == "" {
			return nil
		}
		if len(s.list) == maxCalls {
			return fmt.Errorf("more than %d tool calls in one reply", maxCalls)
		}
		s.list = append(s.list, &building{key: f.key, id: f.id, name: f.name, extra: f.extra})
		i = len(s.list) - 1
		s.emit(Delta{Kind: KindToolCall, Call: i, ID: f.id, Name: cleanName(f.name)})
	} else {
		s.merge(i, f)
	}
	s.append(i, f.args)
	return nil
}

// find returns the call a fragment continues, or -1 when it begins one.
func (s *callSet) find(f fragment) int {
	last := -1
	for i := len(s.list) - 1; i >= 0; i-- {
		c := s.list[i]
		if f.key != "" && c.key != f.key {
			continue
		}
		if f.id != "" && c.id == f.id {
			return i
		}
		if last < 0 {
			last = i
		}
	}
	if last < 0 || f.begins(s.list[last]) {
		return -1
	}
	return last
}

// begins reports whether f starts a new call though c is the newest at its place. Its id is not one of a call there.
func (f fragment) begins(c *building) bool {
	switch {
	case f.key == "" && !f.first && (f.id != "" || f.name != ""):
		return true
	case f.id != "":
		// An id that comes late is the call's own; a second id is a second call.
		return c.id != "" || c.ended || f.name != "" && c.name != "" && f.name != c.name
	case f.name == "":
		return false
	case c.ended:
		return f.name != c.name || strings.TrimSpace(f.args) != ""
	case f.key == "":
		return c.name != "" && f.name != c.name
	}
	return false
}

// merge takes id and name of a continuing fragment: never appended when repeated, but a name may come in pieces before
// the arguments do.
func (s *callSet) merge(i int, f fragment) {
	c := s.list[i]
	id, name := c.id, c.name
	if c.id == "" {
		c.id = f.id
	}
	if c.extra == nil {
		c.extra = f.extra
	}
	switch {
	case f.name == "" || f.name == c.name || c.name != "" && c.args.Len() > 0:
	case strings.HasPrefix(f.name, c.name): // also when there was none
		c.name = f.name
	default:
		c.name += f.name
	}
	if c.id != id || c.name != name {
		s.emit(Delta{Kind: KindToolCall, Call: i, ID: c.id, Name: cleanName(c.name)})
	}
}

func (s *callSet) append(i int, args string) {
	c := s.list[i]
	t := c.join.push(args)
	if t == "" {
		return
	}
	c.args.WriteString(t)
	if !c.ended {
		c.ended = c.scan.feed([]byte(t)) >= 0
	}
	s.emit(Delta{Kind: KindToolArguments, Call: i, Text: t})
}

// flush sends what was held back.
func (s *callSet) flush() {
	for i, c := range s.list {
		if t := c.join.flush(); t != "" {
			c.args.WriteString(t)
			s.emit(Delta{Kind: KindToolArguments, Call: i, Text: t})
		}
	}
}

// calls returns the calls in the order they began. In a reply that is not whole, a call without arguments has not
// been given any yet: it is not valid.
func (s *callSet) calls(whole bool) []Call {
	var out []Call
	used := map[string]bool{}
	for _, c := range s.list {
		raw := c.args.String()
		call := Call{ID: c.id, Name: cleanName(c.name), Extra: c.extra}
		call.Arguments, call.ArgumentsValid = readArguments(raw)
		if call.ArgumentsValid && !whole && strings.TrimSpace(raw) == "" {
			call.ArgumentsValid = false
		}
		if raw != "" && raw != call.Arguments {
			call.Raw = raw
		}
		if call.ID == "" || used[call.ID] {
			call.ID = "call_" + rand.Text()[:20]
		}
		used[call.ID] = true
		out = append(out, call)
	}
	return out
}

// readArguments reads a call's arguments, once for everybody. Nothing and null mean an empty object. Of several objects
// one behind the other, or an object with closing brackets too many, the first object is kept. Anything else that
// is not one object is returned as it is, and is not valid: it is never repaired.
func readArguments(raw string) (string, bool) {
	t := strings.TrimSpace(raw)
	if t == "" || t == "null" {
		return "{}", true
	}
	if t[0] != '{' {
		return raw, false
	}
	var s scanner
	n := s.feed([]byte(t))
	if n < 0 || !json.Valid([]byte(t[:n])) {
		return raw, false
	}
	rest := strings.TrimLeft(t[n:], "}] \t\r\n")
	if rest == "" || rest[0] == '{' {
		return t[:n], true
	}
	return raw, false
}

// cleanName drops the channel markup some models leave behind a tool's name.
func cleanName(name string) string {
	name, _, _ = strings.Cut(name, "<|")
	return strings.TrimSpace(name)
}

// fragments reads the tool_calls of a delta: a list, or one object.
func fragments(raw json.RawMessage) []fragment {
	list := array(raw)
	if kindOf(raw) == '{' {
		list = []json.RawMessage{raw}
	}
	var out []fragment
	for _, r := range list {
		m := object(r)
		if m == nil {
			continue
		}
		f := fragment{id: scalar(m["id"]), extra: keep(m["extra_content"]), first: len(out) == 0}
		if n, ok := number(m["index"]); ok {
			f.key = fmt.Sprint(n)
		}
		fn := object(m["function"])
		if fn == nil {
			fn = m
		}
		f.name = plain(fn["name"])
		f.args = argumentText(fn["arguments"])
		out = append(out, f)
	}
	return out
}

// legacy reads a delta's function_call.
func legacy(raw json.RawMessage) (fragment, bool) {
	m := object(raw)
	if m == nil {
		return fragment{}, false
	}
	return fragment{key: "function_call", name: plain(m["name"]), args: argumentText(m["arguments"]), first: true}, true
}

// argumentText is the text of an arguments member. An object is serialised as it stands; an empty one adds nothing,
// for servers that send {} first and the real arguments as text after it.
func argumentText(raw json.RawMessage) string {
	switch kindOf(raw) {
	case 0, 'n':
		return ""
	case '"':
		return text(raw)
	}
	if m := object(raw); m != nil && len(m) == 0 {
		return ""
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// scalar reads an id that may be a string or a number.
func scalar(raw json.RawMessage) string {
	if kindOf(raw) == '"' {
		return plain(raw)
	}
	if n, ok := number(raw); ok {
		return fmt.Sprint(n)
	}
	return ""
}

// keep copies a member that must go back as it came; null is nothing.
func keep(raw json.RawMessage) json.RawMessage {
	if k := kindOf(raw); k == 0 || k == 'n' {
		return nil
	}
	return bytes.Clone(raw)
}
