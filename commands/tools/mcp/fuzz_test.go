package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"lembas/commands/tools"
	"lembas/events"
)

// FuzzAnswers gives the SDK whatever a server can say to a call. A panic in one
// of its goroutines would end the process.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":3,"result":` + okResult + `}`, `{"jsonrpc":"2.0","id":3,"error":null}`, `{"jsonrpc":"2.0","id":3,"error":{"code":1}}`, `null`, `[]`, `{"jsonrpc":"2.0","method":""}`,
		"data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":null}\n\n",
		"id: 7\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"sampling/createMessage\",\"params\":{\"messages\":null}}\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"roots/list\"}\n\nevent: x\ndata\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":null}\n\n",
	} {
		f.Add(s, strings.HasPrefix(s, "{"))
	}
	f.Fuzz(func(t *testing.T, answer string, isJSON bool) {
		server := &fake{session: "s1", answer: func(w http.ResponseWriter, _ *http.Request, m message) {
			w.Header().Set("Content-Type", "text/event-stream")
			if isJSON {
				w.Header().Set("Content-Type", "application/json")
			}
			if m.Method == "tools/call" {
				_, _ = io.WriteString(w, answer)
			}
		}}
		c := &Client{farewell: time.Millisecond, HTTP: func(events.ServerState, map[string]string) (*http.Client, error) {
			return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				rec := httptest.NewRecorder()
				body := io.Reader(http.NoBody)
				if r.Body != nil {
					body = r.Body
				}
				server.ServeHTTP(rec, httptest.NewRequest(r.Method, "/", body))
				return rec.Result(), r.Context().Err()
			})}, nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		r := one(t, c, at("https://mcp.test/"), "a").Run(ctx, tools.Call{ID: "c1", Progress: func(string) {}})
		if r.Status != events.ToolOK && r.Status != events.ToolError || r.Output == "" {
			t.Errorf("came to %+v", r)
		}
	})
}

// FuzzSchema: what is kept is an object within the bounds, and cleaning it again
// changes nothing, or a look at the same tools would hold them.
func FuzzSchema(f *testing.F) {
	for _, s := range []string{`{"properties":{"a":{"$ref":"#/properties/b"},"b":{"items":{"$ref":"#/properties/a"}}}}`, `{"anyOf":[{"$ref":"#/anyOf/0"}]}`, `{"type":["object"],"enum":[1]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var v any
		if json.Unmarshal([]byte(in), &v) != nil {
			return
		}
		got, ok := cleanSchema(v)
		if !ok {
			return
		}
		var back map[string]any
		if err := json.Unmarshal(got, &back); err != nil || back["type"] != "object" || len(got) > maxSchema+100 {
			t.Fatalf("%s became %s", in, got)
		}
		if again, ok := cleanSchema(back); !ok || string(again) != string(got) {
			t.Errorf("%s became %s, then %s", in, got, again)
		}
	})
}
