package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"lembas/commands"
	"lembas/web/api"
	"lembas/web/auth"
	"lembas/web/request"
)

// Pages are the HTML pages and the forms on them.
type Pages interface {
	request.ErrorPage
	auth.Pages
	// Mount adds the pages for signed-in people and those for administrators,
	// all below the guards of the routers it gets.
	Mount(person, admin request.Router)
}

// Streams are the three kinds of followers: of a chat, of a person with some
// chats, and of a page. All are for signed-in people.
type Streams struct {
	Chat, Person, Page request.Handler
}

// Config is what the server is made of. All fields but Ready
// and PushKey are needed.
type Config struct {
	Service  *commands.Service
	Policy   request.Policy
	Log      *slog.Logger
	Sidebar  api.Sidebar
	Accounts api.Accounts
	Markdown api.Markdown
	Waiting  api.Waiting
	Audit    api.Audit
	Blobs    api.Blobs
	Pages    Pages
	Streams  Streams
	// PushKey is the instance's public key for Web Push.
	PushKey string
	// Try sends the requests of HTTP tools that an administrator tries.
	Try commands.TryRequest
	// Static serves /static/HASH/FILE, Fixed the files at conventional names.
	Static, Fixed http.Handler
	// Metrics is the registry that /metrics shows and that requests are
	// counted in.
	Metrics *prometheus.Registry
	// Ready says why the server cannot serve, nil when it can.
	Ready func(context.Context) error
}

// New gives the whole HTTP surface.
func New(c Config) http.Handler {
	front := &request.Front{Policy: c.Policy, Auth: c.Service, Log: c.Log, Page: c.Pages, NewID: c.Service.NewID}
	mux := routes(c, front)
	front.IsRoute = func(r *http.Request) bool { return mux.Match(chi.NewRouteContext(), r.Method, r.URL.Path) }
	return front.Middleware(mux)
}

// notFound and notAllowed answer what is no route.
func notFound(http.ResponseWriter, *http.Request) error { return request.NotFound() }

func notAllowed(mux chi.Routes) request.Handler {
	return func(_ http.ResponseWriter, r *http.Request) error {
		var allow []string
		for _, m := range []string{"GET", "HEAD", "POST", "PATCH", "DELETE"} {
			probe := m
			if m == "HEAD" {
				probe = "GET"
			}
			if mux.Match(chi.NewRouteContext(), probe, r.URL.Path) {
				allow = append(allow, m)
			}
		}
		p := request.Fail(http.StatusMethodNotAllowed, "%s is not possible here.", r.Method)
		p.Allow = strings.Join(allow, ", ")
		return p
	}
}
