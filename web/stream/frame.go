package stream

import (
	"bytes"
	"encoding/json"

	"lembas/events"
)

// Frame is a change of what a page shows, from one batch of events of a chat,
// or of a person's sidebar.
type Frame struct {
	// Position is that of the last event in it.
	Position events.Position
	Ops      []Op
	// events are the positions of the events in it, in order.
	events []events.Position
}

// Op is one operation of the page protocol (docs/page-protocol.md). It is
// absolute: applied to a page that is already further, followed by the frames
// after it, it does no harm.
type Op struct {
	Op     string  `json:"op"`
	Target string  `json:"target,omitempty"`
	Into   string  `json:"into,omitempty"`
	Before string  `json:"before,omitempty"`
	Keep   any     `json:"keep,omitempty"` // of blocks, as web/markdown gives it
	HTML   *string `json:"html,omitempty"`
	Name   string  `json:"name,omitempty"`
	// Value of attr; Null removes the attribute.
	Value     *string `json:"value,omitempty"`
	Text      *string `json:"text,omitempty"`
	Assertive bool    `json:"assertive,omitempty"`
	Kind      string  `json:"kind,omitempty"`
	Href      string  `json:"href,omitempty"`
	Key       string  `json:"key,omitempty"`
}

// MarshalJSON writes the null that an attr without value is.
func (o Op) MarshalJSON() ([]byte, error) {
	type plain Op
	if o.Op != "attr" || o.Value != nil {
		return marshal(plain(o))
	}
	return marshal(struct {
		plain
		Value any `json:"value"`
	}{plain: plain(o)})
}

// marshal leaves <, > and & as they are: HTML would grow by a half.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func put(target, into, before, html string) Op {
	return Op{Op: "put", Target: target, Into: into, Before: before, HTML: &html}
}

func remove(target string) Op { return Op{Op: "remove", Target: target} }

func attr(target, name, value string) Op {
	return Op{Op: "attr", Target: target, Name: name, Value: &value}
}

func noAttr(target, name string) Op { return Op{Op: "attr", Target: target, Name: name} }

func text(target, words string) Op { return Op{Op: "text", Target: target, Text: &words} }

func title(words string) Op { return Op{Op: "title", Text: &words} }

func announce(words string, assertive bool) Op {
	return Op{Op: "announce", Text: &words, Assertive: assertive}
}

// all replaces everything inside target.
func all(target, html string) Op { return Op{Op: "blocks", Target: target, Keep: 0, HTML: &html} }

// encode gives the frame as it goes over the wire; chat is "" for a person's.
func (f Frame) encode(epoch, chat string) ([]byte, error) {
	data, err := marshal(struct {
		Chat string `json:"chat"`
		Ops  []Op   `json:"ops"`
	}{chat, f.Ops})
	if err != nil {
		return nil, err
	}
	return appendEvent(make([]byte, 0, len(data)+64), cursor(epoch, f.Position), "frame", data), nil
}
