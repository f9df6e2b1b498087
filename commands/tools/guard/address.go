package guard

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const maxURL = 8 << 10

// Parse reads an http or https address and gives it in canonical form. Where two
// readers could disagree about the host, it refuses. It looks nothing up.
func Parse(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if err := plainText(raw); err != nil {
		return nil, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, refuse("this is no address that can be read; give one such as https://example.org/page")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refuse("only http and https are asked, with the scheme written out")
	case u.User != nil:
		return nil, refuse("an address holds no user name or password")
	case u.Opaque != "" || u.Host == "":
		return nil, refuse("the address has no host")
	case strings.ContainsAny(authority(raw), "@%\\ "):
		return nil, refuse("the host is ambiguous")
	}
	host, port, err := splitHost(u.Host)
	if err != nil {
		return nil, err
	}
	host, err = canonicalHost(host)
	if err != nil {
		return nil, err
	}
	if u.Host, err = join(u.Scheme, host, port); err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func plainText(raw string) error {
	switch {
	case len(raw) > maxURL:
		return refuse("the address is longer than %d bytes", maxURL)
	case !utf8.ValidString(raw):
		return refuse("the address is not UTF-8")
	case strings.ContainsFunc(raw, func(r rune) bool { return r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0) }):
		return refuse("the address holds control characters")
	case strings.Contains(raw, `\`):
		return refuse(`the address holds a backslash; write %%5C where one is meant`)
	}
	return nil
}

// authority is the part of a raw address that names the host.
func authority(raw string) string {
	_, rest, ok := strings.Cut(raw, "//")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// splitHost cuts "host:port" and "[v6]:port". What stands behind a first colon is
// the port, so that a second one makes it no number.
func splitHost(s string) (host, port string, err error) {
	if strings.HasPrefix(s, "[") {
		i := strings.IndexByte(s, ']')
		if i < 0 || (s[i+1:] != "" && s[i+1] != ':') {
			return "", "", refuse("the host is ambiguous")
		}
		return s[:i+1], strings.TrimPrefix(s[i+1:], ":"), nil
	}
	host, port, _ = strings.Cut(s, ":")
	return host, port, nil
}

func join(scheme, host, port string) (string, error) {
	if port == "" {
		return host, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || n == 0 || len(port) > 5:
		return "", refuse("the port is not a number from 1 to 65535")
	case slices.Contains(badPorts, uint16(n)):
		return "", refuse("port %d is not for HTTP", n)
	case scheme == "http" && n == 80, scheme == "https" && n == 443:
		return host, nil
	}
	return fmt.Sprintf("%s:%d", host, n), nil
}

// canonicalHost gives a host as it is dialled: an IPv4 address in its ordinary
// spelling, an IPv6 one in brackets, or a name in lower case ASCII.
func canonicalHost(host string) (string, error) {
	if strings.HasPrefix(host, "[") {
		return literal6(host[1 : len(host)-1])
	}
	name, err := asciiName(host)
	if err != nil {
		return "", err
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if !numeric(last) {
		return name, nil
	}
	// 127.1, 0x7f.1, 017700000001, 2130706433, 0: readers disagree about them.
	a, err := netip.ParseAddr(name)
	if err != nil || !a.Is4() {
		return "", refuse("an IPv4 address is written as four decimal numbers, such as 192.0.2.1")
	}
	return a.String(), nil
}

func literal6(s string) (string, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil || !a.Is6():
		return "", refuse("the brackets hold no IPv6 address")
	case a.Zone() != "":
		return "", refuse("an address with a zone belongs to one network card")
	case a.Is4In6():
		return "", refuse("write the IPv4 address itself, not its IPv6 form")
	}
	return "[" + a.String() + "]", nil
}

// numeric says whether a last label makes its host an IPv4 address (WHATWG URL).
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// asciiName maps a name as browsers do (full-width digits, ideographic stops,
// capital letters) and checks its labels.
func asciiName(host string) (string, error) {
	if len(host) > 4*253 { // the mapping's work is not linear
		return "", refuse("the host name is too long")
	}
	profile := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.StrictDomainName(false))
	name, err := profile.ToASCII(host)
	if err != nil {
		return "", refuse("the host name is malformed")
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if len(name) > 253 {
		return "", refuse("the host name is too long")
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", refuse("the host name is malformed")
		}
		if strings.HasPrefix(label, "xn--") { // one that decodes to plain ASCII is another name in disguise
			plain, err := profile.ToUnicode(label)
			if err != nil || !strings.ContainsFunc(plain, func(r rune) bool { return r >= utf8.RuneSelf }) {
				return "", refuse("the host name is malformed")
			}
		}
	}
	return name, nil
}

// SameOrigin says whether two addresses have the same scheme, host and port.
func SameOrigin(a, b *url.URL) bool {
	return a != nil && b != nil && a.Scheme == b.Scheme && hostPort(a) == hostPort(b)
}

// hostPort is what net/http dials for a canonical address.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if strings.Contains(u.Hostname(), ":") {
		return "[" + u.Hostname() + "]:" + port
	}
	return u.Hostname() + ":" + port
}
