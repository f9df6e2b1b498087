package pages_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
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
	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/html"

	"lembas/commands"
	"lembas/events"
	"lembas/events/store"
	"lembas/projections/transcript"
	"lembas/web"
	"lembas/web/api"
	"lembas/web/markdown"
	"lembas/web/pages"
	"lembas/web/pages/view"
	"lembas/web/static"
	"lembas/web/templates"
)

// plain is a vault and a hasher that cost nothing.
type plain struct{ m sync.Map }

func (p *plain) Seal(name string, b []byte) (events.Put, error) {
	p.m.Store(name, string(b))
	return events.Put{Space: "vault", Key: []byte(name), Value: []byte("sealed")}, nil
}

func (p *plain) Open(name string) ([]byte, error) {
	if v, ok := p.m.Load(name); ok && v != "" {
		return []byte(v.(string)), nil
	}
	return nil, events.ErrNotFound
}

func (*plain) Hash(_ context.Context, p string) (string, error)    { return "h:" + p, nil }
func (*plain) Verify(_ context.Context, h, p string) (bool, error) { return h == "h:"+p, nil }

// house is a whole server but for streams, over a log in memory.
type house struct {
	*commands.Service
	t     testing.TB
	log   *store.Store
	http  *httptest.Server
	found []commands.Discovered
	down  error
	// What MCP servers list, and what trying a tool and a search gives.
	listed []events.ServerTool
	try    commands.TryRequest
	search func(query string) (string, error)
	people []string
	pages  *pages.Pages
}

func newHouse(t testing.TB) *house {
	t.Helper()
	log, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, log: log, found: []commands.Discovered{{Name: "small"}, {Name: "<large>", ContextLength: 8192}, {Name: "third"}}}
	secrets := &plain{}
	h.Service = &commands.Service{Log: log, Secrets: secrets, Passwords: secrets, Now: time.Now, NewID: func() string { return ulid.Make().String() },
		Discover: func(context.Context, string, string) ([]commands.Discovered, error) { return h.found, h.down },
		ListTools: func(context.Context, events.ServerState, map[string]string) ([]events.ServerTool, error) {
			return h.listed, h.down
		}}
	h.ok(h.Service.Open(t.Context(), "test"))
	files, err := static.New()
	h.ok(err)
	set, err := templates.New(files)
	h.ok(err)
	md := markdown.New(markdown.Options{})
	title := func(id string) string {
		m, err := h.Model(context.Background(), id)
		if err != nil {
			return ""
		}
		return m.Title()
	}
	p := &pages.Pages{Service: h.Service, Sidebar: lists{h}, Accounts: lists{h}, Views: view.New(md, title, 8<<20), Set: set,
		Try: func(ctx context.Context, st events.CustomState, secrets map[string]string, args json.RawMessage) (commands.Tried, error) {
			return h.try(ctx, st, secrets, args)
		},
		TrySearch: func(_ context.Context, _, query string) (string, error) { return h.search(query) }}
	h.pages = p
	none := func(http.ResponseWriter, *http.Request) error { return nil }
	h.http = httptest.NewServer(web.New(web.Config{Service: h.Service, Log: slog.New(slog.DiscardHandler), Sidebar: lists{h}, Accounts: lists{h},
		Markdown: pipeline{md}, Pages: p, Streams: web.Streams{Chat: none, Person: none, Page: none}, Static: files.Handler(), Fixed: files.Root(),
		Metrics: prometheus.NewRegistry(), Ready: func(context.Context) error { return nil }}))
	t.Cleanup(func() {
		h.http.Close()
		h.ok(log.Close())
	})
	return h
}

type pipeline struct{ *markdown.Renderer }

func (p pipeline) Render(prefix, src string) template.HTML { return p.Renderer.Render(prefix, src) }

