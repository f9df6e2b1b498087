package llm

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func TestParseBaseURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://api.example.org/v1":     "https://api.example.org/v1",
		" http://localhost:11434/v1/ \n": "http://localhost:11434/v1",
		"http://127.0.0.1:8080":          "http://127.0.0.1:8080",
		"https://[::1]:9000/a/b":         "https://[::1]:9000/a/b",
		"HTTPS://Example.org":            "HTTPS://Example.org",
	} {
		if got, err := ParseBaseURL(in); got != want || err != nil {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for in, words := range map[string]string{
		"":                                   "enter the endpoint's base URL",
		"   ":                                "enter the endpoint's base URL",
		"localhost:11434/v1":                 "begin with http:// or https://",
		"api.example.org/v1":                 "begin with http:// or https://",
		"ftp://example.org":                  "begin with http:// or https://",
		"file:///etc/passwd":                 "begin with http:// or https://",
		"javascript:alert(1)":                "begin with http:// or https://",
		"https://":                           "no host name",
		"https:///v1":                        "no host name",
		"https://:443/v1":                    "no host name",
		"http://host:":                       "empty port",
		"http://host:99999":                  "1 to 65535",
		"http://host:abc":                    "cannot be read",
		"https://user:pw@example.org":        "user name",
		"https://example.org/v1?key=1":       "? or #",
		"https://example.org/v1?":            "? or #",
		"https://example.org/v1#x":           "? or #",
		"https://exa mple.org":               "cannot be read",
		"https://e.org/%zz":                  "cannot be read",
		"https://e.org/v1/models":            "leave /models out",
		"https://e.org/v1/chat/completions/": "leave /chat/completions out",
		"https://e.org/" + strings.Repeat("a", 2000): "too long",
	} {
		got, err := ParseBaseURL(in)
		if err == nil || got != "" || !strings.Contains(err.Error(), words) {
			t.Errorf("%.60q: %q, %v; want %q", in, got, err, words)
		}
		if err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("password in %v", err)
		}
	}
}

