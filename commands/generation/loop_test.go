package generation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lembas/commands"
	"lembas/events"
	"lembas/projections/transcript"
)

func TestAReplyFromRequestToEnd(t *testing.T) {
	w := newWorld(t, func(_ int, rw http.ResponseWriter, _ *http.Request) { stream(rw, "Hello ", "from ", "here.") })
	c := w.chat("Say hello")
	must(t, w.handle(t.Context(), c.Chat))
	want := []string{"chat.created", "message.submitted", "reply.requested", "reply.started", "round.started", "reply.chunk", "round.finished", "reply.finished"}
	if got := w.types(c.Chat); !reflect.DeepEqual(got, want) {
		t.Fatalf("events %v", got)
	}
	r := w.reply(c.Chat, c.Reply)
	if r.Content() != "Hello from here." || r.Status != events.Complete {
		t.Errorf("reply %q, %s", r.Content(), r.Status)
	}
	m := r.Metrics
	if m.Prompt != 7 || m.Completion != 3 || m.Estimated || m.Rounds != 1 || m.FirstMS == nil || m.Context == nil || *m.Context != 0.7 {
		t.Errorf("metrics %+v", m)
	}
	started, err := events.Decode(&[]events.Envelope{w.last(c.Chat, "round.started")}[0])
	must(t, err)
	var sent map[string]any
	must(t, json.Unmarshal(started.(events.RoundStarted).Request, &sent))
	if !reflect.DeepEqual(sent, w.requests()[0]) {
		t.Errorf("the log has the request %v, the endpoint got %v", sent, w.requests()[0])
	}
	for _, e := range w.events(c.Chat) {
		if strings.Contains(string(e.Data), "sk-secret-key") {
			t.Errorf("the key is in %s", e.Type)
		}
	}
}

func TestChunksKeepEachDeltasPlace(t *testing.T) {
	w := newWorld(t, func(_ int, rw http.ResponseWriter, _ *http.Request) { stream(rw, "a", "bcd", "é", "fg") })
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	var text string
	var starts []int64
	for _, e := range w.events(c.Chat) {
		p, err := events.Decode(&e)
		must(t, err)
		if p, ok := p.(events.ReplyChunk); ok {
			for _, cut := range p.Cuts {
				starts = append(starts, int64(len(text))+cut[0])
			}
			text += p.Text
		}
	}
	if text != "abcdéfg" || !reflect.DeepEqual(starts, []int64{0, 1, 4, 6}) {
		t.Errorf("text %q, deltas begin at %v", text, starts)
	}
}

func TestStopKeepsWhatArrivedAndTheQueue(t *testing.T) {
	w := newWorld(t, func(_ int, rw http.ResponseWriter, r *http.Request) {
		piece(rw, "The first part")
		<-r.Context().Done()
	})
	c := w.chat("x")
	done := make(chan error, 1)
	go func() { done <- w.handle(context.Background(), c.Chat) }()
	w.until(c.Chat, ofType("reply.chunk"))
	_, _, err := w.service.SubmitMessage(t.Context(), w.ann, c.Chat, "next")
	must(t, err)
	_, err = w.service.Stop(t.Context(), w.ann, c.Chat)
	must(t, err)
	must(t, <-done)
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Stopped || r.Content() != "The first part" {
		t.Errorf("%s with %q", r.Status, r.Content())
	}
	must(t, w.service.WithChat(t.Context(), c.Chat, func(c *transcript.Chat) error {
		if len(c.Queue) != 1 || c.Open() != nil {
			t.Errorf("queue %v, open %v", c.Queue, c.Open())
		}
		return nil
	}))
}

func TestStopWithoutALoopEndsTheReply(t *testing.T) {
	w := newWorld(t, nil)
	c := w.chat("x")
	_, err := w.service.Stop(t.Context(), w.ann, c.Chat)
	must(t, err)
	must(t, w.handle(t.Context(), c.Chat)) // the redelivery finds nothing to do
	if r := w.reply(c.Chat, c.Reply); r.Status != events.Stopped {
		t.Errorf("status %s", r.Status)
	}
	if n := len(w.requests()); n != 0 {
		t.Errorf("the endpoint was asked %d times", n)
	}
}

