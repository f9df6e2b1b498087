package stream

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// page is a browser's document as far as the stream reaches it: it applies ops
// as web/static/js/ops.js does.
type page struct {
	t   testing.TB
	doc *html.Node
}

func openPage(t testing.TB, source string) *page {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	return &page{t, doc}
}

// wireOp is an op as it comes over the wire.
type wireOp struct {
	Op, Target, Into, Before, HTML, Name, Text string
	Keep                                       json.RawMessage
	Value                                      *string
}

// apply carries out ops in their wire form.
func (p *page) apply(ops []Op) {
	p.t.Helper()
	data, err := marshal(ops)
	if err != nil {
		p.t.Fatal(err)
	}
	var wire []wireOp
	if err := json.Unmarshal(data, &wire); err != nil {
		p.t.Fatal(err)
	}
	for _, op := range wire {
		p.one(op)
	}
}

func (p *page) one(op wireOp) {
	el := p.byID(op.Target)
	switch {
	case op.Op == "put":
		p.put(el, op)
	case op.Op == "title":
		setText(find(p.doc, func(n *html.Node) bool { return n.DataAtom == atom.Title }), op.Text)
	case op.Op == "announce" || op.Op == "toast" || el == nil:
	case op.Op == "blocks":
		p.blocks(el, op)
	case op.Op == "remove":
		el.Parent.RemoveChild(el)
	case op.Op == "text":
		setText(el, op.Text)
	case op.Op == "attr":
		el.Attr = slices.DeleteFunc(el.Attr, func(a html.Attribute) bool { return a.Key == op.Name })
		if op.Value != nil {
			el.Attr = append(el.Attr, html.Attribute{Key: op.Name, Val: *op.Value})
		}
	default:
		p.t.Fatalf("op %q is not of the protocol", op.Op)
	}
}

func (p *page) put(el *html.Node, op wireOp) {
	fresh := p.parse(op.HTML)
	if len(fresh) != 1 {
		p.t.Fatalf("put %s has %d elements: %s", op.Target, len(fresh), op.HTML)
	}
	if id := attrOf(fresh[0], "id"); id != op.Target {
		p.t.Fatalf("put %s brings #%s", op.Target, id)
	}
	box, next := p.byID(op.Into), p.byID(op.Before)
	if next != nil && next.Parent != box {
		next = nil
	}
	switch {
	case el != nil:
		el.Parent.InsertBefore(fresh[0], el)
		el.Parent.RemoveChild(el)
		if box != nil && (fresh[0].Parent != box || next != nil && fresh[0].NextSibling != next) {
			fresh[0].Parent.RemoveChild(fresh[0])
			box.InsertBefore(fresh[0], next)
		}
	case box != nil:
		box.InsertBefore(fresh[0], next)
	}
}

func (p *page) blocks(el *html.Node, op wireOp) {
	var way []int
	if json.Unmarshal(op.Keep, &way) != nil {
		way = []int{0}
		if len(op.Keep) > 0 {
			if err := json.Unmarshal(op.Keep, &way[0]); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	for i, k := range way {
		kids := elements(el)
		stay := k
		if i < len(way)-1 {
			stay++
		}
		if len(kids) < stay {
			p.t.Fatalf("blocks %s keeps %v of %d", op.Target, way, len(kids))
		}
		for _, n := range kids[stay:] {
			el.RemoveChild(n)
		}
		if i < len(way)-1 {
			el = kids[k]
		}
	}
	for _, n := range p.parse(op.HTML) {
		el.AppendChild(n)
	}
}

func (p *page) parse(source string) []*html.Node {
	nodes, err := html.ParseFragment(strings.NewReader(source), &html.Node{Type: html.ElementNode, DataAtom: atom.Template, Data: "template"})
	if err != nil {
		p.t.Fatal(err)
	}
	return nodes
}

func (p *page) byID(id string) *html.Node {
	if id == "" {
		return nil
	}
	return find(p.doc, func(n *html.Node) bool { return attrOf(n, "id") == id })
}

func find(n *html.Node, ok func(*html.Node) bool) *html.Node {
	if n.Type == html.ElementNode && ok(n) {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if hit := find(c, ok); hit != nil {
			return hit
		}
	}
	return nil
}

func elements(n *html.Node) (out []*html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			out = append(out, c)
		}
	}
	return out
}

func attrOf(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func setText(n *html.Node, words string) {
	for n.FirstChild != nil {
		n.RemoveChild(n.FirstChild)
	}
	n.AppendChild(&html.Node{Type: html.TextNode, Data: words})
}

// serial writes what a reader sees and a script finds: the title and main, one
// element a line, attributes sorted, ids that occur twice refused.
func (p *page) serial() string {
	p.t.Helper()
	var b strings.Builder
	seen := map[string]bool{}
	var walk func(n *html.Node, depth int)
	walk = func(n *html.Node, depth int) {
		indent := strings.Repeat(" ", depth)
		if n.Type == html.TextNode {
			if n.Data != "" {
				b.WriteString(indent + "“" + n.Data + "”\n")
			}
			return
		}
		if n.Type != html.ElementNode {
			return
		}
		var attrs []string
		for _, a := range n.Attr {
			attrs = append(attrs, a.Key+"="+a.Val)
		}
		if id := attrOf(n, "id"); id != "" && seen[id] {
			p.t.Errorf("#%s is on the page twice", id)
		} else {
			seen[id] = true
		}
		slices.Sort(attrs)
		b.WriteString(indent + "<" + n.Data + " " + strings.Join(attrs, " ") + ">\n")
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, depth+1)
		}
	}
	for _, tag := range []atom.Atom{atom.Title, atom.Main} {
		walk(find(p.doc, func(n *html.Node) bool { return n.DataAtom == tag }), 0)
	}
	return b.String()
}
