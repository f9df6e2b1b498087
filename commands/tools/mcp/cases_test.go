package mcp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"lembas/commands/tools"
	"lembas/commands/tools/guard"
	"lembas/events"
)

type mcpCase struct {
	ID    string
	Input struct {
		ToolName    *string         `json:"tool_name"`
		Description json.RawMessage `json:"description"`
		Schema      string          `json:"schema"`
		Result      string          `json:"result"`
		Redirect    []any           `json:"redirect"`
		Secret      bool            `json:"secret"`
		SessionID   string          `json:"session_id"`
		Config      json.RawMessage `json:"config"`
	}
	Expect string
}

// TestCases runs the rows of mcp.json. A row that this room does not know fails;
// mcp30 (a command in a server's settings) is refused by the commands, too.
func TestCases(t *testing.T) {
	b, err := os.ReadFile("../../../testdata/cases/mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []mcpCase
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	how := map[string]func(*testing.T, mcpCase){
		"mcp01": renamed, "mcp02": renamed, "mcp05": acceptable, "mcp06": noName,
		"mcp08": longDescription, "mcp09": poison, "mcp10": controls,
		"mcp11": deepSchema, "mcp13": selfReference, "mcp14": plainNames, "mcp15": wideEnum, "mcp16": pattern, "mcp17": manyTools,
		"mcp20": markup, "mcp22": endless, "mcp24": twoResults,
		"mcp25": redirected, "mcp26": redirected, "mcp27": redirected, "mcp28": redirected,
		"mcp29": sessionID, "mcp30": command,
	}
	if len(cases) != len(how) {
		t.Errorf("%d rows, %d are known", len(cases), len(how))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			if how[c.ID] == nil {
				t.Fatal("an unknown row")
			}
			how[c.ID](t, c)
		})
	}
}

// offeredFor lists a tool and offers it beside the built-ins.
func offeredFor(t *testing.T, slug, own string) (tools.Tool, *fake) {
	t.Helper()
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request, m message) {
		if m.Method == "tools/list" {
			reply(w, m, `{"tools":[{"name":`+quote(own)+`,"inputSchema":{"type":"object"}}]}`)
			return
		}
		reply(w, m, okResult)
	})
	st := at(f.URL)
	st.Slug = slug
	offered := client().Tools(Server{State: st, Tools: list(t, f.URL)}, nil, func(n string) bool { return n == "shell_run" || n == "fetch" })
	if len(offered) != 1 {
		t.Fatalf("%d tools are offered", len(offered))
	}
	return offered[0], f
}

func renamed(t *testing.T, c mcpCase) {
	for _, slug := range []string{"srv", "shell"} {
		own := *c.Input.ToolName
		if slug == "shell" {
			own = own[len("shell_"):] // shell + run is the built-in's name, too
		}
		tool, f := offeredFor(t, slug, own)
		if tool.Name == "shell_run" || !regexp.MustCompile(`^[a-z0-9_-]{1,64}$`).MatchString(tool.Name) {
			t.Errorf("offered as %q", tool.Name)
		}
		wantOK(t, tool.Run(t.Context(), tools.Call{ID: "c1"}), "fine")
		if last := f.seen[len(f.seen)-1]; !strings.Contains(string(last.Params), `"name":`+quote(own)) {
			t.Errorf("called as %s", last.Params)
		}
	}
}

func acceptable(t *testing.T, c mcpCase) {
	tool, _ := offeredFor(t, "srv", *c.Input.ToolName)
	if !regexp.MustCompile("^" + c.Expect + "$").MatchString(tool.Name) {
		t.Errorf("offered as %q", tool.Name)
	}
}

func noName(t *testing.T, _ mcpCase) {
	if found := list(t, listAnswer(t, `[{"name":"","inputSchema":{}},{"inputSchema":{}},null,{"name":"a","inputSchema":{}}]`).URL); len(found) != 1 {
		t.Errorf("listed %q", names(found))
	}
}

func describe(t *testing.T, description string) events.ServerTool {
	t.Helper()
	found := list(t, listAnswer(t, `[{"name":"a","description":`+quote(description)+`,"inputSchema":{}}]`).URL)
	if len(found) != 1 {
		t.Fatalf("listed %q", names(found))
	}
	return found[0]
}

func longDescription(t *testing.T, c mcpCase) {
	var in struct{ Repeat []any }
	if err := json.Unmarshal(c.Input.Description, &in); err != nil {
		t.Fatal(err)
	}
	got := describe(t, strings.Repeat(in.Repeat[0].(string), int(in.Repeat[1].(float64)))).Description
	if n := len([]rune(got)); n != maxText || !strings.HasSuffix(got, "…") {
		t.Errorf("%d characters", n)
	}
}

