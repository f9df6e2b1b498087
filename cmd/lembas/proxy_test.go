package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nginx runs Debian's nginx with deploy/nginx.conf in front of a server: only
// the addresses, the certificate and the port of the server are replaced.
func nginx(t *testing.T, behind string) (address string) {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx" // not on everybody's path
	}
	b, err := os.ReadFile("../../deploy/nginx.conf")
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address = l.Addr().String()
	must(t, l.Close())
	dir := t.TempDir()
	certificate(t, dir)
	site := string(b)
	for old, its := range map[string]string{"listen 443": "listen " + address, "/etc/ssl/chat.example.org": filepath.Join(dir, "its"), "127.0.0.1:8080": strings.TrimPrefix(behind, "http://")} {
		if !strings.Contains(site, old) {
			t.Fatalf("deploy/nginx.conf has no %q", old)
		}
		site = strings.ReplaceAll(site, old, its)
	}
	conf := "daemon off; master_process off; pid nginx.pid; error_log stderr warn;\nevents {}\nhttp {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		conf += kind + "_temp_path " + filepath.Join(dir, kind) + ";\n"
	}
	must(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf+site+"}\n"), 0o600))
	var said bytes.Buffer
	c := exec.Command(program, "-p", dir, "-c", "nginx.conf", "-e", "stderr")
	c.Stdout, c.Stderr = &said, &said
	must(t, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			must(t, conn.Close())
			return address
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("nginx ended with %v: %s", err, said.String())
		case <-tick.C:
		}
	}
}

// certificate writes its.pem and its.key for this machine.
func certificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "its.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "its.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}

// through is a client that comes to the proxy from an address of its own.
func through(t *testing.T, address, from string) *client {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return &client{t: t, url: "https://" + address, http: &http.Client{Transport: &http.Transport{DialContext: d.DialContext, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}} // a certificate of this test
}

// TestBehindNginx: frames of a stream come through as they are sent, the cookie
// knows TLS, and where a person came from is believed of a trusted proxy only.
func TestBehindNginx(t *testing.T) {
	shown := make(chan struct{})
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		says(w, "first")
		select {
		case <-shown: // a proxy that holds it back waits for ever
		case <-r.Context().Done():
			return
		}
		says(w, " last")
		ends(w)
	})
	for _, tc := range []struct {
		name, trusted, cookie, address string
		secure                         bool
	}{
		{"trusted", "127.0.0.1", "__Host-lembas_session", "127.0.0.2", true},
		{"not trusted", "192.0.2.1", "lembas_session", "127.0.0.1", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serveWith(t, []string{"LEMBAS_TRUSTED_PROXIES=" + tc.trusted}, dataDir(t))
			ann := s.person("ann@example.test", true)
			front := through(t, nginx(t, s.url), "127.0.0.2")
			got := front.do("POST", "/auth/login", map[string]any{"email": "ann@example.test", "password": "correct horse battery"},
				"Origin", "https://127.0.0.1", // as a browser says it where the port is 443
				"X-Forwarded-For", "203.0.113.9", "X-Forwarded-Host", "evil.example")
			if got.status != 200 {
				t.Fatalf("signing in: %d %s", got.status, got.body)
			}
			cookies := (&http.Response{Header: got.header}).Cookies()
			if len(cookies) != 1 || cookies[0].Name != tc.cookie || cookies[0].Secure != tc.secure || !cookies[0].HttpOnly {
				t.Errorf("cookies %v", cookies)
			}
			items, _ := ann.want(200, "GET", "/api/v1/sessions", nil)["items"].([]any)
			if len(items) != 1 || text(items[0].(map[string]any)["address"]) != tc.address {
				t.Errorf("sessions %v, want one from %s", items, tc.address)
			}
			if !tc.secure {
				return
			}
			ann.connect(e, "")
			chat, _ := ann.ask("m", "hello")
			front.token = ann.token
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			chunks := 0
			_, err := front.frames(ctx, eventsOf(chat), func(e event) bool {
				if e.typ == "reply.chunk" {
					if chunks++; chunks == 1 {
						close(shown)
					}
				}
				return e.typ != "reply.finished"
			})
			if err != nil || chunks < 2 {
				t.Errorf("through the proxy: %v after %d chunks", err, chunks)
			}
		})
	}
}
