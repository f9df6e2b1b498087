package request

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Policy is how an instance is reached: what it was told about its own address
// and about the proxies before it.
type Policy struct {
	// BaseURL is the address that people use; nil when it was not configured.
	BaseURL *url.URL
	// Proxies are the peers whose X-Forwarded-For and X-Forwarded-Proto count.
	// X-Forwarded-Host never counts.
	Proxies []netip.Prefix
}

// ParseProxies reads a list of addresses and prefixes, apart by commas or
// spaces. Empty is none.
func ParseProxies(list string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, item := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		if addr, err := netip.ParseAddr(item); err == nil {
			out = append(out, netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(item)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a prefix such as 10.0.0.0/8", item)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

func (p *Policy) trusted(a netip.Addr) bool {
	for _, x := range p.Proxies {
		if x.Contains(a) {
			return true
		}
	}
	return false
}

func peer(r *http.Request) netip.Addr {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{} // a Unix socket, or a test
	}
	return a.Addr().Unmap()
}

// Address is where a request comes from: the peer, or, from a trusted proxy,
// the last forwarded address that is not a trusted proxy itself. The zero Addr
// when it is not known.
func (p *Policy) Address(r *http.Request) netip.Addr {
	at := peer(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && p.trusted(at); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break // what stands left of garbage is not known
		}
		at = next.Unmap()
	}
	return at
}

// Secure says whether the browser talks TLS, as far as the server knows.
func (p *Policy) Secure(r *http.Request) bool {
	if p.BaseURL != nil {
		return p.BaseURL.Scheme == "https"
	}
	return r.TLS != nil || (p.trusted(peer(r)) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"))
}

// KnownHost says whether a request names a host that this instance has: with a
// configured base URL that one, an IP address or localhost, none of which a
// foreign name can be rebound to. Without a base URL every name passes.
func (p *Policy) KnownHost(r *http.Request) bool {
	if p.BaseURL == nil || strings.EqualFold(r.Host, p.BaseURL.Host) {
		return true
	}
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	if strings.EqualFold(name, p.BaseURL.Hostname()) && defaultPort(r.Host, p.BaseURL) {
		return true
	}
	_, err = netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil || name == "localhost"
}

// defaultPort says whether host spells out the port that the base URL leaves
// out.
func defaultPort(host string, base *url.URL) bool {
	_, port, err := net.SplitHostPort(host)
	return err == nil && base.Port() == "" && ((base.Scheme == "https" && port == "443") || (base.Scheme == "http" && port == "80"))
}

// SameOrigin says whether the browser itself says that the instance's own page
// sent the request: Sec-Fetch-Site is same-origin, or Origin is the instance's.
// When both are there neither may say otherwise; a request with neither is not.
// "null" beside same-origin is what forms of a page without referrer send.
func (p *Policy) SameOrigin(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Values("Origin")
	if site != "" && site != "same-origin" {
		return false
	}
	switch {
	case len(origin) == 0:
		return site != ""
	case len(origin) > 1:
		return false
	case origin[0] == "null":
		return site != ""
	}
	return p.ownOrigin(r, origin[0])
}

func (p *Policy) ownOrigin(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return false
	}
	if p.BaseURL != nil {
		return u.Scheme == p.BaseURL.Scheme && strings.EqualFold(u.Host, p.BaseURL.Host)
	}
	if !strings.EqualFold(u.Host, r.Host) {
		return false
	}
	// Without a base URL a proxy that nobody told us about may speak TLS.
	return u.Scheme == "https" || (u.Scheme == "http" && !p.Secure(r))
}
