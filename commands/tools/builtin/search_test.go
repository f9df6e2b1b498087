package builtin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"lembas/commands/tools"
	"lembas/commands/tools/guard"
	"lembas/events"
)

func searchWith(g *guard.Client, st events.SearchState, key string) tools.Tool {
	return WebSearch(g, func(context.Context) (events.SearchState, string, error) { return st, key, nil })
}

var searxState = events.SearchState{Provider: events.SearchSearXNG, URL: "http://a.test", Results: 3}

func TestResultsOfSearXNG(t *testing.T) {
	w, g := newWeb(t, says("application/json", `{"query":"q","results":[
		{"url":"https://one.test/a","title":"One\u001b[0m\u202e","content":"first\n line"},
		{"url":"javascript:alert(1)","title":"bad"},{"url":"ftp://x.test/","title":"bad"},{"url":"data:text/html,x","title":"bad"},{"url":"","title":"bad"},
		{"url":"//x.test/","title":"bad"},{"url":"https://u:p@x.test/","title":"bad"},{"url":"https://one.test/a","title":"twice"},
		{"url":"http://two.test/","title":"","content":"`+strings.Repeat("x", 2000)+`"},
		{"url":"http://three.test/","title":"Three"},{"url":"http://four.test/","title":"Four"}],"unresponsive_engines":[["google","CAPTCHA"]]}`))
	res := run(t, searchWith(g, searxState, ""), `{"query":" elven  bread "}`)
	want := []events.Source{{Title: "One[0m", URL: "https://one.test/a"}, {Title: "two.test", URL: "http://two.test"}, {Title: "Three", URL: "http://three.test"}}
	if res.Status != events.ToolOK || len(res.Sources) != 3 {
		t.Fatalf("%+v", res)
	}
	for i := range want {
		if got := res.Sources[i]; got.Title != want[i].Title || strings.TrimRight(got.URL, "/") != want[i].URL {
			t.Errorf("%+v, want %+v", got, want[i])
		}
	}
	wantIn(t, res.Output, `Results of SearXNG for "elven bread":`, "1. One[0m\n   https://one.test/a\n   first line\n", strings.Repeat("x", maxSnippet)+"…")
	wantNotIn(t, res.Output, "bad", "twice", "four", "\x1b", "\u202e", strings.Repeat("x", maxSnippet+1))
	if r := w.seen[0]; r.URL.Path != "/search" || r.URL.Query().Get("q") != "elven bread" || r.URL.Query().Get("format") != "json" || r.Header.Get("Authorization") != "" {
		t.Errorf("asked %s %v", r.URL, r.Header)
	}
}

func TestTheProvidersAddress(t *testing.T) {
	empty := says("application/json", `{"results":[]}`)
	for address, path := range map[string]string{
		"http://a.test/": "/search", "http://a.test/searx": "/searx/search", "http://a.test/search": "/search",
		"http://private.test:8888": "/search", "http://127.0.0.1:8888": "/search", // the administrator's own
		"http://169.254.169.254": "", "": "", "ftp://a.test": "",
	} {
		w, g := newWeb(t, empty)
		res := run(t, searchWith(g, events.SearchState{Provider: events.SearchSearXNG, URL: address}, "key"), `{"query":"x"}`)
		switch {
		case path == "" && (res.Status != events.ToolError || len(w.seen) != 0 || !strings.Contains(res.Output, "administrator")):
			t.Errorf("%s: %q", address, res)
		case path != "" && (len(w.seen) != 1 || w.seen[0].URL.Path != path || w.seen[0].Header.Get("Authorization") != "Bearer key"):
			t.Errorf("%s: %q, asked %v", address, res, w.seen)
		}
	}
}

