package generation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lembas/commands"
	"lembas/commands/tools"
	"lembas/events"
	"lembas/projections/transcript"
)

// machine is a toolbox whose tools count what they do.
type machine struct {
	mu   sync.Mutex
	ran  []string // "name arguments", in the order they began
	slow func(ctx context.Context, call tools.Call)
	give func(call tools.Call) tools.Result
	none bool
	// as changes a tool before it is offered.
	as func(*tools.Tool)
	// models are those that tools were offered to.
	models []commands.ModelView
}

func (m *machine) Offer(ctx context.Context, user string, v commands.ModelView, scope map[string]bool) ([]tools.Tool, error) {
	m.mu.Lock()
	m.models = append(m.models, v)
	m.mu.Unlock()
	list, err := m.offer()
	for i := range list {
		if m.as != nil {
			m.as(&list[i])
		}
	}
	return list, err
}

func (m *machine) offer() ([]tools.Tool, error) {
	if m.none {
		return nil, nil
	}
	tool := func(name, risk, detail string) tools.Tool {
		return tools.Tool{Spec: tools.Spec{Name: name, Risk: risk, Gate: "custom", Scope: "custom:" + name, Label: strings.ToUpper(name), Icon: "tool", Detail: detail,
			Schema: json.RawMessage(`{"type":"object","required":["to"],"properties":{"to":{"type":"string"},"why":{"type":"string"}}}`)},
			Run: func(ctx context.Context, call tools.Call) tools.Result { return m.run(ctx, name, call) }}
	}
	return []tools.Tool{tool("look", events.RiskRead, "to"), tool("send", events.RiskWrite, "to"), tool("shoot", events.RiskExecute, ""),
		{Spec: tools.Spec{Name: "ask_user", Risk: events.RiskRead, Gate: "ask_user", Scope: "ask_user", Label: "Ask you",
			Schema: json.RawMessage(`{"type":"object","required":["questions"],"properties":{"questions":{"type":"array"}}}`)}}}, nil
}

func (m *machine) run(ctx context.Context, name string, call tools.Call) tools.Result {
	m.mu.Lock()
	m.ran = append(m.ran, name+" "+string(call.Arguments))
	m.mu.Unlock()
	if m.slow != nil {
		m.slow(ctx, call)
	}
	if m.give != nil {
		return m.give(call)
	}
	return tools.Result{Status: events.ToolOK, Output: name + " did " + string(call.Arguments)}
}

func (m *machine) did() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.ran)
}

type toolCall struct{ id, name, args string }

// calling writes a round that ends with calls.
func calling(rw http.ResponseWriter, calls ...toolCall) {
	rw.Header().Set("Content-Type", "text/event-stream")
	var list []any
	for i, c := range calls {
		list = append(list, map[string]any{"index": i, "id": c.id, "type": "function", "function": map[string]any{"name": c.name, "arguments": c.args}})
	}
	b, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": map[string]any{"tool_calls": list}, "finish_reason": "tool_calls"}}})
	_, _ = fmt.Fprintf(rw, "data: %s\n\ndata: [DONE]\n\n", b)
}

// script answers with rounds in turn; the last one again and again.
func script(rounds ...func(http.ResponseWriter)) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, rw http.ResponseWriter, _ *http.Request) { rounds[min(n, len(rounds))-1](rw) }
}

func says(words ...string) func(http.ResponseWriter) {
	return func(rw http.ResponseWriter) { stream(rw, words...) }
}

func calls(list ...toolCall) func(http.ResponseWriter) {
	return func(rw http.ResponseWriter) { calling(rw, list...) }
}

// answerByTurns calls three tools until it has their results, then ends: so it
// is the same model after a crash.
func answerByTurns(_ int, rw http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Had-Results") != "" {
		stream(rw, "done")
		return
	}
	calling(rw, toolCall{"a", "look", `{"to":"1"}`}, toolCall{"b", "send", `{"to":"2"}`}, toolCall{"c", "shoot", `{"to":"3"}`})
}

