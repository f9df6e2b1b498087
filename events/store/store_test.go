package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

var person = events.Actor{Kind: events.Person, ID: "u1"}

// open opens a store in memory and closes it with the test.
func open(t testing.TB, fs vfs.FS, o Options) *Store {
	t.Helper()
	o.FS = fs
	s, err := Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func rename(title string) events.New {
	return events.New{Payload: events.ChatRenamed{Title: title, Origin: "person"}}
}

func chunk(reply, text string) events.New {
	return events.New{Payload: events.ReplyChunk{Reply: reply, Round: 1, Kind: events.ChunkContent, Text: text, Cuts: [][2]int64{{0, 1}}}}
}

// one is a batch for one stream.
func one(stream string, x events.Expectation, news ...events.New) events.Batch {
	return events.Batch{Actor: person, Correlation: "c1", Causation: "cmd1",
		Parts: []events.Part{{Stream: stream, Expect: x, Events: news}}}
}

func mustAppend(t testing.TB, s *Store, b events.Batch) events.Result {
	t.Helper()
	r, err := s.Append(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func all(t testing.TB, s *Store, stream string, after events.Position) []events.Envelope {
	t.Helper()
	seq := s.Read(context.Background(), after)
	if stream != "" {
		seq = s.ReadStream(context.Background(), stream, after)
	}
	var out []events.Envelope
	for e, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestAppendAndRead(t *testing.T) {
	fs := vfs.NewMem()
	at := time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)
	s := open(t, fs, Options{Now: func() time.Time { return at }})
	r := mustAppend(t, s, events.Batch{Actor: person, Correlation: "c", Causation: "d", Parts: []events.Part{
		{Stream: "chat/a", Expect: events.Exactly(0), Events: []events.New{rename("one"), rename("<two> & ü")}},
		{Stream: "chat/b", Expect: events.Exactly(0), Events: []events.New{rename("three")}},
	}})
	if r.First != 1 || r.Last != 3 || r.Streams["chat/a"] != (events.StreamInfo{Version: 2, Deciding: 2, Last: 2}) ||
		r.Streams["chat/b"] != (events.StreamInfo{Version: 1, Deciding: 1, Last: 3}) {
		t.Fatalf("result %+v", r)
	}
	mustAppend(t, s, one("chat/a", events.Exactly(2), rename("four")))
	check := func(s *Store) {
		t.Helper()
		got := all(t, s, "", 0)
		if len(got) != 4 {
			t.Fatalf("%d events", len(got))
		}
		want := `{"position":2,"stream":"chat/a","version":2,"type":"chat.renamed","type_version":1,` +
			`"time":"2026-11-30T12:00:00.123456Z","actor":{"kind":"person","id":"u1"},"correlation":"c","causation":"d",` +
			`"data":{"title":"<two> & ü","origin":"person"}}`
		if line := string(got[1].AppendJSON(nil)); line != want {
			t.Errorf("\n%s\nwant\n%s", line, want)
		}
		var positions []events.Position
		for _, e := range all(t, s, "chat/a", 1) {
			positions = append(positions, e.Position)
		}
		if fmt.Sprint(positions) != "[2 4]" {
			t.Errorf("chat/a after 1: %v", positions)
		}
		if st, err := s.Stream(context.Background(), "chat/a"); err != nil || st != (events.StreamInfo{Version: 3, Deciding: 3, Last: 4}) {
			t.Errorf("stream %+v %v", st, err)
		}
	}
	check(s)
	epoch := s.Epoch()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, fs, Options{})
	check(s)
	if s.Epoch() != epoch || len(epoch) != epochSize {
		t.Errorf("epoch %q, was %q", s.Epoch(), epoch)
	}
}

// decided makes a stream with a reply that is open and two chunks of it.
func decided(t *testing.T, s *Store) {
	mustAppend(t, s, one("chat/a", events.Exactly(0), rename("t"), events.New{Payload: events.ReplyRequested{Reply: "r1", Reason: "message"}}))
	mustAppend(t, s, one("chat/a", events.WhileOpen("r1"), chunk("r1", "x"), chunk("r1", "y")))
}

func TestExpectations(t *testing.T) {
	finished := events.New{Payload: events.ReplyFinished{Reply: "r1", Status: events.Complete}}
	for _, c := range []struct {
		name   string
		expect events.Expectation
		news   []events.New
		want   string // of the error
	}{
		{"any", events.Any(), []events.New{rename("x")}, ""},
		{"deciding version", events.Exactly(2), []events.New{rename("x")}, ""},
		{"version of a chunk", events.Exactly(4), []events.New{rename("x")}, "expected version 4, have 2"},
		{"too low", events.Exactly(1), []events.New{rename("x")}, "expected version 1, have 2"},
		{"new stream", events.Exactly(0), []events.New{rename("x")}, "expected version 0, have 2"},
		{"open scope", events.WhileOpen("r1"), []events.New{chunk("r1", "z")}, ""},
		{"finish", events.WhileOpen("r1"), []events.New{finished}, ""},
		{"other scope", events.WhileOpen("r2"), []events.New{chunk("r2", "z")}, "r2 is not open"},
		{"bad scope", events.WhileOpen("\x00"), []events.New{chunk("r2", "z")}, "is not open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, vfs.NewMem(), Options{})
			decided(t, s)
			_, err := s.Append(context.Background(), one("chat/a", c.expect, c.news...))
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.Is(err, events.ErrConflict) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if s.Head() != 4 || len(all(t, s, "", 0)) != 4 {
				t.Errorf("a refused append left something: head %d", s.Head())
			}
		})
	}
}

func TestScopeEndsWithItsReply(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	decided(t, s)
	mustAppend(t, s, one("chat/a", events.Any(), events.New{Payload: events.ReplyFinished{Reply: "r1", Status: events.Stopped}}))
	for range 2 { // also after a restart
		if _, err := s.Append(context.Background(), one("chat/a", events.WhileOpen("r1"), chunk("r1", "late"))); !errors.Is(err, events.ErrConflict) {
			t.Fatalf("late chunk: %v", err)
		}
		_ = s.Close()
		s = open(t, fs, Options{})
	}
}

func TestAllPartsOrNone(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	mustAppend(t, s, one("chat/a", events.Any(), rename("x")))
	_, err := s.Append(context.Background(), events.Batch{Actor: person, Parts: []events.Part{
		{Stream: "chat/b", Expect: events.Exactly(0), Events: []events.New{rename("x")}},
		{Stream: "chat/a", Expect: events.Exactly(0), Events: []events.New{rename("x")}},
	}, Puts: []events.Put{{Space: "vault", Key: []byte("k"), Value: []byte("v")}}})
	if !errors.Is(err, events.ErrConflict) || s.Head() != 1 {
		t.Fatalf("error %v, head %d", err, s.Head())
	}
	if _, err := s.Keyspace("vault").Get([]byte("k")); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("put of a refused append: %v", err)
	}
	// A part without events only guards.
	mustAppend(t, s, events.Batch{Actor: person, Parts: []events.Part{
		{Stream: "chat/b", Expect: events.Exactly(0), Events: []events.New{rename("x")}},
		{Stream: "chat/a", Expect: events.Exactly(1)},
	}, Puts: []events.Put{{Space: "vault", Key: []byte("k"), Value: []byte("v")}}})
	if v, err := s.Keyspace("vault").Get([]byte("k")); err != nil || string(v) != "v" {
		t.Errorf("put: %q %v", v, err)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	b := one("chat/a", events.Exactly(0), rename("x"))
	b.Key, b.KeyBody, b.Outcome = "key", []byte("body"), json.RawMessage(`{"id":"a"}`)
	first := mustAppend(t, s, b)
	for range 2 { // also after a restart
		again := mustAppend(t, s, b)
		if !again.Repeated || again.First != first.First || again.Last != first.Last || string(again.Outcome) != `{"id":"a"}` ||
			again.Streams["chat/a"] != first.Streams["chat/a"] || !again.Time.Equal(first.Time) {
			t.Errorf("repeated %+v, first %+v", again, first)
		}
		if got, ok, err := s.Outcome(context.Background(), person, "key"); err != nil || !ok || got.Last != first.Last {
			t.Errorf("outcome %+v %v %v", got, ok, err)
		}
		_ = s.Close()
		s = open(t, fs, Options{})
	}
	other := b
	other.KeyBody = []byte("other")
	var reused *events.KeyReusedError
	if _, err := s.Append(context.Background(), other); !errors.As(err, &reused) {
		t.Errorf("other body: %v", err)
	}
	b.Actor.ID = "u2" // keys are scoped to the actor
	if _, err := s.Append(context.Background(), b); !errors.Is(err, events.ErrConflict) || errors.As(err, &reused) {
		t.Errorf("other actor: %v", err)
	}
	if _, ok, err := s.Outcome(context.Background(), events.Actor{Kind: events.Person, ID: "u2"}, "key"); ok || err != nil {
		t.Errorf("a refused append kept its key: %v", err)
	}
	if s.Head() != 1 {
		t.Errorf("head %d", s.Head())
	}
}

func TestConcurrentWriters(t *testing.T) {
	const writers, each = 64, 20
	s := open(t, vfs.NewMem(), Options{})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				stream := fmt.Sprintf("chat/%d", w%8)
				if _, err := s.Append(context.Background(), one(stream, events.Any(), rename(fmt.Sprint(w, i)))); err != nil {
					t.Error(err)
				}
				b := one("shared", events.Any(), rename("k"))
				b.Key = fmt.Sprint("key", i) // all writers ask for the same
				if _, err := s.Append(context.Background(), b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := all(t, s, "", 0)
	if len(got) != writers*each+each {
		t.Fatalf("%d events", len(got))
	}
	versions := map[string]events.Version{}
	for i, e := range got {
		versions[e.Stream]++
		if e.Position != events.Position(i+1) || e.Version != versions[e.Stream] {
			t.Fatalf("event %d: position %d, version %d of %s", i, e.Position, e.Version, e.Stream)
		}
	}
	if versions["shared"] != each {
		t.Errorf("idempotent appends: %d", versions["shared"])
	}
}

func TestWaitStreamWakesItsOwn(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	ctx, cancel := context.WithCancel(context.Background())
	woken := make(chan string)
	for _, stream := range []string{"chat/a", "chat/b"} {
		go func() {
			err := s.WaitStream(ctx, stream, 0)
			woken <- fmt.Sprint(stream, " ", err)
		}()
	}
	mustAppend(t, s, one("chat/b", events.Any(), rename("x")))
	if got := <-woken; got != "chat/b <nil>" {
		t.Fatal(got)
	}
	cancel()
	if got := <-woken; got != "chat/a wait for chat/a: context canceled" {
		t.Fatal(got)
	}
	if len(s.waiters.streams) != 0 {
		t.Errorf("%d signals are left", len(s.waiters.streams))
	}
	if err := s.Wait(context.Background(), 0); err != nil {
		t.Error(err)
	}
}

func TestCloseEndsWaits(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	errs := make(chan error)
	go func() { errs <- s.Wait(context.Background(), 0) }()
	go func() { errs <- s.WaitStream(context.Background(), "chat/a", 0) }()
	_ = s.Close()
	for range 2 {
		if err := <-errs; !errors.Is(err, events.ErrClosed) {
			t.Errorf("wait: %v", err)
		}
	}
	if _, err := s.Append(context.Background(), one("chat/a", events.Any(), rename("x"))); !errors.Is(err, events.ErrClosed) {
		t.Errorf("append: %v", err)
	}
	for _, err := range s.Read(context.Background(), 0) {
		t.Errorf("read: %v", err)
	}
	if _, err := s.Keyspace("x").Get(nil); !errors.Is(err, events.ErrClosed) {
		t.Errorf("get: %v", err)
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	fs := vfs.NewMem()
	s := open(t, fs, Options{Now: func() time.Time { return at }})
	first := mustAppend(t, s, one("chat/a", events.Any(), rename("x")))
	_ = s.Close()
	at = at.Add(-time.Hour)
	s = open(t, fs, Options{Now: func() time.Time { return at }})
	if r := mustAppend(t, s, one("chat/a", events.Any(), rename("y"))); !r.Time.Equal(first.Time) {
		t.Errorf("time went from %v to %v", first.Time, r.Time)
	}
	if r := mustAppend(t, s, one("chat/b", events.Any(), rename("y"))); !r.Time.Equal(at) {
		t.Errorf("another stream: %v, clock %v", r.Time, at)
	}
}

func TestReadFilter(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	const n = 5000 // several chunks
	for i := range n / 100 {
		news := make([]events.New, 100)
		for j := range news {
			news[j] = rename("x")
			if j == 7 {
				news[j] = events.New{Payload: events.ChatPinned{Pinned: true}}
			}
		}
		mustAppend(t, s, one(fmt.Sprint("chat/", i%3), events.Any(), news...))
	}
	got := 0
	for e, err := range s.ReadFilter(context.Background(), 150, func(typ, stream string) bool {
		return typ == "chat.pinned" && stream == "chat/1"
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Position%100 != 8 || e.Stream != "chat/1" {
			t.Errorf("event %d of %s", e.Position, e.Stream)
		}
		got++
	}
	if got != 16 { // batches 4, 7 … 49 of those after the second
		t.Errorf("%d events", got)
	}
}

func TestReadPastTheHead(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	mustAppend(t, s, one("chat/a", events.Any(), rename("x"), rename("y")))
	for _, after := range []events.Position{2, 3, ^events.Position(0)} {
		if n := len(all(t, s, "", after)) + len(all(t, s, "chat/a", after)); n != 0 {
			t.Errorf("%d events after %d", n, after)
		}
	}
}

func TestReadStopsWhereTheReaderDoes(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	for range 10 {
		mustAppend(t, s, one("chat/a", events.Any(), many(1000, rename("x"))...))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, stop := range []int{1, 64, 65, 3000, 9999} {
		n := 0
		for range s.Read(ctx, 0) {
			if n++; n == stop {
				break
			}
		}
		for range s.ReadStream(ctx, "chat/a", 0) {
			if n++; n == 2*stop {
				break
			}
		}
		if n != 2*stop {
			t.Errorf("%d events, want %d twice", n, stop)
		}
	}
	n := 0
	for _, err := range s.Read(ctx, 0) {
		if n++; n == 3000 {
			cancel()
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if n == 3000 || n > 9000 {
		t.Errorf("a cancelled read gave %d events", n)
	}
}

// Large events end a chunk early; the rest of its positions still comes first.
func TestReadLargeEventsInOrder(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	mustAppend(t, s, one("chat/a", events.Any(), many(100, rename("x"))...))
	for i := range 24 {
		mustAppend(t, s, one("chat/a", events.Any(), rename(strings.Repeat("x", 100_000*(1+i%5)))))
	}
	mustAppend(t, s, one("chat/a", events.Any(), many(5000, rename("x"))...))
	for _, stream := range []string{"", "chat/a"} {
		got := all(t, s, stream, 0)
		if len(got) != 5124 {
			t.Fatalf("%d events", len(got))
		}
		for i, e := range got {
			if e.Position != events.Position(i+1) {
				t.Fatalf("event %d has position %d", i+1, e.Position)
			}
		}
	}
}
