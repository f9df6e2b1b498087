package pages

import (
	"bytes"
	"net/http"

	"lembas/events"
	"lembas/web/auth"
	"lembas/web/request"
	"lembas/web/templates"
)

func (p *Pages) public(r *http.Request, title string) templates.Public {
	s := templates.Public{Title: title, Demo: p.Demo}
	if id, ok := request.Identity(r.Context()); ok {
		s.Theme = id.User.Preferences.Theme
	}
	return s
}

// Login draws the form that asks for e-mail and password.
func (p *Pages) Login(w http.ResponseWriter, r *http.Request, f auth.Form) error {
	settings, err := p.Service.Settings(r.Context())
	if err != nil {
		return err
	}
	v := templates.Login{Public: p.public(r, "Sign in"), Next: f.Next, Email: f.Email, Errors: f.Errors, Signup: settings.Bool("signup")}
	return p.write(w, f.Status, func(b *bytes.Buffer) error { return p.Set.Page(b, "login", v) })
}

// Register draws the form that makes an account.
func (p *Pages) Register(w http.ResponseWriter, r *http.Request, f auth.Form) error {
	settings, err := p.Service.Settings(r.Context())
	if err != nil {
		return err
	}
	admin, err := p.Service.Log.Stream(r.Context(), events.ClaimStream("first-admin"))
	if err != nil {
		return err
	}
	first := admin.Version == 0
	v := templates.Register{Public: p.public(r, "Register"), Next: f.Next, Name: f.Name, Email: f.Email, Errors: f.Errors,
		First: first, Closed: !first && !settings.Bool("signup")}
	return p.write(w, f.Status, func(b *bytes.Buffer) error { return p.Set.Page(b, "register", v) })
}

// ErrorPage shows a problem to a person.
func (p *Pages) ErrorPage(w http.ResponseWriter, r *http.Request, problem *request.Problem) {
	v := templates.ErrorPage{Public: p.public(r, problem.Title), Status: problem.Status, Detail: problem.Detail, Request: problem.Request}
	err := p.write(w, problem.Status, func(b *bytes.Buffer) error { return p.Set.Page(b, "error", v) })
	if err != nil {
		http.Error(w, problem.Title, problem.Status)
	}
}

// offline is what the service worker keeps for when there is no network.
func (p *Pages) offline(w http.ResponseWriter, r *http.Request) error {
	return p.page(w, "offline", templates.Offline{Public: templates.Public{Title: "Offline", Demo: p.Demo}})
}
