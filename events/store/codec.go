package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"lembas/events"
)

// The forms of a stored event: its first byte.
const (
	formSalted = 1 // salt and payload are there
	formErased = 2 // no salt; the payload is events.Erased
)

// Actor kinds have one byte on disk; 0 is followed by the kind as text.
var actorKinds = [...]string{1: events.Person, 2: events.Model, 3: events.System, 4: events.Job}

// stored is an event as it lies in a value, its parts still pointing into it.
type stored struct {
	form                            byte
	salt                            []byte
	version                         events.Version
	micros                          int64
	typeVersion                     int
	typ, stream, actor              []byte
	actorKind                       []byte
	correlation, causation, payload []byte
}

// appendEvent appends the stored form of e to dst. e.Position is not in it: it
// is the key.
func appendEvent(dst []byte, e *events.Envelope, salt []byte) []byte {
	if salt == nil {
		dst = append(dst, formErased)
	} else {
		dst = append(append(dst, formSalted), salt...)
	}
	dst = binary.AppendUvarint(dst, uint64(e.Version))
	dst = binary.AppendVarint(dst, e.Time.UnixMicro())
	dst = appendText(dst, e.Type)
	dst = binary.AppendUvarint(dst, uint64(e.TypeVersion))
	dst = appendText(dst, e.Stream)
	dst = appendActorKind(dst, e.Actor.Kind)
	dst = appendText(dst, e.Actor.ID)
	dst = appendText(dst, e.Correlation)
	dst = appendText(dst, e.Causation)
	return append(dst, e.Data...)
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendActorKind(dst []byte, kind string) []byte {
	for i, k := range actorKinds {
		if i > 0 && k == kind {
			return append(dst, byte(i))
		}
	}
	return appendText(append(dst, 0), kind)
}

// cursor takes values off the front of a value; bad stays set after the first
// that is not there.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) bytes(n uint64) []byte {
	if c.bad || n > uint64(len(c.b)) {
		c.bad = true
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) byte() byte {
	if v := c.bytes(1); v != nil {
		return v[0]
	}
	return 0
}

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.bad = true
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.b)
	if n <= 0 {
		c.bad = true
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) text() []byte { return c.bytes(c.uvarint()) }

// parseEvent reads a stored event without copying; the parts are valid as long
// as value is. The error matches events.ErrDamaged.
func parseEvent(value []byte) (stored, error) {
	c := cursor{b: value}
	s := stored{form: c.byte()}
	switch s.form {
	case formSalted:
		s.salt = c.bytes(events.SaltSize)
	case formErased:
	default:
		return stored{}, fmt.Errorf("%w: event of unknown form %d", events.ErrDamaged, s.form)
	}
	s.version = events.Version(c.uvarint())
	s.micros = c.varint()
	s.typ = c.text()
	s.typeVersion = int(c.uvarint())
	s.stream = c.text()
	kind := c.byte()
	switch {
	case kind == 0:
		s.actorKind = c.text()
	case int(kind) < len(actorKinds):
		s.actorKind = []byte(actorKinds[kind])
	default:
		c.bad = true
	}
	s.actor = c.text()
	s.correlation = c.text()
	s.causation = c.text()
	s.payload = c.b
	if c.bad {
		return stored{}, fmt.Errorf("%w: event is cut short", events.ErrDamaged)
	}
	return s, nil
}

// interner gives one string for equal bytes, so that a long read does not
// allocate the same type and stream names again and again. Not for several
// goroutines.
type interner struct{ m map[string]string }

// internMax bounds the interner of one read: past it, it starts anew.
const internMax = 4096

func (i *interner) get(b []byte) string {
	if s, ok := i.m[string(b)]; ok {
		return s
	}
	if i.m == nil || len(i.m) >= internMax {
		i.m = make(map[string]string, 64)
	}
	s := string(b)
	i.m[s] = s
	return s
}

// envelope copies a stored event out.
func (s *stored) envelope(p events.Position, in *interner) events.Envelope {
	e := s.header(p, in)
	e.Data = append(make([]byte, 0, len(s.payload)), s.payload...)
	return e
}

// header is the envelope without its data.
func (s *stored) header(p events.Position, in *interner) events.Envelope {
	return events.Envelope{
		Position: p, Stream: in.get(s.stream), Version: s.version, Type: in.get(s.typ), TypeVersion: s.typeVersion,
		Time:        time.UnixMicro(s.micros).UTC(),
		Actor:       events.Actor{Kind: in.get(s.actorKind), ID: in.get(s.actor)},
		Correlation: in.get(s.correlation), Causation: in.get(s.causation),
	}
}

// leaf recomputes the hash of the event's leaf.
func (s *stored) leaf(e *events.Envelope) (tlog.Hash, error) {
	if s.form == formErased {
		h, err := erasedHash(s.payload)
		if err != nil {
			return tlog.Hash{}, err
		}
		return tlog.RecordHash(events.LeafData(e.Header(), h)), nil
	}
	return tlog.RecordHash(events.LeafData(e.Header(), events.PayloadHash(s.salt, s.payload))), nil
}
