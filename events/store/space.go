package store

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

// space watches the free bytes of the disk.
type space struct {
	mu      sync.Mutex // guards all
	reason  string     // why the store is read-only, or ""
	ballast bool       // the ballast file is there
	next    time.Time  // when to ask again
}

// ReadOnly says whether appends are refused for want of space, and why.
func (s *Store) ReadOnly() (bool, string) {
	err := s.checkSpace()
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	return err != nil, s.space.reason
}

// spaceEvery is how often the disk is asked for its free space: the answer costs
// 20 µs, a tenth of a sync. At a disk's 300 MB/s the mark is not run through
// in that time.
const spaceEvery = 100 * time.Millisecond

// spaceError is checkSpace for the appender: between two looks at the disk,
// appends go on.
func (s *Store) spaceError(now time.Time) error {
	if s.o.LowWater <= 0 {
		return nil
	}
	s.space.mu.Lock()
	wait := s.space.next.Sub(now)
	fine := s.space.reason == "" && wait > 0 && wait <= spaceEvery // the clock may jump
	if !fine {
		s.space.next = now.Add(spaceEvery)
	}
	s.space.mu.Unlock()
	if fine {
		return nil
	}
	return s.checkSpace()
}

// checkSpace looks at the disk. Below the mark it gives ErrReadOnly, and the
// ballast back, so that Pebble can finish what it is at; an eighth above the
// mark, and the ballast's size when that was given back, appends are taken again.
func (s *Store) checkSpace() error {
	if s.o.LowWater <= 0 {
		return nil
	}
	free, err := s.freeSpace()
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	}
	sp := &s.space
	sp.mu.Lock()
	defer sp.mu.Unlock()
	was := sp.reason
	mark := s.o.LowWater
	if was != "" {
		mark += mark / 8
		if !sp.ballast { // what it gave back is not space that somebody freed
			mark += s.o.Ballast
		}
	}
	switch {
	case err != nil:
		sp.reason = "cannot tell the free space of the disk: " + err.Error()
	case free < mark:
		sp.reason = fmt.Sprintf("the disk has %s free, less than the %s it needs", mebibytes(free), mebibytes(mark))
		s.releaseBallast()
	default:
		sp.reason = ""
		if free-s.o.Ballast >= s.o.LowWater+s.o.LowWater/8 {
			s.layBallast()
		}
	}
	if (was == "") != (sp.reason == "") {
		s.o.Logger.Warn("log space", slog.Bool("read_only", sp.reason != ""), slog.String("reason", sp.reason))
	}
	if sp.reason != "" {
		return fmt.Errorf("%w: %s", events.ErrReadOnly, sp.reason)
	}
	return nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

func (s *Store) freeSpace() (int64, error) {
	if s.o.FreeSpace != nil {
		return s.o.FreeSpace()
	}
	u, err := s.o.FS.GetDiskUsage(s.dir)
	return int64(u.AvailBytes), err
}

func (s *Store) ballastFile() string { return s.o.FS.PathJoin(s.dir, "ballast") }

func (s *Store) releaseBallast() {
	if !s.space.ballast {
		return
	}
	s.space.ballast = false
	if err := s.o.FS.Remove(s.ballastFile()); err != nil {
		s.o.Logger.Warn("ballast not released", slog.String("error", err.Error()))
	}
}

// layBallast writes the ballast file. It is no harm when it fails.
func (s *Store) layBallast() {
	if s.space.ballast || s.o.Ballast <= 0 {
		return
	}
	if err := s.writeBallast(); err != nil {
		s.o.Logger.Warn("ballast not written", slog.String("error", err.Error()))
		_ = s.o.FS.Remove(s.ballastFile())
		return
	}
	s.space.ballast = true
}

func (s *Store) writeBallast() error {
	f, err := s.o.FS.Create(s.ballastFile(), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	// Random bytes: a file system that compresses would make zeros vanish.
	block := make([]byte, 1<<20)
	_, err = io.ReadFull(s.o.Rand, block)
	for left := s.o.Ballast; left > 0 && err == nil; left -= int64(len(block)) {
		_, err = f.Write(block[:min(left, int64(len(block)))])
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