func withTools(t *testing.T, answer func(int, http.ResponseWriter, *http.Request)) (*world, *machine) {
	t.Helper()
	w, m := newWorld(t, answer), &machine{}
	w.loop.Tools = m
	w.context(0)
	return w, m
}

// context sets the model's context length, in tokens.
func (w *world) context(n int) {
	w.t.Helper()
	all, err := w.service.Models(w.t.Context(), true)
	must(w.t, err)
	_, err = w.service.ChangeModel(w.t.Context(), w.ann, all[0].ID, commands.PatchModel{ContextLength: &n})
	must(w.t, err)
}

// resume gives the newest answer or expiry to the loop.
func (w *world) resume(chat, typ string) error {
	w.t.Helper()
	env := w.last(chat, typ)
	return w.loop.Resume(w.t.Context(), &env)
}

// card is the card that waits in a chat.
func (w *world) card(chat string) *transcript.Consent {
	w.t.Helper()
	var out *transcript.Consent
	must(w.t, w.service.WithChat(w.t.Context(), chat, func(c *transcript.Chat) error {
		if len(c.Pending) != 1 {
			return fmt.Errorf("%d cards wait", len(c.Pending))
		}
		cp := *c.Consent(c.Pending[0].Consent)
		out = &cp
		return nil
	}))
	return out
}

func (w *world) say(chat string, k *transcript.Consent, answers ...commands.Answer) {
	w.t.Helper()
	_, _, err := w.service.AnswerConsent(w.t.Context(), w.ann, chat, k.Consent, answers)
	must(w.t, err)
	must(w.t, w.resume(chat, "consent.answered"))
}

// told is what the tools said to the model in its last request, by call.
func (w *world) told() map[string]string {
	w.t.Helper()
	all := w.requests()
	out := map[string]string{}
	for _, m := range all[len(all)-1]["messages"].([]any) {
		if turn := m.(map[string]any); turn["role"] == "tool" {
			out[turn["tool_call_id"].(string)] = turn["content"].(string)
		}
	}
	return out
}

func TestReadsRunWithoutAsking(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"a", "look", `{"to":"north"}`}, toolCall{"b", "look", `"south"`}, toolCall{"c", "nothing", `{}`},
		toolCall{"d", "look", `{"to":1}`}), says("done")))
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Complete || r.Content() != "done" {
		t.Fatalf("%s: %q", r.Status, r.Content())
	}
	ran := m.did()
	slices.Sort(ran)
	if want := []string{`look {"to":"north"}`, `look {"to":"south"}`}; !slices.Equal(ran, want) {
		t.Errorf("ran %q", ran)
	}
	told := w.told()
	for call, words := range map[string]string{"a": `look did {"to":"north"}`, "b": "south", "c": `no tool "nothing"`, "d": `"to" must be of type string`} {
		if !strings.Contains(told[call], words) {
			t.Errorf("of %s the model was told %q", call, told[call])
		}
	}
	if offered := w.requests()[0]["tools"].([]any); len(offered) != 4 {
		t.Errorf("%d tools were offered", len(offered))
	}
}

