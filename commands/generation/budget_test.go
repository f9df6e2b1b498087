package generation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"lembas/commands"
	"lembas/commands/tools"
	"lembas/events"
	"lembas/projections/transcript"
)

func (w *world) set(values map[string]string) {
	w.t.Helper()
	raw := map[string]json.RawMessage{}
	for k, v := range values {
		raw[k] = json.RawMessage(v)
	}
	_, err := w.service.ChangeSettings(w.t.Context(), w.ann, raw)
	must(w.t, err)
}

// lastTurn is the last message of a request, and whether tools were offered.
func lastTurn(req map[string]any) (role, text string, offered bool) {
	turns := req["messages"].([]any)
	last := turns[len(turns)-1].(map[string]any)
	text, _ = last["content"].(string)
	_, offered = req["tools"]
	return last["role"].(string), text, offered
}

// TestABudgetEndsInAnAnswer (GEN-10): whatever is used up, tools are taken away,
// the model is asked once more, and an event says why.
func TestABudgetEndsInAnAnswer(t *testing.T) {
	n := 0
	next := func(rw http.ResponseWriter) {
		n++
		calling(rw, toolCall{fmt.Sprint("k", n), "look", fmt.Sprintf(`{"to":"%d"}`, n)})
	}
	same := func(rw http.ResponseWriter) { calling(rw, toolCall{"k", "look", `{"to":"1"}`}) }
	for name, c := range map[string]struct {
		set    map[string]string
		length int
		round  func(http.ResponseWriter)
		give   string
		asked  int // requests before the last
	}{
		"limits.rounds":           {map[string]string{"limits.rounds": "3"}, 0, next, "", 3},
		"limits.tool_output":      {map[string]string{"limits.tool_output": "1024"}, 0, next, strings.Repeat("x", 600), 2},
		"limits.context_headroom": {map[string]string{"limits.context_headroom": "0.5", "limits.compact_at": "1"}, 4000, next, strings.Repeat("x", 8000), 1},
		"repeated_calls":          {nil, 0, same, "", maxSame},
		"refused_calls":           {nil, 0, func(rw http.ResponseWriter) { calling(rw, toolCall{"k", "none", `{}`}) }, "", maxRefused},
		"limits.output_tokens": {map[string]string{"limits.output_tokens": "100"}, 0, func(rw http.ResponseWriter) {
			for range 100 {
				piece(rw, strings.Repeat("x", 100))
			}
		}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, m := withTools(t, nil)
			w.answer = func(_ int, rw http.ResponseWriter, _ *http.Request) {
				if _, _, offered := lastTurn(w.requests()[len(w.requests())-1]); !offered {
					stream(rw, "here is what I have")
					return
				}
				c.round(rw)
			}
			if c.give != "" {
				m.give = func(tools.Call) tools.Result { return tools.Result{Status: events.ToolOK, Output: c.give} }
			}
			w.context(c.length)
			w.set(c.set)
			chat := w.chat("x")
			must(t, w.handle(t.Context(), chat.Chat))
			r := w.reply(chat.Chat, chat.Reply)
			all := w.requests()
			if r.Status != events.Complete || r.Why != name || !strings.HasSuffix(r.Content(), "here is what I have") || len(all) != c.asked+1 {
				t.Fatalf("%s (%s), %d requests, %.80q", r.Status, r.Why, len(all), r.Content())
			}
			role, text, _ := lastTurn(all[len(all)-1])
			if role != "user" || !strings.Contains(text, wrapWords[name]) {
				t.Errorf("the model was asked with %s %q", role, text)
			}
			if spent := w.last(chat.Chat, "reply.budget_spent"); !strings.Contains(string(spent.Data), name) {
				t.Errorf("%s", spent.Data)
			}
		})
	}
}

// TestToolsPastTheTimeAreCut: the calls are stopped and the model answers.
func TestToolsPastTheTimeAreCut(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"a", "look", `{"to":"1"}`}), says("that is all")))
	m.slow = func(ctx context.Context, _ tools.Call) { <-ctx.Done() }
	m.give = func(tools.Call) tools.Result { return tools.Failed("cut") }
	c := w.chat("x")
	env := w.last(c.Chat, "reply.requested")
	r := w.loop.newRun(t.Context(), &env, c.Reply, "m")
	tg, err := r.target(t.Context())
	must(t, err)
	tg.wallClock = 50_000_000 // 50 ms
	must(t, r.append(nil, events.ReplyStarted{Reply: c.Reply}))
	must(t, r.rounds(r.work, tg))
	got := w.reply(c.Chat, c.Reply)
	if got.Status != events.Complete || got.Why != "limits.wall_clock" || got.Content() != "that is all" || got.Rounds[0].Calls[0].Status != events.ToolStopped {
		t.Errorf("%s (%s) %q, the call %s", got.Status, got.Why, got.Content(), got.Rounds[0].Calls[0].Status)
	}
}