func TestAProviderLeadsNowhereElse(t *testing.T) {
	for _, st := range []events.SearchState{{Provider: events.SearchSearXNG, URL: "http://private.test"}, {Provider: events.SearchFirecrawl, URL: "http://private.test"}} {
		for _, to := range []string{"http://b.test/", "http://private.test:81/", "http://10.0.0.6/", "http://169.254.169.254/"} {
			for _, code := range []int{302, 307} {
				w, g := newWeb(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, code) })
				res := run(t, searchWith(g, st, "fc-key"), `{"query":"x"}`)
				if res.Status != events.ToolError || len(w.seen) != 1 || !strings.Contains(res.Output, "was not asked") {
					t.Errorf("%s to %s: %q after %d requests", st.Provider, to, res, len(w.seen))
				}
			}
		}
	}
}

func TestResultsOfFirecrawl(t *testing.T) {
	for _, body := range []string{
		`{"success":true,"data":[{"url":"https://one.test/a","title":"One","description":"first"}]}`,
		`{"success":true,"data":{"web":[{"url":"https://one.test/a","title":"One","description":"first","position":1}],"images":[]}}`,
	} {
		w, g := newWeb(t, says("application/json", body))
		res := run(t, searchWith(g, events.SearchState{Provider: events.SearchFirecrawl, URL: "http://a.test/v1", Results: 4}, "fc-key"), `{"query":"x \"y\""}`)
		if res.Status != events.ToolOK || len(res.Sources) != 1 || res.Sources[0] != (events.Source{Title: "One", URL: "https://one.test/a"}) {
			t.Errorf("%+v", res)
		}
		if r := w.seen[0]; r.Method != "POST" || r.URL.Path != "/v1/search" || r.Header.Get("Authorization") != "Bearer fc-key" || w.sent[0] != `{"limit":4,"query":"x \"y\""}` {
			t.Errorf("asked %s %s %s", r.Method, r.URL, w.sent[0])
		}
	}
}

func duckLink(to string) string {
	return "//duckduckgo.com/l/?uddg=" + url.QueryEscape(to) + "&amp;rut=0123"
}

func duckResult(class, href, title, snippet string) string {
	return fmt.Sprintf(`<div class="result %s"><h2 class="result__title"><a rel="nofollow" class="result__a" href="%s">%s</a></h2>
		<a class="result__url" href="%[2]s">shown.test</a><a class="result__snippet" href="%[2]s">%[4]s</a></div>`, class, href, title, snippet)
}

func duck(t *testing.T, answer http.HandlerFunc) (tools.Result, *web) {
	t.Helper()
	w, g := newWeb(t, answer)
	p := &duckduckgo{asker{guard: g, name: "DuckDuckGo", base: "http://a.test"}}
	return find(t.Context(), p, "elven bread", 5), w
}

func TestResultsOfDuckDuckGo(t *testing.T) {
	res, w := duck(t, says("text/html", "<html><body>"+
		duckResult("result--ad", "https://duckduckgo.com/y.js?ad_provider=x&u3=https%3A%2F%2Fad.test", "Buy", "an advertisement")+
		duckResult("web-result", duckLink("https://one.test/a?x=1&y=2"), "One <b>bread</b> &amp; more", "the <b>first</b> one")+
		duckResult("web-result", "https://two.test/", "Two", "direct")+
		duckResult("web-result", duckLink("javascript:alert(1)"), "Bad", "bad")+
		duckResult("result--ad", duckLink("https://duckduckgo.com/y.js?ad=1"), "Buy", "another")+
		`<div class="result"><h2><a class="result__a" href="`+duckLink("https://three.test/")+`">Three</a></h2></div>`+"</body></html>"))
	if res.Status != events.ToolOK || len(res.Sources) != 3 {
		t.Fatalf("%+v", res)
	}
	wantIn(t, res.Output, "1. One bread & more\n   https://one.test/a?x=1&y=2\n   the first one\n", "2. Two\n   https://two.test/\n   direct\n", "3. Three\n   https://three.test/\n")
	wantNotIn(t, res.Output, "Buy", "advertisement", "another", "Bad", "duckduckgo.com", "shown.test")
	if r := w.seen[0]; r.URL.Path != "/html/" || r.URL.Query().Get("q") != "elven bread" {
		t.Errorf("asked %s", r.URL)
	}
}

