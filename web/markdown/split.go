package markdown

import "strings"

// kind says what a top-level block is as far as its end must be known.
type kind int

const (
	kindParagraph kind = iota // also tables
	kindHeading
	kindRule
	kindFence
	kindIndented
	kindList
	kindQuote
	kindMath
	kindNote       // footnote definition
	kindDefinition // link reference definition
	kindRest       // beyond the bound: everything that follows
	kindItem       // of a list; for the view only
)

// segment is a run of lines that is rendered as a whole, apart from all others.
// It gives one or more elements at the top level (none for a definition).
type segment struct {
	kind  kind
	lines []string
	size  int
	fence fence
	ended bool // fence, math: the closing line is there
	close string
	width int      // list: content column of the present top-level item
	empty []string // blank lines held back until the block goes on
}

func (s *segment) add(l string) {
	s.lines = append(append(s.lines, s.empty...), l)
	s.empty = s.empty[:0]
	s.size += len(l) + 1
}

func (s *segment) source() string { return strings.Join(s.lines, "\n") }

// splitter cuts a text into segments. Where it cuts depends on complete lines
// only, never on how they arrived. A cut is made where CommonMark certainly
// begins a new top-level block; in doubt the segment goes on.
type splitter struct {
	cur  *segment
	size int // bytes seen, for maxText
}

// feed takes one complete line. It returns the segments that this line closes,
// in order: at most the one before it and the one that it ends.
func (p *splitter) feed(s string) (closed []*segment) {
	p.size += len(s) + 1
	l := parseLine(s)
	if p.cur != nil {
		if p.cur.kind != kindRest && p.size > maxText {
			closed = append(closed, p.flush()...)
			p.cur = &segment{kind: kindRest}
		}
		taken, ended := p.cur.take(s, l)
		if !taken || ended {
			closed = append(closed, p.cur)
			p.cur = nil
		}
		if taken {
			return closed
		}
	}
	if l.blank() {
		return closed
	}
	p.cur = open(s, l)
	if p.size > maxText {
		p.cur = &segment{kind: kindRest, lines: []string{s}}
	}
	if p.cur.single() {
		closed = append(closed, p.cur)
		p.cur = nil
	}
	return closed
}

// flush closes what is open at the end of the text.
func (p *splitter) flush() []*segment {
	if p.cur == nil {
		return nil
	}
	s := p.cur
	p.cur = nil
	return []*segment{s}
}

func (s *segment) single() bool {
	switch s.kind {
	case kindHeading, kindRule, kindDefinition:
		return true
	case kindMath:
		return s.ended
	}
	return false
}

// open begins the segment whose first line is l, which is not blank.
func open(s string, l line) *segment {
	seg := &segment{}
	seg.kind = seg.classify(l)
	seg.add(s)
	return seg
}

func (s *segment) classify(l line) kind {
	if l.indent > 3 {
		return kindIndented
	}
	if f, ok := l.fence(); ok {
		s.fence = f
		return kindFence
	}
	if c, whole, ok := l.mathOpen(); ok {
		s.close, s.ended = c, whole
		return kindMath
	}
	if n, _ := l.heading(); n > 0 {
		return kindHeading
	}
	if l.rule() {
		return kindRule
	}
	if m, ok := l.marker(); ok {
		s.width = m.width
		return kindList
	}
	if l.quote() {
		return kindQuote
	}
	if _, _, ok := l.note(); ok {
		return kindNote
	}
	if _, _, _, ok := l.definition(); ok {
		return kindDefinition
	}
	return kindParagraph
}

// take offers the segment its next line. taken: the line belongs to it; ended:
// nothing after this line does.
func (s *segment) take(raw string, l line) (taken, ended bool) {
	switch s.kind {
	case kindRest:
		s.add(raw)
		return true, false
	case kindFence:
		s.add(raw)
		s.ended = s.fence.closes(l)
		return true, s.ended
	case kindMath:
		return s.takeMath(raw, l)
	case kindParagraph, kindQuote:
		return s.takeParagraph(raw, l)
	}
	if l.blank() {
		s.empty = append(s.empty, raw)
		return true, false
	}
	switch s.kind {
	case kindIndented:
		taken = l.indent > 3
	case kindNote:
		taken = l.indent > 3 || (len(s.empty) == 0 && !breaks(l))
	case kindList:
		taken = s.takesItem(l)
	}
	if taken {
		s.add(raw)
	}
	return taken, false
}

// takesItem: a line under a list belongs to it if it is indented to the item's
// content, begins an item, or may be a lazy continuation.
func (s *segment) takesItem(l line) bool {
	if l.indent >= s.width {
		return true
	}
	if m, ok := l.marker(); ok {
		s.width = m.width
		return true
	}
	return len(s.empty) == 0 && !breaks(l)
}

func (s *segment) takeParagraph(raw string, l line) (taken, ended bool) {
	if l.blank() {
		return true, true
	}
	if s.kind == kindQuote && l.quote() {
		s.add(raw)
		return true, false
	}
	if s.kind == kindParagraph && l.underline() > 0 {
		s.add(raw)
		return true, true
	}
	if breaks(l) {
		return false, false
	}
	if m, ok := l.marker(); (ok && m.interrupts()) || l.quote() {
		return false, false
	}
	s.add(raw)
	return true, false
}

// takeMath: a blank line, or too many lines, and it was no math after all; it
// stays a paragraph then.
func (s *segment) takeMath(raw string, l line) (taken, ended bool) {
	if l.blank() {
		s.kind = kindParagraph
		return true, true
	}
	if _, ok := l.fence(); ok {
		s.kind = kindParagraph
		return false, false
	}
	s.add(raw)
	s.ended = strings.HasSuffix(strings.TrimRight(l.text, " \t"), s.close)
	if !s.ended && s.size > maxMath {
		s.kind = kindParagraph
	}
	return true, s.ended
}

// breaks tells whether l begins a new block whatever comes before, outside of
// code: a fence, display math, a heading, a rule, a footnote.
func breaks(l line) bool {
	if l.indent > 3 {
		return false
	}
	if _, ok := l.fence(); ok {
		return true
	}
	if _, _, ok := l.mathOpen(); ok {
		return true
	}
	if n, _ := l.heading(); n > 0 {
		return true
	}
	_, _, note := l.note()
	return note || l.rule()
}

// split cuts a whole text.
func split(src string) []*segment {
	var p splitter
	var out []*segment
	for len(src) > 0 {
		l, rest, _ := strings.Cut(src, "\n")
		out = append(out, p.feed(l)...)
		src = rest
	}
	return append(out, p.flush()...)
}
