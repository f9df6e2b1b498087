package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"lembas/commands/tools"
	"lembas/events"
)

// recorded is a reply of the corpus with tool calls, and what has to come of it.
type recorded struct {
	Name     string
	Response struct {
		Status  int
		Headers map[string]string
		Splits  json.RawMessage
	}
	Calls  []recordedCall `json:"tool_calls"`
	Finish *string        `json:"finish_reason"`
	Error  *struct{ Kind string }
	AlsoOK struct {
		Calls [][]recordedCall `json:"tool_calls"`
	} `json:"also_ok"`
	body []byte
}

type recordedCall struct {
	ID, Name, Arguments string
	Valid               bool `json:"arguments_valid"`
}

// recordedCalls reads the corpus. A tool that has the name of a built-in one
// cannot be added, so it goes by file-read for file_read, which is as long.
func recordedCalls(t *testing.T) (out []recorded) {
	t.Helper()
	files, err := filepath.Glob("../../testdata/corpus/streams/*.want.json")
	must(t, err)
	for _, f := range files {
		raw, err := os.ReadFile(f)
		must(t, err)
		body, err := os.ReadFile(strings.TrimSuffix(f, ".want.json") + ".sse")
		must(t, err)
		var c recorded
		must(t, json.Unmarshal(raw, &c))
		for _, k := range c.Calls {
			if tools.BuiltIn(k.Name) {
				other := []byte(strings.ReplaceAll(k.Name, "_", "-"))
				raw, body = bytes.ReplaceAll(raw, []byte(k.Name), other), bytes.ReplaceAll(body, []byte(k.Name), other)
			}
		}
		c = recorded{body: body}
		if must(t, json.Unmarshal(raw, &c)); len(c.Calls) > 0 {
			out = append(out, c)
		}
	}
	if len(out) < 25 {
		t.Fatalf("the corpus has %d replies with calls", len(out))
	}
	return append(out, cutShort(out)...)
}

// cutShort gives the recordings that were whole, as if they had ended for want
// of tokens: a call that looks whole may then be half of what was meant.
func cutShort(whole []recorded) (out []recorded) {
	for _, c := range whole {
		length, end := "length", []byte(`"finish_reason":"tool_calls"`)
		if bytes.Contains(c.body, end) && c.Error == nil {
			c.Name, c.Finish = c.Name+" cut short", &length
			c.body = bytes.ReplaceAll(c.body, end, []byte(`"finish_reason":"length"`))
			c.Response.Splits = nil
			out = append(out, c)
		}
	}
	return out
}

// play answers as the recording says.
func (c *recorded) play(w http.ResponseWriter) {
	for k, v := range c.Response.Headers {
		w.Header().Set(k, v)
	}
	w.WriteHeader(c.Response.Status)
	var at []int
	if json.Unmarshal(c.Response.Splits, &at) != nil && string(c.Response.Splits) == `"every"` {
		for i := range c.body {
			at = append(at, i)
		}
	}
	from := 0
	for _, i := range append(at, len(c.body)) {
		_, _ = w.Write(c.body[from:i])
		w.(http.Flusher).Flush()
		from = i
	}
}

// counter is the service behind all tools. It answers with what it was sent.
type counter struct {
	*httptest.Server
	mu  sync.Mutex // guards ran
	ran []ran
}

type ran struct{ tool, arguments string }

func newCounter(t *testing.T) *counter {
	c := &counter{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a request that breaks is missed in the count
		c.mu.Lock()
		c.ran = append(c.ran, ran{strings.TrimPrefix(r.URL.Path, "/"), canonical(string(body))})
		c.mu.Unlock()
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintf(w, "ran %s with %s", r.URL.Path, body)
	}))
	t.Cleanup(c.Close)
	return c
}

// take gives what ran since, in a fixed order.
func (c *counter) take() []ran {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.ran
	c.ran = nil
	return sorted(out)
}

func sorted(list []ran) []ran {
	slices.SortFunc(list, func(a, b ran) int { return strings.Compare(a.tool+"\x00"+a.arguments, b.tool+"\x00"+b.arguments) })
	return list
}

