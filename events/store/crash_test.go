package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"lembas/events"
)

// torture is how many images or faults the long form of a test should try;
// LEMBAS_TORTURE sets it.
func torture(t *testing.T, ordinary int) int {
	t.Helper()
	v := os.Getenv("LEMBAS_TORTURE")
	if v == "" {
		return ordinary
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("LEMBAS_TORTURE: %v", err)
	}
	return n
}

// work is what the crash tests let a store do: three writers on streams of
// their own and one in common, and a projection that follows.
type work struct {
	seed uint64
	mu   sync.Mutex // guards acks
	acks map[events.Position]string
}

func (w *work) acked() map[events.Position]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := make(map[events.Position]string, len(w.acks))
	for k, v := range w.acks {
		m[k] = v
	}
	return m
}

func (w *work) run(s *Store) {
	var wg sync.WaitGroup
	for writer := range 3 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(w.seed, uint64(writer)))
			for i := range 12 {
				if w.append(s, r, writer, i) != nil {
					return
				}
				if writer == 0 && project(s) != nil {
					return
				}
			}
		})
	}
	wg.Wait()
}

// append adds one to three events of two streams and a put; the title says
// which they are.
func (w *work) append(s *Store, r *rand.Rand, writer, i int) error {
	b := events.Batch{Actor: person, Parts: []events.Part{{Stream: fmt.Sprint("chat/", writer)}, {Stream: "shared"}}}
	b.Key = fmt.Sprint(writer, "/", i)
	b.Puts = []events.Put{{Space: "vault", Key: []byte(b.Key), Value: []byte(b.Key)}}
	var titles []string
	for p := range b.Parts {
		for n := range 1 + r.IntN(2) {
			title := fmt.Sprint(b.Key, " ", p, n, " ", strings.Repeat("x", r.IntN(2000)))
			titles = append(titles, title)
			b.Parts[p].Events = append(b.Parts[p].Events, rename(title))
		}
	}
	if r.IntN(4) == 0 { // the head is synced with it
		b.Parts[1].Events = append(b.Parts[1].Events, events.New{Payload: events.ConsentExpired{Consent: b.Key}})
		titles = append(titles, "")
	}
	res, err := s.Append(context.Background(), b)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for n, title := range titles {
		w.acks[res.First+events.Position(n)] = title
	}
	return nil
}

// project applies what is new to a row per stream, the number of its events,
// and moves the checkpoint in the same batch.
func project(s *Store) error {
	k := s.Keyspace("p/count/1")
	number := func(key string) uint64 {
		v, err := k.Get([]byte(key))
		if err != nil {
			return 0
		}
		return binary.BigEndian.Uint64(v)
	}
	at := number("checkpoint")
	counts := map[string]uint64{}
	for e, err := range s.Read(context.Background(), events.Position(at)) {
		if err != nil {
			return err
		}
		counts[e.Stream]++
		at = uint64(e.Position)
	}
	b := k.NewBatch()
	for stream, n := range counts {
		b.Set([]byte("n/"+stream), binary.BigEndian.AppendUint64(nil, number("n/"+stream)+n))
	}
	b.Set([]byte("checkpoint"), binary.BigEndian.AppendUint64(nil, at))
	return b.Commit()
}

// survived opens what a crash left and says what is wrong with it.
func (w *work) survived(fs vfs.FS, acked map[events.Position]string) error {
	s, err := Open("data", Options{FS: fs})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.Verify(context.Background(), nil); err != nil {
		return err
	}
	var head events.Position
	counts := map[string]uint64{}
	checkpoint, _ := s.Keyspace("p/count/1").Get([]byte("checkpoint"))
	for e, err := range s.Read(context.Background(), 0) {
		if err != nil {
			return err
		}
		head = e.Position
		p, err := events.Decode(&e)
		if err != nil {
			return err
		}
		title := ""
		if r, ok := p.(events.ChatRenamed); ok {
			title = r.Title
		}
		if want, ok := acked[e.Position]; ok && want != title {
			return fmt.Errorf("position %d names another event than it did", e.Position)
		}
		delete(acked, e.Position)
		if key, _, ok := strings.Cut(title, " "); ok { // its whole batch is there
			if _, err := s.Keyspace("vault").Get([]byte(key)); err != nil {
				return fmt.Errorf("put of %s: %w", key, err)
			}
			if r, ok, err := s.Outcome(context.Background(), person, key); !ok || err != nil || r.First > e.Position || r.Last < e.Position {
				return fmt.Errorf("outcome of %s: %v %v", key, r, err)
			}
		}
		if len(checkpoint) == 8 && uint64(e.Position) <= binary.BigEndian.Uint64(checkpoint) {
			counts["n/"+e.Stream]++
		}
	}
	if len(acked) > 0 {
		return fmt.Errorf("%d acknowledged events are lost; the log ends at %d", len(acked), head)
	}
	for row, err := range s.Keyspace("p/count/1").Iter([]byte("n/"), nil) {
		if n := binary.BigEndian.Uint64(row.Value); err != nil || n != counts[string(row.Key)] {
			return fmt.Errorf("projection: %s is %d, rebuilt %d, %v", row.Key, n, counts[string(row.Key)], err)
		}
		delete(counts, string(row.Key))
	}
	if len(counts) > 0 {
		return fmt.Errorf("projection lacks %v", counts)
	}
	r, err := s.Append(context.Background(), one("shared", events.Any(), rename("after")))
	if err != nil || r.Last != head+1 {
		return fmt.Errorf("append after the crash: %d %v", r.Last, err)
	}
	return nil
}

