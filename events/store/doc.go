// Package store is the log in Pebble: append, read, wait, keyspaces, snapshots,
// proofs, backup, verify. It may import package events and nothing else of ours.
//
// # The data directory
//
//	format      "lembas data directory, layout 1\n"; its last file when one is made
//	lock        flock(2), held while a process has the directory
//	head        the recorded head, below
//	log/        the Pebble store
//	ballast     space to give back when the disk is nearly full
//	key         the vault's master key, unless LEMBAS_SECRET_KEY is used
//	format.new  instead of format while a store is being made: Open starts over
//	backup      instead of format in what Backup wrote: only Restore takes it
//	restoring   beside everything while Restore swaps logs: Open refuses
//
// A directory with anything else in it and no format file is refused, and so is
// one where format is gone and log or head is not: there is no way from a
// damaged store to an empty one.
//
// # Keys and values in Pebble
//
// The first byte of a key says what it is. P is a position, 8 bytes big-endian;
// N an 8-byte big-endian number; uvarint and varint are those of
// encoding/binary; text is a uvarint of its length and its bytes. Stream, scope
// and type names are at most 255 printable bytes, so that 0x00 can end them.
// They hold ids and hashes, never titles, e-mails or content: Pebble copies keys
// into its MANIFEST, where erasure does not reach.
//
//	'e' P                  event, below
//	'l' P                  hash of the event's leaf, 32 bytes
//	'n' level N            node N of the tree at a level ≥ 8, 32 bytes
//	's' stream 0x00 P      uvarint version: the index of a stream
//	'h' stream             uvarint version, uvarint deciding version,
//	                       uvarint last position, varint last time in µs
//	'o' stream 0x00 scope  empty; there while the scope is open
//	'i' SHA-256            first outcome of an idempotency key; the hash is over
//	                       actor kind 0x00 actor id 0x00 key. Value: text body,
//	                       uvarint first, uvarint last, varint time in µs,
//	                       uvarint n, n × (text stream, uvarint version, uvarint
//	                       deciding, uvarint last), then the outcome's JSON
//	'y' type               uvarint highest version in the log, 0x01 when it can
//	                       change what is permitted else 0x00, text release
//	'q' stream 0x00 name   snapshot: uvarint version of the fold's code, uvarint
//	                       position, then its bytes
//	'k' name 0x00 key      row of a keyspace
//	'm' "epoch"            the epoch, 16 bytes of base32
//
// # An event
//
//	form         1 byte: 1 with salt, 2 erased
//	salt         16 random bytes, in form 1 only
//	version      uvarint
//	time         varint, microseconds since 1970
//	type         text
//	type version uvarint
//	stream       text
//	actor kind   1 byte: 1 person, 2 model, 3 system, 4 job; 0 and then text
//	actor id     text
//	correlation  text
//	causation    text
//	payload      the rest, JSON as it was written
//
// The position is in the key alone. Everything before the payload can be read
// without touching it. In form 2 the payload is events.Erased, whose hash stands
// for SHA-256(salt ‖ payload), so that the leaf stays what it was.
//
// # The tree
//
// One leaf an event, written in the event's batch, and one node for 256 leaves
// plus those above: 32.3 bytes an event, 48.3 with the salt. The nodes between
// are recomputed from at most 128 leaves when a proof needs them. The right edge
// is in memory, so an append hashes O(1) nodes.
//
// # The recorded head
//
// The file head has two slots at 0 and 4096, each
//
//	"LHD1" · N sequence · P · epoch (16) · root (32) · CRC-32C of what is before
//
// Every commit writes the head to the slot that does not hold the last synced
// one; a batch with a consent event, a second, and Close sync it. So the death of
// the process leaves the exact head, a power cut one at most a second old, and
// no moment leaves none. Open compares it with the log, which it has opened
// read-only; a log that is shorter, or of another tree or epoch, is refused
// before anything is written.
//
// # Appending
//
// Callers check and encode their own batch and hash payloads. One goroutine
// gives places: it puts what is queued into one Pebble batch, each request
// whole or not at all, comparing expectations and idempotency keys with the
// batch as it grows, commits with one sync, records the head, moves it, wakes
// who waits and answers. Pebble makes a batch readable before it is synced, so
// readers go by the head, never by what Pebble has.
//
// A failed commit, sync or write of a log file is final: the store answers
// nothing more and Options.OnFatal ends the process. Tables are an exception,
// they can be written again from the log; twenty failures in a row, or one while
// writers wait, end it, too.
package store
