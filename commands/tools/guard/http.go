package guard

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// HTTPOptions shape the client that HTTP gives to an SDK.
type HTTPOptions struct {
	// URL is the server's address. Header goes to its origin and nowhere else.
	URL    string
	Header http.Header
	// Secret names further headers, which the SDK may set, that never leave the
	// origin of URL. Those in Header, Authorization, Cookie and Mcp-Session-Id
	// never do.
	Secret []string
	// MaxBody bounds each answer in bytes, after decompression; one that is
	// larger fails to read with ErrTooLarge. 0 is DefaultBody.
	MaxBody int64
	// Trusted says that the host and port of URL may have a private address.
	Trusted bool
}

const maxSent = 8 << 20 // bytes of a request's body

// HTTP gives a client for an SDK that wants one. It dials only what is checked,
// follows 307 and 308 and refuses other redirects, and keeps no cookies. It has
// no time limit: the caller's context bounds each request. Its connections are
// closed by CloseIdleConnections, or after 30 s. The error is of o.URL.
func (c *Client) HTTP(o HTTPOptions) (*http.Client, error) {
	u, err := Parse(o.URL)
	if err != nil {
		return nil, err
	}
	trusted := ""
	if o.Trusted {
		trusted = hostPort(u)
	}
	header := o.Header.Clone()
	secret := append([]string(nil), o.Secret...)
	for name := range header {
		secret = append(secret, name)
	}
	t := &sdkTransport{Transport: c.transport(trusted), first: u, header: header, secret: secret, most: cmp.Or(o.MaxBody, DefaultBody)}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// sdkTransport puts the guard under a client of net/http. CloseIdleConnections
// is the embedded transport's.
type sdkTransport struct {
	*http.Transport
	first  *url.URL
	header http.Header
	secret []string
	most   int64
}

// RoundTrip sends one request of the SDK with all its hops.
func (t *sdkTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := sent(req)
	if err != nil {
		return nil, err
	}
	u, err := Parse(req.URL.String())
	if err != nil {
		return nil, err
	}
	h := &hop{first: t.first, url: u, method: cmp.Or(req.Method, http.MethodGet), header: req.Header.Clone(), secret: t.secret, body: body,
		redirects: FollowSame, left: !SameOrigin(t.first, u)}
	if h.header == nil {
		h.header = http.Header{}
	}
	if !h.left {
		for name, values := range t.header {
			h.header[http.CanonicalHeaderKey(name)] = values
		}
	}
	res, err := h.travel(req.Context(), t.Transport)
	if err != nil {
		return nil, err
	}
	res.Request = req
	res.Body = &bounded{ReadCloser: res.Body, left: t.most}
	return res, nil
}

func sent(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	defer func() { _ = req.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(req.Body, maxSent+1))
	if err == nil && len(b) > maxSent {
		err = fmt.Errorf("the request is larger than %d bytes", maxSent)
	}
	return b, err
}

// bounded gives up where an answer is larger than allowed, so that an SDK that
// reads whole answers cannot be made to hold one.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 { // the byte beyond the bound is not handed out
		return n - 1, ErrTooLarge
	}
	return n, err
}
