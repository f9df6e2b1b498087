package store

import (
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

// What lies in a data directory. Others may put files of their own beside them.
const (
	logFolder  = "log"
	formatFile = "format"
	copyFile   = "backup"     // instead of formatFile in what Backup made
	restoring  = "restoring"  // there while Restore swaps a log in
	newFormat  = "format.new" // there while a store is being made
	headFile   = "head"
	lockFile   = "lock"
)

// layout is the version of the data directory that this binary reads and
// writes.
const (
	layout       = 1
	formatPrefix = "lembas data directory, layout "
)

const epochSize = 16

var metaEpoch = metaKey("epoch")

// Open opens the store in a data directory, and makes one where dir is missing
// or empty. Nothing is written before the lock is held, the log was opened
// read-only and it agrees with the recorded head. Errors are one line and match
// ErrBusy (another process has it), ErrNewer, ErrDamaged or ErrInvalid (not a
// data directory).
func Open(dir string, o Options) (*Store, error) {
	s := newStore(dir, o)
	err := s.attempt(s.open)
	if err == nil {
		err = s.start()
	}
	if err != nil {
		if s.db != nil && s.failed.Load() == nil {
			_ = s.attempt(s.db.Close) // the first error is the one to tell
		}
		closeQuietly(s.lock)
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return s, nil
}

// attempt runs f in a goroutine of its own, because a failed write parks it.
func (s *Store) attempt(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-s.dead:
		return s.failure()
	}
}

func newStore(dir string, o Options) *Store {
	s := &Store{
		o: o.withDefaults(), dir: dir, streams: streamCache{m: map[string]streamState{}},
		waiters: waiters{streams: map[string]*signal{}},
		queue:   make(chan *request, queueLength), closing: make(chan struct{}),
		stop: make(chan struct{}), stopped: make(chan struct{}), dead: make(chan struct{}),
		gate: gate{idle: make(chan struct{})},
	}
	s.opening.Store(true)
	return s
}

// start lets appends in. From here on a failed write ends the process.
func (s *Store) start() error {
	s.opening.Store(false)
	if s.failed.Load() != nil { // in the background, meanwhile
		return s.failure()
	}
	go s.appendLoop()
	return nil
}

func (s *Store) open() error {
	state, err := look(s.o.FS, s.dir)
	if err != nil {
		return err
	}
	if state == copied {
		return fmt.Errorf("%w: this is a copy made by lembas backup; bring it back with lembas restore", events.ErrInvalid)
	}
	if state != present {
		if err := s.check(nil); err != nil {
			return err
		}
	}
	if state == missing {
		if err := makeDir(s.o.FS, s.dir); err != nil {
			return fmt.Errorf("cannot be made: %w", err)
		}
	}
	if s.lock, err = lock(s.o.FS, s.dir); err != nil {
		return err
	}
	if state, err = look(s.o.FS, s.dir); err != nil { // again, now that nobody else can
		return err
	}
	if state != present {
		if err := s.create(); err != nil {
			return err
		}
	}
	return s.resume()
}

// The states of a directory that is not refused.
type dirState int

const (
	missing dirState = iota
	empty            // or a store whose making was interrupted
	copied           // made by Backup
	present
)

// look tells what a directory is, without touching it.
func look(fs vfs.FS, dir string) (dirState, error) {
	info, err := fs.Stat(dir)
	if oserror.IsNotExist(err) {
		return missing, nil
	}
	if err != nil {
		return missing, err
	}
	if !info.IsDir() {
		return missing, fmt.Errorf("%w: not a directory", events.ErrInvalid)
	}
	names, err := fs.List(dir)
	if err != nil {
		return missing, err
	}
	has := map[string]bool{}
	foreign := ""
	for _, n := range names {
		has[n] = true
		if n != lockFile && n != "lost+found" {
			foreign = n
		}
	}
	switch {
	case has[restoring]:
		return missing, fmt.Errorf("%w: a restore was interrupted; run lembas restore --replace again", events.ErrDamaged)
	case has[copyFile]:
		return copied, checkFormat(fs, fs.PathJoin(dir, copyFile))
	case has[formatFile]:
		return present, checkFormat(fs, fs.PathJoin(dir, formatFile))
	case has[newFormat] || foreign == "":
		return empty, nil
	case has[logFolder] || has[headFile]:
		return missing, fmt.Errorf("%w: the file %q is missing; nothing was touched", events.ErrDamaged, formatFile)
	}
	return missing, fmt.Errorf("%w: not a lembas data directory and not empty (it has %q); nothing was touched", events.ErrInvalid, foreign)
}

func formatText() []byte { return fmt.Appendf(nil, "%s%d\n", formatPrefix, layout) }

func checkFormat(fs vfs.FS, name string) error {
	b, err := readFile(fs, name, 256)
	if err != nil {
		return fmt.Errorf("%w: %w", events.ErrDamaged, err)
	}
	rest, ok := strings.CutPrefix(string(b), formatPrefix)
	n, err := strconv.Atoi(strings.TrimSuffix(rest, "\n"))
	if !ok || err != nil || n < 1 {
		return fmt.Errorf("%w: the file %q is not one of ours; nothing was touched", events.ErrDamaged, fs.PathBase(name))
	}
	if n > layout {
		return fmt.Errorf("%w: the directory has layout %d, this release knows %d; nothing was touched", events.ErrNewer, n, layout)
	}
	return nil
}

func readFile(fs vfs.FS, name string, limit int64) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// writeFile makes a file durable, but not yet its name.
func writeFile(fs vfs.FS, name string, data []byte) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// makeDir makes a directory and those above it, and their names durable.
func makeDir(fs vfs.FS, dir string) error {
	above := []string{}
	for d := dir; ; d = fs.PathDir(d) {
		if _, err := fs.Stat(d); err == nil || d == fs.PathDir(d) {
			break
		}
		above = append(above, fs.PathDir(d))
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range above {
		if d == "." && fs != vfs.Default {
			d = "" // the root of a file system in memory
		}
		if err := syncDir(fs, d); err != nil {
			return err
		}
	}
	return nil
}

// lock takes the directory for this process. The lock ends with the process,
// however that ends.
func lock(fs vfs.FS, dir string) (io.Closer, error) {
	l, err := lockPath(fs, fs.PathJoin(dir, lockFile))
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, os.ErrPermission) || oserror.IsPermission(err):
		return nil, fmt.Errorf("cannot be written to: %w", err)
	case isHeld(err):
		return nil, fmt.Errorf("%w: another lembas process has this directory open", events.ErrBusy)
	}
	return nil, fmt.Errorf("cannot be locked: %w", err)
}

