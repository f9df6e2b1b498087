package markdown

import "strings"

// view shows the block that is still open. It knows less Markdown than
// goldmark does, but it only ever appends: what is settled stays as it is until
// the block closes and is replaced. Its state is a function of the text, not of
// how the text arrived: of a line that is not complete, no more is settled than
// what nothing that follows could read differently (plan.decided).
type view struct {
	r *Renderer
	e *env
	t *tree

	conts []cont // each has a box in t, from index 1 on
	leaf  leafKind
	pend  string          // text of the leaf that is not settled
	cut   string          // code: the part of the open line that is not settled
	first string          // first line of a paragraph or table
	lines int             // complete lines of it
	delim string          // table: its delimiter row
	cells int             // table: cells so far
	code  strings.Builder // fence: its text
	fence fence
	start int // open line: where its text begins, while used > 0
	used  int // open line: bytes that are in the leaf already
}

// reset forgets the block; the boxes are the caller's affair.
func (v *view) reset() { *v = view{r: v.r, e: v.e, t: v.t} }

// maxHead is how much of an open line is looked at to decide what it is; it is
// looked at with each frame.
const maxHead = 4 << 10

// line takes a complete line.
func (v *view) line(l string) {
	if v.used == 0 {
		p := v.plan(l)
		v.apply(p)
		v.content(p)
		return
	}
	rest := l[v.used:]
	if v.leaf.code() {
		v.code.WriteString(l[v.start:] + "\n")
		v.takeCode(rest, true)
	} else {
		v.takeText(rest)
		v.endLine(l[v.start:])
	}
	v.used, v.start, v.cut = 0, 0, ""
}

// part takes a line that is not complete, and sets the tails that show it and
// all that is not settled.
func (v *view) part(l string) {
	for _, b := range v.t.open {
		b.tail = ""
	}
	v.cut = ""
	if v.used == 0 {
		head := l[:min(len(l), maxHead)]
		for len(head) < len(l) && !runeStart(l[len(head)]) {
			head = head[:len(head)-1]
		}
		p := v.plan(head)
		if !p.decided(head) {
			v.preview(p)
			return
		}
		v.apply(p)
		v.start = len(head) - len(p.text)
		v.used = v.start
	}
	rest := l[v.used:]
	if v.leaf.code() {
		v.used += v.takeCode(rest, false)
	} else {
		v.takeText(rest)
		v.used = len(l)
	}
	v.t.last().tail = v.pending("")
}

// apply does what a line does to the boxes, apart from its text.
func (v *view) apply(p plan) {
	if p.same {
		if p.leaf == leafParagraph && !p.ends {
			v.pend += "\n"
		}
		return
	}
	v.endLeaf()
	for len(v.conts) > p.depth {
		v.t.pop()
		v.conts = v.conts[:len(v.conts)-1]
	}
	if p.blank {
		for i := range v.conts {
			v.conts[i].loose = true
		}
	}
	for _, c := range p.open {
		v.push(c)
	}
	if !p.blank {
		v.begins(p)
	}
}

func (v *view) push(c cont) {
	open, end := c.tags()
	v.t.push(open, end)
	v.conts = append(v.conts, c)
	if c.kind == kindNote {
		v.t.last().add("<sup>"+escape(c.label)+"</sup>", 1)
	}
}

// tags are those of the container's element.
func (c cont) tags() (open, end string) {
	switch {
	case c.kind == kindQuote:
		return "<blockquote>", "</blockquote>"
	case c.kind == kindItem:
		return "<li>", "</li>"
	case c.kind == kindNote:
		return `<div class="footnote" role="doc-footnote">`, "</div>"
	case c.marker.ordered:
		return itemStart(c.marker), "</ol>"
	}
	return "<ul>", "</ul>"
}

// begins opens the box of a new leaf.
func (v *view) begins(p plan) {
	v.leaf, v.fence = p.leaf, p.fence
	switch p.leaf {
	case leafParagraph:
		v.pushText(v.textTag())
	case leafHeading:
		v.pushText("h" + string(rune('0'+p.level)))
	case leafFence, leafIndented:
		v.t.push(v.r.figureOpen(language(p.fence.info)), figureClose, 1, 0)
	case leafMath:
		v.t.push(`<div class="math" tabindex="0"><code class="math">`, "</code></div>", 0)
	}
}

func (v *view) pushText(tag string) { v.t.push("<"+tag+">", "</"+tag+">") }

// textTag: the text of an item of a tight list is no paragraph.
func (v *view) textTag() string {
	if n := len(v.conts); n > 1 && v.conts[n-1].kind == kindItem && v.t.last().n == 0 && !v.conts[n-2].loose {
		return "span"
	}
	return "p"
}

