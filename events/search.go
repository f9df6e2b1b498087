package events

// The providers of web search.
const (
	SearchOff        = "off"
	SearchSearXNG    = "searxng"
	SearchFirecrawl  = "firecrawl"
	SearchDuckDuckGo = "duckduckgo" // needs no key
)

// SearchChanged sets how the web is searched. The provider's key is in the
// vault under "search/key".
type SearchChanged struct {
	State SearchState `json:"state"`
}

// SearchState is a provider of web search, less its key.
type SearchState struct {
	Provider string `json:"provider"`
	URL      string `json:"url,omitempty"` // of SearXNG, or of a Firecrawl of one's own
	HasKey   bool   `json:"has_key,omitempty"`
	Results  int    `json:"results"` // at most, 1 to 20
}

func (SearchChanged) EventType() string { return "search.changed" }

func searchTypes() []Info { return []Info{define[SearchChanged](1, permits)} }
