package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// chunk is one JSON text of a reply, none of its members believed in yet.
type chunk struct {
	ID      json.RawMessage `json:"id"`
	Object  json.RawMessage `json:"object"`
	Model   json.RawMessage `json:"model"`
	Choices json.RawMessage `json:"choices"`
	Error   json.RawMessage `json:"error"`
	Usage   json.RawMessage `json:"usage"`
	Message json.RawMessage `json:"message"`
	Msg     json.RawMessage `json:"msg"`
	Detail  json.RawMessage `json:"detail"`
	Code    json.RawMessage `json:"code"`
	XGroq   json.RawMessage `json:"x_groq"`
	Base    json.RawMessage `json:"base_resp"`
}

// known reports whether the text looks like a part of a chat completion at all.
func (c *chunk) known() bool {
	return c.Choices != nil || kindOf(c.Usage) == '{' || kindOf(c.XGroq) == '{' || kindOf(c.Object) == '"' || kindOf(c.ID) == '"'
}

// failure returns the error a chunk reports, or nil.
func (c *chunk) failure(whole []byte) *Error {
	switch {
	case isError(c.Error):
		return streamError(c.Error)
	case plain(c.Object) == "error":
		return streamError(whole)
	}
	if base := object(c.Base); base != nil && isError(base["status_code"]) {
		return streamError(c.Base)
	}
	if c.Choices == nil && (isError(c.Detail) || kindOf(c.Message) == '"' || kindOf(c.Msg) == '"') && plain(c.Object) == "" {
		return streamError(whole)
	}
	return nil
}

// choice is the one with index 0; a missing index is 0. Nil when the chunk has none.
func (c *chunk) choice() map[string]json.RawMessage {
	for _, raw := range array(c.Choices) {
		m := object(raw)
		if m == nil {
			continue
		}
		if n, ok := number(m["index"]); ok && n != 0 {
			continue
		}
		return m
	}
	return nil
}

// deltaOf is the increment in a choice: delta, else message, else the text of the old completions API.
func deltaOf(choice map[string]json.RawMessage) map[string]json.RawMessage {
	if kindOf(choice["delta"]) == '{' {
		return object(choice["delta"])
	}
	if m := object(choice["message"]); m != nil {
		return m
	}
	if k := kindOf(choice["delta"]); kindOf(choice["text"]) == '"' && (k == 0 || k == 'n') {
		return map[string]json.RawMessage{"content": choice["text"]}
	}
	return nil
}

// parts reads a content member: a string, or a list of parts of which text is content and thinking is reasoning.
// say is called in their order.
func parts(raw json.RawMessage, say func(kind Kind, t string), refuse func(string)) {
	list := array(raw)
	switch kindOf(raw) {
	case '"':
		say(KindContent, text(raw))
		return
	case '{':
		list = []json.RawMessage{raw}
	}
	for _, p := range list {
		if kindOf(p) == '"' {
			say(KindContent, text(p))
			continue
		}
		m := object(p)
		switch plain(m["type"]) {
		case "text", "output_text", "":
			say(KindContent, text(m["text"]))
		case "thinking", "reasoning", "reasoning_content":
			say(KindReasoning, words(p, 0))
		case "refusal":
			refuse(text(m["refusal"]))
		}
	}
}

// reasoningOf returns the reasoning of a delta: the first of three members that has text.
func reasoningOf(d map[string]json.RawMessage) string {
	for _, name := range []string{"reasoning_content", "reasoning", "reasoning_details"} {
		if t := words(d[name], 0); t != "" {
			return t
		}
	}
	return ""
}

// words gathers the readable text of a reasoning member: a string, a list, or an object with text in one of the usual
// members. Encrypted blocks have none.
func words(raw json.RawMessage, depth int) string {
	if depth > 4 {
		return ""
	}
	switch kindOf(raw) {
	case '"':
		return text(raw)
	case '[':
		var b strings.Builder
		for _, r := range array(raw) {
			b.WriteString(words(r, depth+1))
		}
		return b.String()
	case '{':
		m := object(raw)
		for _, name := range []string{"thinking", "text", "summary", "content", "reasoning"} {
			if t := words(m[name], depth+1); t != "" {
				return t
			}
		}
	}
	return ""
}

// Usage is what the endpoint counted, in tokens. Nil members were not reported.
type Usage struct {
	Prompt     int64  `json:"prompt"`
	Completion int64  `json:"completion"`
	Cached     *int64 `json:"cached,omitempty"`
	Reasoning  *int64 `json:"reasoning,omitempty"`
}

