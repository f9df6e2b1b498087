package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"lembas/events"
)

// TestSettingsOfOne is what a person sets for herself.
func TestSettingsOfOne(t *testing.T) {
	w := newWorld(t)
	t.Run("the theme stays", func(t *testing.T) {
		p := w.page(t, "/")
		first := value[string](p, `getComputedStyle(document.body).backgroundColor`)
		p.click(`[data-act=theme]`)
		p.until(`['moria', 'shire'].includes(document.documentElement.dataset.theme)`)
		chosen := value[string](p, `document.documentElement.dataset.theme`)
		p.until(`getComputedStyle(document.body).backgroundColor !== ` + quote(first))
		w.untilTheme(chosen)
		p.open(w.url + "/")
		if got := value[string](p, `document.documentElement.dataset.theme`); got != chosen {
			t.Errorf("after a reload the theme is %q, want %q", got, chosen)
		}
		p.open(w.url + "/settings")
		p.until(`document.querySelector('[name=theme][value=` + chosen + `]').checked`)
		p.click(`.card-choice:has([value=shire])`)
		p.until(`(self.before = true)`)
		p.click(`#preferences button.prime`) // a theme comes with a fresh page
		p.until(`!self.before && document.documentElement.dataset.theme === 'shire'`)
	})
	t.Run("Enter makes a new line", func(t *testing.T) {
		p := w.page(t, "/settings")
		p.click(`#preferences .line:has([name=enter_newline][role=switch])`)
		p.click(`#preferences button.prime`)
		p.until(`document.querySelector('#preferences [data-saved]')`)
		p.open(w.url + "/")
		p.choose("#model", "gate")
		p.write("#prompt", "a\rb")
		p.until(`document.querySelector('#prompt').value === 'a\nb'`)
		p.press("\r", ctrl)
		p.chatID()
		w.gate.next(t).end()
	})
	t.Run("a token is shown once", func(t *testing.T) {
		p := w.page(t, "/settings")
		p.write(`#tokens [name=name]`, "laptop\r")
		p.until(`document.querySelector('#new-token')`)
		token := value[string](p, `document.querySelector('#new-token').innerText`)
		p.shot("settings-token")
		c := &client{t: t, url: w.url, token: token, http: w.ann.http}
		if me := c.want(200, "GET", "/api/v1/me", nil); text(me["email"]) != annMail {
			t.Errorf("the token is %v's", me)
		}
		p.open(w.url + "/settings")
		p.until(`document.querySelector('#tokens .items').innerText.includes('laptop')`)
		if strings.Contains(value[string](p, `document.documentElement.outerHTML`), token) {
			t.Error("the token is shown again")
		}
		p.click(`#tokens .item:has(b) button`)
		p.click(`#ask [data-slot=ok], dialog[open] [value=ok]`)
		p.until(`!document.querySelector('#tokens .items')?.innerText.includes('laptop')`)
		if got := c.do("GET", "/api/v1/me", nil).status; got != 401 {
			t.Errorf("a revoked token gives %d", got)
		}
	})
	t.Run("a new password signs out the others", func(t *testing.T) {
		other := newProfile(t).tab("")
		other.signIn(w.url, annMail)
		other.live()
		p := w.page(t, "/settings")
		p.until(`document.querySelectorAll('#sessions .item').length > 1`)
		p.write(`#password [name=current]`, password)
		p.write(`#password [name=password]`, "speak friend and enter")
		p.write(`#password [name=repeat]`, "speak friend and entre\r")
		p.until(`document.querySelector('#password .field-error') && document.activeElement.getAttribute('aria-invalid') === 'true'`)
		p.shot("settings-password-refused")
		p.write(`#password [name=current]`, password)
		p.write(`#password [name=password]`, "speak friend and enter")
		p.write(`#password [name=repeat]`, "speak friend and enter\r")
		p.until(`document.querySelector('#password [data-saved]')`)
		other.until(`location.pathname === '/auth/login'`)
		p.open(w.url + "/settings")
		p.until(`document.querySelectorAll('#sessions .item').length === 1`)
	})
}

// untilTheme waits until the account has a theme: the page saves it behind the
// person's back.
func (w *world) untilTheme(theme string) {
	w.t.Helper()
	for range 2000 {
		if strings.Contains(string(w.ann.do("GET", "/api/v1/me", nil).body), `"`+theme+`"`) {
			return
		}
	}
	w.t.Fatalf("the theme %s was not saved", theme)
}

