package bus

import (
	"context"
	"fmt"
	"sync/atomic"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"

	"lembas/events"
	"lembas/events/store"
)

// Bounds of one append of Publish, well below what the log takes at once.
const (
	batchMessages = 256
	batchBytes    = 1 << 20
)

// Publisher is a Watermill publisher: a message is durable when Publish
// returns.
type Publisher struct {
	st     *store.Store
	closed atomic.Bool
}

var _ message.Publisher = (*Publisher)(nil)

// Publish appends the messages to the stream of a topic, in order. ErrInvalid
// for the name of an event type: its events are what commands append.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	if p.closed.Load() {
		return fmt.Errorf("publish to %s: %w", topic, events.ErrClosed)
	}
	src, err := sourceOf(topic)
	if err != nil {
		return err
	}
	if src.stream == "" {
		return fmt.Errorf("%w: %s is an event type; nothing can be published to it", events.ErrInvalid, topic)
	}
	for len(messages) > 0 {
		n, size := 0, 0
		for n < len(messages) && n < batchMessages && (n == 0 || size < batchBytes) {
			size += len(messages[n].Payload)
			n++
		}
		if err := p.append(src.stream, messages[:n]); err != nil {
			return fmt.Errorf("publish to %s: %w", topic, err)
		}
		messages = messages[n:]
	}
	return nil
}

func (p *Publisher) append(stream string, messages []*message.Message) error {
	b := events.Batch{Actor: events.Actor{Kind: events.System, ID: "bus"}, Parts: []events.Part{{Stream: stream}}}
	for _, m := range messages {
		b.Parts[0].Events = append(b.Parts[0].Events,
			events.New{Payload: events.BusPublished{UUID: m.UUID, Metadata: m.Metadata, Payload: m.Payload}})
	}
	if id := messages[0].Metadata.Get(MetaCorrelation); len(id) <= store.MaxName && utf8.ValidString(id) {
		b.Correlation = id
	}
	ctx := context.WithoutCancel(messages[0].Context()) // a batch is of several messages
	_, err := p.st.Append(ctx, b)
	return err
}

// Close makes later calls fail. Nothing is kept back, so nothing is flushed.
func (p *Publisher) Close() error {
	p.closed.Store(true)
	return nil
}
