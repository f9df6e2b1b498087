package guard

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// world is a network without a network: names, what was dialled, and one server
// behind every address.
type world struct {
	*Client
	mu      sync.Mutex
	dns     map[string][][]string // one answer per look-up, the last one repeats
	lookups int
	dialled []string
	seen    []*http.Request
	private bool
	answer  http.HandlerFunc
}

// newWorld serves answer at every address that is dialled, with TLS (for a.test
// and b.test) at ports that end in 443.
func newWorld(t *testing.T, dns map[string][][]string, answer http.HandlerFunc) *world {
	t.Helper()
	w := &world{dns: dns, answer: answer}
	srv := httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(srv.Close)
	cert, roots := certificate(t, "a.test", "b.test", "93.184.216.34")
	secure := httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	w.Client = New(Config{Resolver: w, Private: func() bool { return w.private }, Roots: roots,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			w.mu.Lock()
			w.dialled = append(w.dialled, address)
			w.mu.Unlock()
			to := srv
			if strings.HasSuffix(address, "443") {
				to = secure
			}
			return (&net.Dialer{}).DialContext(ctx, network, to.Listener.Addr().String())
		}})
	return w
}

// certificate makes a certificate for the given hosts, which is its own root.
func certificate(t *testing.T, hosts ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
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

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.seen = append(w.seen, r.Clone(context.Background()))
	w.mu.Unlock()
	w.answer(rw, r)
}

func (w *world) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups++
	answers := w.dns[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var out []netip.Addr
	for _, a := range answers[0] {
		out = append(out, netip.MustParseAddr(a))
	}
	if len(answers) > 1 {
		w.dns[host] = answers[1:]
	}
	return out, nil
}

// chain redirects the first requests to the given places, with status.
func chain(status int, to []string) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if len(to) == 0 {
			fmt.Fprint(w, "ok")
			return
		}
		w.Header().Set("Location", to[0])
		w.WriteHeader(status)
		to = to[1:]
	}
}

type ssrfCase struct {
	ID, Expect, Why string
	Input           json.RawMessage
}

func TestCasesOfSSRF(t *testing.T) {
	raw, err := os.ReadFile("../../../testdata/cases/ssrf.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []ssrfCase
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) < 40 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) { runSSRF(t, c) })
	}
}

func runSSRF(t *testing.T, c ssrfCase) {
	var in struct {
		URL       string
		DNS       map[string][][]string
		Redirects []string
	}
	if json.Unmarshal(c.Input, &in.URL) != nil {
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Fatal(err)
		}
	}
	if in.DNS == nil { // what a generous resolver would say
		in.DNS = map[string][][]string{"example.test": {{"93.184.216.34"}}, "foo.localhost": {{"93.184.216.34"}}, "0": {{"93.184.216.34"}}}
	}
	w := newWorld(t, in.DNS, chain(302, in.Redirects))
	res, err := w.Do(t.Context(), Request{URL: in.URL, Redirects: FollowGet})
	switch c.Expect {
	case "refuse":
		if !errors.Is(err, ErrRefused) || len(w.dialled) != 0 {
			t.Errorf("%s: error %v, dialled %v", c.Why, err, w.dialled)
		}
		if _, err := newWorld(t, in.DNS, nil).Check(t.Context(), in.URL); !errors.Is(err, ErrRefused) {
			t.Errorf("Check: %v", err)
		}
	case "refuse_hop":
		if !errors.Is(err, ErrRefused) || len(w.dialled) != len(in.Redirects) {
			t.Errorf("%s: error %v, dialled %v", c.Why, err, w.dialled)
		}
	case "allow", "no_private_dial":
		if err != nil || string(res.Body) != "ok" || w.lookups != 1 {
			t.Errorf("%s: error %v, %d look-ups", c.Why, err, w.lookups)
		}
	default:
		t.Fatalf("unknown expectation %q", c.Expect)
	}
	for _, d := range w.dialled {
		if a := netip.MustParseAddrPort(d).Addr(); a.IsLoopback() || a.IsPrivate() {
			t.Errorf("dialled %s", d)
		}
	}
}