func TestAQueuedTurnIsDeliveredWhenTheReplyEndsWell(t *testing.T) {
	release := make(chan struct{})
	w := newWorld(t, func(n int, rw http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			piece(rw, "one")
			<-release
		}
		stream(rw, "done")
	})
	c := w.chat("first")
	done := make(chan error, 1)
	go func() { done <- w.handle(context.Background(), c.Chat) }()
	w.until(c.Chat, ofType("reply.chunk"))
	q, _, err := w.service.SubmitMessage(t.Context(), w.ann, c.Chat, "second")
	must(t, err)
	if !q.Queued {
		t.Fatal("the turn was not queued")
	}
	close(release)
	must(t, <-done)
	must(t, w.handle(t.Context(), c.Chat))
	got := w.requests()[1]["messages"].([]any)
	want := []any{
		map[string]any{"role": "user", "content": "first"},
		map[string]any{"role": "assistant", "content": "onedone"},
		map[string]any{"role": "user", "content": "second"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the second request has %v", got)
	}
	if first := w.requests()[0]["messages"].([]any); len(first) != 1 {
		t.Errorf("the queued turn was in a request before it was delivered: %v", first)
	}
}

func TestFailureLeavesTheQueueAndTheText(t *testing.T) {
	w := newWorld(t, func(_ int, rw http.ResponseWriter, _ *http.Request) {
		piece(rw, "half an ")
		_, _ = fmt.Fprint(rw, `data: {"error":{"message":"out of <b>memory</b>"}}`+"\n\n")
	})
	c := w.chat("x")
	_, _, err := w.service.SubmitMessage(t.Context(), w.ann, c.Chat, "next")
	must(t, err)
	must(t, w.handle(t.Context(), c.Chat))
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Failed || r.Error == nil || r.Error.Kind != "stream" || !strings.Contains(r.Error.Message, "memory") || r.Content() != "half an " {
		t.Errorf("%s, %+v, %q", r.Status, r.Error, r.Content())
	}
	if slices.Contains(w.types(c.Chat), "message.delivered") {
		t.Error("the queue was drained after a failure")
	}
}

func TestARoundInFlightIsSupersededAfterARestart(t *testing.T) {
	w := newWorld(t, func(n int, rw http.ResponseWriter, r *http.Request) {
		if n == 1 {
			piece(rw, "partial")
			<-r.Context().Done()
			return
		}
		stream(rw, "whole")
	})
	c := w.chat("x")
	ctx, down := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.handle(ctx, c.Chat) }()
	w.until(c.Chat, ofType("reply.chunk"))
	down()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("a shutdown must leave the message unacked, got %v", err)
	}
	must(t, w.handle(t.Context(), c.Chat))
	r := w.reply(c.Chat, c.Reply)
	if r.Content() != "whole" || r.Status != events.Complete || len(r.Rounds) != 2 || !r.Rounds[0].Superseded || r.Rounds[0].Content.String() != "partial" {
		t.Errorf("%s, %q, rounds %d", r.Status, r.Content(), len(r.Rounds))
	}
	if len(w.requests()) != 2 {
		t.Errorf("asked %d times", len(w.requests()))
	}
}

func TestAFinishedRoundIsNeverPaidForTwice(t *testing.T) {
	w := newWorld(t, nil)
	c := w.chat("x")
	stream := events.ChatStream(c.Chat)
	for _, p := range []events.Payload{
		events.ReplyStarted{Reply: c.Reply},
		events.RoundStarted{Reply: c.Reply, Round: 1, Request: json.RawMessage("{}")},
		events.ReplyChunk{Reply: c.Reply, Round: 1, Kind: events.ChunkContent, Text: "all of it"},
		events.RoundFinished{Reply: c.Reply, Round: 1, FinishReason: "stop"},
	} {
		_, err := w.log.Append(t.Context(), events.Batch{Actor: events.Actor{Kind: events.Model, ID: "m"}, Parts: []events.Part{{Stream: stream, Events: []events.New{{Payload: p}}}}})
		must(t, err)
	}
	must(t, w.handle(t.Context(), c.Chat))
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Complete || r.Content() != "all of it" || len(w.requests()) != 0 {
		t.Errorf("%s, %q, asked %d times", r.Status, r.Content(), len(w.requests()))
	}
}

