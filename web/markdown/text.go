package markdown

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Text is the text of Markdown without its marks: for "copy as plain text" and
// for titles. Blocks are apart by an empty line, items have a dash or their
// number, cells a tab between them; a formula is its source.
func (r *Renderer) Text(src string) string {
	w := &textWriter{}
	z := html.NewTokenizer(strings.NewReader(string(r.Render("t", src))))
	for z.Next() != html.ErrorToken {
		w.token(z.Token())
	}
	return strings.TrimSpace(w.b.String())
}

type textWriter struct {
	b     strings.Builder
	skip  int   // inside of our own labels and of MathML
	pre   int   // inside of code
	items []int // next number of each open list, -1 for dashes
	cell  bool
	back  bool // inside of the way back from a footnote
}

func (w *textWriter) token(t html.Token) {
	switch t.Type {
	case html.TextToken:
		w.text(t.Data)
	case html.StartTagToken, html.SelfClosingTagToken:
		w.start(t)
	case html.EndTagToken:
		w.end(t)
	}
}

func (w *textWriter) text(s string) {
	if w.skip > 0 {
		return
	}
	if w.pre == 0 {
		if strings.TrimSpace(s) == "" && strings.Contains(s, "\n") {
			return // between the elements of the source
		}
	}
	w.b.WriteString(s)
}

func (w *textWriter) start(t html.Token) {
	switch t.DataAtom {
	case atom.Button, atom.Figcaption:
		w.skip++
	case atom.Math:
		w.skip++
		for _, a := range t.Attr {
			if a.Key == "alttext" {
				w.b.WriteString(a.Val)
			}
		}
	case atom.Pre:
		w.pre++
	case atom.Br:
		w.b.WriteByte('\n')
	case atom.Hr:
		w.gap(2)
		w.b.WriteString("---")
	case atom.Sup:
		w.b.WriteByte('[')
	case atom.Input:
		w.b.WriteString(checkText(t))
	case atom.Ul:
		w.list(-1)
	case atom.Ol:
		w.list(listStart(t))
	case atom.Li:
		w.item()
	case atom.Tr:
		w.gap(1)
		w.cell = false
	case atom.Td, atom.Th:
		if w.cell {
			w.b.WriteByte('\t')
		}
		w.cell = true
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Figure, atom.Table, atom.Div:
		w.block()
	case atom.A:
		if w.back = isBacklink(t); w.back {
			w.skip++
		}
	}
}

// block begins a block, but not behind the mark of an item or of a footnote.
func (w *textWriter) block() {
	switch s := w.b.String(); {
	case strings.HasSuffix(s, "- "), strings.HasSuffix(s, ". "):
	case strings.HasSuffix(s, "]"):
		w.b.WriteByte(' ')
	default:
		w.gap(2)
	}
}

func isBacklink(t html.Token) bool {
	for _, a := range t.Attr {
		if a.Key == "role" {
			return a.Val == "doc-backlink"
		}
	}
	return false
}

func (w *textWriter) end(t html.Token) {
	switch t.DataAtom {
	case atom.Button, atom.Figcaption, atom.Math:
		w.skip--
	case atom.A:
		if w.back {
			w.skip--
		}
		w.back = false
	case atom.Pre:
		w.pre--
	case atom.Sup:
		w.b.WriteByte(']')
	case atom.Ul, atom.Ol:
		if len(w.items) > 0 {
			w.items = w.items[:len(w.items)-1]
		}
		w.gap(1)
	case atom.P, atom.Figure, atom.Table, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.gap(1)
	}
}

func (w *textWriter) list(next int) {
	if len(w.items) == 0 {
		w.gap(2)
	}
	w.items = append(w.items, next)
}

func (w *textWriter) item() {
	w.gap(1)
	n := len(w.items)
	if n == 0 {
		return
	}
	w.b.WriteString(strings.Repeat("  ", n-1))
	if next := w.items[n-1]; next >= 0 {
		w.b.WriteString(strconv.Itoa(next) + ". ")
		w.items[n-1]++
		return
	}
	w.b.WriteString("- ")
}

// gap makes sure that at least n line ends come before what follows.
func (w *textWriter) gap(n int) {
	s := w.b.String()
	if s == "" {
		return
	}
	for len(s) > 0 && s[len(s)-1] == '\n' && n > 0 {
		s, n = s[:len(s)-1], n-1
	}
	w.b.WriteString(strings.Repeat("\n", n))
}

func checkText(t html.Token) string {
	for _, a := range t.Attr {
		if a.Key == "checked" {
			return "[x]"
		}
	}
	return "[ ]"
}

func listStart(t html.Token) int {
	for _, a := range t.Attr {
		if a.Key == "start" {
			if n, err := strconv.Atoi(a.Val); err == nil {
				return n
			}
		}
	}
	return 1
}
