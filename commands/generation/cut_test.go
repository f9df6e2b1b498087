package generation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"lembas/commands"
	"lembas/commands/llm"
	"lembas/events"
)

// batches is a log that sees each append, and can be full.
type batches struct {
	events.Log
	seen chan []string // types of an append that was refused
	full atomic.Bool
	last atomic.Pointer[[]string] // types of the last append
}

func (b *batches) Append(ctx context.Context, batch events.Batch) (events.Result, error) {
	var types []string
	for _, p := range batch.Parts {
		for _, e := range p.Events {
			types = append(types, e.Payload.EventType())
		}
	}
	if b.full.Load() {
		select {
		case b.seen <- types:
		default:
		}
		return events.Result{}, events.ErrReadOnly
	}
	b.last.Store(&types)
	return b.Log.Append(ctx, batch)
}

func (w *world) watch() *batches {
	b := &batches{Log: w.log, seen: make(chan []string)}
	w.loop.Log = b
	return b
}

// speaksForEver is an endpoint that begins and goes on until it is left.
func speaksForEver(_ int, rw http.ResponseWriter, r *http.Request) {
	piece(rw, "The first part")
	<-r.Context().Done()
}

// TestHowAReplyWasCutIsOneAppend: a crash cannot come between the end of the
// round and the word that the person stopped it, or that its budget was spent:
// the reply would look complete, and the next queued turn would go out.
func TestHowAReplyWasCutIsOneAppend(t *testing.T) {
	for name, c := range map[string]struct {
		cut  func(*world, commands.Created)
		want []string
	}{
		"stop": {func(w *world, c commands.Created) {
			w.until(c.Chat, ofType("reply.chunk"))
			_, err := w.service.Stop(w.t.Context(), w.ann, c.Chat)
			must(w.t, err)
		}, []string{"round.finished", "reply.finished"}},
		"output": {func(*world, commands.Created) {}, []string{"round.finished", "reply.budget_spent", "reply.finished"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, speaksForEver)
			b := w.watch()
			if name == "output" {
				_, err := w.service.ChangeSettings(t.Context(), w.ann, map[string]events.RawJSON{"limits.output_tokens": events.RawJSON("1")})
				must(t, err)
			}
			chat := w.chat("x")
			done := make(chan error, 1)
			go func() { done <- w.handle(context.Background(), chat.Chat) }()
			c.cut(w, chat)
			must(t, <-done)
			if got := *b.last.Load(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("the last append has %v, want %v", got, c.want)
			}
			m := w.reply(chat.Chat, chat.Reply).Metrics
			if m == nil || m.Rounds != 1 || (name == "stop" && m.FirstMS == nil) {
				t.Errorf("metrics %+v", m)
			}
		})
	}
}

// TestAStopOnAFullDiskIsKept: it is recorded when there is room again, and the
// endpoint is not asked once more meanwhile.
func TestAStopOnAFullDiskIsKept(t *testing.T) {
	w := newWorld(t, speaksForEver)
	b := w.watch()
	c := w.chat("x")
	done := make(chan error, 1)
	go func() { done <- w.handle(context.Background(), c.Chat) }()
	w.until(c.Chat, ofType("reply.chunk"))
	b.full.Store(true)
	stopping, cancel := context.WithCancel(t.Context())
	stopped := make(chan bool, 1)
	go func() { stopped <- w.loop.StopReply(stopping, c.Reply) }()
	if got := <-b.seen; !slices.Contains(got, "reply.finished") {
		t.Errorf("the first append on the full disk has %v", got)
	}
	cancel()
	if <-stopped {
		t.Error("the stop was said to be durable")
	}
	b.full.Store(false)
	must(t, <-done)
	if r := w.reply(c.Chat, c.Reply); r.Status != events.Stopped || len(w.requests()) != 1 {
		t.Errorf("%s after %d requests", r.Status, len(w.requests()))
	}
}

// TestAFullDiskHoldsNoShutdownUp: the wait for room ends with the process.
func TestAFullDiskHoldsNoShutdownUp(t *testing.T) {
	w := newWorld(t, nil)
	b := w.watch()
	c := w.chat("x")
	b.full.Store(true)
	life, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.handle(life, c.Chat) }()
	<-b.seen
	end()
	if err := <-done; !errors.Is(err, events.ErrReadOnly) {
		t.Errorf("got %v", err)
	}
}