// canonical is JSON in one spelling; what is no JSON stays as it is.
func canonical(s string) string {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	b, _ := json.Marshal(v) // it was read from JSON
	return string(b)
}

// offer adds a tool for each name that the recording calls, and gives what
// takes them away.
func (c *client) offer(k *counter, calls []recordedCall) (remove func()) {
	c.t.Helper()
	var ids, names []string
	for _, call := range calls {
		if !regexp.MustCompile(`^[a-z0-9_-]{1,64}$`).MatchString(call.Name) || slices.Contains(names, call.Name) {
			continue
		}
		names = append(names, call.Name)
		parameters, body := describe(call.Arguments)
		made := c.want(201, "POST", "/api/v1/tools", map[string]any{"slug": call.Name, "label": call.Name, "description": "Counts.",
			"method": "POST", "url": k.URL + "/" + call.Name, "body": body, "parameters": parameters})
		ids = append(ids, text(made["id"]))
	}
	return func() {
		for _, id := range ids {
			c.want(204, "DELETE", "/api/v1/tools/"+id, nil)
		}
	}
}

// describe makes the parameters of a tool that takes such arguments, and the
// template that sends them as they are. Broken arguments are those of a command.
func describe(arguments string) (parameters []map[string]any, body string) {
	given := map[string]any{}
	if json.Unmarshal([]byte(arguments), &given) != nil {
		given = map[string]any{"command": ""}
	}
	var parts []string
	for name, v := range given {
		typ, hole := "string", `"{{`+name+`}}"`
		if _, number := v.(float64); number {
			typ, hole = "integer", `{{`+name+`}}`
		}
		parameters = append(parameters, map[string]any{"name": name, "type": typ, "required": true})
		parts = append(parts, `"`+name+`":`+hole)
	}
	return parameters, "{" + strings.Join(parts, ",") + "}"
}

// TestRecordedCallsRun plays each reply of the corpus that calls tools, with
// tools of those names: what is whole runs once, with the arguments that were
// sent; what is not never runs; and the model is told what became of each.
func TestRecordedCallsRun(t *testing.T) {
	cases := recordedCalls(t)
	playing := make(chan *recorded, 1) // what the next request is answered with
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		select {
		case c := <-playing:
			c.play(w)
		default:
			says(w, "That was it.")
			ends(w)
		}
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.org", true)
	ann.connect(e, "")
	model := text(ann.want(200, "GET", "/api/v1/models", nil)["items"].([]any)[0].(map[string]any)["id"])
	ann.want(200, "PATCH", "/api/v1/models/"+model, map[string]any{"tools": true, "context_length": 0})
	ann.want(200, "PATCH", "/api/v1/settings", map[string]any{"fetch.private": true, "tools.ask": []string{}})
	k := newCounter(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			me := &client{t: t, url: s.url, token: ann.token, http: ann.http}
			remove := me.offer(k, c.Calls)
			defer remove()
			playing <- &c
			before := e.count()
			chat, _ := me.ask("m", "Play "+c.Name)
			log := me.whole(chat)
			e.mu.Lock()
			asked := slices.Clone(e.asked[before:])
			e.mu.Unlock()
			c.check(t, log, k.take(), asked)
		})
	}
}

// whole reads a chat up to the end of its reply.
func (c *client) whole(chat string) (log []events.Envelope) {
	c.t.Helper()
	c.readEvents(chat, func(env events.Envelope) bool {
		log = append(log, env)
		return env.Type != "reply.finished"
	})
	return log
}

// payloads gives the events of one type.
func payloads[P events.Payload](t *testing.T, log []events.Envelope) (out []P) {
	t.Helper()
	var p P
	for _, env := range log {
		if env.Type == p.EventType() {
			var one P
			must(t, json.Unmarshal(env.Data, &one))
			out = append(out, one)
		}
	}
	return out
}

