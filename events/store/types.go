package store

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"lembas/events"
)

// typeRecord says which version of a type the log holds at most, and whether
// the release that wrote it says that the type can change what is permitted.
type typeRecord struct {
	version int
	permits bool
	release string
}

func (t typeRecord) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst[:0], uint64(t.version))
	flag := byte(0)
	if t.permits {
		flag = 1
	}
	return appendText(append(dst, flag), t.release)
}

func parseType(b []byte) (typeRecord, error) {
	c := cursor{b: b}
	t := typeRecord{version: int(c.uvarint()), permits: c.byte() == 1, release: string(c.text())}
	if c.bad {
		return t, fmt.Errorf("%w: record of an event type", events.ErrDamaged)
	}
	return t, nil
}

// noteType keeps the record of an event's type: written once per type and
// version, in the same batch.
func (b *building) noteType(e *newEvent) {
	t, ok := b.s.types[e.Type]
	if ok && t.version >= e.TypeVersion {
		return
	}
	info, _ := events.Lookup(e.Type)
	t = typeRecord{version: e.TypeVersion, permits: t.permits || info.Permits, release: b.s.o.Release}
	b.s.types[e.Type] = t
	b.key, b.val = typeKey(b.key, e.Type), t.append(b.val)
	_ = b.batch.Set(b.key, b.val, nil)
}

func readTypes(db pebble.Reader) (map[string]typeRecord, error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{kindType}, UpperBound: []byte{kindType + 1}})
	if err != nil {
		return nil, damaged(err)
	}
	defer it.Close()
	types := map[string]typeRecord{}
	for it.First(); it.Valid(); it.Next() {
		if types[string(it.Key()[1:])], err = parseType(it.Value()); err != nil {
			return nil, err
		}
	}
	return types, damaged(it.Error())
}

// checkTypes refuses a log that holds something newer which could change what
// is permitted. Any other unknown type or version is kept and skipped.
func checkTypes(types map[string]typeRecord) error {
	for name, t := range types {
		info, known := events.Lookup(name)
		if (known && t.version <= info.Version) || (!t.permits && !info.Permits) {
			continue
		}
		need := "a newer release of lembas"
		if t.release != "" {
			need = "lembas " + t.release + " or later"
		}
		return fmt.Errorf("%w: the log holds %s version %d, which can change what is permitted; use %s",
			events.ErrNewer, name, t.version, need)
	}
	return nil
}
