package static_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lembas/web/static"
)

func newFiles(t *testing.T) *static.Files {
	t.Helper()
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func get(t *testing.T, h http.Handler, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func url(t *testing.T, files *static.Files, name string) string {
	t.Helper()
	address, err := files.URL(name)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func TestHandler(t *testing.T) {
	files := newFiles(t)
	tokens := url(t, files, "css/tokens.css")
	old := "/static/0000000000000000/css/tokens.css"
	for _, c := range []struct {
		name, method, path, cache string
		status                    int
	}{
		{"present", "GET", tokens, "public, max-age=31536000, immutable", 200},
		{"head", "HEAD", tokens, "public, max-age=31536000, immutable", 200},
		{"of an older release", "GET", old, "no-cache", 200},
		{"unknown", "GET", strings.Replace(tokens, "tokens", "nothing", 1), "", 404},
		{"a folder", "GET", strings.TrimSuffix(tokens, "tokens.css"), "", 404},
		{"a way up", "GET", strings.Replace(tokens, "css/", "css/../static.go?", 1), "", 404},
		{"source", "GET", strings.Replace(tokens, "css/tokens.css", "static.go", 1), "", 404},
		{"nothing", "GET", "/static/", "", 404},
		{"a write", "POST", tokens, "public, max-age=31536000, immutable", 405},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := get(t, files.Handler(), c.method, c.path)
			if got.StatusCode != c.status {
				t.Fatalf("status %d, want %d", got.StatusCode, c.status)
			}
			if c.status == 200 && (got.Header.Get("Cache-Control") != c.cache || got.Header.Get("X-Content-Type-Options") != "nosniff" || got.Header.Get("Content-Type") != "text/css; charset=utf-8") {
				t.Errorf("headers %v", got.Header)
			}
		})
	}
}

func TestHandlerCompressesAndRevalidates(t *testing.T) {
	files := newFiles(t)
	name := "css/tokens.css"
	plain, err := files.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	got := get(t, files.Handler(), "GET", url(t, files, name), "Accept-Encoding", "br, gzip")
	if got.Header.Get("Content-Encoding") != "gzip" || got.Header.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("headers %v", got.Header)
	}
	unpacked, err := gzip.NewReader(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(body, plain) {
		t.Errorf("the unpacked body is not the file: %v", err)
	}
	again := get(t, files.Handler(), "GET", url(t, files, name), "If-None-Match", got.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("status %d for a known ETag", again.StatusCode)
	}
}

func TestURLRefusesUnknownNames(t *testing.T) {
	if address, err := newFiles(t).URL("css/nothing.css"); err == nil {
		t.Errorf("an unknown file has the address %s", address)
	}
}

func TestRoot(t *testing.T) {
	root := newFiles(t).Root()
	for path, kind := range map[string]string{
		"/favicon.svg": "image/svg+xml", "/favicon.ico": "image/png", "/apple-touch-icon.png": "image/png",
		"/sw.js": "text/javascript; charset=utf-8", "/robots.txt": "text/plain; charset=utf-8",
		"/manifest.webmanifest": "application/manifest+json",
	} {
		got := get(t, root, "GET", path)
		if got.StatusCode != 200 || got.Header.Get("Content-Type") != kind || strings.Contains(got.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d, %v", path, got.StatusCode, got.Header)
		}
	}
	if got := get(t, root, "GET", "/other"); got.StatusCode != 404 {
		t.Errorf("/other: %d", got.StatusCode)
	}
}

// TestManifest: an app can be installed only when its icons are there.
func TestManifest(t *testing.T) {
	files := newFiles(t)
	var manifest struct {
		Name     string
		StartURL string `json:"start_url"`
		Display  string
		Icons    []struct{ Src, Sizes, Purpose string }
	}
	if err := json.NewDecoder(get(t, files.Root(), "GET", "/manifest.webmanifest").Body).Decode(&manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Name != "LLeMbas" || manifest.StartURL != "/" || manifest.Display != "standalone" {
		t.Errorf("manifest %+v", manifest)
	}
	sizes := map[string]bool{}
	for _, icon := range manifest.Icons {
		sizes[icon.Sizes+icon.Purpose] = true
		if got := get(t, files.Handler(), "GET", icon.Src); got.StatusCode != 200 {
			t.Errorf("icon %s: %d", icon.Src, got.StatusCode)
		}
	}
	for _, want := range []string{"192x192", "512x512", "512x512maskable"} {
		if !sizes[want] {
			t.Errorf("no icon %s", want)
		}
	}
}

// TestWeight: all styles and scripts of all pages together, compressed one by
// one as they are sent, are at most 120 KB.
func TestWeight(t *testing.T) {
	files := newFiles(t)
	total := 0
	for _, name := range files.Names() {
		if !strings.HasSuffix(name, ".css") && !strings.HasSuffix(name, ".js") {
			continue
		}
		body, err := io.ReadAll(get(t, files.Handler(), "GET", url(t, files, name), "Accept-Encoding", "gzip").Body)
		if err != nil {
			t.Fatal(err)
		}
		total += len(body)
	}
	if total == 0 || total > 120_000 {
		t.Errorf("styles and scripts are %d bytes compressed, at most 120000", total)
	}
	t.Logf("styles and scripts: %d bytes compressed", total)
}
