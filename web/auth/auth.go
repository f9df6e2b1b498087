package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/web/request"
)

// Pages draws the forms. They write status and page.
type Pages interface {
	Login(w http.ResponseWriter, r *http.Request, f Form) error
	Register(w http.ResponseWriter, r *http.Request, f Form) error
}

// Form is a form to draw, first or again.
type Form struct {
	Status int
	Next   string // a local path, "" is the start page
	Email  string
	Name   string
	// Errors are by the field's name; "" is the whole form's.
	Errors map[string]string
}

// Auth answers the routes under /auth. It is safe for concurrent use.
type Auth struct {
	service *commands.Service
	pages   Pages
	log     *slog.Logger

	guesses   *brake // by account and address: who knows an address locks nobody else out
	addresses *brake // by address: many accounts from one place
	signups   *brake // by address
}

// How fast attempts may come. Wrong passwords only: a right one is given back.
const (
	guessBurst   = 8
	guessEvery   = 15 * time.Second
	addressBurst = 60
	addressEvery = 2 * time.Second
	signupBurst  = 200
	signupEvery  = 5 * time.Second
	maxKeys      = 50_000
)

// New makes the handlers; log gets failed attempts.
func New(s *commands.Service, pages Pages, log *slog.Logger) *Auth {
	return &Auth{service: s, pages: pages, log: log,
		guesses:   newBrake(guessBurst, guessEvery, maxKeys, s.Now),
		addresses: newBrake(addressBurst, addressEvery, maxKeys, s.Now),
		signups:   newBrake(signupBurst, signupEvery, maxKeys, s.Now)}
}

// input is what the forms and the JSON bodies carry. Other fields of a form are
// ignored.
type input struct {
	Email    string `json:"email"`
	Name     string `json:"name,omitempty"`
	Password string `json:"password"`
	Next     string `json:"next,omitempty"`
}

func read(r *http.Request) (in input, err error) {
	if request.IsJSON(r) {
		err = request.Read(r, &in)
		return in, err
	}
	body, err := request.Bytes(r)
	if err != nil {
		return in, err
	}
	v, err := url.ParseQuery(string(body))
	if err != nil {
		return in, request.Fail(http.StatusBadRequest, "The form could not be read.")
	}
	in = input{Email: v.Get("email"), Name: v.Get("name"), Password: v.Get("password"), Next: v.Get("next")}
	if in.Next == "" {
		in.Next = r.URL.Query().Get("next")
	}
	return in, nil
}

// Account is who has just signed in.
type Account struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Name  string `json:"name"`
	Admin bool   `json:"admin"`
}