func TestAReplyThatNeverGetsOnIsGivenUp(t *testing.T) {
	asked := make(chan struct{}, 10)
	w := newWorld(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	c := w.chat("x")
	for range maxResumes + 1 {
		ctx, down := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.handle(ctx, c.Chat) }()
		<-asked
		down()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	must(t, w.handle(t.Context(), c.Chat))
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Failed || r.Why != "resumed" {
		t.Errorf("%s (%s) after %d requests", r.Status, r.Why, len(w.requests()))
	}
}

func TestCallsNobodyOfferedAreRecordedAndRefused(t *testing.T) {
	w := newWorld(t, func(n int, rw http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			rw.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(rw, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"k1","function":{"name":"get_weather","arguments":"{\"city\":\"Bree\"}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
			return
		}
		stream(rw, "I cannot look.")
	})
	c := w.chat("weather?")
	must(t, w.handle(t.Context(), c.Chat))
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Complete || len(r.Rounds) != 2 || len(r.Rounds[0].Calls) != 1 || r.Content() != "I cannot look." {
		t.Fatalf("%s, %d rounds, %q", r.Status, len(r.Rounds), r.Content())
	}
	k := r.Rounds[0].Calls[0]
	if k.Name != "get_weather" || k.Status != events.ToolRefused || string(k.Arguments) != `{"city":"Bree"}` {
		t.Errorf("call %+v", k)
	}
	turns := w.requests()[1]["messages"].([]any)
	if last := turns[len(turns)-1].(map[string]any); last["role"] != "tool" || last["tool_call_id"] != "k1" || !strings.Contains(last["content"].(string), "not offered") {
		t.Errorf("the model was told %v", last)
	}
	if slices.Contains(w.types(c.Chat), "tool.started") {
		t.Error("a tool was started")
	}
}

func TestAModelThatOnlyCallsToolsComesToAnEnd(t *testing.T) {
	w := newWorld(t, func(_ int, rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(rw, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"k","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`+"\n\n")
	})
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	if r := w.reply(c.Chat, c.Reply); r.Status != events.Complete || r.Why != "refused_calls" || len(w.requests()) != maxRefused+1 {
		t.Errorf("%s (%s) after %d requests", r.Status, r.Why, len(w.requests()))
	}
}

func TestRetriesAreVisible(t *testing.T) {
	w := newWorld(t, func(n int, rw http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			rw.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprint(rw, `{"error":{"message":"loading model"}}`)
			return
		}
		stream(rw, "ok")
	})
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Complete || len(r.Rounds[0].Retries) != 1 || r.Rounds[0].Retries[0].Error.Status != 503 {
		t.Errorf("%s, retries %+v", r.Status, r.Rounds[0].Retries)
	}
}

func TestALoneClosingTagMovesTheTextToReasoning(t *testing.T) {
	w := newWorld(t, func(_ int, rw http.ResponseWriter, _ *http.Request) { stream(rw, "let me see", "</think>", "42") })
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	if r := w.reply(c.Chat, c.Reply); r.Content() != "42" || r.Reasoning() != "let me see" {
		t.Errorf("content %q, reasoning %q", r.Content(), r.Reasoning())
	}
}

func TestOneReplyHasOneLoop(t *testing.T) {
	release := make(chan struct{})
	w := newWorld(t, func(_ int, rw http.ResponseWriter, _ *http.Request) {
		piece(rw, "x")
		<-release
		stream(rw, "y")
	})
	c := w.chat("x")
	done := make(chan error, 1)
	go func() { done <- w.handle(context.Background(), c.Chat) }()
	w.until(c.Chat, ofType("reply.chunk"))
	again := make(chan error, 1)
	go func() { again <- w.handle(context.Background(), c.Chat) }() // a second delivery while the first works
	select {
	case err := <-again:
		t.Errorf("the second delivery was acknowledged before the reply had ended: %v", err)
	default:
	}
	close(release)
	must(t, <-again)
	if r := w.reply(c.Chat, c.Reply); !r.Ended() {
		t.Error("the second delivery was acknowledged before the reply had ended")
	}
	must(t, <-done)
	if len(w.requests()) != 1 {
		t.Errorf("asked %d times", len(w.requests()))
	}
}

func TestAModelThatIsGoneFailsInWords(t *testing.T) {
	w := newWorld(t, nil)
	c := w.chat("x")
	all, err := w.service.Connections(t.Context())
	must(t, err)
	_, err = w.service.RemoveConnection(t.Context(), w.ann, all[0].ID)
	must(t, err)
	must(t, w.handle(t.Context(), c.Chat))
	if r := w.reply(c.Chat, c.Reply); r.Status != events.Failed || !strings.Contains(r.Error.Message, "no longer available") {
		t.Errorf("%s, %+v", r.Status, r.Error)
	}
}

func TestWhatGoesOut(t *testing.T) {
	w := newWorld(t, func(_ int, rw http.ResponseWriter, _ *http.Request) { stream(rw, "ok") })
	models, err := w.service.Models(t.Context(), true)
	must(t, err)
	params, prompt := map[string]float64{"temperature": 0.5, "top_k": 40, "max_tokens": 100}, "Be brief."
	_, err = w.service.ChangeModel(t.Context(), w.ann, models[0].ID, commands.PatchModel{Params: &params, SystemPrompt: &prompt})
	must(t, err)
	ask := func(effort *string) map[string]any {
		c, _, err := w.service.CreateChat(t.Context(), w.ann, commands.CreateChat{Text: "x", Effort: effort})
		must(t, err)
		must(t, w.handle(t.Context(), c.Chat))
		all := w.requests()
		return all[len(all)-1]
	}
	plain := ask(nil)
	for _, name := range []string{"reasoning_effort", "chat_template_kwargs", "top_k", "tools"} {
		if _, there := plain[name]; there {
			t.Errorf("%s went out although nobody opted in", name)
		}
	}
	if plain["temperature"] != 0.5 || plain["max_tokens"] != 100.0 {
		t.Errorf("parameters: %v", plain)
	}
	first := plain["messages"].([]any)[0].(map[string]any)
	if first["role"] != "system" || first["content"] != prompt {
		t.Errorf("first turn %v", first)
	}
	high, off := "high", "off"
	got := ask(&high)
	if got["reasoning_effort"] != "high" || got["chat_template_kwargs"].(map[string]any)["reasoning_effort"] != "high" {
		t.Errorf("effort: %v", got)
	}
	if _, there := ask(&off)["reasoning_effort"]; there {
		t.Error("off sent a level")
	}
	conns, err := w.service.Connections(t.Context())
	must(t, err)
	yes := true
	_, err = w.service.ChangeConnection(t.Context(), w.ann, conns[0].ID, commands.PatchConnection{Extensions: &yes})
	must(t, err)
	if got := ask(nil); got["top_k"] != 40.0 {
		t.Errorf("opted in, yet top_k is %v", got["top_k"])
	}
}

func TestTwoUserTurnsNeverGoOutSideBySide(t *testing.T) {
	w := newWorld(t, func(n int, rw http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		stream(rw, "ok")
	})
	c := w.chat("one")
	must(t, w.handle(t.Context(), c.Chat))
	_, _, err := w.service.SubmitMessage(t.Context(), w.ann, c.Chat, "two")
	must(t, err)
	must(t, w.handle(t.Context(), c.Chat))
	var roles []string
	for _, m := range w.requests()[1]["messages"].([]any) {
		roles = append(roles, m.(map[string]any)["role"].(string))
	}
	if !reflect.DeepEqual(roles, []string{"user", "assistant", "user"}) {
		t.Errorf("roles %v", roles)
	}
}

func TestTitles(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"quotes and marks go":           {"**\"Second breakfast\"**", "Second breakfast"},
		"thinking is stripped":          {"<think>The user wants a title</think>\nLembas baking", "Lembas baking"},
		"a label goes":                  {"Title: Long roads", "Long roads"},
		"a sentence is not a title":     {strings.Repeat("word ", 30), "What is the way?"},
		"nothing leaves the prompt":     {" ", "What is the way?"},
		"the first line of many counts": {"\n\nOne\nTwo", "One"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(n int, rw http.ResponseWriter, _ *http.Request) {
				if n == 1 {
					stream(rw, "Down the road.")
					return
				}
				stream(rw, c.answer)
			})
			chat := w.chat("What is the way?")
			must(t, w.handle(t.Context(), chat.Chat))
			env := w.last(chat.Chat, "reply.finished")
			env.Correlation = "r7"
			must(t, w.loop.Title(t.Context(), &env))
			must(t, w.service.WithChat(t.Context(), chat.Chat, func(tc *transcript.Chat) error {
				if tc.Title != c.want {
					t.Errorf("title %q, want %q", tc.Title, c.want)
				}
				return nil
			}))
			all := w.events(chat.Chat)
			if e := all[len(all)-1]; e.Type == "chat.renamed" && (e.Correlation != "r7" || e.Causation != env.Ref()) {
				t.Errorf("the title has correlation %q, causation %q", e.Correlation, e.Causation)
			}
			if _, there := w.requests()[1]["reasoning_effort"]; there {
				t.Error("the title call sent an effort")
			}
		})
	}
}

