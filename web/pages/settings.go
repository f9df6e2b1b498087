package pages

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/web/pages/view"
	"lembas/web/request"
	"lembas/web/templates"
)

// settings is a person's own page.
func (p *Pages) settings(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	u := me(r)
	preferences, err := p.preferences(r.Context(), u)
	if err != nil {
		return err
	}
	v := templates.Settings{Preferences: preferences, Password: templates.PasswordForm{Email: u.Email},
		Push: p.pushes(r, u), Sessions: sessions(r, u), Tokens: p.tokens(u)}
	if v.Shell, err = p.shell(r, "settings", "Settings", at); err != nil {
		return err
	}
	return p.page(w, "settings", v)
}

func (p *Pages) preferences(ctx context.Context, u commands.User) (templates.Preferences, error) {
	x := u.Preferences
	v := templates.Preferences{Theme: x.Theme, Font: x.Font, EnterNewline: x.EnterNewline, Follow: !x.NoFollow,
		Shortcuts: !x.NoShortcuts, Notify: x.Notify}
	models, err := p.Service.Models(ctx, true)
	if err != nil {
		return v, err
	}
	v.Models = []templates.Option{{Label: "the instance's default", Selected: x.DefaultModel == ""}}
	for _, m := range models {
		v.Models = append(v.Models, templates.Option{Value: m.ID, Label: m.Title(), Selected: m.ID == x.DefaultModel})
	}
	return v, nil
}

// savePreferences changes only what is in the form: the theme button sends the
// theme alone.
func (p *Pages) savePreferences(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	u := me(r)
	x, old := u.Preferences, u.Preferences
	for name, to := range map[string]*string{"theme": &x.Theme, "font": &x.Font, "default_model": &x.DefaultModel} {
		if v := f.maybe(name); v != nil {
			*to = *v
		}
	}
	for name, to := range map[string]*bool{"enter_newline": &x.EnterNewline, "notify": &x.Notify} {
		if v := f.flag(name); v != nil {
			*to = *v
		}
	}
	for name, to := range map[string]*bool{"follow": &x.NoFollow, "shortcuts": &x.NoShortcuts} {
		if v := f.flag(name); v != nil {
			*to = !*v
		}
	}
	err = p.knownModel(r.Context(), x.DefaultModel, old.DefaultModel)
	if err == nil {
		_, err = p.Service.SetPreferences(r.Context(), caller(r), x)
	}
	status, errs := http.StatusOK, templates.Errors(nil)
	if err != nil {
		if errs, err = refused(err); err != nil {
			return err
		}
		status = http.StatusUnprocessableEntity
	} else if x.Theme != old.Theme || x.Font != old.Font {
		w.Header().Set("HX-Refresh", "true")
	}
	u.Preferences = x
	v, err := p.preferences(r.Context(), u)
	if err != nil {
		return err
	}
	if v.Errors = under(errs, "theme", "font", "default_model"); errs == nil {
		v.Saved = "Saved."
	}
	return p.part(w, status, "settings-preferences", v)
}

// knownModel refuses a new choice that nobody can make.
func (p *Pages) knownModel(ctx context.Context, id, old string) error {
	if id == "" || id == old {
		return nil
	}
	models, err := p.Service.Models(ctx, true)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(models, func(m commands.ModelView) bool { return m.ID == id }) {
		return events.Invalid("default_model", "this model cannot be used any more; choose another one")
	}
	return nil
}

func (p *Pages) savePassword(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	if f.text("password") != f.text("repeat") {
		err = events.Invalid("repeat", "the two new passwords are not the same")
	} else {
		err = p.Service.ChangePassword(r.Context(), caller(r), f.text("current"), f.text("password"))
	}
	v := templates.PasswordForm{Email: me(r).Email, Saved: "The password is changed. Other sessions are signed out."}
	if err == nil {
		return p.part(w, http.StatusOK, "settings-password", v)
	}
	if v.Errors, err = refused(err); err != nil {
		return err
	}
	v.Saved, v.Errors = "", under(v.Errors, "current", "password", "repeat")
	return p.part(w, http.StatusUnprocessableEntity, "settings-password", v)
}

