package guard

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Redirects says which redirects are followed. Each hop is checked like the
// first address, and there are at most MaxHops.
type Redirects int

const (
	// FollowNone gives a redirect as the answer.
	FollowNone Redirects = iota
	// FollowSame follows 307 and 308, with method and body; the others, which
	// would turn a POST into a GET, are refused.
	FollowSame
	// FollowGet follows 301, 302 and 303 with a GET (a HEAD stays one) and 307
	// and 308 unchanged.
	FollowGet
)

// MaxHops is how many redirects of one request are followed.
const MaxHops = 10

const maxHeader = 256 << 10 // bytes of an answer's header

// hop is one request on its way through redirects.
type hop struct {
	first, url *url.URL
	method     string
	header     http.Header
	secret     []string
	body       []byte
	redirects  Redirects
	within     bool // never leave the first origin
	left       bool // the first origin was left: no secret comes back
	n          int
}

// own are headers that belong to this client.
var own = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Upgrade",
	"Accept-Encoding", "Proxy-Authorization", "Referer"}

// always are headers that are secrets whatever the caller says.
var always = []string{"Authorization", "Cookie", "Mcp-Session-Id"}

// travel sends the request and follows its redirects. The answer's body is the
// caller's to close.
func (h *hop) travel(ctx context.Context, t http.RoundTripper) (*http.Response, error) {
	for {
		res, err := h.send(ctx, t)
		if err != nil {
			return nil, err
		}
		follow, err := h.redirect(res)
		if err == nil && !follow {
			return res, nil
		}
		_ = res.Body.Close()
		if err != nil {
			return nil, err
		}
	}
}

func (h *hop) send(ctx context.Context, t http.RoundTripper) (*http.Response, error) {
	header := h.header.Clone()
	for _, name := range own {
		header.Del(name)
	}
	if h.left {
		for _, name := range slices.Concat(h.secret, always) {
			header.Del(name)
		}
	}
	var body io.Reader
	if len(h.body) > 0 {
		body = bytes.NewReader(h.body)
	}
	req, err := http.NewRequestWithContext(ctx, h.method, h.url.String(), body)
	if err != nil {
		return nil, refuse("the request is malformed")
	}
	req.Header = header
	res, err := t.RoundTrip(req)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return nil, fmt.Errorf("%s did not answer in time", h.url.Hostname())
	}
	return res, err
}

// redirect reads an answer and moves to where it leads.
func (h *hop) redirect(res *http.Response) (follow bool, err error) {
	to := res.Header.Get("Location")
	same := res.StatusCode == 307 || res.StatusCode == 308
	switch {
	case !same && !slices.Contains([]int{301, 302, 303}, res.StatusCode), h.redirects == FollowNone:
		return false, nil
	case !same && h.redirects == FollowSame:
		return false, refuse("%s answered with a redirect (%d) that would turn the request into another one; give the address that it leads to", h.url.Hostname(), res.StatusCode)
	case to == "":
		return false, fmt.Errorf("%s answered with a redirect (%d) to nowhere", h.url.Hostname(), res.StatusCode)
	case h.n >= MaxHops:
		return false, refuse("more than %d redirects", MaxHops)
	}
	next, err := h.resolve(to)
	if err != nil {
		return false, fmt.Errorf("a redirect of %s: %w", h.url.Hostname(), err)
	}
	if !SameOrigin(h.first, next) {
		if h.within {
			return false, refuse("a redirect of %s leads to another origin (%s)", h.url.Hostname(), clip(next.Host))
		}
		h.left = true
	}
	if !same && h.method != http.MethodHead {
		h.method, h.body = http.MethodGet, nil
		for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Location"} {
			h.header.Del(name)
		}
	}
	h.url, h.n = next, h.n+1
	return true, nil
}

// resolve reads a Location, relative to where it was given.
func (h *hop) resolve(to string) (*url.URL, error) {
	to = strings.TrimSpace(to)
	if err := plainText(to); err != nil {
		return nil, err
	}
	ref, err := url.Parse(to)
	if err != nil {
		return nil, refuse("the Location cannot be read")
	}
	if ref.Host != "" && strings.ContainsAny(authority(to), "@%") {
		return nil, refuse("the host is ambiguous")
	}
	return Parse(h.url.ResolveReference(ref).String())
}

// transport dials only what is checked. trusted is a "host:port" whose private
// addresses an administrator configured.
func (c *Client) transport(trusted string) *http.Transport {
	return &http.Transport{
		Proxy: nil, // the environment's would be asked instead of the address
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return c.dial(ctx, network, address, trusted)
		},
		TLSClientConfig:        &tls.Config{RootCAs: c.cfg.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
	}
}

func trustedHost(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	u, err := Parse(raw)
	if err != nil {
		return "", err
	}
	return hostPort(u), nil
}