// LoginPage shows the form, or goes on for who is signed in.
func (a *Auth) LoginPage(w http.ResponseWriter, r *http.Request) error {
	next := LocalPath(r.URL.Query().Get("next"))
	if _, ok := request.Identity(r.Context()); ok {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	return a.pages.Login(w, r, Form{Status: http.StatusOK, Next: next})
}

// RegisterPage is LoginPage for a new account.
func (a *Auth) RegisterPage(w http.ResponseWriter, r *http.Request) error {
	next := LocalPath(r.URL.Query().Get("next"))
	if _, ok := request.Identity(r.Context()); ok {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	return a.pages.Register(w, r, Form{Status: http.StatusOK, Next: next})
}

// Login checks a password and gives a new session.
func (a *Auth) Login(w http.ResponseWriter, r *http.Request) error {
	in, err := read(r)
	if err == nil && len(in.Password) > commands.MaxPassword {
		err = request.Fail(http.StatusBadRequest, "A password has at most %d bytes.", commands.MaxPassword)
	}
	if err == nil {
		err = a.login(w, r, in)
	}
	if err != nil {
		return a.again(w, r, in, err, a.pages.Login)
	}
	return nil
}

func (a *Auth) login(w http.ResponseWriter, r *http.Request, in input) error {
	at := place(request.Address(r.Context()))
	account := guessKey(in.Email, at)
	for _, b := range []struct {
		brake *brake
		key   string
	}{{a.guesses, account}, {a.addresses, at}} {
		if wait, ok := b.brake.take(b.key); !ok {
			a.log.LogAttrs(r.Context(), slog.LevelWarn, "sign-in slowed", slog.String("address", at))
			return request.TooMany(wait, "Too many attempts. Try again in a moment.")
		}
	}
	cookie, id, err := a.service.SignIn(r.Context(), request.CallerWithoutKey(r), in.Email, in.Password, r.UserAgent())
	if err != nil {
		return err
	}
	a.guesses.give(account)
	a.addresses.give(at)
	return a.welcome(w, r, in, cookie, id)
}

// Register makes an account and signs it in.
func (a *Auth) Register(w http.ResponseWriter, r *http.Request) error {
	in, err := read(r)
	if err == nil {
		err = a.register(w, r, in)
	}
	if err != nil {
		return a.again(w, r, in, err, a.pages.Register)
	}
	return nil
}

func (a *Auth) register(w http.ResponseWriter, r *http.Request, in input) error {
	if _, ok := request.Identity(r.Context()); ok {
		return request.Fail(http.StatusConflict, "You are signed in. Sign out before you make another account.")
	}
	if wait, ok := a.signups.take(place(request.Address(r.Context()))); !ok {
		return request.TooMany(wait, "Too many new accounts from your address. Try again later.")
	}
	c := request.CallerWithoutKey(r)
	made, _, err := a.service.Register(r.Context(), c, commands.Register{Email: in.Email, Name: in.Name, Password: in.Password})
	if err != nil {
		return err
	}
	c.User, c.Admin = made.User, made.Admin
	cookie, id, err := a.service.OpenSession(r.Context(), c, r.UserAgent())
	if err != nil {
		return err
	}
	return a.welcome(w, r, in, cookie, id)
}

// welcome gives the browser its new session; the one it had ends.
func (a *Auth) welcome(w http.ResponseWriter, r *http.Request, in input, cookie string, id commands.Identity) error {
	if old, ok := request.Identity(r.Context()); ok && old.Session != "" {
		_, err := a.service.RevokeSession(r.Context(), request.CallerWithoutKey(r), old.Session, "signed_out")
		if err != nil && !errors.Is(err, events.ErrNotFound) {
			return err
		}
	}
	request.SetCookie(w, r, cookie)
	if request.IsJSON(r) {
		u := id.User
		return request.JSON(w, http.StatusOK, Account{ID: u.ID, Email: u.Email, Name: u.Name, Admin: u.Admin})
	}
	http.Redirect(w, r, LocalPath(in.Next), http.StatusSeeOther)
	return nil
}

// Logout ends the session that the request came with.
func (a *Auth) Logout(w http.ResponseWriter, r *http.Request) error {
	if id, ok := request.Identity(r.Context()); ok && id.Session != "" {
		_, err := a.service.RevokeSession(r.Context(), request.CallerWithoutKey(r), id.Session, "signed_out")
		if err != nil && !errors.Is(err, events.ErrNotFound) {
			return err
		}
	}
	request.ClearCookie(w, r)
	if request.IsJSON(r) {
		return request.JSON(w, http.StatusOK, struct{}{})
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// again draws a form with what was wrong. Programs get the problem itself, and
// so does everybody when the fault is the server's.
func (a *Auth) again(w http.ResponseWriter, r *http.Request, in input, err error, draw func(http.ResponseWriter, *http.Request, Form) error) error {
	p := request.Classify(err)
	if !request.WantsPage(r) || p.Status >= http.StatusInternalServerError {
		return err
	}
	f := Form{Status: p.Status, Next: LocalPath(in.Next), Email: clip(in.Email, commands.MaxEmail), Name: clip(in.Name, 4*commands.MaxName), Errors: map[string]string{}}
	for _, e := range p.Errors {
		f.Errors[e.Field] = e.Detail
	}
	if len(p.Errors) == 0 {
		f.Errors[""] = p.Detail
	}
	p.SetHeaders(w.Header())
	return draw(w, r, f)
}

func clip(s string, n int) string {
	if len(s) > n {
		return ""
	}
	return s
}

// place is the address that attempts are counted by: of IPv6 its network,
// because one customer has 2^64 of them.
func place(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Is4() {
		return address
	}
	p, _ := a.WithZone("").Prefix(64) // 64 is within an IPv6 address
	return p.String()
}

// guessKey names an account at an address, without keeping the address of an
// e-mail in memory.
func guessKey(email, at string) string {
	h := sha256.Sum256([]byte(commands.NormalEmail(email) + "\x00" + at))
	return hex.EncodeToString(h[:])
}
