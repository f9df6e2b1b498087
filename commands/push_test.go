package commands

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lembas/events"
)

func subscription(t *testing.T, path string) Subscribe {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	check(t, err)
	return Subscribe{Endpoint: "https://Push.example.test/send/" + path, P256dh: base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()),
		Auth: base64.URLEncoding.EncodeToString([]byte("sixteen bytes ok")), Agent: strings.Repeat("Firefox ", 50)}
}

// login is a person with a login.
func (h *house) login(t *testing.T, email string) Caller {
	t.Helper()
	c := h.register(t, email)
	_, id, err := h.OpenSession(t.Context(), c, "x")
	check(t, err)
	c.Session = id.Session
	return c
}

func (h *house) subscribe(t *testing.T, c Caller, path string) string {
	t.Helper()
	made, _, err := h.SubscribePush(t.Context(), c, subscription(t, path))
	check(t, err)
	return made.ID
}

// told is which subscriptions would be told now.
func (h *house) told(t *testing.T, user string) (ids []string) {
	t.Helper()
	targets, lost, err := h.PushTargets(t.Context(), user)
	check(t, err)
	if len(lost) > 0 {
		t.Errorf("lost %v", lost)
	}
	for _, x := range targets {
		ids = append(ids, x.ID)
	}
	return ids
}

func TestPushIsKeptAndFound(t *testing.T) {
	h := newHouse(t)
	ann, bob := h.login(t, "ann@example.test"), h.login(t, "bob@example.test")
	sub := subscription(t, "a-secret")
	made, _, err := h.SubscribePush(t.Context(), ann, sub)
	check(t, err)
	targets, _, err := h.PushTargets(t.Context(), ann.User)
	check(t, err)
	if len(targets) != 1 || targets[0].Endpoint != sub.Endpoint || string(targets[0].Auth) != "sixteen bytes ok" ||
		base64.RawURLEncoding.EncodeToString(targets[0].Public.Bytes()) != sub.P256dh {
		t.Errorf("targets %+v", targets)
	}
	u, err := h.User(t.Context(), ann.User)
	check(t, err)
	if p := u.Pushes[made.ID]; p.Host != "push.example.test" || p.Session != ann.Session || len(p.Agent) != 200 {
		t.Errorf("kept as %+v", p)
	}
	for e, err := range h.log.Read(t.Context(), 0) {
		check(t, err)
		for _, secret := range []string{"a-secret", sub.P256dh, sub.Auth} {
			if strings.Contains(string(e.Data), secret) {
				t.Errorf("%s holds %q", e.Type, secret)
			}
		}
	}
	if got := h.told(t, bob.User); len(got) != 0 {
		t.Errorf("another person is told: %v", got)
	}
	_, err = h.UnsubscribePush(t.Context(), bob, made.ID)
	wantErr(t, err, events.ErrNotFound)
	_, err = h.UnsubscribePush(t.Context(), ann, made.ID)
	check(t, err)
	check(t, h.users.view(t.Context(), events.UserStream(ann.User), func(*User, events.Position) error { return nil }))
	if len(u.Pushes) != 1 {
		t.Error("what a request was given changed under it")
	}
	if _, err := h.Secrets.Open("push/" + made.ID); err == nil {
		t.Error("the secret outlives the subscription")
	}
	if got := h.told(t, ann.User); len(got) != 0 {
		t.Errorf("still told: %v", got)
	}
}

func TestTheSameAddressIsTheSamePush(t *testing.T) {
	h := newHouse(t)
	ann := h.login(t, "ann@example.test")
	sub := subscription(t, "one")
	first, _, err := h.SubscribePush(t.Context(), ann, sub)
	check(t, err)
	again, _, err := h.SubscribePush(t.Context(), ann, sub)
	check(t, err)
	if again != first || h.count(t, "push.subscribed") != 1 {
		t.Errorf("%v and %v, %d events", first, again, h.count(t, "push.subscribed"))
	}
	renewed := subscription(t, "one") // other keys
	again, _, err = h.SubscribePush(t.Context(), ann, renewed)
	check(t, err)
	targets, _, err := h.PushTargets(t.Context(), ann.User)
	check(t, err)
	if again != first || len(targets) != 1 || base64.RawURLEncoding.EncodeToString(targets[0].Key) != renewed.P256dh {
		t.Errorf("%v, targets %+v", again, targets)
	}
}

