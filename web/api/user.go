package api

import (
	"net/http"
	"time"

	"lembas/commands"
	"lembas/web/request"
)

type user struct {
	ID       string    `json:"id"`
	Email    string    `json:"email"`
	Name     string    `json:"name"`
	Admin    bool      `json:"admin"`
	Disabled bool      `json:"disabled"`
	Created  time.Time `json:"created"`
}

func userOf(u commands.User) user {
	return user{ID: u.ID, Email: u.Email, Name: u.Name, Admin: u.Admin, Disabled: u.Disabled, Created: u.Created}
}

// Users lists the accounts, oldest first.
func (a *API) Users(w http.ResponseWriter, r *http.Request) error {
	q, err := listQuery(r)
	if err != nil {
		return err
	}
	all, next, err := a.Accounts.Accounts(r.Context(), q)
	if err != nil {
		return err
	}
	var out []user
	for _, u := range all {
		out = append(out, userOf(u))
	}
	return request.JSON(w, http.StatusOK, listOf(out, next))
}

type createUser struct {
	Email    string `json:"email"`
	Name     string `json:"name,omitempty"`
	Password string `json:"password"`
	Admin    bool   `json:"admin,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
}

// CreateUser makes an account, whatever the sign-up setting says.
func (a *API) CreateUser(w http.ResponseWriter, r *http.Request) error {
	var in createUser
	if err := request.Read(r, &in); err != nil {
		return err
	}
	c := request.CallerWithoutKey(r)
	made, _, err := a.Service.Register(r.Context(), c, commands.Register{Email: in.Email, Name: in.Name, Password: in.Password, ByAdmin: true, Admin: in.Admin})
	if err != nil {
		return err
	}
	if in.Disabled {
		if _, err := a.Service.ChangeUser(r.Context(), c, made.User, commands.ChangeUser{Disabled: &in.Disabled}); err != nil {
			return err
		}
	}
	return a.answerUser(w, r, made.User, http.StatusCreated)
}

type patchUser struct {
	Name     request.Optional[string] `json:"name"`
	Password request.Optional[string] `json:"password"`
	Admin    request.Optional[bool]   `json:"admin"`
	Disabled request.Optional[bool]   `json:"disabled"`
}

// PatchUser changes an account.
func (a *API) PatchUser(w http.ResponseWriter, r *http.Request) error {
	var in patchUser
	if err := request.Read(r, &in); err != nil {
		return err
	}
	_, err := a.Service.ChangeUser(r.Context(), request.CallerWithoutKey(r), id(r), commands.ChangeUser{Name: in.Name.Pointer(),
		Password: in.Password.Pointer(), Admin: in.Admin.Pointer(), Disabled: in.Disabled.Pointer()})
	if err != nil {
		return err
	}
	return a.answerUser(w, r, id(r), http.StatusOK)
}

func (a *API) answerUser(w http.ResponseWriter, r *http.Request, id string, status int) error {
	u, err := a.Service.User(r.Context(), id)
	if err != nil {
		return err
	}
	return request.JSON(w, status, userOf(u))
}
