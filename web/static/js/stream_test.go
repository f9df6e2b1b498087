package js_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// TestParserAnyCut feeds each stream cut in two at every place: the events must
// not depend on where the bytes were cut.
func TestParserAnyCut(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	type event struct {
		Event string `json:"event"`
		ID    string `json:"id,omitempty"`
		Data  string `json:"data"`
	}
	cases := []struct {
		name, stream string
		want         []event
	}{
		{"one", "event: frame\nid: E.1\ndata: {}\n\n", []event{{"frame", "E.1", "{}"}}},
		{"carriage returns", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\rdata: 3\n\n", []event{{"a", "", "1"}, {"message", "", "2"}, {"message", "", "3"}}},
		{"several data lines", "data: a\ndata:b\ndata\n\n", []event{{"message", "", "a\nb\n"}}},
		{"comment and unknown field", ": ok\nretry: 5\ndata: x\n\n", []event{{"message", "", "x"}}},
		{"control event has no id", "id: E.7\ndata: 1\n\nevent: ping\ndata: 2\n\n", []event{{"message", "E.7", "1"}, {"ping", "", "2"}}},
		{"no data, no event", "event: x\nid: E.9\n\ndata: y\n\n", []event{{"message", "", "y"}}},
		{"unfinished is not an event", "data: a\n\ndata: b\n", []event{{"message", "", "a"}}},
		{"colons and unicode", "data: a: \u00e9\U0001f35e\n\n", []event{{"message", "", "a: \u00e9\U0001f35e"}}},
	}
	for _, c := range cases {
		want, _ := json.Marshal(c.want)
		wrong := run[[]string](p, `import('/static/v1/js/line.js').then(({ parser }) => {
			const stream = `+quote(c.stream)+`, want = `+quote(string(want))+`, wrong = []
			const feed = parts => { const got = []; const f = parser(e => got.push(e)); parts.forEach(f); return JSON.stringify(got.map(({ event, id, data }) => ({ event, id, data }))) }
			for (let i = 0; i <= stream.length; i++) {
				const got = feed([stream.slice(0, i), stream.slice(i)])
				if (got !== want) wrong.push(i + ': ' + got)
			}
			const got = feed([...stream])
			if (got !== want) wrong.push('one by one: ' + got)
			return wrong
		})`)
		for _, w := range wrong {
			t.Errorf("%s, cut at %s, want %s", c.name, w, want)
		}
	}
}

func TestStreamFollowsAndResumes(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	if l.After != "E.10" || l.LastID != "" || !slices.Equal(l.Chats, []string{"c1"}) {
		t.Fatalf("first connection asks after=%q id=%q chats=%q", l.After, l.LastID, l.Chats)
	}
	p.until(`document.body.dataset.connection === 'live'`)
	text := add(12)
	l.send(t, add(9), add(10), text[:7], text[7:40], text[40:])
	p.until(`document.getElementById('n12')`)
	p.equal(`[...document.querySelectorAll('#log > p')].map(e => e.id)`, []string{"n12"})

	close(l.out) // the connection breaks
	l = s.next(t)
	if l.After != "E.12" || l.LastID != "E.12" {
		t.Errorf("after a break it asks after=%q id=%q, want E.12", l.After, l.LastID)
	}
	p.exec(`document.getElementById('n12').textContent = 'mine'`)
	l.send(t, add(12), add(13))
	p.until(`document.getElementById('n13')`)
	p.equal(`document.getElementById('n12').textContent`, "mine")
	p.equal(`document.body.dataset.cursor`, "E.10") // the sidebar has seen nothing newer
}

func TestCatchingUpIsSaid(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	l.send(t, add(11), control("ping", `{"position":11}`))
	p.until(`document.body.dataset.connection === 'live' && document.getElementById('n11')`)
	p.exec(`(window.said = [], new MutationObserver(() => said.push(document.querySelector('.banner span').textContent)).observe(document.querySelector('.banner span'), {childList: true}), 0)`)
	close(l.out)
	l = s.next(t)
	l.send(t, add(12)+add(13), control("ping", `{"position":13}`))
	p.until(`document.body.dataset.connection === 'live' && document.getElementById('n13')`)
	p.until(`said.includes('Reconnecting…') && said.includes('Reconnecting… catching up (2 events)')`)
}

func TestWatchdogReplacesASilentLine(t *testing.T) {
	s := newSite(t)
	s.attrs = ` data-ping="60"`
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	l.send(t, add(11))
	p.until(`document.getElementById('n11')`)
	l.waitGone(t) // nothing is sent any more, and the server never closes it
	if l = s.next(t); l.After != "E.11" {
		t.Errorf("the new line asks after %q, want E.11", l.After)
	}
}

func TestErrorsAreRetried(t *testing.T) {
	s := newSite(t)
	s.attrs = ` data-ping="200"`
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	l.send(t, "event: frame\nid: E.11\ndata: {not json\n\n") // a broken frame is left out
	l.send(t, add(12))
	p.until(`document.getElementById('n12')`)
	p.forgive()
}

func TestReset(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	p.exec(`window.old = true`)
	s.set(func(s *site) { s.cursor = 3 })
	l.send(t, control("reset", `{"reason":"epoch"}`))
	p.until(`!window.old && document.body.dataset.cursor === 'E.3'`)
	if l = s.next(t); l.After != "E.3" || l.LastID != "" {
		t.Errorf("after a reset it asks after=%q id=%q, want E.3 and none", l.After, l.LastID)
	}
}

func TestEnd(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	p.until(`document.body.dataset.connection === 'live'`)
	p.exec(`(window.states = [], new MutationObserver(() => states.push(document.body.dataset.connection)).observe(document.body, {attributes: true, attributeFilter: ['data-connection']}), 0)`)
	l.send(t, add(11), control("end", `{"reason":"lifetime"}`))
	if l = s.next(t); l.LastID != "E.11" {
		t.Errorf("after end it resumes from %q, want E.11", l.LastID)
	}
	l.send(t, add(12))
	p.until(`document.getElementById('n12')`)
	p.equal(`states`, []string{}) // announced, so nothing to worry about
	l.send(t, control("end", `{"reason":"signed_out"}`))
	p.until(`location.pathname === '/auth/login' && location.search === '?next=%2Fchat%2Fc1'`)
}

func TestSignedOutAnswer(t *testing.T) {
	s := newSite(t)
	s.answer("POST /api/v1/chats/c1/messages", func(w http.ResponseWriter, r *http.Request) { http.Error(w, `{}`, http.StatusUnauthorized) })
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	s.next(t)
	p.click("#prompt")
	p.press("hi")
	p.press("\r")
	p.until(`location.pathname === '/auth/login'`)
	p.forgive()
}

// TestSevenTabs opens more tabs than HTTP/1.1 has connections for one origin.
func TestSevenTabs(t *testing.T) {
	modes := []struct{ name, before, transport string }{
		{"shared worker", "", "shared"},
		{"web locks", "delete self.SharedWorker", "led"},
	}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			s := newSite(t)
			s.answer("POST /api/v1/chats/c1/stop", func(w http.ResponseWriter, r *http.Request) {})
			var tabs []*tab
			for range 7 {
				p := openTab(t, mode.before)
				p.open(s.URL + "/chat/c1")
				p.until(`document.body.dataset.connection === 'live'`)
				p.equal(`document.body.dataset.transport`, mode.transport)
				tabs = append(tabs, p)
			}
			l := s.next(t)
			if n := len(s.lines); n != 0 {
				t.Errorf("%d more connections than one", n)
			}
			l.send(t, add(11))
			for _, p := range tabs {
				p.until(`document.getElementById('n11')`)
			}
			p := tabs[6]
			p.exec(`import('/static/v1/js/api.js').then(m => m.api('POST', '/chats/c1/stop', {}))`)
			s.called(t, "POST /api/v1/chats/c1/stop", 0)
		})
	}
}

