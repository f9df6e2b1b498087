package llm

import "strings"

// maxUndecided bounds how much text after a tag inside an unclosed code span is held back, in bytes.
const maxUndecided = 256

// splitter tells reasoning from answer in content that carries think, thinking or thought tags. It holds back only what
// may still become a tag, and, for a tag that stands after an opening backtick, the rest of that line until the
// closing backtick shows it to be code (at most maxUndecided bytes).
type splitter struct {
	// emit takes text of one kind, KindContent or KindReasoning.
	emit func(Kind, string)
	// reclassify is told that everything emitted as content so far was reasoning (a lone closing tag).
	reclassify func()
	// hadReasoning: reasoning has come by a field or a block, so a lone closing tag is only dropped.
	hadReasoning bool

	depth      int  // open think tags
	fenceDepth int  // open tags inside a fence inside reasoning: text, but they must balance
	begun      bool // answer text has come
	bare       bool // a block has ended and no answer text has come: line breaks in front of it are dropped
	code       code
	tag        []byte // bytes that may become a tag
	undecided  []byte // a whole tag inside a code span, and what followed it
	tagLen     int
	out        strings.Builder
}

// push takes the next piece of content.
func (s *splitter) push(t string) {
	for i := 0; i < len(t); i++ {
		s.step(t[i])
	}
	s.release()
}

// flush settles what was held back: a partial tag is text, an undecided tag is a tag.
func (s *splitter) flush() {
	if len(s.undecided) > 0 {
		s.settle(false)
	}
	s.text(s.tag)
	s.tag = s.tag[:0]
	s.release()
}

func (s *splitter) step(c byte) {
	if len(s.undecided) > 0 {
		s.undecided = append(s.undecided, c)
		if closed, ended := s.spanState(); closed || ended {
			s.settle(closed)
		}
		return
	}
	if len(s.tag) == 0 && c == '<' && s.code.run > 0 {
		s.code.endRun()
	}
	if len(s.tag) == 0 && (c != '<' || s.depth == 0 && s.code.fence > 0) {
		s.plain(c)
		return
	}
	s.tag = append(s.tag, c)
	prefix, whole := matchTag(s.tag)
	switch {
	case whole && s.code.span() > 0:
		s.undecided = append(s.undecided[:0], s.tag...)
		s.tagLen = len(s.tag)
		s.tag = s.tag[:0]
	case whole:
		tag := string(s.tag)
		s.tag = s.tag[:0]
		s.act(tag)
	case !prefix:
		held := s.tag[:len(s.tag)-1]
		s.text(held)
		s.tag = s.tag[:0]
		s.step(c) // may open another tag; not recursive further, the tag is empty
	}
}

// spanState looks for the end of the code span an undecided tag stands in: closed when the same number of backticks
// came, ended when the line did or too much was held.
func (s *splitter) spanState() (closed, ended bool) {
	rest := s.undecided[s.tagLen:]
	last := rest[len(rest)-1]
	if last == '\n' || len(rest) > maxUndecided {
		return false, true
	}
	run := 0
	for i := len(rest) - 2; i >= 0 && rest[i] == '`'; i-- {
		run++
	}
	return last != '`' && run == s.code.span(), false
}

// settle ends the wait: the held text is code, or the tag was a tag and the rest is read again.
func (s *splitter) settle(isCode bool) {
	held := string(s.undecided)
	s.undecided = s.undecided[:0]
	if isCode { // the last byte is the one after the closing backticks, and may open a tag
		s.text([]byte(held[:len(held)-1]))
		s.step(held[len(held)-1])
		return
	}
	if strings.HasSuffix(held[s.tagLen:], strings.Repeat("`", s.code.span())) { // they are the last thing that came
		s.text([]byte(held))
		return
	}
	tag, rest := held[:s.tagLen], held[s.tagLen:]
	s.code.inline, s.code.run = 0, 0
	s.act(tag)
	for i := 0; i < len(rest); i++ { // shorter than held: this ends
		s.step(rest[i])
	}
}

