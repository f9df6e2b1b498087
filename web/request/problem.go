package request

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"lembas/commands"
	"lembas/events"
)

// Problem is an RFC 9457 problem document, and an error that becomes one. All
// its text is for the person who reads it.
type Problem struct {
	Type   string  `json:"type"`
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail,omitempty"`
	Errors []Field `json:"errors,omitempty"`
	// Request is the correlation id to look for in the server's log, on 500.
	Request string `json:"request,omitempty"`
	// RetryAfter becomes the header of that name, in whole seconds.
	RetryAfter time.Duration `json:"-"`
	// Allow becomes the header of that name, on 405.
	Allow string `json:"-"`
}

// Field is what is wrong with one member of the input.
type Field struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

func (p *Problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Title, p.Detail) }

// Fail is a problem with a formatted detail, which a person will read.
func Fail(status int, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// TooMany is a 429 that says when to come back.
func TooMany(after time.Duration, format string, args ...any) *Problem {
	p := Fail(http.StatusTooManyRequests, format, args...)
	p.RetryAfter = max(after, time.Second)
	return p
}

// Unauthorized says that the request needs somebody to be signed in.
func Unauthorized() *Problem {
	return Fail(http.StatusUnauthorized, "Sign in first, or send a valid API token.")
}

// NotFound says that a thing is not there, or not the caller's: both look the
// same.
func NotFound() *Problem {
	return Fail(http.StatusNotFound, "There is nothing here that you can see.")
}

// Classify is the one table from errors to answers. Only text that was written
// for people passes: that of a Problem, of a FieldError, and what stands before
// a sentinel at the end of a message ("a reply is running: conflict").
func Classify(err error) *Problem {
	var problem *Problem
	var conflict *events.ConflictError
	var reused *events.KeyReusedError
	var large *http.MaxBytesError
	switch fields := fieldErrors(err); {
	case errors.As(err, &problem):
		return problem
	case len(fields) > 0:
		p := Fail(http.StatusUnprocessableEntity, "%s", summary(fields))
		p.Errors = fields
		return p
	case errors.Is(err, commands.ErrCredentials):
		return Fail(http.StatusUnauthorized, "%s", sentence(commands.ErrCredentials.Error()))
	case errors.As(err, &large):
		return Fail(http.StatusRequestEntityTooLarge, "The request is larger than %d bytes.", large.Limit)
	case errors.As(err, &reused):
		return Fail(http.StatusConflict, "This Idempotency-Key was used for another request; use a new one.")
	case errors.As(err, &conflict):
		return Fail(http.StatusConflict, "Somebody changed this at the same moment. Try again.")
	case errors.Is(err, events.ErrNotFound):
		return NotFound()
	case errors.Is(err, events.ErrForbidden):
		return worded(http.StatusForbidden, err, events.ErrForbidden, "You may not do this.")
	case errors.Is(err, events.ErrConflict):
		return worded(http.StatusConflict, err, events.ErrConflict, "This is not possible as things stand now.")
	case errors.Is(err, events.ErrTooLarge):
		return worded(http.StatusRequestEntityTooLarge, err, events.ErrTooLarge, "This is too large.")
	case errors.Is(err, events.ErrBusy):
		p := worded(http.StatusTooManyRequests, err, events.ErrBusy, "The server is busy. Try again in a moment.")
		p.RetryAfter = 2 * time.Second
		return p
	case errors.Is(err, events.ErrInvalid):
		return Fail(http.StatusUnprocessableEntity, "The request has something that cannot be used.")
	case errors.Is(err, events.ErrReadOnly):
		p := Fail(http.StatusServiceUnavailable, "The server cannot write at present, so it takes no new work. Its administrator has to free disk space.")
		p.RetryAfter = 30 * time.Second
		return p
	case errors.Is(err, events.ErrClosed), errors.Is(err, context.DeadlineExceeded):
		p := Fail(http.StatusServiceUnavailable, "The server is stopping or overloaded. Try again in a moment.")
		p.RetryAfter = 5 * time.Second
		return p
	}
	return Fail(http.StatusInternalServerError, "Something went wrong on the server. Its log has the details under this request's id.")
}

// worded takes the words before the sentinel at the end of the message. A
// message that has its sentinel elsewhere was not written for people.
func worded(status int, err, sentinel error, otherwise string) *Problem {
	words, ok := strings.CutSuffix(err.Error(), ": "+sentinel.Error())
	if !ok {
		return Fail(status, "%s", otherwise)
	}
	return Fail(status, "%s", sentence(words))
}

// sentence begins with a capital and ends with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?…") {
		s += "."
	}
	return s
}

func summary(fields []Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f.Detail
		if f.Field != "" {
			parts[i] = f.Field + ": " + f.Detail
		}
	}
	return sentence(strings.Join(parts, "; "))
}

// fieldErrors collects the field errors of a tree of joined errors, in order.
func fieldErrors(err error) []Field {
	switch e := err.(type) {
	case nil:
		return nil
	case *events.FieldError:
		return []Field{{Field: e.Field, Detail: e.Detail}}
	case interface{ Unwrap() []error }:
		var out []Field
		for _, inner := range e.Unwrap() {
			out = append(out, fieldErrors(inner)...)
		}
		return out
	}
	return fieldErrors(errors.Unwrap(err))
}