// content takes the text of a complete line.
func (v *view) content(p plan) {
	switch p.leaf {
	case leafFence, leafIndented, leafMath, leafRest:
		v.codeLine(p)
	case leafParagraph:
		if p.ends || (p.same && v.becomesTable(p.text)) {
			return
		}
		v.takeText(p.text)
		v.endLine(p.text)
	case leafHeading:
		v.takeText(p.text)
		v.endLine(p.text)
	case leafHeader:
		v.headerLine(p)
	case leafTable:
		v.row(p.text)
	case leafRule:
		v.t.last().add("<hr>", 1)
		v.leaf = leafNone
	}
	if p.ends {
		v.endLeaf()
	}
}

func (v *view) codeLine(p plan) {
	switch {
	case p.ends, p.blank, p.leaf == leafFence && !p.same:
		return
	case p.leaf == leafMath && !p.same:
		p.text = p.text[2:]
	}
	v.code.WriteString(p.text + "\n")
	v.takeCode(p.text, true)
}

// takeText adds to a paragraph, and settles the pieces that are complete.
func (v *view) takeText(s string) {
	if v.leaf == leafParagraph && v.lines == 0 && v.pend == "" && v.t.last().n == 0 && v.inItem() {
		box, rest, ok := taskMark(s)
		if ok {
			v.t.last().add(box, 1)
			s = rest
		}
	}
	v.pend += s
	for {
		n := cutPiece(v.pend)
		if n == 0 {
			return
		}
		v.settle(v.pend[:n])
		v.pend = v.pend[n:]
	}
}

func (v *view) settle(s string) {
	if h := v.r.inline(s, v.e); h != "" {
		v.t.last().add("<span>"+h+"</span>", 1)
	}
}

func (v *view) inItem() bool {
	n := len(v.conts)
	return n > 0 && v.conts[n-1].kind == kindItem
}

// taskMark: decidedAt is longer than the mark, so s has it whole.
func taskMark(s string) (box, rest string, ok bool) {
	if len(s) < 4 || s[0] != '[' || s[2] != ']' || s[3] != ' ' || !strings.Contains(" xX", s[1:2]) {
		return "", s, false
	}
	return checkBox(s[1] != ' '), s[4:], true
}

// endLine ends a line of a paragraph or a heading.
func (v *view) endLine(l string) {
	if v.lines++; v.lines == 1 {
		v.first = l
	}
	if v.leaf == leafHeading {
		v.endLeaf()
	}
}

// endLeaf settles what is left of the leaf and closes it.
func (v *view) endLeaf() {
	switch v.leaf {
	case leafHeader:
		v.pushText(v.textTag())
		v.settle(v.first)
		v.t.pop()
	case leafParagraph, leafHeading:
		v.settle(v.pend)
		v.t.pop()
	case leafTable:
		v.t.pop()
	case leafFence:
		v.t.discard()
		v.t.last().add(v.r.figure(v.fence.info, v.code.String(), v.e), 1)
	case leafIndented, leafMath, leafRest:
		v.settleCode(v.pend)
		v.t.pop()
	}
	v.leaf, v.pend, v.first, v.lines, v.delim, v.cells = leafNone, "", "", 0, "", 0
	v.code.Reset()
}

// codeSlice is how much of a long line of code is settled at once; codePiece
// is how much of short lines is.
const (
	codeSlice = 40
	codePiece = 64
)

// takeCode adds to code and gives how many bytes it took: all of a complete
// line, whole slices of another.
func (v *view) takeCode(s string, complete bool) int {
	used := 0
	for len(s)-used >= 2*codeSlice {
		n := used + codeSlice
		for !runeStart(s[n]) {
			n--
		}
		v.settleCode(v.pend + s[used:n])
		v.pend, used = "", n
	}
	if !complete {
		v.cut = s[used:]
		return used
	}
	if v.pend += s[used:] + "\n"; len(v.pend) >= codePiece {
		v.settleCode(v.pend)
		v.pend = ""
	}
	return len(s)
}

func runeStart(c byte) bool { return c&0xc0 != 0x80 }

func (v *view) settleCode(s string) {
	if s != "" {
		v.t.last().add("<span>"+escape(s)+"</span>", 1)
	}
}

// beyond begins the part of the text that is too long to be formatted.
func (v *view) beyond(why string) {
	v.reset()
	v.leaf = leafRest
	v.t.push(`<div class="unformatted"><p>`+why+`.</p><pre tabindex="0">`, "</pre></div>", 1)
}