// crashes runs the work once per seed and takes an image of the disk before
// every write, sync, create and rename, keeping 0 to 100 % of what was not
// synced. It gives the number of images and what was wrong with each bad one.
func crashes(t *testing.T, images int, o Options) (tried int, bad []error) {
	t.Helper()
	type image struct {
		fs    *vfs.MemFS
		acked map[events.Position]string
		name  string
	}
	for seed := uint64(1); tried < images; seed++ {
		var mu sync.Mutex // guards taken and rng
		var taken []image
		rng := rand.New(rand.NewPCG(seed, 99))
		mem := vfs.NewCrashableMem()
		w := &work{seed: seed, acks: map[events.Position]string{}}
		o.memTable = 16 << 10 // so that logs rotate and tables are written
		o.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			acked := w.acked() // before the image: all of it must be in it
			percent := []int{0, 25, 50, 75, 100}[len(taken)%5]
			taken = append(taken, image{mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}), acked,
				fmt.Sprintf("seed %d, write %d, %d %% kept", seed, len(taken), percent)})
			return nil
		}))
		s, err := Open("data", o)
		if err != nil {
			t.Fatal(err)
		}
		w.run(s)
		mu.Lock() // and one when all is acknowledged, with nothing kept that was not synced
		taken = append(taken, image{mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: rng}), w.acked(),
			fmt.Sprintf("seed %d, after the last append", seed)})
		mu.Unlock()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, i := range taken {
			if err := w.survived(i.fs, i.acked); err != nil {
				bad = append(bad, fmt.Errorf("%s: %w", i.name, err))
			}
		}
		tried += len(taken)
	}
	return tried, bad
}

func TestCrashAtEveryWrite(t *testing.T) {
	tried, bad := crashes(t, torture(t, 500), Options{})
	for _, err := range bad[:min(len(bad), 10)] {
		t.Error(err)
	}
	t.Logf("%d images, %d bad", tried, len(bad))
}

// The harness must be able to see a missing sync, or it proves nothing. On a
// slow machine the recorded head's own syncs, once a second, may make all of a
// run durable; then it is tried again.
func TestCrashHarnessNoticesMissingSync(t *testing.T) {
	var tried int
	var bad []error
	for range 12 {
		n, found := crashes(t, 200, Options{noSync: true})
		if tried += n; len(found) > 0 {
			bad = found
			break
		}
	}
	if len(bad) == 0 {
		t.Fatalf("%d images without sync and nothing was lost", tried)
	}
	t.Logf("%d of %d images are bad without sync, the first: %v", len(bad), tried, bad[0])
}

// failing runs the work on a disk whose n-th write fails, and every later one
// too if full, and gives the disk as a power cut after it would leave it.
func failing(t *testing.T, n int, fault error, full bool) (w *work, left *vfs.MemFS, fired bool, stopped error) {
	t.Helper()
	mem := vfs.NewCrashableMem()
	w = &work{seed: uint64(n), acks: map[events.Position]string{}}
	var mu sync.Mutex // guards count, fired and stopped
	count := 0
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpRemove || op.Kind == errorfs.OpFileClose {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		count++
		if left == nil && (count == n || (full && count > n)) {
			fired = true
			return fault
		}
		return nil
	}))
	done, dead := make(chan struct{}), make(chan error, 1)
	go func() { // a fatal error parks the goroutine that met it
		defer close(done)
		s, err := Open("data", Options{FS: fs, memTable: 16 << 10, OnFatal: func(err error) { dead <- err }})
		if err != nil {
			return
		}
		w.run(s)
		_ = s.Close()
	}()
	select {
	case <-done:
	case stopped = <-dead:
	}
	mu.Lock()
	defer mu.Unlock()
	left = mem.CrashClone(vfs.CrashCloneCfg{}) // and the disk is well again
	return w, left, fired, stopped
}

func TestFailedWrites(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		full bool
	}{{"EIO once", errors.New("injected: input/output error"), false}, {"disk full", errors.New("injected: no space left on device"), true}} {
		t.Run(c.name, func(t *testing.T) {
			stops := 0
			step := 5 // every write in turn takes a minute
			if torture(t, 0) > 0 {
				step = 1
			}
			for n := 1; ; n += step {
				w, left, fired, stopped := failing(t, n, c.err, c.full)
				if !fired {
					t.Logf("%d writes, %d stops", n-1, stops)
					break
				}
				if stopped != nil {
					stops++
					if strings.Contains(stopped.Error(), "\n") || !strings.Contains(stopped.Error(), "injected") {
						t.Errorf("write %d: not one clear line: %q", n, stopped)
					}
				}
				// The disk works again; what the failed sync may have dropped is gone.
				if err := w.survived(left, w.acked()); err != nil {
					t.Errorf("write %d: %v", n, err)
				}
			}
			if stops == 0 {
				t.Error("no failed write stopped the store")
			}
		})
	}
}
