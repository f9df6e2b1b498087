package markdown

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// corpusCase is one file of testdata/corpus/markdown.
type corpusCase struct {
	Name            string   `json:"name"`
	Mode            string   `json:"mode"`
	Markdown        string   `json:"markdown"`
	MustContain     []string `json:"must_contain"`
	MustNotContain  []string `json:"must_not_contain"`
	TextContains    []string `json:"text_contains"`
	TextNotContains []string `json:"text_not_contains"`
	Counts          map[string]int
	AnyOf           [][]string `json:"any_of"`
	MaxMS           int        `json:"max_ms"`
	MaxOutputBytes  int        `json:"max_output_bytes"`
	EveryPrefix     bool       `json:"every_prefix"`
}

func corpus(t testing.TB) []corpusCase {
	t.Helper()
	files, err := filepath.Glob("../../testdata/corpus/markdown/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var out []corpusCase
	for _, f := range files {
		var c corpusCase
		readJSON(t, f, &c)
		out = append(out, c)
	}
	return out
}

func readJSON(t testing.TB, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// newBox is the element that a reply is shown in.
func newBox() *html.Node {
	return &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
}

// appendHTML does what insertAdjacentHTML("beforeend") does.
func appendHTML(t testing.TB, n *html.Node, s string) {
	t.Helper()
	kids, err := html.ParseFragment(strings.NewReader(s), n)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	for _, k := range kids {
		n.AppendChild(k)
	}
}

func dom(t testing.TB, s string) *html.Node {
	t.Helper()
	box := newBox()
	appendHTML(t, box, s)
	return box
}

// walk visits every node below n.
func walk(n *html.Node, f func(*html.Node)) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		f(c)
		walk(c, f)
	}
}

func attr(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

// visible gives the text of a page with between in place of each tag.
func visible(t testing.TB, s, between string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(strings.Fields(b.String()), " ")
		case html.TextToken:
			b.WriteString(html.UnescapeString(string(z.Raw())))
		default:
			b.WriteString(between)
		}
	}
}

// serial writes a tree so that equal trees give equal text: neighbouring text
// is joined, white space between the elements at the top is left out.
func serial(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode && strings.TrimSpace(c.Data) == "" {
			continue
		}
		html.Render(&b, c)
	}
	return b.String()
}
