package markdown

import (
	"strings"
	"unicode"
)

// leafKind is what the innermost open block of the view is.
type leafKind int

const (
	leafNone leafKind = iota
	leafParagraph
	leafHeader // a line that may become the header of a table
	leafTable
	leafFence
	leafIndented
	leafMath
	leafRest // what is beyond the bound
	leafHeading
	leafRule // complete with its line
)

// code: the text of the leaf is shown as it stands.
func (k leafKind) code() bool {
	return k == leafFence || k == leafIndented || k == leafMath || k == leafRest
}

// cont is an open container of the view.
type cont struct {
	kind   kind // kindQuote, kindList, kindItem, kindNote
	marker marker
	label  string
	width  int  // item: columns of its content
	loose  bool // list: blank lines are in it
}

// plan is what a line does to the view.
type plan struct {
	depth int    // containers that go on
	open  []cont // containers that begin
	leaf  leafKind
	same  bool // the open leaf goes on
	ends  bool // and this line ends it
	held  bool // cut here, it could still end it
	blank bool
	text  string
	level int
	fence fence
}

// viewDepth bounds the containers that the view opens; deeper ones are text
// until the block closes.
const viewDepth = 10

// plan says what line l does. It depends on the state and on l only.
func (v *view) plan(l string) plan {
	p := plan{}
	if v.leaf == leafRest {
		return plan{same: true, leaf: leafRest, text: l}
	}
	cur := v.match(&p, parseLine(l))
	all := p.depth == len(v.conts)
	if all && v.leaf == leafFence {
		p.same, p.leaf, p.ends = true, leafFence, v.fence.closes(cur)
		p.text = cur.cut(v.fence.indent)
		p.held = v.fence.mayClose(cur)
		return p
	}
	if all && v.leaf == leafMath {
		p.same, p.leaf, p.text, p.blank = true, leafMath, cur.cut(0), cur.blank()
		return p
	}
	if cur.blank() {
		p.blank = true
		return p
	}
	if all && v.leaf == leafIndented && cur.indent > 3 {
		p.same, p.leaf, p.text = true, leafIndented, cur.cut(4)
		return p
	}
	matched := p.depth
	cur = v.begin(&p, cur)
	if v.leaf == leafParagraph && len(p.open) == 0 && !all && !breaks(cur) {
		p.depth, p.same, p.leaf, p.text = len(v.conts), true, leafParagraph, cur.text
		return p
	}
	if len(p.open) == 0 && matched == p.depth && p.depth > 0 && v.conts[p.depth-1].kind == kindList {
		p.depth-- // the list has no further item
		all = false
	}
	v.planLeaf(&p, cur, all && len(p.open) == 0)
	return p
}

// match goes into the open containers as far as l continues them.
func (v *view) match(p *plan, cur line) line {
	for ; p.depth < len(v.conts); p.depth++ {
		c := v.conts[p.depth]
		switch {
		case c.kind == kindList:
		case c.kind == kindQuote && cur.quote():
			cur = parseLine(cur.unquote())
		case c.kind == kindItem && cur.blank(), c.kind == kindNote && cur.blank():
		case c.kind == kindItem && cur.indent >= c.width:
			cur = parseLine(cur.cut(c.width))
		case c.kind == kindNote && cur.indent >= 4:
			cur = parseLine(cur.cut(4))
		default:
			return cur
		}
	}
	return cur
}

