package markdown

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	r := New(Options{})
	for _, c := range []struct{ src, want string }{
		{"# Title\n\nSome **bold** `code` and [link](https://example.org/).", "Title\n\nSome bold code and link."},
		{"- a\n- b\n  1. c\n  2. d\n", "- a\n- b\n  1. c\n  2. d"},
		{"3. a\n\n4. b\n", "3. a\n4. b"},
		{"```go\nfunc f() {\n\n}\n```\nafter", "func f() {\n\n}\n\nafter"},
		{"| a | b |\n|---|---|\n| 1 | 2 |", "a\tb\n1\t2"},
		{"- [x] done\n- [ ] open", "- [x] done\n- [ ] open"},
		{"so $x^2$ <b>raw</b> &amp;", "so x^2 <b>raw</b> &"},
		{"x[^1]\n\n[^1]: note", "x[1]\n\n[1] note"},
		{"", ""},
	} {
		if got := r.Text(c.src); got != c.want {
			t.Errorf("%q: got %q, want %q", c.src, got, c.want)
		}
	}
}

func TestVisibleControls(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nžluťoučký 日本 👍": "plain\ttext\nžluťoučký 日本 👍",
		"a\x00b\rc":                   `a\x00b\x0dc`,
		"a\u200bb\u2066c\ufeff":       `a\u{200b}b\u{2066}c\u{feff}`,
		"a\u00a0b\u2028":              `a\u{00a0}b\u{2028}`,
		"\u0085\u009b31m":             `\u{0085}\u{009b}31m`,
		"\xff\xfe":                    `\xff\xfe`,
		"a\u3164b\ufe0f\U000e0041":    `a\u{3164}b\u{fe0f}\u{e0041}`,
	} {
		if got := VisibleControls(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	if got, want := clean("a\r\nb\rc\x00\x1b\x7f\xff\xfe\u0085"), "a\nb\nc\ufffd\u241b\u2421\ufffd\ufffd\ufffd"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMath(t *testing.T) {
	for _, c := range []struct {
		tex, want string // want: what the MathML has, "" if it is refused
	}{
		{`E=mc^2`, `<msup><mi>c</mi><mn>2</mn></msup>`},
		{`\frac{a}{b}`, `<mfrac><mi>a</mi><mi>b</mi></mfrac>`},
		{`\frac12`, `<mfrac><mn>1</mn><mn>2</mn></mfrac>`},
		{`\sqrt[3]{x}`, `<mroot><mi>x</mi><mn>3</mn></mroot>`},
		{`\alpha_1^{n+1}`, `<msubsup><mi>α</mi><mn>1</mn>`},
		{`\sum_{i=1}^n i`, `<munderover><mo>∑</mo>`},
		{`\text{a < b}`, "<mtext>a\u00a0&lt;\u00a0b</mtext>"},
		{`\mathbb{R}`, `<mi>ℝ</mi>`},
		{`\begin{cases} 1 & x \\ 0 & y \end{cases}`, `<mtable columnalign="left"><mtr><mtd><mn>1</mn></mtd><mtd><mi>x</mi></mtd></mtr><mtr>`},
		{`\left( x \right]`, `<mo stretchy="true">]</mo>`},
		{`f'(x)`, `<mo>′</mo>`},
		{`x < y`, `<mo>&lt;</mo>`},
		{`\newcommand{\a}{\a\a}\a`, ""},
		{`\href{javascript:alert(1)}{x}`, ""},
		{`{`, ""},
		{`}`, ""},
		{`\frac{a}`, ""},
		{`\begin{pmatrix} 1`, ""},
		{strings.Repeat("{", 100) + strings.Repeat("}", 100), ""},
		{strings.Repeat(`\frac`, 600), ""},
		{strings.Repeat("x", maxMath+1), ""},
	} {
		got, ok := mathML(c.tex, true)
		if ok != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%.60s: got %t %s, want %s", c.tex, ok, got, c.want)
		}
	}
}

func TestDollarsThatAreNoMath(t *testing.T) {
	r := New(Options{})
	for src, math := range map[string]bool{
		"$5 and $10": false, "cost $5-$10 each": false, "$HOME:$PATH": false, "US$5 or A$6": false, "$ x $": false, "a $x$b": false,
		"$x$": true, "($a_1$)": true, "**$x+y$**": true, `\(x\)`: true, "$$x$$": true, "see $$x$$ here": true, "`$x$`": false, `\$x\$`: false,
		"- $$x$$": true, "| $a$ |\n|---|": true,
	} {
		if got := strings.Contains(string(r.Render("m1", src)), "<math"); got != math {
			t.Errorf("%q: math %t, want %t", src, got, math)
		}
	}
}

func TestTexSourceIsShownWhenRefused(t *testing.T) {
	out := string(New(Options{}).Render("m1", `$\unknown{x}$`))
	if out != `<p><code class="math">\unknown{x}</code></p>` {
		t.Error(out)
	}
}
