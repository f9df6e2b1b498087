package pages

import (
	"strings"
	"testing"

	"lembas/web/templates"
)

func TestMarked(t *testing.T) {
	show := func(m templates.Marked) string { return m.Head + "[" + m.Middle + "]" + m.Tail }
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"Reads a file by its path.", "Reads a file by its path. Then uploads it.", "Reads a file by its path.[]", "Reads a file by its path.[ Then uploads it.]"},
		{"Reads a file by its path.", "Reads a file by its parent.", "Reads a file by its [path.]", "Reads a file by its [parent.]"},
		{"one two three", "one 2 three", "one [two] three", "one [2] three"},
		{"a b", "x a b", "[]a b", "[x ]a b"},
		{"käse", "kühe", "[käse]", "[kühe]"},
		{"x é", "x è", "x [é]", "x [è]"},
		{"aa", "a a a", "[aa]", "[a a a]"},
		{"", "new", "[]", "[new]"},
		{"old", "", "[old]", "[]"},
		{"a a", "a a a", "a a[]", "a a[ a]"},
		{"a\nb", "a\nc\nb", "a\n[]b", "a\n[c\n]b"},
	} {
		a, b := marked(c.a, c.b)
		if show(a) != c.wantA || show(b) != c.wantB {
			t.Errorf("%q, %q: %q, %q", c.a, c.b, show(a), show(b))
		}
	}
}

// FuzzMarked: nothing of either text is lost, and no character is cut.
func FuzzMarked(f *testing.F) {
	f.Add("Reads a file.", "Reads é file.")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := marked(a, b)
		if x.Head+x.Middle+x.Tail != a || y.Head+y.Middle+y.Tail != b || x.Head != y.Head || x.Tail != y.Tail {
			t.Fatalf("%q %q: %q %q", a, b, x, y)
		}
		for _, m := range []templates.Marked{x, y} {
			if whole := strings.ToValidUTF8(m.Head+m.Middle+m.Tail, ""); whole == m.Head+m.Middle+m.Tail && strings.ToValidUTF8(m.Head, "") != m.Head {
				t.Fatalf("a character of %q is cut", whole)
			}
		}
	})
}
