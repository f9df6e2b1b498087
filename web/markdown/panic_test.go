package markdown

import (
	"io"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
)

// broken panics on any text with a word in it.
type broken struct{ renderer.Renderer }

func (b broken) Render(w io.Writer, src []byte, n ast.Node) error {
	if strings.Contains(string(src), "boom") {
		panic("boom")
	}
	return b.Renderer.Render(w, src, n)
}

// TestPanicIsText: where the libraries panic, the text is shown as it is, whole
// and streamed alike, and what is around it is not touched.
func TestPanicIsText(t *testing.T) {
	r := New(Options{})
	r.html = broken{r.html}
	const src = "*one*\n\nboom <img src=x>\n\n> boom\n\n- a\n- boom\n\n[^1] two\n\n[^1]: boom\n\n*three*\n"
	want := string(r.Render("m1", src))
	for _, part := range []string{"<em>one</em>", "boom &lt;img src=x&gt;", "<em>three</em>", "cannot be formatted"} {
		if !strings.Contains(want, part) {
			t.Errorf("%q is not in %s", part, want)
		}
	}
	if strings.Contains(want, "<img") {
		t.Errorf("markup in %s", want)
	}
	s := r.NewStream("m1")
	for i := range src {
		s.Append(src[i : i+1])
		s.Frame()
	}
}
