package builtin

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"lembas/commands/tools"
	"lembas/commands/tools/guard"
)

// web is a network of names with one server behind them all.
type web struct {
	mu   sync.Mutex
	dns  map[string]string
	seen []*http.Request
	sent []string
}

func newWeb(t *testing.T, answer http.HandlerFunc) (*web, *guard.Client) {
	t.Helper()
	w := &web{dns: map[string]string{"a.test": "93.184.216.34", "b.test": "93.184.216.35", "private.test": "10.0.0.5"}}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.seen, w.sent = append(w.seen, r.Clone(context.Background())), append(w.sent, string(b))
		w.mu.Unlock()
		answer(rw, r)
	}))
	t.Cleanup(srv.Close)
	return w, guard.New(guard.Config{Resolver: w, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, srv.Listener.Addr().String())
	}})
}

func (w *web) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a, ok := w.dns[host]; ok {
		return []netip.Addr{netip.MustParseAddr(a)}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// says answers everything with one body.
func says(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		_, _ = io.WriteString(w, body)
	}
}

func answers(code int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func run(t *testing.T, tool tools.Tool, args string) tools.Result {
	t.Helper()
	return tool.Run(t.Context(), tools.Call{Arguments: json.RawMessage(args)})
}

func wantIn(t *testing.T, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			t.Errorf("%q is not in:\n%s", p, s)
		}
	}
}

func wantNotIn(t *testing.T, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(s, p) {
			t.Errorf("%q is in:\n%s", p, s)
		}
	}
}

func TestWhatIsOffered(t *testing.T) {
	_, g := newWeb(t, says("text/plain", "x"))
	for _, s := range []tools.Spec{Fetch(g).Spec, WebSearch(g, nil).Spec, AskUser()} {
		var schema struct {
			Type       string
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(s.Schema, &schema); err != nil || schema.Type != "object" || len(schema.Required) != 1 || schema.Properties[schema.Required[0]] == nil {
			t.Errorf("%s: schema %s, %v", s.Name, s.Schema, err)
		}
		if s.Risk != "read" || s.Gate != s.Name || s.Scope != s.Name || !tools.BuiltIn(s.Name) || (s.Detail != "" && s.Detail != schema.Required[0]) {
			t.Errorf("%+v", s)
		}
	}
}

func TestOneArgument(t *testing.T) {
	for raw, want := range map[string]string{
		`{"url":" https://a.test "}`:  "https://a.test",
		`{"url":"x","why":"because"}`: "x",
		`{"url":""}`:                  "!missing",
		`{}`:                          "!missing",
		`null`:                        "!object",
		`[]`:                          "!object",
		`"x"`:                         "!object",
		``:                            "!object",
		`{"url":5}`:                   "!must be a text",
		`{"url":["x"]}`:               "!must be a text",
		`{"url":null}`:                "!must be a text",
		`{"URL":"x"}`:                 `!"URL"`,
		`{"url":"x","url":"y"}`:       "!object",
		`{"url":"x","method":"POST"}`: `!"method"`,
		`{"url":"` + strings.Repeat("a", 200) + `"}`: "!longer",
	} {
		got, err := one(json.RawMessage(raw), "url", 100)
		if part, wrong := strings.CutPrefix(want, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q, %v", raw, got, err)
			}
		} else if err != nil || got != want {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}
}

func TestTextFromOutsideIsCleaned(t *testing.T) {
	in := "a\x00b\x1b[31mc\r\nd\re\u202eghj\u2066\u200bk\ufeff\U000e0041l\u0085m\xffn\to👩\u200d💻"
	if got, want := clean(in), "ab[31mc\nd\neghjklm\ufffdn\to👩\u200d💻"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := line(" a \n b\x1b ", 100); got != "a b" {
		t.Errorf("%q", got)
	}
	if got := line("äöüß", 2); got != "äö…" {
		t.Errorf("%q", got)
	}
}
