package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"lembas/commands/tools"
	"lembas/commands/tools/guard"
	"lembas/events"
)

const (
	searchTime = 20 * time.Second
	maxAnswer  = 2 << 20 // bytes of a provider's answer
	maxResults = 20
	maxQuery   = 1000 // bytes
	maxTitle   = 200  // characters
	maxSnippet = 500
)

// Hit is one result of a search. Its texts are cleaned and bounded, its URL is
// http or https.
type Hit struct{ Title, URL, Snippet string }

// Provider searches the web. An error says which provider it is and what to do;
// an empty answer without one means that nothing was found.
type Provider interface {
	Name() string
	// Search gives the provider's results in its order, as they came.
	Search(ctx context.Context, query string, most int) ([]Hit, error)
}

// ErrSearchOff says that no provider is set.
var ErrSearchOff = errors.New("web search is switched off; an administrator chooses a provider under Search")

// NewProvider gives the provider that an administrator chose. key may be "".
func NewProvider(g *guard.Client, st events.SearchState, key string) (Provider, error) {
	switch st.Provider {
	case events.SearchSearXNG:
		return &searxng{asker{guard: g, name: "SearXNG", base: st.URL, trusted: st.URL, key: key}}, nil
	case events.SearchFirecrawl:
		return &firecrawl{asker{guard: g, name: "Firecrawl", base: cmp.Or(st.URL, "https://api.firecrawl.dev"), trusted: st.URL, key: key}}, nil
	case events.SearchDuckDuckGo:
		return &duckduckgo{asker{guard: g, name: "DuckDuckGo", base: "https://html.duckduckgo.com"}}, nil
	}
	return nil, ErrSearchOff
}

// WebSearch is the tool that searches the web. State gives how at each call: the
// provider and its key.
func WebSearch(g *guard.Client, state func(ctx context.Context) (events.SearchState, string, error)) tools.Tool {
	return tools.Tool{
		Spec: tools.Spec{
			Name: "web_search", Risk: events.RiskRead, Gate: "web_search", Scope: "web_search", Label: "Search the web", Icon: "search", Detail: "query",
			Timeout: searchTime + 10*time.Second,
			Description: "Searches the web and gives titles, addresses and short extracts of the pages found, at most 20. " +
				"It does not read the pages themselves.",
			Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What to search for, as typed into a search engine"},"why":{"type":"string","description":"One line for the person: why this is needed"}},"required":["query"],"additionalProperties":false}`),
		},
		Run: func(ctx context.Context, call tools.Call) (res tools.Result) {
			defer rescue(&res)
			query, err := one(call.Arguments, "query", maxQuery)
			if err != nil {
				return tools.Failed(sentence(err))
			}
			st, key, err := state(ctx)
			if err != nil {
				return tools.Failed("Web search is not available now.")
			}
			p, err := NewProvider(g, st, key)
			if err != nil {
				return tools.Failed(sentence(err))
			}
			return find(ctx, p, query, st.Results)
		},
	}
}

func find(ctx context.Context, p Provider, query string, most int) tools.Result {
	if most < 1 || most > maxResults {
		most = maxResults
	}
	query = line(query, maxQuery)
	found, err := p.Search(ctx, query, most)
	if err != nil {
		return tools.Failed(sentence(err))
	}
	hits := tidy(found, most)
	if len(hits) == 0 {
		return tools.Result{Status: events.ToolOK, Output: fmt.Sprintf("%s found nothing for %q. Try other or fewer words.", p.Name(), clip(query, 200))}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Results of %s for %q:\n", p.Name(), clip(query, 200))
	res := tools.Result{Status: events.ToolOK}
	for i, h := range hits {
		fmt.Fprintf(&b, "\n%d. %s\n   %s\n", i+1, h.Title, h.URL)
		if h.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", h.Snippet)
		}
		res.Sources = append(res.Sources, events.Source{Title: h.Title, URL: h.URL})
	}
	res.Output = b.String()
	return res
}

