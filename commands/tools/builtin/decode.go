package builtin

import (
	"bytes"
	"regexp"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]{0,200}\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// decode gives the bytes of an answer as UTF-8. The order of who is believed: a
// byte order mark, the server, the document, and then the bytes themselves.
func decode(b []byte, label string, html, xml bool) string {
	if name := declared(b, label, html, xml); name != "" && name != "utf-8" {
		if e, _ := charset.Lookup(name); e != nil {
			if out, err := e.NewDecoder().Bytes(b); err == nil {
				return string(out)
			}
		}
	}
	return string(bytes.ToValidUTF8(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), []byte("\uFFFD")))
}

// declared names the encoding, "" for UTF-8.
func declared(b []byte, label string, html, xml bool) string {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return ""
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return "utf-16le"
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return "utf-16be"
	}
	if _, name := charset.Lookup(label); name != "" {
		return name
	}
	start := b[:min(len(b), 1024)]
	if m := xmlEncoding.FindSubmatch(start); xml && m != nil {
		if _, name := charset.Lookup(string(m[1])); name != "" {
			return name
		}
	}
	if html {
		if _, name, certain := charset.DetermineEncoding(start, ""); certain {
			return name
		}
	}
	if valid(b) {
		return ""
	}
	return "windows-1252"
}

// valid says whether b is UTF-8, but for a character that was cut at its end.
func valid(b []byte) bool {
	for range utf8.UTFMax {
		if utf8.Valid(b) {
			return true
		}
		if len(b) == 0 || b[len(b)-1] < 0x80 {
			return false
		}
		b = b[:len(b)-1]
	}
	return utf8.Valid(b)
}
