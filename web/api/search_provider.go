package api

import (
	"net/http"

	"lembas/commands"
	"lembas/web/request"
)

// searchProvider is how the web is searched, less the key.
type searchProvider struct {
	Provider string `json:"provider"` // off, searxng, firecrawl or duckduckgo
	URL      string `json:"url"`
	HasKey   bool   `json:"has_key"`
	Results  int    `json:"results"` // at most
}

// SearchProvider gives how the web is searched.
func (a *API) SearchProvider(w http.ResponseWriter, r *http.Request) error {
	st, err := a.Service.Search(r.Context())
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, searchProvider{Provider: st.Provider, URL: st.URL, HasKey: st.HasKey, Results: st.Results})
}

type patchSearchProvider struct {
	Provider request.Optional[string] `json:"provider"`
	URL      request.Optional[string] `json:"url"`
	APIKey   request.Optional[string] `json:"api_key"` // null takes the key away
	Results  request.Optional[int]    `json:"results"`
}

// PatchSearchProvider sets how the web is searched.
func (a *API) PatchSearchProvider(w http.ResponseWriter, r *http.Request) error {
	var in patchSearchProvider
	if err := request.Read(r, &in); err != nil {
		return err
	}
	_, err := a.Service.SetSearch(r.Context(), request.Caller(r), commands.PatchSearch{Provider: in.Provider.Pointer(), URL: in.URL.Pointer(),
		APIKey: in.APIKey.Pointer(), Results: in.Results.Pointer()})
	if err != nil {
		return err
	}
	return a.SearchProvider(w, r)
}
