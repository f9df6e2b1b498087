package store

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

// Sizes of the Pebble store, for a two-core machine that serves one team.
const (
	// memTableSize is also the size of a write-ahead log. At 8 MiB the two that
	// a crash can leave are replayed in well under the 300 ms that a start may
	// take (twice: once to look, once to write), and a flush is 60 ms of one core.
	memTableSize = 8 << 20
	// blockSize is what zstd sees at once. At 32 KiB an event costs a third less
	// than at 4 KiB; a point read then inflates 32 KiB, some 40 µs, once, because
	// blocks are cached inflated.
	blockSize = 32 << 10
	// cacheBytes holds the blocks of some hundred chats.
	cacheBytes = 32 << 20
	// maxOpenFiles is far below the common limit of 1024 descriptors a process,
	// of which sockets need most.
	maxOpenFiles = 256
	// formatVersion of Pebble is pinned, not "newest": a store must open with
	// the release that wrote it. This one has log chunks that tell a torn tail
	// from a damaged middle, and table checksums over columns.
	formatVersion = pebble.FormatTableFormatV6
)

func pebbleOptions(o *Options, fs vfs.FS, logger pebble.Logger) *pebble.Options {
	p := &pebble.Options{
		FS:                 fs,
		Logger:             logger,
		FormatMajorVersion: formatVersion,
		MemTableSize:       memTableSize,
		// Four memtables may wait for their flush: a burst stalls at 32 MiB, not at 16.
		MemTableStopWritesThreshold: 4,
		CacheSize:                   cacheBytes,
		MaxOpenFiles:                maxOpenFiles,
	}
	for i := range p.Levels {
		p.Levels[i].BlockSize = blockSize
		p.Levels[i].Compression = func() *block.CompressionProfile { return block.ZstdCompression }
	}
	p.EventListener = &pebble.EventListener{
		// Reads that meet it fail with ErrDamaged; other chats go on.
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			o.Logger.Error("damaged file", slog.String("file", i.Path), slog.String("error", oneLine(i.Details)))
		},
		BackgroundError: func(err error) {
			o.Logger.Error("log maintenance failed", slog.String("error", oneLine(err)))
		},
	}
	return p
}

// pebbleLogger sends Pebble's fatal errors to the store and drops its chatter.
type pebbleLogger struct {
	fatal func(error)
	log   *slog.Logger
}

func (l pebbleLogger) Infof(string, ...any) {}
func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Warn("pebble", slog.String("message", firstLine(fmt.Sprintf(format, args...))))
}

// Fatalf must not return: the caller has no way to go on.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.fatal(errors.New(firstLine(fmt.Sprintf(format, args...))))
	runtime.Goexit()
}

func oneLine(err error) string {
	if err == nil {
		return ""
	}
	return firstLine(err.Error())
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// damaged turns Pebble's errors of reading into ours.
func damaged(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pebble.ErrNotFound):
		return fmt.Errorf("%w: a record is missing", events.ErrDamaged)
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("%w: %s", events.ErrDamaged, oneLine(err))
	case errors.Is(err, pebble.ErrClosed):
		return events.ErrClosed
	}
	return err
}

// freshFS never writes over an old log file: what was erased from the log must
// not live on in a file that Pebble keeps for reuse.
type freshFS struct{ vfs.FS }

// ReuseForWrite removes the old file and creates the new one.
func (f freshFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.FS.Remove(oldname); err != nil {
		return nil, err
	}
	return f.FS.Create(newname, category)
}

// Unwrap lets Pebble reach the file system below.
func (f freshFS) Unwrap() vfs.FS { return f.FS }

func closeQuietly(c io.Closer) {
	if c != nil {
		_ = c.Close() // only read from, or failed already
	}
}
