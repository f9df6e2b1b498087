package demo

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// sender writes one reply, as a stream or whole.
type sender struct {
	w       http.ResponseWriter
	ctx     context.Context
	req     request
	script  script
	id      string
	created int64
}

// object is a JSON object of no fixed shape.
type object = map[string]any

// piece is a delta and its kind.
type piece struct {
	member, text string
}

func (s *sender) send() {
	if s.req.Stream {
		s.stream()
		return
	}
	s.whole()
}

// pieces is the text of the reply, cut short where the reply is to go wrong.
func (s *sender) pieces() []piece {
	var out []piece
	for _, t := range pieces(s.script.reasoning) {
		out = append(out, piece{"reasoning_content", t})
	}
	for _, t := range pieces(s.script.content) {
		out = append(out, piece{"content", t})
	}
	if s.script.end != endWell {
		out = out[:min(len(out), faultyWords)]
	}
	return out
}

func (s *sender) stream() {
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("Cache-Control", "no-store")
	s.chunk(object{"role": "assistant", "content": ""}, nil)
	for _, p := range s.pieces() {
		if !s.wait() {
			return
		}
		s.chunk(object{p.member: p.text}, nil)
	}
	switch s.script.end {
	case endSilent:
		<-s.ctx.Done()
		return
	case endCut:
		panic(http.ErrAbortHandler) // the documented way to break a connection
	case endError:
		s.event(object{"error": object{"message": "The demo reports an error because your message says “error”.", "type": "server_error", "code": 500}})
		return
	}
	finish := "stop"
	for i, c := range s.script.calls {
		finish = "tool_calls"
		if !s.callTool(i, c) {
			return
		}
	}
	s.chunk(object{}, finish)
	if o := s.req.StreamOptions; o != nil && o.IncludeUsage {
		s.event(object{"id": s.id, "object": "chat.completion.chunk", "created": s.created, "model": s.req.Model, "choices": []any{}, "usage": s.usage()})
	}
	s.raw("[DONE]")
}

// callTool sends a call in fragments, as real endpoints do. It reports whether the reader is still there.
func (s *sender) callTool(index int, c call) bool {
	half := len(c.Arguments) / 2
	for _, f := range []object{
		{"index": index, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}},
		{"index": index, "function": object{"arguments": c.Arguments[:half]}},
		{"index": index, "function": object{"arguments": c.Arguments[half:]}},
	} {
		if !s.wait() {
			return false
		}
		s.chunk(object{"tool_calls": []object{f}}, nil)
	}
	return true
}

// whole answers a request that did not ask for a stream.
func (s *sender) whole() {
	for range s.pieces() {
		if !s.wait() {
			return
		}
	}
	switch s.script.end {
	case endSilent:
		<-s.ctx.Done()
		return
	case endCut:
		panic(http.ErrAbortHandler)
	case endError:
		refuse(s.w, http.StatusInternalServerError, "server_error", "The demo reports an error because your message says “error”.")
		return
	}
	message, finish := object{"role": "assistant", "content": s.script.content}, "stop"
	if s.script.reasoning != "" {
		message["reasoning_content"] = s.script.reasoning
	}
	var calls []object
	for _, c := range s.script.calls {
		finish = "tool_calls"
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	answer(s.w, http.StatusOK, object{
		"id": s.id, "object": "chat.completion", "created": s.created, "model": s.req.Model, "usage": s.usage(),
		"choices": []object{{"index": 0, "message": message, "finish_reason": finish}},
	})
}

func (s *sender) usage() object {
	reasoning := tokens(s.script.reasoning)
	in, out := s.req.tokens(), reasoning+tokens(s.script.content)
	for _, c := range s.script.calls {
		out += tokens(c.Name + c.Arguments)
	}
	return object{
		"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out,
		"prompt_tokens_details": object{"cached_tokens": 0}, "completion_tokens_details": object{"reasoning_tokens": reasoning},
	}
}

// wait lets the time of one piece pass. It reports whether the reader is still there.
func (s *sender) wait() bool {
	if s.script.pace <= 0 {
		return s.ctx.Err() == nil
	}
	t := time.NewTimer(s.script.pace)
	defer t.Stop()
	select {
	case <-s.ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (s *sender) chunk(delta object, finish any) {
	s.event(object{
		"id": s.id, "object": "chat.completion.chunk", "created": s.created, "model": s.req.Model, "system_fingerprint": "demo",
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
	})
}

func (s *sender) event(v object) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("demo: " + err.Error()) // strings and numbers only
	}
	s.raw(string(raw))
}

// raw writes one event and flushes. A reader that has gone away is noticed by wait.
func (s *sender) raw(data string) {
	s.w.Write([]byte("data: " + data + "\n\n"))
	http.NewResponseController(s.w).Flush()
}
