package commands

import (
	"strings"
	"testing"

	"lembas/events"
)

func ptr[T any](v T) *T { return &v }

func (h *house) search(t *testing.T) (events.SearchState, string) {
	t.Helper()
	st, err := h.Search(t.Context())
	check(t, err)
	key, err := h.SearchKey(st)
	check(t, err)
	return st, key
}

func TestHowTheWebIsSearched(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	if st, key := h.search(t); st != (events.SearchState{Provider: events.SearchOff, Results: 5}) || key != "" {
		t.Errorf("at first: %+v %q", st, key)
	}
	const key = "fc-0123456789"
	for _, c := range []struct {
		name  string
		cmd   PatchSearch
		state events.SearchState
		key   string
	}{
		{"a SearXNG of one's own", PatchSearch{Provider: ptr("searxng"), URL: ptr(" http://127.0.0.1:8888/ "), Results: ptr(10)},
			events.SearchState{Provider: "searxng", URL: "http://127.0.0.1:8888", Results: 10}, ""},
		{"Firecrawl starts without its address", PatchSearch{Provider: ptr("firecrawl"), APIKey: ptr(key)},
			events.SearchState{Provider: "firecrawl", HasKey: true, Results: 10}, key},
		{"a nil key stays", PatchSearch{Results: ptr(3)}, events.SearchState{Provider: "firecrawl", HasKey: true, Results: 3}, key},
		{"its own address is the same host", PatchSearch{URL: ptr("https://api.firecrawl.dev/v1")},
			events.SearchState{Provider: "firecrawl", URL: "https://api.firecrawl.dev/v1", HasKey: true, Results: 3}, key},
		{"another host with another key", PatchSearch{URL: ptr("http://fire.test"), APIKey: ptr("other-key")},
			events.SearchState{Provider: "firecrawl", URL: "http://fire.test", HasKey: true, Results: 3}, "other-key"},
		{"another host without", PatchSearch{URL: ptr("http://more.test"), APIKey: ptr("")},
			events.SearchState{Provider: "firecrawl", URL: "http://more.test", Results: 3}, ""},
		{"a key again", PatchSearch{APIKey: ptr("third-key")}, events.SearchState{Provider: "firecrawl", URL: "http://more.test", HasKey: true, Results: 3}, "third-key"},
		{"the keyless one keeps neither", PatchSearch{Provider: ptr("duckduckgo")}, events.SearchState{Provider: "duckduckgo", Results: 3}, ""},
		{"the old key is gone", PatchSearch{Provider: ptr("firecrawl"), URL: ptr("http://more.test")},
			events.SearchState{Provider: "firecrawl", URL: "http://more.test", Results: 3}, ""},
		{"off", PatchSearch{Provider: ptr("off")}, events.SearchState{Provider: "off", Results: 3}, ""},
	} {
		_, err := h.SetSearch(t.Context(), ann, c.cmd)
		check(t, err)
		st, got := h.search(t)
		secret, err := h.searchSecret()
		check(t, err)
		if st != c.state || got != c.key || secret != c.key {
			t.Errorf("%s: %+v %q %q", c.name, st, got, secret)
		}
	}
	for e, err := range h.log.Read(t.Context(), 0) {
		check(t, err)
		if strings.Contains(string(e.Data), key) || strings.Contains(string(e.Data), "other-key") {
			t.Errorf("a key is in the log: %s", e.Data)
		}
	}
}

func TestSearchThatChangesNothingIsNoEvent(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	_, err := h.SetSearch(t.Context(), ann, PatchSearch{Provider: ptr("off"), Results: ptr(5), APIKey: ptr("")})
	check(t, err)
	if n := h.count(t, "search.changed"); n != 0 {
		t.Errorf("%d events", n)
	}
	for range 2 { // another key is a change, although the state is the same
		_, err = h.SetSearch(t.Context(), ann, PatchSearch{Provider: ptr("firecrawl"), APIKey: ptr("fc-1")})
		check(t, err)
	}
	if n := h.count(t, "search.changed"); n != 2 {
		t.Errorf("%d events", n)
	}
}

func TestSearchThatIsNotAcceptable(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	_, err := h.SetSearch(t.Context(), ann, PatchSearch{Provider: ptr("searxng"), URL: ptr("http://127.0.0.1:8888"), APIKey: ptr("a-key")})
	check(t, err)
	before, _ := h.search(t)
	for _, c := range []struct {
		field string
		cmd   PatchSearch
	}{
		{"provider", PatchSearch{Provider: ptr("bing")}},
		{"provider", PatchSearch{Provider: ptr("")}},
		{"provider", PatchSearch{Provider: ptr("SearXNG")}},
		{"results", PatchSearch{Results: ptr(0)}},
		{"results", PatchSearch{Results: ptr(21)}},
		{"url", PatchSearch{URL: ptr("")}},
		{"url", PatchSearch{URL: ptr("127.0.0.1:8888"), APIKey: ptr("")}},
		{"url", PatchSearch{URL: ptr("ftp://a.test"), APIKey: ptr("")}},
		{"url", PatchSearch{URL: ptr("http:a.test"), APIKey: ptr("")}},
		{"url", PatchSearch{URL: ptr("http://u:p@a.test"), APIKey: ptr("")}},
		{"url", PatchSearch{URL: ptr("http://a.test/?q=x"), APIKey: ptr("")}},
		{"url", PatchSearch{URL: ptr("http://a.test/#x"), APIKey: ptr("")}},
		{"url", PatchSearch{URL: ptr("http://a.test/" + strings.Repeat("a", 2048)), APIKey: ptr("")}},
		{"url", PatchSearch{Provider: ptr("duckduckgo"), URL: ptr("http://a.test")}},
		{"url", PatchSearch{Provider: ptr("off"), URL: ptr("http://a.test")}},
		{"api_key", PatchSearch{APIKey: ptr("two\nlines")}},
		{"api_key", PatchSearch{APIKey: ptr(strings.Repeat("a", 5000))}},
		{"api_key", PatchSearch{Provider: ptr("duckduckgo"), APIKey: ptr("a")}},
		{"api_key", PatchSearch{URL: ptr("http://127.0.0.1:9999")}},
		{"api_key", PatchSearch{URL: ptr("https://127.0.0.1:8888")}},
		{"api_key", PatchSearch{URL: ptr("http://evil.test")}},
	} {
		_, err := h.SetSearch(t.Context(), ann, c.cmd)
		wantField(t, err, c.field)
	}
	if after, key := h.search(t); after != before || key != "a-key" {
		t.Errorf("changed: %+v %q", after, key)
	}
}

func TestAKeyIsNotGivenToAnotherHost(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	_, err := h.SetSearch(t.Context(), ann, PatchSearch{Provider: ptr("firecrawl"), APIKey: ptr("fc-0123456789")})
	check(t, err)
	stale, _ := h.search(t)
	stale.URL = "http://old.test" // what was read before the key changed
	if key, err := h.SearchKey(stale); key != "" {
		t.Errorf("%q, %v", key, err)
	}
	_, err = h.SearchKey(stale)
	wantErr(t, err, events.ErrConflict)
}
