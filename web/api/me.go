package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/web/request"
)

type me struct {
	ID          string             `json:"id"`
	Email       string             `json:"email"`
	Name        string             `json:"name"`
	Admin       bool               `json:"admin"`
	Created     time.Time          `json:"created"`
	Preferences events.Preferences `json:"preferences"`
	// Scope is what this session or token may do.
	Scope string `json:"scope"`
}

// Me says who the caller is.
func (a *API) Me(w http.ResponseWriter, r *http.Request) error {
	id, _ := request.Identity(r.Context())
	u := id.User
	return request.JSON(w, http.StatusOK, me{ID: u.ID, Email: u.Email, Name: u.Name, Admin: u.Admin,
		Created: u.Created, Preferences: u.Preferences, Scope: id.Scope})
}

type session struct {
	ID      string    `json:"id"`
	Address string    `json:"address"`
	Agent   string    `json:"agent"`
	Opened  time.Time `json:"opened"`
	Expires time.Time `json:"expires"`
	Current bool      `json:"current"`
}

// Sessions lists the caller's browser logins, newest first.
func (a *API) Sessions(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Identity(r.Context())
	var out []session
	for _, s := range who.User.Sessions {
		out = append(out, session{ID: s.ID, Address: s.Address, Agent: s.Agent, Opened: s.Opened, Expires: s.Expires, Current: s.ID == who.Session})
	}
	slices.SortFunc(out, func(x, y session) int { return strings.Compare(y.ID, x.ID) })
	p, err := page(r, out, func(s session) string { return s.ID })
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, p)
}

// DeleteSession ends one of them.
func (a *API) DeleteSession(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.Service.RevokeSession(r.Context(), request.Caller(r), id(r), "revoked"); err != nil {
		return err
	}
	return noContent(w)
}

type token struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Scope   string     `json:"scope"`
	Created *time.Time `json:"created,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
	// Token is the secret, shown once, when it is made.
	Token string `json:"token,omitempty"`
}

// Tokens lists the caller's API tokens, newest first, less their secrets.
func (a *API) Tokens(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Identity(r.Context())
	var out []token
	for _, t := range who.User.Tokens {
		x := token{ID: t.ID, Name: t.Name, Scope: t.Scope, Created: &t.Created}
		if !t.Expires.IsZero() {
			x.Expires = &t.Expires
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(x, y token) int { return strings.Compare(y.ID, x.ID) })
	p, err := page(r, out, func(t token) string { return t.ID })
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, p)
}

type createToken struct {
	Name    string `json:"name"`
	Expires string `json:"expires,omitempty"` // RFC 3339, or a date
	Scope   string `json:"scope,omitempty"`   // read, write (the default) or admin
}

// CreateToken makes an API token and shows it once.
func (a *API) CreateToken(w http.ResponseWriter, r *http.Request) error {
	var in createToken
	if err := request.Read(r, &in); err != nil {
		return err
	}
	cmd := commands.CreateToken{Name: in.Name, Scope: in.Scope}
	if cmd.Scope == "" {
		cmd.Scope = ownScope(r)
	}
	if in.Expires != "" {
		var err error
		if cmd.Expires, err = parseTime(in.Expires); err != nil {
			return events.Invalid("expires", "must be a time such as 2027-01-31T12:00:00Z, or a date")
		}
	}
	made, err := a.Service.CreateToken(r.Context(), request.Caller(r), cmd)
	if err != nil {
		return err
	}
	out := token{ID: made.ID, Name: made.Name, Scope: cmd.Scope, Token: made.Secret}
	if !cmd.Expires.IsZero() {
		out.Expires = &cmd.Expires
	}
	return request.JSON(w, http.StatusCreated, out)
}

// ownScope is what the asker may do now, the default of a token they make.
func ownScope(r *http.Request) string {
	who, _ := request.Identity(r.Context())
	if who.Scope == events.ScopeAdmin && !who.User.Admin {
		return events.ScopeWrite
	}
	return who.Scope
}

func parseTime(s string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.Add(24 * time.Hour), nil // to the end of that day
	}
	t, err := time.Parse(time.RFC3339, s)
	return t.UTC(), err
}

// DeleteToken ends one of the caller's API tokens.
func (a *API) DeleteToken(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.Service.RevokeToken(r.Context(), request.Caller(r), id(r)); err != nil {
		return err
	}
	return noContent(w)
}
