package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/tlog"

	"lembas/events"
)

// recordEvery is how long a commit may lie past the synced record of the head.
const recordEvery = time.Second

// A slot of the recorded head, and how far the two lie apart: a sector, so that
// a torn write of one leaves the other alone.
const (
	slotSize   = 4 + 8 + 8 + epochSize + tlog.HashSize + 4
	slotStride = 4096
	slotMagic  = "LHD1"
)

// slot is one recorded head.
type slot struct {
	seq      uint64 // the higher one is the later
	position events.Position
	epoch    string
	root     tlog.Hash
}

func (h *slot) append(dst []byte) []byte {
	dst = append(dst[:0], slotMagic...)
	dst = binary.BigEndian.AppendUint64(dst, h.seq)
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.position))
	dst = append(dst, h.epoch...)
	dst = append(dst, h.root[:]...)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst, crc32.MakeTable(crc32.Castagnoli)))
}

func parseSlot(b []byte) (slot, bool) {
	if len(b) < slotSize || !bytes.HasPrefix(b, []byte(slotMagic)) {
		return slot{}, false
	}
	b = b[:slotSize]
	body, sum := b[:slotSize-4], binary.BigEndian.Uint32(b[slotSize-4:])
	if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != sum {
		return slot{}, false
	}
	return slot{
		seq: binary.BigEndian.Uint64(b[4:]), position: events.Position(binary.BigEndian.Uint64(b[12:])),
		epoch: string(b[20 : 20+epochSize]), root: tlog.Hash(b[20+epochSize : slotSize-4]),
	}, true
}

// record is the head as it is kept in a small file beside the Pebble folder: a
// second witness of how long the log is. It belongs to the appender.
//
// One slot always holds the last synced head and is not written to until the
// other one has been synced. Heads between two syncs go to that other slot with
// a plain write: they survive the death of the process, not of the machine.
type record struct {
	file   vfs.File
	slot   slot
	synced int  // the slot that holds the last synced head
	behind bool // slot is not synced
	armed  bool // the timer that will sync it runs
	buf    []byte
}

// readRecord gives the later of the slots that are whole. A slot can be torn
// by a power cut; both cannot.
func readRecord(fs vfs.FS, name string) (slot, error) {
	f, err := fs.Open(name)
	if err != nil {
		return slot{}, fmt.Errorf("%w: recorded head: %w", events.ErrDamaged, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 2*slotStride))
	if err != nil {
		return slot{}, fmt.Errorf("%w: recorded head: %w", events.ErrDamaged, err)
	}
	first, ok := parseSlot(b)
	if len(b) > slotStride {
		if second, ok2 := parseSlot(b[slotStride:]); ok2 && (!ok || second.seq > first.seq) {
			first, ok = second, true
		}
	}
	if !ok {
		return slot{}, fmt.Errorf("%w: recorded head: %s has no whole slot", events.ErrDamaged, name)
	}
	return first, nil
}

// openRecord opens the file to write and puts the head into both slots, so
// that one damaged byte of a store at rest cannot hide the last events.
func openRecord(fs vfs.FS, name string, h slot) (*record, error) {
	f, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("recorded head: %w", err)
	}
	r := &record{file: f, slot: h}
	if err := r.both(); err != nil {
		closeQuietly(f)
		return nil, err
	}
	return r, nil
}

// both writes and syncs one slot after the other.
func (r *record) both() error {
	for range 2 {
		r.slot.seq++
		if err := r.sync(); err != nil {
			return err
		}
	}
	return nil
}

func (r *record) note(p events.Position, root tlog.Hash) {
	r.slot.position, r.slot.root, r.behind = p, root, true
	r.slot.seq++
}

func (r *record) write() error {
	r.buf = r.slot.append(r.buf)
	if _, err := r.file.WriteAt(r.buf, int64(1-r.synced)*slotStride); err != nil {
		return fmt.Errorf("recorded head: %w", err)
	}
	return nil
}

func (r *record) sync() error {
	if err := r.write(); err != nil {
		return err
	}
	if err := r.file.SyncData(); err != nil {
		return fmt.Errorf("recorded head: %w", err)
	}
	r.synced, r.behind = 1-r.synced, false
	return nil
}

// syncRecord makes the recorded head durable. A failure is fatal like that of a
// commit.
func (s *Store) syncRecord() {
	if err := s.record.sync(); err != nil {
		s.fatal(err)
	}
}

func (s *Store) writeRecord() {
	if err := s.record.write(); err != nil {
		s.fatal(err)
	}
}
