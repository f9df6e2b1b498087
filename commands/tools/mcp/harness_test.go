package mcp

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"lembas/commands/tools"
	"lembas/commands/tools/guard"
	"lembas/events"
)

// client is one as cmd makes it.
func client() *Client { return &Client{HTTP: Guarded(guard.New(guard.Config{})), Version: "test"} }

func at(url string) events.ServerState {
	return events.ServerState{Slug: "srv", Name: "A server", URL: url, Risk: events.RiskWrite, Enabled: true, Timeout: 20}
}

func free(string) bool { return false }

// one gives the tool with this own name as it would be offered.
func one(t *testing.T, c *Client, st events.ServerState, own string) tools.Tool {
	t.Helper()
	list := []events.ServerTool{{Name: own, Schema: json.RawMessage(`{"type":"object"}`)}}
	offered := c.Tools(Server{State: st, Tools: list}, nil, free)
	if len(offered) != 1 {
		t.Fatalf("%d tools are offered", len(offered))
	}
	return offered[0]
}

// run calls a tool by its own name.
func run(t *testing.T, st events.ServerState, own, args string) tools.Result {
	t.Helper()
	return one(t, client(), st, own).Run(t.Context(), tools.Call{ID: "c1", Arguments: json.RawMessage(args)})
}

func wantOK(t *testing.T, r tools.Result, parts ...string) {
	t.Helper()
	want(t, r, events.ToolOK, parts...)
}

func want(t *testing.T, r tools.Result, status string, parts ...string) {
	t.Helper()
	if r.Status != status {
		t.Errorf("status %q, want %q: %.300s", r.Status, status, r.Output)
	}
	for _, p := range parts {
		if !strings.Contains(r.Output, p) {
			t.Errorf("output lacks %q: %.500s", p, r.Output)
		}
	}
}

// message is what a client posted.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// fake is a server written by hand. It shakes hands as the protocol of 2025
// does; what it answers to the rest is the test's.
type fake struct {
	*httptest.Server
	session string // given at the handshake, "" for none
	answer  func(w http.ResponseWriter, r *http.Request, m message)

	mu   sync.Mutex
	seen []message
}

func newFake(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, m message)) *fake {
	t.Helper()
	f := &fake{answer: answer, session: "s1"}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m message
	_ = json.Unmarshal(body, &m)
	f.mu.Lock()
	f.seen = append(f.seen, m)
	f.mu.Unlock()
	switch m.Method {
	case "server/discover":
		http.Error(w, "what is that?", http.StatusBadRequest)
	case "initialize":
		if f.session != "" {
			w.Header().Set("Mcp-Session-Id", f.session)
		}
		reply(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
	default:
		f.answer(w, r, m)
	}
}

// got counts the messages of a method.
func (f *fake) got(method string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.seen {
		if m.Method == method {
			n++
		}
	}
	return n
}

func reply(w http.ResponseWriter, m message, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)
}

// callAnswer is a server whose tools/call gives one result.
func callAnswer(t *testing.T, result string) *fake {
	return newFake(t, func(w http.ResponseWriter, _ *http.Request, m message) { reply(w, m, result) })
}

// listAnswer is a server with these tools, as JSON.
func listAnswer(t *testing.T, tools string) *fake {
	return newFake(t, func(w http.ResponseWriter, _ *http.Request, m message) { reply(w, m, `{"tools":`+tools+`}`) })
}

func list(t *testing.T, url string) []events.ServerTool {
	t.Helper()
	found, err := client().List(t.Context(), at(url), nil)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func names(list []events.ServerTool) (out []string) {
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
