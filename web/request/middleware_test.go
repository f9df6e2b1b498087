package request

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"lembas/commands"
	"lembas/events"
)

// nobody knows no cookie and no token.
type nobody struct{}

func (nobody) Authenticate(context.Context, string) (commands.Identity, error) {
	return commands.Identity{}, events.ErrNotFound
}

func (nobody) AuthenticateToken(context.Context, string) (commands.Identity, error) {
	return commands.Identity{}, events.ErrNotFound
}

// deadlines is an answer whose connection notes the deadlines for reading.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// slow is a body that does not arrive in time.
type slow struct{}

func (slow) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func serve(h Handler, r *http.Request) *deadlines {
	f := &Front{Auth: nobody{}, Log: slog.New(slog.DiscardHandler), NewID: func() string { return "01ID" }}
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	f.Middleware(f.Handle(h)).ServeHTTP(w, r)
	return w
}

// TestBodyHasADeadline: set before the body is read, and gone while the handler
// works, because it would end the request's context.
func TestBodyHasADeadline(t *testing.T) {
	reads := func(_ http.ResponseWriter, r *http.Request) error {
		var v struct{}
		return Read(r, &v)
	}
	w := serve(reads, httptest.NewRequest("POST", "/", strings.NewReader("{}")))
	if len(w.set) != 2 || w.set[0].IsZero() || !w.set[1].IsZero() {
		t.Errorf("deadlines %v", w.set)
	}
	if w := serve(reads, httptest.NewRequest("GET", "/", nil)); len(w.set) != 0 {
		t.Errorf("a request without a body, such as a stream, has deadlines %v", w.set)
	}
	r := httptest.NewRequest("POST", "/", io.NopCloser(slow{}))
	if w := serve(reads, r); w.Code != http.StatusRequestTimeout {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestWritesByAnotherAddress: an instance that knows its address names it to who
// comes by another one; a foreign site is told nothing of it.
func TestWritesByAnotherAddress(t *testing.T) {
	base, err := url.Parse("https://chat.example.org")
	if err != nil {
		t.Fatal(err)
	}
	f := &Front{Auth: nobody{}, Log: slog.New(slog.DiscardHandler), NewID: func() string { return "01ID" }, Policy: Policy{BaseURL: base}}
	h := f.Middleware(f.Handle(func(http.ResponseWriter, *http.Request) error { return nil }))
	for _, c := range []struct {
		host, origin string
		names        bool
	}{
		{"127.0.0.1:8080", "http://127.0.0.1:8080", true},
		{"chat.example.org", "https://evil.example", false},
	} {
		r := httptest.NewRequest("POST", "http://"+c.host+"/", nil)
		r.Header.Set("Origin", c.origin)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 403 || strings.Contains(w.Body.String(), "takes changes at https://chat.example.org only") != c.names {
			t.Errorf("%s: %d %s", c.host, w.Code, w.Body)
		}
	}
}

// TestErrorsWithoutPages: everybody gets the document.
func TestErrorsWithoutPages(t *testing.T) {
	w := serve(func(http.ResponseWriter, *http.Request) error { return TooMany(1500*time.Millisecond, "slowly") }, httptest.NewRequest("GET", "/", nil))
	if w.Code != 429 || w.Header().Get("Retry-After") != "2" || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// TestCallerKnowsTheRequest: another method, path or body is another request.
func TestCallerKnowsTheRequest(t *testing.T) {
	hash := func(method, path, body string) (out string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Idempotency-Key", "k")
		serve(func(_ http.ResponseWriter, r *http.Request) error {
			c := Caller(r)
			if c.Key != "k" || c.Correlation != "01ID" || c.Address != "192.0.2.1" {
				t.Errorf("%+v", c)
			}
			if again := Caller(r); string(again.Body) != string(c.Body) {
				t.Error("asked twice, another hash")
			}
			if none := CallerWithoutKey(r); none.Key != "" || none.Body != nil {
				t.Errorf("%+v", none)
			}
			out = string(c.Body)
			return nil
		}, r)
		return out
	}
	first := hash("POST", "/a", "{}")
	if first == "" || hash("POST", "/a", "{}") != first {
		t.Error("the same request, another hash")
	}
	for _, other := range []string{hash("PATCH", "/a", "{}"), hash("POST", "/b", "{}"), hash("POST", "/a", "{ }")} {
		if other == first {
			t.Error("another request, the same hash")
		}
	}
}
