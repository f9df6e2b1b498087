package store

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

func raw(change func(*events.Envelope)) events.New {
	e := events.Envelope{Type: "chat.renamed", TypeVersion: 1, Time: time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC),
		Actor: events.Actor{Kind: "model", ID: "m"}, Correlation: "old", Causation: "older", Data: json.RawMessage(`{"title": "kept  as it came"}`)}
	if change != nil {
		change(&e)
	}
	return events.New{Raw: &e}
}

func TestWhatAppendRefuses(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	long := strings.Repeat("x", MaxName+1)
	for name, c := range map[string]struct {
		b  events.Batch
		is error
	}{
		"no events":         {one("chat/a", events.Any()), events.ErrInvalid},
		"no parts":          {events.Batch{Actor: person}, events.ErrInvalid},
		"no actor":          {events.Batch{Parts: one("chat/a", events.Any(), rename("x")).Parts}, events.ErrInvalid},
		"no stream":         {one("", events.Any(), rename("x")), events.ErrInvalid},
		"NUL in a stream":   {one("chat/\x00", events.Any(), rename("x")), events.ErrInvalid},
		"bad UTF-8":         {one("chat/\xff", events.Any(), rename("x")), events.ErrInvalid},
		"long stream":       {one(long, events.Any(), rename("x")), events.ErrTooLarge},
		"nothing for event": {one("chat/a", events.Any(), events.New{}), events.ErrInvalid},
		"unknown payload":   {one("chat/a", events.Any(), events.New{Payload: events.Unknown{}}), events.ErrInvalid},
		"large payload":     {one("chat/a", events.Any(), rename(strings.Repeat("x", MaxPayload))), events.ErrTooLarge},
		"large batch":       {one("chat/a", events.Any(), many(5, rename(strings.Repeat("x", MaxPayload-100)))...), events.ErrTooLarge},
		"stream twice": {events.Batch{Actor: person, Parts: []events.Part{{Stream: "a", Events: many(1, rename("x"))},
			{Stream: "a", Events: many(1, rename("x"))}}}, events.ErrInvalid},
		"long key":         {with(func(b *events.Batch) { b.Key = long }), events.ErrTooLarge},
		"long body":        {with(func(b *events.Batch) { b.Key, b.KeyBody = "k", make([]byte, 65) }), events.ErrTooLarge},
		"large outcome":    {with(func(b *events.Batch) { b.Outcome = make([]byte, MaxOutcome+1) }), events.ErrTooLarge},
		"bad keyspace":     {with(func(b *events.Batch) { b.Puts = []events.Put{{Space: "\x00"}} }), events.ErrInvalid},
		"large puts":       {with(func(b *events.Batch) { b.Puts = []events.Put{{Space: "x", Value: make([]byte, MaxPuts+1)}} }), events.ErrTooLarge},
		"raw not JSON":     {one("a", events.Any(), raw(func(e *events.Envelope) { e.Data = []byte("{") })), events.ErrInvalid},
		"raw not UTF-8":    {one("a", events.Any(), raw(func(e *events.Envelope) { e.Data = []byte("\"\xff\"") })), events.ErrInvalid},
		"raw without time": {one("a", events.Any(), raw(func(e *events.Envelope) { e.Time = time.Time{} })), events.ErrInvalid},
		"raw version 0":    {one("a", events.Any(), raw(func(e *events.Envelope) { e.TypeVersion = 0 })), events.ErrInvalid},
		"raw type":         {one("a", events.Any(), raw(func(e *events.Envelope) { e.Type = "" })), events.ErrInvalid},
		"raw out of order": {one("a", events.Any(), raw(func(e *events.Envelope) { e.Version = 2 })), events.ErrInvalid},
		"raw back in time": {one("a", events.Any(), rename("x"), raw(nil)), events.ErrInvalid},
	} {
		if _, err := s.Append(context.Background(), c.b); !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.Head() != 0 {
		t.Errorf("head %d", s.Head())
	}
}

func many(n int, e events.New) []events.New {
	var out []events.New
	for range n {
		out = append(out, e)
	}
	return out
}

func with(f func(*events.Batch)) events.Batch {
	b := one("chat/a", events.Any(), rename("x"))
	f(&b)
	return b
}

func TestImportedEventsStayAsTheyWere(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	mustAppend(t, s, one("chat/a", events.Exactly(0), raw(func(e *events.Envelope) { e.Version = 1 }),
		raw(func(e *events.Envelope) { e.Type, e.TypeVersion = "future.thing", 9 }), rename("now")))
	got := all(t, s, "chat/a", 0)
	want := `{"position":1,"stream":"chat/a","version":1,"type":"chat.renamed","type_version":1,"time":"2020-01-02T03:04:05.000006Z",` +
		`"actor":{"kind":"model","id":"m"},"correlation":"old","causation":"older","data":{"title": "kept  as it came"}}`
	if line := string(got[0].AppendJSON(nil)); line != want {
		t.Errorf("\n%s\nwant\n%s", line, want)
	}
	if got[1].Type != "future.thing" || got[1].TypeVersion != 9 || got[2].Actor != person {
		t.Errorf("%+v", got[1:])
	}
	if st, _ := s.Stream(context.Background(), "chat/a"); st.Deciding != 3 {
		t.Errorf("an unknown type may decide: %+v", st)
	}
}

func TestNewerTypesThatPermit(t *testing.T) {
	for _, c := range []struct {
		name, typ string
		version   int
		record    *typeRecord // as a newer binary leaves it
		says      string      // "" opens
	}{
		{"unknown type", "future.thing", 3, nil, ""},
		{"newer version that permits nothing", "chat.renamed", 2, nil, ""},
		{"newer version of a consent", "consent.answered", 2, nil, "consent.answered version 2"},
		{"unknown type that permits", "delegation.given", 1, &typeRecord{1, true, "0.9"}, "lembas 0.9 or later"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem()
			s := open(t, fs, Options{})
			mustAppend(t, s, one("chat/a", events.Any(), raw(func(e *events.Envelope) { e.Type, e.TypeVersion = c.typ, c.version })))
			_ = s.Close()
			if c.record != nil {
				fs = tamper(t, files(t, fs, "data"), func(b *pebble.Batch, _ *pebble.DB) { _ = b.Set(typeKey(nil, c.typ), c.record.append(nil), nil) })
			}
			s, err := Open("data", Options{FS: fs})
			if c.says != "" {
				if !errors.Is(err, events.ErrNewer) || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := all(t, s, "", 0); got[0].Type != c.typ || string(got[0].Data) != `{"title": "kept  as it came"}` {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestLowWater(t *testing.T) {
	fs := vfs.NewMem()
	free := int64(100 << 20)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { at = at.Add(time.Second); return at }
	s := open(t, fs, Options{Now: clock, LowWater: 16 << 20, Ballast: 2 << 20, FreeSpace: func() (int64, error) { return free, nil }})
	ballast := func() bool { _, err := fs.Stat("data/ballast"); return err == nil }
	try := func() error {
		_, err := s.Append(context.Background(), one("chat/a", events.Any(), rename("x")))
		return err
	}
	for _, c := range []struct {
		free              int64
		readOnly, ballast bool
	}{{100, false, true}, {16, false, true}, {15, true, false}, {17, true, false}, {19, true, false}, {20, false, true}, {17, false, true}} {
		free = c.free << 20
		err := try()
		if errors.Is(err, events.ErrReadOnly) != c.readOnly || (err != nil) != c.readOnly {
			t.Errorf("%d MiB free: %v", c.free, err)
		}
		ro, reason := s.ReadOnly()
		if ro != c.readOnly || (reason != "") != c.readOnly || ballast() != c.ballast {
			t.Errorf("%d MiB free: read-only %v %q, ballast %v", c.free, ro, reason, ballast())
		}
	}
	if ro, reason := s.ReadOnly(); ro {
		t.Error(reason)
	}
	free = 1 << 20
	if err := try(); !strings.Contains(err.Error(), "1 MiB free") {
		t.Errorf("reason: %v", err)
	}
	if got := all(t, s, "", 0); len(got) != 4 { // reading goes on
		t.Errorf("%d events", len(got))
	}
	_ = s.Close()
	s = open(t, fs, Options{LowWater: 16 << 20, FreeSpace: func() (int64, error) { return free, nil }})
	if err := try(); !errors.Is(err, events.ErrReadOnly) {
		t.Errorf("opened with a full disk: %v", err)
	}
}

func TestSnapshots(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	mustAppend(t, s, one("chat/a", events.Any(), rename("x"), rename("y")))
	if err := s.PutSnapshot("chat/a", "transcript", 3, 2, []byte("fold")); err != nil {
		t.Fatal(err)
	}
	if at, data, err := s.Snapshot("chat/a", "transcript", 3); at != 2 || string(data) != "fold" || err != nil {
		t.Errorf("%d %q %v", at, data, err)
	}
	for _, c := range []struct {
		stream, name string
		version      int
	}{{"chat/a", "transcript", 4}, {"chat/a", "other", 3}, {"chat/", "transcript", 3}} {
		if _, _, err := s.Snapshot(c.stream, c.name, c.version); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := s.PutSnapshot("chat/a", "transcript", 3, 3, nil); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("snapshot of the future: %v", err)
	}
}
