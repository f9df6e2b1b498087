package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
	"lembas/events/bus"
	"lembas/events/store"
)

const topic = "reply.requested"

// ask appends a reply.requested to a chat, with a chunk before it.
func ask(t *testing.T, st *store.Store, chat, reply string) {
	t.Helper()
	_, err := st.Append(context.Background(), events.Batch{
		Actor: events.Actor{Kind: events.Person, ID: "ann"}, Correlation: "click", Causation: "command",
		Parts: []events.Part{{Stream: events.ChatStream(chat), Events: []events.New{
			{Payload: events.ReplyChunk{Reply: "old", Text: "…"}},
			{Payload: events.ReplyRequested{Reply: reply, Message: "m"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func subscribe(t *testing.T, s message.Subscriber, topic string) <-chan *message.Message {
	t.Helper()
	ch, err := s.Subscribe(context.Background(), topic)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// reply is the reply that a message asks for.
func reply(t *testing.T, m *message.Message) string {
	t.Helper()
	var env events.Envelope
	if err := json.Unmarshal(m.Payload, &env); err != nil {
		t.Fatal(err)
	}
	p, err := events.Decode(&env)
	if err != nil {
		t.Fatal(err)
	}
	return p.(events.ReplyRequested).Reply
}

func wantNext(t *testing.T, ch <-chan *message.Message, want string) *message.Message {
	t.Helper()
	m, ok := <-ch
	if !ok {
		t.Fatalf("channel closed, want %s", want)
	}
	if got := reply(t, m); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	return m
}

func TestEventAsMessage(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	ask(t, st, "c", "r1")
	s := subscriber(t, bus.New(st, quiet()), bus.Config{Group: "g"})
	m := wantNext(t, subscribe(t, s, topic), "r1")
	if m.UUID != "chat/c@2" {
		t.Errorf("UUID %q", m.UUID)
	}
	want := message.Metadata{"stream": "chat/c", "version": "2", "position": "2", "type": topic,
		"correlation_id": "click", "causation": "command"}
	for k, v := range want {
		if m.Metadata[k] != v {
			t.Errorf("metadata %s is %q, want %q", k, m.Metadata[k], v)
		}
	}
	if len(m.Metadata) != len(want) {
		t.Errorf("metadata %v", m.Metadata)
	}
}

func TestRefusals(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	b := bus.New(st, quiet())
	m := message.NewMessage("id", nil)
	if err := b.Publisher().Publish(topic, m); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("an event type was published to: %v", err)
	}
	if err := b.Publisher().Publish("", m); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("topic without a name: %v", err)
	}
	if _, err := b.Subscriber(bus.Config{Group: "a/b"}); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("group with a slash: %v", err)
	}
	p := b.Publisher()
	_ = p.Close()
	if err := p.Publish("x", m); !errors.Is(err, events.ErrClosed) {
		t.Errorf("closed publisher: %v", err)
	}
	subscribe(t, subscriber(t, b, bus.Config{Group: "g"}), topic)
	other := subscriber(t, b, bus.Config{Group: "g", Order: bus.OrderStream})
	if _, err := other.Subscribe(context.Background(), topic); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("two orders in one group: %v", err)
	}
	_ = other.Close()
	if _, err := other.Subscribe(context.Background(), topic); !errors.Is(err, events.ErrClosed) {
		t.Errorf("closed subscriber: %v", err)
	}
	if h := st.Head(); h != 0 {
		t.Errorf("%d events were appended", h)
	}
}

// Topics are anybody's text: none may reach the stream of another.
func TestTopicNames(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	b := bus.New(st, quiet())
	names := []string{"a", "A", "a/b", "a b", "../chat/c", "~a", "a\x00", "é", strings.Repeat("x", 100), strings.Repeat("x", 101), strings.Repeat("x", 1000)}
	for i, name := range names {
		m := message.NewMessage(fmt.Sprint(i), []byte(name))
		m.Metadata.Set("k", name)
		if err := b.Publisher().Publish(name, m); err != nil {
			t.Fatalf("%.20q: %v", name, err)
		}
	}
	for i, name := range names {
		s := subscriber(t, b, bus.Config{Group: "g"})
		m := <-subscribe(t, s, name)
		if m.UUID != fmt.Sprint(i) || string(m.Payload) != name || m.Metadata.Get("k") != strings.ToValidUTF8(name, "\ufffd") {
			t.Errorf("%.20q gave message %s", name, m.UUID)
		}
		m.Ack()
		_ = s.Close()
	}
	for env, err := range st.Read(context.Background(), 0) {
		if err != nil || !strings.HasPrefix(env.Stream, "bus/") {
			t.Errorf("stream %s: %v", env.Stream, err)
		}
	}
}

func TestUnackedStreamHoldsUpNoOther(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	for _, r := range []string{"a1", "a2", "b1", "a3", "b2"} {
		ask(t, st, r[:1], r)
	}
	s := subscriber(t, bus.New(st, quiet()), bus.Config{Group: "g", Order: bus.OrderStream})
	ch := subscribe(t, s, topic)
	a1 := wantNext(t, ch, "a1")
	b1 := wantNext(t, ch, "b1")
	b1.Ack()
	b2 := wantNext(t, ch, "b2")
	b2.Nack()
	wantNext(t, ch, "b2").Ack()
	ask(t, st, "c", "c1")
	wantNext(t, ch, "c1").Ack()
	a1.Nack() // a2 must not overtake it
	wantNext(t, ch, "a1").Ack()
	wantNext(t, ch, "a2").Ack()
	wantNext(t, ch, "a3").Ack()
}

func TestInFlightIsBounded(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	for i := range 5 {
		ask(t, st, fmt.Sprint("c", i), fmt.Sprint("r", i))
	}
	s := subscriber(t, bus.New(st, quiet()), bus.Config{Group: "g", Order: bus.OrderStream, MaxInFlight: 2})
	ch := subscribe(t, s, topic)
	r0 := wantNext(t, ch, "r0")
	wantNext(t, ch, "r1")
	r0.Ack()
	wantNext(t, ch, "r2") // r3 waits, or the channel would have had it first
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if m, open := <-ch; open {
		t.Errorf("%s is in flight as the third", reply(t, m))
	}
}

// Reading ahead is bounded; it goes on where it stopped.
func TestManyUnacked(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	const n = 3000
	for i := range n {
		ask(t, st, fmt.Sprint("c", i), fmt.Sprint("r", i))
	}
	s := subscriber(t, bus.New(st, quiet()), bus.Config{Group: "g", Order: bus.OrderStream, MaxInFlight: 700})
	ch := subscribe(t, s, topic)
	var held []*message.Message
	for i := range n {
		held = append(held, wantNext(t, ch, fmt.Sprint("r", i)))
		if len(held) == 700 {
			for _, m := range held {
				m.Ack()
			}
			held = nil
		}
	}
}

func TestClosingReturnsUnacked(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	for _, r := range []string{"a1", "b1", "c1"} {
		ask(t, st, r[:1], r)
	}
	b := bus.New(st, quiet())
	c := bus.Config{Group: "g", Order: bus.OrderStream}
	first := subscriber(t, b, c)
	ch := subscribe(t, first, topic)
	a1 := wantNext(t, ch, "a1")
	wantNext(t, ch, "b1").Ack()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	<-a1.Context().Done()
	a1.Ack() // too late
	again := subscribe(t, subscriber(t, b, c), topic)
	wantNext(t, again, "a1").Ack()
	wantNext(t, again, "c1").Ack()
}

func TestContextEndsSubscription(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	ask(t, st, "a", "a1")
	s := subscriber(t, bus.New(st, quiet()), bus.Config{Group: "g"})
	ctx, cancel := context.WithCancel(context.Background())
	ch, err := s.Subscribe(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	wantNext(t, ch, "a1")
	cancel()
	if _, open := <-ch; open {
		t.Error("a message after the end")
	}
	wantNext(t, subscribe(t, s, topic), "a1").Ack()
}

// A closed log ends the subscription rather than leaving it in silence.
func TestClosedLogEndsSubscription(t *testing.T) {
	st, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	s := subscriber(t, bus.New(st, quiet()), bus.Config{Group: "g"})
	ch := subscribe(t, s, topic)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, open := <-ch; open {
		t.Error("a message from a closed log")
	}
}

// After a crash that loses all that was not synced, exactly the messages that
// were not acknowledged come again, whatever the order of acknowledgements.
func TestCrash(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			fs := vfs.NewCrashableMem()
			n := 40 + rng.IntN(300)
			st := openStore(t, fs)
			for i := range n {
				ask(t, st, fmt.Sprint("c", i), fmt.Sprint("r", i))
			}
			left := make(map[string]bool, n)
			for i := range n {
				left[fmt.Sprint("r", i)] = true
			}
			for len(left) > 0 {
				fs = ackSome(t, st, fs, rng, left)
				st = openStore(t, fs)
			}
			ask(t, st, "last", "last")
			s := subscriber(t, bus.New(st, quiet()), streams())
			wantNext(t, subscribe(t, s, topic), "last").Ack()
		})
	}
}

func streams() bus.Config {
	return bus.Config{Group: "g", Order: bus.OrderStream, MaxInFlight: 1000}
}

// ackSome takes all messages that are left, acknowledges some in any order and
// crashes.
func ackSome(t *testing.T, st *store.Store, fs *vfs.MemFS, rng *rand.Rand, left map[string]bool) *vfs.MemFS {
	s := subscriber(t, bus.New(st, quiet()), streams())
	ch := subscribe(t, s, topic)
	got := map[string]bool{}
	var held []*message.Message
	for range len(left) {
		m := <-ch
		r := reply(t, m)
		if !left[r] || got[r] {
			t.Fatalf("%s came again", r)
		}
		got[r] = true
		held = append(held, m)
	}
	rng.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	for _, m := range held[:1+rng.IntN(len(held))] {
		delete(left, reply(t, m))
		m.Ack()
		<-m.Context().Done() // it is durable now
	}
	return fs.CrashClone(vfs.CrashCloneCfg{})
}

// Competing subscribers of one group get each message once.
func TestGroupShares(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	const n = 200
	for i := range n {
		ask(t, st, fmt.Sprint("c", i%7), fmt.Sprint("r", i))
	}
	b := bus.New(st, quiet())
	got := make(chan string)
	for range 4 {
		ch := subscribe(t, subscriber(t, b, streams()), topic)
		go func() {
			for m := range ch {
				got <- m.UUID
				m.Ack()
			}
		}()
	}
	seen := map[string]int{}
	for range n {
		seen[<-got]++
	}
	if len(seen) != n {
		t.Errorf("%d of %d messages", len(seen), n)
	}
	for chat := range 7 {
		var versions []string
		for ref := range seen {
			if strings.HasPrefix(ref, fmt.Sprintf("chat/c%d@", chat)) {
				versions = append(versions, ref)
			}
		}
		if slices.Sort(versions); len(versions) == 0 {
			t.Errorf("chat %d got nothing", chat)
		}
	}
}

// What a subscriber that leaves did not acknowledge goes to another of its
// group.
func TestGroupTakesOver(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	ask(t, st, "a", "a1")
	b := bus.New(st, quiet())
	first, second := subscriber(t, b, streams()), subscriber(t, b, streams())
	wantNext(t, subscribe(t, first, topic), "a1")
	ch := subscribe(t, second, topic)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	wantNext(t, ch, "a1").Ack()
}
