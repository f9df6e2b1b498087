package commands

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"lembas/events"
)

const (
	searchKeyName = "search/key"
	maxResults    = 20
	firecrawlHome = "https://api.firecrawl.dev" // where a Firecrawl without an address is
)

// PatchSearch is what an administrator sets of web search; nil is unchanged.
type PatchSearch struct {
	Provider *string // events.Search…
	URL      *string // of SearXNG, or of a Firecrawl of one's own; "" removes it
	APIKey   *string // "" removes the key
	Results  *int    // 1 to 20
}

// SetSearch sets how the web is searched. Another provider starts without the
// address and the key of the old one, and a key never follows to another host.
// Providers that use neither (off, DuckDuckGo) keep neither. Errors of input are
// field errors: provider, url, api_key or results.
func (s *Service) SetSearch(ctx context.Context, c Caller, cmd PatchSearch) (events.Result, error) {
	_, res, err := onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, struct{}, error) {
		st, puts, err := s.patchSearch(in.Search, cmd)
		if err != nil || (st == in.Search && len(puts) == 0) {
			return nil, nil, struct{}{}, err
		}
		return []events.Payload{events.SearchChanged{State: st}}, puts, struct{}{}, nil
	})
	return res, err
}

// patchSearch decides, and seals the key where it changes.
func (s *Service) patchSearch(old events.SearchState, cmd PatchSearch) (events.SearchState, []events.Put, error) {
	st, err := searchFields(old, cmd)
	if err != nil {
		return st, nil, err
	}
	moved := searchOrigin(st) != searchOrigin(old)
	key := cmd.APIKey
	switch {
	case key == nil && old.HasKey && moved && st.Provider == old.Provider:
		return st, nil, events.Invalid("api_key", "the address moves to another host; give its key, or null for none")
	case key == nil && old.HasKey && moved:
		key = new(string) // the old provider's
	case key == nil:
		return st, nil, nil
	}
	text := strings.TrimSpace(*key)
	switch {
	case len(text) > maxKey || strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f || r > 0xff }):
		return st, nil, events.Invalid("api_key", "at most %d printable characters", maxKey)
	case text != "" && searchOrigin(st) == "":
		return st, nil, events.Invalid("api_key", "this provider needs no key")
	}
	st.HasKey = text != ""
	if !st.HasKey && !old.HasKey {
		return st, nil, nil
	}
	var sealed []byte
	if st.HasKey {
		sealed = []byte(searchOrigin(st) + "\n" + text)
	}
	put, err := s.Secrets.Seal(searchKeyName, sealed)
	return st, []events.Put{put}, err
}

// searchFields sets all but the key.
func searchFields(st events.SearchState, cmd PatchSearch) (events.SearchState, error) {
	providers := []string{events.SearchOff, events.SearchSearXNG, events.SearchFirecrawl, events.SearchDuckDuckGo}
	if cmd.Provider != nil {
		if !slices.Contains(providers, *cmd.Provider) {
			return st, events.Invalid("provider", "one of %s", strings.Join(providers, ", "))
		}
		if st.Provider != *cmd.Provider {
			st.Provider, st.URL = *cmd.Provider, ""
		}
	}
	if cmd.URL != nil {
		st.URL = strings.TrimRight(strings.TrimSpace(*cmd.URL), "/")
	}
	set(&st.Results, cmd.Results)
	switch {
	case st.Results < 1 || st.Results > maxResults:
		return st, events.Invalid("results", "a whole number from 1 to %d", maxResults)
	case st.URL == "" && st.Provider == events.SearchSearXNG:
		return st, events.Invalid("url", "SearXNG needs the address where it runs, such as http://127.0.0.1:8888")
	case st.URL != "" && (st.Provider == events.SearchOff || st.Provider == events.SearchDuckDuckGo):
		return st, events.Invalid("url", "this provider takes no address")
	case st.URL != "":
		return st, checkSearchURL(st.URL)
	}
	return st, nil
}

func checkSearchURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil, u.Host == "", u.Opaque != "", u.Scheme != "http" && u.Scheme != "https", len(raw) > 2048:
		return events.Invalid("url", "must be an http or https address such as http://127.0.0.1:8888")
	case u.User != nil:
		return events.Invalid("url", "must hold no user name or password; use the API key")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return events.Invalid("url", "must hold no ? or # part")
	}
	return nil
}

// searchOrigin is where a provider's key may go, "" where there is none.
func searchOrigin(st events.SearchState) string {
	switch {
	case st.Provider == events.SearchFirecrawl && st.URL == "":
		return firecrawlHome
	case st.Provider == events.SearchFirecrawl, st.Provider == events.SearchSearXNG:
		return origin(st.URL)
	}
	return ""
}

// Search gives how the web is searched.
func (s *Service) Search(ctx context.Context) (events.SearchState, error) {
	var out events.SearchState
	err := s.instance.view(ctx, events.InstanceStream, func(in *Instance, _ events.Position) error {
		out = in.Search
		return nil
	})
	return out, err
}

// SearchKey gives the key of the provider in st, "" when it has none. It is
// ErrConflict when the stored key belongs to another host than st names: the
// two are read one after the other.
func (s *Service) SearchKey(st events.SearchState) (string, error) {
	if !st.HasKey {
		return "", nil
	}
	belongs, key, err := s.storedSearchKey()
	if err == nil && belongs != searchOrigin(st) {
		return "", fmt.Errorf("the key is for another address than the search provider's: %w", events.ErrConflict)
	}
	return key, err
}

func (s *Service) storedSearchKey() (belongs, key string, err error) {
	b, err := s.Secrets.Open(searchKeyName)
	if err != nil {
		return "", "", err
	}
	belongs, key, ok := strings.Cut(string(b), "\n")
	if !ok {
		return "", "", fmt.Errorf("%w: the key of the search provider", events.ErrDamaged)
	}
	return belongs, key, nil
}

// searchSecret gives the stored key for masking, "" when there is none.
func (s *Service) searchSecret() (string, error) {
	_, key, err := s.storedSearchKey()
	if errors.Is(err, events.ErrNotFound) {
		return "", nil
	}
	return key, err
}
