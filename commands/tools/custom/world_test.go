package custom

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"lembas/commands/tools"
	"lembas/commands/tools/guard"
	"lembas/events"
)

// public is where every name leads that a test gives no address for.
const public = "93.184.216.34"

// seen is one request as it arrived.
type seen struct {
	URL, Method, Body string
	Header            http.Header
}

// world is a network without a network: one server, plain and with TLS, behind
// every name.
type world struct {
	*guard.Client
	dns    map[string][]string
	answer http.HandlerFunc
	mu     sync.Mutex
	seen   []seen
}

func newWorld(t *testing.T, dns map[string][]string, answer http.HandlerFunc) *world {
	t.Helper()
	w := &world{dns: dns, answer: answer}
	open := httptest.NewServer(w)
	t.Cleanup(open.Close)
	cert, roots := certificate(t, "api.test", "evil.test")
	closed := httptest.NewUnstartedServer(w)
	closed.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	closed.StartTLS()
	t.Cleanup(closed.Close)
	w.Client = guard.New(guard.Config{Resolver: w, Roots: roots, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		to := closed
		if strings.HasSuffix(address, ":80") {
			to = open
		}
		return (&net.Dialer{}).DialContext(ctx, network, to.Listener.Addr().String())
	}})
	return w
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.mu.Lock()
	w.seen = append(w.seen, seen{URL: scheme + "://" + r.Host + r.RequestURI, Method: r.Method, Body: string(body), Header: r.Header.Clone()})
	w.mu.Unlock()
	w.answer(rw, r)
}

func (w *world) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	answers, ok := w.dns[host]
	if !ok {
		answers = []string{public}
	}
	var out []netip.Addr
	for _, a := range answers {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// last is the request that arrived last.
func (w *world) last(t *testing.T) seen {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		t.Fatal("nothing was sent")
	}
	return w.seen[len(w.seen)-1]
}

func certificate(t *testing.T, hosts ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, DNSNames: hosts}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	check(t, err)
	c, err = x509.ParseCertificate(der)
	check(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(c)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ok(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "fine")
}

// weather is a tool with nothing wrong.
func weather() events.CustomState {
	return events.CustomState{Slug: "weather", Label: "Weather", Description: "The weather of a place.", Risk: events.RiskRead, Enabled: true,
		Method: "GET", URL: "https://api.test/items/{{id}}", Timeout: 30,
		Parameters: []events.CustomParameter{{Name: "id", Type: "string"}}}
}

func call(t *testing.T, st events.CustomState, secrets map[string]string, client Client, args string) tools.Result {
	t.Helper()
	return New(st, secrets, client).Run(t.Context(), tools.Call{Arguments: json.RawMessage(args)})
}
