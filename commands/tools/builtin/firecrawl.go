package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"lembas/commands/tools/guard"
)

// firecrawl asks Firecrawl's search (docs.firecrawl.dev, v1), its makers' or one
// of one's own.
type firecrawl struct{ asker }

type firecrawlHit struct {
	URL         string `json:"url"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

func (f *firecrawl) Search(ctx context.Context, query string, most int) ([]Hit, error) {
	at := f.asker
	at.base = strings.TrimSuffix(strings.TrimRight(at.base, "/"), "/v1")
	address, err := at.endpoint("/v1/search", nil)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"query": query, "limit": most})
	if err != nil {
		return nil, err
	}
	res, err := at.ask(ctx, guard.Request{Method: http.MethodPost, URL: address, Body: body,
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Success *bool           `json:"success"`
		Error   string          `json:"error"`
		Data    json.RawMessage `json:"data"`
	}
	if err := f.decodeJSON(res, &answer); err != nil {
		return nil, err
	}
	if answer.Success != nil && !*answer.Success {
		return nil, fmt.Errorf("%s could not search: %s", f.name, cmp.Or(line(answer.Error, 300), "it gives no reason; try again later"))
	}
	return f.hits(answer.Data)
}

// hits reads a list, or the web part of what newer versions give.
func (f *firecrawl) hits(raw json.RawMessage) ([]Hit, error) {
	var list []firecrawlHit
	if json.Unmarshal(raw, &list) != nil || len(raw) == 0 || raw[0] != '[' {
		var parts struct {
			Web *[]firecrawlHit `json:"web"`
		}
		if len(raw) == 0 || json.Unmarshal(raw, &parts) != nil || parts.Web == nil {
			return nil, fmt.Errorf("%s answered without a list of results; it may have changed, an administrator checks it under Search", f.name)
		}
		list = *parts.Web
	}
	var out []Hit
	for _, r := range list {
		out = append(out, Hit{r.Title, r.URL, r.Description})
	}
	return out, nil
}
