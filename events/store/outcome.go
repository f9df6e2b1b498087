package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"lembas/events"
)

// appendOutcome is what an idempotency key led to, as it is stored.
func appendOutcome(dst, body []byte, r *events.Result) []byte {
	dst = appendText(dst, string(body))
	dst = binary.AppendUvarint(dst, uint64(r.First))
	dst = binary.AppendUvarint(dst, uint64(r.Last))
	dst = binary.AppendVarint(dst, r.Time.UnixMicro())
	dst = binary.AppendUvarint(dst, uint64(len(r.Streams)))
	for name, st := range r.Streams {
		dst = appendText(dst, name)
		dst = binary.AppendUvarint(dst, uint64(st.Version))
		dst = binary.AppendUvarint(dst, uint64(st.Deciding))
		dst = binary.AppendUvarint(dst, uint64(st.Last))
	}
	return append(dst, r.Outcome...)
}

func parseOutcome(b []byte) (body []byte, r events.Result, err error) {
	c := cursor{b: b}
	body = bytes.Clone(c.text())
	r.First, r.Last = events.Position(c.uvarint()), events.Position(c.uvarint())
	r.Time = time.UnixMicro(c.varint()).UTC()
	n := c.uvarint()
	r.Streams = make(map[string]events.StreamInfo)
	for ; n > 0 && !c.bad; n-- {
		name := string(c.text())
		r.Streams[name] = events.StreamInfo{
			Version: events.Version(c.uvarint()), Deciding: events.Version(c.uvarint()), Last: events.Position(c.uvarint()),
		}
	}
	if c.bad {
		return nil, events.Result{}, fmt.Errorf("%w: outcome of an idempotency key", events.ErrDamaged)
	}
	if len(c.b) > 0 {
		r.Outcome = json.RawMessage(bytes.Clone(c.b))
	}
	r.Repeated = true
	return body, r, nil
}

// readOutcome reads what a key led to. It may belong to a commit that is not
// yet synced.
func readOutcome(db pebble.Reader, key []byte) (body []byte, r events.Result, found bool, err error) {
	v, closer, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, r, false, nil
	}
	if err != nil {
		return nil, r, false, damaged(err)
	}
	defer closer.Close()
	body, r, err = parseOutcome(v)
	return body, r, err == nil, err
}

// repeated answers a request whose idempotency key was used.
func (b *building) repeated(r *request) (bool, error) {
	b.key = outcomeKey(b.key, r.batch.Actor, r.batch.Key)
	var body []byte
	var result events.Result
	first := b.outcomes[string(b.key)]
	if first == nil && b.ahead != nil {
		first = b.ahead.outcomes[string(b.key)]
	}
	if first != nil {
		body, result = first.batch.KeyBody, first.result
		result.Streams = maps.Clone(result.Streams) // each caller has its own
		result.Repeated = true
	} else {
		var found bool
		var err error
		if body, result, found, err = readOutcome(b.s.db, b.key); err != nil || !found {
			return false, err
		}
	}
	if !bytes.Equal(body, r.batch.KeyBody) {
		return false, &events.KeyReusedError{Key: r.batch.Key}
	}
	r.result = result
	return true, nil
}

// Outcome implements events.Log.
func (s *Store) Outcome(ctx context.Context, actor events.Actor, key string) (events.Result, bool, error) {
	if err := s.enter(); err != nil {
		return events.Result{}, false, err
	}
	defer s.leave()
	_, r, found, err := readOutcome(s.db, outcomeKey(nil, actor, key))
	if err != nil || !found {
		return events.Result{}, false, err
	}
	if err := s.Wait(ctx, r.Last-1); err != nil { // its sync may be on its way
		return events.Result{}, false, err
	}
	return r, true, nil
}
