package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"lembas/events"
	"lembas/projections"
)

// shelf is an open directory with cards, and what expires them.
type shelf struct {
	t   testing.TB
	dir string
	app *app
	set *projections.Set
	x   *expirer
}

func newShelf(t testing.TB) *shelf {
	t.Helper()
	s := &shelf{t: t, dir: t.TempDir()}
	s.open()
	t.Cleanup(func() { must(t, s.app.close()) })
	return s
}

func (s *shelf) open() {
	s.t.Helper()
	s.app = openTest(s.t, s.dir)
	var err error
	s.set, err = projections.Open(s.app.log)
	must(s.t, err)
	s.x = &expirer{service: s.app.service, log: s.app.log, cards: s.set, logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// restart is a new process after the old one ended.
func (s *shelf) restart() {
	s.t.Helper()
	must(s.t, s.app.close())
	s.open()
}

// put puts up a card that began at a time, as the log has it, and that ends at
// another; no end is one that does not expire.
func (s *shelf) put(card string, since time.Time, expires string) {
	s.t.Helper()
	var all []events.New
	for _, p := range []events.Payload{
		events.ChatCreated{Chat: card, Owner: "ann", Kind: events.KindChat, Model: "m"},
		events.MessageSubmitted{Message: "q", Text: "x", Attachments: []events.Attachment{}},
		events.ReplyRequested{Reply: "r", Message: "q", Reason: events.ForMessage, Model: "m"},
		events.ReplyStarted{Reply: "r", Model: "m"}, events.RoundStarted{Reply: "r", Round: 1, Request: events.RawJSON("{}")},
		events.ConsentRequested{Consent: card, Reply: "r", Round: 1, Kind: events.ConsentApproval, Items: []events.ConsentItem{}, Expires: expires},
	} {
		data, err := json.Marshal(p)
		must(s.t, err)
		all = append(all, events.New{Raw: &events.Envelope{Type: p.EventType(), TypeVersion: 1, Time: since, Actor: events.Actor{Kind: events.System, ID: "lembas"}, Data: data}})
	}
	_, err := s.app.log.Append(s.t.Context(), events.Batch{Actor: events.Actor{Kind: events.System, ID: "lembas"},
		Parts: []events.Part{{Stream: events.ChatStream(card), Expect: events.Any(), Events: all}}})
	must(s.t, err)
}

// look is the expirer's, with lists that have everything.
func (s *shelf) look(passed time.Duration) time.Duration {
	s.t.Helper()
	must(s.t, s.set.CatchUp(s.t.Context()))
	next, err := s.x.look(s.t.Context(), passed)
	must(s.t, err)
	must(s.t, s.set.CatchUp(s.t.Context()))
	return next
}

// waits says which cards wait.
func (s *shelf) waits() map[string]bool {
	s.t.Helper()
	open, err := s.set.Consents.Open(s.t.Context())
	must(s.t, err)
	out := map[string]bool{}
	for _, c := range open {
		out[c.Consent] = true
	}
	return out
}

func rfc(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// TestTimeThatCountsForACard: only what passed while a server ran. What clocks
// say between, and how long no server ran, counts nothing; a restart keeps what
// was waited.
func TestTimeThatCountsForACard(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	type step struct {
		restart bool
		passed  time.Duration
		waits   bool
	}
	for name, tc := range map[string]struct {
		since, expires time.Time
		steps          []step
	}{
		"its time":                          {now, now.Add(time.Hour), []step{{false, 0, true}, {false, 59 * time.Minute, true}, {false, time.Minute, false}}},
		"time before it was there":          {now, now.Add(time.Hour), []step{{false, 90 * time.Minute, true}, {false, 59 * time.Minute, true}, {false, time.Minute, false}}},
		"the clock went on by days":         {now.AddDate(0, 0, -9), now.AddDate(0, 0, -8), []step{{false, 0, true}, {false, 23 * time.Hour, true}, {false, time.Hour, false}}},
		"the clock went back by days":       {now.AddDate(0, 0, 9), now.AddDate(0, 0, 9).Add(time.Hour), []step{{false, 0, true}, {false, time.Hour, false}}},
		"an end before its beginning":       {now, now.AddDate(0, 0, -2), []step{{false, 0, true}, {false, 23 * time.Hour, true}, {false, time.Hour, false}}},
		"no server ran for days":            {now.AddDate(0, 0, -9), now.AddDate(0, 0, -9).Add(time.Hour), []step{{false, 0, true}, {true, 0, true}, {true, 0, true}, {false, 59 * time.Minute, true}}},
		"a restart keeps what was waited":   {now, now.Add(time.Hour), []step{{false, 0, true}, {false, 40 * time.Minute, true}, {true, 0, true}, {false, 19 * time.Minute, true}, {false, time.Minute, false}}},
		"two restarts keep what was waited": {now, now.Add(time.Hour), []step{{false, 0, true}, {false, 40 * time.Minute, true}, {true, 0, true}, {false, 15 * time.Minute, true}, {true, 0, true}, {false, 5 * time.Minute, false}}},
		"the shortest":                      {now, now.Add(time.Minute), []step{{false, 0, true}, {false, 59 * time.Second, true}, {false, time.Second, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.put("card", tc.since, rfc(tc.expires))
			for i, st := range tc.steps {
				if st.restart {
					s.restart()
				}
				next := s.look(st.passed)
				if got := s.waits()["card"]; got != st.waits {
					t.Fatalf("step %d: waits %t, want %t", i, got, st.waits)
				}
				if st.waits && (next <= 0 || next > time.Minute) {
					t.Errorf("step %d: the next look is in %v", i, next)
				}
			}
		})
	}
}

// TestWhatExpiresIsTheCardAlone: a card's end leaves others alone; one without a
// time never ends; what an answer closed is not ended again, and nothing is kept
// of what is over.
func TestWhatExpiresIsTheCardAlone(t *testing.T) {
	s := newShelf(t)
	now := time.Now()
	s.put("short", now, rfc(now.Add(5*time.Minute)))
	s.put("long", now, rfc(now.Add(time.Hour)))
	s.put("ever", now, "")
	s.look(0)
	if next := s.look(299 * time.Second); next > time.Second {
		t.Errorf("a second before a card's end the next look is in %v", next)
	}
	s.look(time.Second)
	s.look(0)
	if got := s.waits(); got["short"] || !got["long"] || !got["ever"] {
		t.Errorf("%v wait", got)
	}
	for e, err := range s.app.log.ReadStream(t.Context(), events.ChatStream("short"), 0) {
		must(t, err)
		if e.Type == "consent.expired" && (e.Actor.Kind != events.System || payload[events.ConsentExpired](t, e.AppendJSON(nil)).Consent != "short") {
			t.Errorf("%s by %+v", e.Data, e.Actor)
		}
	}
	must(t, s.app.service.ExpireConsent(t.Context(), "short", "short")) // closed: nothing to do
	seen := 0
	for e, err := range s.app.log.ReadStream(t.Context(), events.ChatStream("short"), 0) {
		must(t, err)
		if e.Type == "consent.expired" {
			seen++
		}
	}
	kept := []string{}
	for row, err := range s.app.log.Keyspace(expirySpace).Iter(nil, nil) {
		must(t, err)
		kept = append(kept, string(row.Key))
	}
	if seen != 1 || fmt.Sprint(kept) != "[long]" {
		t.Errorf("it expired %d times; kept of %q", seen, kept)
	}
}