func (h *house) ok(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// lists are the read models as scans of the log.
type lists struct{ h *house }

func (lists) Wait(context.Context, events.Position) error { return nil }

func (l lists) List(ctx context.Context, user string, _ int, _ string) (rows []view.Row, next string, at events.Position, err error) {
	for e, err := range l.h.log.Read(ctx, 0) {
		if err != nil {
			return nil, "", 0, err
		}
		if e.Type != "chat.created" {
			continue
		}
		err = l.h.WithChat(ctx, strings.TrimPrefix(e.Stream, "chat/"), func(c *transcript.Chat) error {
			if c.Owner == user && !c.Deleted {
				rows = append(rows, view.Row{ID: c.ID, Title: c.Title, Folder: c.Folder, Updated: c.Updated})
			}
			return nil
		})
		if err != nil {
			return nil, "", 0, err
		}
	}
	return rows, "", l.h.log.Head(), nil
}

func (lists) Chats(context.Context, string, api.ListQuery) ([]api.ChatRow, string, error) {
	return nil, "", nil
}

func (l lists) Accounts(ctx context.Context, q api.ListQuery) (out []commands.User, next string, err error) {
	for _, id := range l.h.people {
		u, err := l.h.User(ctx, id)
		if err != nil {
			return nil, "", err
		}
		if strings.Contains(u.Email, q.Query) {
			out = append(out, u)
		}
	}
	return out, "", nil
}

// human is a person with a browser.
type human struct {
	commands.Caller
	h      *house
	cookie string
}

func (h *house) human(name string) human {
	h.t.Helper()
	r, _, err := h.Register(h.t.Context(), commands.Caller{}, commands.Register{Email: name + "@example.org", Name: name, Password: "correct horse"})
	h.ok(err)
	h.people = append(h.people, r.User)
	c := commands.Caller{User: r.User, Admin: r.Admin}
	cookie, id, err := h.OpenSession(h.t.Context(), c, "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
	h.ok(err)
	c.Session = id.Session
	return human{c, h, cookie}
}

// connect adds an endpoint and gives its id.
func (h *house) connect(c commands.Caller, name, key string) string {
	h.t.Helper()
	u := "http://127.0.0.1:9/v1"
	made, _, err := h.CreateConnection(h.t.Context(), c, commands.PatchConnection{Name: &name, BaseURL: &u, APIKey: &key})
	h.ok(err)
	_, err = h.RefreshConnection(h.t.Context(), c, made.ID)
	h.ok(err)
	return made.ID
}

func (h *house) append(chat string, payloads ...events.Payload) {
	h.t.Helper()
	var list []events.New
	for _, p := range payloads {
		list = append(list, events.New{Payload: p})
	}
	_, err := h.log.Append(context.Background(), events.Batch{Actor: events.Actor{Kind: events.Model, ID: "m"},
		Parts: []events.Part{{Stream: events.ChatStream(chat), Events: list}}})
	h.ok(err)
}

// answer is what the loop writes for a reply.
func (h *house) answer(chat, reply, words string) {
	h.append(chat, events.RoundStarted{Reply: reply, Round: 1},
		events.ReplyChunk{Reply: reply, Round: 1, Kind: events.ChunkContent, Text: words, Cuts: [][2]int64{{0, 5}}},
		events.RoundFinished{Reply: reply, Round: 1, FinishReason: "stop"}, events.ReplyFinished{Reply: reply, Status: events.Complete})
}

// doc is an answer with its document.
type doc struct {
	t      testing.TB
	status int
	header http.Header
	root   *html.Node
	source string
}

// do sends a request as the person's browser does; fields make a form.
func (u human) do(method, path string, fields ...string) doc {
	u.h.t.Helper()
	var body io.Reader
	if method != "GET" {
		v := url.Values{}
		for i := 0; i+1 < len(fields); i += 2 {
			v.Add(fields[i], fields[i+1])
		}
		body = strings.NewReader(v.Encode())
	}
	r, err := http.NewRequest(method, u.h.http.URL+path, body)
	u.h.ok(err)
	if u.cookie != "" {
		r.AddCookie(&http.Cookie{Name: "lembas_session", Value: u.cookie})
	}
	r.Header.Set("Accept", "text/html")
	if method != "GET" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", u.h.http.URL)
		r.Header.Set("HX-Request", "true")
	}
	client := *u.h.http.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(r)
	u.h.ok(err)
	defer resp.Body.Close()
	source, err := io.ReadAll(resp.Body)
	u.h.ok(err)
	root, err := html.Parse(strings.NewReader(string(source)))
	u.h.ok(err)
	return doc{u.h.t, resp.StatusCode, resp.Header, root, string(source)}
}

func (u human) get(path string) doc { u.h.t.Helper(); return u.do("GET", path) }

// is checks the status.
func (d doc) is(status int) doc {
	d.t.Helper()
	if d.status != status {
		d.t.Fatalf("status %d, want %d: %.600s", d.status, status, d.source)
	}
	return d
}

// all finds elements by a path of simple selectors: tag, #id, .class, [attr],
// [attr=value], in any combination without spaces.
func (d doc) all(selector string) []*html.Node {
	nodes := []*html.Node{d.root}
	for _, step := range strings.Fields(selector) {
		var next []*html.Node
		for _, n := range nodes {
			for c := range n.Descendants() {
				if c.Type == html.ElementNode && matches(c, step) && !slices.Contains(next, c) {
					next = append(next, c)
				}
			}
		}
		nodes = next
	}
	return nodes
}

func matches(n *html.Node, simple string) bool {
	for simple != "" {
		end := strings.IndexAny(simple[1:], "#.[") + 1
		if end == 0 {
			end = len(simple)
		}
		if simple[0] == '[' {
			end = strings.IndexByte(simple, ']') + 1
		}
		part := simple[:end]
		simple = simple[end:]
		switch part[0] {
		case '#':
			if attr(n, "id") != part[1:] {
				return false
			}
		case '.':
			if !slices.Contains(strings.Fields(attr(n, "class")), part[1:]) {
				return false
			}
		case '[':
			name, value, eq := strings.Cut(strings.Trim(part, "[]"), "=")
			if !has(n, name) || eq && attr(n, name) != value {
				return false
			}
		default:
			if n.Data != part {
				return false
			}
		}
	}
	return true
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func words(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// one is the text of the one element that a selector finds.
func (d doc) one(selector string) string {
	d.t.Helper()
	return words(d.node(selector))
}

func (d doc) node(selector string) *html.Node {
	d.t.Helper()
	found := d.all(selector)
	if len(found) != 1 {
		d.t.Fatalf("%q finds %d elements in %.1500s", selector, len(found), d.source)
	}
	return found[0]
}

// says checks that the one element has a text.
func (d doc) says(selector, text string) doc {
	d.t.Helper()
	if got := d.one(selector); !strings.Contains(got, text) {
		d.t.Errorf("%q says %q, not %q", selector, got, text)
	}
	return d
}

// lacks checks that nothing is found.
func (d doc) lacks(selector string) doc {
	d.t.Helper()
	if n := len(d.all(selector)); n != 0 {
		d.t.Errorf("%q finds %d elements", selector, n)
	}
	return d
}

// chat makes a chat with turns that are answered.
func (u human) chat(turns int) (made commands.Created, messages []string) {
	u.h.t.Helper()
	made, _, err := u.h.CreateChat(u.h.t.Context(), u.Caller, commands.CreateChat{Text: "turn 1"})
	u.h.ok(err)
	messages = []string{made.Message}
	reply := made.Reply
	for i := 2; ; i++ {
		u.h.answer(made.Chat, reply, fmt.Sprintf("answer **%d**", i-1))
		if i > turns {
			made.Reply = reply
			return made, messages
		}
		s, _, err := u.h.SubmitMessage(u.h.t.Context(), u.Caller, made.Chat, fmt.Sprint("turn ", i))
		u.h.ok(err)
		messages, reply = append(messages, s.Message), s.Reply
	}
}
