package llm

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// assembler turns the payloads of one reply into deltas and a Result. It is used by one goroutine.
type assembler struct {
	on    func(Delta) error
	clock func() time.Duration // since the request began

	content, reasoning, refusal strings.Builder
	fromField                   joiner // reasoning fields
	fromContent, fromRefusal    joiner
	split                       splitter
	calls                       callSet
	usage                       *Usage
	finish, word                string
	id, model                   string
	done                        bool // [DONE] came
	seen                        bool // something that looks like a chunk came
	lost                        int  // pieces that could not be read
	lostText                    string
	stray                       bool // a line came that is no field
	failed                      *Error
	stopped                     error // what Handler.Delta returned
	first                       time.Duration
}

func newAssembler(on func(Delta) error, clock func() time.Duration) *assembler {
	a := &assembler{on: on, clock: clock}
	a.split.emit = func(k Kind, t string) { a.say(k, t) }
	a.split.reclassify = a.reclassify
	a.calls.emit = a.send
	return a
}

// over reports whether nothing that follows in the body counts.
func (a *assembler) over() bool { return a.done || a.failed != nil || a.stopped != nil }

// frame takes one payload. What it cannot read it counts; it never fails.
func (a *assembler) frame(f frame) error {
	if a.over() {
		return nil
	}
	if f.err || f.event == "error" {
		a.errorFrame(f)
		return nil
	}
	done, lost := texts(f.data, func(p []byte) {
		if !a.over() {
			a.json(p, f.bare)
		}
	})
	switch {
	case lost == 0:
	case f.cut && (f.data[0] == '{' || f.data[0] == '['):
		a.seen = true // the rest of it did not come: that is a reply cut off, not garbage
	case f.bare:
		a.stray = true
		a.lose(0, f.data)
	default:
		a.lose(lost, f.data)
	}
	a.done = a.done || done && !f.bare
	return nil
}

// lose counts pieces that could not be read, and keeps the first words of the first.
func (a *assembler) lose(n int, p []byte) {
	if a.lostText == "" {
		a.lostText = clip(tidy(string(p[:min(len(p), 400)])), 80)
	}
	a.lost += n
}

// errorFrame is an error by the name of its event or field, whatever its payload looks like.
func (a *assembler) errorFrame(f frame) {
	found := false
	texts(f.data, func(p []byte) {
		if m := object(p); m != nil && isError(m["error"]) {
			p = m["error"]
		}
		if !found {
			a.failed, found = streamError(p), true
		}
	})
	if !found && !isDone(f.data) {
		a.failed = streamError(f.data)
	}
}

// json takes one JSON text: a chunk, or a list of them.
func (a *assembler) json(p []byte, bare bool) {
	if kindOf(p) == '[' {
		for _, r := range array(p) {
			if kindOf(r) == '{' && !a.over() {
				a.json(r, bare)
			}
		}
		return
	}
	var c chunk
	if json.Unmarshal(p, &c) != nil {
		a.lose(1, p)
		return
	}
	failed := c.failure(p)
	if bare && failed == nil {
		return
	}
	if failed == nil && !c.known() {
		if len(object(p)) > 0 {
			a.lose(1, p)
		}
		return
	}
	a.seen = true
	if a.id == "" {
		a.id = clip(scalar(c.ID), 200)
	}
	if a.model == "" {
		a.model = clip(plain(c.Model), 200)
	}
	if groq := object(c.XGroq); groq != nil {
		a.count(groq["usage"])
		if failed == nil && isError(groq["error"]) {
			failed = streamError(groq["error"])
		}
	}
	if choice := c.choice(); choice != nil {
		a.choice(choice)
		if failed == nil && isError(choice["error"]) {
			failed = streamError(choice["error"])
		}
	}
	a.count(c.Usage)
	if failed != nil {
		a.failed = failed
	}
}

func (a *assembler) count(raw []byte) {
	if u := usageOf(raw); u != nil {
		a.usage = u
	}
}

func (a *assembler) choice(choice map[string]json.RawMessage) {
	d := deltaOf(choice)
	if t := a.fromField.push(reasoningOf(d)); t != "" {
		a.split.hadReasoning = true
		a.say(KindReasoning, t)
	}
	parts(d["content"], a.part, a.refuse)
	if kindOf(d["refusal"]) == '"' {
		a.refuse(text(d["refusal"]))
	}
	for _, f := range fragments(d["tool_calls"]) {
		a.fragment(f)
	}
	if f, ok := legacy(d["function_call"]); ok {
		a.fragment(f)
	}
	a.count(choice["usage"])
	if word := plain(choice["finish_reason"]); stronger(finishOf(word), a.finish) {
		a.finish, a.word = finishOf(word), clip(word, 100)
	}
}