func TestACardCoversTheRoundAndItsAnswerGoesOn(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"a", "look", `{"to":"1"}`}, toolCall{"b", "send", `{"to":"2","why":"it is  due"}`},
		toolCall{"c", "send", `{"to":"3"}`}, toolCall{"d", "shoot", `{"to":"4"}`}), says("done")))
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	k := w.card(c.Chat)
	if len(m.did()) != 0 {
		t.Fatalf("before the answer ran %q", m.did())
	}
	if len(k.Items) != 3 || k.Kind != events.ConsentApproval || k.Items[0].Call != "b" || k.Items[0].Why != "it is due" || k.Items[0].Edits != "to" ||
		k.Items[2].Edits != "" || k.Items[0].Pattern != "send" || k.Items[0].Label != "SEND" {
		t.Fatalf("the card is %+v", k)
	}
	if r := w.reply(c.Chat, c.Reply); r.Status != transcript.Waiting {
		t.Errorf("the reply is %s", r.Status)
	}
	must(t, w.handle(t.Context(), c.Chat)) // redelivered: it waits still
	w.say(c.Chat, k, commands.Answer{Key: k.Items[0].Key, Verdict: "allow", Arguments: json.RawMessage(`{"to":"22","why":"it is  due"}`)},
		commands.Answer{Key: k.Items[1].Key, Verdict: "deny", Reason: "not now"}, commands.Answer{Key: k.Items[2].Key, Verdict: "always"})
	ran := m.did()
	slices.Sort(ran)
	if want := []string{`look {"to":"1"}`, `send {"to":"22","why":"it is  due"}`, `shoot {"to":"4"}`}; !slices.Equal(ran, want) {
		t.Errorf("ran %q", ran)
	}
	if told := w.told(); !strings.Contains(told["c"], "denied") || !strings.Contains(told["c"], "not now") {
		t.Errorf("of the denial the model was told %q", told["c"])
	}
	all := w.requests()
	for _, m := range all[len(all)-1]["messages"].([]any) {
		if turn := m.(map[string]any); turn["tool_calls"] != nil && !strings.Contains(fmt.Sprint(turn), `"22"`) {
			t.Errorf("the model does not see what ran: %v", turn)
		}
	}
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Complete {
		t.Errorf("%s", r.Status)
	}
	for _, x := range r.Rounds[0].Calls {
		if want := map[string]string{"a": "", "b": k.Consent, "c": "", "d": k.Consent}[x.ID]; x.Consent != want {
			t.Errorf("%s ran under %q", x.ID, x.Consent)
		}
	}
}

func TestAlwaysCountsFromTheNextRound(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"a", "send", `{"to":"1"}`}), calls(toolCall{"b", "send", `{"to":"2"}`}), says("done")))
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	k := w.card(c.Chat)
	w.say(c.Chat, k, commands.Answer{Key: k.Items[0].Key, Verdict: "always"})
	if r := w.reply(c.Chat, c.Reply); r.Status != events.Complete || len(m.did()) != 2 {
		t.Errorf("%s after %q", r.Status, m.did())
	}
	if _, err := w.service.PatchChat(t.Context(), w.ann, c.Chat, commands.PatchChat{ForgetAllowed: true}); err != nil {
		t.Fatal(err)
	}
	s, _, err := w.service.SubmitMessage(t.Context(), w.ann, c.Chat, "again")
	must(t, err)
	w.answer = script(calls(toolCall{"c", "send", `{"to":"3"}`}))
	must(t, w.handle(t.Context(), c.Chat))
	if r := w.reply(c.Chat, s.Reply); r.Status != transcript.Waiting || len(m.did()) != 2 {
		t.Errorf("after the list was cleared: %s, %q", r.Status, m.did())
	}
}

// TestWhatIsAllowedMidRoundDoesNotCountForIt (ASK-7, F44): neither for a round
// that streams nor for calls that are queued.
func TestWhatIsAllowedMidRoundDoesNotCountForIt(t *testing.T) {
	var w *world
	var m *machine
	var chat string
	w, m = withTools(t, func(n int, rw http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			_, err := w.log.Append(context.Background(), events.Batch{Actor: events.Actor{Kind: events.Person, ID: w.ann.User}, Correlation: "c", Causation: "d",
				Parts: []events.Part{{Stream: events.ChatStream(chat), Expect: events.Any(), Events: news([]events.Payload{events.ChatAllowAdded{Pattern: "send"}})}}})
			if err != nil {
				t.Error(err)
			}
		}
		calling(rw, toolCall{fmt.Sprint("a", n), "send", `{"to":"1"}`})
	})
	chat = w.chat("x").Chat
	must(t, w.handle(t.Context(), chat))
	if w.card(chat); len(m.did()) != 0 {
		t.Errorf("ran %q", m.did())
	}
}

