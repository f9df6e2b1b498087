package vault

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
	"lembas/events/store"
)

func openStore(t *testing.T, dir string, fs vfs.FS) *store.Store {
	t.Helper()
	s, err := store.Open(dir, store.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// keep appends an event with puts beside it.
func keep(t *testing.T, s *store.Store, puts ...events.Put) {
	t.Helper()
	_, err := s.Append(context.Background(), events.Batch{Actor: events.Actor{Kind: events.System}, Puts: puts,
		Parts: []events.Part{{Stream: "instance", Events: []events.New{{Payload: events.SettingChanged{Key: "k"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSealAndOpen(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, nil)
	file := filepath.Join(dir, "key")
	v, err := Open(s, Options{KeyFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v %v", info.Mode(), err)
	}
	secret := []byte("sk-marker-0123456789")
	put, err := v.Seal("connection/1", secret)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, s, put)
	_ = s.Close()
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if b, _ := os.ReadFile(path); bytes.Contains(b, secret) {
			t.Errorf("%s has the secret in the clear", path)
		}
		return err
	})
	s = openStore(t, dir, nil)
	if v, err = Open(s, Options{KeyFile: file}); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Open("connection/1"); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("%q %v", got, err)
	}
	if _, err := v.Open("connection/2"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("unknown name: %v", err)
	}
	keep(t, s, Delete("connection/1"))
	if _, err := v.Open("connection/1"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

func TestWrongAndMissingKeys(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	s := openStore(t, dir, nil)
	if _, err := Open(s, Options{KeyFile: file}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s, Options{SecretKey: string(text)}); err != nil {
		t.Errorf("the same key as a variable: %v", err)
	}
	if _, err := Open(s, Options{SecretKey: NewKey(), KeyFile: file}); !errors.Is(err, events.ErrInvalid) || !strings.Contains(err.Error(), "LEMBAS_SECRET_KEY") {
		t.Errorf("another key: %v", err)
	}
	for _, content := range []string{"", "short", NewKey()} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(s, Options{KeyFile: file}); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("key file %q: %v", content, err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s, Options{KeyFile: file}); !errors.Is(err, events.ErrDamaged) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("no key file: %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Error("another key was made")
	}
}

func TestRecordsAreBoundToTheirName(t *testing.T) {
	s := openStore(t, "data", vfs.NewMem())
	v, err := Open(s, Options{SecretKey: NewKey()})
	if err != nil {
		t.Fatal(err)
	}
	put, _ := v.Seal("connection/1", []byte("mine"))
	moved := put
	moved.Key = []byte("connection/2")
	keep(t, s, put, moved)
	if _, err := v.Open("connection/2"); !errors.Is(err, events.ErrDamaged) {
		t.Errorf("moved record: %v", err)
	}
	for i := range put.Value {
		changed := put
		changed.Value = bytes.Clone(put.Value)
		changed.Value[i] ^= 1
		keep(t, s, changed)
		if _, err := v.Open("connection/1"); !errors.Is(err, events.ErrDamaged) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
}

func TestAllIsBoundedByItsPrefix(t *testing.T) {
	s := openStore(t, "data", vfs.NewMem())
	v, err := Open(s, Options{SecretKey: NewKey()})
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{"connection/1": "a", "connection/2": "b", "user/1": "c"} {
		put, _ := v.Seal(name, []byte(secret))
		keep(t, s, put)
	}
	for prefix, want := range map[string][]string{"": {"a", "b", "c"}, "connection/": {"a", "b"}, "x": nil} {
		var got []string
		for secret, err := range v.All(prefix) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, secret)
		}
		if !slices.Equal(got, want) {
			t.Errorf("all %q: %q, want %q", prefix, got, want)
		}
	}
	if _, err := v.Seal("", nil); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("no name: %v", err)
	}
	if _, err := v.Seal("x", make([]byte, MaxSize+1)); !errors.Is(err, events.ErrTooLarge) {
		t.Errorf("large secret: %v", err)
	}
}

func TestKeysInSeveralSpellings(t *testing.T) {
	raw := bytes.Repeat([]byte{0xfb, 0xff}, 16)
	for _, s := range []string{hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)), base64.StdEncoding.EncodeToString(raw) + "\n",
		base64.RawURLEncoding.EncodeToString(raw), base64.URLEncoding.EncodeToString(raw)} {
		if got, err := parseKey(s); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%q: %x %v", s, got, err)
		}
	}
	for _, s := range []string{"", "password", hex.EncodeToString(raw[:31]), base64.StdEncoding.EncodeToString(append(raw, 1))} {
		if _, err := parseKey(s); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestMACDependsOnKeyPurposeAndData(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		s := openStore(t, "data", vfs.NewMem())
		v, err := Open(s, Options{SecretKey: NewKey()})
		if err != nil {
			t.Fatal(err)
		}
		for _, purpose := range []string{"email", "emai"} {
			for _, data := range []string{"a", "la"} {
				seen[string(v.MAC(purpose, []byte(data)))] = true
			}
		}
		if !bytes.Equal(v.MAC("email", []byte("a")), v.MAC("email", []byte("a"))) {
			t.Error("not the same twice")
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d of 8 differ", len(seen))
	}
}
