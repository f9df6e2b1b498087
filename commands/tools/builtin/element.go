package builtin

import (
	"fmt"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// open begins an element.
func (r *reader) open(a atom.Atom, attr []html.Attribute) {
	w := &r.out
	switch a {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.gap(2)
		w.prefix = strings.Repeat("#", int(a.String()[1]-'0')) + " "
	case atom.Ul, atom.Ol, atom.Menu:
		w.gap(r.listGap())
		n := -1
		if a == atom.Ol {
			n = 0
		}
		if len(r.lists) < 1000 {
			r.lists = append(r.lists, n)
		}
		w.indent = min(len(r.lists)-1, 6)
	case atom.Li:
		w.gap(1)
		w.prefix = r.item()
	case atom.Tr:
		w.gap(1)
		r.cells = 0
	case atom.Td, atom.Th:
		if r.cells > 0 && w.newlines == 0 {
			w.text(" | ")
		}
		r.cells++
	case atom.Pre:
		w.fence()
	case atom.A:
		w.link = resolve(r.at, value(attr, "href"))
	case atom.Img:
		if alt := line(value(attr, "alt"), 200); alt != "" {
			w.text(" [image: " + alt + "] ")
		}
	case atom.Hr:
		w.gap(2)
		w.text("---")
		w.gap(2)
	default:
		w.gap(around(a))
	}
}

// listGap parts a list from the text around it, but not from its parent list.
func (r *reader) listGap() int {
	if len(r.lists) == 0 {
		return 2
	}
	return 1
}

// item is what stands before a list's next item.
func (r *reader) item() string {
	if len(r.lists) == 0 || r.lists[len(r.lists)-1] < 0 {
		return "- "
	}
	r.lists[len(r.lists)-1]++
	return fmt.Sprintf("%d. ", r.lists[len(r.lists)-1])
}

// close ends an element.
func (r *reader) close(a atom.Atom) {
	w := &r.out
	switch a {
	case atom.Ul, atom.Ol, atom.Menu:
		r.lists = r.lists[:max(0, len(r.lists)-1)]
		w.indent = max(0, min(len(r.lists)-1, 6))
		w.gap(r.listGap())
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.gap(2)
	case atom.Pre:
		w.unfence()
	case atom.A:
		w.unlink()
	case atom.Td, atom.Th:
	default:
		w.gap(around(a))
	}
}

// around is how many line ends stand around an element, 0 within a line.
func around(a atom.Atom) int {
	switch a {
	case atom.P, atom.Table, atom.Blockquote, atom.Dl:
		return 2
	case atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav, atom.Aside, atom.Figure, atom.Figcaption, atom.Details, atom.Summary,
		atom.Dt, atom.Dd, atom.Form, atom.Fieldset, atom.Legend, atom.Address, atom.Caption, atom.Li, atom.Tr, atom.Br, atom.Body, atom.Center:
		return 1
	}
	return 0
}

// writer lays text out: white space is pending until there is text to part.
type writer struct {
	b        strings.Builder
	newlines int
	space    bool
	indent   int
	prefix   string // of the next text: a heading's or an item's mark
	fenced   bool
	link     string // where the next text leads
	linked   bool   // the link's bracket is open
}

// gap ends the line, n-1 lines stay empty.
func (w *writer) gap(n int) {
	if n == 0 || w.fenced {
		return
	}
	if w.linked {
		w.unlink()
	}
	w.newlines, w.space = max(w.newlines, n), false
}

func (w *writer) text(s string) {
	if w.fenced {
		w.b.WriteString(s)
		return
	}
	if s != "" && isSpace(s[0]) {
		w.space = true
	}
	for word := range strings.FieldsSeq(s) {
		w.pending()
		w.b.WriteString(word)
		w.space = true
	}
	if s != "" && !isSpace(s[len(s)-1]) {
		w.space = false
	}
}

// pending writes what was kept back until there is text.
func (w *writer) pending() {
	switch {
	case w.b.Len() == 0:
		w.b.WriteString(w.prefix)
	case w.newlines > 0:
		w.b.WriteString(strings.Repeat("\n", w.newlines) + strings.Repeat("  ", w.indent) + w.prefix)
	case w.space:
		w.b.WriteByte(' ')
	}
	w.newlines, w.space, w.prefix = 0, false, ""
	if w.link != "" && !w.linked {
		w.b.WriteByte('[')
		w.linked = true
	}
}

func (w *writer) unlink() {
	if w.linked {
		w.b.WriteString("](" + w.link + ")")
	}
	w.link, w.linked = "", false
}

func (w *writer) fence() {
	if w.fenced {
		return
	}
	w.gap(2)
	w.pending()
	w.b.WriteString("```\n")
	w.fenced = true
}

func (w *writer) unfence() {
	if !w.fenced {
		return
	}
	w.b.WriteString("\n```")
	w.fenced = false
	w.gap(2)
}

func (w *writer) close() { w.unlink(); w.unfence() }

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }
