package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"lembas/events"
)

// words is text with about the redundancy of prose.
var words = []string{"the", "log", "is", "an", "append", "only", "file", "of", "events", "and", "every", "reader", "keeps", "a", "position",
	"in", "it", "so", "that", "nothing", "is", "lost", "when", "process", "dies", "func", "return", "err", "if", "nil", "with", "model"}

func text(r *rand.Rand, n int) string {
	var b []byte
	for len(b) < n {
		b = append(append(b, words[r.IntN(len(words))]...), ' ')
	}
	return string(b[:n])
}

// chat is the events of a chat as the product writes them: mostly chunks.
func chat(r *rand.Rand, chunks int) []events.New {
	reply := fmt.Sprintf("01JE%022d", r.Uint64()%1e18)
	news := []events.New{
		{Payload: events.MessageSubmitted{Message: reply + "m", Text: text(r, 200)}},
		{Payload: events.ReplyRequested{Reply: reply, Message: reply + "m", Reason: events.ForMessage}},
	}
	for i := range chunks {
		n := int64(20 + r.IntN(100))
		news = append(news, events.New{Payload: events.ReplyChunk{Reply: reply, Round: 1, Kind: events.ChunkContent, Text: text(r, int(n)),
			Cuts: [][2]int64{{0, int64(i * 40)}, {n / 3, int64(i*40 + 11)}, {2 * n / 3, int64(i*40 + 27)}}}})
	}
	return append(news, events.New{Payload: events.ReplyFinished{Reply: reply, Status: events.Complete}})
}

func openDisk(b testing.TB, dir string) *Store {
	b.Helper()
	s, err := Open(dir, Options{LowWater: DefaultLowWater, Ballast: DefaultBallast})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// report gives median and 99th percentile of times.
func percentiles(d []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(d)
	return d[len(d)/2], d[len(d)*99/100]
}

// BenchmarkAppendOneWriter is P1: one durable event against a raw append of 256
// bytes with fdatasync, in turns of 50 each so that both see the same disk.
func BenchmarkAppendOneWriter(b *testing.B) {
	dir := b.TempDir()
	s := openDisk(b, filepath.Join(dir, "data"))
	f, err := os.OpenFile(filepath.Join(dir, "raw"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	ctx, line := context.Background(), make([]byte, 256)
	var ours, raw []time.Duration
	for b.Loop() {
		for range 50 {
			t := time.Now()
			if _, err := f.Write(line); err != nil {
				b.Fatal(err)
			}
			if err := syscall.Fdatasync(int(f.Fd())); err != nil {
				b.Fatal(err)
			}
			raw = append(raw, time.Since(t))
		}
		for i := range 50 {
			batch := one("chat/01JE0000000000000000000000", events.Any(), chunk("01JE", "some text of forty bytes or so, streamed"))
			batch.Key = fmt.Sprint(len(ours), i)
			t := time.Now()
			if _, err := s.Append(ctx, batch); err != nil {
				b.Fatal(err)
			}
			ours = append(ours, time.Since(t))
		}
	}
	o, o99 := percentiles(ours)
	r, r99 := percentiles(raw)
	b.ReportMetric(float64(o.Microseconds()), "µs/append")
	b.ReportMetric(float64(o99.Microseconds()), "µs-p99")
	b.ReportMetric(float64(r.Microseconds()), "µs/raw")
	b.ReportMetric(float64(r99.Microseconds()), "µs/raw-p99")
	b.ReportMetric(float64(r)/float64(o), "×raw")
}

// groupFile is the yardstick of P2: a flat file with group commit and nothing
// else.
type groupFile struct {
	f    *os.File
	reqs chan groupReq
}

type groupReq struct {
	line []byte
	done chan struct{}
}

func (g *groupFile) run() {
	var buf []byte
	var waiting []chan struct{}
	for r := range g.reqs {
		buf, waiting = append(buf[:0], r.line...), append(waiting[:0], r.done)
	drain:
		for len(waiting) < groupMax {
			select {
			case r := <-g.reqs:
				buf, waiting = append(buf, r.line...), append(waiting, r.done)
			default:
				break drain
			}
		}
		if _, err := g.f.Write(buf); err != nil {
			panic(err)
		}
		if err := syscall.Fdatasync(int(g.f.Fd())); err != nil {
			panic(err)
		}
		for _, w := range waiting {
			close(w)
		}
	}
}

// BenchmarkAppend64Writers is P2.
func BenchmarkAppend64Writers(b *testing.B) {
	dir := b.TempDir()
	s := openDisk(b, filepath.Join(dir, "data"))
	f, err := os.Create(filepath.Join(dir, "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	g := &groupFile{f: f, reqs: make(chan groupReq, queueLength)}
	go g.run()
	defer close(g.reqs)
	const writers, each = 64, 200
	race := func(do func(w, i int)) (time.Duration, []time.Duration) {
		all := make([][]time.Duration, writers)
		var wg sync.WaitGroup
		start := time.Now()
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					t := time.Now()
					do(w, i)
					all[w] = append(all[w], time.Since(t))
				}
			})
		}
		wg.Wait()
		return time.Since(start), slices.Concat(all...)
	}
	line := make([]byte, 256)
	var ours, raw time.Duration
	var times []time.Duration
	n := 0
	for b.Loop() {
		d, _ := race(func(int, int) {
			r := groupReq{line, make(chan struct{})}
			g.reqs <- r
			<-r.done
		})
		raw += d
		d, ts := race(func(w, i int) {
			if _, err := s.Append(context.Background(), one(fmt.Sprintf("chat/01JE%022d", w), events.Any(), chunk("01JE", "some text of forty bytes or so, streamed"))); err != nil {
				panic(err)
			}
		})
		ours += d
		times = append(times, ts...)
		n += writers * each
	}
	p50, p99 := percentiles(times)
	b.ReportMetric(float64(n)/ours.Seconds(), "events/s")
	b.ReportMetric(float64(n)/raw.Seconds(), "raw/s")
	b.ReportMetric(float64(p50.Microseconds()), "µs-p50")
	b.ReportMetric(float64(p99.Microseconds()), "µs-p99")
	b.ReportMetric(raw.Seconds()/ours.Seconds(), "×raw")
}

// diskSize is what a directory takes, less the ballast.
func diskSize(b testing.TB, dir string) (n int64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "ballast" {
			return err
		}
		info, err := d.Info()
		n += info.Size()
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) { // a table that a compaction removed
		b.Fatal(err)
	}
	return n
}