func TestQuestionsComeBackInOneTurn(t *testing.T) {
	w, _ := withTools(t, script(calls(toolCall{"q", "ask_user", `{"questions":[{"question":"Which?","options":["a","b"]},"Why?"]}`}), says("done")))
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	k := w.card(c.Chat)
	if k.Kind != events.ConsentQuestion || len(k.Items) != 2 || k.Items[0].Question != "Which?" || len(k.Items[0].Options) != 2 {
		t.Fatalf("the card is %+v", k)
	}
	w.say(c.Chat, k, commands.Answer{Key: k.Items[0].Key, Verdict: "allow", Text: "b"}, commands.Answer{Key: k.Items[1].Key, Verdict: "deny"})
	told := w.told()["q"]
	if len(w.told()) != 1 || !strings.Contains(told, "Which?\nAnswer: b") || !strings.Contains(told, "Why?\nThe person declined") {
		t.Errorf("the model was told %q", told)
	}
}

func TestNobodyAnswered(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"a", "send", `{"to":"1"}`}), says("done")))
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	k := w.card(c.Chat)
	must(t, w.service.ExpireConsent(t.Context(), c.Chat, k.Consent))
	must(t, w.service.ExpireConsent(t.Context(), c.Chat, k.Consent))
	must(t, w.resume(c.Chat, "consent.expired"))
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Complete || len(m.did()) != 0 || r.Rounds[0].Calls[0].Status != events.ToolExpired || !strings.Contains(w.told()["a"], "Nobody answered") {
		t.Errorf("%s, %q, call %s, told %q", r.Status, m.did(), r.Rounds[0].Calls[0].Status, w.told()["a"])
	}
	_, _, err := w.service.AnswerConsent(t.Context(), w.ann, c.Chat, k.Consent, []commands.Answer{{Key: k.Items[0].Key, Verdict: "allow"}})
	var closed *commands.ConsentClosedError
	if !errors.As(err, &closed) || closed.Consent.State != transcript.CardExpired || !errors.Is(err, events.ErrConflict) {
		t.Errorf("an answer that is too late: %v", err)
	}
}

func TestStopOnAWaitingCard(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"a", "send", `{"to":"1"}`}), says("done")))
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	k := w.card(c.Chat)
	if _, err := w.service.Stop(t.Context(), w.ann, c.Chat); err != nil {
		t.Fatal(err)
	}
	if tail := w.types(c.Chat); !slices.Equal(tail[len(tail)-3:], []string{"consent.withdrawn", "tool.finished", "reply.finished"}) {
		t.Errorf("%v", tail)
	}
	if _, _, err := w.service.AnswerConsent(t.Context(), w.ann, c.Chat, k.Consent, []commands.Answer{{Key: k.Items[0].Key, Verdict: "allow"}}); !errors.Is(err, events.ErrConflict) {
		t.Errorf("an answer after Stop: %v", err)
	}
	if len(m.did()) != 0 {
		t.Errorf("ran %q", m.did())
	}
}

func TestStopCutsRunningTools(t *testing.T) {
	began := make(chan struct{}, 8)
	w, m := withTools(t, script(calls(toolCall{"a", "look", `{"to":"1"}`}, toolCall{"b", "look", `{"to":"2"}`}, toolCall{"c", "look", `{"to":"3"}`},
		toolCall{"d", "look", `{"to":"4"}`}, toolCall{"e", "look", `{"to":"5"}`}), says("done")))
	m.slow = func(ctx context.Context, _ tools.Call) { began <- struct{}{}; <-ctx.Done() }
	m.give = func(tools.Call) tools.Result { return tools.Failed("cut") }
	c := w.chat("x")
	done := make(chan error, 1)
	go func() { done <- w.handle(t.Context(), c.Chat) }()
	for range atOnce {
		<-began
	}
	if _, err := w.service.Stop(t.Context(), w.ann, c.Chat); err != nil {
		t.Fatal(err)
	}
	must(t, <-done)
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Stopped || len(m.did()) != atOnce {
		t.Errorf("%s after %q", r.Status, m.did())
	}
	for _, k := range r.Rounds[0].Calls {
		if k.Status != events.ToolStopped {
			t.Errorf("%s is %s", k.ID, k.Status)
		}
	}
}

