package stream

import (
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

// growingText is one text and how much of it its stream was given.
type growingText struct {
	stream *markdown.Stream
	fed    int
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
	if t := g.texts[prefix]; t != nil && t.fed == src.Len() {
		t.stream.Frame()
		return
	}
	t := &growingText{stream: g.md.NewStream(prefix), fed: src.Len()}
	t.stream.Append(src.String())
	t.stream.Frame()
	g.texts[prefix] = t
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
		t = &growingText{stream: g.md.NewStream(prefix)}
		g.texts[prefix] = t
	}
	t.stream.Append(src.String()[t.fed:])
	t.fed = src.Len()
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
