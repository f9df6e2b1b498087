package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The kinds of Error.
const (
	KindHTTP      = "http"      // a status of 400 and up, or a redirect that is not followed
	KindStream    = "stream"    // the endpoint reported an error inside a reply it had begun
	KindTruncated = "truncated" // the body ended with neither a finish reason nor [DONE]
	KindTransport = "transport" // no connection, or it broke
	KindTimeout   = "timeout"   // nothing came for too long
	KindNotSSE    = "not_sse"   // a web page
	KindEmpty     = "empty"     // the reply was whole and said nothing
	KindMalformed = "malformed" // nothing in it could be read
	KindTooLarge  = "too_large" // a line or the reply passed its bound
	KindStopped   = "stopped"   // the caller ended it: cancel, deadline, or an error from Handler.Delta
)

// maxMessage bounds Error.Message in characters; maxErrorBody what is read of an error's body, in bytes.
const (
	maxMessage   = 1000
	maxErrorBody = 64 << 10
)

// Error is what went wrong with an endpoint, in words for the person who waits for the reply.
type Error struct {
	Kind   string `json:"kind"`
	Status int    `json:"status,omitempty"` // HTTP status, 0 when there was none
	// RetryAfter is how long the endpoint asked to wait; 0 when it did not say.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	// Message is plain text of at most 1000 characters, the provider's own words included. It holds no markup of a web
	// page and never the API key. It is untrusted text.
	Message string `json:"message"`
	// Code is the provider's code or type for the error, "" when it gave none.
	Code string `json:"code,omitempty"`

	transient bool // may be tried again before the first byte
}

func (e *Error) Error() string { return e.Message }

// httpError reads an answer with a status that is not success. body is what could be read of it.
func httpError(resp *http.Response, body []byte, now time.Time) *Error {
	e := &Error{Kind: KindHTTP, Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header, now)}
	said, code := wordsOf(body)
	e.Code = code
	e.Message = fmt.Sprintf("The endpoint answered with HTTP %d %s", e.Status, http.StatusText(e.Status))
	switch {
	case said != "":
		e.Message += ": " + said
	case kindOf(bytes.TrimPrefix(body, []byte(bom))) == '<':
		e.Message += " and a web page" + titleOf(body)
	}
	switch e.Status {
	case http.StatusTooManyRequests, 500, 502, 503, 504, 529:
		e.transient = code != "insufficient_quota"
	}
	return e
}

// retryAfter reads Retry-After (seconds or a date) and retry-after-ms. What cannot be read, or has passed, is 0.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		if s > 0 && s < 1e9 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if d, err := http.ParseTime(h.Get("Date")); err == nil {
		now = d // the endpoint's own clock
	}
	return max(0, t.Sub(now))
}

// wordsOf finds the message and the code in an error body: JSON of the many shapes in use, or plain text.
// Of a web page it returns nothing.
func wordsOf(body []byte) (said, code string) {
	body = bytes.TrimPrefix(bytes.TrimSpace(body), []byte(bom))
	switch kindOf(body) {
	case 0, '<':
		return "", ""
	case '{', '[', '"':
		if json.Valid(body) {
			said, code = message(body, 0)
			if said == "" {
				said = tidy(string(body))
			}
			return said, code
		}
	}
	return tidy(string(body)), ""
}

// message looks for the words of an error in a JSON value: {error:{message}}, {error:"…"}, {message}, {detail}, a list
// of such, a bare string.
func message(raw json.RawMessage, depth int) (said, code string) {
	if depth > 4 {
		return "", ""
	}
	switch kindOf(raw) {
	case '"':
		return tidy(plain(raw)), ""
	case '[':
		for _, r := range array(raw) {
			if said, code = message(r, depth+1); said != "" {
				return said, code
			}
		}
	case '{':
		m := object(raw)
		for _, name := range []string{"error", "message", "detail", "msg", "status_msg", "error_description", "title", "errors"} {
			var inner string
			if said, inner = message(m[name], depth+1); said == "" {
				continue
			}
			for _, c := range []string{inner, scalar(m["code"]), plain(m["type"])} {
				if code == "" {
					code = c
				}
			}
			return said, code
		}
	}
	return "", ""
}

// isError reports whether an error member says something: null, false, "", 0 and {} do not.
func isError(raw json.RawMessage) bool {
	switch kindOf(raw) {
	case 0, 'n', 'f':
		return false
	case '"':
		return strings.TrimSpace(plain(raw)) != ""
	case '{':
		return len(object(raw)) > 0
	case '[':
		return len(array(raw)) > 0
	case 't':
		return true
	}
	n, ok := number(raw)
	return ok && n != 0
}

// streamError is an error reported inside a reply.
func streamError(raw json.RawMessage) *Error {
	e := &Error{Kind: KindStream}
	said, code := wordsOf(raw)
	e.Code = code
	e.Message = "The endpoint reported an error"
	if said != "" {
		e.Message += ": " + said
	}
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
		e.Status = n
	}
	return e
}

// pageError is a web page in place of a reply.
func pageError(head []byte) *Error {
	return &Error{Kind: KindNotSSE, Message: "The endpoint answered with a web page" + titleOf(head) +
		", not with a reply. Check the base URL: it often ends in /v1."}
}

// titleOf returns ` ("title")` of a page, or "".
func titleOf(page []byte) string {
	m := regexp.MustCompile(`(?is)<title[^>]*>([^<]*)</title>`).FindSubmatch(page[:min(len(page), pageHead)])
	if m == nil {
		return ""
	}
	t := tidy(strings.NewReplacer("<", "", ">", "").Replace(html.UnescapeString(string(m[1]))))
	if t == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", clip(t, 100))
}

// tidy makes untrusted words one line of printable text of bounded length.
func tidy(s string) string {
	s = s[:min(len(s), maxErrorBody)]
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	return clip(strings.Join(strings.Fields(s), " "), maxMessage)
}

func clip(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}

// hidden is s without a secret, also where clip has cut it.
func hidden(s, secret string) string {
	s = strings.ReplaceAll(s, secret, "***")
	for n := len(secret) - 1; n >= 4 && strings.Contains(s, secret[:4]); n-- {
		s = strings.ReplaceAll(s, secret[:n]+"…", "***…")
	}
	return s
}

// hide takes a secret out of an error's text, and bounds it.
func (e *Error) hide(secret string) *Error {
	if len(secret) >= 4 {
		e.Message, e.Code = hidden(e.Message, secret), hidden(e.Code, secret)
	}
	e.Message, e.Code = clip(e.Message, maxMessage), clip(e.Code, 100)
	return e
}
