package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-chi/chi/v5"
	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"lembas/commands"
	"lembas/events"
	"lembas/events/blob"
	"lembas/events/store"
	"lembas/events/vault"
	"lembas/projections"
	"lembas/projections/transcript"
	"lembas/web/api"
	"lembas/web/auth"
	"lembas/web/markdown"
	"lembas/web/request"
)

// plain is a password hasher that costs nothing and counts what it is given.
type plain struct {
	mu   sync.Mutex
	seen int
}

func (p *plain) Hash(_ context.Context, password string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	return "plain:" + password, nil
}

func (p *plain) Verify(_ context.Context, hash, password string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	return hash == "plain:"+password, nil
}

func (p *plain) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// secrets adapts the vault: an empty secret is none.
type secrets struct{ *vault.Vault }

func (s secrets) Seal(name string, b []byte) (events.Put, error) {
	if len(b) == 0 {
		return vault.Delete(name), nil
	}
	return s.Vault.Seal(name, b)
}

// clock is a clock that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// server is a whole instance over a log in memory, with stand-ins for pages and
// streams.
type server struct {
	t         *testing.T
	log       *store.Store
	service   *commands.Service
	passwords *plain
	clock     *clock
	mux       *chi.Mux
	http      *httptest.Server
	discover  commands.Discover
	listTools commands.ListTools
	try       commands.TryRequest
	panics    bool

	mu  sync.Mutex // guards what follows
	set *projections.Set
}

type option func(*Config)