// fill appends chats until there are n events, and writes them as JSON lines
// and as a flat file of stored events beside it, in the order of the log.
func fill(b testing.TB, s *Store, dir string, n, chats, chunks int) (jsonSize int64) {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	batch := func(stream string) {
		parts := one(stream, events.Any(), chat(r, chunks)...)
		if _, err := s.Append(context.Background(), parts); err != nil {
			b.Fatal(err)
		}
	}
	for i := 0; s.Head() < events.Position(n); i++ {
		batch(fmt.Sprintf("chat/01JE%022d", i%chats))
	}
	f, err := os.Create(filepath.Join(dir, "flat"))
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	salt := make([]byte, events.SaltSize)
	for e, err := range s.Read(context.Background(), 0) {
		if err != nil {
			b.Fatal(err)
		}
		jsonSize += int64(len(e.AppendJSON(nil))) + 1
		rec := appendEvent(nil, &e, salt)
		_, _ = w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(rec))))
		_, _ = w.Write(rec) // Flush tells
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		b.Fatal(err)
	}
	return jsonSize
}

// replayFlat reads the flat file with the same decoder.
func replayFlat(b testing.TB, name string, keep func(*events.Envelope)) (n int) {
	b.Helper()
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	var names interner
	var size [4]byte
	var buf []byte
	for p := events.Position(1); ; p++ {
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return n
		}
		l := int(binary.LittleEndian.Uint32(size[:]))
		buf = slices.Grow(buf[:0], l)[:l]
		if _, err := io.ReadFull(r, buf); err != nil {
			b.Fatal(err)
		}
		s, err := parseEvent(buf)
		if err != nil {
			b.Fatal(err)
		}
		e := s.envelope(p, &names)
		keep(&e)
		n++
	}
}

