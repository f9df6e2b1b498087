package llm

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The helpers here read JSON without believing in its types: endpoints send floats for counts, strings for numbers and
// objects for lists, and a member nobody needs must not be able to fail a reply.

// object returns the members of a JSON object, or nil when raw is anything else.
func object(raw []byte) map[string]json.RawMessage {
	if kindOf(raw) != '{' {
		return nil
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// array returns the elements of a JSON array, or nil when raw is anything else.
func array(raw []byte) []json.RawMessage {
	if kindOf(raw) != '[' {
		return nil
	}
	var a []json.RawMessage
	if json.Unmarshal(raw, &a) != nil {
		return nil
	}
	return a
}

// kindOf returns the first significant byte of a JSON text, 'n' for null and 0 for nothing.
func kindOf(raw []byte) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// text returns the string a JSON text holds, or "". Lone surrogates and raw invalid bytes are kept (see unquote).
func text(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return unquote(raw[1 : len(raw)-1])
}

// plain is text made valid: for names, ids and messages, which are never split over chunks.
func plain(raw []byte) string {
	var j joiner
	return j.push(text(raw)) + j.flush()
}

// number reads 12, 12.0 and "12" alike. Anything else, and anything beyond 2^53, is not a number here.
func number(raw []byte) (int64, bool) {
	s := string(bytes.TrimSpace(raw))
	if strings.HasPrefix(s, `"`) {
		s = strings.TrimSpace(text(raw))
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// unquote decodes the inside of a valid JSON string. Unlike encoding/json it keeps half a surrogate pair (as its three
// bytes) and raw bytes that are not UTF-8, because the other half may come with the next chunk; a joiner puts them together.
func unquote(in []byte) string {
	if bytes.IndexByte(in, '\\') < 0 {
		return string(in)
	}
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' || i+1 >= len(in) {
			out = append(out, in[i])
			continue
		}
		i++
		if in[i] != 'u' {
			out = append(out, unescape(in[i]))
			continue
		}
		if i+4 >= len(in) {
			break
		}
		u, err := strconv.ParseUint(string(in[i+1:i+5]), 16, 16)
		if err != nil {
			break
		}
		i += 4
		if u >= 0xD800 && u <= 0xDFFF {
			out = append(out, 0xED, 0x80|byte(u>>6)&0x3F, 0x80|byte(u)&0x3F)
			continue
		}
		out = utf8.AppendRune(out, rune(u))
	}
	return string(out)
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

// joiner turns pieces of text that may be cut inside a character into pieces that are whole. What cannot become a
// character is U+FFFD.
type joiner struct{ held string }

// push returns everything that is certain once s has arrived.
func (j *joiner) push(s string) string {
	if j.held == "" && utf8.ValidString(s) {
		return s
	}
	s = pair(j.held + s)
	n := len(s) - unfinished(s)
	j.held = s[n:]
	return strings.ToValidUTF8(s[:n], "\uFFFD")
}

// flush returns what was held back, made valid.
func (j *joiner) flush() string {
	s := strings.ToValidUTF8(j.held, "\uFFFD")
	j.held = ""
	return s
}

// unfinished counts the bytes at the end of s that could be the beginning of a character.
func unfinished(s string) int {
	if n := len(s); n >= 3 && s[n-3] == 0xED && s[n-2] >= 0xA0 && s[n-2] < 0xB0 {
		return 3
	}
	for n := 1; n <= 3 && n <= len(s); n++ {
		if utf8.RuneStart(s[len(s)-n]) {
			if !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// pair replaces each high surrogate that is followed by a low one, both as three bytes, with the character they mean.
func pair(s string) string {
	if strings.IndexByte(s, 0xED) < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if i+5 < len(s) && s[i] == 0xED && s[i+1]&0xF0 == 0xA0 && s[i+3] == 0xED && s[i+4]&0xF0 == 0xB0 {
			hi := rune(s[i+1]&0x0F)<<6 | rune(s[i+2]&0x3F)
			lo := rune(s[i+4]&0x0F)<<6 | rune(s[i+5]&0x3F)
			out = utf8.AppendRune(out, 0x10000+hi<<10+lo)
			i += 5
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

// scanner finds where a JSON object or array ends while its bytes come in pieces, looking at each byte once. It counts
// brackets outside strings; it does not validate.
type scanner struct {
	depth    int
	inString bool
	escaped  bool
	begun    bool
}

// feed returns the number of bytes up to and including the end of the value, or -1 when it has not ended.
func (s *scanner) feed(p []byte) int {
	for i, c := range p {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped = c == '\\'
			s.inString = c != '"'
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.depth++
			s.begun = true
		case c == '}' || c == ']':
			s.depth--
		}
		if s.begun && s.depth <= 0 && !s.inString {
			return i + 1
		}
	}
	return -1
}

// mend returns p with the two mistakes repaired that Python servers make in JSON: NaN and Infinity as numbers, and raw
// control characters in strings. It returns nil when there was nothing to repair.
func mend(p []byte) []byte {
	out := make([]byte, 0, len(p)+16)
	changed, inString := false, false
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case inString && c == '\\' && i+1 < len(p):
			out = append(out, c, p[i+1])
			i++
			continue
		case c == '"':
			inString = !inString
		case inString && c < 0x20:
			out = append(out, `\u00`...)
			out = append(out, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
			changed = true
			continue
		case !inString && (c == 'N' || c == 'I' || c == '-'):
			if n := notANumber(p[i:]); n > 0 {
				out = append(out, "null"...)
				i += n - 1
				changed = true
				continue
			}
		}
		out = append(out, c)
	}
	if !changed {
		return nil
	}
	return out
}

func notANumber(p []byte) int {
	for _, w := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(p, []byte(w)) {
			return len(w)
		}
	}
	return 0
}
