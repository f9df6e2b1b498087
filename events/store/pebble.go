package store

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

// Sizes of the Pebble store, for a two-core machine that serves one team.
const (
	// memTableSize is also, about, the size of a write-ahead log. Pebble keeps up
	// to stopWrites+1 old logs on disk for a reuse that guardFS turns down; at
	// 4 MiB that is some 10 MB in all, and what a crash leaves to replay (twice:
	// once to look, once to write) takes far less than the 300 ms of a start.
	memTableSize = 4 << 20
	// stopWrites is how many full memtables make writers wait: 12 MiB are a burst
	// of some 15,000 events.
	stopWrites = 3
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

func pebbleOptions(o *Options, fs vfs.FS, fatal func(error)) *pebble.Options {
	p := &pebble.Options{
		FS: fs, Logger: pebbleLogger{fatal: fatal, log: o.Logger},
		FormatMajorVersion: formatVersion, MemTableSize: memTableSize,
		MemTableStopWritesThreshold: stopWrites,
		CacheSize:                   cacheBytes,
		MaxOpenFiles:                maxOpenFiles,
	}
	if o.memTable > 0 {
		p.MemTableSize = o.memTable
	}
	for i := range p.Levels {
		p.Levels[i].BlockSize = blockSize
		p.Levels[i].Compression = func() *block.CompressionProfile { return block.ZstdCompression }
	}
	p.EventListener = (&watch{fatal: fatal, log: o.Logger}).listener()
	return p
}

// watch hears of what Pebble does in the background.
type watch struct {
	fatal    func(error)
	log      *slog.Logger
	stalled  atomic.Bool  // writes wait for a flush
	failures atomic.Int32 // flushes and compactions that failed in a row
	last     atomic.Pointer[string]
}

// attempts is how many flushes and compactions may fail in a row, with writes
// still going on, before the process ends. Pebble tries again at once and for
// ever, which burns a core.
const attempts = 20

func (w *watch) listener() *pebble.EventListener {
	return &pebble.EventListener{
		// Reads that meet it fail with ErrDamaged; other chats go on.
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			w.once("damaged file " + i.Path + ": " + oneLine(i.Details))
		},
		BackgroundError: func(err error) { w.once("log maintenance failed: " + oneLine(err)) },
		WriteStallBegin: func(pebble.WriteStallBeginInfo) { w.stalled.Store(true) },
		WriteStallEnd:   func() { w.stalled.Store(false) },
		FlushEnd:        func(i pebble.FlushInfo) { w.ended(i.Err) },
		CompactionEnd:   func(i pebble.CompactionInfo) { w.ended(i.Err) },
	}
}

// ended hears of the end of a flush or a compaction. Damage is not what it is
// for: Pebble leaves damaged tables alone for a while.
func (w *watch) ended(err error) {
	switch {
	case err == nil:
		w.failures.Store(0)
	case pebble.IsCorruptionError(err) || errors.Is(err, pebble.ErrCancelledCompaction):
	case w.failures.Add(1) >= attempts || w.stalled.Load():
		w.fatal(fmt.Errorf("cannot write tables: %s", oneLine(err)))
	}
}

// once logs a message unless it is the last one again.
func (w *watch) once(message string) {
	if last := w.last.Swap(&message); last == nil || *last != message {
		w.log.Error(message)
	}
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

// Fatalf does not return: the caller has no way to go on.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.fatal(errors.New(firstLine(fmt.Sprintf(format, args...))))
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

func closeQuietly(c io.Closer) {
	if c != nil {
		_ = c.Close() // only read from, or failed already
	}
}