// TestAdministration is what an administrator does.
func TestAdministration(t *testing.T) {
	w := newWorld(t)
	b := newProfile(t)
	p := b.tab("")
	p.size(1280, 800)
	p.signIn(w.url, adminMail)

	// Models: search, filter, order.
	p.open(w.url + "/admin/models")
	p.write(`.filters [name=q]`, "thinking")
	p.until(`document.querySelectorAll('#model-list .model-row').length === 1 && document.querySelector('#model-list .model-row').innerText.includes('demo-thinking')`)
	p.shot("admin-models-search")
	p.open(w.url + "/admin/models")
	p.choose(`.filters [name=connection]`, "Gate")
	p.until(`document.querySelectorAll('#model-list .model-row').length === 1`)
	p.open(w.url + "/admin/models")
	second := value[string](p, `document.querySelectorAll('#model-list .row-link')[1].innerText`)
	p.click(`#model-list .model-row:nth-child(2) [title=Up]`)
	p.until(`document.querySelector('#model-list .row-link').innerText === ` + quote(second))
	p.click(`#model-list .model-row:has(a[href]):last-child .toggle`)
	p.until(`document.querySelector('#model-list .model-row:last-child').classList.contains('off')`)
	last := value[string](p, `document.querySelector('#model-list .model-row:last-child .row-link').innerText`)
	first := value[string](p, `document.querySelector('#model-list .row-link').innerText`)
	p.shot("admin-models")

	ann := w.page(t, "/")
	if offered := value[[]string](ann, `[...document.querySelector('#model').options].map(o => o.querySelector('.opt-title').textContent)`); offered[0] != first || strings.Contains(strings.Join(offered, " "), last) {
		t.Errorf("the picker offers %v; want %s first and no %s", offered, first, last)
	}

	// One model: default, flags, parameters, system prompt; the next request has them.
	p.click(`#model-list .row-link[href]:is([href*="/admin/models/"])`)
	p.until(`document.querySelector('#model-form') && 'ready' in document.documentElement.dataset`)
	p.open(w.url + "/admin/models/" + w.modelID("gate"))
	for _, flag := range []string{"default", "vision", "tools"} {
		p.click(`#model-form .line:has([name=` + flag + `][role=switch])`)
	}
	p.write(`#model-form [name="context_length"]`, "4096")
	p.write(`#model-form [name="params.temperature"]`, "0.25")
	p.write(`#model-form [name="system_prompt"]`, "Speak like a hobbit.")
	p.click(`#model-form button.prime`)
	p.until(`document.querySelector('#model-form [data-saved]') && document.querySelector('#model-form [name=default][role=switch]').checked`)
	p.shot("admin-model")
	ann.open(w.url + "/")
	if chosen := value[string](ann, `document.querySelector('#model').selectedOptions[0].querySelector('.opt-title').textContent`); chosen != "gate" {
		t.Errorf("the default is %q", chosen)
	}
	ann.say("hello there")
	chat := ann.chatID()
	c := w.gate.next(t)
	if c.turn(0) != "Speak like a hobbit." || c.body["temperature"] != 0.25 {
		t.Errorf("asked with %v", c.body)
	}
	c.say("Good day").end()
	ann.settled("complete")
	w.requestOnRecord(t, chat, "Speak like a hobbit.")

	// The instance: sign-up off.
	p.open(w.url + "/admin/settings")
	p.click(`#instance-form .line:has([name=signup][role=switch])`)
	p.click(`#instance-form button.prime`)
	p.until(`document.querySelector('#instance-form [data-saved]')`)
	p.shot("admin-instance")
	stranger := newProfile(t).tab("")
	stranger.do(chromedp.Navigate(w.url + "/auth/register"))
	stranger.until(`document.querySelector('h1').innerText === 'Sign-up is closed'`)
	stranger.shot("register-closed")

	// People: one more, then disabled.
	p.open(w.url + "/admin/users")
	p.write(`#user-form [name=name]`, "Bob")
	p.write(`#user-form [name=email]`, "bob@example.org")
	p.write(`#user-form [name=password]`, password+"\r")
	p.until(`document.querySelector('#user-list').innerText.includes('Bob') && 'ready' in document.documentElement.dataset`)
	stranger.signIn(w.url, "bob@example.org")
	stranger.live()
	p.click(`#user-list .item:has(small):has(b) .item-acts:has([hx-confirm*="Disable Bob"]) [hx-confirm*="Disable Bob"]`)
	p.until(`document.querySelector('#ask').open`)
	p.shot("admin-users-confirm")
	p.click(`#ask [data-slot=ok]`)
	p.until(`document.querySelector('#user-list .item.off')?.innerText.includes('Bob')`)
	stranger.until(`location.pathname === '/auth/login'`)
	stranger.forgive()
}

func (w *world) modelID(name string) string {
	w.t.Helper()
	items, _ := w.admin.want(200, "GET", "/api/v1/models", nil)["items"].([]any)
	for _, i := range items {
		if m, _ := i.(map[string]any); text(m["name"]) == name {
			return text(m["id"])
		}
	}
	w.t.Fatalf("no model %s", name)
	return ""
}

// requestOnRecord looks for words in the request of a chat's last round, as
// lembas events shows it.
func (w *world) requestOnRecord(t *testing.T, chat, words string) {
	t.Helper()
	found := ""
	for _, e := range w.stored(chat) {
		p, err := events.Decode(&e)
		must(t, err)
		if _, ok := p.(events.RoundStarted); ok {
			b, err := json.Marshal(p)
			must(t, err)
			found = string(b)
		}
	}
	if !strings.Contains(found, words) {
		t.Errorf("the request on record has no %q: %.2000s", words, found)
	}
}
