package commands

import (
	"strings"
	"unicode"
)

// oneLine is a name or a title as it may stand in lists, toasts and terminals:
// one line, without control characters and without the marks that turn the
// direction of the text behind them.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
