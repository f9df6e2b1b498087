package templates_test

import (
	"bytes"
	"html"
	"net/http"
	"os"
	"strings"
	"testing"

	"lembas/web/static"
	"lembas/web/templates"
)

func newSet(t *testing.T) (*static.Files, *templates.Set) {
	t.Helper()
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	set, err := templates.New(files)
	if err != nil {
		t.Fatal(err)
	}
	return files, set
}

func render(t *testing.T, set *templates.Set, name string, data any) string {
	t.Helper()
	var page bytes.Buffer
	if err := set.Page(&page, name, data); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return page.String()
}

// TestGallery renders every page. With LEMBAS_GALLERY=HOST:PORT it then serves
// them for the eye: /NAME, with ?theme=moria|shire, until it is interrupted.
func TestGallery(t *testing.T) {
	files, set := newSet(t)
	pages := map[string]string{}
	for name, data := range samplePages() {
		kind, _, _ := strings.Cut(name, "-")
		pages[name] = render(t, set, kind, data)
	}
	addr := os.Getenv("LEMBAS_GALLERY")
	if addr == "" {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/static/", files.Handler())
	for _, path := range []string{"/favicon.svg", "/manifest.webmanifest", "/sw.js", "/robots.txt"} {
		mux.Handle(path, files.Root())
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'")
		page = strings.Replace(page, `<html lang="en"`, `<html lang="en" data-theme="`+r.URL.Query().Get("theme")+`"`, 1)
		_, _ = w.Write([]byte(page))
	})
	// A browser's window is at least 500 pixels wide; a frame may be narrower.
	mux.HandleFunc("/narrow/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		src := html.EscapeString("/" + strings.TrimPrefix(r.URL.Path, "/narrow/"))
		_, _ = w.Write([]byte(`<!doctype html><style>body{margin:0;background:#888}iframe{border:0;width:360px;height:100vh;margin-right:20px}</style>` +
			`<iframe src="` + src + `?theme=moria"></iframe><iframe src="` + src + `?theme=shire"></iframe>`))
	})
	t.Log(http.ListenAndServe(addr, mux))
}
