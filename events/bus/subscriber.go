package bus

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"lembas/events"
)

// Subscriber is a Watermill subscriber.
type Subscriber struct {
	bus  *Bus
	cfg  Config
	done chan struct{} // closed by Close

	mu     sync.Mutex // guards closed, and that no subscription begins after it
	closed bool
	work   sync.WaitGroup
}

var _ message.Subscriber = (*Subscriber)(nil)

// Subscribe yields the messages of a topic until ctx ends, Close is called or
// the log cannot be read, which is logged. The channel is closed then.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	src, err := sourceOf(topic)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("subscribe to %s: %w", topic, events.ErrClosed)
	}
	g, err := s.bus.attach(s.cfg, src)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", topic, err)
	}
	x := &subscription{g: g, out: make(chan *message.Message)}
	s.work.Go(func() { x.run(ctx, s.done) })
	return x.out, nil
}

// Close ends all subscriptions and returns when their channels are closed. An
// acknowledgement given before it is durable after it.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	s.mu.Unlock()
	s.work.Wait()
	return nil
}

// subscription is one output channel.
type subscription struct {
	g       *group
	out     chan *message.Message
	waiting sync.WaitGroup // for acknowledgements
}

func (x *subscription) run(parent context.Context, done <-chan struct{}) {
	ctx, cancel := context.WithCancel(parent)
	defer close(x.out)
	defer x.g.bus.detach(x.g)
	defer x.waiting.Wait()
	defer cancel()
	for {
		select {
		case it := <-x.g.ready:
			if !x.deliver(ctx, done, it) {
				return
			}
		case <-x.g.ctx.Done():
			return
		case <-ctx.Done():
			return
		case <-done:
			return
		}
	}
}

// deliver puts a message on the channel; false when the subscription is over.
func (x *subscription) deliver(ctx context.Context, done <-chan struct{}, it *item) bool {
	msg, err := x.g.src.message(&it.env)
	if err != nil {
		// Such a message would come again for ever: it counts as acknowledged.
		x.g.bus.logger.Error("message cannot be read and is skipped", slog.String("message", it.env.Ref()), slog.Any("error", err))
		x.g.acked(it)
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	msg.SetContext(ctx)
	select {
	case x.out <- msg:
		x.waiting.Go(func() {
			defer cancel()
			x.await(ctx, msg, it)
		})
		return true
	case <-x.g.ctx.Done():
	case <-ctx.Done():
	case <-done:
	}
	cancel()
	x.g.release(it, 0)
	return false
}

// await waits for the word of the handler. The end of the subscription, which
// ends ctx, gives the message back; an acknowledgement given before counts.
func (x *subscription) await(ctx context.Context, msg *message.Message, it *item) {
	select {
	case <-msg.Acked():
		x.g.acked(it)
	case <-msg.Nacked():
		x.g.release(it, x.g.cfg.RedeliverAfter)
	case <-ctx.Done():
		select {
		case <-msg.Acked():
			x.g.acked(it)
		default:
			x.g.release(it, 0)
		}
	}
}
