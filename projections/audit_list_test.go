package projections_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
	"lembas/events/store"
	"lembas/projections"
)

// manyRows appends n sign-ins over 40 people, several in a batch, at times that
// go on a minute an event and jump back now and then.
func manyRows(t testing.TB, n int) (*store.Store, *projections.Set) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	st, err := store.Open("data", store.Options{FS: vfs.NewMem(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	for done := 0; done < n; {
		u := fmt.Sprint("u", rng.IntN(40))
		var payloads []events.Payload
		for range min(25, n-done) {
			payloads = append(payloads, events.UserSignInFailed{Address: "192.0.2.1"})
		}
		done += len(payloads)
		as(t, st, events.Actor{Kind: events.System, ID: "lembas"}, events.UserStream(u), payloads...)
		if now = now.Add(25 * time.Minute); rng.IntN(50) == 0 {
			now = now.Add(-9 * time.Hour)
		}
	}
	set := openSet(t, st)
	catchUp(t, set)
	return st, set
}

// falling gives the next cursor, and ends a test whose pages would go on for
// ever.
func falling(t *testing.T, cursor, next string) string {
	t.Helper()
	if next == "" {
		return next
	}
	at, err := strconv.ParseUint(next, 10, 64)
	if was, _ := strconv.ParseUint(cursor, 10, 64); err != nil || (cursor != "" && at >= was) {
		t.Fatalf("after the cursor %q comes %q", cursor, next)
	}
	return next
}

// A span of time gives the rows of that time and no other, also where the clock
// went back, over several blocks.
func TestAuditSpansOfTime(t *testing.T) {
	st, set := manyRows(t, 14000)
	var all []events.Envelope
	for e, err := range st.Read(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 40 {
		from := all[rng.IntN(len(all))].Time
		q := projections.AuditQuery{From: from, To: from.Add(time.Duration(1+rng.IntN(60)) * time.Hour), Limit: 1000}
		switch i % 4 {
		case 1:
			q.User = "u7"
		case 2:
			q.To = time.Time{}
			q.From = all[len(all)-1-rng.IntN(600)].Time
		case 3:
			q.Type = "user.*"
		}
		var want, got []events.Position
		for k := len(all) - 1; k >= 0; k-- {
			e := &all[k]
			if (q.User == "" || e.Stream == events.UserStream(q.User)) && !e.Time.Before(q.From) && (q.To.IsZero() || e.Time.Before(q.To)) {
				want = append(want, e.Position)
			}
		}
		for {
			rows, next, err := set.Audit.List(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				got = append(got, r.Position)
			}
			if q.Cursor = falling(t, q.Cursor, next); next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d rows, want %d", q, len(got), len(want))
		}
	}
}

// A search that finds little says where it stopped, and goes on from there.
func TestAuditLookIsBounded(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	answer := func(verdict string, n int) (out []events.Payload) {
		for range n {
			out = append(out, events.ConsentAnswered{Consent: "k", Answers: []events.ConsentAnswer{{Key: "1", Verdict: verdict}}})
		}
		return out
	}
	appendTo(t, st, events.ChatStream("c"), answer(events.VerdictAllow, 1)...)
	for range 25 {
		appendTo(t, st, events.ChatStream("c"), answer(events.VerdictDeny, 1000)...)
	}
	set := openSet(t, st)
	catchUp(t, set)
	pages, found := 0, 0
	for q := (projections.AuditQuery{Verdict: events.VerdictAllow}); ; pages++ {
		rows, next, err := set.Audit.List(context.Background(), q)
		if err != nil || pages > 10 {
			t.Fatal(pages, err)
		}
		found += len(rows)
		if next == "" {
			break
		}
		if next == q.Cursor {
			t.Fatal("the cursor stands still at", next)
		}
		q.Cursor = next
	}
	if found != 1 || pages < 1 {
		t.Errorf("%d rows in %d pages that found nothing", found, pages)
	}
}

// BenchmarkAudit reads pages of a trail of a million rows. Measured: see
// docs/status.md.
func BenchmarkAudit(b *testing.B) {
	_, set := manyRows(b, 1_000_000)
	for name, q := range map[string]projections.AuditQuery{
		"newest":      {},
		"one person":  {User: "u7"},
		"own":         {Owner: "u7"},
		"rare type":   {Type: "setting.changed"},
		"rare glob":   {Type: "consent.*"},
		"no such":     {User: "u7", Tool: "fetch"},
		"one hour":    {From: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 7, 1, 1, 0, 0, 0, time.UTC)},
		"by profile":  {Profile: "none"},
		"old, person": {User: "u7", To: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := set.Audit.List(context.Background(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
