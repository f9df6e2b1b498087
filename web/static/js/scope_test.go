package js_test

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"lembas/web/templates"
)

func sampleScope() *templates.Scope {
	return &templates.Scope{Chat: "c1", Count: "4 of 6", Word: "tools", Allow: []string{"git status", "a b"}, Rows: []templates.ScopeRow{
		{Key: "fetch", Label: "Fetch pages", Icon: "globe", On: true, Tools: 1}, {Key: "web_search", Label: "Search the web", Icon: "search", Tools: 2},
		{Key: "mcp", Label: "Servers", On: true, Tools: 3}, {Key: "mcp:lab", Label: "Lab", On: true, Tools: 3, Under: true},
		{Key: "custom", Label: "Custom tools", Tools: 4, Off: "Switched off on this instance"},
	}}
}

const scopeSwitch = `document.querySelector('#scope [data-scope="%s"]')`

// TestScopeMenu: each change sends all that is off, one after the other, and what
// the server says counts in the end.
func TestScopeMenu(t *testing.T) {
	h := newHouse(t)
	h.scope = sampleScope()
	h.answer("GET /chat/c1/scope", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		fmt.Fprint(w, h.fragment("scope", *h.scope))
	})
	h.answer("PATCH /api/v1/chats/c1", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{}`) })
	p, l := h.open("")
	p.equal(`[document.querySelector('#scope > button').textContent, document.querySelector('#scope-menu').matches(':popover-open')]`, []any{"4 of 6 tools", false})
	p.click(`#scope > button`)
	p.until(`document.activeElement.dataset.scope === 'fetch'`)
	p.press("\r")                                                     // Enter switches; it does not send a message
	p.do(chromedp.SendKeys(chromedp.CSS(`[data-scope="fetch"]`), "")) // settle
	want := []string{`{"scope":{"fetch":false,"web_search":false,"custom":false}}`, `{"scope":{"fetch":false,"custom":false}}`}
	p.click(`[data-scope="web_search"]`)
	for i, body := range want {
		if c := h.called(t, "PATCH /api/v1/chats/c1", i); c.Body != body {
			t.Errorf("change %d sends %s, want %s", i, c.Body, body)
		}
	}
	p.equal(`[document.querySelector('#scope-menu').matches(':popover-open'), document.getElementById('prompt').value]`, []any{true, ""})
	// Another tab allowed all again: the switches follow, the menu stays open.
	h.set2(func() {
		h.scope.Count = "6"
		for i := range h.scope.Rows {
			h.scope.Rows[i].On = true
		}
	})
	l.send(t, frame(11, "c1", op{"op": "attr", "target": "scope", "name": "data-at", "value": 11}))
	p.until(`document.querySelector('#scope > button').textContent === '6 tools' && ` + fmt.Sprintf(scopeSwitch, "fetch") + `.checked && document.querySelector('#scope-menu').matches(':popover-open')`)
	p.equal(`[...document.querySelectorAll('.scope-allow code')].map(e => e.textContent)`, []string{"git status", "a b"})
	p.click(`[data-act=clear-allow]`)
	if c := h.called(t, "PATCH /api/v1/chats/c1", 2); c.Body != `{"allow":[]}` {
		t.Errorf("cleared with %s", c.Body)
	}
}

// TestScopeOnItsWay: what the server says while a change is on its way to it does
// not undo the change.
func TestScopeOnItsWay(t *testing.T) {
	h := newHouse(t)
	h.scope = sampleScope()
	hold := make(chan struct{})
	h.answer("PATCH /api/v1/chats/c1", func(w http.ResponseWriter, r *http.Request) {
		<-hold
		fmt.Fprint(w, `{}`)
	})
	h.answer("GET /chat/c1/scope", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, h.fragment("scope", *sampleScope())) })
	p, l := h.open("")
	p.exec(`document.addEventListener('lembas:fetched', e => { window.fetched = e.detail })`)
	p.click(`#scope > button`)
	p.click(`[data-scope="fetch"]`)
	h.called(t, "PATCH /api/v1/chats/c1", 0)
	l.send(t, frame(11, "c1", op{"op": "attr", "target": "scope", "name": "data-at", "value": 11}))
	p.until(`window.fetched === 'scope'`)
	p.equal(fmt.Sprintf(scopeSwitch, "fetch")+`.checked`, false)
	close(hold)
	p.click(`[data-scope="web_search"]`)
	if c := h.called(t, "PATCH /api/v1/chats/c1", 1); c.Body != `{"scope":{"fetch":false,"custom":false}}` {
		t.Errorf("then it sends %s", c.Body)
	}
}

// TestScopeRefused: the switch goes back, and the words say why.
func TestScopeRefused(t *testing.T) {
	h := newHouse(t)
	h.scope = sampleScope()
	h.answer("PATCH /api/v1/chats/c1", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"detail":"Not now."}`, http.StatusServiceUnavailable)
	})
	p, _ := h.open("")
	p.click(`#scope > button`)
	p.click(`[data-scope="fetch"]`)
	p.until(`document.querySelector('.toast')?.textContent.includes('Not now.') && ` + fmt.Sprintf(scopeSwitch, "fetch") + `.checked`)
	p.forgive()
}

// TestScopeOfNewChat: there is no chat to change, so what is off travels with the
// first message; another model has other tools.
func TestScopeOfNewChat(t *testing.T) {
	h := newHouse(t)
	h.scope = sampleScope()
	h.scope.Chat, h.scope.Allow = "", nil
	h.scope.Rows = h.scope.Rows[:4]
	h.scope.Rows[1].On = true
	var asked []url.Values
	h.answer("GET /scope", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		asked = append(asked, r.URL.Query())
		v := *h.scope
		if v.Count = "5 of 6"; r.URL.Query().Get("model") == "m2" {
			v = templates.Scope{Count: "No", Word: "tools", None: "This model takes no tools."}
		}
		v.Rows = slices.Clone(v.Rows)
		for i := range v.Rows {
			v.Rows[i].On = !slices.Contains(r.URL.Query()["off"], v.Rows[i].Key)
		}
		fmt.Fprint(w, h.fragment("scope", v))
	})
	h.answer("POST /api/v1/chats", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"chat_id":"c1"}`) })
	p := openTab(t, "")
	p.open(h.URL + "/")
	p.click(`#scope > button`)
	p.click(`[data-scope="fetch"]`)
	p.until(`document.querySelector('#scope > button').textContent === '5 of 6 tools' && !` + fmt.Sprintf(scopeSwitch, "fetch") + `.checked`)
	p.press("\x1b")
	pick := func(model string) {
		p.exec(`(pick => { pick.value = ` + quote(model) + `; pick.dispatchEvent(new Event('change', {bubbles: true})) })(document.querySelector('[name=model]'))`)
	}
	pick("m2")
	p.until(`document.querySelector('#scope > button').textContent === 'No tools'`)
	pick("m1")
	p.until(`document.querySelector('[data-scope="fetch"]')`)
	p.equal(fmt.Sprintf(scopeSwitch, "fetch")+`.checked`, false)
	p.click("#prompt")
	p.press("hello\r")
	if c := h.called(t, "POST /api/v1/chats", 0); c.Body != `{"model":"m1","text":"hello","scope":{"fetch":false}}` {
		t.Errorf("created with %s", c.Body)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if wanted := (url.Values{"model": {"m1"}, "off": {"fetch"}}); len(asked) == 0 || !reflect.DeepEqual(asked[0], wanted) {
		t.Errorf("asked with %v", asked)
	}
}