// create makes a store. A crash on the way leaves newFormat behind and no
// formatFile: no event was acknowledged, so the next Open starts over.
func (s *Store) create() error {
	fs, path := s.o.FS, func(n string) string { return s.o.FS.PathJoin(s.dir, n) }
	if err := writeFile(fs, path(newFormat), formatText()); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := syncDir(fs, s.dir); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := fs.RemoveAll(path(logFolder)); err != nil && !oserror.IsNotExist(err) {
		return fmt.Errorf("create: %w", err)
	}
	epoch, err := newEpoch(s.o.Rand)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := s.createLog(epoch); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	r, err := openRecord(fs, path(headFile), slot{epoch: epoch, root: (&frontier{}).root()})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := fs.Rename(path(newFormat), path(formatFile)); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return syncDir(fs, s.dir)
}

// createLog makes the Pebble store and flushes it once: in the first log file
// of a store that was never flushed, one flipped bit loses records silently.
func (s *Store) createLog(epoch string) error {
	o := s.pebbleOptions(s.logDir())
	o.ErrorIfExists = true
	db, err := openPebble(s.logDir(), o)
	if err != nil {
		return err
	}
	if err := db.Set(metaEpoch, []byte(epoch), pebble.Sync); err != nil {
		return errors.Join(err, db.Close())
	}
	return errors.Join(db.Flush(), db.Close())
}

func newEpoch(random io.Reader) (string, error) {
	var b [10]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("epoch: %w", err)
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:])), nil
}

