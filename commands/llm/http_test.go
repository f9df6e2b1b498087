package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const hello = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n"

// endpoint starts a server and points e at it. Handlers that wait do so on the request's context, which the server ends
// only when the body has been read.
func endpoint(t testing.TB, e Endpoint, h http.HandlerFunc) *Endpoint {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	e.BaseURL = srv.URL + "/v1"
	return &e
}

func write(w http.ResponseWriter, s string) error {
	_, err := io.WriteString(w, s)
	w.(http.Flusher).Flush()
	return err
}

func stalled(w http.ResponseWriter, r *http.Request) {
	write(w, hello)
	<-r.Context().Done()
}

// drop breaks the connection with a reset.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

func TestTroubleEnds(t *testing.T) {
	for _, tc := range []struct {
		name    string
		e       Endpoint
		h       http.HandlerFunc
		kind    string
		words   string
		content string
	}{
		{"silence before the first byte", Endpoint{FirstByteTimeout: 50 * time.Millisecond},
			func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, KindTimeout, "sent nothing for 50ms", ""},
		{"headers, then silence", Endpoint{FirstByteTimeout: 50 * time.Millisecond},
			func(w http.ResponseWriter, r *http.Request) { write(w, ""); <-r.Context().Done() }, KindTimeout, "sent nothing", ""},
		{"stall", Endpoint{IdleTimeout: 50 * time.Millisecond}, stalled, KindTimeout, "stopped in the middle", "hello"},
		{"trickle", Endpoint{IdleTimeout: 500 * time.Millisecond}, trickle, KindTimeout, "stopped in the middle", "hello"},
		{"never stops", Endpoint{MaxReply: 100 << 10}, func(w http.ResponseWriter, r *http.Request) {
			for write(w, hello) == nil {
			}
		}, KindTooLarge, "limit of 102400 bytes", "hello"},
		{"one endless line", Endpoint{MaxLine: 64 << 10}, func(w http.ResponseWriter, r *http.Request) {
			write(w, hello+"data: {\"x\":\"")
			for write(w, strings.Repeat("x", 4096)) == nil {
			}
		}, KindTooLarge, "line", "hello"},
		{"one endless JSON body", Endpoint{MaxLine: 64 << 10}, func(w http.ResponseWriter, r *http.Request) {
			for write(w, "[\n") == nil {
			}
		}, KindTooLarge, "line", ""},
		{"endless page", Endpoint{}, func(w http.ResponseWriter, r *http.Request) {
			for write(w, "<p>") == nil {
			}
		}, KindNotSSE, "web page", ""},
		{"too many calls", Endpoint{}, func(w http.ResponseWriter, r *http.Request) {
			for i := 0; write(w, fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":%d,\"function\":{\"name\":\"a\"}}]}}]}\n\n", i)) == nil; i++ {
			}
		}, KindTooLarge, "tool calls", ""},
		{"error body that never ends", Endpoint{FirstByteTimeout: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(400)
			write(w, "bad")
			<-r.Context().Done()
		}, KindHTTP, "bad", ""},
		{"redirect without a place", Endpoint{}, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) }, KindHTTP, "304", ""},
		{"redirect that drops the body", Endpoint{}, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }, KindHTTP, "/login", ""},
		{"redirect in a circle", Endpoint{}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}, KindHTTP, "circle", ""},
		{"long error body", Endpoint{}, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			write(w, strings.Repeat("blah\x00\n", 1<<20))
		}, KindHTTP, "blah blah", ""},
		{"bad gzip", Endpoint{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			write(w, "not gzip at all")
		}, KindMalformed, "compressed", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := endpoint(t, tc.e, tc.h).Stream(context.Background(), []byte("{}"), Handler{})
			if err != nil || r.Err == nil {
				t.Fatalf("got %+v, %v", r, err)
			}
			if r.Err.Kind != tc.kind || !strings.Contains(r.Err.Message, tc.words) || !strings.HasPrefix(r.Content, tc.content) || r.FinishReason != "" {
				t.Errorf("got %+v with %.40q, want %s with %q and %q", r.Err, r.Content, tc.kind, tc.words, tc.content)
			}
			if n := len([]rune(r.Err.Message)); n > maxMessage+1 {
				t.Errorf("message of %d characters", n)
			}
		})
	}
}