func text1(t *testing.T, raw json.RawMessage) (s string) {
	t.Helper()
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func poison(t *testing.T, c mcpCase) {
	says := text1(t, c.Input.Description)
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request, m message) {
		reply(w, m, `{"tools":[{"name":"a","description":`+quote(says)+`,"annotations":{"readOnlyHint":true,"destructiveHint":false},"inputSchema":{}}]}`)
	})
	tool := client().Tools(Server{State: at(f.URL), Tools: list(t, f.URL)}, nil, free)[0]
	if tool.Description != says || tool.Risk != events.RiskWrite || tool.Gate != "mcp" || tool.Scope != "mcp:srv" {
		t.Errorf("offered as %+v", tool.Spec)
	}
}

func controls(t *testing.T, c mcpCase) {
	if got := describe(t, text1(t, c.Input.Description)).Description; got != "ok]0;xgnp" {
		t.Errorf("kept %q", got)
	}
}

func deepSchema(t *testing.T, _ mcpCase) {
	nested := func(n int) string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, n) + `{}` + strings.Repeat(`}}`, n)
	}
	var v any
	if err := json.Unmarshal([]byte(nested(1000)), &v); err != nil {
		t.Fatal(err)
	}
	bare := map[string]any{}
	for range 1000 {
		bare = map[string]any{"properties": map[string]any{"a": bare}}
	}
	for _, v := range []any{v, bare} {
		if _, ok := cleanSchema(v); ok {
			t.Error("kept")
		}
	}
	found := list(t, listAnswer(t, `[{"name":"deep","inputSchema":`+nested(400)+`},{"name":"flat","inputSchema":`+nested(3)+`}]`).URL)
	if len(found) != 1 || found[0].Name != "flat" {
		t.Errorf("listed %q", names(found))
	}
	if _, err := client().List(t.Context(), at(listAnswer(t, `[{"name":"deep","inputSchema":`+nested(1000)+`}]`).URL), nil); err == nil {
		t.Error("the SDK reads deeper than it did") // it refuses the whole list
	}
}

func schemaOf(t *testing.T, raw string) string {
	t.Helper()
	found := list(t, listAnswer(t, `[{"name":"a","inputSchema":`+raw+`}]`).URL)
	if len(found) != 1 {
		t.Fatalf("%d tools are listed", len(found))
	}
	return string(found[0].Schema)
}

func selfReference(t *testing.T, c mcpCase) {
	if got := schemaOf(t, c.Input.Schema); got != `{"properties":{},"type":"object"}` {
		t.Errorf("kept as %s", got)
	}
}

func plainNames(t *testing.T, c mcpCase) {
	if got := schemaOf(t, c.Input.Schema); got != `{"properties":{"__proto__":{},"constructor":{}},"type":"object"}` {
		t.Errorf("kept as %s", got)
	}
}

func wideEnum(t *testing.T, _ mcpCase) {
	got := schemaOf(t, `{"properties":{"a":{"type":"string","enum":[`+strings.Repeat(`"value",`, 99999)+`"value"]},"b":{"enum":["x","y"]}}}`)
	if got != `{"properties":{"a":{"type":"string"},"b":{"enum":["x","y"]}},"type":"object"}` {
		t.Errorf("kept as %.300s", got)
	}
}

func pattern(t *testing.T, c mcpCase) {
	for _, p := range []string{c.Input.Schema, `{"pattern":"("}`} { // the second does not compile
		if got := schemaOf(t, p); !strings.Contains(got, `"type":"object"`) {
			t.Errorf("kept as %s", got)
		}
	}
}

func manyTools(t *testing.T, _ mcpCase) {
	var all []string
	for i := range 5000 {
		all = append(all, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i))
	}
	if n := len(list(t, listAnswer(t, `[`+strings.Join(all, ",")+`]`).URL)); n != MaxTools {
		t.Errorf("%d tools", n)
	}
}

func markup(t *testing.T, c mcpCase) {
	r := run(t, at(callAnswer(t, `{"content":[{"type":"text","text":`+quote(c.Input.Result)+`}]}`).URL), "a", `{}`)
	if r.Output != c.Input.Result || len(r.Images) > 0 || len(r.Sources) > 0 { // text, and nothing made of it
		t.Errorf("became %+v", r)
	}
}

func endless(t *testing.T, _ mcpCase) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, m message) {
		if m.Method != "tools/call" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ": still here\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-tick.C
		}
	})
	st := at(f.URL)
	st.Timeout = 1
	want(t, run(t, st, "a", `{}`), events.ToolError, "did not answer in time")
}

