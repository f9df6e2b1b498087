package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"lembas/commands/llm"
)

// start runs the demo without waiting between pieces.
func start(t *testing.T, o Options) *llm.Endpoint {
	t.Helper()
	base, stop, err := New(o).Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return &llm.Endpoint{BaseURL: base, APIKey: "any"}
}

// body is a request of one user message to a model.
func body(t *testing.T, model, prompt string) []byte {
	t.Helper()
	raw, err := llm.Request{Model: model, Stream: true, StreamOptions: &llm.StreamOptions{IncludeUsage: true},
		Messages: []llm.Message{{Role: "user", Content: prompt}}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func ask(t *testing.T, e *llm.Endpoint, model, prompt string) llm.Result {
	t.Helper()
	r, err := e.Complete(context.Background(), body(t, model, prompt))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestModels(t *testing.T) {
	e := start(t, Options{Pace: -1})
	list, err := e.Models(context.Background())
	if err != nil || len(list) != 5 {
		t.Fatalf("got %+v, %v", list, err)
	}
	for _, m := range list {
		if !strings.HasPrefix(m.ID, "demo-") || !strings.HasPrefix(m.Name, "Demo: ") || m.OwnedBy != "demo" || m.ContextLength == 0 {
			t.Errorf("not labelled: %+v", m)
		}
		r := ask(t, e, m.ID, "hello there")
		if r.Err != nil || r.FinishReason != llm.FinishStop || !strings.Contains(r.Content, "demo") || r.Usage == nil || r.Usage.Completion == 0 {
			t.Errorf("%s: %+v", m.ID, r)
		}
		if thinks := strings.Contains(m.ID, "think"); thinks != (r.Reasoning != "") || strings.Contains(r.Content, "think>") {
			t.Errorf("%s: reasoning %q, content %q", m.ID, r.Reasoning, r.Content)
		}
	}
}

// TestWords: what each trigger word makes of a reply.
func TestWords(t *testing.T) {
	e := start(t, Options{Pace: -1})
	e.IdleTimeout = 100 * time.Millisecond
	for _, tc := range []struct {
		prompt, kind, words, content string
		status                       int
	}{
		{"please FAIL.", llm.KindHTTP, "demo failed", "", 500},
		{"html", llm.KindNotSSE, "Demo web page", "", 0},
		{"show a table, then stall", llm.KindTimeout, "stopped in the middle", "A table from", 0},
		{"cut the code", llm.KindTransport, "broke the connection", "Here is the same", 0},
		{"an error", llm.KindStream, "demo reports an error", "Hello from the demo", 500},
		{"think", "", "", "**391**", 0},
		{"some code", "", "", "```python", 0},
		{"a table", "", "", "| Planet |", 0},
		{"slow", "", "", "You wrote: “slow”", 0},
		{"trickle", "", "", "You wrote: “trickle”", 0},
		{"failure, tables and coded words trigger nothing", "", "", "trigger nothing", 0},
	} {
		t.Run(tc.prompt, func(t *testing.T) {
			r := ask(t, e, "demo-chat", tc.prompt)
			if tc.kind == "" {
				if r.Err != nil || !strings.Contains(r.Content, tc.content) {
					t.Errorf("got %+v", r)
				}
				return
			}
			if r.Err == nil || r.Err.Kind != tc.kind || r.Err.Status != tc.status || !strings.Contains(r.Err.Message, tc.words) || !strings.HasPrefix(r.Content, tc.content) {
				t.Errorf("got %+v with %q", r.Err, r.Content)
			}
		})
	}
}

func TestBusy(t *testing.T) {
	e := start(t, Options{Pace: -1})
	r := ask(t, e, "demo-chat", "busy")
	if r.Err == nil || r.Err.Status != 429 || r.Err.RetryAfter != time.Second {
		t.Fatalf("first try: %+v", r.Err)
	}
	if other := ask(t, e, "demo-chat", "busy too"); other.Err == nil {
		t.Error("another message was not refused")
	}
	if r = ask(t, e, "demo-chat", "busy"); r.Err != nil || !strings.Contains(r.Content, "busy") {
		t.Errorf("second try: %+v", r)
	}
	if r = ask(t, e, "demo-chat", "busy"); r.Err == nil {
		t.Error("a third try begins anew")
	}
}

func TestTools(t *testing.T) {
	e := start(t, Options{Pace: -1})
	r := ask(t, e, "demo-chat", "use your tools")
	calls := r.Runnable()
	if r.Err != nil || len(calls) != 1 || calls[0].Name != "get_weather" || !json.Valid([]byte(calls[0].Arguments)) || calls[0].ID == "" {
		t.Fatalf("got %+v", r)
	}
	raw, err := llm.Request{Model: "demo-chat", Stream: true, Messages: []llm.Message{
		{Role: "user", Content: "use your tools"}, {Role: "assistant", ToolCalls: calls}, {Role: "tool", ToolCallID: calls[0].ID, Content: "sunny, 21 °C"},
	}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if r, err = e.Complete(context.Background(), raw); err != nil || r.Err != nil || len(r.Calls) > 0 || !strings.Contains(r.Content, "sunny") {
		t.Errorf("after the tool: %+v, %v", r, err)
	}
}

func TestLong(t *testing.T) {
	r := ask(t, start(t, Options{Pace: -1}), "demo-markdown", "a long one")
	if r.Err != nil || len(r.Content) < longBytes || len(r.Content) > longBytes+2000 || !strings.HasSuffix(r.Content, "the long demo reply.") {
		t.Errorf("%d bytes, %v", len(r.Content), r.Err)
	}
}

func TestTitles(t *testing.T) {
	e := start(t, Options{Pace: -1})
	for _, tc := range []struct {
		messages []llm.Message
		want     string
	}{
		{[]llm.Message{{Role: "system", Content: "Write a short title for this conversation."}, {Role: "user", Content: "How do I stall a lift, safely?"}}, "Demo: How do I stall a"},
		{[]llm.Message{{Role: "user", Content: "Bake bread"}, {Role: "assistant", Content: "ok"}, {Role: "user", Content: "Generate a concise title of at most six words."}}, "Demo: Bake bread"},
		{[]llm.Message{{Role: "user", Content: "Give this chat a title:\nfail to plan"}}, "Demo: fail to plan"},
		{[]llm.Message{{Role: "system", Content: "Give a title of at most six words."}, {Role: "user", Content: "Question:\nGood morning\n\nAnswer:\nIt scatters.\n\nTitle:"}}, "Demo: Good morning"},
		{[]llm.Message{{Role: "system", Content: "Give a title of at most six words."}, {Role: "user", Content: "Question: why?\nsays the page"}}, "Demo: Question why"},
		{[]llm.Message{{Role: "user", Content: "Suggest a title"}}, "Demo chat"},
	} {
		raw, err := llm.Request{Model: "demo-thinking", Messages: tc.messages}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if r, err := e.Complete(context.Background(), raw); err != nil || r.Err != nil || r.Content != tc.want {
			t.Errorf("got %q, want %q (%v, %v)", r.Content, tc.want, r.Err, err)
		}
	}
	if r := ask(t, e, "demo-chat", "What is the title of the third book?"); !strings.HasPrefix(r.Content, "Hello") {
		t.Errorf("a question about a title got %q", r.Content)
	}
}

// TestWhole: without stream:true the answer is one JSON object that says the same.
func TestWhole(t *testing.T) {
	e := start(t, Options{Pace: -1})
	for _, prompt := range []string{"hello", "think", "tools"} {
		raw := bytes.Replace(body(t, "demo-chat", prompt), []byte(`"stream":true`), []byte(`"stream":false`), 1)
		resp, err := http.Post(e.BaseURL+"/chat/completions", "application/json", bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.Header.Get("Content-Type") != "application/json" || !json.Valid(got) {
			t.Errorf("%s: %s", prompt, got)
		}
		a, err := e.Complete(context.Background(), raw)
		b := ask(t, e, "demo-chat", prompt)
		if err != nil || a.Err != nil || a.Content != b.Content || a.Reasoning != b.Reasoning || a.FinishReason != b.FinishReason || len(a.Calls) != len(b.Calls) || *a.Usage.Reasoning != *b.Usage.Reasoning {
			t.Errorf("%s: whole %+v, stream %+v, %v", prompt, a, b, err)
		}
	}
	for prompt, kind := range map[string]string{"cut": llm.KindTransport, "error": llm.KindHTTP} {
		raw := bytes.Replace(body(t, "demo-chat", prompt), []byte(`"stream":true`), []byte(`"stream":false`), 1)
		if r, err := e.Complete(context.Background(), raw); err != nil || r.Err == nil || r.Err.Kind != kind {
			t.Errorf("%s: %+v, %v", prompt, r.Err, err)
		}
	}
}

func TestUsageOnlyWhenAsked(t *testing.T) {
	e := start(t, Options{Pace: -1})
	raw := bytes.Replace(body(t, "demo-chat", "hi"), []byte(`"include_usage":true`), []byte(`"include_usage":false`), 1)
	if r, err := e.Complete(context.Background(), raw); err != nil || r.Err != nil || r.Usage != nil {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestBadRequests(t *testing.T) {
	e := start(t, Options{Pace: -1})
	for _, tc := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/chat/completions", "{", 400},
		{"POST", "/chat/completions", `{"model":"demo-chat","messages":[]}`, 400},
		{"POST", "/chat/completions", `{"model":"gpt","messages":[{"role":"user","content":"x"}]}`, 404},
		{"POST", "/chat/completions", `{"model":"` + strings.Repeat("x", maxRequest) + `"}`, 413},
		{"GET", "/chat/completions", "", 404},
		{"GET", "/embeddings", "", 404},
	} {
		req, err := http.NewRequest(tc.method, e.BaseURL+tc.path, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tc.status || !strings.Contains(string(got), "The demo") || !json.Valid(got) {
			t.Errorf("%s %s %.30s: %d %s", tc.method, tc.path, tc.body, resp.StatusCode, got)
		}
	}
}

func TestParts(t *testing.T) {
	raw, err := llm.Request{Model: "demo-chat", Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "see this"}, {Image: "data:image/png;base64,AA=="}}}}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if r, err := start(t, Options{Pace: -1}).Complete(context.Background(), raw); err != nil || !strings.Contains(r.Content, "“see this”") {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestPace: the speed each request gets, before scaling and after.
func TestPace(t *testing.T) {
	for _, tc := range []struct {
		prompt string
		pace   float64
		want   time.Duration
	}{
		{"hello", 0, time.Second / 32},
		{"slow", 0, time.Second / 8},
		{"trickle", 0, 300 * time.Millisecond},
		{"trickle a table", 3, 100 * time.Millisecond},
		{"trickle", -1, 0},
	} {
		content, _ := json.Marshal(tc.prompt)
		got := Options{Pace: tc.pace}.plan(request{Model: "demo-chat", Messages: []message{{Role: "user", Content: content}}})
		if got.pace != tc.want {
			t.Errorf("%q at %v: %v, want %v", tc.prompt, tc.pace, got.pace, tc.want)
		}
	}
}

// TestPieces: a reply is many small pieces, and nothing is lost between them.
func TestPieces(t *testing.T) {
	for _, name := range []string{"markdown", "code", "thinking", "answer", "table", "words"} {
		s := text(name)
		list := pieces(s)
		if strings.Join(list, "") != s || len(list) < 10 {
			t.Errorf("%s: %d pieces", name, len(list))
		}
		for _, p := range list {
			if n := len([]rune(p)); n > 12 {
				t.Errorf("%s: piece of %d characters", name, n)
			}
		}
	}
	md := text("markdown")
	for _, part := range []string{"# ", "\n## ", "- [x] ", "| ", "](http", "> ", "[^1]", "$$", "~~", "1. "} {
		if !strings.Contains(md, part) {
			t.Errorf("the Markdown reply has no %q", part)
		}
	}
}

// TestStop: stopping breaks off a reply that would never end, and frees the port.
func TestStop(t *testing.T) {
	base, stop, err := New(Options{Pace: -1}).Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	e := &llm.Endpoint{BaseURL: base}
	r, err := e.Stream(context.Background(), body(t, "demo-chat", "stall"), llm.Handler{Delta: func(d llm.Delta) error {
		stop() // the first word is here; the reply would stall after twelve
		return nil
	}})
	if err != nil || r.Err == nil || r.Err.Kind != llm.KindTransport && r.Err.Kind != llm.KindTruncated {
		t.Errorf("got %+v, %v", r.Err, err)
	}
	stop()
	if _, err := e.Models(context.Background()); err == nil {
		t.Error("the port still answers")
	}
	ctx, cancel := context.WithCancel(context.Background())
	base, stop, err = New(Options{}).Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	stop()
	if _, err := (&llm.Endpoint{BaseURL: base}).Models(context.Background()); err == nil {
		t.Error("the port still answers after its context ended")
	}
}
