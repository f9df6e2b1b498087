package request

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"lembas/events"
)

// csp lets a page load its own files and nothing else (rows of the cases say
// each word). Styles and scripts are files: nothing inline, nothing evaluated.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; " +
	"connect-src 'self'; media-src 'self' blob:; worker-src 'self'; manifest-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// Headers sets what every answer carries. A handler whose answer may be kept
// replaces Cache-Control.
func Headers(h http.Header) {
	h.Set("Content-Security-Policy", csp)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(self), payment=(), usb=()")
}

// Middleware goes before the whole router: headers, correlation id, host,
// origin, identity, bounds; a panic becomes a 500.
func (f *Front) Middleware(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	if u := f.Policy.BaseURL; u != nil {
		// An origin that net/url could parse into scheme and host is valid.
		_ = cross.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &state{correlation: f.NewID(), secure: f.Policy.Secure(r)}
		if a := f.Policy.Address(r); a.IsValid() {
			s.address = a.String()
		}
		r = r.WithContext(context.WithValue(r.Context(), stateKey{}, s))
		Headers(w.Header())
		w.Header().Set("X-Request-Id", s.correlation)
		rec := &Recorder{ResponseWriter: w}
		defer f.recover(rec, r, time.Now())
		if err := f.admit(rec, r, s, cross); err != nil {
			f.Error(rec, r, err)
			return
		}
		next.ServeHTTP(rec, r)
	})
}

// recover turns a panic into a 500, or, when the answer has begun, cuts the
// connection so that half an answer is not taken for a whole one.
func (f *Front) recover(w *Recorder, r *http.Request, begun time.Time) {
	f.Log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("request", Correlation(r.Context())),
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", w.Status),
		slog.Duration("took", time.Since(begun)))
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	if w.Status != 0 {
		f.Log.LogAttrs(r.Context(), slog.LevelError, "request failed after its answer had begun",
			slog.String("request", Correlation(r.Context())), slog.Any("error", err))
		panic(http.ErrAbortHandler)
	}
	f.Error(w, r, err)
}

// admit refuses what no route wants to see, and finds out who calls.
func (f *Front) admit(w http.ResponseWriter, r *http.Request, s *state, cross *http.CrossOriginProtection) error {
	if r.Method == http.MethodTrace || r.Method == http.MethodConnect {
		p := Fail(http.StatusMethodNotAllowed, "This method is not supported.")
		p.Allow = "GET, HEAD, POST, PATCH, DELETE"
		return p
	}
	if !f.Policy.KnownHost(r) && !isProbe(r) {
		return Fail(http.StatusForbidden, "This instance is not known by that name.")
	}
	if r.ContentLength != 0 {
		// Without it a body that trickles in would hold its goroutine for ever;
		// left on, it would end the request's context while a handler works.
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(bodyTime))
		s.arrived = func() { _ = control.SetReadDeadline(time.Time{}) }
	}
	if err := f.authenticate(r, s); err != nil {
		return err
	}
	if err := f.checkOrigin(r, s, cross); err != nil {
		return err
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		if len(key) > maxKey {
			return Fail(http.StatusBadRequest, "An Idempotency-Key has 1 to %d characters.", maxKey)
		}
		s.key = key
	}
	return nil
}

func isProbe(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// authenticate finds who calls. A token that is not valid is refused at once; a
// cookie that is not valid is nobody, so that the login page can be reached.
func (f *Front) authenticate(r *http.Request, s *state) error {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		id, err := f.Auth.AuthenticateToken(r.Context(), strings.TrimSpace(token))
		if errors.Is(err, events.ErrNotFound) {
			return Unauthorized()
		}
		if err != nil {
			return err
		}
		s.identity = &id
		return nil
	}
	cookie, err := r.Cookie(CookieName(s.secure))
	if err != nil {
		return nil
	}
	id, err := f.Auth.Authenticate(r.Context(), cookie.Value)
	if err == nil {
		s.identity = &id
	} else if !errors.Is(err, events.ErrNotFound) {
		return err
	}
	return nil
}

// checkOrigin is the lock on writes. A token is exempt: no browser adds it by
// itself. With a session the browser must say that our own page sent it.
func (f *Front) checkOrigin(r *http.Request, s *state, cross *http.CrossOriginProtection) error {
	if isRead(r.Method) || (s.identity != nil && s.identity.Token != "") || (f.IsRoute != nil && !f.IsRoute(r)) {
		return nil
	}
	foreign := cross.Check(r) != nil
	if r.Header.Get("Origin") != "" || s.identity != nil {
		foreign = foreign || !f.Policy.SameOrigin(r)
	}
	if base := f.Policy.BaseURL; foreign && base != nil && !strings.EqualFold(r.Host, base.Host) {
		return Fail(http.StatusForbidden, "This instance takes changes at %s://%s only. Nothing was changed.", base.Scheme, base.Host)
	}
	if foreign {
		return Fail(http.StatusForbidden, "This came from another site, or its Origin header is missing. Nothing was changed.")
	}
	return nil
}

func isRead(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
