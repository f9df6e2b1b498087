package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"lembas/commands/tools/guard"
)

// searxng asks a SearXNG for its JSON (docs.searxng.org, Search API).
type searxng struct{ asker }

func (s *searxng) Search(ctx context.Context, query string, most int) ([]Hit, error) {
	address, err := s.endpoint("/search", url.Values{"q": {query}, "format": {"json"}})
	if err != nil {
		return nil, err
	}
	res, err := s.ask(ctx, guard.Request{URL: address, Header: http.Header{"Accept": {"application/json"}}})
	if err != nil {
		if res != nil && res.Status == http.StatusForbidden { // what it says while formats lacks json
			return nil, fmt.Errorf("%s refuses to answer with JSON (403); an administrator adds json to search.formats in its settings.yml", s.name)
		}
		return nil, err
	}
	var answer struct {
		Results *[]struct {
			URL     string `json:"url"`
			Title   string `json:"title"`
			Content string `json:"content"`
		} `json:"results"`
		Unresponsive [][]json.RawMessage `json:"unresponsive_engines"`
	}
	if err := s.decodeJSON(res, &answer); err != nil {
		return nil, err
	}
	if answer.Results == nil {
		return nil, fmt.Errorf("%s answered without a list of results; it may have changed, an administrator checks it under Search", s.name)
	}
	var out []Hit
	for _, r := range *answer.Results {
		out = append(out, Hit{r.Title, r.URL, r.Content})
	}
	if len(out) == 0 && len(answer.Unresponsive) > 0 {
		return nil, fmt.Errorf("%s found nothing because its engines do not answer (%s); try again later, or an administrator enables others", s.name, engines(answer.Unresponsive))
	}
	return out, nil
}

// engines names what did not answer: [["google", "CAPTCHA"], …].
func engines(list [][]json.RawMessage) string {
	var out []string
	for _, e := range list[:min(len(list), 5)] {
		var parts []string
		for _, raw := range e[:min(len(e), 2)] {
			var s string
			if json.Unmarshal(raw, &s) == nil {
				parts = append(parts, line(s, 60))
			}
		}
		out = append(out, strings.Join(parts, ": "))
	}
	return strings.Join(out, ", ")
}
