package llm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const corpusDir = "../../testdata/corpus/streams"

// wantCall, wantError and want are what a want.json says; see the README beside them.
type wantCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Valid     bool   `json:"arguments_valid"`
}

type wantError struct {
	Kind     string   `json:"kind"`
	Status   int      `json:"status"`
	Retry    int      `json:"retry_after_s"`
	Contains []string `json:"message_contains"`
}

type wantUsage struct {
	Prompt     int64  `json:"prompt"`
	Completion int64  `json:"completion"`
	Cached     *int64 `json:"cached"`
	Reasoning  *int64 `json:"reasoning"`
}

type want struct {
	Name     string `json:"name"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		End     string            `json:"end"`
		Splits  json.RawMessage   `json:"splits"`
	} `json:"response"`
	Content   *string                      `json:"content"`
	SHA       string                       `json:"content_sha256"`
	Reasoning string                       `json:"reasoning"`
	Calls     []wantCall                   `json:"tool_calls"`
	Finish    *string                      `json:"finish_reason"`
	Usage     *wantUsage                   `json:"usage"`
	Error     *wantError                   `json:"error"`
	AlsoOK    map[string][]json.RawMessage `json:"also_ok"`
	MustNot   map[string][]string          `json:"must_not"`
	body      []byte
}

func corpus(t testing.TB) []want {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpusDir, "*.want.json"))
	if err != nil || len(files) < 100 {
		t.Fatalf("corpus: %d files, %v", len(files), err)
	}
	var out []want
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var w want
		if err := json.Unmarshal(raw, &w); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if w.body, err = os.ReadFile(strings.TrimSuffix(f, ".want.json") + ".sse"); err != nil {
			t.Fatal(err)
		}
		out = append(out, w)
	}
	return out
}

// serve answers every request with the case: status, headers, splits with a flush at each, and the way it ends.
func serve(w want) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		for k, v := range w.Response.Headers {
			rw.Header().Set(k, v)
		}
		rw.WriteHeader(w.Response.Status)
		flush := rw.(http.Flusher)
		flush.Flush()
		for _, piece := range pieces(w) {
			rw.Write(piece)
			flush.Flush()
		}
		if w.Response.End == "reset" {
			conn, _, err := http.NewResponseController(rw).Hijack()
			if err == nil {
				conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
		}
	})
}

func pieces(w want) [][]byte {
	var at []int
	if string(w.Response.Splits) == `"every"` {
		for i := range w.body {
			at = append(at, i)
		}
	} else if w.Response.Splits != nil {
		json.Unmarshal(w.Response.Splits, &at)
	}
	var out [][]byte
	from := 0
	for _, i := range append(at, len(w.body)) {
		out = append(out, w.body[from:i])
		from = i
	}
	return out
}

// reply runs one request against a handler and checks that the deltas fold to the result.
func reply(t testing.TB, h http.Handler, e Endpoint) Result {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	e.BaseURL, e.HTTP = srv.URL+"/v1", srv.Client()
	var f fold
	r, err := e.Stream(context.Background(), []byte(`{}`), Handler{Delta: f.add})
	if err != nil {
		t.Fatalf("Stream: %v", err)
	}
	f.check(t, r)
	return r
}

// fold puts deltas together the way a reader of the log does.
type fold struct {
	content, reasoning string
	args               []string
}

func (f *fold) add(d Delta) error {
	switch d.Kind {
	case KindContent:
		f.content += d.Text
	case KindReasoning:
		f.reasoning += d.Text
	case KindReclassify:
		f.content, f.reasoning = "", f.reasoning+f.content
	case KindToolCall:
		if d.Call == len(f.args) {
			f.args = append(f.args, "")
		}
	case KindToolArguments:
		f.args[d.Call] += d.Text
	}
	return nil
}

func (f *fold) check(t testing.TB, r Result) {
	t.Helper()
	if f.content != r.Content || f.reasoning != r.Reasoning {
		t.Errorf("deltas fold to %.200q / %.200q, result is %.200q / %.200q", f.content, f.reasoning, r.Content, r.Reasoning)
	}
	if len(f.args) != len(r.Calls) {
		t.Fatalf("deltas have %d calls, result %d", len(f.args), len(r.Calls))
	}
	for i, c := range r.Calls {
		sent := c.Raw
		if sent == "" && f.args[i] != "" {
			sent = c.Arguments
		}
		if f.args[i] != sent {
			t.Errorf("call %d: deltas fold to %q, result has %q", i, f.args[i], sent)
		}
	}
}

// TestCorpus serves every recorded reply over HTTP and compares what the client made of it.
func TestCorpus(t *testing.T) {
	for _, w := range corpus(t) {
		t.Run(w.Name, func(t *testing.T) { compare(t, w, reply(t, serve(w), Endpoint{})) })
	}
}

// compare checks a result against the case: each member as given, or as one of also_ok.
func compare(t *testing.T, w want, r Result) {
	t.Helper()
	ok := func(member string, want any, equal func(json.RawMessage) bool) {
		t.Helper()
		raw, _ := json.Marshal(want)
		if equal(raw) || slices.ContainsFunc(w.AlsoOK[member], equal) {
			return
		}
		t.Errorf("%s: want %.300s (or %.200s), got %+v", member, raw, w.AlsoOK[member], r)
	}
	same := func(got string) func(json.RawMessage) bool {
		return func(raw json.RawMessage) bool {
			var s *string
			json.Unmarshal(raw, &s)
			return s == nil && got == "" || s != nil && strings.TrimSpace(*s) == strings.TrimSpace(got)
		}
	}
	if w.Content == nil {
		if sum := sha256.Sum256([]byte(r.Content)); hex.EncodeToString(sum[:]) != w.SHA {
			t.Errorf("content: %d bytes with another digest", len(r.Content))
		}
	} else {
		ok("content", w.Content, same(r.Content))
	}
	ok("reasoning", w.Reasoning, same(r.Reasoning))
	ok("finish_reason", w.Finish, same(r.FinishReason))
	ok("tool_calls", w.Calls, func(raw json.RawMessage) bool { return sameCalls(raw, r.Calls) })
	ok("usage", w.Usage, func(raw json.RawMessage) bool { return sameUsage(raw, r.Usage) })
	ok("error", w.Error, func(raw json.RawMessage) bool { return sameError(raw, r.Err) })
	calls, _ := json.Marshal(r.Calls)
	got := map[string]string{"content": r.Content, "reasoning": r.Reasoning, "tool_calls": string(calls)}
	if r.Err != nil {
		got["error"] = r.Err.Message
	}
	for member, list := range w.MustNot {
		for _, bad := range list {
			if strings.Contains(strings.ToLower(got[member]), strings.ToLower(bad)) {
				t.Errorf("%s holds %q: %s", member, bad, got[member])
			}
		}
	}
	if (r.Err != nil || r.FinishReason == FinishLength) && len(r.Runnable()) > 0 {
		t.Errorf("runnable calls in a reply that is not whole: %+v", r.Runnable())
	}
}

func sameCalls(raw json.RawMessage, got []Call) bool {
	var list []wantCall
	json.Unmarshal(raw, &list)
	seen := map[string]bool{}
	if len(list) != len(got) {
		return false
	}
	for i, w := range list {
		g := got[i]
		if g.ID == "" || seen[g.ID] || w.ID != "*" && w.ID != g.ID || w.Name != g.Name || w.Valid != g.ArgumentsValid {
			return false
		}
		seen[g.ID] = true
		var a, b any
		if json.Unmarshal([]byte(w.Arguments), &a) == nil && json.Unmarshal([]byte(g.Arguments), &b) == nil {
			if !reflect.DeepEqual(a, b) {
				return false
			}
		} else if w.Arguments != g.Arguments {
			return false
		}
	}
	return true
}

func sameUsage(raw json.RawMessage, got *Usage) bool {
	var w *wantUsage
	json.Unmarshal(raw, &w)
	if w == nil || got == nil {
		return w == nil && got == nil
	}
	return reflect.DeepEqual(*w, wantUsage(*got))
}

func sameError(raw json.RawMessage, got *Error) bool {
	var w *wantError
	json.Unmarshal(raw, &w)
	if w == nil || got == nil {
		return w == nil && got == nil
	}
	for _, s := range w.Contains {
		if !strings.Contains(strings.ToLower(got.Message), strings.ToLower(s)) {
			return false
		}
	}
	return w.Kind == got.Kind && (w.Status == 0 || w.Status == got.Status) && (w.Retry == 0 || w.Retry == int(got.RetryAfter.Seconds()))
}

// outcome feeds a body to the reader without a network.
func outcome(body []byte, cuts ...int) Result {
	a := newAssembler(func(Delta) error { return nil }, func() time.Duration { return 1 })
	r := &reader{max: defaultMaxLine, emit: a.frame}
	from := 0
	for _, i := range append(cuts, len(body)) {
		if !a.over() && r.feed(bytes.Clone(body[from:i])) != nil {
			return a.result(&Error{Kind: KindTooLarge})
		}
		from = i
	}
	r.end()
	if r.mode == modePage {
		return a.result(pageError(r.line))
	}
	return a.result(nil)
}