func TestTabsOfOtherChats(t *testing.T) {
	s := newSite(t)
	a := openTab(t, "")
	a.open(s.URL + "/chat/c1")
	l := s.next(t)
	l.send(t, add(15))
	a.until(`document.getElementById('n15')`)
	s.set(func(s *site) { s.cursor = 12 })
	b := openTab(t, "")
	b.open(s.URL + "/chat/c2") // rendered before what the connection has reached
	l.waitGone(t)
	l = s.next(t)
	slices.Sort(l.Chats)
	if l.After != "E.12" || l.LastID != "" || !slices.Equal(l.Chats, []string{"c1", "c2"}) {
		t.Fatalf("the common connection asks after=%q id=%q chats=%q", l.After, l.LastID, l.Chats)
	}
	a.exec(`document.getElementById('n15').textContent = 'mine'`)
	put := op{"op": "put", "target": "x", "into": "log", "html": `<p id="x">for b</p>`}
	l.send(t, frame(13, "c2", put), add(14), add(15), add(16))
	a.until(`document.getElementById('n16')`)
	b.until(`document.getElementById('x')`)
	a.equal(`[document.getElementById('n15').textContent, document.getElementById('n14'), document.getElementById('x')]`, []any{"mine", nil, nil})
	b.equal(`document.getElementById('n16')`, nil)

	b.close() // its chat leaves the connection with the next attempt
	s.set(func(s *site) { s.cursor = 16 })
	c := openTab(t, "")
	c.open(s.URL + "/chat/c3")
	l = s.next(t)
	slices.Sort(l.Chats)
	if !slices.Equal(l.Chats, []string{"c1", "c3"}) {
		t.Errorf("chats of open tabs are c1 and c3, asked for %q", l.Chats)
	}
}

