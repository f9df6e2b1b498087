package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lembas/events"
)

// TestBreaksBetweenChats: a browser with two chats, both behind the tail, loses
// its connection after any number of frames. What it gets when it comes back
// with the last id makes either page a fresh one.
func TestBreaksBetweenChats(t *testing.T) {
	const cuts = 5
	h := newHouse(t, Options{})
	ann := h.human("ann")
	one, two := h.chat(ann, "one"), h.chat(ann, "two")
	ids := []string{one.Chat, two.Chat}
	var tabs []*browser
	for i := range 2 * cuts {
		chats := []string{ids[i%2], ids[1-i%2]}
		p, cur := h.page(chats[0])
		tabs = append(tabs, &browser{page: p, h: h, who: ann, chats: chats,
			seen: map[string]events.Position{chats[0]: cur, chats[1]: cur, "": cur}})
	}
	h.append(one.Chat, round(one.Reply, 1))
	h.append(two.Chat, round(two.Reply, 1))
	for range 2 * maxParts { // their events take turns
		h.chunk(one, "- one\n")
		h.chunk(two, "- two\n")
	}
	h.append(one.Chat, roundEnd(one.Reply, 1, "stop", nil), end(one.Reply, events.Complete, "", nil))
	for i, b := range tabs {
		live := func() bool { return b.live }
		b.read(1+i/2, live)
		b.read(1000, live)
		want, _ := h.page(b.chats[0])
		if got, want := b.serial(), want.serial(); got != want {
			t.Errorf("page %d, after a break after %d frames\n%s", i%2, 1+i/2, difference(got, want))
		}
	}
}

// seam is a follower of some chats and a person, over feeds that a test
// advances, and all that was written to it.
type seam struct {
	events.Log // nothing else of it is asked for
	t          *testing.T
	random     *rand.Rand
	p          *follower
	out        *httptest.ResponseRecorder
	streams    map[string][]events.Position // the events of each chat; "" are the person's frames
	unread     map[string][][]events.Position
	inside     bool // feeds go on within a call
}

// sent is a frame as the page gets it.
type sent struct {
	chat            string
	id, first, upTo events.Position
}

func (*seam) Epoch() string         { return "e" }
func (*seam) Head() events.Position { return 1000 }

// Stream is where feeds overtake a follower that is between two steps.
func (s *seam) Stream(_ context.Context, name string) (st events.StreamInfo, err error) {
	for s.inside && s.random.IntN(2) == 0 && s.advance() {
	}
	list := s.streams[strings.TrimPrefix(name, "chat/")]
	return events.StreamInfo{Last: list[len(list)-1]}, nil
}

// newSeam deals positions to chats and cuts what each has into frames. Some
// chats begin with a frame for the follower alone.
func newSeam(t *testing.T, random *rand.Rand, long bool) *seam {
	s := &seam{t: t, random: random, out: httptest.NewRecorder(), inside: true, streams: map[string][]events.Position{}, unread: map[string][][]events.Position{}}
	chats := []string{"", "a", "b", "c"}[:3+random.IntN(2)]
	for at := events.Position(1); at <= 50; at++ {
		chat := chats[random.IntN(len(chats))]
		if int(at) <= len(chats) { // each has one
			chat = chats[at-1]
		} else if chat == "a" && at > 20 { // it is silent from then on
			chat = "b"
		}
		s.streams[chat] = append(s.streams[chat], at)
	}
	s.p = &follower{line: &line{hub: &Hub{Log: s}, ctx: t.Context(), writer: &writer{w: s.out, control: http.NewResponseController(s.out)}}, checked: 1000}
	for _, chat := range chats {
		src := &following{tail: newTail(0, 1<<20)}
		src.place = src.tail.end()
		if chat != "" {
			src.feed = &feed{chat: chat, stream: events.ChatStream(chat), tail: src.tail, done: make(chan struct{})}
		}
		s.p.sources = append(s.p.sources, src)
		list := s.streams[chat]
		if n := random.IntN(len(list)); chat != "" && n > 0 && (long || random.IntN(2) == 0) {
			brings := list[:n]
			if long {
				brings = []events.Position{list[0], list[n-1]}
			}
			src.take(&node{position: list[n-1], data: s.frame(chat, list[:n]), events: brings})
			src.feed.at.Store(uint64(list[random.IntN(n)])) // its feed may be behind that
			list = list[slices.Index(list, events.Position(src.feed.at.Load()))+1:]
		}
		for len(list) > 0 {
			n := 1
			if chat != "" {
				n += random.IntN(min(6, len(list)))
			}
			s.unread[chat], list = append(s.unread[chat], list[:n]), list[n:]
		}
	}
	return s
}

func (s *seam) frame(chat string, list []events.Position) []byte {
	first, last := list[0], list[len(list)-1]
	return appendEvent(nil, cursor("e", last), "frame", fmt.Appendf(nil, `["%s","%d","%d"]`, chat, first, last))
}

// advance lets one feed go on by a frame; false when all are at the end.
func (s *seam) advance() bool {
	var able []*following
	for _, src := range s.p.sources {
		if len(s.unread[src.chat()]) > 0 {
			able = append(able, src)
		}
	}
	if len(able) == 0 {
		return false
	}
	src := able[s.random.IntN(len(able))]
	chat := src.chat()
	batch := s.unread[chat][0]
	s.unread[chat] = s.unread[chat][1:]
	last := batch[len(batch)-1]
	src.tail.publish(last, s.frame(chat, batch), batch...)
	if src.feed != nil {
		src.feed.at.Store(uint64(last))
	}
	return true
}