func TestAPersonsTitleIsKept(t *testing.T) {
	w := newWorld(t, func(_ int, rw http.ResponseWriter, _ *http.Request) { stream(rw, "ok") })
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	mine := "Mine"
	_, err := w.service.PatchChat(t.Context(), w.ann, c.Chat, commands.PatchChat{Title: &mine})
	must(t, err)
	env := w.last(c.Chat, "reply.finished")
	must(t, w.loop.Title(t.Context(), &env))
	if len(w.requests()) != 1 {
		t.Error("a titled chat was titled again")
	}
}

func TestWhatAnEndpointDidNotSayIsNull(t *testing.T) {
	for name, tc := range map[string]struct {
		status     int
		last, want string
	}{
		"no details":   {200, `{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`, `"finish_reason":"stop","usage":{"prompt":7,"completion":3,"cached":null,"reasoning":null},`},
		"details of 0": {200, `{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}`, `"usage":{"prompt":7,"completion":3,"cached":0,"reasoning":0},`},
		"no usage":     {200, `{"choices":[{"finish_reason":"length"}]}`, `"finish_reason":"length","usage":null,`},
		"no end":       {200, `{"choices":[{"delta":{"content":"x"}}]}`, `"finish_reason":null,"usage":null,`},
		"refused":      {400, `{"error":{"message":"no"}}`, `"finish_reason":null,"usage":null,`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(_ int, rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/event-stream")
				rw.WriteHeader(tc.status)
				_, _ = fmt.Fprint(rw, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\ndata: "+tc.last+"\n\n")
			})
			c := w.chat("x")
			must(t, w.handle(t.Context(), c.Chat))
			if got := string(w.last(c.Chat, "round.finished").Data); !strings.Contains(got, tc.want) {
				t.Errorf("recorded %s\nwithout  %s", got, tc.want)
			}
		})
	}
}

// TestAReplyWithoutWordsIsToldInWords: also one that ended well.
func TestAReplyWithoutWordsIsToldInWords(t *testing.T) {
	for status, want := range map[string]string{
		events.Complete: "(No answer was given.)",
		events.Stopped:  "(No answer was given: the reply was stopped.)",
		events.Failed:   "(No answer was given: the reply failed.)",
	} {
		if got := said(&transcript.Reply{Status: status}); got != want {
			t.Errorf("%s: %q", status, got)
		}
	}
}
