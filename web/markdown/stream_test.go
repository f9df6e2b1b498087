package markdown

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// samples are texts for streams: the corpus, without the hugest, and one that
// has everything.
func samples(t testing.TB) map[string]string {
	out := map[string]string{"everything": everything}
	for _, c := range corpus(t) {
		out[c.Name] = c.Markdown
	}
	return out
}

// chunks cuts s at random, also within characters.
func chunks(s string, rnd *rand.Rand, longest int) []string {
	var out []string
	for len(s) > 0 {
		n := min(len(s), 1+rnd.IntN(longest))
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// TestStreamEndsLikeRender: whatever the splits, the page ends up as a whole
// render, and is what State says after each frame.
func TestStreamEndsLikeRender(t *testing.T) {
	r := New(Options{})
	for name, src := range samples(t) {
		t.Run(name, func(t *testing.T) {
			step := 1
			if len(src) > 5000 {
				src = src[:5000] // bombs: TestStreamOfBombs has them whole
				step = 61
			}
			want := serial(dom(t, string(r.Render("m1", src))))
			p := newPage(r)
			for i := 0; i < len(src); i += step {
				p.add(t, src[i:min(len(src), i+step)])
				if got, state := p.serial(), serial(dom(t, string(p.s.State()))); got != state {
					t.Fatalf("after %q\npage  %s\nstate %s", src[:i+1], got, state)
				}
			}
			p.finish(t)
			if got := p.serial(); got != want {
				t.Errorf("\ngot  %.3000s\nwant %.3000s", got, want)
			}
		})
	}
}

// TestStateIsAFunctionOfTheText: not of how it came.
func TestStateIsAFunctionOfTheText(t *testing.T) {
	r := New(Options{})
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, src := range samples(t) {
		src = src[:min(len(src), 1500)]
		t.Run(name, func(t *testing.T) {
			bytewise := r.NewStream("m1")
			random := r.NewStream("m1")
			done := 0
			for _, c := range chunks(src, rnd, 40) {
				for range len(c) {
					bytewise.Append(src[done : done+1])
					done++
				}
				random.Append(c)
				random.Frame()
				seen := src[:done]
				if a, b := bytewise.State(), random.State(); a != b {
					t.Fatalf("after %q\nbytewise %s\nrandom   %s", seen, a, b)
				}
				if a, b := r.RenderOpen("m1", seen), random.State(); a != b {
					t.Fatalf("after %q\nat once %s\nrandom  %s", seen, a, b)
				}
			}
		})
	}
}

// TestFollowersFromAnywhere: a page rendered after any chunk gets all later
// frames, those that began before it included, and shows the same.
func TestFollowersFromAnywhere(t *testing.T) {
	r := New(Options{})
	rnd := rand.New(rand.NewPCG(3, 4))
	for name, src := range samples(t) {
		src = src[:min(len(src), 3000)]
		t.Run(name, func(t *testing.T) {
			for range 8 {
				s := r.NewStream("m1")
				pages := []*page{{s: s, box: newBox()}}
				for _, c := range chunks(src, rnd, 30) {
					s.Append(c)
					if len(pages) < 40 && rnd.IntN(3) == 0 {
						pages = append(pages, follower(t, s))
					}
					if rnd.IntN(3) == 0 {
						if f, ok := s.Frame(); ok {
							showAll(t, s, pages, f)
						}
					}
				}
				showAll(t, s, pages, s.Finish())
			}
		})
	}
}

func showAll(t *testing.T, s *Stream, pages []*page, f Frame) {
	t.Helper()
	want := serial(dom(t, string(s.State())))
	for i, p := range pages {
		p.apply(t, f)
		if got := p.serial(); got != want {
			t.Fatalf("page %d after %q\n%v\ngot  %s\nwant %s", i, s.text.String(), f, got, want)
		}
	}
}

// TestStreamOfBombs: the costly texts, whole, in frames.
func TestStreamOfBombs(t *testing.T) {
	r := New(Options{})
	for _, c := range corpus(t) {
		if len(c.Markdown) < 5000 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			p := newPage(r)
			for src := c.Markdown; src != ""; {
				n := min(len(src), 2000)
				p.add(t, src[:n])
				src = src[n:]
			}
			p.finish(t)
			want := serial(dom(t, string(r.Render("m1", c.Markdown))))
			if got := p.serial(); got != want {
				t.Errorf("\ngot  %.1000s\nwant %.1000s", got, want)
			}
		})
	}
}

