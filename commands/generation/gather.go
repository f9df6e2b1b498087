package generation

import (
	"time"
	"unicode/utf8"

	"lembas/commands/llm"
	"lembas/events"
)

// maxChunk is how many bytes are gathered at most (EV-11).
const maxChunk = 2 << 10

// gatherer makes chunks of deltas: what comes within the gather time, of one
// kind, at most 2 KB. The very first delta goes out at once. One goroutine
// appends, so that a timer can flush while the endpoint is silent; it ends with
// close.
type gatherer struct {
	reply  string
	round  int
	wait   time.Duration
	append func(events.Payload) error

	in   chan any // llm.Delta or events.Payload
	done chan struct{}
	err  error // why it stopped taking; read after done

	chunk *events.ReplyChunk
	first bool // nothing was sent yet
}

func newGatherer(wait time.Duration, append func(events.Payload) error) *gatherer {
	// 256 is what an endpoint may be ahead of a slow disk before it is read
	// more slowly.
	g := &gatherer{wait: wait, append: append, in: make(chan any, 256), done: make(chan struct{}), first: true}
	go g.run()
	return g
}

// add takes a delta, or gives the error that stopped the gatherer.
func (g *gatherer) add(d llm.Delta) error { return g.send(d) }

// put appends an event after all deltas so far.
func (g *gatherer) put(p events.Payload) { _ = g.send(p) } // the error comes from close

func (g *gatherer) send(v any) error {
	select {
	case g.in <- v:
		return nil
	case <-g.done:
		return g.err
	}
}

// close flushes and gives the first error of an append.
func (g *gatherer) close() error {
	close(g.in)
	<-g.done
	return g.err
}

func (g *gatherer) run() {
	defer close(g.done)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case v, ok := <-g.in:
			if !ok {
				g.err = g.flush()
				return
			}
			waiting := g.chunk != nil
			if g.err = g.take(v); g.err != nil {
				return
			}
			if g.chunk != nil && !waiting {
				timer.Reset(g.wait)
			}
		case <-timer.C:
			if g.err = g.flush(); g.err != nil {
				return
			}
		}
	}
}

func (g *gatherer) take(v any) error {
	d, ok := v.(llm.Delta)
	if !ok {
		if err := g.flush(); err != nil {
			return err
		}
		return g.append(v.(events.Payload))
	}
	switch d.Kind {
	case llm.KindReclassify:
		if err := g.flush(); err != nil {
			return err
		}
		return g.append(events.ReplyReclassified{Reply: g.reply, Round: g.round, From: events.ChunkContent, To: events.ChunkReasoning})
	case llm.KindToolCall:
		return nil // tool.called says it whole
	}
	// An endpoint that does not stream sends one delta of megabytes.
	for rest := d.Text; rest != ""; {
		d.Text, rest = cutText(rest, maxChunk)
		if err := g.piece(d); err != nil {
			return err
		}
	}
	return nil
}

// piece takes at most a chunk's bytes of one delta.
func (g *gatherer) piece(d llm.Delta) error {
	if g.chunk != nil && len(g.chunk.Text)+len(d.Text) > maxChunk {
		if err := g.flush(); err != nil {
			return err
		}
	}
	if err := g.gather(d); err != nil {
		return err
	}
	if g.first || len(g.chunk.Text) >= maxChunk || (g.wait == 0 && len(g.in) == 0) {
		g.first = false
		return g.flush()
	}
	return nil
}

// cutText cuts s after at most n bytes, at a character's border.
func cutText(s string, n int) (head, rest string) {
	if len(s) <= n {
		return s, ""
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i], s[i:]
		}
	}
	return s[:n], s[n:] // not UTF-8
}

func (g *gatherer) gather(d llm.Delta) error {
	kind := string(d.Kind)
	call := -1
	if d.Kind == llm.KindToolArguments {
		call = d.Call
	}
	if c := g.chunk; c != nil && (c.Kind != kind || (c.Call != nil && *c.Call != call)) {
		if err := g.flush(); err != nil {
			return err
		}
	}
	if g.chunk == nil {
		g.chunk = &events.ReplyChunk{Reply: g.reply, Round: g.round, Kind: kind}
		if call >= 0 {
			g.chunk.Call = &call
		}
	}
	g.chunk.Cuts = append(g.chunk.Cuts, [2]int64{int64(len(g.chunk.Text)), d.At.Milliseconds()})
	g.chunk.Text += d.Text
	return nil
}

func (g *gatherer) flush() error {
	if g.chunk == nil {
		return nil
	}
	c := g.chunk
	g.chunk = nil
	return g.append(*c)
}
