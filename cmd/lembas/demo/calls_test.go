package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"lembas/commands/llm"
)

// next is what the demo says to a conversation, with tools of those names.
func next(t *testing.T, names []string, messages ...llm.Message) llm.Result {
	t.Helper()
	var list []llm.Tool
	for _, n := range names {
		list = append(list, llm.Tool{Name: n, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	raw, err := llm.Request{Model: "demo-chat", Stream: true, Tools: list, Messages: messages}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	r, err := start(t, Options{Pace: -1}).Complete(t.Context(), raw)
	if err != nil || r.Err != nil {
		t.Fatalf("%v, %+v", err, r.Err)
	}
	return r
}

func user(s string) llm.Message { return llm.Message{Role: "user", Content: s} }

func called(r llm.Result) (names []string) {
	for _, c := range r.Runnable() {
		names = append(names, c.Name)
	}
	return names
}

var all = []string{"fetch", "ask_user", "demo_send_raven", "demo_weather", "demo_count_to", "demo_saga", "demo_picture", "demo_cross_bridge", "read_output"}

// TestCalls: each word calls what was offered, several words call together.
func TestCalls(t *testing.T) {
	for prompt, want := range map[string]string{
		"use your tools":   "demo_send_raven",
		"a card":           "demo_send_raven demo_weather demo_count_to",
		"questions":        "ask_user",
		"fetch a picture":  "demo_picture fetch",
		"output":           "demo_saga",
		"broken":           "demo_cross_bridge",
		"loop":             "demo_weather",
		"tools, questions": "demo_send_raven ask_user",
		"nothing of it":    "",
	} {
		r := next(t, all, user(prompt))
		if got := strings.Join(called(r), " "); got != want {
			t.Errorf("%q calls %q, want %q", prompt, got, want)
		}
		var ids []string
		for _, c := range r.Calls {
			if !json.Valid([]byte(c.Arguments)) || slices.Contains(ids, c.ID) {
				t.Errorf("%q: call %+v", prompt, c)
			}
			ids = append(ids, c.ID)
		}
	}
	if r := next(t, []string{"send_raven"}, user("a card")); strings.Join(called(r), " ") != "send_raven" {
		t.Errorf("of what was offered it calls %q", called(r))
	}
	if r := next(t, []string{"fetch"}, user("a card")); len(r.Calls) > 0 || !strings.Contains(r.Content, "`send_raven`, `weather`, `count_to`") {
		t.Errorf("without the tools it says %q", r.Content)
	}
}

// after is a conversation after one call with that result.
func after(prompt, name, output string, more ...llm.Message) []llm.Message {
	return append([]llm.Message{user("earlier"), {Role: "assistant", Content: "yes"}, user(prompt),
		{Role: "assistant", ToolCalls: []llm.Call{{ID: "c1", Name: name, Arguments: "{}"}}}, {Role: "tool", ToolCallID: "c1", Content: output}}, more...)
}

// TestAfterCalls: the last answer quotes; only a loop and a long output go on.
func TestAfterCalls(t *testing.T) {
	note := user("[Note from the system, not from the person] The same calls were made again and again. No more tools are available.")
	for name, c := range map[string]struct {
		messages      []llm.Message
		tools         []string
		calls, quotes string
	}{
		"a result":             {after("tools", "demo_send_raven", "Raven 1\nflies"), all, "", "`demo_send_raven`\n\n> Raven 1 flies"},
		"a denial":             {after("card", "demo_weather", "The person denied this. They said: no"), all, "", "They said: no"},
		"no word":              {after("hello", "demo_weather", "clear"), all, "", "> clear"},
		"a loop":               {after("loop", "demo_weather", "clear"), all, "demo_weather", ""},
		"a loop without tools": {after("loop", "demo_weather", "clear", note), nil, "", "> clear"},
		"a loop that is told":  {after("loop", "demo_weather", "clear", note), all, "", "> clear"},
		"a long output":        {after("output", "demo_saga", strings.Repeat("saga ", 5000)), all, "read_output", ""},
		"a short one":          {after("output", "demo_saga", "short"), all, "", "> short"},
		"a turn between":       {after("loop", "demo_weather", "clear", user("a picture instead")), all, "demo_picture", ""},
		"a turn and a note":    {after("loop", "demo_weather", "clear", user("thanks\n\n"+note.Content)), nil, "", "“thanks”"},
	} {
		t.Run(name, func(t *testing.T) {
			r := next(t, c.tools, c.messages...)
			if got := strings.Join(called(r), " "); got != c.calls || !strings.Contains(r.Content, c.quotes) {
				t.Errorf("it calls %q and says %q", got, r.Content)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	r := next(t, nil, user("fail with tools"), llm.Message{Role: "assistant", Content: "x"}, user("Summarise the conversation so far for yourself. Do not call tools."))
	if len(r.Calls) > 0 || !strings.Contains(r.Content, "“fail with tools”") || !strings.HasPrefix(r.Content, "This summary is scripted") {
		t.Errorf("got %+v", r)
	}
}
