package events

import (
	"errors"
	"fmt"
)

// One sentinel per kind of failure, for errors.Is. Other rooms wrap them with
// %w and what was attempted; one table in web maps them to HTTP.
var (
	ErrNotFound  = errors.New("not found")
	ErrForbidden = errors.New("forbidden")
	ErrInvalid   = errors.New("invalid")
	ErrConflict  = errors.New("conflict")
	ErrTooLarge  = errors.New("too large")
	ErrBusy      = errors.New("busy")
	ErrReadOnly  = errors.New("read-only")
	// ErrClosed is what a call on a log that was shut down gets.
	ErrClosed = errors.New("log closed")
	// ErrDamaged means that stored bytes are not what was written. The message
	// names the first bad position where one can be named.
	ErrDamaged = errors.New("damaged")
	// ErrNewer means that a newer binary wrote the log; nothing was touched.
	ErrNewer = errors.New("written by a newer version")
)

// ConflictError says that an append expected another state of its stream. It
// matches ErrConflict.
type ConflictError struct {
	Stream string
	// Expected and Have are deciding versions; both are zero when a scope was
	// expected to be open and is not.
	Expected, Have Version
	// Scope is the scope that is not open, for WhileOpen.
	Scope string
}

func (e *ConflictError) Error() string {
	if e.Scope != "" {
		return fmt.Sprintf("stream %s: %s is not open", e.Stream, e.Scope)
	}
	return fmt.Sprintf("stream %s: expected version %d, have %d", e.Stream, e.Expected, e.Have)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// KeyReusedError says that an idempotency key came back with another body. It
// matches ErrConflict.
type KeyReusedError struct{ Key string }

func (e *KeyReusedError) Error() string {
	return fmt.Sprintf("idempotency key %q was used for another request", e.Key)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *KeyReusedError) Is(target error) bool { return target == ErrConflict }

// FieldError names one field of a person's input that is not acceptable and
// the way out. It matches ErrInvalid.
type FieldError struct{ Field, Detail string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Detail }

// Is makes errors.Is(err, ErrInvalid) true.
func (e *FieldError) Is(target error) bool { return target == ErrInvalid }

// Invalid is a FieldError with a formatted detail.
func Invalid(field, format string, args ...any) error {
	return &FieldError{Field: field, Detail: fmt.Sprintf(format, args...)}
}