// TestNoRoomAtAllStops: the one budget that ends a reply without an answer.
func TestNoRoomAtAllStops(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"a", "look", `{"to":"1"}`})))
	m.give = func(tools.Call) tools.Result {
		return tools.Result{Status: events.ToolOK, Output: strings.Repeat("x", 20_000)}
	}
	w.context(2000)
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Failed || r.Why != "limits.context_headroom" || len(w.requests()) != 1 || !strings.Contains(r.Error.Message, "no room left") {
		t.Errorf("%s (%s) %+v after %d requests", r.Status, r.Why, r.Error, len(w.requests()))
	}
}

// TestATurnIsInjectedAtARoundsEnd: word for word, as the person, one at a time,
// and never before the last round.
func TestATurnIsInjectedAtARoundsEnd(t *testing.T) {
	var chat commands.Created
	w, _ := withTools(t, nil)
	w.set(map[string]string{"limits.rounds": "3"})
	w.answer = func(n int, rw http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			for _, text := range []string{"also the west", "and the east", "and up", "and down"} {
				if _, _, err := w.service.SubmitMessage(context.Background(), w.ann, chat.Chat, text); err != nil {
					t.Error(err)
				}
			}
		}
		if n == 4 {
			stream(rw, "done")
			return
		}
		calling(rw, toolCall{fmt.Sprint("k", n), "look", fmt.Sprintf(`{"to":"%d"}`, n)})
	}
	chat = w.chat("north")
	must(t, w.handle(t.Context(), chat.Chat))
	for i, want := range map[int]string{1: "also the west", 2: "and the east"} {
		if role, text, _ := lastTurn(w.requests()[i]); role != "user" || text != want {
			t.Errorf("request %d ends with %s %q", i+1, role, text)
		}
	}
	if _, text, _ := lastTurn(w.requests()[3]); strings.Contains(text, "and up") {
		t.Errorf("a turn went into the last round: %q", text)
	}
	var queue []string
	var next string
	must(t, w.service.WithChat(t.Context(), chat.Chat, func(c *transcript.Chat) error {
		for _, q := range c.Queue {
			queue = append(queue, q.Text)
		}
		next = c.Last().Text()
		return nil
	}))
	if next != "and up" || !slices.Equal(queue, []string{"and down"}) {
		t.Errorf("the next turn is %q, %q wait", next, queue)
	}
	r := w.reply(chat.Chat, chat.Reply)
	if len(r.Rounds[0].Injected) != 1 || r.Rounds[0].Injected[0].Text != "also the west" {
		t.Errorf("the first round has %+v", r.Rounds[0].Injected)
	}
}

func plan(states ...string) events.PlanSubmitted {
	p := events.PlanSubmitted{Plan: "p", Reply: "earlier", Phases: []events.PlanPhase{{Title: "one"}}}
	for i, s := range states {
		p.Phases[0].Tasks = append(p.Phases[0].Tasks, events.PlanTask{ID: fmt.Sprint(i), Title: "t", State: s})
	}
	return p
}

func (w *world) put(chat string, list ...events.Payload) {
	w.t.Helper()
	_, err := w.log.Append(w.t.Context(), events.Batch{Actor: events.Actor{Kind: events.Model, ID: "m"}, Correlation: "c", Causation: "d",
		Parts: []events.Part{{Stream: events.ChatStream(chat), Expect: events.Any(), Events: news(list)}}})
	must(w.t, err)
}

// TestAModelIsRemindedOfItsPlan (GEN-11): at most twice in a row, the count
// begins again with a call, and giving up is recorded.
func TestAModelIsRemindedOfItsPlan(t *testing.T) {
	for name, c := range map[string]struct {
		plan   []events.Payload
		rounds []func(http.ResponseWriter)
		asked  int
		why    string
	}{
		"no plan":       {nil, []func(http.ResponseWriter){says("done")}, 1, ""},
		"all done":      {[]events.Payload{plan(events.TaskDone, events.TaskDropped)}, []func(http.ResponseWriter){says("done")}, 1, ""},
		"gives up":      {[]events.Payload{plan(events.TaskOpen)}, []func(http.ResponseWriter){says("done")}, 3, "plan_open"},
		"ticked":        {[]events.Payload{plan(events.TaskOpen), events.PlanUpdated{Tasks: []events.TaskMark{{ID: "0", State: events.TaskDone}}}}, []func(http.ResponseWriter){says("done")}, 1, ""},
		"calls between": {[]events.Payload{plan(events.TaskDoing)}, []func(http.ResponseWriter){says("a"), calls(toolCall{"k", "look", `{"to":"1"}`}), says("b")}, 5, "plan_open"},
		"plan mode":     {[]events.Payload{plan(events.TaskOpen), events.ChatModeChanged{To: "plan"}}, []func(http.ResponseWriter){says("done")}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := withTools(t, script(c.rounds...))
			chat := w.chat("x")
			if len(c.plan) > 0 {
				w.put(chat.Chat, c.plan...)
			}
			must(t, w.handle(t.Context(), chat.Chat))
			r := w.reply(chat.Chat, chat.Reply)
			if r.Status != events.Complete || r.Why != c.why || len(w.requests()) != c.asked {
				t.Errorf("%s (%s) after %d requests", r.Status, r.Why, len(w.requests()))
			}
			if c.why == "" {
				return
			}
			turns := w.requests()[len(w.requests())-1]["messages"].([]any)
			own := turns[len(turns)-2].(map[string]any)
			if role, text, _ := lastTurn(w.requests()[len(w.requests())-1]); role != "user" || text != nudgeWords || own["role"] != "assistant" || own["content"] == "" {
				t.Errorf("the reminder is %s %q after %v", role, text, own)
			}
		})
	}
}

