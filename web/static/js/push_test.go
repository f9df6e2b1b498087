package js_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"

	"lembas/web/static"
	"lembas/web/templates"
)

// fakePush stands in for the browser's push service, which cannot be reached:
// a subscription lives as long as its tab.
const fakePush = `
	{
		const give = () => sessionStorage.fake && {
			endpoint: 'https://push.example.test/x', options: {},
			toJSON() { return { endpoint: this.endpoint, expirationTime: null, keys: { p256dh: 'B-key', auth: 'an-auth' } } },
			async unsubscribe() { delete sessionStorage.fake; return true },
		}
		PushManager.prototype.getSubscription = async () => give()
		PushManager.prototype.subscribe = async o => {
			if (sessionStorage.down) throw new DOMException('no way there', 'AbortError')
			sessionStorage.fake = String(new Uint8Array(o.applicationServerKey)) + o.userVisibleOnly
			return give()
		}
	}`

// pushSite is the product's settings page over a server that keeps one
// subscription.
type pushSite struct {
	*site
	mu     sync.Mutex // guards what follows
	has    bool
	broken bool
}

func newPushSite(t *testing.T) *pushSite {
	t.Helper()
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	set, err := templates.New(files)
	if err != nil {
		t.Fatal(err)
	}
	s := &pushSite{site: newSite(t)}
	s.files, s.root = files.Handler(), files.Root()
	shell := templates.Shell{Title: "Settings", Page: "settings", Person: templates.Person{ID: "u1", Name: "Ann", Initial: "A"}, Epoch: "E", Cursor: "E.10"}
	html := func(render func(*bytes.Buffer, templates.Push) error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			var b bytes.Buffer
			if err := render(&b, s.list()); err != nil {
				t.Errorf("rendering: %v", err)
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = b.WriteTo(w)
		}
	}
	fragment := html(func(b *bytes.Buffer, v templates.Push) error { return set.Fragment(b, "settings-pushes", v) })
	s.answer("GET /settings", html(func(b *bytes.Buffer, v templates.Push) error {
		return set.Page(b, "settings", templates.Settings{Shell: shell, Push: v})
	}))
	s.answer("GET /settings/push", fragment)
	s.answer("DELETE /settings/push/p1", func(w http.ResponseWriter, r *http.Request) { s.keep(false); fragment(w, r) })
	s.answer("GET /api/v1/push", func(w http.ResponseWriter, _ *http.Request) {
		list := []map[string]any{}
		if len(s.list().Items) > 0 {
			list = append(list, map[string]any{"id": "p1", "this": true})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"public_key": "BP-_AA", "subscriptions": list})
	})
	s.answer("POST /api/v1/push", s.subscribe)
	s.answer("DELETE /api/v1/push/p1", func(w http.ResponseWriter, _ *http.Request) { s.keep(false); w.WriteHeader(http.StatusNoContent) })
	return s
}

func (s *pushSite) keep(has bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.has = has
}

func (s *pushSite) fail(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

func (s *pushSite) list() (v templates.Push) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has {
		v.This, v.Items = "p1", []templates.PushBrowser{{ID: "p1", Device: "Chrome on Linux", Host: "push.example.test", This: true}}
	}
	return v
}

func (s *pushSite) subscribe(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		http.Error(w, `{"detail":"The disk is full."}`, http.StatusServiceUnavailable)
		return
	}
	s.has = true
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, `{"id":"p1"}`)
}

// permit says what the browser lets a site do: granted, denied or prompt.
func (p *tab) permit(origin, setting string) {
	p.t.Helper()
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: browser.PermissionSetting(setting), Origin: origin,
			BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID})
		return chromedp.Void{}, err
	})
}