func TestPushRefusals(t *testing.T) {
	h := newHouse(t)
	ann := h.login(t, "ann@example.test")
	good := subscription(t, "x")
	for _, c := range []struct {
		field  string
		change func(*Subscribe)
	}{
		{"endpoint", func(s *Subscribe) { s.Endpoint = "" }},
		{"endpoint", func(s *Subscribe) { s.Endpoint = "http://push.example.test/x" }},
		{"endpoint", func(s *Subscribe) { s.Endpoint = "https:///x" }},
		{"endpoint", func(s *Subscribe) { s.Endpoint = "https://u:p@push.example.test/x" }},
		{"endpoint", func(s *Subscribe) { s.Endpoint = "https://push.example.test/x\r\nHost: y" }},
		{"endpoint", func(s *Subscribe) { s.Endpoint = "https://push.example.test/" + strings.Repeat("x", MaxEndpoint) }},
		{"keys.p256dh", func(s *Subscribe) { s.P256dh = "" }},
		{"keys.p256dh", func(s *Subscribe) { s.P256dh = s.P256dh[:40] }},
		{"keys.p256dh", func(s *Subscribe) { s.P256dh = base64.RawURLEncoding.EncodeToString(make([]byte, 65)) }},
		{"keys.p256dh", func(s *Subscribe) {
			s.P256dh = base64.RawURLEncoding.EncodeToString(append([]byte{4}, make([]byte, 64)...))
		}},
		{"keys.auth", func(s *Subscribe) { s.Auth = "" }},
		{"keys.auth", func(s *Subscribe) { s.Auth = base64.RawURLEncoding.EncodeToString(make([]byte, 17)) }},
		{"keys.auth", func(s *Subscribe) { s.Auth = "!!" }},
	} {
		s := good
		c.change(&s)
		_, _, err := h.SubscribePush(t.Context(), ann, s)
		wantField(t, err, c.field)
	}
	nobody := ann
	nobody.Session = "none"
	_, _, err := h.SubscribePush(t.Context(), nobody, good)
	wantErr(t, err, events.ErrForbidden)
	for i := range MaxPushes {
		h.subscribe(t, ann, fmt.Sprint(i))
	}
	_, _, err = h.SubscribePush(t.Context(), ann, good)
	wantErr(t, err, events.ErrConflict)
	if n := len(h.told(t, ann.User)); n != MaxPushes {
		t.Errorf("%d are told", n)
	}
}

// TestWhatEndsALoginEndsItsPush: in the same append, with its secret.
func TestWhatEndsALoginEndsItsPush(t *testing.T) {
	for name, end := range map[string]func(*house, Caller, Caller) error{
		"revoked": func(h *house, _, bob Caller) error {
			_, err := h.RevokeSession(t.Context(), bob, bob.Session, "revoked")
			return err
		},
		"password": func(h *house, root, bob Caller) error {
			return h.SetPassword(t.Context(), root, bob.User, "another horse")
		},
		"disabled": func(h *house, root, bob Caller) error {
			yes := true
			_, err := h.ChangeUser(t.Context(), root, bob.User, ChangeUser{Disabled: &yes})
			return err
		},
		"crowded out": func(h *house, _, bob Caller) error {
			for range maxSessions {
				if _, _, err := h.OpenSession(t.Context(), Caller{User: bob.User}, "x"); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			root, bob := h.login(t, "root@example.test"), h.login(t, "bob@example.test")
			mine, gone := h.subscribe(t, root, "root"), h.subscribe(t, bob, "bob")
			check(t, end(h, root, bob))
			if got := h.told(t, bob.User); len(got) != 0 {
				t.Errorf("still told: %v", got)
			}
			if got := h.told(t, root.User); !slices.Equal(got, []string{mine}) {
				t.Errorf("another person: %v", got)
			}
			if _, err := h.Secrets.Open("push/" + gone); err == nil {
				t.Error("the secret is still there")
			}
			var revoked, ended string // the appends of both
			for e, err := range h.log.Read(t.Context(), 0) {
				check(t, err)
				p, err := events.Decode(&e)
				check(t, err)
				switch p := p.(type) {
				case events.SessionRevoked:
					if p.Session == bob.Session {
						revoked = e.Causation
					}
				case events.PushUnsubscribed:
					ended = e.Causation
					if p.Push != gone || p.Reason != PushSession {
						t.Errorf("%+v", p)
					}
				}
			}
			if revoked == "" || revoked != ended {
				t.Errorf("the login ended with %q, the subscription with %q", revoked, ended)
			}
		})
	}
}

