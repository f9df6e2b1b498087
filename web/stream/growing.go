package stream

import (
	"hash/maphash"

	"lembas/projections/transcript"
	"lembas/web/markdown"
	"lembas/web/pages/view"
)

// growing keeps a Markdown stream for each text of a chat that is not finished,
// so that closed blocks are rendered and sent once. A nil *growing keeps none.
type growing struct {
	md    *markdown.Renderer
	texts map[string]*growingText // by the text's prefix
}

// growingText is one text, and how much of it and what its stream was given:
// words that turn out to be thoughts leave a text, and others may come to the
// same length.
type growingText struct {
	stream *markdown.Stream
	fed    int
	what   maphash.Hash
}

func (g *growing) begin(prefix string) *growingText {
	t := &growingText{stream: g.md.NewStream(prefix)}
	g.texts[prefix] = t
	return t
}

func (t *growingText) feed(s string) {
	t.stream.Append(s)
	t.fed += len(s)
	_, _ = t.what.WriteString(s) // it never fails
}

// is says whether the stream was given exactly this text.
func (t *growingText) is(s string) bool {
	return t.fed == len(s) && maphash.String(t.what.Seed(), s) == t.what.Sum64()
}

func newGrowing(md *markdown.Renderer) *growing {
	return &growing{md: md, texts: map[string]*growingText{}}
}

// fed says how much of a text was shown before this batch.
func (g *growing) fed(prefix string) int {
	if g == nil || g.texts[prefix] == nil {
		return 0
	}
	return g.texts[prefix].fed
}

// sync takes a round's texts as shown just now.
func (g *growing) sync(r *transcript.Reply, x *transcript.Round) {
	if g == nil {
		return
	}
	g.take(view.TextPrefix(r.ID, x.N), &x.Content, view.Closed(r, x))
	g.syncThought(r, x)
}

func (g *growing) syncThought(r *transcript.Reply, x *transcript.Round) {
	if g != nil {
		g.take(view.ThoughtPrefix(r.ID, x.N), &x.Reasoning, view.Closed(r, x))
	}
}

// take makes a stream that stands at the end of a text, or lets go of one that
// has ended.
func (g *growing) take(prefix string, src *transcript.Text, closed bool) {
	if closed || src.Len() == 0 {
		delete(g.texts, prefix)
		return
	}
	text := src.String()
	t := g.texts[prefix]
	if t == nil || !t.is(text) {
		t = g.begin(prefix)
		t.feed(text)
	}
	t.stream.Frame()
}

// grow gives the ops that bring the container target to the text's present
// state. whole renders all of it.
func (g *growing) grow(target, prefix string, src *transcript.Text, closed bool, whole func() string) []Op {
	if g == nil {
		return []Op{all(target, whole())}
	}
	t := g.texts[prefix]
	if t == nil && closed || t != nil && t.fed > src.Len() {
		delete(g.texts, prefix)
		return []Op{all(target, whole())}
	}
	if t == nil {
		t = g.begin(prefix)
	}
	t.feed(src.String()[t.fed:])
	if closed {
		delete(g.texts, prefix)
		return blocks(target, t.stream.Finish())
	}
	f, _ := t.stream.Frame()
	return blocks(target, f)
}

// blocks are the ops of a Markdown frame on a container.
func blocks(target string, f markdown.Frame) []Op {
	out := make([]Op, 0, len(f))
	for _, op := range f {
		var keep any = op.Keep
		if len(op.Keep) == 1 {
			keep = op.Keep[0]
		}
		out = append(out, Op{Op: "blocks", Target: target, Keep: keep, HTML: &op.HTML})
	}
	return out
}
