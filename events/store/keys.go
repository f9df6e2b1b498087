package store

import (
	"crypto/sha256"
	"encoding/binary"

	"lembas/events"
)

// The first byte of a key says what it is; doc.go describes each.
const (
	kindEvent    = 'e'
	kindOutcome  = 'i'
	kindSpace    = 'k'
	kindLeaf     = 'l'
	kindMeta     = 'm'
	kindNode     = 'n'
	kindScope    = 'o'
	kindSnapshot = 'q'
	kindIndex    = 's'
	kindStream   = 'h'
	kindType     = 'y'
)

func positionKey(dst []byte, kind byte, p events.Position) []byte {
	return binary.BigEndian.AppendUint64(append(dst[:0], kind), uint64(p))
}

func nodeKey(dst []byte, level int, n int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst[:0], kindNode, byte(level)), uint64(n))
}

func indexKey(dst []byte, stream string, p events.Position) []byte {
	dst = append(append(append(dst[:0], kindIndex), stream...), 0)
	return binary.BigEndian.AppendUint64(dst, uint64(p))
}

func streamKey(dst []byte, stream string) []byte {
	return append(append(dst[:0], kindStream), stream...)
}

func scopeKey(dst []byte, stream, scope string) []byte {
	dst = append(append(append(dst[:0], kindScope), stream...), 0)
	return append(dst, scope...)
}

func typeKey(dst []byte, typ string) []byte { return append(append(dst[:0], kindType), typ...) }

func metaKey(name string) []byte { return append([]byte{kindMeta}, name...) }

// outcomeKey hides what a caller chose as its key: it may be anything.
func outcomeKey(dst []byte, actor events.Actor, key string) []byte {
	h := sha256.New()
	h.Write([]byte(actor.Kind))
	h.Write([]byte{0})
	h.Write([]byte(actor.ID))
	h.Write([]byte{0})
	h.Write([]byte(key))
	return h.Sum(append(dst[:0], kindOutcome))
}

func spacePrefix(name string) []byte {
	return append(append([]byte{kindSpace}, name...), 0)
}

// spaceEnd is the first key past a keyspace: its name followed by 0x01, and no
// name holds a byte below 0x20.
func spaceEnd(name string) []byte {
	return append(append([]byte{kindSpace}, name...), 1)
}

// positionOf reads the position that ends a key.
func positionOf(key []byte) events.Position {
	return events.Position(binary.BigEndian.Uint64(key[len(key)-8:]))
}