func (s *following) chat() string {
	if s.feed == nil {
		return ""
	}
	return s.feed.chat
}

// run sends until all is sent, and gives the frames in their order.
func (s *seam) run() (out []sent) {
	for more := true; more; {
		for range s.random.IntN(4) {
			s.advance()
		}
		more = s.advance()
		if err := s.p.send(); err != nil {
			s.t.Fatal(err)
		}
	}
	s.inside = false
	if err := s.p.send(); err != nil {
		s.t.Fatal(err)
	}
	for text := range strings.SplitSeq(strings.TrimSuffix(s.out.Body.String(), "\n\n"), "\n\n") {
		id, rest, _ := strings.Cut(strings.TrimPrefix(text, "id: e."), "\nevent: frame\ndata: ")
		var data [3]string
		if err := json.Unmarshal([]byte(rest), &data); err != nil {
			s.t.Fatalf("%v in %q", err, text)
		}
		number := func(s string) events.Position { n, _ := strconv.Atoi(s); return events.Position(n) }
		out = append(out, sent{chat: data[0], id: number(id), first: number(data[1]), upTo: number(data[2])})
	}
	return out
}

// follow is a page that was rendered at a position and gets the frames: after
// each, whoever comes back with the highest id must miss nothing that the page
// does not have.
func (s *seam) follow(chat string, rendered events.Position, frames []sent) string {
	seen, has, last := rendered, rendered, events.Position(0)
	lost := func(from, to events.Position) bool {
		return slices.ContainsFunc(s.streams[chat], func(at events.Position) bool { return at > from && at < to })
	}
	for i, f := range frames {
		last = max(last, f.id)
		if f.chat == chat && f.id > seen {
			if lost(has, f.first) {
				return fmt.Sprintf("frame %d skips events after %d", i, has)
			}
			seen, has = f.id, max(has, f.upTo)
		}
		if chat != "" && lost(has, last+1) {
			return fmt.Sprintf("frame %d has the id %d, the page only what is up to %d", i, f.id, has)
		}
	}
	if lost(has, 1000) {
		return fmt.Sprintf("at the end the page has what is up to %d", has)
	}
	return ""
}

// TestAnIdIsAPromise: however the events of chats are mixed and cut into frames,
// and whenever their feeds come to them, no id that a follower gets is past an
// event that a page still needs; of pages rendered at any moment, too. A frame
// for one follower that brings more events than maxParts keeps that for pages
// that are not younger than the connection.
func TestAnIdIsAPromise(t *testing.T) {
	for seed := range uint64(400) {
		long := seed%4 == 0
		s := newSeam(t, rand.New(rand.NewPCG(seed, 5)), long)
		frames := s.run()
		for chat := range s.streams {
			for rendered := events.Position(0); rendered <= 50 && (rendered == 0 || !long); rendered++ {
				if wrong := s.follow(chat, rendered, frames); wrong != "" {
					t.Fatalf("seed %d, chat %q, a page rendered at %d: %s\n%+v\n%v", seed, chat, rendered, wrong, frames, s.streams)
				}
			}
		}
		frames = slices.DeleteFunc(frames, func(f sent) bool { return f.chat == "" }) // those may be late
		for i := 1; i < len(frames); i++ {
			if frames[i].id <= frames[i-1].id {
				t.Fatalf("seed %d: the id %d comes after %d", seed, frames[i].id, frames[i-1].id)
			}
		}
	}
}

// TestFramesSayTheirEvents: a feed's frames, and those for one follower, have
// all that the promise is made of.
func TestFramesSayTheirEvents(t *testing.T) {
	h := newHouse(t, Options{})
	made := h.chat(h.human("ann"), "hello")
	f := h.hub.enter(made.Chat)
	defer h.hub.leave(f)
	<-f.ready
	place, begin := f.tail.end(), h.log.Head()
	word := events.ReplyChunk{Reply: made.Reply, Round: 1, Kind: events.ChunkContent, Text: "a "}
	list := []events.Payload{round(made.Reply, 1)}
	for n := range 3 * maxParts {
		list = append(list, word)
		if n%7 == 0 {
			h.append(made.Chat, list...)
			list = nil
		}
	}
	var want, got []events.Position
	for _, e := range h.stored(f.stream, begin) {
		want = append(want, e.Position)
	}
	eventually(t, "the feed is at the end", func() bool { return events.Position(f.at.Load()) == want[len(want)-1] })
	for n := place.next.Load(); n != nil; n = n.next.Load() {
		if got = append(got, n.events...); n.position != got[len(got)-1] {
			t.Errorf("a frame at %d brings %v", n.position, n.events)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the frames bring %v, want %v", got, want)
	}
	for _, n := range []int{1, maxParts, maxParts + 1} {
		missed := want[len(want)-n:]
		frame, err := h.hub.catchUp(t.Context(), made.Chat, missed[0]-1)
		h.ok(err)
		if n > maxParts {
			missed = []events.Position{missed[0], missed[n-1]}
		}
		if !slices.Equal(frame.events, missed) {
			t.Errorf("of %d events: %v, want %v", n, frame.events, missed)
		}
	}
	frame, err := h.hub.catchUp(t.Context(), made.Chat, 0)
	h.ok(err)
	if all := h.stored(f.stream, 0); !slices.Equal(frame.events, []events.Position{all[0].Position, want[len(want)-1]}) {
		t.Errorf("from nothing: %v", frame.events)
	}
}
