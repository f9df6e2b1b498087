package transcript

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"lembas/events"
)

// Decode is events.Decode for ApplyDecoded. It leaves out what the fold does not
// read: of a chunk all cuts but the last, of a round its request. A log is
// mostly these two, and reading their JSON in whole is most of the time that a
// fold takes. Payloads that are not as this product writes them go the long
// way.
func Decode(e *events.Envelope) (events.Payload, error) {
	switch e.Type {
	case "reply.chunk":
		if p, ok := quickChunk(e.Data); ok && isNewest(e) {
			return p, nil
		}
	case "round.started":
		if p, ok := quickRound(e.Data); ok && isNewest(e) {
			return p, nil
		}
	}
	return events.Decode(e)
}

// isNewest says that no upcaster and no newer version is in play.
func isNewest(e *events.Envelope) bool {
	i, _ := events.Lookup(e.Type)
	return e.TypeVersion == 1 && i.Version == 1
}

func quickChunk(b []byte) (events.ReplyChunk, bool) {
	s := scanner{b: b}
	var p events.ReplyChunk
	s.literal(`{"reply":`)
	p.Reply = s.text()
	s.literal(`,"round":`)
	p.Round = int(s.integer())
	s.literal(`,"kind":`)
	p.Kind = s.text()
	if s.has(`,"call":`) {
		call := int(s.integer())
		p.Call = &call
	}
	s.literal(`,"text":`)
	p.Text = s.text()
	s.literal(`,"cuts":`)
	if !s.has("null") {
		p.Cuts = s.lastPair()
	}
	s.literal("}")
	return p, !s.bad && len(s.b) == 0
}

// quickRound takes a round's first members and its last one. The bytes are
// valid JSON, so the brace that ends them is the one that began them and the
// member before it is of the same object.
func quickRound(b []byte) (events.RoundStarted, bool) {
	s := scanner{b: b}
	var p events.RoundStarted
	s.literal(`{"reply":`)
	p.Reply = s.text()
	s.literal(`,"round":`)
	p.Round = int(s.integer())
	if i := bytes.LastIndex(s.b, []byte(`,"estimate":`)); i >= 0 {
		s.b = s.b[i:]
	}
	s.literal(`,"estimate":`)
	p.Estimate = int(s.integer())
	s.literal("}")
	return p, !s.bad && len(s.b) == 0
}

// scanner takes known JSON off the front of b; bad stays set after the first
// that is other than expected.
type scanner struct {
	b   []byte
	bad bool
}

func (s *scanner) has(literal string) bool {
	if len(s.b) < len(literal) || string(s.b[:len(literal)]) != literal {
		return false
	}
	s.b = s.b[len(literal):]
	return true
}

func (s *scanner) literal(l string) { s.bad = !s.has(l) || s.bad }

// text takes a string. One with escapes is left to encoding/json.
func (s *scanner) text() string {
	if s.bad || len(s.b) == 0 || s.b[0] != '"' {
		s.bad = true
		return ""
	}
	plain := true
	for i := 1; i < len(s.b); i++ {
		switch s.b[i] {
		case '\\':
			plain = false
			i++
		case '"':
			quoted := s.b[:i+1]
			s.b = s.b[i+1:]
			return s.unquote(quoted, plain)
		}
	}
	s.bad = true
	return ""
}

func (s *scanner) unquote(quoted []byte, plain bool) (v string) {
	if inner := quoted[1 : len(quoted)-1]; plain && utf8.Valid(inner) {
		return string(inner)
	}
	s.bad = json.Unmarshal(quoted, &v) != nil
	return v
}

// integer takes a number that has at most 15 digits and no fraction.
func (s *scanner) integer() (n int64) {
	minus := s.has("-")
	i := 0
	for ; i < len(s.b) && i < 16 && '0' <= s.b[i] && s.b[i] <= '9'; i++ {
		n = 10*n + int64(s.b[i]-'0')
	}
	s.bad = s.bad || i == 0 || i == 16
	s.b = s.b[i:]
	if minus {
		return -n
	}
	return n
}

// lastPair takes an array of pairs of numbers and gives the last one alone.
func (s *scanner) lastPair() (pairs [][2]int64) {
	s.literal("[")
	if s.has("]") {
		return [][2]int64{}
	}
	var last [2]int64
	for more := true; more && !s.bad; more = s.has(",") {
		s.literal("[")
		last[0] = s.integer()
		s.literal(",")
		last[1] = s.integer()
		s.literal("]")
	}
	s.literal("]")
	return [][2]int64{last}
}