// BenchmarkMillion is P3, P4 and P5 over one store of a million events in
// 10,000 chats (LEMBAS_BENCH_EVENTS changes that), built once.
func BenchmarkMillion(b *testing.B) {
	n := 1_000_000
	if v := os.Getenv("LEMBAS_BENCH_EVENTS"); v != "" {
		if _, err := fmt.Sscan(v, &n); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	data := filepath.Join(dir, "data")
	s := openDisk(b, data)
	start := time.Now()
	jsonSize := fill(b, s, dir, n, 10_000, 47)
	head := s.Head()
	b.Logf("%d events in %v", head, time.Since(start))
	b.Run("size", func(b *testing.B) {
		for b.Loop() {
			if err := s.db.Flush(); err != nil {
				b.Fatal(err)
			}
		}
		size := diskSize(b, data)
		b.ReportMetric(float64(size)/float64(head), "B/event")
		b.ReportMetric(float64(jsonSize)/float64(head), "B/event-json")
		b.ReportMetric(float64(size)/float64(jsonSize), "×json")
	})
	b.Run("replay", func(b *testing.B) {
		var ours, flat, rebuilt time.Duration
		count := 0
		for b.Loop() {
			t := time.Now()
			for _, err := range s.Read(context.Background(), 0) {
				if err != nil {
					b.Fatal(err)
				}
				count++
			}
			ours += time.Since(t)
			t = time.Now()
			replayFlat(b, filepath.Join(dir, "flat"), func(*events.Envelope) {})
			flat += time.Since(t)
			t = time.Now()
			for e, err := range s.Read(context.Background(), 0) {
				if _, derr := events.Decode(&e); err != nil || derr != nil {
					b.Fatal(err, derr)
				}
			}
			rebuilt += time.Since(t)
		}
		b.ReportMetric(float64(count)/ours.Seconds(), "events/s")
		b.ReportMetric(float64(count)/rebuilt.Seconds(), "decoded/s")
		b.ReportMetric(flat.Seconds()/ours.Seconds(), "×flat")
	})
	b.Run("replay-one-chat", func(b *testing.B) {
		stream := fmt.Sprintf("chat/01JE%022d", 77)
		if err := writeChat(s, stream, filepath.Join(dir, "one")); err != nil {
			b.Fatal(err)
		}
		var ours, flat time.Duration
		for b.Loop() {
			t := time.Now()
			for _, err := range s.ReadStream(context.Background(), stream, 0) {
				if err != nil {
					b.Fatal(err)
				}
			}
			ours += time.Since(t)
			t = time.Now()
			replayFlat(b, filepath.Join(dir, "one"), func(*events.Envelope) {})
			flat += time.Since(t)
		}
		b.ReportMetric(flat.Seconds()/ours.Seconds(), "×flat")
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Verify(context.Background(), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err := Open(data, Options{})
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func writeChat(s *Store, stream, name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	salt := make([]byte, events.SaltSize)
	for e, err := range s.ReadStream(context.Background(), stream, 0) {
		if err != nil {
			return err
		}
		rec := appendEvent(nil, &e, salt)
		_, _ = f.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(rec))), rec...)) // Close tells
	}
	return f.Close()
}

// BenchmarkWaiters is the cost of an append while 10,000 others wait for other
// streams.
func BenchmarkWaiters(b *testing.B) {
	for _, n := range []int{0, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := openDisk(b, filepath.Join(b.TempDir(), "data"))
			ctx, cancel := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() { _ = s.WaitStream(ctx, fmt.Sprint("quiet/", i), 0) })
			}
			for b.Loop() {
				if _, err := s.Append(ctx, one("chat/a", events.Any(), chunk("r", "x"))); err != nil {
					b.Fatal(err)
				}
			}
			cancel()
			wg.Wait()
		})
	}
}

// BenchmarkPrepare is what an append costs its caller before it is queued.
func BenchmarkPrepare(b *testing.B) {
	s := openDisk(b, filepath.Join(b.TempDir(), "data"))
	batch := one("chat/a", events.Any(), chunk("r", "some text of forty bytes or so, streamed"))
	for b.Loop() {
		if _, err := s.prepare(&batch); err != nil {
			b.Fatal(err)
		}
	}
}
