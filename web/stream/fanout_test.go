package stream

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	sse "github.com/r3labs/sse/v2"

	"lembas/events"
)

// frameText is what every server of the benchmark sends per frame.
var frameText = bytes.Repeat([]byte("word "), 60)

// rig is a server with one stream of frames.
type rig struct {
	address string
	path    string
	header  string
	settle  func() // once all followers are there
	publish func(n int, data []byte)
}

// ours is the page stream: frames go into the tail of a chat's feed.
func ours(b *testing.B) rig {
	h := newHouse(b, Options{Tail: 8 << 20, Lifetime: time.Hour})
	ann := h.human("ann")
	made, noise := h.chat(ann, "hello"), h.chat(ann, "noise")
	base := h.log.Head()
	list := make([]events.Payload, 100)
	for i := range list {
		list[i] = events.ReplyChunk{Reply: noise.Reply, Round: 1, Kind: events.ChunkContent, Text: "x"}
	}
	u, err := url.Parse(h.http.URL)
	h.ok(err)
	return rig{address: u.Host, path: fmt.Sprintf("/events?chat=%s&after=%d", made.Chat, base), header: "Cookie: lembas_session=" + ann.cookie + "\r\n",
		settle: func() {
			for range 60 { // so that the positions of the frames are durable
				h.append(noise.Chat, list...)
			}
		},
		publish: func(n int, data []byte) {
			h.hub.mu.Lock()
			f := h.hub.feeds[made.Chat]
			h.hub.mu.Unlock()
			at := base + events.Position(n) + 1
			f.tail.publish(at, appendEvent(nil, cursor("epoch", at), "frame", data))
			f.at.Store(uint64(at))
		}}
}

// sockets is the yardstick: a channel and a flush per follower and frame.
func sockets(b *testing.B) rig {
	var mu sync.Mutex
	all := map[chan []byte]bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		ch := make(chan []byte, 64)
		mu.Lock()
		all[ch] = true
		mu.Unlock()
		w.(http.Flusher).Flush()
		for {
			select {
			case data := <-ch:
				_, _ = w.Write(data)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	b.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	u, _ := url.Parse(srv.URL)
	return rig{address: u.Host, path: "/", publish: func(n int, data []byte) {
		frame := appendEvent(nil, cursor("epoch", events.Position(n+1)), "frame", data)
		mu.Lock()
		defer mu.Unlock()
		for ch := range all {
			ch <- frame
		}
	}}
}

// r3labs is the server of r3labs/sse.
func r3labs(b *testing.B) rig {
	s := sse.New()
	s.AutoReplay = false
	s.CreateStream("x")
	srv := httptest.NewServer(s)
	b.Cleanup(func() { srv.CloseClientConnections(); s.Close(); srv.Close() })
	u, _ := url.Parse(srv.URL)
	return rig{address: u.Host, path: "/?stream=x", publish: func(n int, data []byte) {
		s.Publish("x", &sse.Event{ID: []byte(fmt.Sprint(n)), Event: []byte("frame"), Data: data})
	}}
}

// reader reads frames from a bare socket and notes how late each came: the
// frame has the time of its publication in it.
type reader struct {
	conn   net.Conn
	frames int
	late   []time.Duration
}

var stamp = []byte("@")

func (r *reader) run(want int, begin time.Time, done func()) {
	buf := make([]byte, 0, 64<<10)
	part := make([]byte, 32<<10)
	finished := false
	for {
		n, err := r.conn.Read(part)
		if err != nil {
			if !finished {
				done()
			}
			return
		}
		buf = append(buf, part[:n]...)
		now := time.Since(begin)
		for {
			i := bytes.Index(buf, stamp)
			if i < 0 || len(buf) < i+14 {
				buf = append(buf[:0], buf[max(0, min(i, len(buf))):]...)
				break
			}
			var sent int64
			for _, c := range buf[i+1 : i+14] {
				sent = sent*10 + int64(c-'0')
			}
			r.late = append(r.late, now-time.Duration(sent))
			r.frames++
			buf = buf[i+14:]
		}
		if r.frames >= want && !finished {
			finished = true
			done()
		}
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// result of one run.
type result struct {
	wall, cpu time.Duration
	p50, p99  time.Duration
	memory    float64 // bytes a follower
}

// fan opens followers, publishes frames, evenly over the time or as fast as
// they go, and waits until all have all.
func fan(b *testing.B, r rig, followers, frames int, every time.Duration) result {
	b.Helper()
	before := memory()
	var readers []*reader
	for range followers {
		conn, err := net.Dial("tcp", r.address)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", r.path, r.address, r.header)
		one := make([]byte, 512)
		if _, err := conn.Read(one); err != nil {
			b.Fatal(err)
		}
		readers = append(readers, &reader{conn: conn, late: make([]time.Duration, 0, frames)})
	}
	runtime.Gosched()
	after := memory() - float64(followers*frames*8)
	if r.settle != nil {
		r.settle()
	}
	var group sync.WaitGroup
	begin, used := time.Now(), cpu()
	for _, x := range readers {
		group.Add(1)
		go x.run(frames, begin, group.Done)
	}
	time.AfterFunc(2*time.Minute, func() {
		for _, x := range readers {
			x.conn.Close()
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tick := time.NewTicker(max(every, time.Nanosecond))
	defer tick.Stop()
	for n := range frames {
		if every > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		r.publish(n, append(fmt.Appendf(nil, "@%013d ", time.Since(begin).Nanoseconds()), frameText...))
	}
	group.Wait()
	out := result{wall: time.Since(begin), cpu: cpu() - used, memory: (after - before) / float64(followers)}
	var late []time.Duration
	for i, x := range readers {
		if x.frames < frames {
			b.Errorf("follower %d has %d of %d frames", i, x.frames, frames)
		}
		late = append(late, x.late...)
	}
	slices.Sort(late)
	out.p50, out.p99 = late[len(late)/2], late[len(late)*99/100]
	return out
}

func memory() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse + m.StackInuse)
}

// BenchmarkFanOut compares our page stream with bare sockets and with r3labs'
// server: 100 followers at 1,000 frames a second (P8), and 1,000 followers as
// fast as it goes (P9).
func BenchmarkFanOut(b *testing.B) {
	rigs := []struct {
		name string
		make func(*testing.B) rig
	}{{"ours", ours}, {"sockets", sockets}, {"r3labs", r3labs}}
	for _, x := range []struct {
		name              string
		followers, frames int
		every             time.Duration
	}{{"100 paced", 100, 2000, time.Millisecond}, {"1000 flat out", 1000, 1000, 0}} {
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				results := map[string]result{}
				for _, r := range rigs {
					results[r.name] = fan(b, r.make(b), x.followers, x.frames, x.every)
				}
				o := results["ours"]
				for _, name := range []string{"sockets", "r3labs"} {
					y := results[name]
					b.ReportMetric(float64(o.cpu)/float64(y.cpu), "cpu/"+name)
					b.ReportMetric(float64(y.wall)/float64(o.wall), "speed/"+name)
					if x.every > 0 { // flat out, a frame is as late as its publisher is early
						b.ReportMetric(float64(o.p99)/float64(y.p99), "p99/"+name)
					}
				}
				b.ReportMetric(float64(o.p50.Microseconds()), "p50-us")
				b.ReportMetric(float64(o.p99.Microseconds()), "p99-us")
				b.ReportMetric(o.memory/1024, "KB/follower")
				b.ReportMetric(results["sockets"].memory/1024, "KB/socket")
			}
		})
	}
}
