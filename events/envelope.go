package events

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

type (
	// Position is an event's place in the whole log: from 1, without gaps. It
	// is the only number on the wire.
	Position uint64
	// Version is an event's place in its stream, from 1.
	Version uint64
)

// TimeLayout is how an event's time is written: UTC, always six digits of a
// second, so that the same instant has one spelling.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// The kinds of Actor.
const (
	Person = "person"
	Model  = "model"
	System = "system"
	Job    = "job"
)

// Actor is who did it.
type Actor struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Envelope is one stored event. Its JSON form is a promise (contract.md): all
// members are always there, in this order.
type Envelope struct {
	Position    Position
	Stream      string
	Version     Version
	Type        string
	TypeVersion int
	// Time is UTC in microseconds and never goes back within a stream.
	Time  time.Time
	Actor Actor
	// Correlation is the person's action that all this belongs to.
	Correlation string
	// Causation is what directly caused this: a command's id, or another event
	// as Ref gives it.
	Causation string
	// Data is the payload as stored, not yet upcast.
	Data json.RawMessage
}

// Ref names an event independently of its position, which changes on import:
// "chat/01J…@41".
func (e *Envelope) Ref() string { return e.Stream + "@" + strconv.FormatUint(uint64(e.Version), 10) }

// AppendJSON appends the wire form of the envelope to dst.
func (e *Envelope) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"position":`...)
	dst = strconv.AppendUint(dst, uint64(e.Position), 10)
	dst = append(dst, `,"stream":`...)
	dst = appendString(dst, e.Stream)
	dst = append(dst, `,"version":`...)
	dst = strconv.AppendUint(dst, uint64(e.Version), 10)
	dst = append(dst, `,"type":`...)
	dst = appendString(dst, e.Type)
	dst = append(dst, `,"type_version":`...)
	dst = strconv.AppendInt(dst, int64(e.TypeVersion), 10)
	dst = append(dst, `,"time":"`...)
	dst = e.Time.UTC().AppendFormat(dst, TimeLayout)
	dst = append(dst, `","actor":{"kind":`...)
	dst = appendString(dst, e.Actor.Kind)
	dst = append(dst, `,"id":`...)
	dst = appendString(dst, e.Actor.ID)
	dst = append(dst, `},"correlation":`...)
	dst = appendString(dst, e.Correlation)
	dst = append(dst, `,"causation":`...)
	dst = appendString(dst, e.Causation)
	dst = append(dst, `,"data":`...)
	if len(e.Data) == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, e.Data...)
	}
	return append(dst, '}')
}

// MarshalJSON gives the wire form.
func (e Envelope) MarshalJSON() ([]byte, error) {
	return e.AppendJSON(make([]byte, 0, 256+len(e.Data))), nil
}

// UnmarshalJSON reads the wire form. A time that is not in TimeLayout is
// refused, because the leaf hash is over its spelling.
func (e *Envelope) UnmarshalJSON(b []byte) error {
	var w struct {
		Position    Position        `json:"position"`
		Stream      string          `json:"stream"`
		Version     Version         `json:"version"`
		Type        string          `json:"type"`
		TypeVersion int             `json:"type_version"`
		Time        string          `json:"time"`
		Actor       Actor           `json:"actor"`
		Correlation string          `json:"correlation"`
		Causation   string          `json:"causation"`
		Data        json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("event envelope: %w", err)
	}
	t, err := time.Parse(TimeLayout, w.Time)
	if err != nil {
		return fmt.Errorf("event envelope: time %q: %w", w.Time, err)
	}
	*e = Envelope{Position: w.Position, Stream: w.Stream, Version: w.Version, Type: w.Type,
		TypeVersion: w.TypeVersion, Time: t, Actor: w.Actor, Correlation: w.Correlation,
		Causation: w.Causation, Data: w.Data}
	return nil
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string by RFC 8785: the shortest escapes,
// everything else literal. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\b':
			dst = append(dst, '\\', 'b')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\f':
			dst = append(dst, '\\', 'f')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			dst = append(dst, string(r)...)
		}
	}
	return append(dst, '"')
}
