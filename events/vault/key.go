package vault

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"lembas/events"
)

// keySize is the size of the master key in bytes.
const keySize = 32

// NewKey makes a master key as LEMBAS_SECRET_KEY takes it.
func NewKey() string {
	var b [keySize]byte
	rand.Read(b[:])
	return base64.StdEncoding.EncodeToString(b[:])
}

// parseKey reads 32 bytes in hex or in any base64.
func parseKey(s string) ([]byte, error) {
	s = strings.TrimSpace(s)
	if b, err := hex.DecodeString(s); err == nil && len(b) == keySize {
		return b, nil
	}
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	if b, err := base64.RawStdEncoding.DecodeString(plain); err == nil && len(b) == keySize {
		return b, nil
	}
	return nil, fmt.Errorf("%w: a secret key is 32 bytes in base64 or hex; make one with lembas secret-key", events.ErrInvalid)
}

// readKeyFile gives nil without an error when there is no file.
func readKeyFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1024))
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	key, err := parseKey(string(b))
	if err != nil {
		return nil, fmt.Errorf("%w: key file %s: %w", events.ErrDamaged, name, err)
	}
	return key, nil
}

// writeKeyFile makes the file whole or not at all, and durable: what is sealed
// with a key that a power cut takes away is lost.
func writeKeyFile(name, key string) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".key-*") // mode 0600
	if err != nil {
		return fmt.Errorf("key file: %w", err)
	}
	_, err = f.WriteString(key + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("key file: %w", err), os.Remove(f.Name()))
	}
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("key file: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
