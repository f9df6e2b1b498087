package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

// keyFile is the vault's, when it has one. A copy without it could not be read.
const keyFile = "key"

// Backup writes a consistent copy of the log and all keyspaces to a directory
// that is missing or empty, while appends go on. It has the vault's key file
// where there is one (not with LEMBAS_SECRET_KEY), so it must be guarded like
// the original. It opens with Restore only.
func (s *Store) Backup(dir string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := s.backup(dir); err != nil {
		return fmt.Errorf("backup to %s: %w", dir, err)
	}
	return nil
}

func (s *Store) backup(dir string) error {
	fs := s.o.FS
	state, err := look(fs, dir)
	if err != nil {
		return err
	}
	if state > empty {
		return fmt.Errorf("%w: it holds a lembas log already; use a new directory", events.ErrConflict)
	}
	if err := makeDir(fs, dir); err != nil {
		return err
	}
	if err := writeFile(fs, fs.PathJoin(dir, newFormat), formatText()); err != nil {
		return err
	}
	if err := fs.RemoveAll(fs.PathJoin(dir, logFolder)); err != nil && !oserror.IsNotExist(err) {
		return err
	}
	if err := s.db.Checkpoint(fs.PathJoin(dir, logFolder), pebble.WithFlushedWAL()); err != nil {
		return errors.New(oneLine(err))
	}
	if err := recordCopy(fs, dir, s.o, s.epoch); err != nil {
		return err
	}
	if err := copyKey(fs, s.dir, dir); err != nil {
		return err
	}
	if err := fs.Rename(fs.PathJoin(dir, newFormat), fs.PathJoin(dir, copyFile)); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// recordCopy writes the recorded head of a log that was just copied.
func recordCopy(fs vfs.FS, dir string, o Options, epoch string) error {
	s := newStore(dir, o)
	db, err := s.openReadOnly()
	if err != nil {
		return err
	}
	f, err := inspect(db, slot{epoch: epoch, root: (&frontier{}).root()})
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	return writeRecordFile(fs, dir, slot{position: f.head, epoch: f.epoch, root: f.frontier.root()})
}

func writeRecordFile(fs vfs.FS, dir string, h slot) error {
	r, err := openRecord(fs, fs.PathJoin(dir, headFile), h)
	if err != nil {
		return err
	}
	return r.file.Close()
}

// copyKey copies the key file, if there is one, readable by its owner only.
func copyKey(fs vfs.FS, from, to string) error {
	src, dst := fs.PathJoin(from, keyFile), fs.PathJoin(to, keyFile)
	if _, err := fs.Stat(src); oserror.IsNotExist(err) {
		return nil
	}
	if fs == vfs.Default { // vfs creates with the umask's mode
		f, err := os.OpenFile(dst, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		b, err := os.ReadFile(src)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, b, 0o600)
	}
	return vfs.Copy(fs, src, dst)
}

// Restore makes the data directory to from a copy that Backup made. to is
// missing or empty; with replace, what it held is given up once the copy was
// verified and lies beside it. The log gets a new epoch, so that nobody goes on
// from a position that now names another event, and a log.restored event. The
// directory must not be open. A crash on the way leaves what was there, or a
// directory that says that it was interrupted.
func Restore(from, to string, replace bool, o Options) error {
	s := newStore(to, o)
	if err := s.attempt(func() error { return s.restore(from, replace) }); err != nil {
		return fmt.Errorf("restore %s from %s: %w", to, from, err)
	}
	return nil
}

func (s *Store) restore(from string, replace bool) error {
	fs, path := s.o.FS, func(n string) string { return s.o.FS.PathJoin(s.dir, n) }
	recorded, err := readCopy(fs, from)
	if err != nil {
		return err
	}
	state, err := look(fs, s.dir)
	if err != nil && !(replace && (errors.Is(err, events.ErrDamaged) || errors.Is(err, events.ErrNewer))) {
		return err
	}
	if !replace && state > empty {
		return fmt.Errorf("%w: it holds a log already; --replace gives that up", events.ErrConflict)
	}
	if err := makeDir(fs, s.dir); err != nil {
		return err
	}
	if s.lock, err = lock(fs, s.dir); err != nil {
		return err
	}
	defer func() { closeQuietly(s.lock) }()
	fresh := "log.restore"
	epoch, err := s.copyLog(fs.PathJoin(from, logFolder), path(fresh), recorded)
	if err != nil {
		return err
	}
	// From here on the old log is given up.
	if err := errors.Join(writeFile(fs, path(restoring), formatText()), syncDir(fs, s.dir)); err != nil {
		return err
	}
	for _, n := range []string{logFolder, headFile, formatFile, newFormat, copyFile} {
		if err := fs.RemoveAll(path(n)); err != nil && !oserror.IsNotExist(err) {
			return err
		}
	}
	if err := fs.Rename(path(fresh), path(logFolder)); err != nil {
		return err
	}
	head := slot{position: recorded.position, epoch: epoch, root: recorded.root}
	if err := errors.Join(copyKey(fs, from, s.dir), writeRecordFile(fs, s.dir, head),
		writeFile(fs, path(formatFile), formatText()), syncDir(fs, s.dir)); err != nil {
		return err
	}
	if err := s.sayRestored(recorded); err != nil {
		return err
	}
	return errors.Join(fs.Remove(path(restoring)), syncDir(fs, s.dir))
}

// readCopy checks what Restore is given.
func readCopy(fs vfs.FS, from string) (slot, error) {
	state, err := look(fs, from)
	if err != nil {
		return slot{}, err
	}
	if state != copied {
		return slot{}, fmt.Errorf("%w: %s is not a copy made by lembas backup", events.ErrInvalid, from)
	}
	return readRecord(fs, fs.PathJoin(from, headFile))
}

// copyLog copies the Pebble folder, verifies all of it and gives it a new
// epoch.
func (s *Store) copyLog(from, to string, recorded slot) (epoch string, err error) {
	fs := s.o.FS
	if err := fs.RemoveAll(to); err != nil && !oserror.IsNotExist(err) {
		return "", err
	}
	if err := fs.MkdirAll(to, 0o700); err != nil {
		return "", err
	}
	names, err := fs.List(from)
	if err != nil {
		return "", err
	}
	for _, n := range names {
		if err := vfs.Copy(fs, fs.PathJoin(from, n), fs.PathJoin(to, n)); err != nil {
			return "", err
		}
	}
	if err := syncDir(fs, to); err != nil {
		return "", err
	}
	db, err := openPebble(to, s.pebbleOptions(to))
	if err != nil {
		return "", fmt.Errorf("%w: %w", events.ErrDamaged, err)
	}
	_, err = verify(context.Background(), db, recorded, nil)
	if err == nil {
		epoch, err = newEpoch(s.o.Rand)
	}
	if err == nil {
		err = db.Set(metaEpoch, []byte(epoch), pebble.Sync)
	}
	if err == nil {
		err = db.Flush()
	}
	return epoch, errors.Join(err, db.Close())
}

// sayRestored opens the new log and appends what happened to it.
func (s *Store) sayRestored(recorded slot) error {
	log := newStore(s.dir, s.o)
	log.lock = io.NopCloser(nil) // s has it
	err := log.attempt(log.resume)
	if err == nil {
		err = log.start()
	}
	if err != nil {
		return err
	}
	_, err = log.Append(context.Background(), events.Batch{
		Actor: events.Actor{Kind: events.System, ID: "restore"},
		Parts: []events.Part{{Stream: events.InstanceStream, Events: []events.New{
			{Payload: events.LogRestored{FromEpoch: recorded.epoch, At: recorded.position}}}}},
	})
	return errors.Join(err, log.Close())
}
