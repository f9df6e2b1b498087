package push

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"lembas/commands"
	"lembas/commands/tools/guard"
	"lembas/events"
	"lembas/events/store"
)

// plain is a hasher that costs nothing.
type plain struct{}

func (plain) Hash(_ context.Context, p string) (string, error)    { return "h:" + p, nil }
func (plain) Verify(_ context.Context, h, p string) (bool, error) { return h == "h:"+p, nil }

// message is one that a push service took in.
type message struct {
	path, text     string
	header         http.Header
	claims         claims
	trouble, opens error
}

// world is an instance with a chat, and a push service that opens what it gets
// with the browsers' keys.
type world struct {
	*commands.Service
	t       *testing.T
	log     *store.Store
	service *httptest.Server
	sender  *Sender
	keys    *Keys
	words   bytes.Buffer // the log for people
	ann     commands.Caller
	start   time.Time

	mu       sync.Mutex // guards what follows
	browsers map[string]*ecdh.PrivateKey
	statuses map[string][]int // of a path, in turn; then 201
	got      []message
	waited   []time.Duration
	wait     func(time.Duration) error
	now      time.Time
}

var auth = []byte("sixteen bytes ok")

func newWorld(t *testing.T, private bool) *world {
	t.Helper()
	log, s := newLog(t)
	w := &world{t: t, log: log, browsers: map[string]*ecdh.PrivateKey{}, statuses: map[string][]int{}, start: time.Now()}
	w.now = w.start
	w.Service = &commands.Service{Log: log, Secrets: s, Passwords: plain{}, Now: w.clock, NewID: func() string { return ulid.Make().String() }}
	check(t, w.Open(t.Context(), "test"))
	keys, err := EnsureKeys(t.Context(), log, s)
	check(t, err)
	w.keys = keys
	w.service = httptest.NewTLSServer(http.HandlerFunc(w.serve))
	w.service.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(w.service.Close)
	roots := x509.NewCertPool()
	roots.AddCert(w.service.Certificate())
	w.sender = New(Options{Service: w.Service, Keys: keys, Logger: slog.New(slog.NewTextHandler(&w.words, nil)), Now: w.clock, Wait: w.sleep,
		Contact: "https://chat.example.test", Client: guard.New(guard.Config{Roots: roots, Private: func() bool { return private }})})
	t.Cleanup(w.sender.Close)
	r, _, err := w.Register(t.Context(), commands.Caller{}, commands.Register{Email: "ann@example.test", Password: "correct horse"})
	check(t, err)
	w.ann = w.signIn(r.User)
	return w
}

func (w *world) signIn(user string) commands.Caller {
	_, id, err := w.OpenSession(w.t.Context(), commands.Caller{User: user}, "x")
	check(w.t, err)
	return commands.Caller{User: user, Session: id.Session}
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// sleep moves the clock, after what the test wants to happen meanwhile.
func (w *world) sleep(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	wait := w.wait
	w.waited, w.now = append(w.waited, d), w.now.Add(d)
	w.mu.Unlock()
	if wait != nil {
		return wait(d)
	}
	return ctx.Err()
}

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	m := message{path: r.URL.Path, header: r.Header}
	text, err := open(body, w.browsers[r.URL.Path], auth)
	m.text, m.opens = string(text), err
	var key string
	if m.claims, key, m.trouble = verify(r.Header.Get("Authorization")); m.trouble == nil && key != w.keys.Public() {
		m.trouble = errors.New("another key")
	}
	w.got = append(w.got, m)
	status := http.StatusCreated
	if next := w.statuses[r.URL.Path]; len(next) > 0 {
		status, w.statuses[r.URL.Path] = next[0], next[1:]
	}
	if status == http.StatusTooManyRequests {
		rw.Header().Set("Retry-After", "60")
	}
	if status == http.StatusFound {
		rw.Header().Set("Location", "https://"+r.Host+"/elsewhere")
	}
	rw.WriteHeader(status)
}

// browser subscribes one, whose push service gives these answers first.
func (w *world) browser(c commands.Caller, path string, statuses ...int) string {
	w.t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	check(w.t, err)
	w.mu.Lock()
	w.browsers[path], w.statuses[path] = key, statuses
	w.mu.Unlock()
	encode := base64.RawURLEncoding.EncodeToString
	made, _, err := w.SubscribePush(w.t.Context(), c, commands.Subscribe{Endpoint: w.service.URL + path,
		P256dh: encode(key.PublicKey().Bytes()), Auth: encode(auth)})
	check(w.t, err)
	return made.ID
}

func (w *world) append(stream string, payloads ...events.Payload) {
	w.t.Helper()
	var list []events.New
	for _, p := range payloads {
		list = append(list, events.New{Payload: p})
	}
	_, err := w.log.Append(context.WithoutCancel(w.t.Context()), events.Batch{Actor: events.Actor{Kind: events.System, ID: "loop"},
		Parts: []events.Part{{Stream: stream, Events: list}}})
	check(w.t, err)
}

