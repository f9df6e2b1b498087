package pages

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/web/templates"
)

// maxQuery bounds a query that is tried, in bytes.
const maxQuery = 400

// search is the administrator's page of web search.
func (p *Pages) search(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	st, err := p.Service.Search(r.Context())
	if err != nil {
		return err
	}
	v := templates.Search{Edit: templates.SearchEdit{Form: p.searchForm(st), Try: p.searchTry(st)}}
	if v.Shell, err = p.shell(r, "search", "Web search", at); err != nil {
		return err
	}
	return p.page(w, "search", v)
}

func providers(now string) []templates.Option {
	return choose(now, events.SearchOff, "nothing: web search is off", events.SearchSearXNG, "SearXNG", events.SearchFirecrawl, "Firecrawl",
		events.SearchDuckDuckGo, "DuckDuckGo, without a key")
}

func (p *Pages) searchForm(st events.SearchState) templates.SearchForm {
	v := templates.SearchForm{Providers: providers(st.Provider), URL: st.URL, Results: strconv.Itoa(st.Results)}
	if st.HasKey {
		v.Key = "cannot be read"
		if key, err := p.Service.SearchKey(st); err == nil {
			v.Key = mask(key)
		}
	}
	return v
}

func (p *Pages) searchTry(st events.SearchState) (v templates.SearchTry) {
	switch {
	case st.Provider == events.SearchOff:
		v.Off = "Choose a provider and save; then it can be tried here."
	case p.TrySearch == nil:
		v.Off = "Nothing can be tried here."
	}
	return v
}

func (p *Pages) saveSearch(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	now, err := p.Service.Search(r.Context())
	if err != nil {
		return err
	}
	cmd, err := patchSearch(f, now)
	if err == nil {
		_, err = p.Service.SetSearch(r.Context(), caller(r), cmd)
	}
	if err != nil {
		errs, err := refused(err)
		if err != nil {
			return err
		}
		v := p.searchForm(now)
		v.Providers, v.URL, v.Results = providers(f.text("provider")), f.text("url"), f.text("results")
		v.Errors = under(errs, "provider", "url", "api_key", "results")
		if f.text("api_key") != "" && v.Errors["api_key"] == "" {
			v.Errors["api_key"] = "Type the key again."
		}
		return p.part(w, http.StatusUnprocessableEntity, "search-edit", templates.SearchEdit{Form: v, Try: p.searchTry(now)})
	}
	if now, err = p.Service.Search(r.Context()); err != nil {
		return err
	}
	v := p.searchForm(now)
	v.Saved = "Saved."
	return p.part(w, http.StatusOK, "search-edit", templates.SearchEdit{Form: v, Try: p.searchTry(now)})
}

// patchSearch is what the form says. The fields that a provider does not use
// are hidden and say nothing; an address that was not touched is the old
// provider's.
func patchSearch(f form, now events.SearchState) (commands.PatchSearch, error) {
	cmd := commands.PatchSearch{Provider: f.maybe("provider")}
	var err error
	if cmd.Results, err = f.number("results", "a whole number from 1 to 20"); err != nil {
		return cmd, err
	}
	provider := f.text("provider")
	if provider == events.SearchOff || provider == events.SearchDuckDuckGo {
		return cmd, nil
	}
	address := strings.TrimSpace(f.text("url"))
	if provider == now.Provider || address != now.URL {
		cmd.URL = &address
	}
	switch none := ""; {
	case f.text("api_key") != "":
		cmd.APIKey = f.maybe("api_key")
	case f.text("clear_key") == "true":
		cmd.APIKey = &none
	}
	return cmd, nil
}

// trySearch asks the provider as a model would.
func (p *Pages) trySearch(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	st, err := p.Service.Search(r.Context())
	if err != nil {
		return err
	}
	v := p.searchTry(st)
	if v.Query = strings.TrimSpace(f.text("query")); v.Off != "" {
		return p.part(w, http.StatusOK, "search-try", v)
	}
	if v.Query == "" || len(v.Query) > maxQuery {
		v.Error = "Write what to search for, in at most 400 bytes."
		return p.part(w, http.StatusUnprocessableEntity, "search-try", v)
	}
	begun := time.Now()
	output, err := p.TrySearch(r.Context(), me(r).ID, v.Query)
	v.Took = took(time.Since(begun))
	switch {
	case err == nil:
		v.Output = output
	case errors.Is(err, events.ErrInvalid): // its words are for people
		v.Error = sentence(strings.TrimSuffix(err.Error(), ": "+events.ErrInvalid.Error()))
	default:
		return err
	}
	return p.part(w, http.StatusOK, "search-try", v)
}