// twoResults: keys are read as they are written, in any order, also within.
func twoResults(t *testing.T, c mcpCase) {
	answers := []string{
		strings.TrimSuffix(strings.TrimPrefix(c.Input.Result, "{"), "}"),
		`"result":{"isError":true},"Result":{"content":[]}`,
		`"result":{"isError":true,"IsError":false,"content":[],"Content":[{"type":"text","text":"other"}]}`,
		`"result":{"isError":true,"content":[{"type":"text","Text":"other","text":""}]}`,
		`"result":{"isError":true},"Error":{"code":1,"message":"other"},"METHOD":"ping"`,
	}
	for _, a := range answers {
		f := newFake(t, func(w http.ResponseWriter, _ *http.Request, m message) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+a+`}`)
		})
		if r := run(t, at(f.URL), "a", `{}`); r.Status != events.ToolError || r.Output != "The tool failed and did not say why." {
			t.Errorf("%s: read as %+v", a, r)
		}
	}
}

// world is a network of hosts with certificates, all of them one handler.
type world struct {
	*httptest.Server
	mu     sync.Mutex
	dialed []string
	asked  map[string]http.Header // by host, of the last call
}

func newWorld(t *testing.T, status int, to string) (*world, *Client) {
	t.Helper()
	w := &world{asked: map[string]http.Header{}}
	f := &fake{session: "s1", answer: func(rw http.ResponseWriter, _ *http.Request, m message) { reply(rw, m, okResult) }}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked[r.Host] = r.Header.Clone()
		w.mu.Unlock()
		if r.Host == "mcp.test" && r.URL.Path == "/mcp" {
			rw.Header().Set("Location", to)
			rw.WriteHeader(status)
			return
		}
		f.ServeHTTP(rw, r)
	}))
	cert, roots := certificate(t, "mcp.test", "evil.test")
	w.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	w.StartTLS()
	t.Cleanup(w.Close)
	g := guard.New(guard.Config{Resolver: w, Dial: w.dial, Roots: roots})
	return w, &Client{HTTP: Guarded(g)}
}

func (w *world) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, address)
	w.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, w.Listener.Addr().String())
}

func certificate(t *testing.T, hosts ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: hosts, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

func redirected(t *testing.T, c mcpCase) {
	w, client := newWorld(t, int(c.Input.Redirect[0].(float64)), c.Input.Redirect[1].(string))
	st := at("https://mcp.test/mcp")
	st.Headers = []events.ServerHeader{{Name: "Authorization", Secret: true}, {Name: "X-Key", Secret: true}}
	list := []events.ServerTool{{Name: "a", Schema: json.RawMessage(`{}`)}}
	tool := client.Tools(Server{State: st, Tools: list}, map[string]string{"Authorization": "Bearer s", "X-Key": "k"}, free)[0]
	r := tool.Run(t.Context(), tools.Call{ID: "c1"})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked["mcp.test"].Get("X-Key") != "k" {
		t.Errorf("the server itself was not sent its secret")
	}
	switch c.Expect {
	case "refused":
		want(t, r, events.ToolError, "could not be asked")
		for _, d := range w.dialed {
			if d != "93.184.216.34:443" {
				t.Errorf("%s was dialled", d)
			}
		}
	case "followed":
		if wantOK(t, r, "fine"); w.asked["mcp.test"].Get("Authorization") != "Bearer s" {
			t.Error("the secret was dropped on its own origin")
		}
	default:
		wantOK(t, r, "fine")
		if h := w.asked["evil.test"]; h == nil || h.Get("Authorization") != "" || h.Get("X-Key") != "" {
			t.Errorf("the other host was sent %v", h)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func sessionID(t *testing.T, c mcpCase) {
	for _, id := range []string{c.Input.SessionID, "a b", "é", "\x00", strings.Repeat("a", 1025)} {
		n := 0
		client := &Client{HTTP: func(events.ServerState, map[string]string) (*http.Client, error) {
			return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				n++
				body, _ := io.ReadAll(r.Body)
				rec := httptest.NewRecorder()
				(&fake{}).ServeHTTP(rec, httptest.NewRequest(r.Method, "/", strings.NewReader(string(body))))
				res := rec.Result()
				if strings.Contains(string(body), `"initialize"`) {
					res.Header["Mcp-Session-Id"] = []string{id}
				}
				return res, nil
			})}, nil
		}}
		want(t, one(t, client, at("https://mcp.test/"), "a").Run(t.Context(), tools.Call{ID: "c1"}), events.ToolError, "session id that is none")
		if n != 2 { // the two questions of the handshake, and nothing with that id
			t.Errorf("%d requests", n)
		}
	}
}

func command(t *testing.T, c mcpCase) {
	for _, url := range []string{text1(t, c.Input.Config), "npx x", "stdio:npx", "file:///bin/sh", ""} {
		if _, err := client().List(t.Context(), at(url), nil); err == nil || !strings.Contains(err.Error(), "could not be asked") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
