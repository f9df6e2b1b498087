package request

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Handler answers a request, or returns an error before it has written
// anything.
type Handler func(w http.ResponseWriter, r *http.Request) error

// ErrorPage shows a problem to a person. It writes the status and the page.
type ErrorPage interface {
	ErrorPage(w http.ResponseWriter, r *http.Request, p *Problem)
}

// Front is what stands before all routes. Fields are set once.
type Front struct {
	Policy Policy
	Auth   Authenticator
	Log    *slog.Logger
	// Page shows errors to people; nil answers all with problem documents.
	Page ErrorPage
	// NewID makes correlation ids.
	NewID func() string
	// IsRoute says whether the router has the request's method and path; nil
	// says yes. What is no route changes nothing, so that a wrong verb is 405
	// and not a question of origin.
	IsRoute func(r *http.Request) bool
}

// Handle adapts a handler: its error becomes the answer.
func (f *Front) Handle(h Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			f.Error(w, r, err)
		}
	}
}

// Error answers with what an error means: a problem document, the error page,
// or the way to the login page.
func (f *Front) Error(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // nobody is there to read an answer
	}
	p := *Classify(err)
	if p.Status >= http.StatusInternalServerError {
		p.Request = Correlation(r.Context())
		f.Log.LogAttrs(r.Context(), slog.LevelError, "request failed", slog.String("request", p.Request),
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", p.Status), slog.Any("error", err))
	}
	p.SetHeaders(w.Header())
	switch {
	case f.Page == nil || !WantsPage(r):
		WriteProblem(w, &p)
	case p.Status == http.StatusUnauthorized && (r.Method == http.MethodGet || r.Method == http.MethodHead) && !strings.HasPrefix(r.URL.Path, "/auth/"):
		http.Redirect(w, r, "/auth/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
	default:
		f.Page.ErrorPage(w, r, &p)
	}
}

// SetHeaders sets the headers that belong to a problem.
func (p *Problem) SetHeaders(h http.Header) {
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if p.Allow != "" {
		h.Set("Allow", p.Allow)
	}
}

// WriteProblem writes a problem document.
func WriteProblem(w http.ResponseWriter, p *Problem) {
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may be gone
}

// JSON answers with a JSON value.
func JSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
	return nil
}

// WantsPage says whether a failure is shown as a page. Everything that a
// program reads gets a problem document: the API, streams, htmx and scripts.
func WantsPage(r *http.Request) bool {
	for _, prefix := range []string{"/api/", "/events", "/healthz", "/readyz", "/metrics"} {
		if strings.HasPrefix(r.URL.Path, prefix) {
			return false
		}
	}
	if r.Header.Get("HX-Request") == "true" || IsJSON(r) {
		return false
	}
	accept := r.Header.Get("Accept")
	return accept == "" || strings.Contains(accept, "text/html") || strings.Contains(accept, "*/*")
}

// IsJSON says whether a request carries JSON or asks for it alone.
func IsJSON(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(strings.ToLower(kind)) == "application/json" || r.Header.Get("Accept") == "application/json"
}
