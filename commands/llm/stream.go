package llm

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Kind is what a Delta adds to.
type Kind string

// The kinds of Delta.
const (
	KindContent       Kind = "content"
	KindReasoning     Kind = "reasoning"
	KindToolCall      Kind = "tool_call"      // a call began, or its id or name became known
	KindToolArguments Kind = "tool_arguments" // text of a call's arguments
	// KindReclassify has no text. All content so far was reasoning: fold it as reasoning += content; content = "".
	// It comes at most once, for models whose template opens the think block, so that only </think> is in the reply.
	KindReclassify Kind = "reclassify"
)

// Delta is one piece of a reply as it arrived. Folded in order, the texts of a kind are the Result's text of that kind
// (with KindReclassify as said there). KindToolArguments of a call add up to what the endpoint sent: Call.Raw, or
// Call.Arguments when Raw is "" (which is "{}" when nothing came).
type Delta struct {
	Kind Kind
	Text string
	Call int           // index in Result.Calls, for the two tool kinds
	ID   string        // KindToolCall: the endpoint's id, "" while it sent none
	Name string        // KindToolCall
	At   time.Duration // since the call of Stream
}

// Handler receives what happens while a reply is read. Both members may be nil. They are called by the goroutine that
// called Stream, one at a time.
type Handler struct {
	// Delta gets each piece at once. An error from it ends the reply.
	Delta func(Delta) error
	// Retry is told before each wait for another attempt.
	Retry func(Attempt)
}

// Attempt is one request that failed and is going to be repeated.
type Attempt struct {
	Number int           // from 1
	Err    *Error        // why it failed
	Wait   time.Duration // until the next one
}

// Result is a reply, whole or as far as it came.
type Result struct {
	Content, Reasoning string
	Calls              []Call // in the order they began. Use Runnable for those that may be run
	FinishReason       string // a Finish constant; "" when the endpoint never said
	FinishWord         string // the endpoint's own word for it
	Usage              *Usage // nil when not reported
	ID, Model          string // as the endpoint reported them, at most 200 characters; untrusted
	Err                *Error // nil when the reply is whole
	Warnings           []string
	First              time.Duration // to the first delta, from the call of Stream; 0 when there was none
	Total              time.Duration
	Attempts           []Attempt // the failed ones before this
}

// Runnable returns the calls that may be run: none when the reply has an error or was cut by length, and only those with
// a name and valid arguments.
func (r *Result) Runnable() []Call {
	var out []Call
	if r.Err != nil || r.FinishReason != FinishCalls {
		return nil
	}
	for _, c := range r.Calls {
		if c.ArgumentsValid && c.Name != "" {
			out = append(out, c)
		}
	}
	return out
}

// Stream posts body, byte for byte, to the endpoint's chat/completions and reads the reply, in whatever dialect and
// whether or not it is a stream. Trouble with the endpoint is Result.Err. The error is the caller's own doing: what
// the context or Handler.Delta said; Result then holds what had come, and Result.Err has KindStopped.
func (e *Endpoint) Stream(ctx context.Context, body []byte, h Handler) (Result, error) {
	start := time.Now()
	if h.Delta == nil {
		h.Delta = func(Delta) error { return nil }
	}
	client, end := e.client()
	defer end()
	var attempts []Attempt
	for {
		a := newAssembler(h.Delta, func() time.Duration { return time.Since(start) })
		broken := e.attempt(ctx, client, body, a)
		if wait, again := e.again(broken, len(attempts)); again && ctx.Err() == nil {
			at := Attempt{Number: len(attempts) + 1, Err: broken.hide(e.APIKey), Wait: wait}
			attempts = append(attempts, at)
			if h.Retry != nil {
				h.Retry(at)
			}
			if sleep(ctx, wait) == nil {
				continue
			}
			broken = &Error{Kind: KindStopped, Message: "The reply was stopped."}
		}
		r := a.result(broken)
		if r.Err != nil {
			r.Err.hide(e.APIKey)
		}
		r.Attempts, r.Total = attempts, time.Since(start)
		err := a.stopped
		if err == nil && r.Err != nil && r.Err.Kind == KindStopped {
			err = context.Cause(ctx)
		}
		return r, err
	}
}

// Complete is Stream for a caller who wants only the end. body may ask for a stream or not.
func (e *Endpoint) Complete(ctx context.Context, body []byte) (Result, error) {
	return e.Stream(ctx, body, Handler{})
}

