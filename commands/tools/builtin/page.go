package builtin

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const enough = 200 // characters that make a part of a page its text

// page gives title and text of an HTML page: its main part where it names one,
// else all but menus and the like, else all.
func page(ctx context.Context, s string, at *url.URL) (title, text string) {
	for _, r := range []*reader{{within: atom.Main, landmarks: true}, {within: atom.Article, landmarks: true}, {landmarks: true}, {}} {
		r.at = at
		r.read(ctx, s)
		got := strings.TrimSpace(clean(r.out.b.String()))
		if title == "" {
			title = strings.TrimSpace(r.title.String())
		}
		if r.within == atom.Article && r.outside > len(got) {
			continue // teasers beside the text
		}
		if len(got) > len(text) {
			text = got
		}
		if utf8.RuneCountInString(text) >= enough {
			break
		}
	}
	return title, text
}

// reader turns the tokens of a page into text.
type reader struct {
	within    atom.Atom // only what stands in this element; 0 is all
	landmarks bool      // leave menus, footers and the like out
	at        *url.URL

	out     writer
	title   strings.Builder
	part    atom.Atom // the element that stands for within now, main or one with that role
	inside  int       // how deep in it
	skip    atom.Atom // the element that is left out
	skipped int       // how deep in it
	heading bool      // in <title>
	lists   []int     // the number of the last item, -1 in a list without numbers
	cells   int       // in this row
	outside int       // bytes of text that within left out
}

func (r *reader) read(ctx context.Context, s string) {
	z := html.NewTokenizer(strings.NewReader(s))
	defer r.out.close()
	for n := 0; r.out.b.Len() < 6*maxText; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return
		}
		switch kind := z.Next(); kind {
		case html.ErrorToken: // the end
			return
		case html.TextToken:
			r.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if kind == html.SelfClosingTagToken && oneOf(t.Data, "svg", "math") { // the only ones that it ends
				continue
			}
			r.start(t.DataAtom, t.Attr)
		case html.EndTagToken:
			name, _ := z.TagName()
			r.end(atom.Lookup(name))
		}
	}
}

func (r *reader) text(s string) {
	switch {
	case r.heading:
		if r.title.Len() < 1000 {
			r.title.WriteString(s)
		}
	case r.skipped > 0:
	case r.within != 0 && r.inside == 0:
		r.outside += len(strings.TrimSpace(s))
	default:
		r.out.text(s)
	}
}

// void elements have no end.
func void(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

// implied elements end where the next one begins.
func implied(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Li, atom.Dt, atom.Dd, atom.Tr, atom.Td, atom.Th, atom.Option:
		return true
	}
	return false
}

func (r *reader) start(a atom.Atom, attr []html.Attribute) {
	if r.skipped > 0 {
		if a != r.skip {
			return
		}
		if !implied(a) {
			r.skipped++
			return
		}
		r.skipped = 0 // the next one began; is it hidden, too?
	}
	switch {
	case a == atom.Title && r.title.Len() == 0:
		r.heading = true
	case a == atom.Base:
		if u := resolve(r.at, value(attr, "href")); u != "" {
			if base, err := url.Parse(u); err == nil {
				r.at = base
			}
		}
	case void(a):
	case r.leftOut(a, attr):
		r.skip, r.skipped = a, 1
		return
	}
	if r.inside == 0 && a != 0 && r.within != 0 && (a == r.within || r.within == atom.Main && value(attr, "role") == "main") {
		r.part = a
	}
	if r.part != 0 && a == r.part {
		r.inside++
	}
	if r.within == 0 || r.inside > 0 {
		r.open(a, attr)
	}
}

func (r *reader) end(a atom.Atom) {
	if r.skipped > 0 {
		if a == r.skip {
			r.skipped--
		}
		return
	}
	if a == atom.Title {
		r.heading = false
	}
	if r.within == 0 || r.inside > 0 {
		r.close(a)
	}
	if a == r.part && r.inside > 0 {
		if r.inside--; r.inside == 0 {
			r.part = 0
			r.out.gap(2)
		}
	}
}

// leftOut says whether an element is no text that people read.
func (r *reader) leftOut(a atom.Atom, attr []html.Attribute) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Canvas, atom.Iframe, atom.Object, atom.Select, atom.Textarea, atom.Button,
		atom.Datalist, atom.Audio, atom.Video:
		return true
	case atom.Html, atom.Head, atom.Body, atom.Main:
		return false
	case atom.Nav, atom.Footer, atom.Aside, atom.Dialog:
		return r.landmarks
	}
	for _, t := range attr {
		switch t.Key {
		case "hidden":
			return true
		case "aria-hidden":
			return t.Val == "true"
		case "style":
			v := strings.ReplaceAll(strings.ToLower(t.Val), " ", "")
			if strings.Contains(v, "display:none") || strings.Contains(v, "visibility:hidden") {
				return true
			}
		case "role":
			if r.landmarks && oneOf(t.Val, "navigation", "banner", "contentinfo", "search", "complementary", "dialog") {
				return true
			}
		}
	}
	return false
}

func value(attr []html.Attribute, name string) string {
	for _, a := range attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