// part takes a piece of content: a string goes through the think splitter, a thinking part is reasoning as it is.
func (a *assembler) part(kind Kind, t string) {
	if kind == KindReasoning {
		if t = a.fromField.push(t); t != "" {
			a.split.hadReasoning = true
			a.say(KindReasoning, t)
		}
		return
	}
	a.split.push(a.fromContent.push(t))
}

func (a *assembler) refuse(t string) { a.refusal.WriteString(a.fromRefusal.push(t)) }

func (a *assembler) fragment(f fragment) {
	if err := a.calls.add(f); err != nil && a.failed == nil {
		a.failed = &Error{Kind: KindTooLarge, Message: "The endpoint sent " + err.Error() + "."}
	}
}

// say emits text of a kind and keeps it.
func (a *assembler) say(k Kind, t string) {
	if t == "" {
		return
	}
	if k == KindReasoning {
		a.reasoning.WriteString(t)
	} else {
		a.content.WriteString(t)
	}
	a.send(Delta{Kind: k, Text: t})
}

// reclassify makes reasoning of all content so far: the template had opened the think block before the reply began.
func (a *assembler) reclassify() {
	a.reasoning.WriteString(a.content.String())
	a.content.Reset()
	a.send(Delta{Kind: KindReclassify})
}

func (a *assembler) send(d Delta) {
	if a.stopped != nil {
		return
	}
	d.At = a.clock()
	if a.first == 0 {
		a.first = max(d.At, 1)
	}
	a.stopped = a.on(d)
}

// close settles everything that was held back.
func (a *assembler) close() {
	a.say(KindReasoning, a.fromField.flush())
	a.split.push(a.fromContent.flush())
	a.split.flush()
	a.calls.flush()
	if strings.TrimSpace(a.content.String()) == "" {
		a.say(KindContent, a.refusal.String()+a.fromRefusal.flush())
	}
}

// terminal reports whether the reply is whole: the endpoint said that it is over.
func (a *assembler) terminal() bool { return a.done || a.finish != "" }

// result says what the reply was. broken is why reading ended early, nil at the end of the body.
func (a *assembler) result(broken *Error) Result {
	a.close()
	r := Result{
		Content: a.content.String(), Reasoning: a.reasoning.String(), Usage: a.usage,
		FinishReason: a.finish, FinishWord: a.word, ID: a.id, Model: a.model, First: a.first,
	}
	said := strings.TrimSpace(r.Content) != "" || strings.TrimSpace(r.Reasoning) != "" || len(a.calls.list) > 0
	r.Err = a.failure(broken, said)
	r.Calls = a.calls.calls(r.Err == nil && a.finish != FinishLength)
	switch {
	case r.Err != nil && r.Err.Kind == KindStream:
		r.FinishReason = FinishFailure
	case r.Err != nil && r.Err.Kind != KindStopped:
		r.FinishReason = ""
	case len(r.Calls) > 0 && (a.finish == FinishStop || r.Err == nil && a.finish == ""):
		r.FinishReason = FinishCalls
	case len(r.Calls) == 0 && (a.finish == FinishCalls || r.Err == nil && a.finish == ""):
		r.FinishReason = FinishStop
	}
	if r.Err == nil && a.lost > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d unreadable piece(s) of the reply were skipped, the first: %s", a.lost, a.lostText))
	}
	return r
}

// failure decides which error a reply ends with, nil for none.
func (a *assembler) failure(broken *Error, said bool) *Error {
	switch {
	case a.stopped != nil:
		return &Error{Kind: KindStopped, Message: "The reply was stopped."}
	case a.failed != nil:
		return a.failed
	case a.finish == FinishFailure:
		return &Error{Kind: KindStream, Message: "The endpoint ended the reply with an error (" + tidy(a.word) + ") and gave no reason."}
	case broken != nil && (broken.Kind == KindStopped || broken.Kind == KindTooLarge || !a.terminal()):
		return broken
	case a.terminal() && (said || a.finish == FinishLength || a.finish == FinishFilter):
		return nil
	case a.terminal():
		return &Error{Kind: KindEmpty, Message: "The model sent nothing. Often the context is too long for it."}
	case a.seen || said:
		return &Error{Kind: KindTruncated, Message: "The reply was cut off: the endpoint closed the connection before it was finished."}
	case a.lost > 0 || a.stray:
		return &Error{Kind: KindMalformed, Message: "The endpoint answered with something that is not a reply: " + a.lostText}
	}
	return &Error{Kind: KindEmpty, Message: "The endpoint sent nothing."}
}
