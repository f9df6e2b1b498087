package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/util"
)

// The open paragraph is shown in pieces, so that a frame need not repeat it.
// Where a piece ends depends only on the text before that point.
const (
	minPiece   = 32   // bytes; less is not worth an element
	maxMarked  = 320  // bytes that an open mark may keep a piece from ending at a space
	maxPlain   = 96   // bytes without any space and mark
	maxPiece   = 1000 // bytes without any space
	mathReach  = 120  // bytes in which a $ may find its partner
	labelReach = 200  // bytes that an open bracket is taken for a link
)

// marks reads text from left to right and knows which inline marks are open.
type marks struct {
	ticks   int // length of the run of an open code span
	tickPos int
	bracket []int // open brackets
	paren   int   // depth in a link destination
	link    int   // where that link began
	stack   []mark
	dollar  int // where a formula began, +1
	closer  string
	wait    bool // what comes next decides; nothing after pos was read
	pos     int
}

type mark struct {
	text string
	pos  int
}

func (m *marks) neutral() bool {
	return m.ticks == 0 && len(m.bracket) == 0 && m.paren == 0 && len(m.stack) == 0 && m.dollar == 0 && m.closer == ""
}

// step reads the next mark or character of s. It stops with wait where the
// text ends in the middle of a mark.
func (m *marks) step(s string) {
	i, c := m.pos, s[m.pos]
	next := byte(0)
	if i+1 < len(s) {
		next = s[i+1]
	}
	if m.dollar > 0 && i-m.dollar > mathReach {
		m.dollar = 0
	}
	switch {
	case c == '`':
		m.tick(s)
		return
	case m.ticks > 0:
	case c == '\\':
		m.escape(s, next)
		return
	case m.closer != "":
	case m.paren > 0:
		m.destination(c)
	case c == '[':
		m.bracket = append(m.bracket, i)
	case c == ']' && len(m.bracket) > 0:
		if next == 0 {
			m.wait = true
			return
		}
		if next == '(' {
			m.paren, m.link = 1, m.bracket[len(m.bracket)-1]
			m.pos++
		}
		m.bracket = m.bracket[:len(m.bracket)-1]
	case c == '*' || c == '_' || c == '~':
		m.emphasis(s)
		return
	case c == '$':
		m.money(s, next)
	}
	m.pos++
}

func (m *marks) tick(s string) {
	n := runLength(s[m.pos:])
	if m.pos+n == len(s) {
		m.wait = true
		return
	}
	if m.ticks == 0 {
		m.ticks, m.tickPos = n, m.pos
	} else if m.ticks == n {
		m.ticks = 0
	}
	m.pos += n
}

func (m *marks) escape(s string, next byte) {
	if next == 0 {
		m.wait = true
		return
	}
	switch {
	case m.closer != "":
		if next == m.closer[1] {
			m.closer = ""
		}
	case next == '(' && m.paren == 0:
		m.closer = `\)`
	case next == '[':
		m.closer = `\]`
	}
	m.pos += 2
	if next >= utf8.RuneSelf {
		m.pos--
	}
}

func (m *marks) destination(c byte) {
	switch c {
	case '(':
		m.paren++
	case ')':
		m.paren--
	case '\n':
		m.paren = 0
	}
}

func (m *marks) emphasis(s string) {
	n := runLength(s[m.pos:])
	if m.pos+n == len(s) {
		m.wait = true
		return
	}
	run, before, after := s[m.pos:m.pos+n], byte(' '), s[m.pos+n]
	if m.pos > 0 {
		before = s[m.pos-1]
	}
	at := m.pos
	m.pos += n
	if run[0] == '~' && n != 2 || n > 3 || run[0] == '_' && isWord(rune(before)) && isWord(rune(after)) {
		return
	}
	if !util.IsSpace(before) && m.unstack(run) {
		return
	}
	if !util.IsSpace(after) {
		m.stack = append(m.stack, mark{run, at})
	}
}

