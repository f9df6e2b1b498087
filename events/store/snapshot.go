package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"lembas/events"
)

func snapshotKey(stream, name string) []byte {
	k := append(append([]byte{kindSnapshot}, stream...), 0)
	return append(k, name...)
}

// PutSnapshot keeps a fold of a stream up to a position. It is only a cache: a
// crash may take it back, and the next one of the same name replaces it.
// version is that of the fold's code.
func (s *Store) PutSnapshot(stream, name string, version int, at events.Position, data []byte) error {
	if err := errors.Join(checkName("stream", stream), checkName("snapshot", name)); err != nil {
		return err
	}
	if at > s.Head() {
		return fmt.Errorf("%w: snapshot at %d, the log ends at %d", events.ErrInvalid, at, s.Head())
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	v := binary.AppendUvarint(nil, uint64(version))
	v = append(binary.AppendUvarint(v, uint64(at)), data...)
	b := s.db.NewBatch()
	_ = b.Set(snapshotKey(stream, name), v, nil) // a batch in memory does not fail
	return errors.Join(s.apply(b, pebble.NoSync), b.Close())
}

// Snapshot gives the fold of that name if it was made by the same version of
// the code. ErrNotFound otherwise: fold from the beginning.
func (s *Store) Snapshot(stream, name string, version int) (at events.Position, data []byte, err error) {
	if err := s.enter(); err != nil {
		return 0, nil, err
	}
	defer s.leave()
	v, closer, err := s.db.Get(snapshotKey(stream, name))
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil, fmt.Errorf("%w: snapshot %s of %s", events.ErrNotFound, name, stream)
	}
	if err != nil {
		return 0, nil, damaged(err)
	}
	defer closer.Close()
	c := cursor{b: v}
	have := c.uvarint()
	at = events.Position(c.uvarint())
	if c.bad || have != uint64(version) || at > s.Head() {
		return 0, nil, fmt.Errorf("%w: snapshot %s of %s in version %d", events.ErrNotFound, name, stream, version)
	}
	return at, bytes.Clone(c.b), nil
}
