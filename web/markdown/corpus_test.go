package markdown

import (
	"strings"
	"testing"
	"time"
)

func TestCorpus(t *testing.T) {
	r := New(Options{})
	for _, c := range corpus(t) {
		t.Run(c.Name, func(t *testing.T) {
			begin := time.Now()
			got := string(r.Render("m1", c.Markdown))
			if c.Mode == "streaming" {
				got = string(r.RenderOpen("m1", c.Markdown))
			}
			spent := time.Since(begin)
			c.check(t, got)
			checkSafe(t, got)
			// The corpus states this limit; it is several times what is needed.
			if c.MaxMS > 0 && spent > time.Duration(c.MaxMS)*time.Millisecond {
				t.Errorf("took %v, limit %d ms", spent, c.MaxMS)
			}
			if c.EveryPrefix {
				c.prefixes(t, r)
			}
		})
	}
}

func (c corpusCase) check(t *testing.T, got string) {
	t.Helper()
	tight, loose := visible(t, got, ""), visible(t, got, " ")
	inText := func(s string) bool { return strings.Contains(tight, s) || strings.Contains(loose, s) }
	for _, s := range c.MustContain {
		if !strings.Contains(got, s) {
			t.Errorf("HTML lacks %q:\n%.2000s", s, got)
		}
	}
	c.checkForbidden(t, got)
	for _, s := range c.TextContains {
		if !inText(s) {
			t.Errorf("text lacks %q:\n%.2000s", s, tight)
		}
	}
	for _, s := range c.TextNotContains {
		if inText(s) {
			t.Errorf("text has %q:\n%.2000s", s, tight)
		}
	}
	for tag, want := range c.Counts {
		n := 0
		for _, end := range []string{" ", "\n", "/", ">"} {
			n += strings.Count(got, tag+end)
		}
		if n != want {
			t.Errorf("%d of %s, want %d:\n%.2000s", n, tag, want, got)
		}
	}
	for _, group := range c.AnyOf {
		found := false
		for _, s := range group {
			found = found || strings.Contains(got, s) || inText(s)
		}
		if !found {
			t.Errorf("none of %q:\n%.2000s", group, got)
		}
	}
	if c.MaxOutputBytes > 0 && len(got) > c.MaxOutputBytes {
		t.Errorf("%d bytes, limit %d", len(got), c.MaxOutputBytes)
	}
}

func (c corpusCase) checkForbidden(t *testing.T, got string) {
	t.Helper()
	low := strings.ToLower(got)
	for _, s := range c.MustNotContain {
		if strings.Contains(low, strings.ToLower(s)) {
			t.Errorf("HTML has %q:\n%.2000s", s, got)
		}
	}
}

func (c corpusCase) prefixes(t *testing.T, r *Renderer) {
	t.Helper()
	for i := range c.Markdown {
		got := string(r.RenderOpen("m1", c.Markdown[:i]))
		c.checkForbidden(t, got)
		checkSafe(t, got)
	}
}
