package events

import (
	"crypto/sha256"
	"strconv"
)

// SaltSize is the length of the random salt kept beside each payload. Erasure
// drops payload and salt, so that a short payload cannot be guessed from its
// hash.
const SaltSize = 16

// Header is the envelope without "data" in the canonical JSON of RFC 8785:
// members sorted, no white space.
func (e *Envelope) Header() []byte {
	b := make([]byte, 0, 320)
	b = append(b, `{"actor":{"id":`...)
	b = appendString(b, e.Actor.ID)
	b = append(b, `,"kind":`...)
	b = appendString(b, e.Actor.Kind)
	b = append(b, `},"causation":`...)
	b = appendString(b, e.Causation)
	b = append(b, `,"correlation":`...)
	b = appendString(b, e.Correlation)
	b = append(b, `,"position":`...)
	b = strconv.AppendUint(b, uint64(e.Position), 10)
	b = append(b, `,"stream":`...)
	b = appendString(b, e.Stream)
	b = append(b, `,"time":"`...)
	b = e.Time.UTC().AppendFormat(b, TimeLayout)
	b = append(b, `","type":`...)
	b = appendString(b, e.Type)
	b = append(b, `,"type_version":`...)
	b = strconv.AppendInt(b, int64(e.TypeVersion), 10)
	b = append(b, `,"version":`...)
	b = strconv.AppendUint(b, uint64(e.Version), 10)
	return append(b, '}')
}

// PayloadHash is SHA-256(salt ‖ payload), over the payload's bytes as stored.
func PayloadHash(salt, payload []byte) [32]byte {
	h := sha256.New()
	h.Write(salt)
	h.Write(payload)
	return [32]byte(h.Sum(nil))
}

// LeafData is what the tree's leaf of an event is made of:
// 0x00 ‖ SHA-256(header) ‖ SHA-256(salt ‖ payload), 65 bytes. The first byte is
// the form of the leaf. The tree hashes it as RFC 6962 leaf data, that is with
// a 0x00 of its own before it (tlog.RecordHash).
func LeafData(header []byte, payload [32]byte) []byte {
	h := sha256.Sum256(header)
	b := make([]byte, 0, 65)
	b = append(b, 0x00)
	b = append(b, h[:]...)
	return append(b, payload[:]...)
}