// again decides whether an attempt is repeated, and after how long.
func (e *Endpoint) again(broken *Error, failed int) (time.Duration, bool) {
	if broken == nil || !broken.transient || failed >= e.Retry.Max {
		return 0, false
	}
	most := orElse(e.Retry.MaxWait, defaultMaxWait)
	if broken.RetryAfter > 0 {
		return broken.RetryAfter, broken.RetryAfter <= most
	}
	wait := min(orElse(e.Retry.Base, defaultBase)<<min(failed, 10), most)
	return min(most, wait+rand.N(wait/4+1)), true
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// errTimeout is the cause of a context that a watch has cancelled.
type errTimeout struct{ msg string }

func (e *errTimeout) Error() string { return e.msg }

// tailTime is how long the rest of a body is waited for once the endpoint has given its finish reason: only usage and
// [DONE] can follow.
const tailTime = 5 * time.Second

// errorBodyTime is how long the body of an error answer is waited for: its status is already enough.
const errorBodyTime = 10 * time.Second

// attempt makes one request and feeds its reply to a. The error is what broke it, nil when the body ended by itself.
func (e *Endpoint) attempt(ctx context.Context, client *http.Client, body []byte, a *assembler) *Error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wait := orElse(e.FirstByteTimeout, defaultFirstByte)
	watch := time.AfterFunc(wait, func() {
		cancel(&errTimeout{fmt.Sprintf("The endpoint sent nothing for %v.", wait)})
	})
	defer watch.Stop()

	resp, err := e.send(ctx, client, http.MethodPost, "/chat/completions", body)
	if err != nil {
		return transportError(ctx, err, true)
	}
	defer resp.Body.Close()
	in, err := plainBody(resp)
	if err != nil {
		return &Error{Kind: KindMalformed, Message: "The endpoint sent a compressed reply that cannot be read."}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		watch.Reset(min(wait, errorBodyTime))
		said, _ := io.ReadAll(io.LimitReader(in, maxErrorBody)) // what can be read of it in that time
		return httpError(resp, said, time.Now())
	}
	return e.read(ctx, cancel, watch, in, a)
}

// read feeds the body to a until it ends, breaks, or nothing more counts.
func (e *Endpoint) read(ctx context.Context, cancel context.CancelCauseFunc, watch *time.Timer, in io.Reader, a *assembler) *Error {
	idle := orElse(e.IdleTimeout, defaultIdle)
	limit := orElse(e.MaxReply, defaultMaxReply)
	r := &reader{max: int(orElse(e.MaxLine, defaultMaxLine)), emit: a.frame}
	var total, quiet int64
	var idleWatch *time.Timer
	buf := make([]byte, 32<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			p := buf[:n]
			total, quiet = total+int64(n), quiet+int64(n)
			if ferr := r.feed(p); ferr != nil {
				return &Error{Kind: KindTooLarge, Message: "The endpoint sent a line that is " + ferr.Error() + "."}
			}
			if a.over() || r.mode == modePage && len(r.line) >= pageHead {
				break
			}
			if total > limit {
				return &Error{Kind: KindTooLarge, Message: fmt.Sprintf("The reply passed the limit of %d bytes and was ended.", limit)}
			}
			if quiet >= 1<<10 || bytes.IndexByte(p, '\n') >= 0 || idleWatch == nil {
				quiet = 0
				watch.Stop()
				if idleWatch == nil {
					idleWatch = time.AfterFunc(idle, func() {
						cancel(&errTimeout{fmt.Sprintf("The endpoint stopped in the middle of the reply: nothing more came for %v.", idle)})
					})
					defer idleWatch.Stop()
				}
				idleWatch.Reset(e.patience(idle, a))
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			r.end() // a pending event counts; emit never fails
			return transportError(ctx, err, total == 0)
		}
	}
	r.end()
	if r.mode == modePage {
		return pageError(r.line)
	}
	return nil
}

func (e *Endpoint) patience(idle time.Duration, a *assembler) time.Duration {
	if a.terminal() {
		return min(idle, tailTime)
	}
	return idle
}

// send makes a request with our headers and follows our redirect policy.
func (e *Endpoint) send(ctx context.Context, client *http.Client, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(e.BaseURL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, &redirectError{"The base URL cannot be used. Check it."}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "lembas")
	if key := strings.TrimSpace(e.APIKey); key != "" {
		if strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r > 0x7E }) {
			return nil, &redirectError{"The API key holds characters that cannot be sent. Enter it again."}
		}
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return client.Do(req)
}

// plainBody undoes the compression of a server that compresses unasked.
func plainBody(resp *http.Response) (io.Reader, error) {
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return gzip.NewReader(resp.Body)
	}
	return resp.Body, nil
}

// transportError puts a failed connection in words. before: no byte of a reply had come.
func transportError(ctx context.Context, err error, before bool) *Error {
	var timeout *errTimeout
	var redirect *redirectError
	cause := context.Cause(ctx)
	switch {
	case errors.As(cause, &timeout):
		return &Error{Kind: KindTimeout, Message: timeout.msg}
	case cause != nil:
		return &Error{Kind: KindStopped, Message: "The reply was stopped."}
	case errors.As(err, &redirect):
		return &Error{Kind: KindHTTP, Message: redirect.msg}
	}
	e := &Error{Kind: KindTransport}
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var cert x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var netErr net.Error
	switch {
	case errors.As(err, &dns):
		e.Message = fmt.Sprintf("The endpoint's host name %q was not found.", clip(tidy(dns.Name), 200))
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message, e.transient = "The endpoint refused the connection: is it running, and is the port right?", true
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &cert):
		e.Message = "The endpoint's TLS certificate is not valid: " + tidy(rootOf(err))
	case errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.Message = "The endpoint does not speak TLS on that port: try http:// in the base URL."
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE):
		e.Message, e.transient = "The endpoint broke the connection.", before
	case errors.As(err, &netErr) && netErr.Timeout():
		e.Kind, e.Message = KindTimeout, "The endpoint could not be reached in time."
	default:
		e.Message, e.transient = "The connection to the endpoint failed: "+tidy(rootOf(err)), false
	}
	return e
}

// rootOf is an error's text without the method and address net/http puts before it.
func rootOf(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}
