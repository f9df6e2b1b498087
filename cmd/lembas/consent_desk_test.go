package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"lembas/events"
)

// times is how often a test that looks for races goes round: LEMBAS_TORTURE, or
// a few.
func times(t *testing.T, few int) int {
	v := os.Getenv("LEMBAS_TORTURE")
	if v == "" {
		return few
	}
	n, err := strconv.Atoi(v)
	must(t, err)
	return n
}

// tally is what the tools of a test act on: it counts how often it was asked
// under each nonce and answers with the nonce. It outlives the servers.
type tally struct {
	*httptest.Server

	mu    sync.Mutex // guards what follows
	act   acts
	calls map[string]int
}

// acts is what a call does before it is answered; true says that it has answered.
type acts func(w http.ResponseWriter, r *http.Request, nonce string) bool

// does sets what calls do, and gives what they did before.
func (c *tally) does(f acts) (before acts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.act = c.act, f
	return before
}

// ran is how often each nonce was asked for.
func (c *tally) ran() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls)
}

func newTally(t testing.TB) *tally {
	c := &tally{calls: map[string]int{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
	})
	return c
}

func (c *tally) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Nonce string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.calls[in.Nonce]++
	act := c.act
	c.mu.Unlock()
	if act != nil && act(w, r, in.Nonce) {
		return
	}
	_, _ = io.WriteString(w, "did "+in.Nonce)
}

// count is how often a nonce was asked for.
func (c *tally) count(nonce string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[nonce]
}

// total is how often anything was asked for.
func (c *tally) total() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		n += k
	}
	return n
}

// plan is what the model of a desk does: it is the message that the person
// sends, so that the model is the same after a crash.
type plan struct {
	Note   string      `json:"note"`
	Rounds [][]planned `json:"rounds"`
}

type planned struct {
	Name string `json:"name"`
	Args string `json:"args"` // as they are sent
}

// once is a plan of one round.
func once(note string, calls ...planned) plan { return plan{Note: note, Rounds: [][]planned{calls}} }

func calling(name, nonce string) planned {
	return planned{Name: name, Args: fmt.Sprintf(`{"nonce":%q}`, nonce)}
}

// deskRequest is what a model was sent.
type deskRequest struct {
	Tools    []json.RawMessage
	Messages []struct {
		Role      string
		Content   any
		ToolCalls []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
	}
}

// turn gives the plan of a request and how many rounds of it are behind.
func (a *deskRequest) turn() (p plan, behind int) {
	for _, m := range a.Messages {
		switch {
		case m.Role == "user":
			var next plan
			if json.Unmarshal([]byte(text(m.Content)), &next) == nil { // else it is a note of the server's
				p, behind = next, 0
			}
		case m.Role == "assistant" && len(m.ToolCalls) > 0:
			behind++
		}
	}
	return p, behind
}

// desk is a server with tools that count, a model that follows plans, and a
// person.
type desk struct {
	t    testing.TB
	s    *server
	ann  *client
	e    *endpoint
	tool *tally
	ids  map[string]string // of the tools by slug
	// ask, when set, sees each request before it is answered; true says that it
	// has answered.
	ask func(w http.ResponseWriter, r *http.Request, a *deskRequest) bool
}

// newDesk starts it: press (write), look (read) and shoot (execute) take a nonce.
func newDesk(t testing.TB) *desk {
	t.Helper()
	d := &desk{t: t, tool: newTally(t), ids: map[string]string{}}
	d.e = newEndpoint(t, d.answer)
	d.s = serve(t, dataDir(t))
	d.ann = d.s.person("ann@example.test", true)
	d.ann.connect(d.e, "")
	d.ann.want(200, "PATCH", "/api/v1/settings", map[string]any{"fetch.private": true})
	models, _ := d.ann.want(200, "GET", "/api/v1/models", nil)["items"].([]any)
	id := text(models[0].(map[string]any)["id"])
	d.ann.want(200, "PATCH", "/api/v1/models/"+id, map[string]any{"context_length": 0, "tools": true})
	for slug, risk := range map[string]string{"press": "write", "look": "read", "shoot": "execute"} {
		d.makeTool(slug, risk, 30)
	}
	return d
}

func (d *desk) makeTool(slug, risk string, timeout int) {
	d.t.Helper()
	made := d.ann.want(201, "POST", "/api/v1/tools", map[string]any{"slug": slug, "label": slug, "description": "Counts.", "risk": risk,
		"method": "POST", "url": d.tool.URL + "/do", "body": `{"nonce":"{{nonce}}"}`, "timeout": timeout, "enabled": true,
		"parameters": []any{map[string]any{"name": "nonce", "type": "string", "required": true},
			map[string]any{"name": "times", "type": "integer"}}})
	d.ids[slug] = text(made["id"])
}

