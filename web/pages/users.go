package pages

import (
	"net/http"
	"net/url"

	"lembas/commands"
	"lembas/web/api"
	"lembas/web/templates"
)

// usersPage is how many accounts a page of the list has.
const usersPage = 100

// users is the administrator's list of accounts.
func (p *Pages) users(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	q := r.URL.Query()
	list, next, err := p.Accounts.Accounts(r.Context(), api.ListQuery{Query: q.Get("q"), Limit: usersPage, Cursor: q.Get("cursor")})
	if err != nil {
		return err
	}
	v := templates.Users{Query: q.Get("q")}
	for _, u := range list {
		v.List.Items = append(v.List.Items, userRow(r, u))
	}
	v.List.Total = count(len(list), "account")
	if next != "" {
		v.List.Total = "More than " + v.List.Total
		v.List.Next = "/admin/users?" + url.Values{"q": {q.Get("q")}, "cursor": {next}}.Encode()
	}
	if v.Shell, err = p.shell(r, "users", "People", at); err != nil {
		return err
	}
	return p.page(w, "users", v)
}

func userRow(r *http.Request, u commands.User) templates.UserRow {
	return templates.UserRow{ID: u.ID, Name: u.Name, Email: u.Email, Initial: initial(u.Name), Admin: u.Admin, Disabled: u.Disabled,
		Self: u.ID == me(r).ID, Since: dated(u.Created)}
}

func (p *Pages) addUser(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	cmd := commands.Register{Name: f.text("name"), Email: f.text("email"), Password: f.text("password"), ByAdmin: true, Admin: f.text("admin") == "true"}
	_, _, err = p.Service.Register(r.Context(), caller(r), cmd)
	if err == nil {
		w.Header().Set("HX-Refresh", "true")
		return p.part(w, http.StatusOK, "user-form", templates.UserForm{Saved: "Added."})
	}
	v := templates.UserForm{Name: cmd.Name, Email: cmd.Email, Admin: cmd.Admin}
	if v.Errors, err = refused(err); err != nil {
		return err
	}
	v.Errors = under(v.Errors, "name", "email", "password")
	return p.part(w, http.StatusUnprocessableEntity, "user-form", v)
}

// saveUser makes an account administrator or member, on or off.
func (p *Pages) saveUser(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if _, err := p.Service.ChangeUser(r.Context(), caller(r), id, commands.ChangeUser{Admin: f.flag("admin"), Disabled: f.flag("disabled")}); err != nil {
		return err
	}
	u, err := p.Service.User(r.Context(), id)
	if err != nil {
		return err
	}
	return p.part(w, http.StatusOK, "user-row", userRow(r, u))
}