// begin opens the containers that l begins.
func (v *view) begin(p *plan, cur line) line {
	inText := v.leaf == leafParagraph && p.depth == len(v.conts)
	for p.depth+len(p.open) < viewDepth && cur.indent <= 3 {
		if label, rest, ok := cur.note(); ok && p.depth+len(p.open) == 0 {
			p.open = append(p.open, cont{kind: kindNote, label: label})
			cur = parseLine(rest)
			continue
		}
		if cur.quote() {
			p.open = append(p.open, cont{kind: kindQuote})
			cur = parseLine(cur.unquote())
			continue
		}
		m, ok := cur.marker()
		sibling := len(p.open) == 0 && p.depth > 0 && v.conts[p.depth-1].kind == kindList
		if !ok || (inText && len(p.open) == 0 && !sibling && !m.interrupts()) {
			break
		}
		if sibling {
			if was := v.conts[p.depth-1].marker; was.char != m.char || was.ordered != m.ordered {
				p.depth--
				sibling = false
			}
		}
		if !sibling {
			p.open = append(p.open, cont{kind: kindList, marker: m})
		}
		p.open = append(p.open, cont{kind: kindItem, width: m.width})
		cur = parseLine(m.rest)
	}
	return cur
}

// planLeaf decides about the leaf. here: the line is in the innermost container
// of before, so the open leaf may go on.
func (v *view) planLeaf(p *plan, cur line, here bool) {
	p.text = cur.text
	if f, ok := cur.fence(); ok {
		p.leaf, p.fence = leafFence, f
		return
	}
	if n, _ := cur.heading(); n > 0 {
		p.leaf, p.level, p.text = leafHeading, n, strings.TrimLeft(cur.text[n:], " \t")
		return
	}
	if here && v.leaf == leafParagraph && cur.underline() > 0 {
		p.same, p.leaf, p.ends = true, leafParagraph, true
		return
	}
	if cur.rule() {
		p.leaf = leafRule
		return
	}
	if _, _, ok := cur.mathOpen(); ok && p.depth+len(p.open) == 0 {
		p.leaf = leafMath
		return
	}
	switch {
	case here && (v.leaf == leafParagraph || v.leaf == leafHeader || v.leaf == leafTable):
		p.same, p.leaf = true, v.leaf
	case cur.indent > 3:
		p.leaf, p.text = leafIndented, cur.cut(4)
	case cur.text == "":
		p.blank = true // an item without content yet
	case strings.HasPrefix(cur.text, "|"):
		p.leaf = leafHeader
	default:
		p.leaf = leafParagraph
	}
}

// decidedAt is how many bytes of a line's text settle what it is.
const decidedAt = 32

// decided tells whether a line that is cut here does the same whatever follows.
// It stays true as the line grows.
func (p plan) decided(l string) bool {
	if !strings.HasSuffix(l, p.text) || p.blank {
		return false
	}
	switch {
	case p.same && p.leaf.code() && !p.held:
		return len(p.text) >= 2*codeSlice
	case p.leaf != leafParagraph && p.leaf != leafHeading, len(p.text) < decidedAt:
		return false
	case strings.IndexFunc(p.text, unicode.IsLetter) < 0:
		return false
	case strings.HasPrefix(p.text, "[^"):
		return len(p.text) >= 70
	case mayDefine(p.text):
		return len(p.text) >= 1024
	}
	for _, start := range []string{"```", "~~~", `\[`} {
		if p.leaf == leafParagraph && strings.HasPrefix(p.text, start) {
			return false
		}
	}
	return true
}

// mayDefine: s is, or can become, the beginning of a link reference definition.
func mayDefine(s string) bool {
	if s[0] != '[' {
		return false
	}
	i := strings.IndexAny(s[1:], "[]") + 1
	return i == 0 || s[i] == ']' && (i+1 == len(s) || s[i+1] == ':')
}

// definitionLike: s looks like the beginning of a link reference definition.
func definitionLike(s string) bool {
	i := strings.Index(s, "]:")
	return i > 1 && s[0] == '[' && strings.IndexByte(s, ']') == i
}

// held tells whether text that is cut here is nothing but marks so far, which
// would only flash up.
func held(s string) bool {
	t := strings.TrimSpace(s)
	if definitionLike(t) {
		return true
	}
	if strings.Trim(t, "-*+=_#>`~|:$\\[! \t") == "" {
		return true
	}
	n := len(t) - 1
	return (t[n] == '.' || t[n] == ')') && n <= 9 && strings.Trim(t[:n], "0123456789") == ""
}
