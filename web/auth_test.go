package web

import (
	"net/url"
	"strings"
	"testing"

	"lembas/web/auth"
)

func TestRegisterAndSignInWithForms(t *testing.T) {
	s := newServer(t)
	a := s.form(nil, "/auth/register?next=%2Fsettings", url.Values{"email": {" Root@Example.test "}, "name": {"Root"}, "password": {password}})
	if a.status != 303 || a.header.Get("Location") != "/settings" {
		t.Fatalf("%d to %q: %s", a.status, a.header.Get("Location"), a.body)
	}
	root := &actor{cookie: cookieOf(t, a)}
	var me struct {
		Email, Name string
		Admin       bool
	}
	s.do(root, "GET", "/api/v1/me", nil).json(t, &me)
	if me.Email != "Root@Example.test" || me.Name != "Root" || !me.Admin {
		t.Errorf("%+v", me)
	}
	if a := s.form(root, "/auth/register", url.Values{"email": {"x@example.test"}, "password": {password}}); a.status != 409 {
		t.Errorf("registering while signed in: %d", a.status)
	}
	taken := s.form(nil, "/auth/register", url.Values{"email": {"root@EXAMPLE.test"}, "password": {password}})
	if taken.status != 409 || strings.Contains(string(taken.body), "Root") {
		t.Errorf("taken: %d %s", taken.status, taken.body)
	}
	bad := s.form(nil, "/auth/register", url.Values{"email": {"nobody"}, "password": {"short"}})
	if got := string(bad.body); bad.status != 422 || !strings.Contains(got, "email:") || !strings.Contains(got, "password:") {
		t.Errorf("%d %s", bad.status, got)
	}
	in := s.form(nil, "/auth/login", url.Values{"email": {"root@example.test"}, "password": {password}, "next": {"/chat/1"}})
	if in.status != 303 || in.header.Get("Location") != "/chat/1" {
		t.Errorf("%d to %q", in.status, in.header.Get("Location"))
	}
}

// TestSignInTellsNothing: a wrong password, an unknown address and a disabled
// account answer alike, after the same work.
func TestSignInTellsNothing(t *testing.T) {
	w := newWorld(t)
	w.do(w.root, "PATCH", "/api/v1/users/"+w.bob.id, `{"disabled":true}`)
	var first answer
	for i, in := range []map[string]string{login("ann", "wrong password"), login("nobody", password), login("bob", password)} {
		before := w.passwords.count()
		a := w.do(nil, "POST", "/auth/login", in)
		if w.passwords.count() != before+1 {
			t.Errorf("%v: other work", in)
		}
		if i == 0 {
			first = a
		}
		if a.status != 401 || string(a.body) != string(first.body) || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%v: %d %s", in, a.status, a.body)
		}
	}
}

func TestJSONSignIn(t *testing.T) {
	s := newServer(t)
	s.register("ann")
	a := s.do(nil, "POST", "/auth/login", login("ann", password))
	var got auth.Account
	a.json(t, &got)
	if a.status != 200 || got.Name != "ann" || !got.Admin || strings.Contains(string(a.body), "session") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.do(nil, "POST", "/auth/login", `{"email":"ann@example.test"`); a.status != 400 {
		t.Errorf("not JSON: %d", a.status)
	}
	who := &actor{cookie: cookieOf(t, a)}
	if out := s.do(who, "POST", "/auth/logout", "{}"); out.status != 200 {
		t.Errorf("%d %s", out.status, out.body)
	}
	if n := len(s.stored("session.revoked")); n != 1 {
		t.Errorf("%d sessions ended", n)
	}
}

// TestOneAddressCannotTryManyAccounts: the brake on addresses.
func TestOneAddressCannotTryManyAccounts(t *testing.T) {
	s := newServer(t)
	slowed := 0
	for i := range 100 {
		if s.do(nil, "POST", "/auth/login", login("user"+strings.Repeat("x", i), "some password")).status == 429 {
			slowed++
		}
	}
	if slowed < 30 {
		t.Errorf("%d of 100 were slowed", slowed)
	}
	t.Run("right ones are not counted", func(t *testing.T) {
		s := newServer(t)
		s.register("ann")
		for range 100 {
			if a := s.do(nil, "POST", "/auth/login", login("ann", password)); a.status != 200 {
				t.Fatalf("%d", a.status)
			}
		}
	})
}
