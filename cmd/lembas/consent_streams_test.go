package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"lembas/events"
)

// written is a reply with one call of look, as an endpoint would send it. The
// nonce has eight bytes.
func written(nonce string) []string {
	return []string{
		`data: {"choices":[{"delta":{"content":"So far"}}]}` + "\n\n",
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":""}}]}}]}` + "\n\n",
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"nonce\":"}}]}}]}` + "\n\n",
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"` + nonce + `\"}"}}]}}]}` + "\n\n",
		`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n",
		"data: [DONE]\n\n",
	}
}

// TestACallThatIsCutNeverRuns: a reply is cut at every byte of its call (every
// fifth without LEMBAS_TORTURE). The call runs when the model had finished, and
// never before, although nobody would be asked (F31).
func TestACallThatIsCutNeverRuns(t *testing.T) {
	d := newDesk(t)
	d.ask = func(w http.ResponseWriter, _ *http.Request, a *deskRequest) bool {
		p, behind := a.turn()
		at, err := strconv.Atoi(strings.TrimPrefix(p.Note, "cut-"))
		if err != nil || behind > 0 {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Join(written(p.Note), "")[:at])
		w.(http.Flusher).Flush()
		if at%2 == 1 {
			panic(http.ErrAbortHandler) // else it ends as if that were all
		}
		return true
	}
	parts := written("cut-0000")
	first, whole := len(parts[0]), len(strings.Join(parts, ""))
	finished := whole - len(parts[5])
	step := 5
	if os.Getenv("LEMBAS_TORTURE") != "" {
		step = 1
	}
	inWorkers((whole-first)/step+1, func(i int) {
		at := first + i*step
		note := fmt.Sprintf("cut-%04d", at)
		chat, reply := d.begin(plan{Note: note})
		status, n := d.ann.awaitEnd(chat, reply), d.tool.count(note)
		got := d.ann.transcript(chat).last()
		switch {
		case at < finished-2: // of the line that says so, all but its end
			if status != events.Failed || n != 0 || got.Error == nil || !strings.HasPrefix(got.Content, "So far") {
				t.Errorf("cut at %d of %d: %s, ran %d times: %+v", at, whole, status, n, got)
			}
			for _, k := range got.Tools {
				if k["status"] != events.ToolRefused {
					t.Errorf("cut at %d: %v", at, k)
				}
			}
		case at >= finished && at%2 == 0 || at == whole:
			if status != events.Complete || n != 1 {
				t.Errorf("cut at %d of %d: %s, ran %d times: %+v", at, whole, status, n, got)
			}
		case n > 1 || n == 1 && status != events.Complete:
			t.Errorf("cut at %d of %d: %s, ran %d times", at, whole, status, n)
		}
	})
}

// TestCallsThatEndInTrouble: what follows a call that looks whole decides: an
// error, garbage, or a reply that was cut for its length runs nothing (F31, F32).
func TestCallsThatEndInTrouble(t *testing.T) {
	d := newDesk(t)
	tails := map[string]string{
		"nothing":        "",
		"an error":       `data: {"error":{"message":"out of credit"}}` + "\n\n",
		"an error event": "event: error\n" + `data: {"message":"gone"}` + "\n\n",
		"garbage":        "data: {]\n\n",
		"a page":         "<!doctype html><h1>Sign in</h1>\n\n",
		"too long":       `data: {"choices":[{"delta":{},"finish_reason":"length"}]}` + "\n\ndata: [DONE]\n\n",
		"filtered":       `data: {"choices":[{"delta":{},"finish_reason":"content_filter"}]}` + "\n\ndata: [DONE]\n\n",
	}
	d.ask = func(w http.ResponseWriter, _ *http.Request, a *deskRequest) bool {
		p, behind := a.turn()
		if behind > 0 {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Join(written(p.Note)[:4], "")+tails[p.Note])
		return true
	}
	for name := range tails {
		chat, reply := d.begin(plan{Note: name})
		status, got := d.ann.awaitEnd(chat, reply), d.ann.transcript(chat).last()
		if n := d.tool.count(name); n != 0 || len(got.Tools) > 1 || len(got.Tools) == 1 && got.Tools[0]["status"] != events.ToolRefused {
			t.Errorf("%s: ran %d times, %s, %v", name, n, status, got.Tools)
		}
	}
}

// TestCallsWithOneIndexAndOneName: each call runs once, and each result goes with
// the id of the call whose arguments it had (F34).
func TestCallsWithOneIndexAndOneName(t *testing.T) {
	fragment := func(index int, id, name, args string) string {
		f := map[string]any{"index": index, "function": map[string]any{"name": name, "arguments": args}}
		if id != "" {
			f["id"] = id
		}
		b, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": map[string]any{"tool_calls": []any{f}}}}})
		return "data: " + string(b) + "\n\n"
	}
	whole := func(nonce string) string { return fmt.Sprintf(`{"nonce":%q}`, nonce) }
	for name, tc := range map[string]struct {
		stream string
		runs   []string
	}{
		"two of one tool":   {fragment(0, "a", "look", whole("1")) + fragment(1, "b", "look", whole("2")), []string{"1", "2"}},
		"the same twice":    {fragment(0, "a", "look", whole("3")) + fragment(1, "b", "look", whole("3 again")), []string{"3", "3 again"}},
		"out of order":      {fragment(1, "b", "look", `{"nonce":`) + fragment(0, "a", "look", `{"nonce":`) + fragment(1, "", "", `"5"}`) + fragment(0, "", "", `"4"}`), []string{"4", "5"}},
		"one index":         {fragment(0, "a", "look", whole("6")) + fragment(0, "b", "look", whole("7")), []string{"6", "7"}},
		"one index and id":  {fragment(0, "a", "look", `{"nonce":`) + fragment(0, "a", "look", `"8"}`), []string{"8"}},
		"one id, two calls": {fragment(0, "a", "look", whole("9")) + fragment(1, "a", "look", whole("10")), []string{"9", "10"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.ask = func(w http.ResponseWriter, _ *http.Request, a *deskRequest) bool {
				if _, behind := a.turn(); behind > 0 {
					return false
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, tc.stream+`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
				return true
			}
			chat, reply := d.begin(plan{Note: "paired"})
			if status := d.ann.awaitEnd(chat, reply); status != events.Complete {
				t.Fatalf("ended %s: %+v", status, d.ann.transcript(chat).last())
			}
			for _, nonce := range tc.runs {
				if d.tool.count(nonce) != 1 {
					t.Errorf("%q ran %d times: %v", nonce, d.tool.count(nonce), d.tool.ran())
				}
			}
			if d.tool.total() != len(tc.runs) {
				t.Errorf("ran %v", d.tool.ran())
			}
			var a deskRequest
			must(t, json.Unmarshal(d.e.body(d.e.count()), &a))
			args, results := map[string]string{}, 0
			for _, m := range a.Messages {
				for _, k := range m.ToolCalls {
					var in struct{ Nonce string }
					must(t, json.Unmarshal([]byte(k.Function.Arguments), &in))
					if args[k.ID] != "" {
						t.Errorf("two calls go by the id %s", k.ID)
					}
					args[k.ID] = in.Nonce
				}
				if m.Role == "tool" {
					results++
					if nonce := args[m.ToolCallID]; nonce == "" || !strings.HasSuffix(text(m.Content), "did "+nonce) {
						t.Errorf("the call %s for %q has the result %q", m.ToolCallID, nonce, m.Content)
					}
				}
			}
			if results != len(tc.runs) {
				t.Errorf("%d results, want %d", results, len(tc.runs))
			}
		})
	}
}