func TestTroubleWithProviders(t *testing.T) {
	searx := func(t *testing.T, answer http.HandlerFunc) tools.Result {
		_, g := newWeb(t, answer)
		return run(t, searchWith(g, searxState, ""), `{"query":"x"}`)
	}
	fire := func(t *testing.T, answer http.HandlerFunc) tools.Result {
		_, g := newWeb(t, answer)
		return run(t, searchWith(g, events.SearchState{Provider: events.SearchFirecrawl, URL: "http://a.test", Results: 3}, "fc-key"), `{"query":"x"}`)
	}
	ducks := func(t *testing.T, answer http.HandlerFunc) tools.Result { res, _ := duck(t, answer); return res }
	page := says("text/html", "<html><body><div class=new-layout><a href=https://one.test/>One</a></div></body></html>")
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		name   string
		ask    func(*testing.T, http.HandlerFunc) tools.Result
		answer http.HandlerFunc
		status string
		wants  []string
	}{
		{"searxng without json", searx, answers(403, "text/html", "<h1>Forbidden"), events.ToolError, []string{"SearXNG", "search.formats"}},
		{"searxng page", searx, page, events.ToolError, []string{"SearXNG", "web page instead of JSON", "administrator"}},
		{"searxng empty", searx, says("application/json", " "), events.ToolError, []string{"SearXNG", "empty answer"}},
		{"searxng other json", searx, says("application/json", `{"items":[]}`), events.ToolError, []string{"SearXNG", "without a list of results"}},
		{"searxng a list", searx, says("application/json", `[]`), events.ToolError, []string{"SearXNG", "not the JSON"}},
		{"searxng cut", searx, says("application/json", `{"results":[{"url":"ht`), events.ToolError, []string{"SearXNG", "not the JSON"}},
		{"searxng wrong types", searx, says("application/json", `{"results":[{"url":5}]}`), events.ToolError, []string{"SearXNG", "not the JSON"}},
		{"searxng engines", searx, says("application/json", `{"results":[],"unresponsive_engines":[["google","Suspended: CAPTCHA"],["bing",null],[]]}`), events.ToolError, []string{"SearXNG", "google: Suspended: CAPTCHA", "try again later"}},
		{"searxng nothing", searx, says("application/json", `{"results":[],"unresponsive_engines":[]}`), events.ToolOK, []string{"SearXNG found nothing", "other or fewer words"}},
		{"searxng only bad links", searx, says("application/json", `{"results":[{"url":"javascript:x"}]}`), events.ToolOK, []string{"found nothing"}},
		{"searxng limits", searx, answers(429, "text/plain", "slow down"), events.ToolError, []string{"SearXNG", "429", "wait"}},
		{"searxng trouble", searx, answers(502, "text/html", "<h1>Bad gateway"), events.ToolError, []string{"SearXNG", "502", "later"}},
		{"searxng elsewhere", searx, answers(404, "text/html", ""), events.ToolError, []string{"SearXNG", "404", "administrator"}},
		{"searxng teapot", searx, answers(418, "text/html", ""), events.ToolError, []string{"SearXNG", "418"}},
		{"searxng hangs up", searx, hangUp, events.ToolError, []string{"SearXNG cannot be reached"}},
		{"searxng much", searx, says("application/json", `{"results":[`+strings.Repeat(" ", maxAnswer)+`]}`), events.ToolError, []string{"SearXNG", "more than 2 MB"}},
		{"firecrawl key", fire, answers(401, "application/json", `{"success":false,"error":"Unauthorized: Invalid token"}`), events.ToolError, []string{"Firecrawl", "key", "401"}},
		{"firecrawl credit", fire, answers(402, "application/json", `{}`), events.ToolError, []string{"Firecrawl", "credit", "402"}},
		{"firecrawl limits", fire, answers(429, "application/json", `{}`), events.ToolError, []string{"Firecrawl", "429"}},
		{"firecrawl no success", fire, says("application/json", `{"success":false,"error":"Bad\u001b query"}`), events.ToolError, []string{"Firecrawl could not search: Bad query"}},
		{"firecrawl no reason", fire, says("application/json", `{"success":false}`), events.ToolError, []string{"Firecrawl could not search", "later"}},
		{"firecrawl no data", fire, says("application/json", `{"success":true}`), events.ToolError, []string{"Firecrawl", "without a list"}},
		{"firecrawl null", fire, says("application/json", `{"success":true,"data":null}`), events.ToolError, []string{"Firecrawl", "without a list"}},
		{"firecrawl nothing", fire, says("application/json", `{"success":true,"data":[]}`), events.ToolOK, []string{"Firecrawl found nothing"}},
		{"firecrawl page", fire, page, events.ToolError, []string{"Firecrawl", "web page"}},
		{"duckduckgo changed", ducks, page, events.ToolError, []string{"DuckDuckGo", "changed", "another provider"}},
		{"duckduckgo empty", ducks, says("text/html", ""), events.ToolError, []string{"DuckDuckGo", "cannot be read"}},
		{"duckduckgo challenge", ducks, answers(202, "text/html", `<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>`), events.ToolError, []string{"DuckDuckGo", "wait some minutes"}},
		{"duckduckgo challenge, 200", ducks, says("text/html", `<form id="challenge-form" class="challenge-form"></form>`), events.ToolError, []string{"DuckDuckGo", "wait some minutes"}},
		{"duckduckgo accepted", ducks, answers(202, "text/html", "<p>wait"), events.ToolError, []string{"DuckDuckGo", "wait some minutes"}},
		{"duckduckgo nothing", ducks, says("text/html", `<div class="no-results">No results found for <b>x</b></div>`), events.ToolOK, []string{"DuckDuckGo found nothing"}},
		{"duckduckgo 403", ducks, answers(403, "text/html", ""), events.ToolError, []string{"DuckDuckGo", "403", "another provider"}},
		{"duckduckgo 429", ducks, answers(429, "text/html", ""), events.ToolError, []string{"DuckDuckGo", "429"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := c.ask(t, c.answer)
			if res.Status != c.status || len(res.Sources) != 0 || len(res.Output) > 1200 {
				t.Errorf("%+v", res)
			}
			wantIn(t, res.Output, c.wants...)
			wantNotIn(t, res.Output, "fc-key", "<h1>", "\x1b")
		})
	}
}

