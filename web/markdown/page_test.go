package markdown

import (
	"testing"

	"golang.org/x/net/html"
)

// page is a browser that shows one reply. Its apply is what the script does.
type page struct {
	s     *Stream
	box   *html.Node
	bytes int // of HTML that were sent
}

func newPage(r *Renderer) *page { return &page{s: r.NewStream("m1"), box: newBox()} }

func (p *page) add(t testing.TB, chunk string) {
	t.Helper()
	p.s.Append(chunk)
	if f, ok := p.s.Frame(); ok {
		p.apply(t, f)
	}
}

func (p *page) finish(t testing.TB) {
	t.Helper()
	p.apply(t, p.s.Finish())
}

func (p *page) serial() string { return serial(p.box) }

func (p *page) apply(t testing.TB, f Frame) {
	t.Helper()
	for _, op := range f {
		p.bytes += len(op.HTML)
		apply(t, p.box, op)
	}
}

// follower is a page that was rendered by itself and gets the frames of s.
func follower(t testing.TB, s *Stream) *page {
	t.Helper()
	return &page{s: s, box: dom(t, string(s.State()))}
}

func apply(t testing.TB, n *html.Node, op Op) {
	t.Helper()
	for i, k := range op.Keep {
		last := i == len(op.Keep)-1
		count := k
		if !last {
			count++
		}
		kids := elements(n)
		if len(kids) < count {
			t.Fatalf("frame keeps %v, there are %d elements at step %d: %s", op.Keep, len(kids), i, serial(n))
		}
		for _, extra := range kids[count:] {
			n.RemoveChild(extra)
		}
		if !last {
			n = kids[k]
		}
	}
	appendHTML(t, n, op.HTML)
}

func elements(n *html.Node) []*html.Node {
	var out []*html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			out = append(out, c)
		}
	}
	return out
}