func TestModels(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		want       []Model
	}{
		{"OpenAI", `{"object":"list","data":[{"id":"a","object":"model","owned_by":"me"},{"id":"b"}]}`, []Model{{ID: "a", OwnedBy: "me"}, {ID: "b"}}},
		{"lengths", `{"data":[{"id":"a","context_length":1},{"id":"b","max_model_len":2.0},{"id":"c","context_window":"3"},{"id":"d","meta":{"n_ctx_train":4}},{"id":"e","max_context_length":5},{"id":"f","context_length":null,"top_provider":{"context_length":6}},{"id":"g","context_length":-1}]}`,
			[]Model{{ID: "a", ContextLength: 1}, {ID: "b", ContextLength: 2}, {ID: "c", ContextLength: 3}, {ID: "d", ContextLength: 4}, {ID: "e", ContextLength: 5}, {ID: "f", ContextLength: 6}, {ID: "g"}}},
		{"bare list", `[{"id":"a","name":"The A"},"b"]`, []Model{{ID: "a", Name: "The A"}, {ID: "b"}}},
		{"named models", `{"models":[{"name":"llama:1b","model":"llama:1b"}]}`, []Model{{ID: "llama:1b"}}},
		{"none", `{"object":"list","data":[]}`, []Model{}},
		{"null", `{"object":"list","data":null}`, []Model{}},
		{"odd rows", `{"data":[null,1,{"id":""},{"id":"a"},{"id":"a"},{"id":"` + strings.Repeat("x", 600) + `"}]}`, []Model{{ID: "a"}}},
		{"byte order mark", "\xEF\xBB\xBF{\"data\":[{\"id\":\"a\"}]}", []Model{{ID: "a"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := endpoint(t, Endpoint{}, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != "GET" || r.URL.Path != "/v1/models" {
					t.Errorf("asked %s %s", r.Method, r.URL.Path)
				}
				write(w, tc.body)
			}).Models(context.Background())
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestModelsTrouble(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		status     int
		kind       string
		words      string
	}{
		{"page", "<!doctype html><title>Router</title>", 200, KindNotSSE, `web page ("Router")`},
		{"page with an error", "<html><script>alert(1)</script>", 502, KindHTTP, "502 Bad Gateway and a web page"},
		{"key", `{"error":{"message":"wrong key"}}`, 401, KindHTTP, "wrong key"},
		{"path", `404 page not found`, 404, KindHTTP, "page not found"},
		{"shape", `{"hello":"world"}`, 200, KindMalformed, "not with a list of models"},
		{"data of another shape", `{"data":{"a":1}}`, 200, KindMalformed, "not with a list of models"},
		{"rows of another shape", `[1,2,3]`, 200, KindMalformed, "not with a list of models"},
		{"text", "hello", 200, KindMalformed, "not with a list of models"},
		{"cut", `{"data":[{"id":"a"`, 200, KindMalformed, "not with a list of models"},
		{"empty", "", 200, KindMalformed, "not with a list of models"},
		{"error with 200", `{"error":{"message":"closed"}}`, 200, KindStream, "closed"},
		{"too long", strings.Repeat(" ", maxModelsBody+1), 200, KindTooLarge, "longer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := endpoint(t, Endpoint{}, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(tc.status); write(w, tc.body) }).Models(context.Background())
			var e *Error
			if got != nil || !errors.As(err, &e) || e.Kind != tc.kind || !strings.Contains(e.Message, tc.words) || strings.Contains(e.Message, "<") {
				t.Errorf("got %v, %+v; want %s with %q", got, err, tc.kind, tc.words)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err := endpoint(t, Endpoint{}, func(w http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() }).Models(ctx)
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindStopped {
		t.Errorf("cancelled: %v", err)
	}
}

func TestRequestBytes(t *testing.T) {
	half, seed := 0.5, int64(7)
	r := Request{
		Model: "m", Temperature: &half, Seed: &seed, Stream: true, StreamOptions: &StreamOptions{IncludeUsage: true},
		ReasoningEffort: "low", TemplateArgs: map[string]json.RawMessage{"reasoning_effort": json.RawMessage(`"low"`), "a": json.RawMessage("1")},
		Messages: []Message{
			{Role: "system", Content: "a < b & c"},
			{Role: "user", Parts: []Part{{Text: "see"}, {Image: "data:image/png;base64,AA=="}}},
			{Role: "assistant", ToolCalls: []Call{{ID: "x", Name: "ls", Arguments: "{}", Extra: json.RawMessage(`{"g":1}`)}}},
			{Role: "tool", ToolCallID: "x", Content: "ok"},
		},
		Tools: []Tool{{Name: "ls"}},
		Extra: map[string]json.RawMessage{"top_k": json.RawMessage("4"), "min_p": json.RawMessage("0.1")},
	}
	want := `{"model":"m","messages":[{"role":"system","content":"a < b & c"},` +
		`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"x","type":"function","function":{"name":"ls","arguments":"{}"},"extra_content":{"g":1}}]},` +
		`{"role":"tool","content":"ok","tool_call_id":"x"}],` +
		`"tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object","properties":{}}}}],` +
		`"temperature":0.5,"seed":7,"reasoning_effort":"low","chat_template_kwargs":{"a":1,"reasoning_effort":"low"},` +
		`"stream":true,"stream_options":{"include_usage":true},"min_p":0.1,"top_k":4}`
	for range 5 {
		if got, err := r.Encode(); err != nil || string(got) != want {
			t.Fatalf("got  %s\nwant %s\n%v", got, want, err)
		}
	}
	plain, err := Request{Model: "m", Messages: []Message{{Role: "user", Content: "hi"}}}.Encode()
	if err != nil || string(plain) != `{"model":"m","messages":[{"role":"user","content":"hi"}]}` {
		t.Errorf("plain: %s, %v", plain, err)
	}
	for name, bad := range map[string]Request{
		"extra replaces":                 {Extra: map[string]json.RawMessage{"model": json.RawMessage("1")}},
		"extra replaces an unset member": {Extra: map[string]json.RawMessage{"temperature": json.RawMessage("1")}},
		"extra is not JSON":              {Extra: map[string]json.RawMessage{"x": json.RawMessage("{")}},
		"schema":                         {Tools: []Tool{{Name: "a", Parameters: json.RawMessage("{")}}},
		"part":                           {Messages: []Message{{Parts: []Part{{Text: "a", Image: "b"}}}}},
	} {
		if got, err := bad.Encode(); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestDeltas: pieces come as they arrive, each with its kind and time, before the reply has ended.
func TestDeltas(t *testing.T) {
	next := make(chan struct{})
	e := endpoint(t, Endpoint{}, func(w http.ResponseWriter, r *http.Request) {
		for _, s := range []string{c("one <"), c("two")[:len(c("two"))-1] + "data: {}\n", "\n" + d(`{"reasoning":"r"}`), tool(`{"index":0,"id":"x","function":{"name":"ls","arguments":"{"}}`), tool(`{"index":0,"function":{"arguments":"}"}}`)} {
			write(w, s)
			<-next
		}
		write(w, fin("stop")+done)
	})
	var got []string
	var at []time.Duration
	r, err := e.Stream(context.Background(), nil, Handler{Delta: func(d Delta) error {
		got = append(got, fmt.Sprintf("%s %s%s%s", d.Kind, d.Text, d.ID, d.Name))
		at = append(at, d.At)
		if d.Kind != KindToolCall {
			next <- struct{}{} // the server sends on only when this piece is here
		}
		return nil
	}})
	want := []string{"content one ", "content <two", "reasoning r", "tool_call xls", "tool_arguments {", "tool_arguments }"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %q, %v", got, err)
	}
	for i := 1; i < len(at); i++ {
		if at[i] < at[i-1] || at[0] <= 0 {
			t.Errorf("times go back: %v", at)
		}
	}
	if r.First != at[0] || r.Total < at[len(at)-1] || len(r.Runnable()) != 1 {
		t.Errorf("result %+v, times %v", r, at)
	}
}

func TestReclassifyDelta(t *testing.T) {
	var got []string
	a := newAssembler(func(d Delta) error { got = append(got, string(d.Kind)+":"+d.Text); return nil }, func() time.Duration { return 1 })
	for _, s := range []string{"thinking", " hard</thi", "nk>\n\nHi"} {
		a.split.push(s)
	}
	a.close()
	want := []string{"content:thinking", "content: hard", "reclassify:", "content:Hi"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestHeldBack: a tag behind a lone backtick is not waited for without end.
func TestHeldBack(t *testing.T) {
	a := newAssembler(func(Delta) error { return nil }, func() time.Duration { return 1 })
	a.split.push("it`s<think>" + strings.Repeat("r", maxUndecided+1))
	if a.content.String() != "it`s" || a.reasoning.Len() != maxUndecided+1 {
		t.Errorf("got %q and %d bytes of reasoning", a.content.String(), a.reasoning.Len())
	}
}

func TestUnaskedGzip(t *testing.T) {
	r, err := endpoint(t, Endpoint{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, hello+done)
		z.Close()
	}).Complete(context.Background(), nil)
	if err != nil || r.Err != nil || r.Content != "hello" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestLinear: what is held per byte stays small when a peer sends the worst for a reader that looks back.
func TestWorstInputs(t *testing.T) {
	for name, body := range map[string]string{
		"many data lines of one event": strings.Repeat("data: {\n", 1<<17),
		"many frames glued":            "data: " + strings.Repeat("data:{", 1<<17) + "\n\n",
		"many backticks":               c(strings.Repeat("`<think>", 1<<15)) + done,
		"many tags":                    c(strings.Repeat("<think>", 1<<15)) + done,
		"deep JSON":                    "data: " + strings.Repeat("[", 1<<17) + "\n\n",
		"named fragments":              strings.Repeat(tool(`{"index":0,"function":{"name":"a","arguments":"{\"p\":"}}`), 1<<12) + done,
	} {
		t.Run(name, func(t *testing.T) { checkCut(t, name, 0, outcome([]byte(body)), outcome([]byte(body))) })
	}
}