func (d *desk) answer(n int, w http.ResponseWriter, r *http.Request) {
	var a deskRequest
	if err := json.Unmarshal(d.e.body(n), &a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if d.ask != nil && d.ask(w, r, &a) {
		return
	}
	p, behind := a.turn()
	if behind >= len(p.Rounds) {
		says(w, "Done.")
		ends(w)
		return
	}
	var calls []any
	for i, c := range p.Rounds[behind] {
		calls = append(calls, map[string]any{"index": i, "id": callID(behind, i), "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": c.Args}})
	}
	w.Header().Set("Content-Type", "text/event-stream")
	b, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": map[string]any{"tool_calls": calls}, "finish_reason": "tool_calls"}}})
	_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", b)
}

func callID(round, i int) string { return fmt.Sprintf("call-%d-%d", round, i) }

// body is the request with a number.
func (e *endpoint) body(n int) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked[n-1]
}

// told is what the last request with a note said of its calls, by their ids.
func (d *desk) told(note string) map[string]string {
	d.t.Helper()
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	for i := len(d.e.asked) - 1; i >= 0; i-- {
		if !bytes.Contains(d.e.asked[i], []byte(note)) {
			continue
		}
		var a deskRequest
		must(d.t, json.Unmarshal(d.e.asked[i], &a))
		if p, _ := a.turn(); p.Note != note {
			continue
		}
		out := map[string]string{}
		for _, m := range a.Messages {
			if m.Role == "tool" {
				out[m.ToolCallID] = text(m.Content)
			}
		}
		return out
	}
	d.t.Errorf("nothing was asked about %s", note)
	return nil
}

// begin starts a chat with a plan.
func (d *desk) begin(p plan) (chat, reply string) {
	d.t.Helper()
	b, err := json.Marshal(p)
	must(d.t, err)
	return d.ann.ask("m", string(b))
}

// session signs the person in: a browser of its own.
func (d *desk) session() *client {
	d.t.Helper()
	jar, err := cookiejar.New(nil)
	must(d.t, err)
	c := &client{t: d.t, url: d.s.url, http: &http.Client{Jar: jar}}
	c.want(200, "POST", "/auth/login", map[string]any{"email": "ann@example.test", "password": "correct horse battery"})
	return c
}

// card waits for a chat's card with a number, from 1.
func (c *client) card(chat string, number int) (card events.ConsentRequested) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	seen := 0
	err := c.follow(ctx, chat, "0", func(e event) bool {
		if e.typ == "consent.requested" {
			seen++
			card = payload[events.ConsentRequested](c.t, e.data)
		}
		return seen < number && e.typ != "reply.finished"
	})
	if seen < number {
		c.t.Fatalf("waiting for card %d of %s: %v", number, chat, err)
	}
	return card
}

// payload is an envelope's.
func payload[P any](t testing.TB, envelope []byte) P {
	t.Helper()
	var env events.Envelope
	must(t, json.Unmarshal(envelope, &env))
	p, err := events.Decode(&env)
	must(t, err)
	return p.(P)
}

// verdicts is the body that answers a card's items in their order.
func verdicts(card events.ConsentRequested, words ...string) map[string]any {
	var out []any
	for i, item := range card.Items {
		out = append(out, map[string]any{"key": item.Key, "verdict": words[min(i, len(words)-1)]})
	}
	return map[string]any{"answers": out}
}

func cardPath(chat string, card events.ConsentRequested) string {
	return "/api/v1/chats/" + chat + "/interactions/" + card.Consent
}

// tools are the calls of a chat's last reply by their ids.
func (s shownChat) tools() map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, k := range s.last().Tools {
		out[text(k["call"])] = k
	}
	return out
}

// restart is a kill and a start.
func (d *desk) restart() {
	d.t.Helper()
	d.s.kill()
	d.ann.http.CloseIdleConnections()
	d.s.start()
}

// between opens the data directory of a server that is down, as nobody but a
// test does: what is done there is done by a process that then died.
func (d *desk) between(do func(a *app)) {
	d.t.Helper()
	d.s.kill()
	d.ann.http.CloseIdleConnections()
	a := openTest(d.t, d.s.dir)
	do(a)
	must(d.t, a.close())
	d.s.start()
}
