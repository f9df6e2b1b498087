package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

type rowReader interface {
	Get([]byte) ([]byte, error)
}

func rows(t *testing.T, k *Keyspace, lower, upper string, reverse bool) string {
	t.Helper()
	bound := func(s string) []byte {
		if s == "" {
			return nil
		}
		return []byte(s)
	}
	seq := k.Iter(bound(lower), bound(upper))
	if reverse {
		seq = k.Reverse(bound(lower), bound(upper))
	}
	out := ""
	for r, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%s=%s ", r.Key, r.Value)
	}
	return out
}

func TestKeyspaceKeepsToItself(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	for _, name := range []string{"p/a", "p", "p/a/b", "p/b"} {
		b := s.Keyspace(name).NewBatch()
		for _, k := range []string{"", "a", "b", "c", "\xff"} {
			b.Set([]byte(k), []byte(name))
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	k := s.Keyspace("p/a")
	if got, want := rows(t, k, "", "", false), "=p/a a=p/a b=p/a c=p/a \xff=p/a "; got != want {
		t.Errorf("all rows %q, want %q", got, want)
	}
	if got, want := rows(t, k, "a", "c", false), "a=p/a b=p/a "; got != want {
		t.Errorf("a to c %q, want %q", got, want)
	}
	if got, want := rows(t, k, "b", "", true), "\xff=p/a c=p/a b=p/a "; got != want {
		t.Errorf("from the end to b %q, want %q", got, want)
	}
	b := k.NewBatch()
	b.DeleteRange([]byte("b"), nil)
	b.Delete([]byte("a"))
	if err := b.CommitSync(); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, k, "", "", false); got != "=p/a " {
		t.Errorf("after deleting %q", got)
	}
	if err := s.DropKeyspace("p"); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	s = open(t, fs, Options{})
	for name, want := range map[string]int{"p": 0, "p/a": 1, "p/a/b": 5, "p/b": 5} {
		n := 0
		for range s.Keyspace(name).Iter(nil, nil) {
			n++
		}
		if n != want {
			t.Errorf("%s has %d rows, want %d", name, n, want)
		}
	}
	if _, err := s.Keyspace("p\x00q").Get(nil); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("a name that could end early: %v", err)
	}
}

func TestViewIsOneMoment(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	k := s.Keyspace("p")
	set := func(v string) {
		b := k.NewBatch()
		b.Set([]byte("a"), []byte(v))
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	set("1")
	get := func(r rowReader) string {
		v, err := r.Get([]byte("a"))
		if err != nil {
			t.Fatal(err)
		}
		return string(v)
	}
	err := k.View(func(v *View) error {
		set("2")
		if got := get(v); got != "1" {
			t.Errorf("view has %s", got)
		}
		return nil
	})
	if err != nil || get(k) != "2" {
		t.Errorf("after it %v %s", err, get(k))
	}
}