func TestAToolThatPanicsOrFloodsIsContained(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"a", "look", `{"to":"panic"}`}, toolCall{"b", "look", `{"to":"flood"}`}, toolCall{"c", "look", `{"to":"binary"}`},
		toolCall{"s", "look", `{"to":"secret"}`}), calls(toolCall{"r", "read_output", `{"call":"b","from":20480}`}), says("done")))
	m.give = func(call tools.Call) tools.Result {
		switch s := string(call.Arguments); {
		case strings.Contains(s, "panic"):
			panic("oh")
		case strings.Contains(s, "flood"):
			return tools.Result{Status: events.ToolOK, Output: strings.Repeat("ö", 30_000)}
		case strings.Contains(s, "secret"):
			return tools.Result{Status: events.ToolOK, Output: "the key is sk-secret-key"}
		}
		return tools.Result{Status: events.ToolOK, Output: "\xff\x00"}
	}
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	r := w.reply(c.Chat, c.Reply)
	if r.Status != events.Complete {
		t.Fatalf("%s %+v", r.Status, r.Error)
	}
	told := w.told()
	if !strings.Contains(told["a"], "failed inside the server") || !strings.Contains(told["b"], "left out") || len(told["b"]) > maxInlineOutput ||
		!strings.HasPrefix(told["c"], "\uFFFD") || strings.Contains(told["s"], "sk-secret") || !strings.HasPrefix(told["r"], "ö") {
		t.Errorf("told a %.60q, b %d bytes, c %q, s %q, r %.20q", told["a"], len(told["b"]), told["c"], told["s"], told["r"])
	}
	if k := r.Rounds[0].Calls[1]; k.Blob == nil || k.Blob.Size != 60_000 || k.Bytes != 60_000 {
		t.Errorf("the flood is kept as %+v", k)
	}
}

// early is a Stop that looked for the loop just before an answer started it.
type early struct {
	commands.Stopper
	looked bool
}

func (e *early) StopReply(ctx context.Context, reply string) bool {
	if !e.looked {
		e.looked = true
		return false
	}
	return e.Stopper.StopReply(ctx, reply)
}

// TestStopThatCameAtTheMomentOfAnAnswer: no loop was there when Stop looked, one
// was when it was recorded; what it runs is cut.
func TestStopThatCameAtTheMomentOfAnAnswer(t *testing.T) {
	for name, end := range map[string]func(w *world, chat string) error{
		"stop": func(w *world, chat string) error { _, err := w.service.Stop(t.Context(), w.ann, chat); return err },
		"delete": func(w *world, chat string) error {
			_, err := w.service.DeleteChat(t.Context(), w.ann, chat)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, m := withTools(t, script(calls(toolCall{"a", "look", `{"to":"1"}`})))
			begun, cut := make(chan struct{}), make(chan struct{})
			m.slow = func(ctx context.Context, _ tools.Call) { close(begun); <-ctx.Done(); close(cut) }
			c := w.chat("x")
			ctx, over := context.WithTimeout(t.Context(), 20*time.Second)
			defer over()
			done := make(chan error, 1)
			go func() { done <- w.handle(ctx, c.Chat) }()
			<-begun
			w.service.Stopper = &early{Stopper: w.loop}
			must(t, end(w, c.Chat))
			select {
			case <-cut:
			case <-time.After(5 * time.Second):
				t.Error("the tool still runs")
			}
			over()
			<-done
		})
	}
}

// TestAToolThatChangedWhileACardWaited: what was approved is not run when its
// name has come to mean something else, or something of another risk.
func TestAToolThatChangedWhileACardWaited(t *testing.T) {
	for name, change := range map[string]func(*tools.Tool){
		"label":        func(x *tools.Tool) { x.Label = "Another party's" },
		"risk":         func(x *tools.Tool) { x.Risk = events.RiskExecute },
		"what it does": func(x *tools.Tool) { x.Changed = time.Now() },
	} {
		t.Run(name, func(t *testing.T) {
			w, m := withTools(t, script(calls(toolCall{"a", "send", `{"to":"1"}`}), says("done")))
			c := w.chat("x")
			must(t, w.handle(t.Context(), c.Chat))
			m.as = change
			w.say(c.Chat, w.card(c.Chat), commands.Answer{Key: "0", Verdict: events.VerdictAllow})
			r := w.reply(c.Chat, c.Reply)
			if len(m.did()) != 0 || r.Status != events.Complete || r.Rounds[0].Calls[0].Status != events.ToolRefused {
				t.Errorf("ran %q, %s, the call is %s", m.did(), r.Status, r.Rounds[0].Calls[0].Status)
			}
		})
	}
}

