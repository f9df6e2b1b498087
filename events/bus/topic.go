package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"lembas/events"
	"lembas/events/store"
)

// The metadata of a message that is an event of the log. MetaCorrelation is
// the name that Watermill's middleware uses.
const (
	MetaStream      = "stream"
	MetaVersion     = "version"
	MetaPosition    = "position"
	MetaType        = "type"
	MetaCorrelation = "correlation_id"
	MetaCausation   = "causation"
)

// source is where the messages of a topic lie: events of a type, or the stream
// of a topic that has one of its own.
type source struct{ topic, typ, stream string }

func sourceOf(topic string) (source, error) {
	if topic == "" {
		return source{}, fmt.Errorf("%w: topic without a name", events.ErrInvalid)
	}
	if _, ok := events.Lookup(topic); ok {
		return source{topic: topic, typ: topic}, nil
	}
	s := source{topic: topic}
	s.stream = "bus/" + s.name()
	return s, nil
}

// name is the topic as a part of a key: itself, or its hash where it may not be
// one. No safe name holds a '~'.
func (s source) name() string {
	if safe(s.topic) {
		return s.topic
	}
	h := sha256.Sum256([]byte(s.topic))
	return "~" + hex.EncodeToString(h[:])
}

func safe(s string) bool {
	return s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-')
	})
}

// read yields what the topic has after a position. Events of other types are
// skipped by their header.
func (s source) read(ctx context.Context, st *store.Store, after events.Position) iter.Seq2[events.Envelope, error] {
	if s.stream != "" {
		return st.ReadStream(ctx, s.stream, after)
	}
	return st.ReadFilter(ctx, after, func(typ, _ string) bool { return typ == s.typ })
}

func (s source) wait(ctx context.Context, st *store.Store, after events.Position) error {
	if s.stream != "" {
		return st.WaitStream(ctx, s.stream, after)
	}
	return st.Wait(ctx, after)
}

// message makes the message of an event. The error matches ErrDamaged.
func (s source) message(e *events.Envelope) (*message.Message, error) {
	if s.stream == "" {
		m := message.NewMessage(e.Ref(), e.AppendJSON(nil))
		m.Metadata = message.Metadata{
			MetaStream: e.Stream, MetaVersion: strconv.FormatUint(uint64(e.Version), 10),
			MetaPosition: strconv.FormatUint(uint64(e.Position), 10), MetaType: e.Type,
			MetaCorrelation: e.Correlation, MetaCausation: e.Causation,
		}
		return m, nil
	}
	p, err := events.Decode(e)
	if err != nil {
		return nil, err
	}
	x, ok := p.(events.BusPublished)
	if !ok {
		return nil, fmt.Errorf("%w: %s is not a message: %s", events.ErrDamaged, e.Ref(), e.Type)
	}
	m := message.NewMessage(x.UUID, x.Payload)
	if x.Metadata != nil {
		m.Metadata = x.Metadata
	}
	return m, nil
}