// TestAShutdownBeforeTheFirstRoundIsNoFailure: the message comes again.
func TestAShutdownBeforeTheFirstRoundIsNoFailure(t *testing.T) {
	w := newWorld(t, func(_ int, rw http.ResponseWriter, _ *http.Request) { stream(rw, "ok") })
	c := w.chat("x")
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.handle(gone, c.Chat); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if r := w.reply(c.Chat, c.Reply); r.Ended() {
		t.Fatalf("%s: %+v", r.Status, r.Error)
	}
	must(t, w.handle(t.Context(), c.Chat))
	if r := w.reply(c.Chat, c.Reply); r.Status != events.Complete || r.Content() != "ok" {
		t.Errorf("%s with %q", r.Status, r.Content())
	}
}

// TestACutCallIsNotAskedAgainAfterACrash: a round that ended at the length with
// calls is the last, also when the crash came before the reply's end.
func TestACutCallIsNotAskedAgainAfterACrash(t *testing.T) {
	w := newWorld(t, nil)
	c := w.chat("x")
	part := events.Part{Stream: events.ChatStream(c.Chat), Events: news([]events.Payload{
		events.ReplyStarted{Reply: c.Reply}, events.RoundStarted{Reply: c.Reply, Round: 1},
		events.ToolCalled{Reply: c.Reply, Round: 1, Call: "k", Name: "f", Arguments: events.RawJSON("{}")},
		events.ToolFinished{Reply: c.Reply, Round: 1, Call: "k", Status: events.ToolRefused},
		events.RoundFinished{Reply: c.Reply, Round: 1, FinishReason: "length"}})}
	_, err := w.log.Append(t.Context(), events.Batch{Actor: events.Actor{Kind: events.Model, ID: "m"}, Correlation: "c", Causation: "d", Parts: []events.Part{part}})
	must(t, err)
	must(t, w.handle(t.Context(), c.Chat))
	if r := w.reply(c.Chat, c.Reply); r.Status != events.Complete || r.Why != "length" || len(w.requests()) != 0 {
		t.Errorf("%s, %s after %d requests", r.Status, r.Why, len(w.requests()))
	}
}

// TestAnAnswerThatCameWholeIsKeptAtShutdown: it was paid for. Stop wins over it.
func TestAnAnswerThatCameWholeIsKeptAtShutdown(t *testing.T) {
	for cause, want := range map[error]string{context.Canceled: "round.finished", errWallTime: "round.finished", errStopped: "reply.finished"} {
		t.Run(cause.Error(), func(t *testing.T) {
			w := newWorld(t, nil)
			c := w.chat("x")
			ctx, cancel := context.WithCancelCause(t.Context())
			r := &run{loop: w.loop, chat: c.Chat, reply: c.Reply, life: t.Context(), cause: events.Batch{Actor: events.Actor{Kind: events.Model, ID: "m"}}}
			must(t, r.append(nil, events.ReplyStarted{Reply: c.Reply}, events.RoundStarted{Reply: c.Reply, Round: 1}))
			cancel(cause)
			must(t, r.settle(ctx, 1, &target{}, &offer{}, nil, llm.Result{Content: "whole", FinishReason: llm.FinishStop}, nil))
			if all := w.events(c.Chat); all[len(all)-1].Type != want {
				t.Errorf("the last event is %s", all[len(all)-1].Type)
			}
		})
	}
}

// TestAResultTooLargeIsAnEnd: asked again it would be as large.
func TestAResultTooLargeIsAnEnd(t *testing.T) {
	w := newWorld(t, func(_ int, rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		huge := strings.Repeat("x", 5<<20)
		_, _ = fmt.Fprintf(rw, `data: {"choices":[{"delta":{"content":"%s","tool_calls":[{"index":0,"id":"k","function":{"name":"f","arguments":"{\"a\":\"%s\"}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n", huge, huge)
	})
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Failed || r.Error == nil || r.Error.Kind != llm.KindTooLarge || len(w.requests()) != 1 || len(r.Content()) != 5<<20 {
		t.Errorf("%s, %+v, %d requests, %d bytes", r.Status, r.Error, len(w.requests()), len(r.Content()))
	}
	for _, e := range w.events(c.Chat) {
		if p, err := events.Decode(&e); err != nil {
			t.Fatal(err)
		} else if p, ok := p.(events.ReplyChunk); ok && len(p.Text) > maxChunk {
			t.Fatalf("a chunk of %d bytes", len(p.Text))
		}
	}
}
