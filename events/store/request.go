package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"lembas/events"
)

// Bounds of what one append may hold. An event must fit into memory many times
// over; a batch must fit into one Pebble batch beside others of its group.
const (
	// MaxPayload is the size of one event's payload in bytes.
	MaxPayload = 4 << 20
	// MaxBatch is the size of all events of one batch in bytes.
	MaxBatch = 16 << 20
	// MaxPuts is the size of all puts of one batch in bytes: two blobs of the
	// largest size fit.
	MaxPuts = 65 << 20
	// MaxOutcome is the size of what is kept under an idempotency key in bytes.
	MaxOutcome = 64 << 10
	// MaxName bounds streams, scopes, ids and type names in bytes.
	MaxName = 255
	// maxEvents bounds the events of one batch.
	maxEvents = 100_000
)

// newEvent is an event that has all but its place.
type newEvent struct {
	events.Envelope
	salt           [events.SaltSize]byte
	payload        [32]byte // events.PayloadHash
	weak           bool
	opened, closed string
	raw            bool
}

type part struct {
	stream string
	expect events.Expectation
	events []newEvent
}

// request is one append on its way through the appender.
type request struct {
	batch  *events.Batch
	parts  []part
	size   int
	urgent bool // the recorded head is synced with it
	result events.Result
	err    error
	done   chan struct{}
}

// prepare checks a batch and does all the work that needs no place in the log:
// it runs in the caller's goroutine, so that the appender has less to do.
func (s *Store) prepare(b *events.Batch) (*request, error) {
	r := &request{batch: b, parts: make([]part, len(b.Parts)), done: make(chan struct{})}
	if err := checkBatch(b); err != nil {
		return nil, err
	}
	count := 0
	for i, p := range b.Parts {
		r.parts[i] = part{stream: p.Stream, expect: p.Expect, events: make([]newEvent, len(p.Events))}
		count += len(p.Events)
		for j, n := range p.Events {
			e := &r.parts[i].events[j]
			if err := e.fill(b, p.Stream, n); err != nil {
				return nil, fmt.Errorf("append to %s, event %d: %w", p.Stream, j+1, err)
			}
			r.size += len(e.Data)
			r.urgent = r.urgent || strings.HasPrefix(e.Type, "consent.")
		}
	}
	switch {
	case count == 0:
		return nil, fmt.Errorf("%w: append without events", events.ErrInvalid)
	case count > maxEvents || r.size > MaxBatch:
		return nil, fmt.Errorf("%w: batch of %d events and %d bytes; at most %d and %d", events.ErrTooLarge, count, r.size, maxEvents, MaxBatch)
	}
	for _, p := range b.Puts {
		r.size += len(p.Key) + len(p.Value)
	}
	return r, s.seal(r, count)
}

// seal gives each event its salt and hashes its payload.
func (s *Store) seal(r *request, count int) error {
	salts := make([]byte, count*events.SaltSize)
	if _, err := io.ReadFull(s.o.Rand, salts); err != nil {
		return fmt.Errorf("append: salt: %w", err)
	}
	for i := range r.parts {
		for j := range r.parts[i].events {
			e := &r.parts[i].events[j]
			salts = salts[copy(e.salt[:], salts):]
			e.payload = events.PayloadHash(e.salt[:], e.Data)
		}
	}
	return nil
}

func checkBatch(b *events.Batch) error {
	for field, v := range map[string]string{"actor kind": b.Actor.Kind, "actor id": b.Actor.ID,
		"correlation": b.Correlation, "causation": b.Causation} {
		if err := checkText(field, v); err != nil {
			return err
		}
	}
	switch {
	case b.Actor.Kind == "":
		return fmt.Errorf("%w: append without an actor", events.ErrInvalid)
	case len(b.Key) > MaxName:
		return fmt.Errorf("%w: idempotency key of %d bytes, at most %d", events.ErrTooLarge, len(b.Key), MaxName)
	case len(b.KeyBody) > 64:
		return fmt.Errorf("%w: hash of a request of %d bytes, at most 64", events.ErrTooLarge, len(b.KeyBody))
	case len(b.Outcome) > MaxOutcome:
		return fmt.Errorf("%w: outcome of %d bytes, at most %d", events.ErrTooLarge, len(b.Outcome), MaxOutcome)
	}
	seen := make(map[string]bool, len(b.Parts))
	for _, p := range b.Parts {
		if err := checkName("stream", p.Stream); err != nil {
			return err
		}
		if seen[p.Stream] {
			return fmt.Errorf("%w: stream %s twice in one append", events.ErrInvalid, p.Stream)
		}
		seen[p.Stream] = true
	}
	return checkPuts(b.Puts)
}

