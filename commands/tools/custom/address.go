package custom

import (
	"net/url"
	"strings"

	"lembas/commands/tools/guard"
	"lembas/events"
)

const (
	maxTemplate = 4 << 10 // bytes of a URL template
	maxAddress  = 8 << 10 // bytes of a filled URL
)

// Origin is the scheme, host and port that a URL template's secrets belong to,
// in canonical form, or why there is none.
func Origin(template string) (string, error) {
	u, err := origin(template)
	if err != nil {
		return "", err
	}
	return u.Scheme + "://" + u.Host, nil
}

// origin reads the literal beginning of a template. Nothing behind it can
// change what it gives: the host is closed before any hole.
func origin(template string) (*url.URL, error) {
	scheme, rest, ok := strings.Cut(template, "://")
	if s := strings.ToLower(scheme); !ok || s != "http" && s != "https" {
		return nil, events.Invalid("url", "must begin with http:// or https://, written out")
	}
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	}
	if strings.ContainsAny(host, "{}") {
		return nil, events.Invalid("url", "the host and port must be written out and followed by / or ? before the first {{argument}}")
	}
	if strings.HasSuffix(host, ":") {
		return nil, events.Invalid("url", "has a colon and no port")
	}
	u, err := guard.Parse(scheme + "://" + host)
	if err != nil {
		return nil, events.Invalid("url", "%s", strings.TrimPrefix(err.Error(), guard.ErrRefused.Error()+": "))
	}
	return u, nil
}

// checkAddress checks a URL template, when it is saved and again before each
// call: a stored row can be older than a check.
func checkAddress(template string) error {
	switch {
	case len(template) > maxTemplate:
		return events.Invalid("url", "at most %d bytes", maxTemplate)
	case strings.ContainsFunc(template, func(r rune) bool { return control(r) || r == '\\' }):
		return events.Invalid("url", "must hold no control characters or backslashes; write %%5C for one")
	}
	if _, err := origin(template); err != nil {
		return err
	}
	for _, p := range split(template) {
		switch {
		case p.hole:
		case strings.Contains(p.text, " "):
			return events.Invalid("url", "must hold no spaces; write %%20")
		case strings.Contains(p.text, "#"):
			return events.Invalid("url", "must hold no # part: it is never sent")
		case strings.Contains(p.text, "{{"), strings.Contains(p.text, "}}"):
			return events.Invalid("url", "has an {{argument}} that does not begin or end")
		case !escapesWhole(p.text):
			return events.Invalid("url", "has a %% that is not followed by two hexadecimal digits")
		}
	}
	if dots(address(template, func(string) string { return "x" })) {
		return events.Invalid("url", "must hold no . or .. as a part of its path")
	}
	return nil
}

// escapesWhole says whether each % begins an escape in the text itself: one that
// an argument completes would be another character than the one written.
func escapesWhole(s string) bool {
	_, err := url.PathUnescape(s)
	return err == nil
}

// address fills a URL template without looking at what comes out.
func address(template string, value func(name string) string) string {
	var b strings.Builder
	for _, p := range split(template) {
		if p.hole {
			b.WriteString(percent(value(p.text)))
		} else {
			b.WriteString(percentWhere(p.text, func(c byte) bool { return c > ' ' && c < 0x7f && strings.IndexByte("\"<>^`{|}", c) < 0 }))
		}
	}
	return b.String()
}

// dots says whether a segment of an address's path is "." or ".." to a server
// that decodes it, or that cuts ;parameters off: it would drop a segment.
func dots(address string) bool {
	_, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "?")
	_, path, _ := strings.Cut(rest, "/")
	for segment := range strings.SplitSeq(path, "/") {
		if plain, err := url.PathUnescape(segment); err == nil {
			segment = plain
		}
		segment, _, _ = strings.Cut(segment, ";")
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// fillAddress gives the address that is asked, or why it may not be. The
// template was checked.
func fillAddress(template string, values map[string]string) (string, error) {
	out := ""
	fits := size(split(template), values) <= maxAddress
	if fits {
		out = address(template, func(name string) string { return values[name] })
	}
	if !fits || len(out) > maxAddress {
		return "", wrong("the address would be longer than %d bytes; give shorter values", maxAddress)
	}
	if dots(out) {
		return "", wrong(`a value would become "." or ".." as a part of the address; give the name or number itself`)
	}
	want, err := origin(template)
	if err != nil {
		return "", err
	}
	got, err := guard.Parse(out)
	if err != nil {
		return "", err
	}
	if !guard.SameOrigin(want, got) {
		return "", events.Invalid("url", "the filled address leaves %s://%s", want.Scheme, want.Host)
	}
	return out, nil
}
