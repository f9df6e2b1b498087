package bus_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events/bus"
)

// As the reactors use it: handlers run side by side, an error brings the message
// again, and a shutdown in mid-work leaves it for the next start.
func TestRouter(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	b := bus.New(st, quiet())
	for _, r := range []string{"long", "fails", "short"} {
		ask(t, st, r, r)
	}
	started, handled := make(chan string), make(chan string)
	failed := false
	handle := func(m *message.Message) error {
		r := reply(t, m)
		started <- r
		switch {
		case r == "long":
			<-m.Context().Done() // until the shutdown
			return m.Context().Err()
		case r == "fails" && !failed:
			failed = true
			return errors.New("not yet")
		}
		handled <- r
		return nil
	}
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	router.AddConsumerHandler("replies", topic, subscriber(t, b, streams()), handle)
	ended := make(chan error)
	go func() { ended <- router.Run(context.Background()) }()
	count := map[string]int{}
	for done := 0; done < 2; {
		select {
		case r := <-started:
			count[r]++
		case <-handled:
			done++
		}
	}
	if count["long"] != 1 || count["fails"] != 2 || count["short"] != 1 {
		t.Errorf("handlers ran %v", count)
	}
	if err := router.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	again := subscribe(t, subscriber(t, b, streams()), topic)
	wantNext(t, again, "long").Ack()
	ask(t, st, "next", "next")
	wantNext(t, again, "next").Ack()
}
