package markdown

import (
	"html/template"
	"strings"
	"unicode/utf8"
)

// Stream renders one growing reply. Blocks that are closed are rendered,
// highlighted and sent once; of the open one, only what is new is. It is not
// safe for concurrent use.
//
// What is shown is a function of the text alone. A page may therefore be
// rendered with State at any moment and get the frames that follow, also those
// that began before.
type Stream struct {
	r     *Renderer
	env   *env
	text  strings.Builder // cleaned, all of it
	held  string          // bytes at the end that are no whole character
	split splitter
	view  view
	tree  *tree
	line  strings.Builder // the line that is not complete
	n     int             // closed blocks: elements
	size  int             // and bytes
	dirty bool            // text since the last frame
	stale bool            // text since show
}

// NewStream begins a reply. prefix is that of Render.
func (r *Renderer) NewStream(prefix string) *Stream {
	e := newEnv(prefix)
	e.growing, e.figures = true, map[string]string{}
	draft := *e
	draft.draft = true
	t := newTree()
	return &Stream{r: r, env: e, tree: t, view: view{r: r, e: &draft, t: t}}
}

// Append adds text. It may be cut anywhere, also within a character.
func (s *Stream) Append(text string) {
	if text == "" {
		return
	}
	s.dirty = true
	text = s.held + text
	n := len(text) - incomplete(text)
	s.held = text[n:]
	text = clean(text[:n])
	s.text.WriteString(text)
	for {
		l, rest, ok := strings.Cut(text, "\n")
		s.line.WriteString(l)
		if !ok {
			break
		}
		s.complete(s.line.String())
		s.line.Reset()
		text = rest
	}
	s.stale = true
}

// show brings what is not settled up to date: only when it is asked for, so
// small chunks cost no more than large ones.
func (s *Stream) show() {
	if s.stale {
		s.stale = false
		s.view.part(s.line.String())
	}
}

// incomplete counts the bytes at the end that need what follows: half a
// character, or a carriage return.
func incomplete(s string) int {
	if strings.HasSuffix(s, "\r") {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}

// complete takes a complete line.
func (s *Stream) complete(l string) {
	for _, seg := range s.split.feed(l) {
		s.close(seg)
	}
	cur := s.split.cur
	switch {
	case cur == nil:
	case cur.kind == kindRest && s.view.leaf != leafRest:
		s.view.beyond(cur.excess())
		fallthrough
	default:
		s.view.line(l)
	}
}

// close replaces the view of a block by the block.
func (s *Stream) close(seg *segment) {
	s.view.reset()
	s.tree.reset(s.n, s.size)
	s.env.collect(seg)
	html, n := s.r.segment(seg, s.env)
	s.tree.root().add(html, n)
	s.n, s.size = s.tree.root().n, len(s.tree.root().html)
}

// State is what is shown now: the whole content of the container.
func (s *Stream) State() template.HTML {
	s.show()
	return template.HTML(s.tree.string())
}

// Frame is what changed since the last frame; the first one has everything.
// changed is false if no text came.
func (s *Stream) Frame() (f Frame, changed bool) {
	if !s.dirty {
		return nil, false
	}
	s.dirty = false
	s.show()
	return s.tree.frame(), true
}

// Finish ends the reply and gives the last frame. After it the page shows what
// Render gives for the whole text.
func (s *Stream) Finish() Frame {
	if s.held != "" {
		last := clean(s.held)
		s.held = ""
		s.Append(last)
	}
	if s.line.Len() > 0 {
		s.complete(s.line.String())
		s.line.Reset()
	}
	for _, seg := range s.split.flush() {
		s.close(seg)
	}
	if s.env.resolved {
		s.whole()
	}
	s.dirty, s.stale = false, false
	return s.tree.frame()
}

// whole renders the text again, because a block looks different now that all
// definitions are known.
func (s *Stream) whole() {
	segs := split(s.text.String())
	e := newEnv(s.env.prefix)
	e.figures = s.env.figures
	for _, seg := range segs {
		e.collect(seg)
	}
	html := s.r.segments(segs, e)
	if html == string(s.tree.root().html) {
		return
	}
	s.tree.reset(0, 0)
	s.tree.root().add(html, 0)
}
