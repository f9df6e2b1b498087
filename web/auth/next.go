package auth

import (
	"net/url"
	"strings"
)

// LocalPath gives next when it is a path on this instance, else "/". Browsers
// read a backslash as a slash and drop control characters, so both are refused.
func LocalPath(next string) string {
	if len(next) > 2000 || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.HasPrefix(next, "/auth/") {
		return "/"
	}
	if strings.ContainsFunc(next, func(r rune) bool { return r == '\\' || r <= ' ' || r == 0x7f }) {
		return "/"
	}
	if u, err := url.Parse(next); err != nil || u.Scheme != "" || u.Host != "" {
		return "/"
	}
	return next
}
