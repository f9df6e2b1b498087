package events

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Log is the append-only log. Everything else in the product is read from it.
//
// Reading and waiting are apart on purpose: Wait carries no data, so a follower
// is one loop with one cursor and there is no seam between old events and live
// ones.
type Log interface {
	// Epoch is the log's random id, changed by a restore.
	Epoch() string
	// Head is the position of the last durable event, 0 when there is none.
	Head() Position
	// Append makes the batch durable, whole or not at all, before it returns.
	// The error is a *ConflictError when an expectation does not hold, a
	// *KeyReusedError when the key was used for another body, ErrReadOnly below
	// the low-water mark, ErrClosed after Close. Once the batch is queued the
	// outcome is awaited even when ctx ends.
	Append(ctx context.Context, b Batch) (Result, error)
	// Read yields the events after a position, in order, up to the head at the
	// time of the call.
	Read(ctx context.Context, after Position) iter.Seq2[Envelope, error]
	// ReadStream yields the events of one stream after a position (of the whole
	// log), in order, up to the head at the time of the call.
	ReadStream(ctx context.Context, stream string, after Position) iter.Seq2[Envelope, error]
	// Stream says where a stream stands; a zero StreamInfo when it has no events.
	Stream(ctx context.Context, stream string) (StreamInfo, error)
	// Wait returns when the head is past after, or with ctx's error.
	Wait(ctx context.Context, after Position) error
	// WaitStream returns when the stream has an event past after, or with ctx's
	// error. It wakes nobody for the events of other streams.
	WaitStream(ctx context.Context, stream string, after Position) error
	// Outcome gives what the idempotency key of an actor led to, if it was used.
	Outcome(ctx context.Context, actor Actor, key string) (Result, bool, error)
}

// StreamInfo is where a stream stands.
type StreamInfo struct {
	Version Version // of its last event
	// Deciding is the version of the last event that can change a decision:
	// all types but those registered as weak (reply.chunk).
	Deciding Version
	Last     Position // position of its last event
}

// Batch is what one command wants to have happened: events of one or more
// streams, committed together.
type Batch struct {
	Actor       Actor
	Correlation string
	Causation   string
	Parts       []Part
	// Key is the idempotency key, scoped to the actor; empty for none. The same
	// key with the same KeyBody gives the first Result again and appends nothing.
	Key     string
	KeyBody []byte // a hash of the request, at most 64 bytes
	// Outcome is kept under the key and comes back in Result.Outcome.
	Outcome json.RawMessage
	// Puts are bytes beside the log that must be there exactly when the events
	// are: secrets and blobs.
	Puts []Put
}

// Part is the events of one stream in a batch.
type Part struct {
	Stream string
	Expect Expectation
	Events []New
}

// New is an event before it has a place.
type New struct {
	Payload Payload
	// Raw, when Payload is nil, is an event as it was exported: its type, type
	// version, time and actor are kept. Only imports use it.
	Raw *Envelope
}

// Put is a key and value in one of the keyspaces beside the log ("vault",
// "blob"). A nil value deletes.
type Put struct {
	Space string
	Key   []byte
	Value []byte
}

// Result is where a batch landed.
type Result struct {
	First, Last Position
	// Streams is where each part's stream stands after the batch.
	Streams map[string]StreamInfo
	Outcome json.RawMessage
	// Repeated says that the idempotency key had been used: nothing was appended.
	Repeated bool
	Time     time.Time
}

// Expectation is what a part expects of its stream.
type Expectation struct {
	kind    expectKind
	version Version
	scope   string
}

type expectKind uint8

const (
	expectAny expectKind = iota
	expectExact
	expectOpen
)

// Any expects nothing.
func Any() Expectation { return Expectation{} }

// Exactly expects that the stream's last deciding event has this version; 0 is
// a stream without events.
func Exactly(v Version) Expectation { return Expectation{kind: expectExact, version: v} }

// WhileOpen expects that a scope of the stream (a reply's id) was opened and
// not yet closed. Chunks use it: they never conflict with a Stop, an answer or
// a queued message, and are refused once the reply has ended.
func WhileOpen(scope string) Expectation { return Expectation{kind: expectOpen, scope: scope} }

// Check compares the expectation with the stream's deciding version; open tells
// whether a scope is open and is only asked when that matters.
func (x Expectation) Check(stream string, have Version, open func(scope string) bool) error {
	switch {
	case x.kind == expectExact && x.version != have:
		return &ConflictError{Stream: stream, Expected: x.version, Have: have}
	case x.kind == expectOpen && !open(x.scope):
		return &ConflictError{Stream: stream, Scope: x.scope}
	}
	return nil
}

// Scope is the scope that WhileOpen named, or "".
func (x Expectation) Scope() string { return x.scope }
