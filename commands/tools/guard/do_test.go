package guard

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"lembas/events"
)

var public = map[string][][]string{"a.test": {{"93.184.216.34"}}, "b.test": {{"1.1.1.1"}}}

// trace says what the servers saw: method, address, secret, body length.
func (w *world) trace() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, r := range w.seen {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s://%s%s %s", r.Method, scheme, r.Host, r.URL, r.Header.Get("X-Key")+r.Header.Get("Authorization"))))
	}
	return strings.Join(out, ", ")
}

func TestRedirectsAndSecrets(t *testing.T) {
	for _, c := range []struct {
		name, url, method string
		policy            Redirects
		status            int
		to                string
		within            bool
		want              string
		refused           bool
	}{
		{"same origin keeps all", "https://a.test/x", "POST", FollowSame, 307, "/y", true, "POST https://a.test/x kk, POST https://a.test/y kk", false},
		{"308", "https://a.test/x", "PUT", FollowSame, 308, "https://A.TEST:443/y", true, "PUT https://a.test/x kk, PUT https://a.test/y kk", false},
		{"another host", "https://a.test/x", "POST", FollowSame, 307, "https://b.test/y", false, "POST https://a.test/x kk, POST https://b.test/y", false},
		{"another port", "https://a.test/x", "POST", FollowSame, 307, "https://a.test:8443/y", false, "POST https://a.test/x kk, POST https://a.test:8443/y", false},
		{"another scheme", "https://a.test/x", "POST", FollowSame, 307, "http://a.test/y", false, "POST https://a.test/x kk, POST http://a.test/y", false},
		{"back again", "https://a.test/x", "POST", FollowSame, 307, "https://b.test/y https://a.test/z", false,
			"POST https://a.test/x kk, POST https://b.test/y, POST https://a.test/z", false},
		{"within", "https://a.test/x", "POST", FollowSame, 307, "https://b.test/y", true, "POST https://a.test/x kk", true},
		{"302 would be another request", "https://a.test/x", "POST", FollowSame, 302, "/y", false, "POST https://a.test/x kk", true},
		{"303 too", "https://a.test/x", "GET", FollowSame, 303, "/y", false, "GET https://a.test/x kk", true},
		{"302 of a page", "https://a.test/x", "POST", FollowGet, 302, "/y", false, "POST https://a.test/x kk, GET https://a.test/y kk", false},
		{"a HEAD stays one", "https://a.test/x", "HEAD", FollowGet, 301, "/y", false, "HEAD https://a.test/x kk, HEAD https://a.test/y kk", false},
		{"307 of a page", "https://a.test/x", "POST", FollowGet, 307, "/y", false, "POST https://a.test/x kk, POST https://a.test/y kk", false},
		{"not followed", "https://a.test/x", "POST", FollowNone, 302, "/y", false, "POST https://a.test/x kk", false},
		{"to another scheme", "https://a.test/x", "GET", FollowGet, 302, "file:///etc/passwd", false, "GET https://a.test/x kk", true},
		{"to a user", "https://a.test/x", "GET", FollowGet, 302, "https://u:p@a.test/", false, "GET https://a.test/x kk", true},
		{"backslash", "https://a.test/x", "GET", FollowGet, 302, `/\127.0.0.1/`, false, "GET https://a.test/x kk", true},
		{"legacy spelling", "https://a.test/x", "GET", FollowGet, 302, "//127.1/", false, "GET https://a.test/x kk", true},
		{"metadata", "https://a.test/x", "GET", FollowSame, 308, "http://169.254.169.254/", false, "GET https://a.test/x kk", true},
		{"too many", "http://a.test/x", "GET", FollowGet, 302, strings.Repeat("/y ", 30), false,
			strings.TrimSuffix("GET http://a.test/x kk, "+strings.Repeat("GET http://a.test/y kk, ", MaxHops), ", "), true},
	} {
		w := newWorld(t, public, chain(c.status, strings.Fields(c.to)))
		_, err := w.Do(t.Context(), Request{Method: c.method, URL: c.url, Redirects: c.policy, SameOrigin: c.within, Secret: []string{"x-key"},
			Header: http.Header{"X-Key": {"k"}, "Authorization": {"k"}}, Body: []byte("body")})
		if got := w.trace(); got != c.want || errors.Is(err, ErrRefused) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
		}
	}
}

