package static_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sheets is every style sheet by its file name, without comments.
func sheets(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("css/*.css")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no style sheets: %v", err)
	}
	all := map[string]string{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(raw), "")
	}
	return all
}

// TestNoLiteralOutsideTokens: colours and absolute lengths live in tokens.css.
// Elsewhere only var(), keywords, and lengths relative to the text or the
// window (em, %, fr, ch, vw, dvh) are written; a media query, which cannot read
// a token, may name a length, and so may the width of a column in rem.
func TestNoLiteralOutsideTokens(t *testing.T) {
	token := regexp.MustCompile(`var\([^)]*\)`)
	media := regexp.MustCompile(`@media[^{]*`)
	literal := regexp.MustCompile(`(?i)#[0-9a-f]{3,8}\b(?:[;,\s)])|\b(?:rgba?|hsla?|hwb|oklch|oklab|lab|lch|color)\(|\b\d*\.?\d+(?:px|pt|cm|mm|in|pc)\b`)
	named := regexp.MustCompile(`(?i)(?:color|background|fill|stroke|border[a-z-]*|outline)\s*:[^;]*\b(?:white|black|red|green|blue|gr[ae]y|yellow|orange|gold|brown|purple|pink|silver|navy|teal)\b`)
	for name, css := range sheets(t) {
		if name == "tokens.css" {
			continue
		}
		css = token.ReplaceAllString(media.ReplaceAllString(css, ""), "")
		for _, hit := range append(literal.FindAllString(css, -1), named.FindAllString(css, -1)...) {
			t.Errorf("%s: %q belongs into tokens.css", name, hit)
		}
	}
}

// TestTokensAreKnownAndUsed: a misspelt token is silently nothing in a browser.
func TestTokensAreKnownAndUsed(t *testing.T) {
	all := sheets(t)
	defined := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)(--[a-z0-9-]+)\s*:`).FindAllStringSubmatch(all["tokens.css"], -1) {
		defined[m[1]] = true
	}
	used := map[string]bool{}
	for name, css := range all {
		for _, m := range regexp.MustCompile(`var\((--[a-z0-9-]+)`).FindAllStringSubmatch(css, -1) {
			used[m[1]] = true
			if !defined[m[1]] {
				t.Errorf("%s uses %s, which tokens.css does not define", name, m[1])
			}
		}
	}
	for token := range defined {
		if !used[token] {
			t.Errorf("%s is defined and never used", token)
		}
	}
}

// TestSheetsAreWhole catches an unclosed rule, after which a browser drops the
// rest of a sheet.
func TestSheetsAreWhole(t *testing.T) {
	for name, css := range sheets(t) {
		if open, closed := strings.Count(css, "{"), strings.Count(css, "}"); open != closed {
			t.Errorf("%s has %d { and %d }", name, open, closed)
		}
	}
}

// TestMotionCanBeSwitchedOff: one rule serves every sheet.
func TestMotionCanBeSwitchedOff(t *testing.T) {
	rule := regexp.MustCompile(`(?s)@media \(prefers-reduced-motion: reduce\) \{\s*\*, ::before, ::after \{ animation: none !important; transition: none !important;`)
	if !rule.MatchString(sheets(t)["base.css"]) {
		t.Error("base.css does not stop animations for prefers-reduced-motion")
	}
}