// TestAlwaysIsOfTheToolAsItWas: a tool that was changed since asks again, until
// it is allowed anew.
func TestAlwaysIsOfTheToolAsItWas(t *testing.T) {
	w, m := withTools(t, func(_ int, rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Had-Results") != "" {
			stream(rw, "done")
			return
		}
		calling(rw, toolCall{"a", "send", `{"to":"1"}`})
	})
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	w.say(c.Chat, w.card(c.Chat), commands.Answer{Key: "0", Verdict: events.VerdictAlways})
	w.send(c.Chat, "again")
	if len(m.did()) != 2 {
		t.Fatalf("what was allowed always asks: ran %q", m.did())
	}
	changed := time.Now()
	m.as = func(x *tools.Tool) { x.Changed = changed }
	w.send(c.Chat, "and again")
	if len(m.did()) != 2 {
		t.Fatalf("a changed tool ran: %q", m.did())
	}
	w.say(c.Chat, w.card(c.Chat), commands.Answer{Key: "0", Verdict: events.VerdictAlways})
	w.send(c.Chat, "once more")
	if len(m.did()) != 4 {
		t.Errorf("what was allowed anew asks: ran %q", m.did())
	}
}

// TestReadingOnNeverAsks: the model has had the output.
func TestReadingOnNeverAsks(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"a", "look", `{"to":"1"}`}), calls(toolCall{"b", "read_output", `{"call":"a"}`}), says("done")))
	w.set(map[string]string{"tools.ask": `["read"]`})
	m.give = func(tools.Call) tools.Result {
		return tools.Result{Status: events.ToolOK, Output: strings.Repeat("x", 2*maxInlineOutput)}
	}
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	w.say(c.Chat, w.card(c.Chat), commands.Answer{Key: "0", Verdict: events.VerdictAllow})
	if r := w.reply(c.Chat, c.Reply); r.Status != events.Complete || r.Rounds[1].Calls[0].Status != events.ToolOK {
		t.Errorf("%s", r.Status)
	}
}

// TestACallsIDIsItsOwn: ids that an endpoint uses again, or that are the same
// once a secret in them is hidden, are told apart; else a call would run again
// and again under the name of another.
func TestACallsIDIsItsOwn(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"sk-secret-key", "look", `{"to":"1"}`}, toolCall{"***", "look", `{"to":"2"}`}),
		calls(toolCall{"***", "look", `{"to":"3"}`}), says("done")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m.slow = func(context.Context, tools.Call) {
		if len(m.did()) > 3 {
			cancel()
		}
	}
	c := w.chat("x")
	must(t, w.handle(ctx, c.Chat))
	ids := map[string]bool{}
	for _, x := range w.reply(c.Chat, c.Reply).Rounds {
		for _, k := range x.Calls {
			ids[k.ID] = true
		}
	}
	if len(m.did()) != 3 || len(ids) != 3 {
		t.Errorf("ran %q, ids %v", m.did(), ids)
	}
	if told := w.told(); len(told) != 3 {
		t.Errorf("the model was told %v", told)
	}
}

// TestAModelsSwitchesCountFromTheNextRound: what a model was marked with when the
// reply began is not what its later requests are offered.
func TestAModelsSwitchesCountFromTheNextRound(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"a", "look", `{"to":"1"}`}), says("done")))
	no := false
	m.slow = func(context.Context, tools.Call) {
		_, err := w.service.ChangeModel(context.Background(), w.ann, m.models[0].ID, commands.PatchModel{Flags: map[string]*bool{"tool_custom": &no}})
		if err != nil {
			t.Error(err)
		}
	}
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	last := m.models[len(m.models)-1]
	if on, there := last.State.Flags["tool_custom"]; on || !there {
		t.Errorf("the last request was for a model with %v", last.State.Flags)
	}
}
