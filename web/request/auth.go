package request

import (
	"context"
	"net/http"
	"time"

	"lembas/commands"
	"lembas/events"
)

// Authenticator finds who a cookie or a token stands for, now; an error that
// matches events.ErrNotFound for nobody. *commands.Service is one.
type Authenticator interface {
	Authenticate(ctx context.Context, cookie string) (commands.Identity, error)
	AuthenticateToken(ctx context.Context, token string) (commands.Identity, error)
}

// CookieName is the session cookie's name. The prefix makes browsers refuse it
// from a subdomain or without Secure; on plain http they would drop it.
func CookieName(secure bool) string {
	if secure {
		return "__Host-lembas_session"
	}
	return "lembas_session"
}

// SetCookie gives the browser a session.
func SetCookie(w http.ResponseWriter, r *http.Request, value string) {
	setCookie(w, r, value, int(commands.SessionLife/time.Second))
}

// ClearCookie takes the session from the browser.
func ClearCookie(w http.ResponseWriter, r *http.Request) { setCookie(w, r, "", -1) }

func setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	secure := Secure(r.Context())
	http.SetCookie(w, &http.Cookie{Name: CookieName(secure), Value: value, Path: "/", MaxAge: age,
		Secure: secure, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// User gives who is signed in, or an error that asks to sign in. A token whose
// scope is read may only read.
func User(r *http.Request) (commands.Identity, error) {
	id, ok := Identity(r.Context())
	if !ok {
		return id, Unauthorized()
	}
	if id.Token != "" && id.Scope == events.ScopeRead && !isRead(r.Method) {
		return id, Fail(http.StatusForbidden, "This token has the scope read; writing needs the scope write.")
	}
	return id, nil
}

// Admin gives the administrator who is signed in. For everybody else the route
// does not exist; a token of an administrator needs the scope admin.
func Admin(r *http.Request) (commands.Identity, error) {
	id, err := User(r)
	switch {
	case err != nil:
		return id, err
	case !id.User.Admin:
		return id, NotFound()
	case id.Token != "" && id.Scope != events.ScopeAdmin:
		return id, Fail(http.StatusForbidden, "This needs a token with the scope admin.")
	}
	return id, nil
}

// NeedUser lets only signed-in people through.
func (f *Front) NeedUser(next http.Handler) http.Handler { return f.need(User, next) }

// NeedAdmin lets only administrators through.
func (f *Front) NeedAdmin(next http.Handler) http.Handler { return f.need(Admin, next) }

func (f *Front) need(who func(*http.Request) (commands.Identity, error), next http.Handler) http.Handler {
	return f.Handle(func(w http.ResponseWriter, r *http.Request) error {
		if _, err := who(r); err != nil {
			return err
		}
		next.ServeHTTP(w, r)
		return nil
	})
}