func newServer(t *testing.T, options ...option) *server {
	t.Helper()
	clk := &clock{t: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	log, err := store.Open("data", store.Options{FS: vfs.NewMem(), Now: clk.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	v, err := vault.Open(log, vault.Options{SecretKey: vault.NewKey()})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, log: log, passwords: &plain{}, clock: clk}
	s.service = &commands.Service{Log: log, Secrets: secrets{v}, Now: clk.now, NewID: func() string { return ulid.Make().String() },
		Passwords: s.passwords, Discover: func(ctx context.Context, u, k string) ([]commands.Discovered, error) {
			if s.discover != nil {
				return s.discover(ctx, u, k)
			}
			return []commands.Discovered{{Name: "qwen3", ContextLength: 4096}}, nil
		}, ListTools: func(ctx context.Context, st events.ServerState, secrets map[string]string) ([]events.ServerTool, error) {
			if s.listTools != nil {
				return s.listTools(ctx, st, secrets)
			}
			return []events.ServerTool{{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object"}`), Digest: "1"}}, nil
		}}
	if err := s.service.Open(context.Background(), "test"); err != nil {
		t.Fatal(err)
	}
	lists := lists{s}
	c := Config{Service: s.service, Log: slog.New(slog.DiscardHandler), Sidebar: lists, Accounts: lists, Waiting: lists, Audit: lists, Blobs: blob.New(s.log),
		Markdown: markdown.New(markdown.Options{}), Pages: pages{s}, Streams: Streams{Chat: s.chatStream, Person: s.personStream, Page: s.personStream},
		Static: http.NotFoundHandler(), Fixed: http.NotFoundHandler(), Metrics: prometheus.NewRegistry(),
		Try: func(ctx context.Context, st events.CustomState, secrets map[string]string, args json.RawMessage) (commands.Tried, error) {
			if s.try != nil {
				return s.try(ctx, st, secrets, args)
			}
			return commands.Tried{Request: st.Method + " " + st.URL, Status: events.ToolOK}, nil
		}}
	for _, o := range options {
		o(&c)
	}
	handler := New(c)
	// The router once more, to walk: New gives it behind the front.
	c.Metrics = prometheus.NewRegistry()
	s.mux = routes(c, &request.Front{Log: c.Log})
	s.http = httptest.NewServer(handler)
	t.Cleanup(s.http.Close)
	return s
}

func (s *server) chatStream(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Identity(r.Context())
	return s.service.ViewChat(r.Context(), who.User.ID, chi.URLParam(r, "id"), func(*transcript.Chat) error { return s.personStream(w, r) })
}

func (s *server) personStream(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/event-stream")
	return nil
}

// lists reads whole lists from the log.
type lists struct{ s *server }

func (l lists) payloads(ctx context.Context, fn func(*events.Envelope, events.Payload)) error {
	for e, err := range l.s.log.Read(ctx, 0) {
		if err != nil {
			return err
		}
		p, err := events.Decode(&e)
		if err != nil {
			return err
		}
		fn(&e, p)
	}
	return nil
}

func (l lists) Chats(ctx context.Context, user string, q api.ListQuery) (out []api.ChatRow, next string, err error) {
	err = l.payloads(ctx, func(_ *events.Envelope, p events.Payload) {
		if c, ok := p.(events.ChatCreated); ok && c.Owner == user && strings.Contains(strings.ToLower(c.Title), strings.ToLower(q.Query)) {
			out = append(out, api.ChatRow{ID: c.Chat, Title: c.Title, Kind: c.Kind, Model: c.Model})
		}
	})
	return out[:min(len(out), q.Limit)], "", err
}

func (l lists) Accounts(ctx context.Context, q api.ListQuery) (out []commands.User, next string, err error) {
	var ids []string
	err = l.payloads(ctx, func(_ *events.Envelope, p events.Payload) {
		if u, ok := p.(events.UserRegistered); ok {
			ids = append(ids, u.User)
		}
	})
	for _, id := range ids[:min(len(ids), q.Limit)] {
		u, uerr := l.s.service.User(ctx, id)
		out, err = append(out, u), errors.Join(err, uerr)
	}
	return out, "", err
}

// projected is the stored projections with all that the log has.
func (s *server) projected(ctx context.Context) (*projections.Set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		var err error
		if s.set, err = projections.Open(s.log); err != nil {
			return nil, err
		}
	}
	return s.set, s.set.CatchUp(ctx)
}

func (l lists) Interactions(ctx context.Context, user string) (out []api.Interaction, err error) {
	set, err := l.s.projected(ctx)
	if err != nil {
		return nil, err
	}
	cards, err := set.Consents.Waiting(ctx, user)
	for _, c := range cards {
		out = append(out, api.Interaction{Chat: c.Chat, Title: c.Title, Consent: c.Consent, Kind: c.Kind, Items: c.Items, Since: c.Since, Expires: c.Expires})
	}
	return out, err
}

func (l lists) Audit(ctx context.Context, q projections.AuditQuery) ([]projections.AuditRow, string, error) {
	set, err := l.s.projected(ctx)
	if err != nil {
		return nil, "", err
	}
	return set.Audit.List(ctx, q)
}

// pages stands in for the HTML pages: three routes and the forms.
type pages struct{ s *server }

func (p pages) ErrorPage(w http.ResponseWriter, _ *http.Request, x *request.Problem) {
	p.html(w, x.Status, x.Detail)
}

func (p pages) Login(w http.ResponseWriter, _ *http.Request, f auth.Form) error {
	p.html(w, f.Status, fmt.Sprintf("login %q %v", f.Next, f.Errors))
	return nil
}

func (p pages) Register(w http.ResponseWriter, _ *http.Request, f auth.Form) error {
	p.html(w, f.Status, fmt.Sprintf("register %q %v", f.Next, f.Errors))
	return nil
}

func (p pages) html(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

func (p pages) Mount(person, admin request.Router) {
	person.Get("/", func(w http.ResponseWriter, _ *http.Request) error {
		if p.s.panics {
			panic("secret of the house")
		}
		p.html(w, 200, "new chat")
		return nil
	})
	person.Get("/chat/{id}", func(w http.ResponseWriter, r *http.Request) error {
		who, _ := request.Identity(r.Context())
		return p.s.service.ViewChat(r.Context(), who.User.ID, chi.URLParam(r, "id"), func(c *transcript.Chat) error {
			p.html(w, 200, c.Title)
			return nil
		})
	})
	admin.Get("/admin/users", func(w http.ResponseWriter, _ *http.Request) error {
		p.html(w, 200, "users")
		return nil
	})
}

// actor is somebody with a cookie or a token; nil is anonymous.
type actor struct {
	id     string
	cookie string // name=value
	token  string
}

// answer is what a request led to.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// json decodes the body.
func (a answer) json(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
}

// fields are the names of the members that a problem complains of.
func (a answer) fields(t *testing.T) []string {
	t.Helper()
	var p request.Problem
	a.json(t, &p)
	out := []string{}
	for _, f := range p.Errors {
		out = append(out, f.Field)
	}
	return out
}

// do sends a request: body is nil, text or a value to send as JSON; headers are
// "Name: value" and replace what do sets. "Host: x" sets the host.
func (s *server) do(who *actor, method, path string, body any, headers ...string) answer {
	s.t.Helper()
	var in io.Reader
	kind := ""
	switch b := body.(type) {
	case nil:
	case string:
		in, kind = strings.NewReader(b), "application/json"
	default:
		j, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		in, kind = bytes.NewReader(j), "application/json"
	}
	r, err := http.NewRequest(method, s.http.URL+path, in)
	if err != nil {
		s.t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if who != nil && who.token != "" {
		r.Header.Set("Authorization", "Bearer "+who.token)
	} else if who != nil {
		r.Header.Set("Cookie", who.cookie)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, out}
}

// form posts a form as a browser does from the instance's own page.
func (s *server) form(who *actor, path string, v url.Values, headers ...string) answer {
	s.t.Helper()
	headers = append([]string{"Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin"}, headers...)
	return s.do(who, "POST", path, v.Encode(), headers...)
}

const password = "correct horse"

// register makes an account over HTTP; the first one is the administrator.
func (s *server) register(name string) *actor {
	s.t.Helper()
	a := s.do(nil, "POST", "/auth/register", map[string]string{"email": name + "@example.test", "name": name, "password": password})
	if a.status != 200 {
		s.t.Fatalf("registering %s: %d %s", name, a.status, a.body)
	}
	var got auth.Account
	a.json(s.t, &got)
	return &actor{id: got.ID, cookie: cookieOf(s.t, a)}
}

// cookieOf is the session cookie that an answer sets, as a request sends it.
func cookieOf(t *testing.T, a answer) string {
	t.Helper()
	c := setCookie(t, a)
	return c.Name + "=" + c.Value
}

func setCookie(t *testing.T, a answer) *http.Cookie {
	t.Helper()
	all := (&http.Response{Header: a.header}).Cookies()
	if len(all) != 1 {
		t.Fatalf("%d cookies: %d %s", len(all), a.status, a.body)
	}
	return all[0]
}

func (s *server) token(who *actor, scope string) *actor {
	s.t.Helper()
	a := s.do(who, "POST", "/api/v1/tokens", map[string]string{"name": scope, "scope": scope})
	var got struct{ Token string }
	a.json(s.t, &got)
	if a.status != 201 || got.Token == "" {
		s.t.Fatalf("token: %d %s", a.status, a.body)
	}
	return &actor{id: who.id, token: got.Token}
}

// connect adds a connection with one model.
func (s *server) connect(admin *actor) (connection, model string) {
	s.t.Helper()
	a := s.do(admin, "POST", "/api/v1/connections", map[string]string{"name": "demo", "base_url": "http://endpoint.test/v1", "api_key": "sk-very-secret"})
	var got struct {
		ID     string
		Models []struct{ ID string }
	}
	a.json(s.t, &got)
	if a.status != 201 || len(got.Models) == 0 {
		s.t.Fatalf("connection: %d %s", a.status, a.body)
	}
	return got.ID, got.Models[0].ID
}

// created is a new chat.
type created struct {
	Chat     string          `json:"chat_id"`
	Message  string          `json:"message_id"`
	Reply    string          `json:"reply_id"`
	Position events.Position `json:"position"`
}

func (s *server) chat(who *actor, text string) created {
	s.t.Helper()
	a := s.do(who, "POST", "/api/v1/chats", map[string]string{"text": text})
	var got created
	a.json(s.t, &got)
	if a.status != 201 || got.Chat == "" || got.Position == 0 {
		s.t.Fatalf("chat: %d %s", a.status, a.body)
	}
	return got
}

// reply plays the loop: it answers and ends a reply.
func (s *server) reply(c created, words string) {
	s.t.Helper()
	s.append(events.ChatStream(c.Chat), events.ReplyStarted{Reply: c.Reply, ModelName: "qwen3"}, events.RoundStarted{Reply: c.Reply, Round: 1},
		events.ReplyChunk{Reply: c.Reply, Round: 1, Kind: events.ChunkContent, Text: words, Cuts: [][2]int64{{0, 1}}},
		events.RoundFinished{Reply: c.Reply, Round: 1, FinishReason: "stop"}, events.ReplyFinished{Reply: c.Reply, Status: events.Complete})
}

func (s *server) append(stream string, payloads ...events.Payload) {
	s.t.Helper()
	var all []events.New
	for _, p := range payloads {
		all = append(all, events.New{Payload: p})
	}
	_, err := s.log.Append(context.Background(), events.Batch{Actor: events.Actor{Kind: events.Model, ID: "m"}, Causation: "test",
		Parts: []events.Part{{Stream: stream, Events: all}}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// stored are the events of a type in the whole log.
func (s *server) stored(typ string) (out []events.Envelope) {
	s.t.Helper()
	for e, err := range s.log.Read(context.Background(), 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		if e.Type == typ {
			out = append(out, e)
		}
	}
	return out
}

// routesOf lists what a router answers, as "METHOD /path".
func routesOf(t *testing.T, mux chi.Routes) []string {
	t.Helper()
	var out []string
	err := chi.Walk(mux, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		out = append(out, method+" "+route)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}
