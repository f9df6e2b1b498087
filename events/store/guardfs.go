package store

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guardFS is the file system as Pebble sees it. It makes two promises for the
// folder of the log:
//
// A log file is never written over: what was erased must not live on in a file
// that Pebble keeps for reuse.
//
// A write or sync that fails, of anything but a table, does not come back to
// Pebble: it goes to fatal, which ends the process. After a failed sync the
// kernel may call pages clean that never reached the disk, and Pebble panics on
// some of these errors. Tables can be written again from the log.
type guardFS struct {
	vfs.FS
	dir   string
	fatal func(error)
}

func (g guardFS) guarded(name string) bool {
	return g.FS.PathDir(name) == g.dir && !strings.HasSuffix(name, ".sst") && !strings.HasSuffix(name, ".blob")
}

func (g guardFS) check(name string, err error) {
	if err != nil && g.guarded(name) {
		g.fatal(err)
	}
}

func (g guardFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	g.check(name, err)
	if err != nil || !g.guarded(name) {
		return f, err
	}
	return guardFile{File: f, fatal: g.fatal}, nil
}

// Create implements vfs.FS.
func (g guardFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := g.FS.Create(name, category)
	return g.wrap(name, f, err)
}

// OpenReadWrite implements vfs.FS.
func (g guardFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.OpenReadWrite(name, category, opts...)
	return g.wrap(name, f, err)
}

// ReuseForWrite removes the old file and creates the new one.
func (g guardFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	err := g.FS.Remove(oldname)
	g.check(newname, err)
	if err != nil {
		return nil, err
	}
	return g.Create(newname, category)
}

// Rename implements vfs.FS.
func (g guardFS) Rename(oldname, newname string) error {
	err := g.FS.Rename(oldname, newname)
	g.check(newname, err)
	return err
}

// OpenDir implements vfs.FS.
func (g guardFS) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil || name != g.dir {
		return f, err
	}
	return guardFile{File: f, fatal: g.fatal}, nil
}

// Unwrap lets Pebble reach the file system below.
func (g guardFS) Unwrap() vfs.FS { return g.FS }

// guardFile is an open file of the log.
type guardFile struct {
	vfs.File
	fatal func(error)
}

func (f guardFile) check(err error) {
	if err != nil {
		f.fatal(err)
	}
}

// Write implements vfs.File.
func (f guardFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.check(err)
	return n, err
}

// WriteAt implements vfs.File.
func (f guardFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	f.check(err)
	return n, err
}

// Sync implements vfs.File.
func (f guardFile) Sync() error {
	err := f.File.Sync()
	f.check(err)
	return err
}

// SyncData implements vfs.File.
func (f guardFile) SyncData() error {
	err := f.File.SyncData()
	f.check(err)
	return err
}

// SyncTo implements vfs.File.
func (f guardFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	f.check(err)
	return full, err
}

// Close implements vfs.File.
func (f guardFile) Close() error {
	err := f.File.Close()
	f.check(err)
	return err
}
