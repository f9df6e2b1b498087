package vault

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"

	"lembas/events"
	"lembas/events/store"
)

// Space is the keyspace of the vault.
const Space = "vault"

// MaxSize bounds a secret, in bytes: a private key is some kilobytes.
const MaxSize = 64 << 10

const (
	form      = 1
	checkName = "\x00check"
	checkText = "lembas vault"
	binding   = "lembas vault 1\x00"
)

// Options say where the master key comes from.
type Options struct {
	// SecretKey is the value of LEMBAS_SECRET_KEY: 32 bytes in base64 or hex.
	// It wins over the file.
	SecretKey string
	// KeyFile is the path of the key file, used and made when SecretKey is "".
	KeyFile string
	// Rand gives nonces, crypto/rand when nil.
	Rand io.Reader
}

// Vault seals and opens secrets. Safe for several goroutines.
type Vault struct {
	rows *store.Keyspace
	aead cipher.AEAD
	mac  []byte
	rand io.Reader
}

// Open gives the vault of a store. A key that is missing or not the one that
// the vault was made with is an error before any secret is needed.
func Open(s *store.Store, o Options) (*Vault, error) {
	v := &Vault{rows: s.Keyspace(Space), rand: o.Rand}
	if v.rand == nil {
		v.rand = rand.Reader
	}
	check, err := v.rows.Get([]byte(checkName))
	fresh := errors.Is(err, events.ErrNotFound)
	if err != nil && !fresh {
		return nil, fmt.Errorf("vault: %w", err)
	}
	if fresh {
		master, err := o.master(true)
		if err == nil {
			err = v.derive(master)
		}
		if err != nil {
			return nil, fmt.Errorf("vault: %w", err)
		}
		return v, v.makeCheck()
	}
	if err := v.prove(check, o); err != nil {
		return nil, err
	}
	return v, nil
}

// prove derives the key and tries it on the record that is there for that.
func (v *Vault) prove(check []byte, o Options) error {
	master, err := o.master(false)
	if err == nil {
		err = v.derive(master)
	}
	if err != nil {
		return fmt.Errorf("vault: %w", err)
	}
	if text, err := v.unseal(checkName, check); err != nil || string(text) != checkText {
		return fmt.Errorf("vault: %w: the key from %s is not the one that the secrets were sealed with", events.ErrInvalid, o.source())
	}
	return nil
}

// Check tells whether Open would take the key, and writes nothing. It is
// store.Options.Check: a directory whose key is missing is refused untouched.
func Check(get func(space string, key []byte) ([]byte, error), o Options) error {
	check, err := get(Space, []byte(checkName))
	if err == nil {
		return new(Vault).prove(check, o)
	}
	if !errors.Is(err, events.ErrNotFound) {
		return fmt.Errorf("vault: %w", err)
	}
	if o.SecretKey != "" {
		_, err = o.master(true)
	} else {
		_, err = readKeyFile(o.KeyFile)
	}
	if err != nil {
		return fmt.Errorf("vault: %w", err)
	}
	return nil
}

func (o Options) source() string {
	if o.SecretKey != "" {
		return "LEMBAS_SECRET_KEY"
	}
	return "the file " + o.KeyFile
}

// master finds the key. A new one is made only for a vault that has nothing.
func (o Options) master(fresh bool) ([]byte, error) {
	if o.SecretKey != "" {
		key, err := parseKey(o.SecretKey)
		if err != nil {
			return nil, fmt.Errorf("LEMBAS_SECRET_KEY: %w", err)
		}
		return key, nil
	}
	if o.KeyFile == "" {
		return nil, fmt.Errorf("%w: neither a secret key nor a key file", events.ErrInvalid)
	}
	key, err := readKeyFile(o.KeyFile)
	if err != nil || key != nil {
		return key, err
	}
	if !fresh {
		return nil, fmt.Errorf("%w: the key file %s is missing; put it back or set LEMBAS_SECRET_KEY", events.ErrDamaged, o.KeyFile)
	}
	text := NewKey()
	if err := writeKeyFile(o.KeyFile, text); err != nil {
		return nil, err
	}
	return parseKey(text)
}

