package llm

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Endpoint is where requests go and how long they may take. The zero value of each limit is its default. It may be
// used by many goroutines, and is not changed by them.
type Endpoint struct {
	BaseURL string // as ParseBaseURL returns it
	APIKey  string // sent as a bearer token; "" sends none. Never part of an error or a delta of ours
	// HTTP is the client to use, nil for one that is made for each call. NewHTTP makes a good one. Its CheckRedirect is not
	// used: redirects are followed on the same origin only.
	HTTP *http.Client

	FirstByteTimeout time.Duration // from the request to the first byte of the body; default 5 minutes
	IdleTimeout      time.Duration // without a whole line, or a KB of one; default 2 minutes
	MaxLine          int64         // bytes in one line or one JSON text; default 16 MB
	MaxReply         int64         // bytes of a whole body; default 64 MB
	Retry            Retry
}

// Retry says what happens to transient trouble (no connection, 429, 500, 502, 503, 504, 529) before the first byte of
// a reply. After that byte nothing is ever repeated. The zero value never retries.
type Retry struct {
	Max  int           // retries after the first attempt
	Base time.Duration // the first wait, doubled each time, with up to a quarter more by chance; default 1 s
	// MaxWait bounds a wait; default 30 s. An endpoint that asks for more with Retry-After is not asked again.
	MaxWait time.Duration
}

// The defaults of Endpoint.
const (
	defaultFirstByte = 5 * time.Minute
	defaultIdle      = 2 * time.Minute
	defaultMaxLine   = 16 << 20
	defaultMaxReply  = 64 << 20
	defaultBase      = time.Second
	defaultMaxWait   = 30 * time.Second
)

func orElse[T int64 | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// NewHTTP returns a client for endpoints, to be shared. It uses no proxy, not even one named in the environment: keys and
// conversations go to the address an administrator entered and nowhere else. It has no overall timeout;
// Endpoint's limits and the context end a call.
func NewHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   15 * time.Second,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // a compressed stream arrives late
	}}
}

// client returns a client with our redirect policy, and what ends it when it was made for this call.
func (e *Endpoint) client() (*http.Client, func()) {
	c, end := http.Client{}, func() {}
	if e.HTTP != nil {
		c = *e.HTTP
	} else {
		c = *NewHTTP()
		end = c.CloseIdleConnections
	}
	c.CheckRedirect = checkRedirect
	return &c, end
}

// redirectError is why a redirect was not followed.
type redirectError struct{ msg string }

func (e *redirectError) Error() string { return e.msg }

// checkRedirect follows a redirect only to the same origin and with the same method, three times at most: the key and
// the conversation go to no other place, and a POST that became a GET would ask for something else.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	to := req.URL.Scheme + "://" + req.URL.Host
	switch {
	case req.URL.Scheme != first.URL.Scheme || !strings.EqualFold(hostPort(req.URL), hostPort(first.URL)):
		return &redirectError{fmt.Sprintf("The endpoint redirects to %s. Enter that address as the base URL if you trust it.", clip(tidy(to), 200))}
	case req.Method != first.Method:
		return &redirectError{"The endpoint redirects to " + clip(tidy(req.URL.Path), 200) + ". Check the base URL."}
	case len(via) > 3:
		return &redirectError{"The endpoint redirects in a circle. Check the base URL."}
	}
	return nil
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// ParseBaseURL checks the address of an endpoint as a person entered it and returns it without white space around it and
// slashes behind it. With or without /v1 it is kept as given. The error says what to enter instead.
func ParseBaseURL(s string) (string, error) {
	s = strings.TrimRight(strings.TrimSpace(s), "/")
	if s == "" {
		return "", errors.New("enter the endpoint's base URL, for example https://api.example.org/v1")
	}
	if len(s) > 2000 {
		return "", errors.New("the base URL is too long: at most 2000 characters")
	}
	u, err := url.Parse(s)
	switch {
	case err == nil && (u.Scheme == "http" || u.Scheme == "https"):
	case err == nil && strings.Contains(s, "://"):
		return "", fmt.Errorf("the base URL must begin with http:// or https://, not %q", clip(u.Scheme, 20)+"://")
	case !strings.Contains(s, "://"):
		return "", errors.New("the base URL must begin with http:// or https://, for example http://localhost:11434/v1")
	default:
		return "", errors.New("the base URL cannot be read: enter something like https://api.example.org/v1")
	}
	switch {
	case u.User != nil:
		return "", errors.New("the base URL must not hold a user name or password: enter the key in its own field")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		return "", errors.New("the base URL must not hold a ? or #: leave out what follows it")
	case u.Hostname() == "" || u.Opaque != "" || strings.HasSuffix(u.Host, ":"):
		return "", errors.New("the base URL has no host name or an empty port: enter something like https://api.example.org/v1")
	}
	if p := u.Port(); p != "" {
		if n, ok := number([]byte(p)); !ok || n < 1 || n > 65535 {
			return "", errors.New("the port of the base URL must be a number from 1 to 65535")
		}
	}
	for _, tail := range []string{"/chat/completions", "/completions", "/models", "/responses"} {
		if strings.HasSuffix(u.Path, tail) {
			return "", fmt.Errorf("leave %s out of the base URL: it is added by itself", tail)
		}
	}
	return s, nil
}