func TestSearchThatIsNotSet(t *testing.T) {
	_, g := newWeb(t, says("application/json", "{}"))
	wantIn(t, run(t, searchWith(g, events.SearchState{Provider: events.SearchOff}, ""), `{"query":"x"}`).Output, "switched off")
	wantIn(t, run(t, searchWith(g, events.SearchState{Provider: "new"}, ""), `{"query":"x"}`).Output, "switched off")
	wantIn(t, run(t, searchWith(g, searxState, ""), `{"q":"x"}`).Output, `no argument "q"`)
	broken := WebSearch(g, func(context.Context) (events.SearchState, string, error) {
		return searxState, "", errors.New("vault: secret detail")
	})
	res := run(t, broken, `{"query":"x"}`)
	if wantNotIn(t, res.Output, "detail"); res.Status != events.ToolError {
		t.Errorf("%+v", res)
	}
}

func TestAtMostTwentyResults(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		b.WriteString(duckResult("", duckLink(fmt.Sprintf("https://n%d.test/", i)), "T", "s"))
	}
	w, g := newWeb(t, says("text/html", b.String()))
	p := &duckduckgo{asker{guard: g, name: "DuckDuckGo", base: "http://a.test"}}
	for most, want := range map[int]int{0: 20, 1: 1, 20: 20, 1000: 20, -1: 20} {
		if res := find(t.Context(), p, "x", most); len(res.Sources) != want {
			t.Errorf("%d: %d results of %d requests", most, len(res.Sources), len(w.seen))
		}
	}
}
