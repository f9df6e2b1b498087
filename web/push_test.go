package web

import (
	"strings"
	"testing"
)

// subscription is what a browser gives.
const subscription = `{"endpoint":"https://push.example.test/send/a-secret","keys":{` +
	`"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`

type pushList struct {
	PublicKey     string `json:"public_key"`
	Subscriptions []struct {
		ID, Host, Agent string
		This            bool
	}
}

func TestPush(t *testing.T) {
	s := newServer(t, func(c *Config) { c.PushKey = "the-public-key" })
	ann := s.register("ann")
	var made, again struct{ ID string }
	first := s.do(ann, "POST", "/api/v1/push", subscription, "User-Agent: Firefox/140")
	first.json(t, &made)
	s.do(ann, "POST", "/api/v1/push", subscription).json(t, &again)
	if first.status != 201 || made.ID == "" || made != again {
		t.Errorf("%d %s, then %v", first.status, first.body, again)
	}
	other := &actor{cookie: cookieOf(t, s.do(nil, "POST", "/auth/login", login("ann", password)))}
	for _, c := range []struct {
		who  *actor
		this bool
	}{{ann, true}, {other, false}} {
		a := s.do(c.who, "GET", "/api/v1/push", nil)
		var got pushList
		a.json(t, &got)
		if a.status != 200 || got.PublicKey != "the-public-key" || len(got.Subscriptions) != 1 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if x := got.Subscriptions[0]; x.ID != made.ID || x.Host != "push.example.test" || x.Agent != "Firefox/140" || x.This != c.this {
			t.Errorf("%+v", x)
		}
		for _, secret := range []string{"a-secret", "BCVxsr7N", "BTBZMqHH"} {
			if strings.Contains(string(a.body), secret) {
				t.Errorf("the answer shows %s", secret)
			}
		}
	}
	s.form(ann, "/auth/logout", nil)
	var left pushList
	s.do(other, "GET", "/api/v1/push", nil).json(t, &left)
	if len(left.Subscriptions) != 0 || len(s.stored("push.unsubscribed")) != 1 {
		t.Errorf("after signing out: %+v", left)
	}
}

func TestPushBodies(t *testing.T) {
	s := newServer(t)
	ann := s.register("ann")
	for _, c := range []struct {
		was, is string
		status  int
		field   string
	}{
		{"https://", "http://", 422, "endpoint"},
		{`"endpoint":`, `"end":`, 422, "end"},
		{`"endpoint":`, `"expirationTime":null,"endpoint":`, 422, "expirationTime"},
		{`"auth":"`, `"auth":"A`, 422, "keys.auth"},
		{`"auth":`, `"author":`, 422, "keys.author"},
		{`"auth":"BTBZMqHH6r4Tts7J_aSIgg"`, `"auth":5`, 422, "keys.auth"},
		{`"p256dh":"B`, `"p256dh":"C`, 422, "keys.p256dh"},
		{`"p256dh":"BCVx`, `"p256dh":"BCVy`, 422, "keys.p256dh"},
		{`}}`, `}`, 400, ""},
	} {
		a := s.do(ann, "POST", "/api/v1/push", strings.Replace(subscription, c.was, c.is, 1))
		if a.status != c.status || c.field != "" && a.fields(t)[0] != c.field {
			t.Errorf("%s: %d %s", c.is, a.status, a.body)
		}
	}
	if n := len(s.stored("push.subscribed")); n != 0 {
		t.Errorf("%d were taken", n)
	}
}
