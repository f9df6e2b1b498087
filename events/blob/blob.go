package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"lembas/events"
	"lembas/events/store"
)

// Space is the keyspace of the blobs.
const Space = "blob"

// MaxSize bounds one blob in bytes. It is above the default limit of an upload.
const MaxSize = 32 << 20

// Put names bytes and gives the put that keeps them. data must not change until
// the append has returned. ErrTooLarge above MaxSize.
func Put(data []byte) (events.BlobRef, events.Put, error) {
	if len(data) > MaxSize {
		return events.BlobRef{}, events.Put{}, fmt.Errorf("%w: blob of %d bytes, at most %d", events.ErrTooLarge, len(data), MaxSize)
	}
	if data == nil {
		data = []byte{} // nil would delete
	}
	sum := sha256.Sum256(data)
	return events.BlobRef{Digest: hex.EncodeToString(sum[:]), Size: int64(len(data))},
		events.Put{Space: Space, Key: sum[:], Value: data}, nil
}

// Store reads blobs. Safe for several goroutines.
type Store struct{ rows *store.Keyspace }

// New gives the blobs of a store.
func New(s *store.Store) *Store { return &Store{rows: s.Keyspace(Space)} }

// Get gives the bytes of a digest in hex: ErrNotFound for one that is not there
// or is no digest, ErrDamaged when the bytes are not what was kept.
func (b *Store) Get(digest string) ([]byte, error) {
	key, err := parse(digest)
	if err != nil {
		return nil, err
	}
	data, err := b.rows.Get(key)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", digest, err)
	}
	if sum := sha256.Sum256(data); string(sum[:]) != string(key) {
		return nil, fmt.Errorf("blob %s: %w", digest, events.ErrDamaged)
	}
	return data, nil
}

// Exists tells whether a digest is there.
func (b *Store) Exists(digest string) (bool, error) {
	key, err := parse(digest)
	if err != nil {
		return false, nil
	}
	_, err = b.rows.Get(key)
	if errors.Is(err, events.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func parse(digest string) ([]byte, error) {
	key, err := hex.DecodeString(digest)
	if err != nil || len(key) != sha256.Size {
		return nil, fmt.Errorf("%w: no blob has the digest %q", events.ErrNotFound, digest[:min(len(digest), 64)])
	}
	return key, nil
}