// stands waits for a state of the switch.
func (p *tab) stands(state string, checked, disabled bool, words string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.getElementById('push-state').dataset.state === %q`, state))
	p.equal(`[document.getElementById('push-here').checked, document.getElementById('push-here').disabled]`, []bool{checked, disabled})
	if got := run[string](p, `document.getElementById('push-state').textContent`); !strings.Contains(got, words) {
		p.t.Errorf("%s says %q, not %q", state, got, words)
	}
}

func TestPushSwitch(t *testing.T) {
	s := newPushSite(t)
	p := openTab(t, fakePush)
	p.permit(s.URL, "denied")
	p.open(s.URL + "/settings")
	p.stands("denied", false, true, "Allow them in its settings for the site")
	p.equal(`document.querySelector('[type=checkbox][name=notify]').disabled`, true)
	p.permit(s.URL, "prompt") // the page hears of it
	p.stands("off", false, false, "Nothing is sent")
	p.until(`!document.querySelector('[type=checkbox][name=notify]').disabled && !document.getElementById('notify-why').textContent`)
	p.permit(s.URL, "granted")
	p.click("#push-here")
	p.until(`document.getElementById('pushes').dataset.this === 'p1'`)
	p.stands("on", true, false, "until you sign out")
	if c := s.called(t, "POST /api/v1/push", 0); c.Body != `{"endpoint":"https://push.example.test/x","keys":{"p256dh":"B-key","auth":"an-auth"}}` {
		t.Errorf("subscribed with %s", c.Body)
	}
	p.equal(`[sessionStorage.fake, document.activeElement.id]`, []string{"4,255,191,0true", "push-here"}) // the instance's key

	p.open(s.URL + "/settings")
	p.stands("on", true, false, "until you sign out")
	p.click("#push-here")
	p.until(`!document.querySelector('#pushes .item')`)
	p.stands("off", false, false, "Nothing is sent")
	s.called(t, "DELETE /api/v1/push/p1", 0)
	p.equal(`[!!sessionStorage.fake, localStorage.getItem('lembas:push:u1')]`, []any{false, nil})

	p.click("#push-here")
	p.until(`document.querySelector('#pushes [hx-delete]')`)
	p.click("#pushes [hx-delete]") // the list takes this browser away, too
	p.stands("off", false, false, "Nothing is sent")
	p.equal(`!!sessionStorage.fake`, false)
}

func TestPushTrouble(t *testing.T) {
	s := newPushSite(t)
	p := openTab(t, fakePush)
	p.permit(s.URL, "granted")
	p.open(s.URL + "/settings")
	p.stands("off", false, false, "")
	p.exec(`sessionStorage.down = 1`)
	p.click("#push-here")
	p.stands("page", true, false, "While none is open you are not told: its push service gave an error (no way there)")
	p.open(s.URL + "/settings")
	p.stands("page", true, false, "open in a tab")
	p.click("#push-here")
	p.stands("off", false, false, "Nothing is sent")
	p.exec(`delete sessionStorage.down`)
	s.fail(true)
	p.click("#push-here")
	p.stands("error", false, false, "That did not work: The disk is full.")
	p.equal(`!!sessionStorage.fake`, false) // nobody knows of it
	s.fail(false)
	p.click("#push-here")
	p.stands("on", true, false, "until you sign out")
	p.forgive()
}

func TestPushOnPlainHTTP(t *testing.T) {
	s := newPushSite(t)
	p := openTab(t, "")
	p.open(lan(s.site) + "/settings")
	p.stands("unsupported", false, true, "this page came over plain http")
}

// TestPushEndsWithTheLogin: the next page says so, once.
func TestPushEndsWithTheLogin(t *testing.T) {
	s := newPushSite(t)
	p := openTab(t, fakePush)
	p.permit(s.URL, "granted")
	p.open(s.URL + "/settings")
	p.stands("off", false, false, "")
	p.click("#push-here")
	p.stands("on", true, false, "")
	p.until(`document.getElementById('pushes').dataset.this`)
	s.keep(false)
	p.open(s.URL + "/chat/c1")
	p.until(`document.querySelector('.toast')?.textContent.includes('ended with your last sign-in')`)
	p.equal(`[document.querySelector('.toast a').getAttribute('href'), !!sessionStorage.fake]`, []any{"/settings#notifications", false})
	p.open(s.URL + "/settings")
	p.stands("off", false, false, "Nothing is sent")
}

// TestACardIsToldOfWhereItIsWanted: an open page that is not looked at tells of
// a card where the switch is on, and of a reply's end only by preference.
func TestACardIsToldOfWhereItIsWanted(t *testing.T) {
	s := newPushSite(t)
	p := openTab(t, fakePush+`
		Object.defineProperty(document, 'hidden', { get: () => true })
		ServiceWorkerRegistration.prototype.showNotification = async (...a) => { (window.shown ??= []).push(a) }`)
	p.permit(s.URL, "granted")
	p.open(s.URL + "/settings")
	p.stands("off", false, false, "")
	p.click("#push-here")
	p.stands("on", true, false, "")
	l := s.next(t)
	toast := func(at int, kind, text string) string {
		return frame(at, "", op{"op": "toast", "kind": kind, "text": text, "href": "/chat/c1", "key": "k"})
	}
	l.send(t, toast(11, "ok", "Reply finished in Rome"), toast(12, "warn", "Rome waits for your answer"))
	p.until(`window.shown`)
	p.equal(`shown.map(([title, o]) => [title, o.body, o.tag, o.data.href])`, [][]string{{"LLeMbas", "Rome waits for your answer", "waiting", "/chat/c1"}})
	p.click("#push-here")
	p.stands("off", false, false, "")
	p.exec(`document.body.dataset.notify = 'on'`)
	l.send(t, toast(13, "ok", "Reply finished in Sparta"))
	p.until(`shown.length === 2`)
	p.equal(`[shown[1][1].body, shown[1][1].tag]`, []string{"Reply finished in Sparta", "k"})
	p.exec(`delete document.body.dataset.notify; shown.length = 0`)
	l.send(t, toast(14, "warn", "Sparta waits for your answer"), frame(15, "", op{"op": "announce", "text": "after"}))
	p.until(`document.getElementById('live').textContent === 'after'`)
	p.equal(`shown`, []any{})
}

// TestPushMessage delivers one to the real service worker.
func TestPushMessage(t *testing.T) {
	s := newSite(t)
	registered := make(chan string, 16)
	p := openTab(t, "")
	p.permit(s.URL, "granted")
	err := chromedp.Listen(p.ctx, func(ev any) {
		if e, ok := ev.(*serviceworker.EventWorkerRegistrationUpdated); ok {
			for _, r := range e.Registrations {
				if strings.HasPrefix(r.ScopeURL, s.URL) {
					registered <- string(r.RegistrationID)
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, serviceworker.Enable, cdp.Empty{})
		return chromedp.Void{}, err
	})
	p.open(s.URL + "/chat/c1")
	p.exec(`navigator.serviceWorker.ready.then(() => 0)`)
	id := <-registered
	deliver := func() {
		p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, target, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{
				Origin: s.URL, RegistrationID: serviceworker.RegistrationID(id), Data: "<b>not shown</b>"})
			return chromedp.Void{}, err
		})
	}
	const notes = `navigator.serviceWorker.ready.then(r => r.getNotifications()).then(n => JSON.stringify(n.map(x => [x.title, x.body, x.tag, x.data.href])))`
	p.do(chromedp.Navigate("about:blank")) // nobody looks
	deliver()
	p.open(s.URL + "/chat/c1")
	p.exec(`new Promise(async done => { while (await ` + notes + ` === '[]') await new Promise(r => setTimeout(r, 20)); done() })`)
	if got := run[string](p, notes); got != `[["LLeMbas","Something waits for you","waiting","/waiting"]]` {
		t.Errorf("shown %s", got)
	}
}

// worker runs the service worker's own text over a stand-in for its surroundings.
const worker = `
	window.made = { shown: [], opened: [], focused: [], closed: 0 }
	window.tabs = []
	window.said = []
	window.handlers = {}
	window.tab = (path, focused) => ({ url: 'https://lembas.test' + path, focused, focus: async () => { made.focused.push(path) } })
	window.fire = async (name, e = {}) => { let work; handlers[name]({ ...e, waitUntil: p => { work = p } }); await work }
	window.press = data => fire('notificationclick', { notification: { data, close: () => made.closed++ } })
	;(function (self, location) { %s })({
		addEventListener: (name, fn) => { handlers[name] = fn },
		clients: { matchAll: async () => tabs, openWindow: async u => { made.opened.push(u) } },
		registration: { getNotifications: async () => said, showNotification: async (title, o) => { made.shown.push([title, o.body, o.tag, o.data.href]) } },
	}, { origin: 'https://lembas.test' })`

func TestPushInTheServiceWorker(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	text, err := os.ReadFile("sw.js")
	if err != nil {
		t.Fatal(err)
	}
	p.exec(fmt.Sprintf(worker, text))
	p.exec(`tabs = [tab('/chat/c1', false)]; fire('push')`)
	p.exec(`said = [{ body: 'Rome waits for your answer', data: { href: '/chat/c1' } }]; fire('push')`)
	p.exec(`tabs = [tab('/chat/c1', false), tab('/chat/c2', true)]; fire('push')`) // somebody looks
	p.equal(`made.shown`, [][]string{{"LLeMbas", "Something waits for you", "waiting", "/waiting"}, {"LLeMbas", "Rome waits for your answer", "waiting", "/chat/c1"}})

	p.exec(`press({ href: '/waiting' })`)
	p.exec(`tabs.push(tab('/waiting', false)); press({ href: '/waiting' })`)
	p.exec(`press({ href: '/chat/c1' })`)
	p.exec(`press(null)`)
	p.exec(`press({ href: 'https://evil.test/' })`)
	p.equal(`[made.opened, made.focused, made.closed]`, []any{[]string{"https://lembas.test/waiting"}, []string{"/waiting", "/chat/c1", "/waiting"}, 5})
}
