package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"lembas/events"
)

func TestBackupAndRestore(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	if err := writeFile(fs, "data/key", []byte("the vault's key")); err != nil {
		t.Fatal(err)
	}
	b := one("chat/a", events.Any(), rename("x"), rename("y"))
	b.Puts = []events.Put{{Space: "vault", Key: []byte("k"), Value: []byte("v")}}
	mustAppend(t, s, b)
	if err := s.Backup("copy"); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, one("chat/a", events.Any(), rename("after the copy")))
	if err := s.Backup("copy"); !errors.Is(err, events.ErrConflict) {
		t.Errorf("backup over a backup: %v", err)
	}
	if _, err := Open("copy", Options{FS: fs}); !errors.Is(err, events.ErrInvalid) || !strings.Contains(err.Error(), "lembas restore") {
		t.Errorf("a copy opened like a store: %v", err)
	}
	if r, err := VerifyDir(context.Background(), "copy", Options{FS: fs}, nil); err != nil || r.Head != 2 {
		t.Errorf("verify of the copy: %+v %v", r, err)
	}
	if err := Restore("copy", "data", true, Options{FS: fs}); !errors.Is(err, events.ErrBusy) {
		t.Errorf("restore over an open store: %v", err)
	}
	_ = s.Close()
	if err := Restore("copy", "data", false, Options{FS: fs}); !errors.Is(err, events.ErrConflict) {
		t.Errorf("restore over a store: %v", err)
	}
	for _, to := range []string{"data", "new"} {
		if err := Restore("copy", to, to == "data", Options{FS: fs}); err != nil {
			t.Fatal(err)
		}
		checkRestored(t, fs, to, s.Epoch())
	}
}

func checkRestored(t *testing.T, fs vfs.FS, dir, old string) {
	t.Helper()
	r, err := Open(dir, Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Epoch() == old {
		t.Error("the epoch is still the old one")
	}
	got := all(t, r, "", 0)
	if len(got) != 3 || got[2].Type != "log.restored" || got[2].Position != 3 {
		t.Fatalf("events %v", got)
	}
	if p, err := events.Decode(&got[2]); err != nil || p != (events.LogRestored{FromEpoch: old, At: 2}) {
		t.Errorf("%v %v", p, err)
	}
	if v, err := r.Keyspace("vault").Get([]byte("k")); err != nil || string(v) != "v" {
		t.Errorf("vault %q %v", v, err)
	}
	if key, err := readFile(fs, fs.PathJoin(dir, "key"), 100); err != nil || string(key) != "the vault's key" {
		t.Errorf("key file %q %v", key, err)
	}
	if _, err := r.Verify(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	mustAppend(t, s, one("chat/a", events.Any(), rename("x")))
	if err := s.Backup("copy"); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if err := writeFile(fs, "other", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, from, to string
		is             error
	}{
		{"not a copy", "data", "new", events.ErrInvalid},
		{"nothing", "nowhere", "new", events.ErrInvalid},
		{"to a file", "copy", "other", events.ErrInvalid},
		{"to a foreign directory", "copy", "", events.ErrInvalid},
	} {
		if err := Restore(c.from, c.to, true, Options{FS: fs}); !errors.Is(err, c.is) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	d := files(t, fs, "copy")
	for name, b := range d {
		if !strings.HasSuffix(name, ".sst") && !strings.HasSuffix(name, ".log") || len(b) == 0 {
			continue
		}
		c := append([]byte(nil), b...)
		c[len(c)/3] ^= 4
		bad := d.with(name, c).mem(t)
		if err := Restore("copy", "new", false, Options{FS: bad}); !errors.Is(err, events.ErrDamaged) {
			t.Errorf("damaged %s: %v", name, err)
		}
		if state, err := look(bad, "new"); err == nil && state == present {
			t.Errorf("damaged %s: a store was made of it", name)
		}
	}
}

// A restore that is cut off leaves the old log, the new one, or a directory
// that says so: never an empty instance.
func TestRestoreCutOff(t *testing.T) {
	base := vfs.NewMem()
	s := open(t, base, Options{})
	mustAppend(t, s, one("chat/a", events.Any(), rename("x")))
	if err := s.Backup("copy"); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, one("chat/a", events.Any(), rename("y")))
	_ = s.Close()
	d := files(t, base, "")
	seen := map[string]int{}
	for n := 1; ; n++ {
		mem := d.mem(t)
		var mu sync.Mutex // guards count and fired
		count, fired := 0, false
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpRemove || fired {
				return nil
			}
			if count++; count == n {
				fired = true
				return errors.New("injected")
			}
			return nil
		}))
		err := Restore("copy", "data", true, Options{FS: fs, OnFatal: func(error) {}})
		mu.Lock()
		last := !fired
		fired = true
		mu.Unlock()
		if last {
			break
		}
		seen[afterCut(t, d, mem, n, err)]++
	}
	for _, state := range []string{"old", "new", "interrupted"} {
		if seen[state] == 0 {
			t.Errorf("no cut left the state %q: %v", state, seen)
		}
	}
}

func afterCut(t *testing.T, d disk, mem vfs.FS, n int, failed error) string {
	t.Helper()
	// As another process would find it: without the locks of this one.
	left := files(t, mem, "").mem(t)
	s, err := Open("data", Options{FS: left})
	if err != nil {
		if !errors.Is(err, events.ErrDamaged) || !strings.Contains(err.Error(), "restore") {
			t.Errorf("cut %d: %v", n, err)
		}
		if err := Restore("copy", "data", true, Options{FS: left}); err != nil {
			t.Errorf("cut %d: restore again: %v", n, err)
		}
		return "interrupted"
	}
	defer s.Close()
	got := all(t, s, "", 0)
	switch {
	case len(got) == 2 && got[1].Type == "chat.renamed":
		return "old"
	case len(got) == 2 && got[1].Type == "log.restored":
		return "new"
	}
	t.Errorf("cut %d (%v): %d events", n, failed, len(got))
	return ""
}

func TestBackupOnDiskKeepsTheKeyPrivate(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, "data"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.WriteFile(filepath.Join(dir, "data", "key"), []byte("k"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(filepath.Join(dir, "copy")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "copy", "key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if err := s.Backup(dir); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("backup into a foreign directory: %v", err)
	}
}
