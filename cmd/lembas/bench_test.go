package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/go-chi/chi/v5"
	"github.com/yuin/goldmark"
)

// ticker is an endpoint that says the time it speaks at: every pace one chunk
// with its own clock in nanoseconds, n times.
func ticker(pace time.Duration, n int) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = fmt.Fprint(w, `{"data":[{"id":"ticker"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		t := time.NewTicker(pace)
		defer t.Stop()
		for range n {
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"tick=%d \"}}]}\n\n", time.Now().UnixNano())
			w.(http.Flusher).Flush()
			<-t.C
		}
		_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
}

// delays takes the clocks out of what arrives and gives how long each took.
func delays(r io.Reader, enough int) []time.Duration {
	var out []time.Duration
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for len(out) < enough && sc.Scan() {
		now := time.Now().UnixNano()
		line := sc.Text()
		if !strings.HasPrefix(line, "data:") || strings.Contains(line, `"request"`) {
			continue
		}
		for {
			_, rest, ok := strings.Cut(line, "tick=")
			if !ok {
				break
			}
			digits, after, _ := strings.Cut(rest, " ")
			if at, err := strconv.ParseInt(digits, 10, 64); err == nil {
				out = append(out, time.Duration(now-at))
			}
			line = after
		}
	}
	return out
}

func percentile(d []time.Duration, p float64) float64 {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return float64(s[min(len(s)-1, int(p*float64(len(s))))].Microseconds()) / 1000
}

// BenchmarkAddedLatency is P6: what the product adds between an endpoint's
// chunk and a follower's frame, at 100 chunks a second, against a client that
// reads the endpoint itself. Milliseconds.
func BenchmarkAddedLatency(b *testing.B) {
	const n = 300
	for b.Loop() {
		endpoint := ticker(10*time.Millisecond, n)
		res, err := http.Post(endpoint.URL+"/v1/chat/completions", "application/json", strings.NewReader("{}"))
		must(b, err)
		direct := delays(res.Body, n)
		_ = res.Body.Close()
		b.ReportMetric(percentile(direct, .5), "direct-p50-ms")
		b.ReportMetric(percentile(direct, .99), "direct-p99-ms")

		s := serve(b, filepath.Join(b.TempDir(), "data"))
		ann := s.person("ann@example.test", true)
		made := ann.want(201, "POST", "/api/v1/connections", map[string]any{"name": "ticker", "base_url": endpoint.URL + "/v1"})
		if made["error"] != nil {
			b.Fatal(made["error"])
		}
		for _, gather := range []int{0, 40} {
			ann.want(200, "PATCH", "/api/v1/settings", map[string]any{"limits.gather_ms": gather})
			got, first := throughServer(b, ann, n)
			b.ReportMetric(percentile(got, .5)-percentile(direct, .5), fmt.Sprintf("gather%d-p50-ms-over", gather))
			b.ReportMetric(percentile(got, .99)-percentile(direct, .99), fmt.Sprintf("gather%d-p99-ms-over", gather))
			b.ReportMetric(float64(first.Microseconds())/1000, fmt.Sprintf("gather%d-first-ms", gather))
		}
		endpoint.Close()
		s.kill()
	}
}

func throughServer(b *testing.B, c *client, n int) (all []time.Duration, first time.Duration) {
	made := c.want(201, "POST", "/api/v1/chats", map[string]any{"text": "tick"})
	req, err := http.NewRequestWithContext(b.Context(), "GET", c.url+"/api/v1/chats/"+text(made["chat_id"])+"/events?after=0", nil)
	must(b, err)
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.http.Do(req)
	must(b, err)
	defer func() { _ = res.Body.Close() }()
	all = delays(res.Body, n)
	if len(all) == 0 {
		b.Fatal("no chunk arrived")
	}
	return all[2:], all[0]
}

// asMinimal makes the test binary the yardstick of P15: a server of the same
// parts that does nothing.
const asMinimal = "LEMBAS_TEST_MINIMAL"

func minimal(dir string) {
	db, err := pebble.Open(dir, &pebble.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	md := goldmark.New()
	r := chi.NewRouter()
	r.Get("/", func(w http.ResponseWriter, _ *http.Request) { _ = md.Convert([]byte("# hello"), w) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("listening on http://" + l.Addr().String())
	panic(http.Serve(l, r))
}

// started runs a command until its first line and gives how long that took and
// the resident memory once the process has answered and settled, in MB.
func started(b *testing.B, c *exec.Cmd, path string) (start time.Duration, rss float64) {
	b.Helper()
	out, err := c.StdoutPipe()
	must(b, err)
	begun := time.Now()
	must(b, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(b, err)
	start = time.Since(begun)
	_, url, _ := strings.Cut(strings.TrimSpace(line), "listening on ")
	res, err := http.Get(url + path)
	must(b, err)
	_ = res.Body.Close()
	time.Sleep(2 * time.Second) // the idle process is what is measured
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	must(b, err)
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kb, err := strconv.ParseFloat(strings.Fields(string(rest))[0], 64)
			must(b, err)
			rss = kb / 1024
		}
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	return start, rss
}

// BenchmarkIdle is P15: start and idle memory against a minimal server of the
// same parts, as ratios; and the binary's size.
func BenchmarkIdle(b *testing.B) {
	dir := b.TempDir()
	binary := filepath.Join(dir, "lembas")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for b.Loop() {
		var starts, bases, mem, base []float64
		for i := range 5 {
			own := exec.CommandContext(context.Background(), binary, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "d"))
			s, m := started(b, own, "/healthz")
			yard := exec.Command(os.Args[0])
			yard.Env = append(os.Environ(), asMinimal+"="+filepath.Join(dir, "m"))
			ys, ym := started(b, yard, "/")
			if i > 0 { // the first start makes the directory
				starts, mem = append(starts, s.Seconds()), append(mem, m)
				bases, base = append(bases, ys.Seconds()), append(base, ym)
			}
		}
		median := func(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }
		b.ReportMetric(median(starts)*1000, "start-ms")
		b.ReportMetric(median(starts)/median(bases), "start-x")
		b.ReportMetric(median(mem), "rss-MB")
		b.ReportMetric(median(mem)/median(base), "rss-x")
		info, err := os.Stat(binary)
		must(b, err)
		b.ReportMetric(float64(info.Size())/(1<<20), "binary-MB")
	}
}

// BenchmarkOpenChat is P11: a chat of many messages against one of few, as the
// time to the whole page.
func BenchmarkOpenChat(b *testing.B) {
	for b.Loop() {
		s := serve(b, filepath.Join(b.TempDir(), "data"))
		ann := s.person("ann@example.test", true)
		endpoint := ticker(time.Microsecond, 3)
		made := ann.want(201, "POST", "/api/v1/connections", map[string]any{"name": "quick", "base_url": endpoint.URL + "/v1"})
		if made["error"] != nil {
			b.Fatal(made["error"])
		}
		short, long := fill(b, ann, 25), fill(b, ann, 2500)
		endpoint.Close()
		s.kill()
		s.start() // nothing is in a cache
		open := func(chat string) float64 {
			var all []time.Duration
			for range 9 {
				begun := time.Now()
				a := ann.do("GET", "/chat/"+chat, nil, "Accept", "text/html")
				if a.status != 200 {
					b.Fatalf("%d %s", a.status, a.body)
				}
				all = append(all, time.Since(begun))
			}
			return percentile(all, .5)
		}
		few := open(short)
		many := open(long)
		b.ReportMetric(few, "50-messages-ms")
		b.ReportMetric(many, "5000-messages-ms")
		b.ReportMetric(many/few, "x")
		s.kill()
	}
}

// fill makes a chat of n turns.
func fill(b *testing.B, c *client, n int) string {
	b.Helper()
	made := c.want(201, "POST", "/api/v1/chats", map[string]any{"text": "turn 0"})
	chat, reply := text(made["chat_id"]), text(made["reply_id"])
	awaitEnds(b, c, chat, 1)
	_ = reply
	for i := 1; i < n; i++ {
		c.want(202, "POST", "/api/v1/chats/"+chat+"/messages", map[string]any{"text": fmt.Sprintf("turn %d", i)})
		if i%15 == 0 || i == n-1 {
			awaitEnds(b, c, chat, i+1)
		}
	}
	return chat
}

// awaitEnds waits until a chat has had that many ends of replies. It follows on
// from where it was.
func awaitEnds(b *testing.B, c *client, chat string, n int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	state := follows[chat]
	err := c.follow(ctx, chat, max(state.at, "0"), func(e event) bool {
		if e.id != "" {
			state.at = e.id
		}
		if e.typ == "reply.finished" {
			state.ends++
		}
		return state.ends < n
	})
	follows[chat] = state
	must(b, err)
}

// follows is how far awaitEnds has come, by chat.
var follows = map[string]struct {
	at   string
	ends int
}{}