func trickle(w http.ResponseWriter, r *http.Request) {
	write(w, hello)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for write(w, "x") == nil && r.Context().Err() == nil {
		<-tick.C
	}
}

// TestOpenEnd: once the reply is whole, a connection that stays open, breaks or sends more changes nothing.
func TestOpenEnd(t *testing.T) {
	stop := "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	for name, h := range map[string]http.HandlerFunc{
		"open after DONE":    func(w http.ResponseWriter, r *http.Request) { write(w, hello+done); <-r.Context().Done() },
		"open after finish":  func(w http.ResponseWriter, r *http.Request) { write(w, hello+stop); <-r.Context().Done() },
		"break after finish": func(w http.ResponseWriter, r *http.Request) { write(w, hello+stop); drop(w) },
		"more after DONE":    func(w http.ResponseWriter, r *http.Request) { write(w, hello+done+hello) },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := endpoint(t, Endpoint{IdleTimeout: 100 * time.Millisecond}, h).Stream(context.Background(), nil, Handler{})
			if err != nil || r.Err != nil || r.Content != "hello" || r.FinishReason != FinishStop {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

// TestStop: cancelling ends a reply that would never end, in each state, and keeps what came.
func TestStop(t *testing.T) {
	stop := errors.New("stopped by a person")
	t.Run("while streaming", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		r, err := endpoint(t, Endpoint{}, stalled).Stream(ctx, nil, Handler{Delta: func(Delta) error { cancel(stop); return nil }})
		if !errors.Is(err, stop) || r.Err == nil || r.Err.Kind != KindStopped || r.Content != "hello" {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("before the first byte", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		r, err := endpoint(t, Endpoint{}, func(w http.ResponseWriter, r *http.Request) {
			cancel(stop)
			<-r.Context().Done()
		}).Stream(ctx, []byte("{}"), Handler{})
		if !errors.Is(err, stop) || r.Err == nil || r.Err.Kind != KindStopped {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("while waiting to try again", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		e := endpoint(t, Endpoint{Retry: Retry{Max: 3, Base: time.Hour, MaxWait: time.Hour}}, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) })
		r, err := e.Stream(ctx, nil, Handler{Retry: func(Attempt) { cancel(stop) }})
		if !errors.Is(err, stop) || r.Err == nil || r.Err.Kind != KindStopped || len(r.Attempts) != 1 {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("by the deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		r, err := endpoint(t, Endpoint{}, stalled).Stream(ctx, nil, Handler{})
		if !errors.Is(err, context.DeadlineExceeded) || r.Content != "hello" {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("by the handler", func(t *testing.T) {
		r, err := endpoint(t, Endpoint{}, stalled).Stream(context.Background(), nil, Handler{Delta: func(Delta) error { return stop }})
		if !errors.Is(err, stop) || r.Err == nil || r.Err.Kind != KindStopped || r.Content != "hello" {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

func TestRetry(t *testing.T) {
	answer := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			write(w, `{"error":{"message":"wait","code":"`+w.Header().Get("Code")+`"}}`)
		}
	}
	fine := func(w http.ResponseWriter, r *http.Request) { write(w, hello+done) }
	broken := func(w http.ResponseWriter, r *http.Request) { drop(w) }
	for _, tc := range []struct {
		name     string
		steps    []http.HandlerFunc // one per request, the last for all that follow
		requests int
		kind     string
	}{
		{"503, then fine", []http.HandlerFunc{answer(503), fine}, 2, ""},
		{"429 without Retry-After, then fine", []http.HandlerFunc{answer(429), fine}, 2, ""},
		{"429 with a wait that is short", []http.HandlerFunc{answer(429, "Retry-After-Ms", "5"), fine}, 2, ""},
		{"429 with a wait that is too long", []http.HandlerFunc{answer(429, "Retry-After", "7"), fine}, 1, KindHTTP},
		{"429 that waiting does not cure", []http.HandlerFunc{answer(429, "Code", "insufficient_quota"), fine}, 1, KindHTTP},
		{"500 for ever", []http.HandlerFunc{answer(500)}, 3, KindHTTP},
		{"502 and 504", []http.HandlerFunc{answer(502), answer(504), fine}, 3, ""},
		{"400", []http.HandlerFunc{answer(400), fine}, 1, KindHTTP},
		{"401", []http.HandlerFunc{answer(401), fine}, 1, KindHTTP},
		{"404", []http.HandlerFunc{answer(404), fine}, 1, KindHTTP},
		{"reset before the first byte", []http.HandlerFunc{broken, fine}, 2, ""},
		{"reset between headers and body", []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) { write(w, ""); drop(w) }, fine}, 2, ""},
		{"reset after the first byte", []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) { write(w, "d"); drop(w) }, fine}, 1, KindTransport},
		{"error in the stream", []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) { write(w, "data: {\"error\":\"busy\"}\n\n") }, fine}, 1, KindStream},
		{"empty body", []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {}, fine}, 1, KindEmpty},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var n atomic.Int32
			e := endpoint(t, Endpoint{Retry: Retry{Max: 2, Base: time.Millisecond, MaxWait: 20 * time.Millisecond}}, func(w http.ResponseWriter, r *http.Request) {
				i := int(n.Add(1)) - 1
				body, _ := io.ReadAll(r.Body)
				if string(body) != `{"x":1}` {
					t.Errorf("request %d had body %q", i, body)
				}
				tc.steps[min(i, len(tc.steps)-1)](w, r)
			})
			var seen []Attempt
			r, err := e.Stream(context.Background(), []byte(`{"x":1}`), Handler{Retry: func(a Attempt) { seen = append(seen, a) }})
			kind := ""
			if r.Err != nil {
				kind = r.Err.Kind
			}
			if err != nil || kind != tc.kind || int(n.Load()) != tc.requests {
				t.Errorf("%d requests, %+v, %v; want %d and %q", n.Load(), r.Err, err, tc.requests, tc.kind)
			}
			if len(seen) != tc.requests-1 || len(r.Attempts) != len(seen) {
				t.Fatalf("told of %d retries, result has %d, want %d", len(seen), len(r.Attempts), tc.requests-1)
			}
			for i, a := range seen {
				if a.Number != i+1 || a.Err == nil || a.Wait <= 0 || a.Wait > 20*time.Millisecond {
					t.Errorf("retry %d: %+v", i, a)
				}
			}
		})
	}
}

func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	e := &Endpoint{BaseURL: "http://" + addr, Retry: Retry{Max: 1, Base: time.Millisecond}}
	r, err := e.Stream(context.Background(), nil, Handler{})
	if err != nil || r.Err == nil || r.Err.Kind != KindTransport || len(r.Attempts) != 1 || !strings.Contains(r.Err.Message, "refused") {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestTransportWords(t *testing.T) {
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = quiet()
	tls.StartTLS()
	defer tls.Close()
	clear := httptest.NewServer(http.NotFoundHandler())
	defer clear.Close()
	for base, words := range map[string]string{
		tls.URL: "certificate",
		"https" + strings.TrimPrefix(clear.URL, "http"): "does not speak TLS",
		"http://no-such-host.invalid/v1":                "was not found",
		"http://127.0.0.1:1\x7f":                        "Check it",
	} {
		r, _ := (&Endpoint{BaseURL: base}).Stream(context.Background(), nil, Handler{})
		if r.Err == nil || !strings.Contains(r.Err.Message, words) {
			t.Errorf("%s: got %+v, want %q", base, r.Err, words)
		}
	}
}

// TestKeyStaysHome: the key is sent to its endpoint, to no other origin, and stands in no error.
func TestKeyStaysHome(t *testing.T) {
	key := "sk-a-secret-key-" + strings.Repeat("0123456789", 15) // as long as keys get
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for name, h := range map[string]http.HandlerFunc{
		"echo in JSON": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			write(w, `{"error":{"message":"bad `+r.Header.Get("Authorization")+`","code":"`+key+`"}}`)
		},
		"echo in text": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); write(w, "bad "+key) },
		"echo that is cut": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			write(w, strings.Repeat("x", maxMessage-120)+" "+key)
		},
		"echo in a page":   func(w http.ResponseWriter, r *http.Request) { write(w, "<title>"+key+"</title>") },
		"echo in a stream": func(w http.ResponseWriter, r *http.Request) { write(w, "data: {\"error\":\""+key+"\"}\n\n") },
		"echo as garbage":  func(w http.ResponseWriter, r *http.Request) { write(w, "data: "+key+"\n\n") },
		"redirect 307": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/"+key, http.StatusTemporaryRedirect)
		},
		"redirect 302": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/"+key, http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Value
			e := endpoint(t, Endpoint{APIKey: key}, func(w http.ResponseWriter, r *http.Request) {
				sent.Store(r.Header.Get("Authorization"))
				h(w, r)
			})
			r, _ := e.Stream(context.Background(), []byte("{}"), Handler{})
			_, err := e.Models(context.Background())
			if r.Err == nil || err == nil || sent.Load() != "Bearer "+key {
				t.Fatalf("got %+v, %v, sent %v", r, err, sent.Load())
			}
			if all := fmt.Sprintf("%+v %v %v", *r.Err, r.Warnings, err); strings.Contains(all, key[:12]) { // also a part of it
				t.Errorf("the key is in %s", all)
			}
		})
	}
	if elsewhere.Load() > 0 {
		t.Errorf("%d requests went to another origin", elsewhere.Load())
	}
	bad := &Endpoint{BaseURL: other.URL, APIKey: "sk-line\nbreak"}
	if r, _ := bad.Stream(context.Background(), nil, Handler{}); r.Err == nil || strings.Contains(r.Err.Message, "sk-line") {
		t.Errorf("key with a line break: %+v", r.Err)
	}
}