// act carries out a tag that is not code.
func (s *splitter) act(tag string) {
	closing := tag[1] == '/'
	switch {
	case s.depth > 0 && s.code.fence > 0 && (!closing || s.fenceDepth > 0):
		if closing {
			s.fenceDepth--
		} else {
			s.fenceDepth++
		}
		s.text([]byte(tag))
	case !closing:
		s.release()
		s.depth++
		s.hadReasoning = true
		if s.depth == 1 {
			s.code = code{}
		}
	case s.depth > 0:
		s.release()
		s.depth--
		if s.depth == 0 {
			s.code, s.fenceDepth, s.bare = code{}, 0, !s.begun
		}
	default:
		s.lone()
	}
}

func (s *splitter) lone() {
	s.release()
	if s.hadReasoning {
		return
	}
	s.hadReasoning, s.bare, s.begun = true, true, false
	s.code = code{}
	s.reclassify()
}

func (s *splitter) text(p []byte) {
	for _, c := range p {
		s.plain(c)
	}
}

func (s *splitter) plain(c byte) {
	s.code.step(c)
	if s.code.fence == 0 {
		s.fenceDepth = 0
	}
	if s.depth == 0 {
		if s.bare && (c == '\n' || c == '\r') {
			return
		}
		s.bare, s.begun = false, true
	}
	s.out.WriteByte(c)
}

func (s *splitter) release() {
	if s.out.Len() == 0 {
		return
	}
	kind := KindContent
	if s.depth > 0 {
		kind = KindReasoning
	}
	t := s.out.String()
	s.out.Reset()
	s.emit(kind, t)
}

// matchTag reports whether b may become one of the tags, and whether it is one. Case does not matter.
func matchTag(b []byte) (prefix, whole bool) {
	for _, t := range [...]string{"<think>", "<thinking>", "<thought>", "</think>", "</thinking>", "</thought>"} {
		if len(b) <= len(t) && strings.EqualFold(t[:len(b)], string(b)) {
			prefix = true
			whole = whole || len(b) == len(t)
		}
	}
	return prefix, whole
}

// code follows Markdown just far enough to know whether a place is in a fenced block or a code span. A span ends
// with its line: a lone backtick (an apostrophe) must not hide a tag for the rest of a reply.
type code struct {
	fence   int  // length of the fence that is open, 0 for none
	fenceCh byte // its character
	info    bool // on the line that opened it
	inline  int  // length of the backtick run that opened a span, 0 for none
	run     int  // length of the run being read
	runCh   byte
	runBOL  bool // the run began its line
	mid     bool // something other than white space has come on this line
	closing bool // a closing fence has come; only white space may follow
}

// span is the length of the backtick run that opened the code span we are in, 0 for none.
func (c *code) span() int {
	if c.fence > 0 {
		return 0
	}
	return c.inline
}

func (c *code) step(b byte) {
	if c.run > 0 && b == c.runCh {
		c.run++
		return
	}
	if c.run > 0 {
		c.endRun()
	}
	switch b {
	case '\n', '\r':
		if c.closing {
			c.fence = 0
		}
		c.info, c.closing, c.mid, c.inline = false, false, false, 0
	case ' ', '\t':
	case '`', '~':
		c.run, c.runCh, c.runBOL = 1, b, !c.mid
		c.mid = true
	default:
		c.mid, c.closing = true, false
	}
}

func (c *code) endRun() {
	n := c.run
	c.run = 0
	switch {
	case c.fence > 0 && c.info:
		if c.runCh == '`' && c.fenceCh == '`' { // "```x```" on one line is a span, not a fence
			c.inline, c.fence, c.info = c.fence, 0, false
			if n == c.inline {
				c.inline = 0
			}
		}
	case c.fence > 0:
		c.closing = c.runBOL && c.runCh == c.fenceCh && n >= c.fence
	case c.inline > 0:
		if c.runCh == '`' && n == c.inline {
			c.inline = 0
		}
	case c.runBOL && n >= 3:
		c.fence, c.fenceCh, c.info = n, c.runCh, true
	case c.runCh == '`':
		c.inline = n
	}
}
