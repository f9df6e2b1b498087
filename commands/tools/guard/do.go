package guard

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds of a Request that names none.
const (
	DefaultBody    = 5 << 20 // bytes
	DefaultTimeout = 30 * time.Second
)

// Request is one request, with all the hops it takes.
type Request struct {
	Method string // GET when empty
	URL    string
	Header http.Header // less what belongs to the client (Host, framing, Accept-Encoding)
	// Secret names headers that are dropped for good once a hop leaves the first
	// origin. Authorization, Cookie and Mcp-Session-Id always are.
	Secret []string
	Body   []byte
	// MaxBody bounds the answer in bytes, after decompression.
	MaxBody int64
	// Timeout bounds the whole, with all hops and the body.
	Timeout   time.Duration
	Redirects Redirects
	// SameOrigin refuses hops to another origin: for requests whose URL or body
	// holds a secret.
	SameOrigin bool
	// Trusted is an address that an administrator configured: its host and port,
	// and no other hop, may have a private address.
	Trusted string
}

// Response is the last hop's answer.
type Response struct {
	Status    int
	Header    http.Header
	Body      []byte
	Truncated bool // the answer was larger than MaxBody
	URL       *url.URL
}

// Do sends a request. Every status is an answer; an error is a refusal
// (ErrRefused) or trouble on the way, in words for a person.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	u, err := Parse(r.URL)
	if err != nil {
		return nil, err
	}
	trusted, err := trustedHost(r.Trusted)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, DefaultTimeout))
	defer cancel()
	t := c.transport(trusted)
	defer t.CloseIdleConnections()
	t.DisableKeepAlives = true // a connection lives no longer than its check
	h := &hop{first: u, url: u, method: cmp.Or(strings.ToUpper(r.Method), http.MethodGet), header: r.Header.Clone(), secret: r.Secret, body: r.Body,
		redirects: r.Redirects, within: r.SameOrigin}
	if h.header == nil {
		h.header = http.Header{}
	}
	res, err := h.travel(ctx, t)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	return read(ctx, h.url, res, cmp.Or(r.MaxBody, DefaultBody))
}

func read(ctx context.Context, u *url.URL, res *http.Response, most int64) (*Response, error) {
	if e := res.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, fmt.Errorf("%s answered in an encoding (%s) that was not asked for", u.Hostname(), clip(e))
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return nil, fmt.Errorf("%s did not finish its answer in time", u.Hostname())
	case err != nil:
		return nil, fmt.Errorf("the answer of %s broke off: %w", u.Hostname(), err)
	}
	out := &Response{Status: res.StatusCode, Header: res.Header, Body: b, URL: u}
	if int64(len(b)) > most {
		out.Body, out.Truncated = b[:most], true
	}
	return out, nil
}
