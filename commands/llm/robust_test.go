package llm

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// summary is a result without what differs from run to run.
func summary(r Result) string {
	for i := range r.Calls {
		if strings.HasPrefix(r.Calls[i].ID, "call_") && len(r.Calls[i].ID) == 25 {
			r.Calls[i].ID = "*"
		}
	}
	r.First, r.Total = 0, 0
	raw, _ := json.Marshal(r)
	return string(raw)
}

// TestSplits: where the network cuts a body changes nothing.
func TestSplits(t *testing.T) {
	for _, w := range corpus(t) {
		if len(w.body) > 64<<10 {
			continue
		}
		whole := summary(outcome(w.body))
		var every []int
		for i := 1; i < len(w.body); i += 1 + len(w.body)/700 { // every one in small bodies
			every = append(every, i)
			if got := summary(outcome(w.body, i)); got != whole {
				t.Fatalf("%s split at %d:\n%s\nwhole:\n%s", w.Name, i, got, whole)
			}
		}
		if got := summary(outcome(w.body, every...)); got != whole {
			t.Errorf("%s byte by byte:\n%s\nwhole:\n%s", w.Name, got, whole)
		}
	}
}

// checkCut holds what a part of a reply must keep to, beside the whole reply.
func checkCut(t *testing.T, name string, at int, part, whole Result) {
	t.Helper()
	if part.Err == nil && part.FinishReason == "" {
		t.Fatalf("%s cut at %d: no ending: %s", name, at, summary(part))
	}
	if part.Err != nil && len(part.Runnable()) > 0 {
		t.Fatalf("%s cut at %d: runnable calls beside %v", name, at, part.Err)
	}
	for i, c := range part.Calls {
		if c.ArgumentsValid && (i >= len(whole.Calls) || c.Arguments != whole.Calls[i].Arguments) {
			t.Fatalf("%s cut at %d: call %d is valid with %s", name, at, i, c.Arguments)
		}
	}
	if !utf8.ValidString(part.Content + part.Reasoning) {
		t.Fatalf("%s cut at %d: text is not UTF-8", name, at)
	}
}

// TestCuts ends every recorded stream at every byte.
func TestCuts(t *testing.T) {
	for _, w := range corpus(t) {
		if len(w.body) > 64<<10 || w.Response.Status != http.StatusOK {
			continue
		}
		whole := outcome(w.body)
		for i := 0; i < len(w.body); i += 1 + len(w.body)/4096*12 { // every byte of all but two
			checkCut(t, w.Name, i, outcome(w.body[:i]), whole)
		}
	}
}

// TestCutsHTTP does the same over a connection that closes, and one that breaks, at every byte of some replies.
func TestCutsHTTP(t *testing.T) {
	for _, w := range corpus(t) {
		switch w.Name {
		case "023-utf8-split-across-packets", "078-tools-index-zero-no-ids", "127-think-stray-close", "163-json-instead-of-stream":
		default:
			continue
		}
		whole := outcome(w.body)
		for i := range w.body {
			cut := w
			cut.body, cut.Response.Splits = w.body[:i], nil
			checkCut(t, w.Name, i, reply(t, serve(cut), Endpoint{}), whole)
			cut.Response.End = "reset"
			if i%7 == 0 {
				checkCut(t, w.Name, i, reply(t, serve(cut), Endpoint{}), whole)
			}
		}
	}
}

func FuzzReply(f *testing.F) {
	for _, w := range corpus(f) {
		if len(w.body) < 64<<10 {
			f.Add(w.body, len(w.body)/2)
		}
	}
	for _, s := range siblings {
		f.Add([]byte(s.body), 7)
	}
	f.Fuzz(func(t *testing.T, body []byte, at int) {
		var folded fold
		a := newAssembler(folded.add, func() time.Duration { return 1 })
		r := &reader{max: 1 << 20, emit: a.frame}
		at = min(max(at, 0), len(body))
		if r.feed(body[:at]) != nil || r.feed(body[at:]) != nil {
			return
		}
		r.end()
		var broken *Error
		if r.mode == modePage {
			broken = pageError(r.line)
		}
		got := a.result(broken)
		folded.check(t, got)
		checkCut(t, "fuzz", at, got, got)
		if whole := outcome(body); summary(whole) != summary(got) {
			t.Fatalf("split at %d:\n%s\nwhole:\n%s", at, summary(got), summary(whole))
		}
		if got.Err != nil && (got.Err.Message == "" || !utf8.ValidString(got.Err.Message)) {
			t.Fatalf("error without words: %+v", got.Err)
		}
	})
}
