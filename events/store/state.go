package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"lembas/events"
)

// streamState is the head record of a stream.
type streamState struct {
	events.StreamInfo
	micros int64 // time of the last event
}

func (st *streamState) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst[:0], uint64(st.Version))
	dst = binary.AppendUvarint(dst, uint64(st.Deciding))
	dst = binary.AppendUvarint(dst, uint64(st.Last))
	return binary.AppendVarint(dst, st.micros)
}

func parseStream(b []byte) (streamState, error) {
	c := cursor{b: b}
	st := streamState{StreamInfo: events.StreamInfo{
		Version: events.Version(c.uvarint()), Deciding: events.Version(c.uvarint()), Last: events.Position(c.uvarint()),
	}}
	st.micros = c.varint()
	if c.bad || len(c.b) > 0 {
		return streamState{}, fmt.Errorf("%w: stream record", events.ErrDamaged)
	}
	return st, nil
}

// readStream gives the zero state for a stream without events. What it reads
// may belong to a commit that is not yet synced.
func readStream(db pebble.Reader, stream string) (streamState, error) {
	v, closer, err := db.Get(streamKey(nil, stream))
	if errors.Is(err, pebble.ErrNotFound) {
		return streamState{}, nil
	}
	if err != nil {
		return streamState{}, damaged(err)
	}
	defer closer.Close()
	st, err := parseStream(v)
	if err != nil {
		return st, fmt.Errorf("stream %s: %w", stream, err)
	}
	return st, nil
}

// cacheSize bounds the stream heads kept in memory: at about 200 bytes each,
// 3 MB for more chats than are written to in a day.
const cacheSize = 16 << 10

// streamCache has the durable head of streams that were written to of late.
// Only the appender puts, so that no reader can put back an older head.
type streamCache struct {
	mu sync.RWMutex // guards m
	m  map[string]streamState
}

func (c *streamCache) get(stream string) (streamState, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	st, ok := c.m[stream]
	return st, ok
}

func (c *streamCache) put(states map[string]*pendingStream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, p := range states {
		if !p.changed {
			continue
		}
		if _, known := c.m[name]; !known && len(c.m) >= cacheSize {
			for victim := range c.m { // any will do
				delete(c.m, victim)
				break
			}
		}
		c.m[name] = p.streamState
	}
}

// pendingStream is a stream as it will be after the group that is being built.
type pendingStream struct {
	streamState
	changed bool
	// scopes holds those that the group opened or closed; ahead those of the
	// group before it, which may not be readable yet.
	scopes, ahead map[string]bool
}

// stamp is the time of the next event: the clock's, in microseconds, or the
// last event's where the clock went back.
func (p *pendingStream) stamp(now time.Time) int64 { return max(now.UnixMicro(), p.micros) }