func TestABodyGoesWithItsMethod(t *testing.T) {
	for _, c := range []struct {
		status int
		want   string
	}{{307, "body/text, body/text"}, {302, "body/text, /"}} {
		var got []string
		redirect := chain(c.status, []string{"/y"})
		w := newWorld(t, public, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got = append(got, string(b)+"/"+r.Header.Get("Content-Type"))
			redirect(w, r)
		})
		_, err := w.Do(t.Context(), Request{Method: "POST", URL: "http://a.test/", Redirects: FollowGet, Body: []byte("body"), Header: http.Header{"Content-Type": {"text"}}})
		if s := strings.Join(got, ", "); err != nil || s != c.want {
			t.Errorf("%d: %q, %v", c.status, s, err)
		}
	}
}

func TestHeadersThatBelongToTheClient(t *testing.T) {
	w := newWorld(t, public, chain(302, nil))
	res, err := w.Do(t.Context(), Request{URL: "http://a.test/", Header: http.Header{"Host": {"evil.test"}, "Content-Length": {"5"}, "Transfer-Encoding": {"chunked"},
		"Connection": {"upgrade"}, "Upgrade": {"websocket"}, "Referer": {"http://x.test/"}, "Proxy-Authorization": {"p"}, "X-Mine": {"1"}}})
	if err != nil || res.Status != 200 {
		t.Fatal(err)
	}
	r := w.seen[0]
	if r.Host != "a.test" || r.ContentLength != 0 || len(r.TransferEncoding) != 0 || r.Header.Get("X-Mine") != "1" ||
		r.Header.Get("Upgrade")+r.Header.Get("Referer")+r.Header.Get("Proxy-Authorization") != "" {
		t.Errorf("sent %v %v", r.Host, r.Header)
	}
	_, err = w.Do(t.Context(), Request{URL: "http://a.test/", Header: http.Header{"X-A": {"a\r\nX-B: c"}}})
	if err == nil || len(w.seen) != 1 {
		t.Errorf("a header of two lines: %v", err)
	}
	if _, err := w.Do(t.Context(), Request{URL: "http://a.test/", Method: "GET /x HTTP/1.1\r\nX:"}); !errors.Is(err, ErrRefused) {
		t.Errorf("a method of two lines: %v", err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	body := strings.Repeat("x", 1000)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 1000 {
		_, _ = z.Write(make([]byte, 10_000))
	}
	_ = z.Close()
	w := newWorld(t, public, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "/br":
			w.Header().Set("Content-Encoding", "br")
			_, _ = w.Write([]byte("x"))
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("x"))
		default:
			_, _ = w.Write([]byte(body))
		}
	})
	for _, c := range []struct {
		path      string
		most      int64
		bytes     int
		truncated bool
	}{{"/", 1000, 1000, false}, {"/", 999, 999, true}, {"/bomb", 5000, 5000, true}, {"/", 0, 1000, false}} {
		res, err := w.Do(t.Context(), Request{URL: "http://a.test" + c.path, MaxBody: c.most})
		if err != nil || len(res.Body) != c.bytes || res.Truncated != c.truncated {
			t.Errorf("%v: %v", c, err)
		}
	}
	for _, path := range []string{"/br", "/cut"} {
		if _, err := w.Do(t.Context(), Request{URL: "http://a.test" + path}); err == nil || errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAServerThatNeverAnswersOrNeverEnds(t *testing.T) {
	for _, first := range []string{"", "x"} {
		w := newWorld(t, public, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, first)
			if first != "" {
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		})
		_, err := w.Do(t.Context(), Request{URL: "http://a.test/", Timeout: 50 * time.Millisecond})
		if err == nil || !strings.Contains(err.Error(), "in time") {
			t.Errorf("%q: %v", first, err)
		}
	}
}

func TestAStoppedRequestSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(t, public, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	if _, err := w.Do(ctx, Request{URL: "http://a.test/"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTheCertificateIsTheHosts(t *testing.T) {
	dns := map[string][][]string{"a.test": {{"93.184.216.34"}}, "other.test": {{"93.184.216.34"}}}
	w := newWorld(t, dns, chain(302, nil))
	if _, err := w.Do(t.Context(), Request{URL: "https://a.test/"}); err != nil {
		t.Error(err)
	}
	if _, err := w.Do(t.Context(), Request{URL: "https://93.184.216.34/"}); err != nil {
		t.Error(err)
	}
	if _, err := w.Do(t.Context(), Request{URL: "https://other.test/"}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("another host's certificate: %v", err)
	}
}

func TestTheTrustedOriginAloneMayBePrivate(t *testing.T) {
	dns := map[string][][]string{"search.test": {{"10.0.0.5"}}, "meta.test": {{"169.254.169.254"}}, "a.test": {{"10.0.0.6"}}}
	for _, c := range []struct{ url, trusted, to, dialled string }{
		{"http://search.test:8080/", "http://search.test:8080/search", "", "10.0.0.5:8080"},
		{"http://search.test:8080/", "http://search.test:8080", "http://search.test:8081/", "10.0.0.5:8080"},
		{"http://search.test:8080/", "http://search.test:8080", "http://a.test/", "10.0.0.5:8080"},
		{"http://search.test:8080/", "", "", ""},
		{"http://a.test/", "http://search.test", "", ""},
		{"http://meta.test/", "http://meta.test", "", ""},
		{"http://127.0.0.1:8888/", "http://127.0.0.1:8888", "", "127.0.0.1:8888"},
	} {
		w := newWorld(t, dns, chain(302, strings.Fields(c.to)))
		_, err := w.Do(t.Context(), Request{URL: c.url, Trusted: c.trusted, Redirects: FollowGet})
		if got := strings.Join(w.dialled, " "); got != c.dialled || errors.Is(err, ErrRefused) != (c.dialled == "" || c.to != "") {
			t.Errorf("%v: dialled %q, %v", c, got, err)
		}
	}
}

func TestTheProxyOfTheEnvironmentIsNotAsked(t *testing.T) {
	// net/http reads the environment once in a process, so it is the setting that is looked at.
	if New(Config{}).transport("").Proxy != nil {
		t.Error("a proxy would be asked")
	}
}

func TestRealSockets(t *testing.T) {
	srv := httptest.NewServer(chain(302, nil))
	defer srv.Close()
	port := srv.Listener.Addr().String()[len("127.0.0.1:"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "127.1", "0", "0.0.0.0", "[::]", "2130706433", "0x7f.1"} {
		if _, err := New(Config{}).Do(t.Context(), Request{URL: "http://" + host + ":" + port}); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", host, err)
		}
	}
	open := New(Config{Private: func() bool { return true }})
	for _, host := range []string{"127.0.0.1", "localhost"} {
		res, err := open.Do(t.Context(), Request{URL: "http://" + host + ":" + port})
		if err != nil || string(res.Body) != "ok" {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range []string{"0", "0.0.0.0", "[::]", "127.1"} {
		if _, err := open.Do(t.Context(), Request{URL: "http://" + host + ":" + port}); !errors.Is(err, ErrRefused) {
			t.Errorf("%s with private addresses open: %v", host, err)
		}
	}
	if _, err := New(Config{}).Do(t.Context(), Request{URL: srv.URL, Trusted: srv.URL}); err != nil {
		t.Error(err)
	}
	srv.Close()
	if _, err := open.Do(t.Context(), Request{URL: srv.URL}); err == nil || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no connection") {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestTheClientForAnSDK(t *testing.T) {
	send := func(w *world, o HTTPOptions, address string) (*http.Response, error) {
		o.URL = "https://a.test/mcp"
		o.Header = http.Header{"x-key": {"k"}}
		c, err := w.HTTP(o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		req, _ := http.NewRequestWithContext(t.Context(), "POST", address, strings.NewReader("body"))
		req.Header.Set("Authorization", "a")
		res, err := c.Do(req)
		if res != nil {
			t.Cleanup(func() { _ = res.Body.Close() })
		}
		return res, err
	}
	for _, c := range []struct {
		name, url string
		status    int
		to, want  string
		refused   bool
	}{
		{"plain", "https://a.test/mcp", 307, "", "POST https://a.test/mcp ka", false},
		{"another origin from the start", "https://b.test/token", 307, "", "POST https://b.test/token", false},
		{"307", "https://a.test/mcp", 307, "/other", "POST https://a.test/mcp ka, POST https://a.test/other ka", false},
		{"out and back", "https://a.test/mcp", 308, "https://b.test/ https://a.test/z", "POST https://a.test/mcp ka, POST https://b.test/, POST https://a.test/z", false},
		{"302", "https://a.test/mcp", 302, "/other", "POST https://a.test/mcp ka", true},
		{"301", "https://a.test/mcp", 301, "/other", "POST https://a.test/mcp ka", true},
		{"303", "https://a.test/mcp", 303, "/other", "POST https://a.test/mcp ka", true},
		{"inwards", "https://a.test/mcp", 307, "http://127.0.0.1/", "POST https://a.test/mcp ka", true},
		{"loopback", "http://127.0.0.1/", 307, "", "", true},
	} {
		w := newWorld(t, public, chain(c.status, strings.Fields(c.to)))
		_, err := send(w, HTTPOptions{}, c.url)
		if got := w.trace(); got != c.want || errors.Is(err, ErrRefused) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
		}
	}
	w := newWorld(t, public, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1000)) })
	for most, want := range map[int64]error{1000: nil, 999: ErrTooLarge, 1: events.ErrTooLarge} {
		res, err := send(w, HTTPOptions{MaxBody: most}, "https://a.test/mcp")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		if !errors.Is(err, want) || int64(len(b)) != most {
			t.Errorf("bound %d: %d bytes, %v", most, len(b), err)
		}
	}
	w = newWorld(t, map[string][][]string{"a.test": {{"10.0.0.1"}}}, chain(307, nil))
	if _, err := send(w, HTTPOptions{Trusted: true}, "https://a.test/mcp"); err != nil {
		t.Error(err)
	}
	if _, err := w.HTTP(HTTPOptions{URL: "npx x"}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}

// FuzzParse: what is accepted has one reading, for us, for net/url and when it
// is read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"http://127.0.0.1/", "https://a.test:443:80/", "http://１２７.0.0.1/", `http://a.test\@b.test/`, "http://[::ffff:7f00:1]/", "http://0x7f.1/", "http://xn--localhost-/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := Parse(raw)
		if err != nil {
			if !errors.Is(err, ErrRefused) {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		again, err := Parse(u.String())
		if err != nil || again.Host != u.Host || again.Scheme != u.Scheme {
			t.Errorf("%q: %v then %v, %v", raw, u, again, err)
		}
		plain, err := url.Parse(u.String())
		if err != nil || plain.Host != u.Host || plain.User != nil || !slices.Contains([]string{"http", "https"}, plain.Scheme) {
			t.Errorf("%q: %v, %v", raw, plain, err)
		}
		if strings.Trim(u.Hostname(), "abcdefghijklmnopqrstuvwxyz0123456789-_.:") != "" || u.Hostname() == "" {
			t.Errorf("%q: host %q", raw, u.Hostname())
		}
	})
}