func checkPuts(puts []events.Put) error {
	size := 0
	for _, p := range puts {
		if err := checkName("keyspace", p.Space); err != nil {
			return err
		}
		size += len(p.Key) + len(p.Value)
	}
	if size > MaxPuts {
		return fmt.Errorf("%w: %d bytes beside the events, at most %d", events.ErrTooLarge, size, MaxPuts)
	}
	return nil
}

func checkText(what, s string) error {
	if len(s) > MaxName {
		return fmt.Errorf("%w: %s of %d bytes, at most %d", events.ErrTooLarge, what, len(s), MaxName)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%w: %s is not UTF-8", events.ErrInvalid, what)
	}
	return nil
}

// checkName is for what becomes part of a key: printable, so that a 0 byte can
// end it.
func checkName(what, s string) error {
	if err := checkText(what, s); err != nil {
		return err
	}
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return fmt.Errorf("%w: %s name %q", events.ErrInvalid, what, s)
	}
	return nil
}

// fill makes the event from its payload, or from an exported event.
func (e *newEvent) fill(b *events.Batch, stream string, n events.New) error {
	if n.Payload != nil {
		if err := e.encode(n.Payload); err != nil {
			return err
		}
		e.Actor, e.Correlation, e.Causation = b.Actor, b.Correlation, b.Causation
	} else if err := e.adopt(n.Raw); err != nil {
		return err
	}
	e.Stream = stream
	if len(e.Data) > MaxPayload {
		return fmt.Errorf("%w: %s of %d bytes, at most %d", events.ErrTooLarge, e.Type, len(e.Data), MaxPayload)
	}
	if !readable(e.Data) {
		return fmt.Errorf("%w: %s is not UTF-8, or nests deeper than %d", events.ErrInvalid, e.Type, maxDepth)
	}
	info, _ := events.Lookup(e.Type)
	e.weak = info.Weak
	e.opened, e.closed = events.Scopes(e.Type, e.Data)
	for _, scope := range []string{e.opened, e.closed} {
		if scope != "" {
			if err := checkName("scope", scope); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxDepth is how deep a payload nests. Readers of JSON give up at some depth
// (Go's at 10,000): what cannot be read back must not be written, or no
// projection gets past it.
const maxDepth = 1000

// readable says whether every reader can read the JSON of a payload.
func readable(data []byte) bool {
	if !utf8.Valid(data) {
		return false
	}
	if len(data) < maxDepth {
		return true // as deep as it is long, at most
	}
	depth, text := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

// encode writes the payload as JSON without HTML's escapes, which would double
// the size of code.
func (e *newEvent) encode(p events.Payload) error {
	info, ok := events.Lookup(p.EventType())
	if !ok {
		return fmt.Errorf("%w: unregistered event type %q", events.ErrInvalid, p.EventType())
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return fmt.Errorf("%w: %s: %w", events.ErrInvalid, info.Name, err)
	}
	e.Type, e.TypeVersion = info.Name, info.Version
	e.Data = bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	return nil
}

// adopt takes an exported event over. Its bytes are kept as they came.
func (e *newEvent) adopt(raw *events.Envelope) error {
	switch {
	case raw == nil:
		return fmt.Errorf("%w: event without payload", events.ErrInvalid)
	case raw.TypeVersion < 1:
		return fmt.Errorf("%w: type version %d", events.ErrInvalid, raw.TypeVersion)
	case raw.Time.Year() < 1970 || raw.Time.Year() > 9999:
		return fmt.Errorf("%w: time %s", events.ErrInvalid, raw.Time.Format(time.RFC3339))
	case !json.Valid(raw.Data) || !utf8.Valid(raw.Data):
		return fmt.Errorf("%w: data is not JSON", events.ErrInvalid)
	}
	if err := checkName("type", raw.Type); err != nil {
		return err
	}
	for field, v := range map[string]string{"actor kind": raw.Actor.Kind, "actor id": raw.Actor.ID,
		"correlation": raw.Correlation, "causation": raw.Causation} {
		if err := checkText(field, v); err != nil {
			return err
		}
	}
	e.Envelope, e.raw = *raw, true
	e.Time = raw.Time.UTC().Truncate(time.Microsecond)
	e.Position = 0
	return nil
}