// TestCallsWithoutEnd: a model that calls for ever, also when no tool is offered
// any more, comes to an end with words (F35).
func TestCallsWithoutEnd(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		t.Run(fmt.Sprint("stubborn ", stubborn), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.ann.want(200, "PATCH", "/api/v1/settings", map[string]any{"limits.rounds": 5})
			d.ask = func(w http.ResponseWriter, _ *http.Request, a *deskRequest) bool {
				_, behind := a.turn()
				if len(a.Tools) == 0 && !stubborn {
					return false
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, strings.Join(written(fmt.Sprintf("end-%04d", behind)), ""))
				return true
			}
			chat, reply := d.begin(plan{Note: "endless"})
			status, got := d.ann.awaitEnd(chat, reply), d.ann.transcript(chat).last()
			if d.tool.total() > 5 || d.e.count() > 8 {
				t.Errorf("ran %d calls, asked %d times", d.tool.total(), d.e.count())
			}
			if status != events.Complete || got.Content == "" || !stubborn && !strings.HasSuffix(got.Content, "Done.") {
				t.Errorf("%s: %q, %+v", status, got.Content, got.Error)
			}
		})
	}
}

// TestStopWithinACall: an endpoint that hangs in the middle of a call is left at
// once, and the call does not run (F30).
func TestStopWithinACall(t *testing.T) {
	d := newDesk(t)
	left := make(chan struct{})
	d.ask = func(w http.ResponseWriter, r *http.Request, a *deskRequest) bool {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Join(written("hangs--1")[:4], ""))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
		return true
	}
	chat, reply := d.begin(plan{Note: "hangs"})
	d.ann.until(chat, "reply.chunk")
	d.ann.want(202, "POST", "/api/v1/chats/"+chat+"/stop", nil)
	<-left
	if status := d.ann.awaitEnd(chat, reply); status != events.Stopped || d.tool.total() != 0 || d.ann.transcript(chat).last().Content != "So far" {
		t.Errorf("%s, ran %v", status, d.tool.ran())
	}
}
