package guard

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"time"

	"lembas/events"
)

// ErrRefused says that an address is not asked. The text around it names the
// reason and, where there is one, the way out. It never names the addresses that
// a name resolves to.
var ErrRefused = errors.New("address refused")

// ErrTooLarge says that an answer is larger than its bound. It matches
// events.ErrTooLarge.
var ErrTooLarge = fmt.Errorf("the answer is larger than allowed: %w", events.ErrTooLarge)

// Resolver looks names up, as net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config is what a Client needs; the zero value is the real network, public
// addresses only.
type Config struct {
	Resolver Resolver
	// Dial connects to "IP:port"; it is never given a name.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Private says whether an administrator opened private addresses. It is
	// asked on each connection.
	Private func() bool
	// Roots are the certificate authorities, nil for the system's.
	Roots *x509.CertPool
}

// Client asks addresses that others name. It is safe for use by many.
type Client struct{ cfg Config }

const dialTimeout = 10 * time.Second

// New makes a client.
func New(cfg Config) *Client {
	if cfg.Resolver == nil {
		cfg.Resolver = net.DefaultResolver
	}
	if cfg.Private == nil {
		cfg.Private = func() bool { return false }
	}
	if cfg.Dial == nil {
		d := &net.Dialer{Timeout: dialTimeout}
		cfg.Dial = d.DialContext
	}
	return &Client{cfg: cfg}
}

// Check reads an address as Do would and resolves its host, without connecting.
// The URL that it gives is canonical: lower case, ASCII host, no default port, no
// fragment. Errors match ErrRefused, but for a name that cannot be looked up.
func (c *Client) Check(ctx context.Context, raw string) (*url.URL, error) {
	u, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	_, err = c.resolve(ctx, u.Hostname(), c.cfg.Private())
	return u, err
}

// resolve gives the addresses of a host, all of them checked: one bad answer
// refuses the name.
func (c *Client) resolve(ctx context.Context, host string, private bool) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, permit(host, a, private)
	}
	if err := permitName(host, private); err != nil {
		return nil, err
	}
	found, err := c.cfg.Resolver.LookupNetIP(ctx, "ip", host)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil || len(found) == 0:
		return nil, fmt.Errorf("the name %q was not found; check its spelling", clip(host))
	}
	for i, a := range found {
		found[i] = a.Unmap() // the resolver may give IPv4 in mapped form
		if err := permit(host, found[i], private); err != nil {
			return nil, err
		}
	}
	return found, nil
}

const maxTries = 4 // addresses of one name that are dialled

// dial connects to a checked address of "host:port". The name is looked up here
// and nowhere later, so that it cannot change between check and connection.
func (c *Client) dial(ctx context.Context, network, address, trusted string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrRefused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs, err := c.resolve(ctx, host, c.cfg.Private() || address == trusted)
	if err != nil {
		return nil, err
	}
	var last error
	for _, a := range addrs[:min(len(addrs), maxTries)] {
		conn, err := c.cfg.Dial(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		last = err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("no connection to %s: it did not answer in time", clip(host))
	}
	var op *net.OpError // its text names the address
	if errors.As(last, &op) && op.Err != nil {
		last = op.Err
	}
	return nil, fmt.Errorf("no connection to %s: %v", clip(host), last)
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// clip bounds what a refusal repeats.
func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}
