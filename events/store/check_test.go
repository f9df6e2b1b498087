package store

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

// TestCheckRefusesBeforeAnythingIsWritten: what Check says no to keeps the very
// files it had, and a directory that is not there is not made.
func TestCheckRefusesBeforeAnythingIsWritten(t *testing.T) {
	fs := vfs.NewMem()
	no := errors.New("no")
	refuse := func(get func(string, []byte) ([]byte, error)) error {
		if _, err := get("vault", []byte("k")); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("a directory that is not there gave %v", err)
		}
		return no
	}
	if _, err := Open("data", Options{FS: fs, Check: refuse}); !errors.Is(err, no) {
		t.Fatalf("got %v", err)
	}
	if _, err := fs.Stat("data"); err == nil {
		t.Error("the directory was made")
	}
	s, err := Open("data", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	b := s.Keyspace("vault").NewBatch()
	b.Set([]byte("k"), []byte("value"))
	if err := errors.Join(b.CommitSync(), s.Close()); err != nil {
		t.Fatal(err)
	}
	before := list(t, fs)
	_, err = Open("data", Options{FS: fs, Check: func(get func(string, []byte) ([]byte, error)) error {
		if v, err := get("vault", []byte("k")); err != nil || string(v) != "value" {
			t.Errorf("get gave %q, %v", v, err)
		}
		if _, err := get("other", []byte("k")); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("another keyspace gave %v", err)
		}
		return no
	}})
	if !errors.Is(err, no) {
		t.Fatalf("got %v", err)
	}
	if after := list(t, fs); !slices.Equal(before, after) {
		t.Errorf("files before %v, after %v", before, after)
	}
}

func list(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	names, err := fs.List("data/log")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}
