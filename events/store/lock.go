package store

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lockPath locks a file. On a disk it is flock(2), not the fcntl lock of
// vfs.Default: that one is lost when any other descriptor of the file is
// closed, and does not keep two stores of one process apart.
func lockPath(fs vfs.FS, name string) (io.Closer, error) {
	if fs != vfs.Default {
		return fs.Lock(name)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isHeld tells that somebody else has the lock.
func isHeld(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES)
}
