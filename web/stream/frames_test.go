package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/markdown"
	"lembas/web/pages/view"
	"lembas/web/static"
	"lembas/web/templates"
)

var began = time.Date(2026, 11, 30, 23, 59, 30, 0, time.UTC)

// look is what draws pages and frames in tests.
type look struct {
	views *view.Views
	set   *templates.Set
	parts Parts
}

func newLook(t testing.TB) *look {
	t.Helper()
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	set, err := templates.New(files)
	if err != nil {
		t.Fatal(err)
	}
	title := func(model string) string { return strings.ToUpper(model) }
	return &look{view.New(markdown.New(markdown.Options{}), title, 1<<20), set, Fragments(set)}
}

// fresh is the page of a chat as a browser opens it now.
func (l *look) fresh(t testing.TB, c *transcript.Chat) *page { return openPage(t, l.source(t, c)) }

func (l *look) source(t testing.TB, c *transcript.Chat) string {
	t.Helper()
	p := l.views.Chat(c)
	p.Shell = templates.Shell{Title: c.Title, Page: "chat", Person: templates.Person{ID: "ann", Name: "Ann", Initial: "A"}}
	var b bytes.Buffer
	if err := l.set.Page(&b, "chat", p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// happened is a history as the log would have it.
func happened(t testing.TB, payloads []events.Payload) []events.Envelope {
	t.Helper()
	var out []events.Envelope
	for i, p := range payloads {
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := events.Lookup(p.EventType())
		at := events.Position(3*i + 7) // other streams are between
		out = append(out, events.Envelope{Position: at, Stream: "chat/c1", Version: events.Version(i + 1), Type: info.Name,
			TypeVersion: info.Version, Time: began.Add(time.Duration(i) * time.Second), Data: data})
	}
	return out
}

// fold gives the chat after the first n events.
func fold(t testing.TB, history []events.Envelope, n int) *transcript.Chat {
	t.Helper()
	c := &transcript.Chat{}
	for i := range history[:n] {
		if err := c.Apply(&history[i]); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// frames draws a history in batches of the given sizes, as a feed does that
// begins after the first n events.
func (l *look) frames(t testing.TB, history []events.Envelope, n int, texts *growing, size func() int) (out []Frame) {
	t.Helper()
	c := fold(t, history, n)
	f := feed{hub: &Hub{}, texts: texts}
	if texts != nil {
		f.begin(c)
	}
	for n < len(history) {
		m := newMarks()
		for range min(size(), len(history)-n) {
			if err := c.Apply(&history[n]); err != nil {
				t.Fatal(err)
			}
			p, err := events.Decode(&history[n])
			if err != nil {
				t.Fatal(err)
			}
			m.add(p)
			n++
		}
		d := drawing{c: c, v: l.views, parts: l.parts, texts: texts}
		ops, err := d.draw(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Frame{Position: c.Position, Ops: ops})
	}
	return out
}

// TestFramesEndLikeAFreshPage: a page rendered at any position, which then
// applies every later frame, shows what a page shows that was opened at the
// end; however the events were cut into frames, and also when some of a frame
// was on the page already.
func TestFramesEndLikeAFreshPage(t *testing.T) {
	l := newLook(t)
	for name, payloads := range histories() {
		t.Run(name, func(t *testing.T) {
			history := happened(t, payloads)
			pages := make([]string, len(history)+1)
			for n := 1; n <= len(history); n++ {
				pages[n] = l.source(t, fold(t, history, n))
			}
			want := openPage(t, pages[len(history)]).serial()
			random := rand.New(rand.NewPCG(7, uint64(len(history))))
			sizes := map[string]func() int{
				"one by one": func() int { return 1 }, "all at once": func() int { return len(history) },
				"some": func() int { return 1 + random.IntN(4) }, "more": func() int { return 1 + random.IntN(12) },
			}
			for cut, size := range sizes {
				for begin := 1; begin <= len(history); begin += 4 + random.IntN(8) {
					frames := l.frames(t, history, begin, newGrowing(l.views.Markdown()), size)
					check(t, pages, history, frames, begin, want, cut)
				}
			}
		})
	}
}

// check renders a page at each position from the begin of the frames on.
func check(t *testing.T, pages []string, history []events.Envelope, frames []Frame, begin int, want, cut string) {
	t.Helper()
	for n := begin; n <= len(history); n++ {
		p := openPage(t, pages[n])
		at := history[n-1].Position
		for _, f := range frames {
			if f.Position > at {
				p.apply(f.Ops)
			}
		}
		if got := p.serial(); got != want {
			t.Fatalf("%s from %d, page at %d (%s)\n%s", cut, begin, n, history[n-1].Type, difference(got, want))
		}
	}
}

// TestCatchUpEndsLikeAFreshPage: the one frame for a follower that comes back.
func TestCatchUpEndsLikeAFreshPage(t *testing.T) {
	l := newLook(t)
	for name, payloads := range histories() {
		t.Run(name, func(t *testing.T) {
			history := happened(t, payloads)
			for end := 2; end <= len(history); end++ {
				want := l.fresh(t, fold(t, history, end)).serial()
				for n := 1 + end%3; n < end; n += 3 {
					p := l.fresh(t, fold(t, history, n))
					for _, f := range l.frames(t, history[:end], n, nil, func() int { return end }) {
						p.apply(f.Ops)
					}
					if got := p.serial(); got != want {
						t.Fatalf("from %d to %d\n%s", n, end, difference(got, want))
					}
				}
			}
		})
	}
}

// TestFramesStayFresh: between frames, too, a page shows what a fresh one does.
func TestFramesStayFresh(t *testing.T) {
	l := newLook(t)
	for name, payloads := range histories() {
		t.Run(name, func(t *testing.T) {
			history := happened(t, payloads)
			p := l.fresh(t, fold(t, history, 3))
			for i, f := range l.frames(t, history, 3, newGrowing(l.views.Markdown()), func() int { return 1 }) {
				p.apply(f.Ops)
				if got, want := p.serial(), l.fresh(t, fold(t, history, 4+i)).serial(); got != want {
					t.Fatalf("after %d (%s)\n%s", 4+i, history[3+i].Type, difference(got, want))
				}
			}
		})
	}
}

// difference shows the first lines that are not the same.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("got  …\n%s\nwant …\n%s", strings.Join(g[max(0, i-4):min(len(g), i+5)], "\n"), strings.Join(w[max(0, i-4):min(len(w), i+5)], "\n"))
		}
	}
	return ""
}