// ask puts a card into a chat of ann's and gives its event.
func (w *world) ask(id string, life time.Duration) *events.Envelope {
	w.t.Helper()
	stream := events.ChatStream("c-" + id)
	w.append(stream, events.ChatCreated{Chat: "c-" + id, Owner: w.ann.User, Kind: "chat"},
		events.ConsentRequested{Consent: id, Reply: "r", Kind: events.ConsentApproval, Expires: w.start.Add(life).UTC().Format(time.RFC3339)})
	for e, err := range w.log.ReadStream(w.t.Context(), stream, 0) {
		check(w.t, err)
		if e.Type == "consent.requested" {
			return &e
		}
	}
	w.t.Fatal("no card")
	return nil
}

// handle lets the sender do all of its work.
func (w *world) handle(e *events.Envelope) {
	w.t.Helper()
	check(w.t, w.sender.Handle(w.t.Context(), e))
	w.sender.work.Wait()
}

func (w *world) paths() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.got {
		out = append(out, m.path)
	}
	slices.Sort(out)
	return out
}

func (w *world) want(paths ...string) {
	w.t.Helper()
	if got := w.paths(); !slices.Equal(got, paths) {
		w.t.Errorf("messages to %q, want %q", got, paths)
	}
}

func (w *world) reasons() (out []string) {
	for e, err := range w.log.Read(w.t.Context(), 0) {
		check(w.t, err)
		p, err := events.Decode(&e)
		check(w.t, err)
		if p, ok := p.(events.PushUnsubscribed); ok {
			out = append(out, p.Push+" "+p.Reason)
		}
	}
	return out
}

func TestABrowserIsTold(t *testing.T) {
	w := newWorld(t, true)
	w.browser(w.ann, "/a")
	w.browser(w.ann, "/b")
	bob, _, err := w.Register(t.Context(), commands.Caller{}, commands.Register{Email: "bob@example.test", Password: "correct horse"})
	check(t, err)
	w.browser(w.signIn(bob.User), "/bob")
	e := w.ask("x1", time.Hour)
	w.handle(e)
	w.want("/a", "/b")
	for _, m := range w.got {
		if m.opens != nil || m.text != "waiting" {
			t.Errorf("%s opens as %q, %v", m.path, m.text, m.opens)
		}
		if m.trouble != nil || m.claims.Aud != w.service.URL || m.claims.Sub != "https://chat.example.test" ||
			m.claims.Exp <= w.start.Unix() || m.claims.Exp > w.start.Add(24*time.Hour).Unix() {
			t.Errorf("%s is signed with %+v, %v", m.path, m.claims, m.trouble)
		}
		ttl, err := strconv.Atoi(m.header.Get("TTL"))
		if err != nil || ttl < 3590 || ttl > 3600 || m.header.Get("Topic") != "waiting" || m.header.Get("Urgency") != "high" ||
			m.header.Get("Content-Encoding") != "aes128gcm" {
			t.Errorf("%s has %v", m.path, m.header)
		}
	}
	w.handle(e) // comes again
	w.want("/a", "/b")
	w.handle(w.ask("x2", time.Hour))
	w.want("/a", "/a", "/b", "/b")
}

func TestNobodyIsToldOfACardThatIsOver(t *testing.T) {
	w := newWorld(t, true)
	w.browser(w.ann, "/a")
	answered, expired, deleted := w.ask("x1", time.Hour), w.ask("x2", -time.Second), w.ask("x3", time.Hour)
	w.append(events.ChatStream("c-x1"), events.ConsentAnswered{Consent: "x1"})
	w.append(events.ChatStream("c-x3"), events.ChatDeleted{})
	for _, e := range []*events.Envelope{answered, expired, deleted} {
		w.handle(e)
	}
	w.want()
}

func TestNobodyIsToldWhoseLoginEnded(t *testing.T) {
	w := newWorld(t, true)
	other := w.signIn(w.ann.User)
	w.browser(w.ann, "/a")
	w.browser(other, "/b")
	_, err := w.RevokeSession(t.Context(), w.ann, other.Session, "revoked")
	check(t, err)
	w.handle(w.ask("x1", time.Hour))
	w.want("/a")
	yes := true
	_, err = w.ChangeUser(t.Context(), commands.Caller{}, w.ann.User, commands.ChangeUser{Disabled: &yes})
	check(t, err)
	w.handle(w.ask("x2", time.Hour))
	w.want("/a")
}

func TestABrowserThatIsGoneIsTakenAway(t *testing.T) {
	w := newWorld(t, true)
	a, b := w.browser(w.ann, "/a", http.StatusGone), w.browser(w.ann, "/b", http.StatusNotFound)
	w.browser(w.ann, "/c", http.StatusBadRequest) // our fault, or the service's: it stays
	w.handle(w.ask("x1", time.Hour))
	got := w.reasons()
	slices.Sort(got)
	if want := []string{a + " gone", b + " gone"}; !slices.Equal(got, want) {
		t.Errorf("ended %q, want %q", got, want)
	}
	w.handle(w.ask("x2", time.Hour))
	w.want("/a", "/b", "/c", "/c")
	if len(w.waited) != 0 {
		t.Errorf("waited %v", w.waited)
	}
}