func TestMoreAddressesThatAreRefused(t *testing.T) {
	for _, raw := range strings.Fields(`
		http://127.0.0.1./ http://127.0.0.2/ http://2130706433/ http://0177.1/ http://0x7f.0.0.1/ http://127.0.1/ http://00/ http://0.0.0.0:80/
		http://0x/ http://1.1.1.0x1/ http://1.1.1.1.1/ http://256.1.1.1/ http://08.8.8.8/ http://8.8.8.08/ http://134744072/ http://a.123/
		http://10.1.2.3/ http://169.254.169.254/ http://168.63.129.16/ http://100.100.100.200/ http://192.0.0.192/ http://255.255.255.255/
		http://224.0.0.251/ http://240.0.0.1/ http://192.0.2.1/ http://198.51.100.1/ http://203.0.113.9/ http://198.19.255.255/ http://100.127.255.255/
		http://[::ffff:8.8.8.8]/ http://[::ffff:0:127.0.0.1]/ http://[::2]/ http://[64:ff9b::a00:1]/ http://[64:ff9b:1::7f00:1]/ http://[2002:7f00:1::]/
		http://[2002:808:808::]/ http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/ http://[fe80::1]/ http://[fec0::1]/ http://[fd00:ec2::254]/ http://[2001:db8::1]/
		http://[3fff::1]/ http://[5f00::1]/ http://[100::1]/ http://[2606:4700::5efe:7f00:1]/ http://[2606:4700::200:5efe:a00:1]/
		http://[::1 http://[::1]x/ http://[127.0.0.1]/ http://[::1%25]/ http://[fe80::1%eth0]/ http://[]/ http://localhost/ http://LOCALHOST./ http://a.b.LocalHost/
		http://localhost.localdomain/ http://ip6-localhost/ http://metadata.google.internal/ http://METADATA.google.internal./ http://metadata/ http://instance-data/
		http://ⓛocalhost/ http://①②⑦.0.0.1/ http://127｡0｡0｡1/ http://0Ｘ7f.1/ http://loc%61lhost/ http://%31%32%37.0.0.1/ http://a..test/ http://.test/
		http://a℀b.test/ http://xn--/ http://xn--a/ http://a_b!.test/ http://u@example.test/ http://:@example.test/ http://@example.test/ http://example.test:0/
		http://example.test:65536/ http://example.test:-1/ http://example.test:+80/ http://example.test:000080/ http://example.test:25/ http://example.test:6667/
		http:example.test/ http:/example.test/ http:// https:// //example.test/ example.test /etc/passwd ftp://example.test/ ws://example.test/
		javascript:alert(1) data:text/plain,x jar:http://example.test/ http\://example.test/ http://example.test\.evil.test/ http://1.1.1.1&@127.0.0.1/`) {
		refusedBy(t, raw)
	}
	for _, raw := range []string{"", " ", "http://exa mple.test/", "http://example.test/\r\nX: y", "http://example.test/\x00", "http://\u0085.test/", "http://example.test/\xff",
		"http://" + strings.Repeat("a", 64) + ".test/", "http://" + strings.Repeat("a.", 130) + "test/", "http://example.test/" + strings.Repeat("a", 9000), "http://exam\tple.test/"} {
		refusedBy(t, raw)
	}
}

func refusedBy(t *testing.T, raw string) {
	t.Helper()
	w := newWorld(t, map[string][][]string{"example.test": {{"93.184.216.34"}}}, chain(302, nil))
	_, err := w.Do(t.Context(), Request{URL: raw})
	if !errors.Is(err, ErrRefused) || len(w.dialled) != 0 || w.lookups != 0 {
		t.Errorf("%q: error %v, dialled %v, %d look-ups", raw, err, w.dialled, w.lookups)
	}
}

