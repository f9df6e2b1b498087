package static

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// file is one embedded file, and its compressed form once somebody asked.
type file struct {
	body   []byte
	kind   string
	once   sync.Once // guards packed
	packed []byte    // nil when it would not be smaller by a tenth
}

// compressed is made on the first request, not at start.
func (f *file) compressed() []byte {
	f.once.Do(func() {
		var out bytes.Buffer
		w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is a valid constant
		_, _ = w.Write(f.body)                                  // a bytes.Buffer does not fail
		_ = w.Close()
		if out.Len() < len(f.body)*9/10 {
			f.packed = out.Bytes()
		}
	})
	return f.packed
}

// Handler serves /static/HASH/NAME. With the present hash an answer may be kept
// for ever; with an old one, which a page from before an update asks for, the
// present file is served and not kept.
func (f *Files) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hash, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/static/"), "/")
		if hash == f.hash {
			f.serve(w, r, name, "public, max-age=31536000, immutable")
			return
		}
		f.serve(w, r, name, "no-cache")
	})
}

// Root serves the files whose addresses are fixed by convention:
// /favicon.svg, /favicon.ico, /apple-touch-icon.png, /sw.js, /robots.txt and
// /manifest.webmanifest.
func (f *Files) Root() http.Handler {
	names := map[string]string{
		"/favicon.svg": "art/favicon.svg", "/favicon.ico": "art/icon-32.png",
		"/apple-touch-icon.png": "art/apple-touch-icon.png", "/sw.js": "js/sw.js",
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			f.write(w, r, &file{body: []byte("User-agent: *\nDisallow: /\n"), kind: contentType("a.txt")}, "public, max-age=3600")
		case "/manifest.webmanifest":
			f.write(w, r, &file{body: f.manifest(), kind: "application/manifest+json"}, "no-cache")
		default:
			f.serve(w, r, names[r.URL.Path], "no-cache")
		}
	})
}

func (f *Files) serve(w http.ResponseWriter, r *http.Request, name, cache string) {
	file, ok := f.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	f.write(w, r, file, cache)
}

// write answers GET and HEAD, compressed where the client takes it.
func (f *Files) write(w http.ResponseWriter, r *http.Request, file *file, cache string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.kind)
	h.Set("Cache-Control", cache)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	tag := `"` + f.hash + `"`
	h.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := file.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		if packed := file.compressed(); packed != nil {
			body = packed
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the client may be gone
	}
}

// manifest is what a browser needs to install the pages as an app.
func (f *Files) manifest() []byte {
	type icon struct {
		Src     string `json:"src"`
		Sizes   string `json:"sizes"`
		Type    string `json:"type"`
		Purpose string `json:"purpose,omitempty"`
	}
	at := func(name string) string { return "/static/" + f.hash + "/art/" + name }
	body, err := json.MarshalIndent(map[string]any{
		"name": "LLeMbas", "short_name": "LLeMbas", "id": "/", "start_url": "/", "scope": "/", "display": "standalone",
		"description":      "Conversations with language models that survive anything.",
		"background_color": "#13161b", "theme_color": "#13161b",
		"icons": []icon{
			{at("icon-192.png"), "192x192", "image/png", ""},
			{at("icon-512.png"), "512x512", "image/png", ""},
			{at("icon-maskable-512.png"), "512x512", "image/png", "maskable"},
			{at("favicon.svg"), "any", "image/svg+xml", ""},
		},
	}, "", "  ")
	if err != nil {
		panic("static: the manifest is made of strings: " + err.Error())
	}
	return body
}
