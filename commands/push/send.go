package push

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"lembas/commands"
	"lembas/commands/tools/guard"
)

const (
	content    = "waiting" // of every message: it says nothing
	topic      = "waiting" // a newer message takes the place of one not delivered yet
	longest    = 28 * 24 * time.Hour
	tryTimeout = 10 * time.Second
	signedFor  = 12 * time.Hour // RFC 8292 allows 24
	maxAnswer  = 4 << 10
)

// answer is what one try came to; zero is delivered, or given up.
type answer struct {
	gone  bool
	retry bool
	why   string        // it is to be tried again
	after time.Duration // that the push service asked to wait
}

// send tries one browser.
func (s *Sender) send(ctx context.Context, k card, t commands.PushTarget) answer {
	select {
	case s.free <- struct{}{}:
		defer func() { <-s.free }()
	case <-ctx.Done():
		return answer{}
	}
	r, err := s.request(k, t)
	if err != nil {
		s.o.Logger.Warn("a push message could not be made", "push", t.ID, "host", t.Host)
		return answer{}
	}
	res, err := s.o.Client.Do(ctx, r)
	if err != nil {
		why := hide(err.Error(), t.Endpoint)
		if errors.Is(err, guard.ErrRefused) {
			s.o.Logger.Warn("a push service is not asked", "push", t.ID, "host", t.Host, "why", why)
			return answer{}
		}
		return answer{retry: true, why: why}
	}
	return s.read(t, res)
}

func (s *Sender) read(t commands.PushTarget, res *guard.Response) answer {
	switch {
	case res.Status < 300:
		return answer{}
	case res.Status == http.StatusNotFound || res.Status == http.StatusGone:
		return answer{gone: true}
	case res.Status == http.StatusTooManyRequests || res.Status >= 500:
		return answer{retry: true, why: "the push service answered " + strconv.Itoa(res.Status), after: s.retryAfter(res.Header.Get("Retry-After"))}
	}
	s.o.Logger.Warn("a push service refused a message", "push", t.ID, "host", t.Host, "status", res.Status)
	return answer{}
}

// retryAfter reads seconds or a date; what cannot be read asks for nothing.
func (s *Sender) retryAfter(text string) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(0, t.Sub(s.o.Now()))
	}
	return 0
}

func (s *Sender) request(k card, t commands.PushTarget) (guard.Request, error) {
	now := s.o.Now()
	body, err := encrypt([]byte(content), t.Public, t.Auth)
	if err != nil {
		return guard.Request{}, err
	}
	sign, err := s.o.Keys.authorization(t.Endpoint, s.o.Contact, now.Add(signedFor))
	if err != nil {
		return guard.Request{}, err
	}
	h := http.Header{}
	h.Set("Authorization", sign)
	h.Set("Content-Encoding", "aes128gcm")
	h.Set("Content-Type", "application/octet-stream")
	h.Set("TTL", strconv.Itoa(int(min(longest, k.expires.Sub(now))/time.Second)))
	h.Set("Topic", topic)
	h.Set("Urgency", "high")
	return guard.Request{Method: http.MethodPost, URL: t.Endpoint, Header: h, Body: body, MaxBody: maxAnswer, Timeout: tryTimeout,
		Redirects: guard.FollowNone}, nil
}

// hide takes an endpoint's secret part out of a text for the log.
func hide(text, endpoint string) string {
	_, rest, _ := strings.Cut(endpoint, "://")
	if i := strings.IndexByte(rest, '/'); i >= 0 && len(rest) > i+1 {
		text = strings.ReplaceAll(text, rest[i+1:], "…")
	}
	return text
}
