package markdown

import (
	"strings"
	"sync"
	"testing"
)

// bombs are texts that cost more than their length in one library or another.
func bombs() map[string]string {
	fill := func(s string) string { return strings.Repeat(s, 60_000/len(s)) }
	return map[string]string{
		"columns":         "|" + strings.Repeat("a|", 3000) + "\n|" + strings.Repeat("-|", 3000) + "\n" + strings.Repeat("|b\n", 6000),
		"empty rows":      "|" + strings.Repeat("a|", 60) + "\n|" + strings.Repeat("-|", 60) + "\n" + fill("|\n"),
		"escaped pipes":   "|a|b|\n|-|-|\n" + fill("|`a \\| b`|c|\n"),
		"table in a list": "- |" + strings.Repeat("a|", 3000) + "\n  |" + strings.Repeat("-|", 3000) + "\n" + strings.Repeat("  |b\n", 3000),
		"links":           fill("[]("), "images": fill("!["), "nested images": fill("![") + fill("](a)"), "labels": fill("[a][b]"),
		"quotes": fill("> > > > > > > > > > > > > > > > > > > > > > > > > > > > a\n"), "quoted lists": fill("> - "),
		"deep list": deepList(400), "underscores": fill("_a_@"), "stars": fill("*a **b "), "ticks": fill("`a``b"),
		"math": "$$" + strings.Repeat("{", 3000) + "$$", "dollars": fill("$a "), "addresses": fill("*a@b."), "notes": fill("[^a]: [^a]\n"),
		"controls": fill("\x1b"), "bad bytes": fill("\xff"), "definitions": fill("[a]: b\n"), "code line": "```go\n" + fill("f("),
	}
}

func deepList(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", 2*i) + "- a\n")
	}
	return b.String()
}

// TestBombs: output in proportion, not too deep for a browser, and what could
// not be formatted is there as text.
func TestBombs(t *testing.T) {
	r := New(Options{})
	for name, src := range bombs() {
		t.Run(name, func(t *testing.T) {
			out := string(r.Render("m1", src))
			if len(out) > 40*len(src) {
				t.Errorf("%d bytes from %d", len(out), len(src))
			}
			checkSafe(t, out) // also refuses more than 512 open elements
			if strings.Contains(out, `class="unformatted"`) && !strings.Contains(visible(t, out, ""), strings.Join(strings.Fields(clean(src)), " ")) {
				t.Error("text was lost")
			}
		})
	}
}

func TestTooLongTextIsShownAsItIs(t *testing.T) {
	r := New(Options{})
	src := "# Title\n\n" + strings.Repeat("some words, **bold** ones too\n\n", maxText/30) + "the end\n"
	out := string(r.Render("m1", src))
	if n := strings.Count(out, `class="unformatted"`); n != 1 {
		t.Fatalf("%d parts that are not formatted", n)
	}
	if !strings.HasPrefix(out, "<h1>Title</h1>") || !strings.Contains(out, "the end\n</pre>") && !strings.Contains(out, "the end</pre>") {
		t.Errorf("%.100s … %s", out, out[len(out)-100:])
	}
	p := newPage(r)
	for s := src; s != ""; {
		n := min(len(s), 50_000)
		p.add(t, s[:n])
		s = s[n:]
	}
	p.finish(t)
	if p.serial() != serial(dom(t, out)) {
		t.Error("the stream ends up differently")
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	r := New(Options{})
	want := r.Render("m1", everything)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := r.Render("m1", everything); got != want {
				t.Error("another result")
			}
			s := r.NewStream("m1")
			s.Append(everything)
			s.Finish()
		})
	}
	wg.Wait()
}

// TestPrefixKeepsMessagesApart: no id of one message is in another.
func TestPrefixKeepsMessagesApart(t *testing.T) {
	r := New(Options{})
	a, b := string(r.Render("a", "x[^1]\n\n[^1]: n")), string(r.Render(`b"><x`, "x[^1]\n\n[^1]: n"))
	for _, want := range []string{`id="a-ref-1"`, `id="a-fn-1"`, `href="#a-fn-1"`, `href="#a-ref-1"`} {
		if !strings.Contains(a, want) {
			t.Errorf("%s is not in %s", want, a)
		}
		if other := strings.Replace(want, `"a-`, `"bx-`, 1); !strings.Contains(b, strings.Replace(other, "#a-", "#bx-", 1)) {
			t.Errorf("%s is not in %s", other, b)
		}
	}
}

func TestChromaClassesAreWhatCodeUses(t *testing.T) {
	known := ChromaClasses()
	r := New(Options{})
	src := "```go\npackage a // c\nfunc f() int { return 1 + len(\"s\") }\n```\n\n```diff\n+a\n-b\n```\n\n```python\n@x\nclass A(Exception): True\n```"
	out := string(r.Render("m1", src))
	for _, part := range strings.Split(out, `<span class="`)[1:] {
		class, _, _ := strings.Cut(part, `"`)
		if _, ok := known[class]; !ok && class != "lang" {
			t.Errorf("class %q is not in the list", class)
		}
	}
	for _, class := range []string{"k", "s", "m", "c", "nf", "kt", "o", "gi", "gd"} {
		if !strings.Contains(out, `<span class="`+class+`">`) {
			t.Errorf("class %q is not used: %s", class, out)
		}
	}
}