// TestOpenMarksAreNotShown: what a reader sees while marks are half written.
func TestOpenMarksAreNotShown(t *testing.T) {
	r := New(Options{})
	for _, c := range []struct{ src, want string }{
		{"This is **very impor", "<p>This is <strong>very impor</strong></p>"},
		{"This is **", "<p>This is </p>"},
		{"This is **very** *im", "<p>This is <strong>very</strong> <em>im</em></p>"},
		{"a `code sp", "<p>a <code>code sp</code></p>"},
		{"a `", "<p>a </p>"},
		{"see [the docs](https://exa", "<p>see the docs</p>"},
		{"see [the do", "<p>see the do</p>"},
		{"see ![pic](https://exa", "<p>see pic</p>"},
		{"~~old", "<p><del>old</del></p>"},
		{"#", ""},
		{"text\n\n- ", "<p>text</p>"},
		{"text\n\n```", "<p>text</p>"},
		{"text\n\n```py", "<p>text</p>" + string(r.Render("m1", "```"))},
		{"text\n\n| a | b", "<p>text</p>" + string(r.Render("m1", "| a | b\n|--|--|"))},
		{"1. a\n2", "<ol><li><span>a\n2</span></li></ol>"},
		{"1. a\n2.", "<ol><li><span>a</span></li></ol>"},
	} {
		got := strings.NewReplacer("<span>", "", "</span>", "").Replace(string(r.RenderOpen("m1", c.src)))
		want := strings.NewReplacer("<span>", "", "</span>", "").Replace(c.want)
		if got != want {
			t.Errorf("%q: got %s, want %s", c.src, got, want)
		}
	}
}

const everything = "# Heading with *emphasis*\n\nA paragraph of some length, so that more than one piece of it is settled, " +
	"with **bold words that are `code` too**, a [link](https://example.org/a_(b)), ~~old~~ and $x^2$ in it.\nA second line\\\nand  \na third.\n\n" +
	"- item one that is long enough to be cut into pieces while it is being written, with **bold** in it\n- [ ] task\n- [x] done\n  - nested item\n    1. deeper\n    2. deepest\n\n       loose now\n" +
	"- last\nlazy continuation\n\n1. Build:\n\n   ```go\n   package main\n\n   func main() {}\n   ```\n\n2. Run\n* other\n\n> quoted text\n> - with a list\n> > and a quote\nlazy\n\n" +
	"| Name | Quantity |\n|:-----|---------:|\n| `a \\| b` | 1 |\n| c | **2** |\n\na | b\n--|--\n1 | 2\n\n" +
	"```python title=\"x\"\ndef f(x):\n    return x  # a long comment that goes on and on and on and on and on and on and on and on\n\n```\n\n" +
	"~~~\ntilde ``` inside\n~~~\nText[^1] and again[^1], see [ref].\n\n$$\n\\frac{a}{b}\n$$\n\nTitle\n=====\n\nSub\n---\n\n***\n\n    indented code\n\n    more\n\n" +
	"[^1]: The note\n    goes on.\n\n[ref]: https://example.org/ref\n\n日本語の文章は空白なしで書かれるので、区切りが必要です。日本語の文章は空白なしで書かれるので、区切りが必要です。\n\n" +
	"![image](https://img.example/a.png) https://example.org/bare and <b>raw</b> &amp; \u202e \x1b[0m end\r\nafter\r\n"
