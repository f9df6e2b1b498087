package pages_test

import (
	"testing"

	"lembas/commands"
)

func (u human) subscribe(path string) string {
	u.h.t.Helper()
	made, _, err := u.h.SubscribePush(u.h.t.Context(), u.Caller, commands.Subscribe{Endpoint: "https://push.example.test/" + path,
		P256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", Auth: "BTBZMqHH6r4Tts7J_aSIgg",
		Agent: "Mozilla/5.0 (Android 15) Firefox/140.0"})
	u.h.ok(err)
	return made.ID
}

func TestBrowsersThatAreTold(t *testing.T) {
	h := newHouse(t)
	ann, bob := h.human("ann"), h.human("bob")
	ann.get("/settings").is(200).lacks("#pushes .item").lacks("#pushes[data-this]").node("#push-here[disabled]")
	other := ann
	_, id, err := h.OpenSession(t.Context(), ann.Caller, "x")
	h.ok(err)
	other.Session = id.Session
	mine, hers, his := ann.subscribe("1"), other.subscribe("2"), bob.subscribe("3")
	d := ann.get("/settings").is(200)
	if n := len(d.all("#pushes .item")); n != 2 {
		t.Errorf("%d browsers", n)
	}
	d.node("#pushes[data-this=" + mine + "]")
	d.says("#pushes .tag", "this one")
	d.node("#pushes [hx-delete=/settings/push/" + hers + "]")
	ann.do("DELETE", "/settings/push/"+his).is(404)
	ann.do("DELETE", "/settings/push/"+mine).is(200).lacks("#pushes[data-this]").says("#pushes .item-main", "Firefox on Android")
	ann.do("DELETE", "/settings/push/"+mine).is(404)
	ann.get("/settings/push").is(200).says("#pushes .item", "push.example.test")
	bob.get("/settings/push").is(200).node("#pushes[data-this=" + his + "]")
}