func TestABusyServiceIsTriedAgain(t *testing.T) {
	w := newWorld(t, true)
	w.browser(w.ann, "/a", 503, 429, 500)
	w.browser(w.ann, "/b")
	w.handle(w.ask("x1", time.Hour))
	w.want("/a", "/a", "/a", "/a", "/b")
	if want := []time.Duration{waits[0], time.Minute, waits[2]}; !slices.Equal(w.waited, want) {
		t.Errorf("waited %v, want %v", w.waited, want)
	}
}

func TestTriesEnd(t *testing.T) {
	busy := []int{500, 500, 500, 500, 500, 500, 500, 500}
	for name, c := range map[string]struct {
		life  time.Duration
		wait  func(*world)
		tries int
	}{
		"after all of them":     {time.Hour, nil, 5},
		"with the card's life":  {20 * time.Second, nil, 2},
		"with its answer":       {time.Hour, func(w *world) { w.append(events.ChatStream("c-x1"), events.ConsentAnswered{Consent: "x1"}) }, 1},
		"with the subscription": {time.Hour, func(w *world) { _, _ = w.UnsubscribePush(t.Context(), w.ann, w.told()) }, 1},
		"with the server":       {time.Hour, func(w *world) { w.sender.stop() }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, true)
			w.browser(w.ann, "/a", busy...)
			w.wait = func(time.Duration) error {
				if c.wait != nil {
					c.wait(w)
				}
				return w.sender.ctx.Err()
			}
			w.handle(w.ask("x1", c.life))
			if got := w.paths(); len(got) != c.tries {
				t.Errorf("%d tries, want %d", len(got), c.tries)
			}
			if len(w.waited) > 0 && w.waited[len(w.waited)-1] > c.life {
				t.Errorf("waited %v for a card that lives %v", w.waited, c.life)
			}
			if strings.Contains(w.words.String(), w.service.URL) {
				t.Errorf("the log says %s", w.words.String())
			}
		})
	}
}

// told is the one subscription of ann's.
func (w *world) told() string {
	targets, _, err := w.PushTargets(w.t.Context(), w.ann.User)
	check(w.t, err)
	return targets[0].ID
}

func TestTheGuardAndRedirects(t *testing.T) {
	w := newWorld(t, false) // the service is at a private address
	w.browser(w.ann, "/a-secret-path")
	w.handle(w.ask("x1", time.Hour))
	w.want()
	if got := w.words.String(); !strings.Contains(got, "not asked") || strings.Contains(got, "a-secret-path") {
		t.Errorf("the log says %q", got)
	}
	w = newWorld(t, true)
	w.browser(w.ann, "/a", http.StatusFound)
	w.handle(w.ask("x1", time.Hour))
	w.want("/a")
}

// broken is a network that says too much.
type broken struct{}

func (broken) Do(_ context.Context, r guard.Request) (*guard.Response, error) {
	return nil, errors.New("Post \"" + r.URL + "\": connection reset")
}

func TestAnEndpointIsNotLogged(t *testing.T) {
	w := newWorld(t, true)
	w.browser(w.ann, "/a-secret-path")
	w.sender.o.Client = broken{}
	w.handle(w.ask("x1", time.Hour))
	if got := w.words.String(); !strings.Contains(got, "connection reset") || strings.Contains(got, "a-secret-path") {
		t.Errorf("the log says %q", got)
	}
}

// TestAnEventThatWasCutShortComesAgain: the server ends in the first try.
func TestAnEventThatWasCutShortComesAgain(t *testing.T) {
	w := newWorld(t, true)
	w.browser(w.ann, "/a")
	e := w.ask("x1", time.Hour)
	ended, end := context.WithCancel(t.Context())
	end()
	if err := w.sender.Handle(ended, e); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	w.want()
	w.handle(e)
	w.want("/a")
}

// TestASubscriptionWithoutItsSecret ends: an import has none.
func TestASubscriptionWithoutItsSecret(t *testing.T) {
	w := newWorld(t, true)
	w.append(events.UserStream(w.ann.User), events.PushSubscribed{Push: "lost", Host: "push.example.test", Session: w.ann.Session})
	w.handle(w.ask("x1", time.Hour))
	if got := w.reasons(); !slices.Equal(got, []string{"lost gone"}) {
		t.Errorf("ended %q", got)
	}
}

func TestEventsThatAreNotCards(t *testing.T) {
	w := newWorld(t, true)
	for _, e := range []*events.Envelope{{Stream: "chat/x", Type: "consent.requested", TypeVersion: 1, Data: []byte("{")}, {Stream: "user/x", Type: "no.such"}} {
		check(t, w.sender.Handle(t.Context(), e))
	}
}