func TestPushOfATokenAndOfALoginThatExpired(t *testing.T) {
	h := newHouse(t)
	ann := h.login(t, "ann@example.test")
	token, err := h.CreateToken(t.Context(), ann, CreateToken{Name: "x"})
	check(t, err)
	script := Caller{User: ann.User, Token: token.ID}
	byToken := h.subscribe(t, script, "token")
	byLogin := h.subscribe(t, ann, "login")
	if got := h.told(t, ann.User); !slices.Equal(got, []string{byLogin, byToken}) {
		t.Errorf("told %v", got)
	}
	h.now = h.now.Add(SessionLife)
	if got := h.told(t, ann.User); !slices.Equal(got, []string{byToken}) {
		t.Errorf("after the login expired: %v", got)
	}
	h.subscribe(t, script, "other") // takes the dead one away
	u, err := h.User(t.Context(), ann.User)
	check(t, err)
	if _, there := u.Pushes[byLogin]; there || len(u.Pushes) != 2 {
		t.Errorf("pushes %v", u.Pushes)
	}
	_, err = h.RevokeToken(t.Context(), ann, token.ID)
	check(t, err)
	h.noPushes(t, ann.User)
}

func (h *house) noPushes(t *testing.T, user string) {
	t.Helper()
	if u, err := h.User(t.Context(), user); err != nil || len(u.Pushes) != 0 {
		t.Errorf("pushes are left: %v, %v", u.Pushes, err)
	}
}

// TestADisabledAccountHasNoPush, also not by its tokens, which come back.
func TestADisabledAccountHasNoPush(t *testing.T) {
	h := newHouse(t)
	root, bob := h.login(t, "root@example.test"), h.login(t, "bob@example.test")
	token, err := h.CreateToken(t.Context(), bob, CreateToken{Name: "x"})
	check(t, err)
	h.subscribe(t, Caller{User: bob.User, Token: token.ID}, "token")
	for _, disabled := range []bool{true, false} {
		_, err := h.ChangeUser(t.Context(), root, bob.User, ChangeUser{Disabled: &disabled})
		check(t, err)
		h.noPushes(t, bob.User)
	}
}

// TestPushWithoutItsSecret is what an import makes: exports have no secrets.
func TestPushWithoutItsSecret(t *testing.T) {
	h := newHouse(t)
	ann := h.login(t, "ann@example.test")
	kept, broken, lost := h.subscribe(t, ann, "1"), h.subscribe(t, ann, "2"), h.subscribe(t, ann, "3")
	_, err := h.Secrets.Seal("push/"+lost, nil)
	check(t, err)
	_, err = h.Secrets.Seal("push/"+broken, []byte(`{"endpoint":"https://a-secret.test"`))
	check(t, err)
	targets, gone, err := h.PushTargets(t.Context(), ann.User)
	check(t, err)
	if len(targets) != 1 || targets[0].ID != kept || !slices.Equal(gone, []string{lost, broken}) {
		t.Errorf("targets %v, lost %v", targets, gone)
	}
	check(t, h.EndPush(t.Context(), ann.User, lost))
	wantErr(t, h.EndPush(t.Context(), ann.User, lost), events.ErrNotFound)
}