// sessions are the browsers that are signed in, the newest first.
func sessions(r *http.Request, u commands.User) (v templates.Sessions) {
	id, _ := request.Identity(r.Context())
	var list []commands.Session
	for _, s := range u.Sessions {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b commands.Session) int { return b.Opened.Compare(a.Opened) })
	for _, s := range list {
		v.Items = append(v.Items, templates.Session{ID: s.ID, Device: device(s.Agent), Address: s.Address, Since: dated(s.Opened), Current: s.ID == id.Session})
	}
	return v
}

func (p *Pages) endSession(w http.ResponseWriter, r *http.Request) error {
	if _, err := p.Service.RevokeSession(r.Context(), caller(r), r.PathValue("id"), "revoked"); err != nil {
		return err
	}
	u, err := p.Service.User(r.Context(), me(r).ID)
	if err != nil {
		return err
	}
	return p.part(w, http.StatusOK, "settings-sessions", sessions(r, u))
}

// device names a browser by what it says of itself.
func device(agent string) string {
	first := func(names ...string) string {
		for _, n := range names {
			sign, name, _ := strings.Cut(n, "=")
			if strings.Contains(agent, sign) {
				return name
			}
		}
		return ""
	}
	browser := first("Firefox/=Firefox", "Edg/=Edge", "OPR/=Opera", "Chrome/=Chrome", "Safari/=Safari", "curl/=curl")
	system := first("Android=Android", "iPhone=iPhone", "iPad=iPad", "Windows=Windows", "Mac OS=macOS", "Linux=Linux")
	switch {
	case browser == "":
		return "Unknown browser"
	case system == "":
		return browser
	}
	return browser + " on " + system
}

// tokens are a person's API tokens, the newest first, and the form for one more.
func (p *Pages) tokens(u commands.User) templates.Tokens {
	var list []commands.Token
	for _, t := range u.Tokens {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b commands.Token) int { return b.Created.Compare(a.Created) })
	v := templates.Tokens{Scopes: []templates.Option{{Value: events.ScopeWrite, Label: "read and write"}, {Value: events.ScopeRead, Label: "read"}},
		Spans: []templates.Option{{Value: "", Label: "for ever"}, {Value: "7", Label: "7 days"}, {Value: "30", Label: "30 days"}, {Value: "365", Label: "a year"}}}
	if u.Admin {
		v.Scopes = append(v.Scopes, templates.Option{Value: events.ScopeAdmin, Label: "administer"})
	}
	for _, t := range list {
		v.Items = append(v.Items, templates.Token{ID: t.ID, Name: t.Name, Scope: t.Scope, Created: dated(t.Created), Expires: dated(t.Expires),
			Expired: !t.Expires.IsZero() && !p.now().Before(t.Expires)})
	}
	return v
}

func (p *Pages) makeToken(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	cmd := commands.CreateToken{Name: f.text("name"), Scope: f.text("scope")}
	if days := f.text("expires"); days != "" {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 3660 {
			return request.Fail(http.StatusUnprocessableEntity, "A token lasts 1 to 3660 days, or for ever.")
		}
		cmd.Expires = p.now().AddDate(0, 0, n)
	}
	made, err := p.Service.CreateToken(r.Context(), caller(r), cmd)
	errs := templates.Errors(nil)
	if err != nil {
		if errs, err = refused(err); err != nil {
			return err
		}
	}
	u, err := p.Service.User(r.Context(), me(r).ID)
	if err != nil {
		return err
	}
	v := p.tokens(u)
	if errs != nil {
		v.Errors, v.Name = under(errs, "name", "scope", "expires"), cmd.Name
		return p.part(w, http.StatusUnprocessableEntity, "settings-tokens", v)
	}
	v.New = &templates.NewToken{Name: cmd.Name, Secret: made.Secret}
	return p.part(w, http.StatusOK, "settings-tokens", v)
}

func (p *Pages) revokeToken(w http.ResponseWriter, r *http.Request) error {
	if _, err := p.Service.RevokeToken(r.Context(), caller(r), r.PathValue("id")); err != nil {
		return err
	}
	u, err := p.Service.User(r.Context(), me(r).ID)
	if err != nil {
		return err
	}
	return p.part(w, http.StatusOK, "settings-tokens", p.tokens(u))
}

// dated is a moment of which the day matters more than the hour.
func dated(t time.Time) templates.Time {
	v := view.Time(t)
	if !t.IsZero() {
		v.Short = t.UTC().Format("2 January 2006")
	}
	return v
}
