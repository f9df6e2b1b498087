package markdown

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// fragments make texts in which blocks, containers and marks meet in ways that
// nobody would write down.
var fragments = []string{
	"\n", "\n", "\n", "\n\n", "\n\n", " ", " ", "  ", "    ", "\t", "\r\n", "> ", "> ", "- ", "- ", "* ", "1. ", "2) ", "10. ",
	"# ", "### ", "---", "***", "===", "```", "```", "```go", "~~~", "$$", "$", `\[`, `\]`, `\(`, `\)`, "|", "| a | b |", "|---|--:|",
	"**", "*", "_", "~~", "`", "[", "]", "](", ")", "![", "[^1]", "[^1]: ", "[ref]: https://e.test/r", "[ref]", "[x] ", "[ ] ",
	"https://e.test/p?a=b", "<b>", "<!--", "&amp;", "\\", "\\frac{a}{b}", "word", "word", "two words", "日本語、テキスト", "😀", "\x00", "\xff", "\u202e",
	"a somewhat longer run of words that is enough to be settled by itself, ", "javascript:alert(1)", "<script>",
}

func randomText(rnd *rand.Rand) string {
	var b strings.Builder
	for range 1 + rnd.IntN(60) {
		b.WriteString(fragments[rnd.IntN(len(fragments))])
	}
	return b.String()
}

// TestRandomTexts: all that must hold for every text, for many.
func TestRandomTexts(t *testing.T) {
	r := New(Options{})
	for seed := range uint64(400) {
		checkEverything(t, r, randomText(rand.New(rand.NewPCG(seed, 7))), seed)
		if t.Failed() {
			return
		}
	}
}

func checkEverything(t *testing.T, r *Renderer, src string, seed uint64) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 8))
	whole := string(r.Render("m1", src))
	checkSafe(t, whole)
	s := r.NewStream("m1")
	pages := []*page{{s: s, box: newBox()}}
	done := 0
	for _, c := range chunks(src, rnd, 25) {
		s.Append(c)
		done += len(c)
		if a, b := r.RenderOpen("m1", src[:done]), s.State(); a != b {
			t.Fatalf("seed %d after %q\nat once %s\nchunks  %s", seed, src[:done], a, b)
		}
		checkSafe(t, string(s.State()))
		if len(pages) < 10 && rnd.IntN(3) == 0 {
			pages = append(pages, follower(t, s))
		}
		if rnd.IntN(3) == 0 {
			if f, ok := s.Frame(); ok {
				showAll(t, s, pages, f)
			}
		}
	}
	showAll(t, s, pages, s.Finish())
	if got, want := pages[0].serial(), serial(dom(t, whole)); got != want {
		t.Fatalf("seed %d %q\nstream %s\nwhole  %s", seed, src, got, want)
	}
}

// TestTextIsNeverLost: every word of the source is on the page, once.
func TestTextIsNeverLost(t *testing.T) {
	r := New(Options{})
	marks := slices.DeleteFunc(slices.Clone(fragments), func(f string) bool {
		return strings.ContainsAny(f, "[]$\\") || len(f) > 12 || f == "```go"
	})
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		var b strings.Builder
		var words []string
		for i := range 40 {
			b.WriteString(marks[rnd.IntN(len(marks))])
			w := "w" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + "w"
			words = append(words, w)
			b.WriteString(w)
		}
		out := visible(t, string(r.Render("m1", b.String())), "")
		for _, w := range words {
			// The info string of a fence is dropped by design.
			if strings.Count(out, w) != 1 && !strings.Contains(b.String(), "```") && !strings.Contains(b.String(), "~~~") {
				t.Fatalf("seed %d: %s is there %d times\n%q\n%s", seed, w, strings.Count(out, w), b.String(), out)
			}
		}
	}
}
