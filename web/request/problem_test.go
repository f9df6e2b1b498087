package request

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"lembas/commands"
	"lembas/events"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		status int
		detail string // a part of it
	}{
		{"another's object", fmt.Errorf("chat: %w", events.ErrNotFound), 404, "nothing here"},
		{"field", events.Invalid("name", "is too long"), 422, "Name: is too long."},
		{"wrong password", commands.ErrCredentials, 401, "not right"},
		{"sign-up off", commands.ErrSignupOff, 403, "Sign-up is off"},
		{"taken", commands.ErrEmailTaken, 409, "sign in instead."},
		{"worded conflict", fmt.Errorf("a reply is running; stop it first: %w", events.ErrConflict), 409, "A reply is running; stop it first."},
		{"raced", &events.ConflictError{Stream: "chat/01SECRET", Expected: 3, Have: 4}, 409, "same moment"},
		{"key reused", &events.KeyReusedError{Key: "k"}, 409, "Idempotency-Key"},
		{"worded size", fmt.Errorf("text: at most 5 bytes: %w", events.ErrTooLarge), 413, "At most 5 bytes."},
		{"internal size", fmt.Errorf("%w: batch of 900 events", events.ErrTooLarge), 413, "too large"},
		{"body", &http.MaxBytesError{Limit: 10}, 413, "10 bytes"},
		{"queue full", fmt.Errorf("20 messages wait already: %w", events.ErrBusy), 429, "20 messages"},
		{"internal invalid", fmt.Errorf("%w: stream chat/01SECRET twice", events.ErrInvalid), 422, "cannot be used"},
		{"disk full", fmt.Errorf("/var/lib/01SECRET: %w", events.ErrReadOnly), 503, "disk space"},
		{"closed", events.ErrClosed, 503, "stopping"},
		{"anything", errors.New("open /var/lib/01SECRET: no such file"), 500, "Its log has"},
		{"own", fmt.Errorf("wrapped: %w", Fail(http.StatusTeapot, "short and stout")), 418, "short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Classify(c.err)
			if p.Status != c.status || !strings.Contains(strings.ToLower(p.Detail), strings.ToLower(c.detail)) {
				t.Errorf("%d %q, want %d with %q", p.Status, p.Detail, c.status, c.detail)
			}
			if strings.Contains(p.Detail, "01SECRET") {
				t.Errorf("internal text leaves: %q", p.Detail)
			}
			if p.Status == 429 && p.RetryAfter == 0 {
				t.Error("a 429 says when to come back")
			}
		})
	}
}

func TestClassifyNamesEveryField(t *testing.T) {
	err := fmt.Errorf("registering: %w", errors.Join(events.Invalid("email", "a"),
		errors.Join(events.Invalid("name", "b")), errors.New("internal"), events.Invalid("password", "c")))
	p := Classify(err)
	var names []string
	for _, f := range p.Errors {
		names = append(names, f.Field+"="+f.Detail)
	}
	if got := strings.Join(names, " "); got != "email=a name=b password=c" || p.Status != 422 {
		t.Errorf("%d %s", p.Status, got)
	}
	if strings.Contains(p.Detail, "internal") {
		t.Errorf("internal text leaves: %q", p.Detail)
	}
}
