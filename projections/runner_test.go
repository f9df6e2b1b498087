package projections_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
	"lembas/events/store"
	"lembas/projections"
)

func names() []string {
	return []string{"sidebar", "accounts", "replies", "windows", "consents", "audit"}
}

// dump is all rows of a projection but its checkpoint.
func dump(t testing.TB, st *store.Store, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for row, err := range st.Keyspace("p/"+name).Iter([]byte("r"), nil) {
		if err != nil {
			t.Fatal(err)
		}
		out[string(row.Key)] = string(row.Value)
	}
	return out
}

func dumps(t testing.TB, st *store.Store) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, name := range names() {
		out[name] = dump(t, st, name)
	}
	return out
}

func wantSameRows(t *testing.T, got, want map[string]map[string]string) {
	t.Helper()
	for _, name := range names() {
		if len(want[name]) == 0 {
			t.Errorf("%s has no rows at all", name)
		}
		if maps.Equal(got[name], want[name]) {
			continue
		}
		for k, v := range want[name] {
			if got[name][k] != v {
				t.Errorf("%s %q\n got %s\nwant %s", name, k, got[name][k], v)
			}
		}
		for k := range got[name] {
			if _, ok := want[name][k]; !ok {
				t.Errorf("%s %q should not be there", name, k)
			}
		}
	}
}

// Rows that grew event by event, over restarts, are the bytes that one pass over
// the log makes.
func TestRebuiltIsIncremental(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			st := openStore(t, vfs.NewMem())
			set := openSet(t, st)
			h := newHistory(t, st, 100+seed)
			for range 500 {
				h.step()
				switch h.rng.IntN(20) {
				case 0:
					set = openSet(t, st) // a restart: the checkpoints may lag
				case 1, 2, 3, 4, 5:
					catchUp(t, set)
				}
			}
			catchUp(t, set)
			grown := dumps(t, st)
			for _, name := range names() {
				if err := st.DropKeyspace("p/" + name); err != nil {
					t.Fatal(err)
				}
			}
			catchUp(t, openSet(t, st))
			wantSameRows(t, dumps(t, st), grown)
		})
	}
}

// After a crash that loses some or all of what was not synced, rows and
// checkpoint still belong together: going on gives the same rows.
func TestCrashInMidway(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			st := openStore(t, fs)
			h := newHistory(t, st, 200+seed)
			set := openSet(t, st)
			for i := range 200 {
				h.step()
				if h.rng.IntN(4) > 0 {
					continue
				}
				catchUp(t, set)
				if i > 60 && h.rng.IntN(3) == 0 {
					crash(t, fs, dumps(t, st), seed)
				}
			}
		})
	}
}

func crash(t *testing.T, fs *vfs.MemFS, want map[string]map[string]string, seed uint64) {
	t.Helper()
	image := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed * 40), RNG: rand.New(rand.NewPCG(seed, 9))})
	st, err := store.Open("data", store.Options{FS: image})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	catchUp(t, openSet(t, st))
	wantSameRows(t, dumps(t, st), want)
}

// counter is a projection that counts renames, with a row for each besides.
type counter struct {
	version int
	fail    *events.Position
	seen    *[]events.Position
}

func (c counter) Name() string    { return "counter" }
func (c counter) Version() int    { return c.version }
func (c counter) Types() []string { return []string{"chat.renamed"} }
func (c counter) Apply(_ context.Context, tx *projections.Tx, e *events.Envelope, p events.Payload) error {
	if c.fail != nil && e.Position == *c.fail {
		return errors.New("boom")
	}
	n, err := tx.Get([]byte("n"))
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return err
	}
	tx.Set([]byte("n"), append(bytes.Clone(n), '|'))
	*c.seen = append(*c.seen, e.Position)
	key := fmt.Appendf(nil, "v%d-%03d", c.version, e.Position)
	tx.Set(key, []byte(p.(events.ChatRenamed).Title))
	return nil
}

func rename(t testing.TB, st *store.Store, n int) {
	for i := range n {
		appendTo(t, st, events.ChatStream("c"), events.ReplyNudged{}, events.ChatRenamed{Title: fmt.Sprint(i)})
	}
}

