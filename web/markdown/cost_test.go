package markdown

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reply makes a text of about n bytes as models write them.
func reply(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "## Step %d: the part that matters\n\n", i+1)
		b.WriteString("First we look at **how the data flows** through the system, since `parse()` is called before `render()` " +
			"and the result is kept. This is a longer sentence that explains why the order matters, and it links to " +
			"[the manual](https://example.org/manual/chapter) for those who want to know more about it.\n\n")
		fmt.Fprintf(&b, "```go\nfunc handle%d(w http.ResponseWriter, r *http.Request) {\n\tctx := r.Context()\n", i)
		b.WriteString("\tif err := run(ctx, \"value\", 42); err != nil { // report\n\t\thttp.Error(w, err.Error(), 500)\n\t\treturn\n\t}\n}\n```\n\n")
		b.WriteString("- **Speed**: the index is read once, and then kept in memory for as long as it is needed.\n" +
			"- **Size**: about 12 KB per entry, which is *less* than before.\n  - nested point with `code`\n- Safety\n\n")
		b.WriteString("| Option | Default | Meaning |\n|---|---:|---|\n| `size` | 10 | how many entries are kept |\n| `age` | 60 | seconds |\n\n")
		fmt.Fprintf(&b, "1. Build it:\n\n   ```sh\n   make build && ./run --port %d\n   ```\n\n2. Then open the page.\n\n> Note that this is only an example.\n\n", 8000+i)
	}
	return b.String()
}

// frameBytes is what comes in 50 ms at 100 tokens a second.
const frameBytes = 20

// play streams src in frames and gives the bytes of HTML that were sent.
func play(r *Renderer, src string) (sent int) {
	s := r.NewStream("m1")
	count := func(f Frame) {
		for _, op := range f {
			sent += len(op.HTML)
		}
	}
	for src != "" {
		n := min(len(src), frameBytes)
		s.Append(src[:n])
		src = src[n:]
		if f, ok := s.Frame(); ok {
			count(f)
		}
	}
	count(s.Finish())
	return sent
}

// shapes are replies that are one long block each, and a mixed one.
func shapes(n int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, n/len(s)+1)[:n] }
	var table strings.Builder
	table.WriteString("| a | b | c |\n|---|---|---|\n")
	for table.Len() < n {
		table.WriteString("| some text | `code` | and a somewhat longer cell |\n")
	}
	return map[string]string{
		"mixed":     reply(n),
		"code":      "```go\n" + fill("x := compute(a, b) // and so on\n"),
		"codeline":  "```\n" + fill("abcdefgh"),
		"paragraph": fill("plain words in a very long paragraph with **bold** and `code`, "),
		"lines":     fill("a line of a paragraph\n"),
		"list":      fill("- an item of a list with **bold** words in it\n"),
		"loose":     fill("1. an item\n\n   ```sh\n   make\n   ```\n\n"),
		"nested":    fill("- one\n  - two\n    - three levels\n"),
		"quote":     fill("> a line of a quotation\n"),
		"table":     table.String(),
		"cjk":       fill("日本語の文章は空白なしで書かれるので、"),
		"nospace":   fill("abcdefghij"),
		"openbold":  "**" + fill("words that stay bold for ever "),
		"brackets":  fill("[a "),
		"heading":   "# " + fill("a heading without end "),
		"hashes":    fill("#"),
		"pipes":     "| " + fill("cell | "),
		"math":      "$$\n" + fill("a + b\n"),
		"indented":  fill("    code\n"),
		"headings":  fill("# a\n"),
		"notes":     fill("[^1]: a note of some length\n\n"),
	}
}

// TestBytesGrowLinearly counts, so it is the same on every machine.
func TestBytesGrowLinearly(t *testing.T) {
	r := New(Options{})
	small, large := shapes(20_000), shapes(100_000)
	for name, src := range large {
		a, b := play(r, small[name]), play(r, src)
		final := len(r.Render("m1", src))
		t.Logf("%-10s 20 KB: %7d  100 KB: %8d  grows %.2f  final %7d  sent/final %.2f", name, a, b, float64(b)/float64(a), final, float64(b)/float64(final))
		if float64(b) > 6*float64(a) {
			t.Errorf("%s: %d bytes for 20 KB, %d for 100 KB", name, a, b)
		}
		if name == "mixed" && b > 5*final {
			t.Errorf("%s: %d bytes for %d of final HTML", name, b, final)
		}
	}
}

// TestLateDefinitionsAreSentOnce: what a definition at the end changes above
// comes with the last frame, once.
func TestLateDefinitionsAreSentOnce(t *testing.T) {
	r := New(Options{})
	src := "see [a] and [b]\n\n" + reply(5000) + "\n[a]: https://example.org/a\n"
	final := len(r.Render("m1", src))
	if sent := play(r, src); sent > 6*final {
		t.Errorf("%d bytes for %d", sent, final)
	}
}

func BenchmarkRenderWhole20K(b *testing.B)  { benchWhole(b, 20_000) }
func BenchmarkRenderWhole100K(b *testing.B) { benchWhole(b, 100_000) }
func BenchmarkStream20K(b *testing.B)       { benchStream(b, 20_000) }
func BenchmarkStream100K(b *testing.B)      { benchStream(b, 100_000) }

func benchWhole(b *testing.B, n int) {
	r, src := New(Options{}), reply(n)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		r.Render("m1", src)
	}
}

// benchStream also reports the ratio to one whole render, in processor time of
// the same run, and that of the bytes.
func benchStream(b *testing.B, n int) {
	r, src := New(Options{}), reply(n)
	r.Render("m1", src) // lexers are compiled once per process
	b.SetBytes(int64(len(src)))
	sent := 0
	begin := cpuTime(b)
	for b.Loop() {
		sent = play(r, src)
	}
	stream := cpuTime(b) - begin
	begin = cpuTime(b)
	for range b.N {
		r.Render("m1", src)
	}
	b.ReportMetric(float64(stream)/float64(cpuTime(b)-begin), "cpu/whole")
	b.ReportMetric(float64(sent)/float64(len(r.Render("m1", src))), "sent/final")
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// FuzzRender: safe output for any text, the same from a stream, and never lost.
func FuzzRender(f *testing.F) {
	for _, c := range corpus(f) {
		f.Add(c.Markdown[:min(len(c.Markdown), 2000)], uint64(1))
	}
	var rows []xssRow
	readJSON(f, "../../testdata/cases/xss.json", &rows)
	for _, row := range append(rows, siblings...) {
		f.Add(string(row.Input), uint64(2))
	}
	f.Add(everything, uint64(3))
	r := New(Options{})
	f.Fuzz(func(t *testing.T, src string, seed uint64) {
		if len(src) > 20_000 {
			return
		}
		out := string(r.Render("m1", src))
		checkSafe(t, out)
		rnd := rand.New(rand.NewPCG(seed, seed))
		p := newPage(r)
		for _, c := range chunks(src, rnd, 30) {
			p.add(t, c)
			state := string(p.s.State())
			checkSafe(t, state)
			if got, want := p.serial(), serial(dom(t, state)); got != want {
				t.Fatalf("page %s\nstate %s", got, want)
			}
		}
		p.finish(t)
		if got, want := p.serial(), serial(dom(t, out)); got != want {
			t.Fatalf("stream %s\nwhole %s", got, want)
		}
	})
}