// usageOf reads a usage object. Nil when there is none, or when it counts nothing: unknown is not zero.
func usageOf(raw json.RawMessage) *Usage {
	m := object(raw)
	if m == nil {
		return nil
	}
	first := func(members ...json.RawMessage) *int64 {
		for _, r := range members {
			if n, ok := number(r); ok && n >= 0 {
				return &n
			}
		}
		return nil
	}
	in, out := object(m["prompt_tokens_details"]), object(m["completion_tokens_details"])
	if in == nil {
		in = object(m["input_tokens_details"])
	}
	if out == nil {
		out = object(m["output_tokens_details"])
	}
	u := &Usage{
		Cached:    first(in["cached_tokens"], m["cached_tokens"], m["prompt_cache_hit_tokens"], m["cache_read_input_tokens"]),
		Reasoning: first(out["reasoning_tokens"], m["reasoning_tokens"]),
	}
	if n := first(m["prompt_tokens"], m["input_tokens"]); n != nil {
		u.Prompt = *n
	}
	if n := first(m["completion_tokens"], m["output_tokens"]); n != nil {
		u.Completion = *n
	}
	if u.Prompt == 0 && u.Completion == 0 {
		return nil
	}
	return u
}

// The finish reasons of Result, beside "".
const (
	FinishStop    = "stop"
	FinishLength  = "length"
	FinishCalls   = "tool_calls"
	FinishFilter  = "content_filter"
	FinishFailure = "error"
)

// finishOf makes an endpoint's finish reason one of ours. "" stays "": not over yet. A word nobody knows is a stop.
func finishOf(word string) string {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "":
		return ""
	case "length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length", "token_limit", "model_context_window_exceeded":
		return FinishLength
	case "tool_calls", "tool_call", "tool_use", "function_call", "tool":
		return FinishCalls
	case "content_filter", "content-filter", "content_filtered", "safety", "recitation", "sensitive", "prohibited_content", "blocklist", "spii":
		return FinishFilter
	case "error", "network_error", "insufficient_system_resource", "abort", "aborted":
		return FinishFailure
	}
	return FinishStop
}

// stronger orders finish reasons that come one after the other: what cut the reply stands against a later stop.
func stronger(a, b string) bool {
	rank := map[string]int{"": 0, FinishStop: 1, FinishCalls: 2, FinishLength: 3, FinishFilter: 3, FinishFailure: 4}
	return rank[a] > rank[b]
}

// maxGlued bounds how often one payload is searched for a frame glued behind a broken one.
const maxGlued = 8

// texts calls fn with each JSON text of a payload, one after the other. done is set at [DONE]; lost counts the pieces that
// could not be read. Where a text was cut off and the next frame glued behind it, it goes on with that frame.
func texts(p []byte, fn func([]byte)) (done bool, lost int) {
	for lost < maxGlued {
		p = bytes.TrimLeft(p, " \t\r\n")
		if after, ok := bytes.CutPrefix(p, []byte("data:")); ok {
			p = after
			continue
		}
		switch {
		case len(p) == 0 || p[0] == ':':
			return false, lost
		case bytes.HasPrefix(p, []byte("[DONE]")):
			return true, lost
		case isNull(p):
			p = p[len("null"):]
			continue
		}
		if p[0] == '{' || p[0] == '[' {
			var s scanner
			if n := s.feed(p); n > 0 && valid(p[:n], fn) {
				p = p[n:]
				continue
			}
		}
		lost++
		n := glued(p)
		if n < 0 {
			break
		}
		p = p[n:]
	}
	return false, lost
}

func isNull(p []byte) bool {
	rest, ok := bytes.CutPrefix(p, []byte("null"))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// glued returns where in p the next frame begins, or -1.
func glued(p []byte) int {
	for at := 1; at < len(p); {
		i := bytes.Index(p[at:], []byte("data:"))
		if i < 0 {
			return -1
		}
		rest := bytes.TrimLeft(p[at+i+len("data:"):], " ")
		if bytes.HasPrefix(rest, []byte("{")) || bytes.HasPrefix(rest, []byte("[DONE]")) {
			return at + i
		}
		at += i + len("data:")
	}
	return -1
}

// valid hands a JSON text to fn when it is one, if need be after mending it.
func valid(p []byte, fn func([]byte)) bool {
	if !json.Valid(p) {
		if p = mend(p); p == nil || !json.Valid(p) {
			return false
		}
	}
	fn(p)
	return true
}