func (v *Vault) derive(master []byte) error {
	key, err := hkdf.Key(sha256.New, master, nil, "lembas vault", chacha20poly1305.KeySize)
	if err != nil {
		return err
	}
	if v.mac, err = hkdf.Key(sha256.New, master, nil, "lembas mac", sha256.Size); err != nil {
		return err
	}
	v.aead, err = chacha20poly1305.NewX(key)
	return err
}

func (v *Vault) makeCheck() error {
	put, err := v.seal(checkName, []byte(checkText))
	if err != nil {
		return err
	}
	b := v.rows.NewBatch()
	b.Set(put.Key, put.Value)
	if err := b.CommitSync(); err != nil {
		return fmt.Errorf("vault: %w", err)
	}
	return nil
}

// Seal gives the put that keeps a secret under a name, to go into the batch of
// the event that says so. The name is a key on disk: ids only.
func (v *Vault) Seal(name string, secret []byte) (events.Put, error) {
	if name == "" || name[0] == 0 {
		return events.Put{}, fmt.Errorf("%w: name of a secret %q", events.ErrInvalid, name)
	}
	if len(secret) > MaxSize {
		return events.Put{}, fmt.Errorf("%w: secret of %d bytes, at most %d", events.ErrTooLarge, len(secret), MaxSize)
	}
	return v.seal(name, secret)
}

func (v *Vault) seal(name string, secret []byte) (events.Put, error) {
	b := make([]byte, 1+chacha20poly1305.NonceSizeX, 1+chacha20poly1305.NonceSizeX+len(secret)+chacha20poly1305.Overhead)
	b[0] = form
	if _, err := io.ReadFull(v.rand, b[1:]); err != nil {
		return events.Put{}, fmt.Errorf("vault: nonce: %w", err)
	}
	b = v.aead.Seal(b, b[1:], secret, []byte(binding+name))
	return events.Put{Space: Space, Key: []byte(name), Value: b}, nil
}

// Delete gives the put that forgets a secret.
func Delete(name string) events.Put { return events.Put{Space: Space, Key: []byte(name)} }

// Open gives a secret: ErrNotFound when there is none under the name,
// ErrDamaged when its record was changed or moved.
func (v *Vault) Open(name string) ([]byte, error) {
	b, err := v.rows.Get([]byte(name))
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	return v.unseal(name, b)
}

func (v *Vault) unseal(name string, b []byte) ([]byte, error) {
	head := 1 + chacha20poly1305.NonceSizeX
	if len(b) < head || b[0] != form {
		return nil, fmt.Errorf("secret %s: %w: record of unknown form", name, events.ErrDamaged)
	}
	secret, err := v.aead.Open(nil, b[1:head], b[head:], []byte(binding+name))
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w: it does not open", name, events.ErrDamaged)
	}
	return secret, nil
}

// All yields the secrets whose names begin with prefix, for masking them where
// they must not show up. A record that does not open ends it with an error.
func (v *Vault) All(prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for row, err := range v.rows.Iter([]byte(prefix), nil) {
			if err != nil {
				yield("", err)
				return
			}
			name := string(row.Key)
			if !strings.HasPrefix(name, prefix) {
				return
			}
			if name == checkName {
				continue
			}
			secret, err := v.unseal(name, row.Value)
			if !yield(string(secret), err) || err != nil {
				return
			}
		}
	}
}

// MAC is HMAC-SHA-256 of data under a key of this instance and purpose: for
// names on disk that must not tell what they stand for (claim/email/…).
func (v *Vault) MAC(purpose string, data []byte) []byte {
	m := hmac.New(sha256.New, v.mac)
	m.Write([]byte(purpose))
	m.Write([]byte{0})
	m.Write(data)
	return m.Sum(nil)
}