// check compares what happened with what the recording says.
func (c *recorded) check(t *testing.T, log []events.Envelope, got []ran, asked [][]byte) {
	t.Helper()
	called := payloads[events.ToolCalled](t, log)
	want, ok := c.choose(called)
	if !ok {
		t.Fatalf("recorded as %+v, want %+v", called, c.Calls)
	}
	cut := c.Error != nil || c.Finish != nil && *c.Finish == "length"
	var expect []ran
	status := map[string]string{}
	for _, p := range payloads[events.ToolFinished](t, log) {
		if status[p.Call] != "" {
			t.Errorf("call %q ended twice", p.Call)
		}
		status[p.Call] = p.Status
	}
	var begun []string
	for i, w := range want {
		runs := w.Valid && !cut
		if runs {
			expect, begun = append(expect, ran{w.Name, canonical(w.Arguments)}), append(begun, called[i].Call)
		}
		if got := status[called[i].Call]; runs != (got == events.ToolOK) || got == "" {
			t.Errorf("call %d of %s ended %q", i, w.Name, got)
		}
	}
	if !reflect.DeepEqual(got, sorted(expect)) {
		t.Errorf("ran %q, want %q", got, expect)
	}
	var started []string
	for _, p := range payloads[events.ToolStarted](t, log) {
		started = append(started, p.Call)
	}
	slices.Sort(started)
	if slices.Sort(begun); !slices.Equal(started, begun) {
		t.Errorf("started %q, want %q", started, begun)
	}
	end := payloads[events.ReplyFinished](t, log)
	if wanted := map[bool]string{true: events.Failed, false: events.Complete}[c.Error != nil]; end[0].Status != wanted {
		t.Errorf("the reply ended %s, want %s", end[0].Status, wanted)
	}
	c.told(t, called, want, cut, asked)
}

// choose gives the outcome of the corpus that was recorded.
func (c *recorded) choose(called []events.ToolCalled) ([]recordedCall, bool) {
	for _, list := range append([][]recordedCall{c.Calls}, c.AlsoOK.Calls...) {
		fits := len(list) == len(called)
		for i := 0; fits && i < len(list); i++ {
			p, w := called[i], list[i]
			fits = p.Index == i && p.Call != "" && (w.ID == "*" || w.ID == p.Call) && w.Name == p.Name &&
				(!w.Valid || canonical(w.Arguments) == canonical(string(p.Arguments)))
		}
		if fits {
			return list, true
		}
	}
	return nil, false
}

// sentMessage is a turn of a request.
type sentMessage struct {
	Role, Content string
	ToolCallID    string `json:"tool_call_id"`
	ToolCalls     []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// told looks at the request after the calls: each has its own result, by id and
// in their order.
func (c *recorded) told(t *testing.T, called []events.ToolCalled, want []recordedCall, cut bool, asked [][]byte) {
	t.Helper()
	if requests := map[bool]int{true: 1, false: 2}[cut]; len(asked) != requests {
		t.Fatalf("%d requests, want %d", len(asked), requests)
	}
	if cut {
		return
	}
	var req struct{ Messages []sentMessage }
	must(t, json.Unmarshal(asked[1], &req))
	at := slices.IndexFunc(req.Messages, func(m sentMessage) bool { return len(m.ToolCalls) > 0 })
	if at < 0 || len(req.Messages) != at+1+len(called) || len(req.Messages[at].ToolCalls) != len(called) {
		t.Fatalf("the next request has %+v", req.Messages)
	}
	for i, p := range called {
		turn, result := req.Messages[at].ToolCalls[i], req.Messages[at+1+i]
		if turn.ID != p.Call || turn.Function.Name != p.Name || result.Role != "tool" || result.ToolCallID != p.Call {
			t.Errorf("call %d goes back as %+v with %+v", i, turn, result)
		}
		if !want[i].Valid {
			continue
		}
		_, sent, found := strings.Cut(result.Content, "ran /"+p.Name+" with ")
		if sent, _, _ = strings.Cut(sent, "\n"); !found || canonical(sent) != canonical(want[i].Arguments) || canonical(turn.Function.Arguments) != canonical(want[i].Arguments) {
			t.Errorf("call %d is told %q", i, result.Content)
		}
	}
}
