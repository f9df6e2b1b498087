package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

// disk is a file system in memory as names and bytes.
type disk map[string][]byte

// files reads all files below a directory.
func files(t testing.TB, fs vfs.FS, dir string) disk {
	t.Helper()
	d := disk{}
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		path := fs.PathJoin(dir, n)
		info, err := fs.Stat(path)
		if oserror.IsNotExist(err) { // an obsolete file, removed meanwhile
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			for k, v := range files(t, fs, path) {
				d[k] = v
			}
			continue
		}
		f, err := fs.Open(path)
		if oserror.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		d[path] = b
	}
	return d
}

// mem writes the files to a new file system.
func (d disk) mem(t testing.TB) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewMem()
	for name, b := range d {
		if err := fs.MkdirAll(fs.PathDir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := writeFile(fs, name, append([]byte(nil), b...)); err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

func (d disk) with(name string, b []byte) disk {
	c := disk{}
	for k, v := range d {
		c[k] = v
	}
	if c[name] = b; b == nil {
		delete(c, name)
	}
	return c
}

// sample is a store of 300 events in tables and in the log file, closed or, as
// after a kill, not.
func sample(t testing.TB, closed bool) (d disk, lines []string) {
	t.Helper()
	fs := vfs.NewMem()
	s := open(t, fs, Options{memTable: 16 << 10})
	for i := range 100 {
		mustAppend(t, s, one(fmt.Sprint("chat/", i%7), events.Any(), rename(fmt.Sprint(i)), rename(strings.Repeat("x", i)), rename("y")))
	}
	for _, e := range all(t, s, "", 0) {
		lines = append(lines, string(e.AppendJSON(nil)))
	}
	if !closed {
		return files(t, fs, "data"), lines
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return files(t, fs, "data"), lines
}

// silent says that a damaged store shows something else than was written
// without any error.
func silent(fs vfs.FS, lines []string) error {
	s, err := Open("data", Options{FS: fs})
	if err != nil {
		if !errors.Is(err, events.ErrDamaged) && !errors.Is(err, events.ErrNewer) {
			return fmt.Errorf("an error of another kind: %w", err)
		}
		if strings.Contains(err.Error(), "\n") {
			return fmt.Errorf("more than one line: %w", err)
		}
		return nil
	}
	defer s.Close()
	n := 0
	for e, err := range s.Read(context.Background(), 0) {
		if err != nil {
			return nil // noticed when read
		}
		if n >= len(lines) || string(e.AppendJSON(nil)) != lines[n] {
			return fmt.Errorf("event %d is another one", n+1)
		}
		n++
	}
	if n != len(lines) {
		return fmt.Errorf("%d of %d events", n, len(lines))
	}
	return nil
}

func TestBitFlipsAreNoticed(t *testing.T) {
	for _, closed := range []bool{true, false} {
		d, lines := sample(t, closed)
		if err := silent(d.mem(t), lines); err != nil {
			t.Fatal("undamaged:", err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		each := torture(t, 600) / len(d)
		for name, b := range d {
			for range max(each, 4) {
				if len(b) == 0 {
					break
				}
				at, bit := r.IntN(len(b)), r.IntN(8)
				c := append([]byte(nil), b...)
				c[at] ^= 1 << bit
				if err := silent(d.with(name, c).mem(t), lines); err != nil {
					t.Errorf("closed %v: %s, byte %d, bit %d: %v", closed, name, at, bit, err)
				}
			}
		}
	}
}

func TestCutsAreNoticed(t *testing.T) {
	for _, closed := range []bool{true, false} {
		d, lines := sample(t, closed)
		r := rand.New(rand.NewPCG(3, 4))
		each := torture(t, 300) / len(d)
		for name, b := range d {
			for range max(each, 4) {
				if len(b) == 0 {
					break
				}
				keep := r.IntN(len(b))
				if err := silent(d.with(name, append([]byte{}, b[:keep]...)).mem(t), lines); err != nil {
					t.Errorf("closed %v: %s cut to %d of %d: %v", closed, name, keep, len(b), err)
				}
			}
			// A file that is gone.
			if err := silent(d.with(name, nil).mem(t), lines); err != nil {
				t.Errorf("closed %v: %s removed: %v", closed, name, err)
			}
		}
	}
}

// TestCutBelowTheRecord is the tail of the last log file, byte by byte: the
// store never opens with less than was recorded, and says where it ends.
func TestCutBelowTheRecord(t *testing.T) {
	d, _ := sample(t, false)
	var last string
	for name := range d {
		if strings.HasSuffix(name, ".log") && name > last {
			last = name
		}
	}
	cut := d.with(last, d[last][:len(d[last])/2]).mem(t)
	_, err := Open("data", Options{FS: cut})
	if !errors.Is(err, events.ErrDamaged) || !strings.Contains(err.Error(), "position 300 was recorded") {
		t.Fatalf("cut in half: %v", err)
	}
	before, after := d.with(last, d[last][:len(d[last])/2]), files(t, cut, "data")
	for name, b := range before {
		if strings.HasSuffix(strings.ToLower(name), "lock") {
			continue
		}
		if string(after[name]) != string(b) {
			t.Errorf("%s was touched", name)
		}
	}
	if len(before) != len(after) {
		t.Errorf("%d files, were %d", len(after), len(before))
	}
}

// tamper changes rows with valid checksums, as someone with file access would.
func tamper(t *testing.T, d disk, f func(*pebble.Batch, *pebble.DB)) *vfs.MemFS {
	t.Helper()
	fs := d.mem(t)
	db, err := pebble.Open("data/log", pebbleOptions(&Options{Logger: Options{}.withDefaults().Logger}, fs, func(error) {}))
	if err != nil {
		t.Fatal(err)
	}
	b := db.NewBatch()
	f(b, db)
	if err := errors.Join(b.Commit(pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	return fs
}

func get(t *testing.T, db *pebble.DB, key []byte) []byte {
	t.Helper()
	v, closer, err := db.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	return append([]byte(nil), v...)
}

func TestVerifyNamesTheFirstBadPosition(t *testing.T) {
	d, _ := sample(t, true)
	r := rand.New(rand.NewPCG(5, 6))
	edits := map[string]func(*pebble.Batch, *pebble.DB, events.Position){
		"payload byte": func(b *pebble.Batch, db *pebble.DB, p events.Position) {
			v := get(t, db, positionKey(nil, kindEvent, p))
			v[len(v)-3] ^= 1
			_ = b.Set(positionKey(nil, kindEvent, p), v, nil)
		},
		"any byte": func(b *pebble.Batch, db *pebble.DB, p events.Position) {
			v := get(t, db, positionKey(nil, kindEvent, p))
			v[r.IntN(len(v))] ^= byte(1 + r.IntN(255))
			_ = b.Set(positionKey(nil, kindEvent, p), v, nil)
		},
		"removed": func(b *pebble.Batch, _ *pebble.DB, p events.Position) {
			_ = b.Delete(positionKey(nil, kindEvent, p), nil)
		},
		"swapped": func(b *pebble.Batch, db *pebble.DB, p events.Position) {
			_ = b.Set(positionKey(nil, kindEvent, p), get(t, db, positionKey(nil, kindEvent, p+1)), nil)
			_ = b.Set(positionKey(nil, kindEvent, p+1), get(t, db, positionKey(nil, kindEvent, p)), nil)
		},
		"leaf": func(b *pebble.Batch, _ *pebble.DB, p events.Position) {
			_ = b.Set(positionKey(nil, kindLeaf, p), make([]byte, 32), nil)
		},
		"out of its index": func(b *pebble.Batch, db *pebble.DB, p events.Position) {
			e, err := parseEvent(get(t, db, positionKey(nil, kindEvent, p)))
			if err != nil {
				t.Fatal(err)
			}
			_ = b.Delete(indexKey(nil, string(e.stream), p), nil)
		},
	}
	rounds := max(1, torture(t, 60)/len(edits))
	for name, edit := range edits {
		for range rounds {
			p := events.Position(1 + r.IntN(299))
			fs := tamper(t, d, func(b *pebble.Batch, db *pebble.DB) { edit(b, db, p) })
			_, err := VerifyDir(context.Background(), "data", Options{FS: fs}, nil)
			var bad *BadError
			if !errors.As(err, &bad) || !errors.Is(err, events.ErrDamaged) {
				t.Fatalf("%s at %d: %v", name, p, err)
			}
			if bad.Position != p {
				t.Errorf("%s at %d: names %d (%s)", name, p, bad.Position, bad.Reason)
			}
		}
	}
}

func TestTailCutByHandIsNoticed(t *testing.T) {
	d, _ := sample(t, true)
	fs := tamper(t, d, func(b *pebble.Batch, _ *pebble.DB) {
		for p := events.Position(291); p <= 300; p++ {
			_ = b.Delete(positionKey(nil, kindEvent, p), nil)
			_ = b.Delete(positionKey(nil, kindLeaf, p), nil)
		}
	})
	_, err := VerifyDir(context.Background(), "data", Options{FS: fs}, nil)
	var bad *BadError
	if !errors.As(err, &bad) || bad.Position != 291 {
		t.Errorf("verify: %v", err)
	}
	if _, err := Open("data", Options{FS: fs}); !errors.Is(err, events.ErrDamaged) || !strings.Contains(err.Error(), "from 291 on") {
		t.Errorf("open: %v", err)
	}
}

func TestDirectoriesThatAreRefused(t *testing.T) {
	d, _ := sample(t, true)
	newer := []byte(formatPrefix + "2\n")
	for _, c := range []struct {
		name string
		d    disk
		is   error
		says string
	}{
		{"foreign", disk{"data/holiday.jpg": {1}}, events.ErrInvalid, "holiday.jpg"},
		{"newer layout", d.with("data/format", newer), events.ErrNewer, "layout 2"},
		{"no format file", d.with("data/format", nil), events.ErrDamaged, "format"},
		{"no recorded head", d.with("data/head", nil), events.ErrDamaged, "head"},
		{"nonsense for a format", d.with("data/format", []byte("x")), events.ErrDamaged, "format"},
		{"only a head", disk{"data/head": d["data/head"]}, events.ErrDamaged, "format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := c.d.mem(t)
			_, err := Open("data", Options{FS: fs})
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %v", err)
			}
			for name, b := range files(t, fs, "data") {
				if was, ok := c.d[name]; !strings.HasSuffix(name, "lock") && (!ok || string(was) != string(b)) {
					t.Errorf("%s was touched", name)
				}
			}
		})
	}
	current := ""
	for name := range d {
		if _, manifest, ok := strings.Cut(name, "marker.manifest."); ok {
			current = manifest[strings.Index(manifest, ".")+1:]
		}
	}
	for name := range d {
		if strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, "/"+current) || strings.Contains(name, "marker.manifest") {
			_, err := Open("data", Options{FS: d.with(name, nil).mem(t)})
			if !errors.Is(err, events.ErrDamaged) || strings.Contains(err.Error(), "\n") {
				t.Errorf("without %s: %v", name, err)
			}
		}
	}
}

func TestSwappedLogIsNoticed(t *testing.T) {
	d, _ := sample(t, true)
	other, _ := sample(t, true) // as long, of another epoch
	mixed := disk{}
	for name, b := range other {
		mixed[name] = b
	}
	mixed["data/head"] = d["data/head"]
	if _, err := Open("data", Options{FS: mixed.mem(t)}); !errors.Is(err, events.ErrDamaged) || !strings.Contains(err.Error(), "swapped") {
		t.Errorf("log of another store: %v", err)
	}
}

func TestOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, one("chat/a", events.Any(), rename("x")))
	if _, err := Open(dir, Options{}); !errors.Is(err, events.ErrBusy) {
		t.Errorf("second open: %v", err)
	}
	rel, err := filepath.Rel(must(os.Getwd()), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(rel, Options{}); !errors.Is(err, events.ErrBusy) {
		t.Errorf("second open by another path: %v", err)
	}
	if _, err := VerifyDir(context.Background(), dir, Options{}, nil); !errors.Is(err, events.ErrBusy) {
		t.Errorf("verify of an open directory: %v", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := VerifyDir(context.Background(), dir, Options{}, nil)
	if err != nil || r.Head != 1 || r.Epoch != s.Epoch() || r.Streams != 1 {
		t.Errorf("verify %+v %v", r, err)
	}
	file := filepath.Join(dir, "format")
	if _, err := Open(file, Options{}); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("a file for a directory: %v", err)
	}
	if _, err := VerifyDir(context.Background(), dir+"x", Options{}, nil); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("verify of nothing: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