func TestCanonicalAddresses(t *testing.T) {
	for raw, want := range map[string]string{
		" HTTPS://Example.TEST:443/a?b=c#d ":  "https://example.test/a?b=c",
		"http://example.test.:80":             "http://example.test",
		"http://example.test:/x":              "http://example.test/x",
		"http://bücher.test:8080/ä":           "http://xn--bcher-kva.test:8080/%C3%A4",
		"http://ｅxample.test/":                "http://example.test/",
		"http://my_host.example.test/?u=a@b":  "http://my_host.example.test/?u=a@b",
		"http://[2606:4700:0:0::1111]:8080/":  "http://[2606:4700::1111]:8080/",
		"http://8.8.8.8/":                     "http://8.8.8.8/",
		"http://a.test/a b":                   "http://a.test/a%20b",
		"http://a.test/?q=http://127.0.0.1/x": "http://a.test/?q=http://127.0.0.1/x",
	} {
		u, err := Parse(raw)
		if err != nil || u.String() != want {
			t.Errorf("%q: %v, %v, want %s", raw, u, err, want)
		}
	}
}

func TestAnswersOfTheResolver(t *testing.T) {
	for _, c := range []struct {
		answers string
		dialled string
	}{
		{"::ffff:93.184.216.34", "93.184.216.34:80"}, // as net.Resolver gives IPv4
		{"64:ff9b::5db8:d822", "[64:ff9b::5db8:d822]:80"},
		{"2606:4700::1111", "[2606:4700::1111]:80"},
		{"::ffff:127.0.0.1", ""}, {"64:ff9b::7f00:1", ""}, {"2606:4700::1111 ::1", ""}, {"93.184.216.34 10.0.0.1", ""}, {"fe80::1", ""},
		{"2002:7f00:1::", ""}, {"0.0.0.0", ""}, {"::", ""}, {"fd00::1", ""}, {"100.64.0.1", ""}, {"fe80::1%eth0", ""},
	} {
		w := newWorld(t, map[string][][]string{"a.test": {strings.Fields(c.answers)}}, chain(302, nil))
		_, err := w.Do(t.Context(), Request{URL: "http://a.test/"})
		if got := strings.Join(w.dialled, " "); got != c.dialled || (c.dialled == "") != errors.Is(err, ErrRefused) {
			t.Errorf("%s: dialled %q, %v", c.answers, got, err)
		}
		if err != nil && slices.ContainsFunc(strings.Fields(c.answers), func(a string) bool { return strings.Contains(err.Error(), a) }) {
			t.Errorf("the refusal names what a name resolves to: %v", err)
		}
	}
}

func TestPrivateAddressesCanBeOpenedButNotEverything(t *testing.T) {
	open := "127.0.0.1 10.0.0.1 192.168.1.1 172.16.0.1 100.64.0.1 ::1 fd00::1 198.18.0.1 64:ff9b::a00:1 93.184.216.34"
	never := "169.254.169.254 169.254.1.1 fe80::1 0.0.0.0 :: 224.0.0.1 ff02::1 255.255.255.255 fd00:ec2::254 100.100.100.200 168.63.129.16 192.0.2.1 64:ff9b::a9fe:a9fe"
	for _, a := range strings.Fields(open + " " + never) {
		w := newWorld(t, map[string][][]string{"a.test": {{a}}}, chain(302, nil))
		w.private = true
		_, err := w.Do(t.Context(), Request{URL: "http://a.test/"})
		if allowed := slices.Contains(strings.Fields(open), a); allowed != (err == nil) || allowed != (len(w.dialled) == 1) {
			t.Errorf("%s: %v, dialled %v", a, err, w.dialled)
		}
	}
	w := newWorld(t, map[string][][]string{"localhost": {{"127.0.0.1"}}, "metadata.google.internal": {{"10.0.0.1"}}}, chain(302, nil))
	w.private = true
	if _, err := w.Do(t.Context(), Request{URL: "http://localhost:8080/"}); err != nil {
		t.Error(err)
	}
	if _, err := w.Do(t.Context(), Request{URL: "http://metadata.google.internal/"}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	w.private = false // asked on each connection
	if _, err := w.Do(t.Context(), Request{URL: "http://localhost:8080/"}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}