// tidy drops what is no link to a page and what came twice, and bounds the rest.
func tidy(found []Hit, most int) []Hit {
	var out []Hit
	seen := map[string]bool{}
	for _, h := range found {
		u, err := guard.Parse(h.URL)
		if err != nil || len(u.String()) > 2000 || seen[u.String()] {
			continue
		}
		seen[u.String()] = true
		h = Hit{Title: line(h.Title, maxTitle), URL: u.String(), Snippet: line(h.Snippet, maxSnippet)}
		if h.Title == "" {
			h.Title = u.Host
		}
		if out = append(out, h); len(out) == most {
			break
		}
	}
	return out
}

// asker asks a provider at its address.
type asker struct {
	guard           *guard.Client
	name, base, key string
	trusted         string // the address that the administrator gave, which may be private
}

func (a *asker) Name() string { return a.name }

// endpoint is a path below the provider's address.
func (a *asker) endpoint(path string, query url.Values) (string, error) {
	u, err := url.Parse(strings.TrimRight(a.base, "/"))
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("the address of %s is not set; an administrator gives it under Search", a.name)
	}
	if !strings.HasSuffix(u.Path, path) { // some people give the whole address
		u.Path += path
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// ask sends one request. The key and the query go to the provider's origin only.
func (a *asker) ask(ctx context.Context, r guard.Request) (*guard.Response, error) {
	r.Trusted, r.SameOrigin, r.MaxBody, r.Timeout = a.trusted, true, maxAnswer, searchTime
	if r.Redirects = guard.FollowGet; r.Method == http.MethodPost {
		r.Redirects = guard.FollowSame
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("User-Agent", agent)
	if a.key != "" {
		r.Header.Set("Authorization", "Bearer "+a.key)
	}
	res, err := a.guard.Do(ctx, r)
	switch {
	case errors.Is(err, guard.ErrRefused):
		return nil, fmt.Errorf("%s was not asked: %w; an administrator checks its address under Search", a.name, err)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be reached: %w; try again later, or an administrator checks it under Search", a.name, err)
	case res.Truncated:
		return nil, fmt.Errorf("%s answered with more than %d MB; is its address right? An administrator checks it under Search", a.name, maxAnswer>>20)
	}
	return res, a.status(res)
}

// status makes an error of an answer that is none.
func (a *asker) status(res *guard.Response) error {
	switch c := res.Status; {
	case c >= 200 && c < 300:
		return nil
	case c == 401:
		return fmt.Errorf("%s did not accept the key (401); an administrator sets another one under Search", a.name)
	case c == 402:
		return fmt.Errorf("%s asks for payment (402): its credit is used up; an administrator tops it up or chooses another provider", a.name)
	case c == 403:
		return fmt.Errorf("%s refuses to answer (403); an administrator checks its key and settings, or chooses another provider", a.name)
	case c == 429:
		return fmt.Errorf("%s limits how often it is asked (429); wait a minute, search less often, or an administrator chooses another provider", a.name)
	case c == 404:
		return fmt.Errorf("%s has nothing at that address (404); an administrator checks it under Search", a.name)
	case c >= 500:
		return fmt.Errorf("%s has trouble of its own (%s); try again later", a.name, status(c))
	}
	return fmt.Errorf("%s answered %s; an administrator checks it under Search", a.name, status(res.Status))
}

// decodeJSON reads an answer that should be JSON.
func (a *asker) decodeJSON(res *guard.Response, into any) error {
	body := strings.TrimSpace(string(res.Body))
	switch {
	case body == "":
		return fmt.Errorf("%s gave an empty answer; try again later, or an administrator checks it under Search", a.name)
	case body[0] == '<' || strings.HasPrefix(res.Header.Get("Content-Type"), "text/html"):
		return fmt.Errorf("%s answered with a web page instead of JSON; is its address right? An administrator checks it under Search", a.name)
	case json.Unmarshal([]byte(body), into) != nil:
		return fmt.Errorf("%s answered with something that is not the JSON it should be; it may have changed, an administrator checks it under Search", a.name)
	}
	return nil
}