// TestTabRenderedBehind: the same chat, but from before what the connection has
// passed on already.
func TestTabRenderedBehind(t *testing.T) {
	s := newSite(t)
	a := openTab(t, "")
	a.open(s.URL + "/chat/c1")
	l := s.next(t)
	l.send(t, add(15))
	a.until(`document.getElementById('n15')`)
	s.set(func(s *site) { s.cursor = 12 })
	b := openTab(t, "")
	b.open(s.URL + "/chat/c1")
	if l = s.next(t); l.After != "E.12" {
		t.Fatalf("the connection asks after %q, want E.12", l.After)
	}
	l.send(t, add(15))
	b.until(`document.getElementById('n15')`)
}

func TestLeaderLeaves(t *testing.T) {
	s := newSite(t)
	a, b := openTab(t, "delete self.SharedWorker"), openTab(t, "delete self.SharedWorker")
	a.open(s.URL + "/chat/c1")
	l := s.next(t)
	b.open(s.URL + "/chat/c1")
	b.until(`document.body.dataset.connection === 'live'`)
	l.send(t, add(11))
	b.until(`document.getElementById('n11')`)
	a.close()
	l.waitGone(t)
	// The sidebar of b has seen nothing newer than its page: the chat's frames come again and are dropped.
	if l = s.next(t); l.After != "E.10" {
		t.Errorf("the new leader asks after %q, want E.10", l.After)
	}
	b.exec(`document.getElementById('n11').textContent = 'mine'`)
	l.send(t, add(11), add(12))
	b.until(`document.getElementById('n12')`)
	b.equal(`document.getElementById('n11').textContent`, "mine")
}

// TestPlainHTTP: by an address there are workers but no locks; without workers
// each tab has a connection of its own.
func TestPlainHTTP(t *testing.T) {
	for _, mode := range []struct{ name, before, transport string }{
		{"worker", "", "shared"}, {"no worker", "delete self.SharedWorker", "alone"},
		{"worker that fails", "self.SharedWorker = class { constructor() { throw new Error('no') } }", "alone"},
	} {
		t.Run(mode.name, func(t *testing.T) {
			s := newSite(t)
			p := openTab(t, mode.before)
			p.open(lan(s) + "/chat/c1")
			p.equal(`[isSecureContext, document.body.dataset.transport]`, []any{false, mode.transport})
			s.next(t).send(t, add(11))
			p.until(`document.getElementById('n11')`)
		})
	}
}
