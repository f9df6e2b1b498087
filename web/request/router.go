package request

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

// Router adds routes whose handlers return errors, behind the guard it was made
// with.
type Router struct {
	Mux   chi.Router
	Front *Front
}

// Get adds a route that reads; it answers HEAD too.
func (t Router) Get(path string, h Handler) { t.Mux.Get(path, t.Front.Handle(h)) }

// Post adds a route that writes.
func (t Router) Post(path string, h Handler) { t.Mux.Post(path, t.Front.Handle(h)) }

// Patch adds a route that changes a part.
func (t Router) Patch(path string, h Handler) { t.Mux.Patch(path, t.Front.Handle(h)) }

// Delete adds a route that removes.
func (t Router) Delete(path string, h Handler) { t.Mux.Delete(path, t.Front.Handle(h)) }

// With gives a router whose routes are behind one more guard.
func (t Router) With(guard func(http.Handler) http.Handler) Router {
	return Router{t.Mux.With(guard), t.Front}
}
