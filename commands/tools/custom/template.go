package custom

import "strings"

// part is a piece of a template: text as it stands, or a hole with the name of
// the argument that fills it.
type part struct {
	text string
	hole bool
}

// split cuts a template at its holes. Braces that enclose no name-like text are
// text: {"a":{"b":{{n}}}} has the one hole n.
func split(template string) []part {
	var out []part
	text := 0 // where the text before the next hole begins
	for at := 0; ; {
		i := strings.Index(template[at:], "{{")
		if i < 0 {
			break
		}
		from := at + i + 2
		n := strings.IndexAny(template[from:], "{}")
		if n < 0 {
			break
		}
		if !strings.HasPrefix(template[from+n:], "}}") {
			at = from - 1 // of {{{n}} the first brace is text
			continue
		}
		if begin := from - 2; begin > text {
			out = append(out, part{text: template[text:begin]})
		}
		out = append(out, part{text: strings.TrimSpace(template[from : from+n]), hole: true})
		at = from + n + 2
		text = at
	}
	if text < len(template) {
		out = append(out, part{text: template[text:]})
	}
	return out
}

// hasHole says whether a template takes arguments.
func hasHole(template string) bool {
	for _, p := range split(template) {
		if p.hole {
			return true
		}
	}
	return false
}

// fill puts each hole's value, escaped, in its place. A hole that has none is
// nothing.
func fill(parts []part, values map[string]string, escape func(string) string) string {
	var b strings.Builder
	for _, p := range parts {
		if p.hole {
			b.WriteString(escape(values[p.text]))
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// size is how large a filled template is before escaping. It is asked first: one
// long value in many holes must not be built.
func size(parts []part, values map[string]string) (n int) {
	for _, p := range parts {
		if p.hole {
			n += len(values[p.text])
		} else {
			n += len(p.text)
		}
	}
	return n
}

const upperHex = "0123456789ABCDEF"

// percent escapes a value for one path segment, one query value or one form
// value: everything but RFC 3986's unreserved characters, so also / ; & + and %.
func percent(s string) string {
	return percentWhere(s, func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
	})
}

// percentWhere escapes the bytes that are not kept.
func percentWhere(s string, keep func(byte) bool) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; keep(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}

// control says whether a character may not stand in a header or an address.
func control(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// withoutControls strips what could end a header line.
func withoutControls(s string) string {
	return strings.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, s)
}