// TestAClearedListCountsAtOnce: what is forgotten between reading the list and
// recording the calls is not used.
func TestAClearedListCountsAtOnce(t *testing.T) {
	w, m := withTools(t, answerByTurns)
	c := w.chat("x")
	w.put(c.Chat, events.ChatAllowAdded{Pattern: "send"}, events.ChatAllowAdded{Pattern: "shoot"})
	w.loop.Log = &sly{Log: w.log, chat: c.Chat}
	must(t, w.handle(t.Context(), c.Chat))
	if k := w.card(c.Chat); len(k.Items) != 2 || len(m.did()) != 0 {
		t.Errorf("the card has %d items, ran %q", len(k.Items), m.did())
	}
}

// sly clears the list of a chat just before its calls are recorded.
type sly struct {
	events.Log
	chat string
	done bool
}

func (s *sly) Append(ctx context.Context, b events.Batch) (events.Result, error) {
	called := slices.ContainsFunc(b.Parts[0].Events, func(e events.New) bool { return e.Payload.EventType() == "tool.called" })
	if called && !s.done {
		s.done = true
		_, err := s.Log.Append(ctx, events.Batch{Actor: events.Actor{Kind: events.Person, ID: "ann"}, Correlation: "c", Causation: "d",
			Parts: []events.Part{{Stream: events.ChatStream(s.chat), Expect: events.Any(), Events: news([]events.Payload{events.ChatAllowCleared{}})}}})
		if err != nil {
			return events.Result{}, err
		}
	}
	return s.Log.Append(ctx, b)
}

// TestWhatWasInjectedStaysInTheConversation: a later turn's request has what the
// person said while an earlier reply ran, where it was said.
func TestWhatWasInjectedStaysInTheConversation(t *testing.T) {
	var chat commands.Created
	w, _ := withTools(t, nil)
	w.answer = func(n int, rw http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			if _, _, err := w.service.SubmitMessage(context.Background(), w.ann, chat.Chat, "also the west"); err != nil {
				t.Error(err)
			}
			calling(rw, toolCall{"k", "look", `{"to":"1"}`})
			return
		}
		stream(rw, fmt.Sprint("answer ", n))
	}
	chat = w.chat("north")
	must(t, w.handle(t.Context(), chat.Chat))
	w.send(chat.Chat, "and now?")
	must(t, w.handle(t.Context(), chat.Chat))
	var got []string
	for _, m := range w.requests()[2]["messages"].([]any) {
		turn := m.(map[string]any)
		got = append(got, fmt.Sprint(turn["role"], " ", turn["content"]))
	}
	want := []string{"user north", "assistant (Nothing was said yet.)", "user also the west", "assistant answer 2", "user and now?"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAFailedRoundIsNoStopOfTheModel: what ended otherwise than by the model's
// will is not answered with a reminder of its plan.
func TestAFailedRoundIsNoStopOfTheModel(t *testing.T) {
	w, _ := withTools(t, func(_ int, rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, `{"error":{"message":"no such model"}}`, http.StatusBadRequest)
	})
	chat := w.chat("x")
	w.put(chat.Chat, plan(events.TaskOpen))
	must(t, w.handle(t.Context(), chat.Chat))
	if r := w.reply(chat.Chat, chat.Reply); r.Status != events.Failed || len(w.requests()) != 1 {
		t.Errorf("%s (%s) after %d requests", r.Status, r.Why, len(w.requests()))
	}
}

// TestWhatAReplyUsed: calls that ran one after the other took the time of both,
// those that ran together that of the longest; the arguments of calls are output
// that an endpoint may not report.
func TestWhatAReplyUsed(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }
	call := func(from, to int) *transcript.Call {
		return &transcript.Call{Status: events.ToolOK, Started: at(from), MS: int64(to-from) * 1000, Name: "look", Raw: strings.Repeat("x", 396)}
	}
	for name, c := range map[string]struct {
		calls []*transcript.Call
		want  time.Duration
	}{
		"none":              {nil, time.Second},
		"together":          {[]*transcript.Call{call(0, 10), call(0, 8), call(1, 9)}, 11 * time.Second},
		"behind":            {[]*transcript.Call{call(0, 10), call(10, 20), call(20, 25)}, 26 * time.Second},
		"a restart's pause": {[]*transcript.Call{call(1000, 1010), call(0, 10)}, 21 * time.Second},
		"never begun":       {[]*transcript.Call{{Status: events.ToolRefused, Name: "look"}}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var s state
			s.measure([]*transcript.Round{{Done: true, MS: 1000, Calls: c.calls}})
			if s.active != c.want {
				t.Errorf("%v, want %v", s.active, c.want)
			}
			if name == "together" && s.output != 300 {
				t.Errorf("%d tokens", s.output)
			}
		})
	}
}
