package api

import (
	"io"
	"net/http"

	"lembas/web/request"
)

// Healthz says that the process answers.
func (a *API) Healthz(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n") // the client may be gone
	return nil
}

// Readyz says whether it can serve, and not why: it is open to everybody.
func (a *API) Readyz(w http.ResponseWriter, r *http.Request) error {
	if a.Ready != nil {
		if err := a.Ready(r.Context()); err != nil {
			return request.Fail(http.StatusServiceUnavailable, "Not ready.")
		}
	}
	return a.Healthz(w, r)
}
