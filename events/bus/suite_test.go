package bus_test

import (
	"io"
	"log"
	"log/slog"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"lembas/events/bus"
	"lembas/events/store"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // the suite tells of each read
	// The suite's own helper leaves goroutines that nobody reads from.
	const multiplier = "github.com/ThreeDotsLabs/watermill/internal/subscriber.(*multiplier).Subscribe."
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(multiplier+"func2"), goleak.IgnoreAnyFunction(multiplier+"func3"))
}

func openStore(t *testing.T, fs vfs.FS) *store.Store {
	t.Helper()
	st, err := store.Open("data", store.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func subscriber(t *testing.T, b *bus.Bus, c bus.Config) *bus.Subscriber {
	t.Helper()
	if c.RedeliverAfter == 0 {
		c.RedeliverAfter = time.Millisecond
	}
	s, err := b.Subscriber(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Without a group each subscriber is new and gets what was published before it;
// the suite's groups are ours.
func TestWatermillSuite(t *testing.T) {
	b := bus.New(openStore(t, vfs.NewMem()), quiet())
	in := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		return b.Publisher(), subscriber(t, b, bus.Config{Group: group, Order: bus.OrderTopic})
	}
	tests.TestPubSub(t, tests.Features{
		ConsumerGroups: true, GuaranteedOrder: true, Persistent: true, NewSubscriberReceivesOldMessages: true,
		ForceShort: raceEnabled,
	}, func(t *testing.T) (message.Publisher, message.Subscriber) { return in(t, "") }, in)
}

// All subscribers in one durable group: they compete for the messages. A new
// one gets what the group has not had, so that feature is off here.
func TestWatermillSuiteInOneGroup(t *testing.T) {
	b := bus.New(openStore(t, vfs.NewMem()), quiet())
	in := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		return b.Publisher(), subscriber(t, b, bus.Config{Group: group, Order: bus.OrderTopic})
	}
	tests.TestPubSub(t, tests.Features{
		ConsumerGroups: true, GuaranteedOrder: true, Persistent: true,
	}, func(t *testing.T) (message.Publisher, message.Subscriber) { return in(t, "one") }, in)
}
