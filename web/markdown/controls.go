package markdown

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes a text fit for a page: line ends are \n, a control character is
// its visible picture (NUL and each byte that is no UTF-8 are U+FFFD). Joiners and
// marks of direction stay: scripts and emoji need them.
func clean(s string) string {
	if !needsClean(s) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r == 0:
			return utf8.RuneError
		case r < ' ' && r != '\n' && r != '\t':
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		case r >= 0x80 && r < 0xa0:
			return utf8.RuneError
		}
		return r
	}, s)
}

func needsClean(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return true
		}
	}
	return false
}

// VisibleControls shows characters that a reader cannot see, or that change
// what he sees, as escapes: control characters but tab and line feed, ANSI
// sequences, marks of direction, zero-width and other format characters, and
// white space that looks like a space and is none. For text of which is said
// "this is what runs". The result is plain text, not HTML.
func VisibleControls(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// hidden: format and control characters, odd spaces, line separators, and the
// letters that fonts show as nothing (Hangul fillers, variation selectors,
// tags).
func hidden(r rune) bool {
	switch {
	case r == ' ':
		return false
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Co):
		return true
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x17b4, r == 0x17b5:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef:
		return true
	}
	return false
}