func TestSameOriginRedirect(t *testing.T) {
	e := endpoint(t, Endpoint{APIKey: "key-1234"}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/chat/completions" {
			http.Redirect(w, r, "/v2/chat/completions", http.StatusPermanentRedirect)
			return
		}
		body, _ := io.ReadAll(r.Body)
		write(w, c(string(body)+" "+r.Header.Get("Authorization"))+done)
	})
	if r, err := e.Stream(context.Background(), []byte("body"), Handler{}); err != nil || r.Content != "body Bearer key-1234" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	if p := NewHTTP().Transport.(*http.Transport).Proxy; p != nil {
		t.Error("the client has a proxy")
	}
}

// TestPatience: once the finish reason is here, the rest of the body is waited for only briefly.
func TestPatience(t *testing.T) {
	e, a := &Endpoint{}, newAssembler(nil, nil)
	if got := e.patience(time.Minute, a); got != time.Minute {
		t.Errorf("in the middle: %v", got)
	}
	a.frame(frame{data: []byte(fin("stop")[len("data: "):])})
	if got := e.patience(time.Minute, a); got != tailTime {
		t.Errorf("at the end: %v", got)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{http.Header{"Retry-After": {" 1.5 "}}, 1500 * time.Millisecond},
		{http.Header{"Retry-After": {"-3"}}, 0},
		{http.Header{"Retry-After": {"soon"}}, 0},
		{http.Header{"Retry-After": {"1e300"}}, 0},
		{http.Header{"Retry-After": {"Sun, 01 Jun 2025 12:00:09 GMT"}}, 9 * time.Second},
		{http.Header{"Retry-After": {"Sun, 01 Jun 2025 11:00:00 GMT"}}, 0},
		{http.Header{"Retry-After": {"Sun, 01 Jun 2025 12:00:09 GMT"}, "Date": {"Sun, 01 Jun 2025 12:00:07 GMT"}}, 2 * time.Second},
		{http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"1"}}, 250 * time.Millisecond},
		{nil, 0},
	} {
		if got := retryAfter(tc.header, now); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.header, got, tc.want)
		}
	}
}
