package api

import (
	"time"

	"lembas/events"
	"lembas/projections/transcript"
)

// message is a turn of the person or a reply of a model.
type message struct {
	ID        string    `json:"id"`
	Role      string    `json:"role"`   // user or assistant
	Status    string    `json:"status"` // complete, streaming, waiting, stopped, failed or queued
	Content   string    `json:"content"`
	Reasoning string    `json:"reasoning"`
	Tools     []tool    `json:"tools"`
	Time      time.Time `json:"time"`
	// Message is the turn that a reply answers; Model is what answered.
	Message  string             `json:"message_id,omitempty"`
	Model    string             `json:"model,omitempty"`
	Reason   string             `json:"reason,omitempty"` // of a stop or a failure
	Metrics  *events.Metrics    `json:"metrics,omitempty"`
	Error    *events.RoundError `json:"error,omitempty"`
	Versions []version          `json:"versions,omitempty"` // all of them, the one in force last
}

// tool is one tool call of a reply.
type tool struct {
	Call      string         `json:"call"`
	Name      string         `json:"name"`
	Arguments events.RawJSON `json:"arguments"`
	Status    string         `json:"status"`
	Output    string         `json:"output"`
	Bytes     int64          `json:"bytes"`
	Blob      string         `json:"blob,omitempty"`    // digest of the whole output
	Consent   string         `json:"consent,omitempty"` // the newest card that has the call
	Diff      string         `json:"diff,omitempty"`
	MS        int64          `json:"ms"`
	Label     string         `json:"label,omitempty"`
	Detail    string         `json:"detail,omitempty"` // what it acts on
	Risk      string         `json:"risk,omitempty"`   // read, write or execute
	Why       string         `json:"why,omitempty"`    // the model's words
	// Edited says that a person corrected the arguments; Raw is what the model
	// sent then.
	Edited   bool            `json:"edited,omitempty"`
	Raw      string          `json:"raw,omitempty"`
	Progress string          `json:"progress,omitempty"` // the last line of one that runs
	Sources  []events.Source `json:"sources,omitempty"`
	Images   []image         `json:"images,omitempty"`
}

// image is a picture that a call brought, to be had from /api/v1/blobs.
type image struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Blob string `json:"blob"` // its digest
	Size int64  `json:"size"`
}

// version is one wording of a turn, or one reply to it.
type version struct {
	ID      string    `json:"id,omitempty"` // of a reply
	Status  string    `json:"status"`
	Content string    `json:"content"`
	Time    time.Time `json:"time"`
}

// queued is a turn that waits.
type queued struct {
	Message string `json:"message_id"`
	Text    string `json:"text"`
}

// entry is one message that has not been written out yet: a long chat is listed
// whole, but only what is asked for is copied.
type entry struct {
	turn  *transcript.Turn
	reply *transcript.Reply
	queue *transcript.QueuedMessage
}

func (e entry) id() string {
	switch {
	case e.queue != nil:
		return e.queue.ID
	case e.reply != nil:
		return e.reply.ID
	}
	return e.turn.ID
}

func chatOf(c *transcript.Chat, before string, limit int) (chat, error) {
	all := entries(c)
	if before != "" {
		i := 0
		for i < len(all) && all[i].id() != before {
			i++
		}
		if i == len(all) {
			return chat{}, events.Invalid("before", "there is no such message in this chat")
		}
		all = all[:i]
	}
	out := chat{chatHead: headOf(c), Messages: []message{}, Queue: []queued{}, Pending: []events.ConsentRequested{}}
	if len(all) > limit {
		all = all[len(all)-limit:]
		out.Earlier = all[0].id()
	}
	for _, e := range all {
		out.Messages = append(out.Messages, e.message())
	}
	for _, q := range c.Queue {
		out.Queue = append(out.Queue, queued{Message: q.ID, Text: q.Text})
	}
	out.Pending = append(out.Pending, c.Pending...)
	return out, nil
}

// entries lists the messages in force. Turns that were delivered into a running
// reply stand after it: they were said after the round's calls and results, and
// a reply is one message.
func entries(c *transcript.Chat) []entry {
	out := make([]entry, 0, 2*len(c.Turns)+len(c.Queue))
	for _, t := range c.Turns {
		out = append(out, entry{turn: t})
		r := t.Reply()
		if r == nil {
			continue
		}
		out = append(out, entry{turn: t, reply: r})
		for _, x := range r.Live() {
			for _, q := range x.Injected {
				out = append(out, entry{turn: &transcript.Turn{ID: q.ID, Time: q.Time, Texts: []transcript.Wording{{Text: q.Text, Time: q.Time}}}})
			}
		}
	}
	for _, q := range c.Queue {
		out = append(out, entry{queue: q})
	}
	return out
}

func (e entry) message() message {
	m := message{ID: e.id(), Role: "user", Status: transcript.Complete, Tools: []tool{}}
	switch {
	case e.queue != nil:
		m.Status, m.Content, m.Time = transcript.Queued, e.queue.Text, e.queue.Time
	case e.reply != nil:
		e.fillReply(&m)
	default:
		m.Content, m.Time = e.turn.Text(), e.turn.Time
		if len(e.turn.Texts) > 1 {
			for _, t := range e.turn.Texts {
				m.Versions = append(m.Versions, version{Status: transcript.Complete, Content: t.Text, Time: t.Time})
			}
		}
	}
	return m
}

func (e entry) fillReply(m *message) {
	r := e.reply
	m.Role, m.Status, m.Time = "assistant", r.Status, r.Requested
	m.Content, m.Reasoning = r.Content(), r.Reasoning()
	m.Message, m.Model, m.Reason, m.Metrics, m.Error = r.Message, r.Model, r.Why, r.Metrics, r.Error
	for _, x := range r.Live() {
		for _, k := range x.Calls {
			m.Tools = append(m.Tools, toolOf(x, k))
		}
	}
	if len(e.turn.Replies) > 1 {
		for _, v := range e.turn.Replies {
			m.Versions = append(m.Versions, version{ID: v.ID, Status: v.Status, Content: v.Content(), Time: v.Requested})
		}
	}
}

func toolOf(x *transcript.Round, k *transcript.Call) tool {
	t := tool{Call: k.ID, Name: k.Name, Arguments: k.Arguments, Status: k.Status, Output: k.Output, Bytes: k.Bytes,
		Consent: k.Consent, Diff: k.Diff, MS: k.MS, Label: k.Label, Detail: k.Detail, Risk: k.Risk, Why: k.Why, Edited: k.Edited,
		Progress: k.Progress, Sources: k.Sources}
	if card := x.Card(k.ID); card != nil {
		t.Consent = card.Consent // also of a call that never ran
	}
	if k.Edited {
		t.Raw = k.Raw
	}
	for _, f := range k.Images {
		t.Images = append(t.Images, image{Name: f.Name, Type: f.Type, Blob: f.Blob.Digest, Size: f.Blob.Size})
	}
	if k.Blob != nil {
		t.Blob = k.Blob.Digest
	}
	if len(t.Arguments) == 0 {
		t.Arguments = events.RawJSON("{}")
	}
	return t
}