// unstack closes what run closes: the same mark, or two that make it up.
func (m *marks) unstack(run string) bool {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if m.stack[i].text == run {
			m.stack = m.stack[:i]
			return true
		}
	}
	if len(run) == 3 && len(m.stack) >= 2 && len(m.stack[len(m.stack)-1].text)+len(m.stack[len(m.stack)-2].text) == 3 {
		m.stack = m.stack[:len(m.stack)-2]
		return true
	}
	return false
}

func (m *marks) money(s string, next byte) {
	switch {
	case m.dollar > 0:
		m.dollar = 0
	case next == 0 || util.IsSpace(next) || next >= '0' && next <= '9':
	case m.pos > 0 && isWord(rune(s[m.pos-1])):
	default:
		m.dollar = m.pos + 1
	}
}

// cutPiece gives the length of the first piece of s, 0 if none can end yet.
// The piece ends behind a space or a line end.
func cutPiece(s string) int {
	m := &marks{}
	for m.pos < len(s) && !m.wait {
		i := m.pos
		space := s[i] == ' ' || s[i] == '\n'
		switch {
		case space && i >= minPiece && m.neutral(), space && i >= maxMarked:
			return i + 1
		case !utf8.RuneStart(s[i]):
		case i >= minPiece && s[i] >= 0xe2 && wide(s[i:]) && m.neutral(), i >= maxPlain && m.neutral(), i >= maxPiece:
			return i
		}
		m.step(s)
	}
	return 0
}

// wide: a script that is written without spaces goes on here.
func wide(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r >= 0x2e80 && r < 0xfb00
}

// mend completes the marks that are open at the end of s, which goes on: so
// that what is shown has no half a mark in it.
func mend(s string) string {
	m := &marks{}
	for m.pos < len(s) && !m.wait {
		m.step(s)
	}
	if m.wait {
		s = s[:m.pos]
	}
	switch {
	case m.ticks > 0:
		s = strings.TrimRight(s, " ")
		if len(s) == m.tickPos+m.ticks {
			s = s[:m.tickPos]
		} else {
			s += strings.Repeat("`", m.ticks)
		}
	case m.paren > 0:
		s = openLink(s, m.link)
	case len(m.bracket) > 0 && len(s)-m.bracket[0] < labelReach:
		s = openLink(s, m.bracket[0])
	}
	return closeMarks(s, m.stack)
}

// openLink shows the label of the link that begins at i and is not complete.
func openLink(s string, i int) string {
	label, _, _ := strings.Cut(s[i+1:], "](")
	if strings.HasPrefix(label, "^") {
		label = ""
	}
	return strings.TrimSuffix(s[:i], "!") + label
}

func closeMarks(s string, stack []mark) string {
	for i := len(stack) - 1; i >= 0; i-- {
		m := stack[i]
		if m.pos > len(s) {
			continue
		}
		s = strings.TrimRight(s, " \n")
		if len(s) <= m.pos+len(m.text) {
			s = s[:min(m.pos, len(s))]
			continue
		}
		b := []byte(m.text)
		for j := range b {
			b[j] = m.text[len(b)-1-j]
		}
		s += string(b)
	}
	return s
}

// plainPiece: s has no character that can be a mark, so escaping is enough.
func plainPiece(s string) bool {
	return !strings.ContainsAny(s, "\\`*_~[]<&$@\t") && !strings.Contains(s, "://") && !strings.Contains(s, "www.") &&
		!strings.Contains(s, "  ")
}

// oneParagraph leaves blank lines out; there are some where mend took a mark.
func oneParagraph(s string) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	lines := slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	return strings.Join(lines, "\n")
}

// inline renders a piece of a paragraph.
func (r *Renderer) inline(s string, e *env) string {
	core := oneParagraph(strings.Trim(s, " \n"))
	if core == "" {
		return ""
	}
	var out string
	if plainPiece(core) {
		out = escape(core)
	} else {
		out, _ = r.parse(r.lines, core, e)
		out = strings.TrimSuffix(strings.TrimPrefix(out, "<p>"), "</p>")
	}
	if s[0] == ' ' || s[0] == '\n' {
		out = " " + out
	}
	switch tail := s[len(strings.TrimRight(s, " \n")):]; {
	case strings.HasPrefix(tail, "  \n"):
		return out + "<br>"
	case tail != "":
		return out + " "
	}
	return out
}