func newRunner(t *testing.T, st *store.Store, ps ...projections.Projection) *projections.Runner {
	t.Helper()
	r, err := projections.NewRunner(st, ps...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRaisedVersionRebuilds(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	rename(t, st, 3)
	var seen []events.Position
	run := func(version int) {
		t.Helper()
		seen = nil
		if err := newRunner(t, st, counter{version: version, seen: &seen}).CatchUp(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	run(1)
	run(1)
	if len(seen) > 0 {
		t.Errorf("events %v counted twice", seen)
	}
	run(2)
	if len(seen) != 3 {
		t.Errorf("rebuilt from %d events", len(seen))
	}
	rows := dump(t, st, "counter")
	if len(rows) != 4 || rows["rv2-006"] != "2" || rows["rn"] != "|||" {
		t.Errorf("rows %v", rows)
	}
}

// What an event that failed left half done is not written, and Await says so.
func TestFailureStops(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	rename(t, st, 3)
	var seen []events.Position
	fail := events.Position(4)
	r := newRunner(t, st, counter{version: 1, fail: &fail, seen: &seen})
	if err := r.Run(context.Background()); err == nil || errors.Is(err, events.ErrClosed) {
		t.Fatalf("Run ended with %v", err)
	}
	if err := r.Await(context.Background(), 6); err == nil {
		t.Error("Await after a failure returned")
	}
	if rows := dump(t, st, "counter"); len(rows) != 0 {
		t.Errorf("rows of a pass that failed: %v", rows)
	}
	fail = 0
	if err := r.CatchUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := dump(t, st, "counter")["rn"]; n != "|||" {
		t.Errorf("3 events were counted as %d", len(n))
	}
}

func TestAwaitReadsOwnWrites(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- set.Run(ctx) }()
	h := newHistory(t, st, 1)
	h.user()
	for range 20 {
		h.create()
		if err := set.Await(ctx, st.Head()); err != nil {
			t.Fatal(err)
		}
		if n, err := set.Sidebar.Count(); err != nil || n != len(h.chats) {
			t.Fatalf("%d of %d chats, %v", n, len(h.chats), err)
		}
	}
	short, stop := context.WithCancel(ctx)
	stop()
	if err := set.Await(short, st.Head()+1); !errors.Is(err, context.Canceled) {
		t.Errorf("Await gave %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := set.Await(context.Background(), st.Head()+1); !errors.Is(err, events.ErrClosed) {
		t.Errorf("Await after the end gave %v", err)
	}
	// The checkpoints were saved: a new set stands at the head.
	if p := openSet(t, st).Position(); p != st.Head() {
		t.Errorf("stands at %d of %d", p, st.Head())
	}
}

// One projection that is new must not make the others count again.
func TestNewProjectionBesideOld(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	rename(t, st, 5)
	var seen []events.Position
	if err := newRunner(t, st, counter{version: 1, seen: &seen}).CatchUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	rename(t, st, 1)
	r := newRunner(t, st, counter{version: 1, seen: &seen}, projections.NewSidebar(st))
	if err := r.CatchUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 6 {
		t.Errorf("%d events counted, want 6", len(seen))
	}
}

// BenchmarkRebuild gives events per second for a log that is mostly chunks.
func BenchmarkRebuild(b *testing.B) {
	st := openStore(b, vfs.NewMem())
	longLog(b, st, 200_000)
	for _, which := range []string{"lists", "all"} {
		b.Run(which, func(b *testing.B) {
			for b.Loop() {
				for _, name := range names() {
					_ = st.DropKeyspace("p/" + name)
				}
				ps := []projections.Projection{projections.NewSidebar(st), projections.NewAccounts(st), projections.NewReplies(st)}
				if which == "all" {
					ps = append(ps, projections.NewWindows(st))
				}
				r, err := projections.NewRunner(st, ps...)
				if err == nil {
					err = r.CatchUp(context.Background())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(st.Head())*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// longLog has replies of 100 chunks in many chats.
func longLog(b *testing.B, st *store.Store, n int) {
	for i := 0; st.Head() < events.Position(n); i++ {
		chat := fmt.Sprint("c", i%2000)
		m, r := fmt.Sprint("m", i), fmt.Sprint("r", i)
		var out []events.Payload
		if i < 2000 {
			out = append(out, events.ChatCreated{Chat: chat, Owner: fmt.Sprint("u", i%50), Title: "t"})
		}
		out = append(out, events.MessageSubmitted{Message: m, Text: "question"}, events.ReplyRequested{Reply: r, Message: m},
			events.RoundStarted{Reply: r, Round: 1, Request: []byte(`{"model":"m","messages":[{"role":"user","content":"question"}]}`)})
		for range 100 {
			out = append(out, events.ReplyChunk{Reply: r, Round: 1, Kind: events.ChunkContent, Text: " and so it goes", Cuts: [][2]int64{{0, 12}, {4, 15}}})
		}
		out = append(out, events.RoundFinished{Reply: r, Round: 1}, events.ReplyFinished{Reply: r, Status: events.Complete})
		appendTo(b, st, events.ChatStream(chat), out...)
	}
}
