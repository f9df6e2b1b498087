package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options are what a store depends on. The zero value is a store on disk
// without a low-water mark.
type Options struct {
	// FS is the file system, vfs.Default when nil.
	FS vfs.FS
	// Now is the clock, time.Now when nil.
	Now func() time.Time
	// Rand gives salts and epochs, crypto/rand when nil. It is read by several
	// goroutines.
	Rand io.Reader
	// Logger gets what an operator should know; discarded when nil.
	Logger *slog.Logger
	// LowWater is the free space in bytes below which appends are refused;
	// DefaultLowWater is right for a server, 0 switches the check off.
	LowWater int64
	// Ballast is the size in bytes of a file that holds space which is given
	// back when the disk is nearly full; 0 for none.
	Ballast int64
	// FreeSpace tells the free bytes of the disk; nil asks FS.
	FreeSpace func() (int64, error)
	// OnFatal is called once when a commit or sync failed. What was not
	// acknowledged may or may not be on disk, so the process must end: it should
	// not return. When it does (tests), the store answers every call with an
	// error from then on. nil writes one line to standard error and exits with 1.
	OnFatal func(error)
	// Check looks at the keyspaces of a directory before anything is written to
	// it: get is Keyspace.Get. Its error refuses the directory. For one that holds
	// nothing yet, get finds nothing. nil looks at nothing.
	Check func(get func(space string, key []byte) ([]byte, error)) error
	// Release names the binary in the log, for the message that an older one
	// gives when it meets what it cannot understand.
	Release string

	// noSync commits without syncing. Crash tests set it to see that they
	// notice.
	noSync bool
	// memTable replaces memTableSize in tests.
	memTable uint64
}

// DefaultLowWater leaves room for two write-ahead logs, the compaction of a few
// tables and the record of the head; DefaultBallast for one flush of each.
const (
	DefaultLowWater = 64 << 20
	DefaultBallast  = 32 << 20
)

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.New(discard{})
	}
	if o.OnFatal == nil {
		o.OnFatal = func(err error) {
			fmt.Fprintf(os.Stderr, "lembas: cannot write the log, stopping: %v\n", err)
			os.Exit(1)
		}
	}
	return o
}

type discard struct{}

func (discard) Enabled(context.Context, slog.Level) bool  { return false }
func (discard) Handle(context.Context, slog.Record) error { return nil }
func (d discard) WithAttrs([]slog.Attr) slog.Handler      { return d }
func (d discard) WithGroup(string) slog.Handler           { return d }
