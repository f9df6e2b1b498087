package builtin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"lembas/commands/tools/guard"
)

// duckduckgo reads the page for browsers without scripts. It needs no key, and
// no promise holds that the page stays as it is.
type duckduckgo struct{ asker }

func (d *duckduckgo) Search(ctx context.Context, query string, most int) ([]Hit, error) {
	address, err := d.endpoint("/html/", url.Values{"q": {query}})
	if err != nil {
		return nil, err
	}
	res, err := d.ask(ctx, guard.Request{URL: address, Header: http.Header{"Accept": {"text/html"}}})
	if err != nil {
		return nil, err
	}
	p := duckPage{}
	p.read(string(res.Body))
	switch {
	case len(p.hits) > 0:
		return p.hits, nil
	case p.challenge || res.Status == http.StatusAccepted:
		return nil, fmt.Errorf("%s asks for a proof that a person searches, because it is asked often; wait some minutes, or an administrator chooses another provider", d.name)
	case p.none || p.links > 0: // advertisements only
		return nil, nil
	}
	return nil, fmt.Errorf("%s answered with a page that cannot be read: it changed, or something stands between; an administrator chooses another provider", d.name)
}

// duckPage is what a page of results holds.
type duckPage struct {
	hits      []Hit
	links     int  // results, with advertisements
	kept      bool // the last of them is a hit, not an advertisement
	none      bool
	challenge bool
	into      int // 1: a title, 2: a snippet, of the last hit
	depth     int // of elements of the same name within it
	name      atom.Atom
}

func (p *duckPage) read(s string) {
	z := html.NewTokenizer(strings.NewReader(s))
	for len(p.hits) <= 5*maxResults {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			p.text(string(z.Text()))
		case html.StartTagToken:
			t := z.Token()
			p.start(t.DataAtom, strings.Fields(value(t.Attr, "class")), t.Attr)
		case html.EndTagToken:
			name, _ := z.TagName()
			if p.into > 0 && atom.Lookup(name) == p.name {
				if p.depth--; p.depth == 0 {
					p.into = 0
				}
			}
		}
	}
}

func (p *duckPage) start(a atom.Atom, class []string, attr []html.Attribute) {
	has := func(name string) bool { return slices.Contains(class, name) }
	switch {
	case a == atom.A && has("result__a"):
		p.links++
		p.into, p.kept = 0, false
		if address := unwrap(value(attr, "href")); address != "" {
			p.hits = append(p.hits, Hit{URL: address})
			p.into, p.name, p.depth, p.kept = 1, a, 1, true
		}
	case has("result__snippet") && p.kept:
		p.into, p.name, p.depth = 2, a, 1
	case p.into > 0 && a == p.name:
		p.depth++
	case has("no-results"):
		p.none = true
	case slices.ContainsFunc(class, func(c string) bool { return strings.HasPrefix(c, "anomaly") }), has("challenge-form"):
		p.challenge = true
	}
}

func (p *duckPage) text(s string) {
	if p.into == 0 {
		return
	}
	h := &p.hits[len(p.hits)-1]
	if p.into == 1 && len(h.Title) < 4*maxTitle {
		h.Title += s
	} else if p.into == 2 && len(h.Snippet) < 4*maxSnippet {
		h.Snippet += s
	}
}

// unwrap gives where a result leads: its links go through the provider
// (/l/?uddg=ADDRESS). Advertisements (/y.js) lead nowhere.
func unwrap(href string) string {
	base := &url.URL{Scheme: "https", Host: "html.duckduckgo.com", Path: "/html/"}
	u, err := base.Parse(strings.TrimSpace(href))
	if err != nil {
		return ""
	}
	if u.Hostname() != "duckduckgo.com" && !strings.HasSuffix(u.Hostname(), ".duckduckgo.com") {
		return u.String()
	}
	if u.Path != "/l/" && u.Path != "/l" {
		return ""
	}
	to, err := url.Parse(u.Query().Get("uddg"))
	if err != nil || to.Hostname() == "duckduckgo.com" && to.Path == "/y.js" {
		return ""
	}
	return to.String()
}
