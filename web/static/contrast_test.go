package static_test

import (
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// rgba is a colour with channels from 0 to 1.
type rgba struct{ r, g, b, a float64 }

// over lays the colour on an opaque one.
func (c rgba) over(under rgba) rgba {
	mix := func(x, y float64) float64 { return x*c.a + y*(1-c.a) }
	return rgba{mix(c.r, under.r), mix(c.g, under.g), mix(c.b, under.b), 1}
}

// luminance is WCAG's relative luminance.
func (c rgba) luminance() float64 {
	linear := func(v float64) float64 {
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.r) + 0.7152*linear(c.g) + 0.0722*linear(c.b)
}

func contrast(a, b rgba) float64 {
	la, lb := a.luminance(), b.luminance()
	return (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05)
}

// themes reads every light-dark() token: shire first, then moria.
func themes(t *testing.T) [2]map[string]rgba {
	t.Helper()
	found := [2]map[string]rgba{{}, {}}
	pair := regexp.MustCompile(`(--[a-z0-9-]+): light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\)`)
	for _, m := range pair.FindAllStringSubmatch(sheets(t)["tokens.css"], -1) {
		for i := range found {
			found[i][m[1][2:]] = parseHex(t, m[2+i])
		}
	}
	return found
}

func parseHex(t *testing.T, s string) rgba {
	t.Helper()
	if len(s) != 7 && len(s) != 9 {
		t.Fatalf("colour %s: write six or eight digits", s)
	}
	part := func(i int) float64 {
		v, err := strconv.ParseUint(s[i:i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		return float64(v) / 255
	}
	c := rgba{part(1), part(3), part(5), 1}
	if len(s) == 9 {
		c.a = part(7)
	}
	return c
}

// pairing is a text token, an optional film, and the ground beneath.
type pairing struct {
	text, film, ground string
	least              float64
}

// pairings is every combination that the sheets make: text on surfaces, on the
// soft films over surfaces, on filled buttons, in code; and the edges of
// controls and the focus ring, which need 3.
func pairings() []pairing {
	var all []pairing
	add := func(least float64, texts, films, grounds []string) {
		for _, text := range texts {
			for _, film := range films {
				for _, ground := range grounds {
					all = append(all, pairing{text, film, ground, least})
				}
			}
		}
	}
	none, surfaces := []string{""}, []string{"bg", "surface", "raised", "sunken", "field"}
	add(4.5, []string{"text", "muted", "faint", "accent", "accent-hover", "ok", "info", "warn", "danger"}, none, surfaces)
	add(4.5, []string{"text", "muted"}, []string{"accent-soft", "ok-soft", "info-soft", "warn-soft", "danger-soft", "hover"}, []string{"bg", "surface", "raised"})
	add(4.5, []string{"text"}, []string{"press", "select"}, surfaces)
	for _, kind := range []string{"accent", "ok", "info", "warn", "danger"} {
		add(4.5, []string{kind}, []string{kind + "-soft"}, []string{"bg", "surface", "raised"})
	}
	add(4.5, []string{"danger"}, []string{"hover"}, []string{"raised"})
	add(4.5, []string{"ok", "info", "warn", "danger"}, []string{"accent-soft", "hover"}, []string{"surface"})
	add(4.5, []string{"on-accent"}, none, []string{"accent", "accent-hover"})
	add(4.5, []string{"on-danger"}, none, []string{"danger"})
	add(4.5, []string{"bg"}, none, []string{"text"})
	add(4.5, []string{"code-text", "code-keyword", "code-string", "code-number", "code-comment", "code-name", "code-type", "code-meta"}, none, []string{"sunken"})
	add(4.5, []string{"ok"}, []string{"ok-soft"}, []string{"sunken"})
	add(4.5, []string{"danger"}, []string{"danger-soft"}, []string{"sunken"})
	add(3, []string{"control-line", "accent"}, none, []string{"bg", "surface", "field"})
	return all
}

func TestContrast(t *testing.T) {
	for i, theme := range themes(t) {
		name := []string{"shire", "moria"}[i]
		if len(theme) < 40 {
			t.Fatalf("%s: read only %d tokens", name, len(theme))
		}
		colour := func(token string) rgba {
			c, ok := theme[token]
			if !ok {
				t.Fatalf("no token --%s", token)
			}
			return c
		}
		for _, p := range pairings() {
			ground, where := colour(p.ground), p.ground
			if p.film != "" {
				ground, where = colour(p.film).over(ground), fmt.Sprintf("%s over %s", p.film, p.ground)
			}
			if got := contrast(colour(p.text), ground); got < p.least {
				t.Errorf("%s: --%s on %s is %.2f, less than %.1f", name, p.text, where, got, p.least)
			}
		}
	}
}

// TestBrowserColours: the colour of the browser's own bars and of the app's
// first moment, which cannot read a token, are the grounds of the themes.
func TestBrowserColours(t *testing.T) {
	layout, err := os.ReadFile("../templates/_layout.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := io.ReadAll(get(t, newFiles(t).Root(), "GET", "/manifest.webmanifest").Body)
	if err != nil {
		t.Fatal(err)
	}
	both := themes(t)
	grounds := map[rgba]bool{both[0]["bg"]: true, both[1]["bg"]: true}
	found := regexp.MustCompile(`content="(#[0-9a-f]{6})"|_color": "(#[0-9a-f]{6})"`).FindAllStringSubmatch(string(layout)+string(manifest), -1)
	if len(found) != 6 {
		t.Fatalf("found %d colours, want 6", len(found))
	}
	for _, m := range found {
		if !grounds[parseHex(t, m[1]+m[2])] {
			t.Errorf("%s is the ground of no theme", m[0])
		}
	}
}

// TestContrastFormula pins the measure itself to the values that WCAG names.
func TestContrastFormula(t *testing.T) {
	black, white, grey := rgba{0, 0, 0, 1}, rgba{1, 1, 1, 1}, parseHex(t, "#767676")
	if got := contrast(black, white); math.Abs(got-21) > 0.001 {
		t.Errorf("black on white is %.3f, not 21", got)
	}
	if got := contrast(grey, white); math.Abs(got-4.54) > 0.01 {
		t.Errorf("#767676 on white is %.3f, not 4.54", got)
	}
}
