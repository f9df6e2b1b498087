package store

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"lembas/events"
)

// each calls f for all rows whose first byte is kind.
func (v *verifier) each(kind byte, f func(key, value []byte) error) error {
	it, err := v.db.NewIter(&pebble.IterOptions{LowerBound: []byte{kind}, UpperBound: []byte{kind + 1}})
	if err != nil {
		return damaged(err)
	}
	defer it.Close()
	for it.First(); it.Valid(); it.Next() {
		if err := f(it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return damaged(it.Error())
}

// index checks that each stream's index lists its events, all and in order.
func (v *verifier) index() error {
	seen := make(map[string]*verifiedStream, len(v.streams))
	err := v.each(kindIndex, func(key, value []byte) error {
		stream, _, _ := bytes.Cut(key[1:], []byte{0})
		p := positionOf(key)
		st := seen[string(stream)]
		if st == nil {
			st = &verifiedStream{}
			seen[string(stream)] = st
		}
		c := cursor{b: value}
		if st.Version++; events.Version(c.uvarint()) != st.Version || c.bad {
			return v.firstUnindexed(string(stream))
		}
		st.mix(p)
		return nil
	})
	if err != nil {
		return err
	}
	for name, st := range v.streams {
		if got := seen[name]; got == nil || got.print != st.print {
			return v.firstUnindexed(name)
		}
		delete(seen, name)
	}
	for name := range seen {
		return fmt.Errorf("%w: index of stream %s, which has no events", events.ErrDamaged, name)
	}
	return nil
}

// firstUnindexed finds where the index of a stream and its events part; it is
// called only when they do.
func (v *verifier) firstUnindexed(stream string) error {
	it, err := v.db.NewIter(&pebble.IterOptions{LowerBound: indexKey(nil, stream, 0), UpperBound: indexKey(nil, stream, v.report.Head+1)})
	if err != nil {
		return damaged(err)
	}
	defer it.Close()
	more := it.First()
	err = v.each(kindEvent, func(key, value []byte) error {
		e, err := parseEvent(value)
		if err != nil || string(e.stream) != stream {
			return err
		}
		p := positionOf(key)
		if !more || positionOf(it.Key()) != p {
			return &BadError{p, fmt.Sprintf("it is not in the index of stream %s", stream)}
		}
		if c := (cursor{b: it.Value()}); events.Version(c.uvarint()) != e.version || c.bad {
			return &BadError{p, fmt.Sprintf("the index of stream %s has another version for it", stream)}
		}
		more = it.Next()
		return nil
	})
	if err == nil && more {
		err = &BadError{positionOf(it.Key()), fmt.Sprintf("it is in the index of stream %s and not of it", stream)}
	}
	if err == nil {
		err = fmt.Errorf("%w: index of stream %s", events.ErrDamaged, stream)
	}
	return err
}

func (v *verifier) streamRecords() error {
	seen := 0
	err := v.each(kindStream, func(key, value []byte) error {
		name := string(key[1:])
		st, err := parseStream(value)
		if err != nil {
			return fmt.Errorf("stream %s: %w", name, err)
		}
		want := v.streams[name]
		if want == nil || st != want.streamState {
			return fmt.Errorf("%w: the record of stream %s is not what its events give", events.ErrDamaged, name)
		}
		seen++
		return nil
	})
	if err == nil && seen != len(v.streams) {
		err = fmt.Errorf("%w: %d streams have no record", events.ErrDamaged, len(v.streams)-seen)
	}
	return err
}

func (v *verifier) openScopes() error {
	seen := 0
	err := v.each(kindScope, func(key, _ []byte) error {
		if !v.scopes[string(key)] {
			return fmt.Errorf("%w: scope %q is open and should not be", events.ErrDamaged, key[1:])
		}
		seen++
		return nil
	})
	if err == nil && seen != len(v.scopes) {
		err = fmt.Errorf("%w: %d scopes that should be open are not", events.ErrDamaged, len(v.scopes)-seen)
	}
	return err
}

// rest reads what cannot be recomputed here, which checks its blocks' sums.
func (v *verifier) rest(ctx context.Context) error {
	for _, kind := range []byte{kindOutcome, kindSpace, kindSnapshot} {
		err := v.each(kind, func(key, value []byte) error {
			v.report.Rows++
			if kind == kindOutcome {
				if _, _, err := parseOutcome(value); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	types, err := readTypes(v.db)
	if err != nil {
		return err
	}
	return checkTypes(types)
}