// resume opens a store that is there: read-only first, because Pebble deletes
// what its MANIFEST does not list and cuts off what it takes for a torn tail.
func (s *Store) resume() error {
	recorded, err := readRecord(s.o.FS, s.o.FS.PathJoin(s.dir, headFile))
	if err != nil {
		return err
	}
	db, err := s.openReadOnly()
	if err != nil {
		return err
	}
	_, err = inspect(db, recorded)
	if err == nil {
		err = s.check(db)
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if err := db.Close(); err != nil {
		return err
	}
	return s.openToWrite(recorded)
}

// check asks the owner of a keyspace whether it can live with what is there; a
// nil db has nothing.
func (s *Store) check(db pebble.Reader) error {
	if s.o.Check == nil {
		return nil
	}
	return s.o.Check(func(space string, key []byte) ([]byte, error) {
		if db == nil {
			return nil, events.ErrNotFound
		}
		return value(db, s.Keyspace(space).key(key))
	})
}

func (s *Store) openReadOnly() (*pebble.DB, error) {
	o := s.pebbleOptions(s.logDir())
	o.ReadOnly = true
	o.DisableTableStats = true // no goroutine that could meet damage on its own
	o.Logger = openingLogger{}
	db, err := openPebble(s.logDir(), o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; nothing was touched", events.ErrDamaged, err)
	}
	return db, nil
}

// found is what inspect learnt of a log.
type found struct {
	head     events.Position
	epoch    string
	frontier frontier
	types    map[string]typeRecord
}

// inspect compares a log with its recorded head and with what this binary
// understands.
func inspect(db pebble.Reader, recorded slot) (found, error) {
	var f found
	v, closer, err := db.Get(metaEpoch)
	if err != nil {
		return f, fmt.Errorf("the log's epoch: %w", damaged(err))
	}
	f.epoch = string(v)
	closeQuietly(closer)
	if f.epoch != recorded.epoch {
		return f, fmt.Errorf("%w: the log is of epoch %s, the recorded head of %s: one of them was swapped; use lembas restore for a copy",
			events.ErrDamaged, f.epoch, recorded.epoch)
	}
	if f.head, err = lastPosition(db); err != nil {
		return f, err
	}
	if f.head < recorded.position {
		return f, fmt.Errorf("%w: the log ends at position %d, but position %d was recorded: events are missing from %d on; nothing was touched",
			events.ErrDamaged, f.head, recorded.position, f.head+1)
	}
	at, err := readFrontier(db, uint64(recorded.position))
	if err != nil {
		return f, err
	}
	if at.root() != recorded.root {
		return f, fmt.Errorf("%w: the first %d events are not those that were recorded; nothing was touched", events.ErrDamaged, recorded.position)
	}
	if f.frontier, err = readFrontier(db, uint64(f.head)); err != nil {
		return f, err
	}
	if f.types, err = readTypes(db); err != nil {
		return f, err
	}
	return f, checkTypes(f.types)
}

func lastPosition(db pebble.Reader) (events.Position, error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{kindEvent}, UpperBound: []byte{kindEvent + 1}})
	if err != nil {
		return 0, damaged(err)
	}
	defer it.Close()
	if !it.Last() {
		return 0, damaged(it.Error())
	}
	return positionOf(it.Key()), nil
}

// openToWrite opens the log for good, after it was found whole.
func (s *Store) openToWrite(recorded slot) error {
	if _, err := s.o.FS.Stat(s.ballastFile()); err == nil {
		s.space.ballast = true
	}
	if s.o.LowWater > 0 {
		if free, err := s.freeSpace(); err == nil && free < s.o.LowWater {
			s.releaseBallast() // Pebble needs room to open
		}
	}
	var err error
	if s.db, err = openPebble(s.logDir(), s.pebbleOptions(s.logDir())); err != nil {
		return errors.Join(err, s.failure())
	}
	f, err := inspect(s.db, recorded)
	if err != nil {
		return err
	}
	s.epoch, s.frontier, s.types = f.epoch, f.frontier, f.types
	s.head.Store(uint64(f.head))
	recorded.position, recorded.root = f.head, f.frontier.root()
	if s.record, err = openRecord(s.o.FS, s.o.FS.PathJoin(s.dir, headFile), recorded); err != nil {
		return err
	}
	_ = s.checkSpace() // lays the ballast; a full disk is read-only, not an error
	return nil
}

// pebbleOptions are those for a Pebble store in dir.
func (s *Store) pebbleOptions(dir string) *pebble.Options {
	return pebbleOptions(&s.o, guardFS{FS: s.o.FS, dir: dir, fatal: s.fatal}, s.fatal)
}

func (s *Store) logDir() string { return s.o.FS.PathJoin(s.dir, logFolder) }

// openPebble is pebble.Open with errors of one line; a panic over damaged files
// is an error, too.
func openPebble(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("the log cannot be opened: %s", firstLine(fmt.Sprint(r)))
		}
	}()
	if db, err = pebble.Open(dir, o); err != nil {
		return nil, errors.New(oneLine(err))
	}
	return db, nil
}

// openingLogger is for the read-only open: what is fatal there is damage.
type openingLogger struct{}

func (openingLogger) Infof(string, ...any)  {}
func (openingLogger) Errorf(string, ...any) {}

// Fatalf panics; openPebble recovers.
func (openingLogger) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
