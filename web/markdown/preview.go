package markdown

import "strings"

// previewed bounds what is shown of a line that is not decided: it is sent
// again with each frame.
const previewed = 300

// pending shows what is not settled of the leaf, with more behind it.
func (v *view) pending(more string) string {
	switch v.leaf {
	case leafParagraph, leafHeading:
		if h := v.r.inline(mend(v.pend+more), v.e); h != "" {
			return "<span>" + h + "</span>"
		}
	case leafFence, leafIndented, leafMath, leafRest:
		if s := v.pend + v.cut + more; s != "" {
			return "<span>" + escape(s) + "</span>"
		}
	case leafHeader:
		return v.headerPreview(v.first)
	}
	return ""
}

// preview shows a line that may still become something else. Nothing of it is
// settled.
func (v *view) preview(p plan) {
	last := v.t.last()
	text := p.text[:min(len(p.text), previewed)]
	for text != p.text && len(text) > 0 && !runeStart(p.text[len(text)]) {
		text = text[:len(text)-1]
	}
	if p.blank || p.held {
		last.tail = v.pending("")
		return
	}
	if p.same {
		last.tail = v.goesOn(p, text)
		return
	}
	last.tail = v.pending("")
	if held(text) {
		return
	}
	if p.leaf == leafFence {
		text = "" // its label is not complete
	}
	at := v.t.open[p.depth]
	at.tail += v.whole(p, text)
}

// goesOn shows the open leaf with a further line.
func (v *view) goesOn(p plan, text string) string {
	switch p.leaf {
	case leafParagraph:
		if p.ends || held(text) {
			return v.pending("")
		}
		return v.pending("\n" + text)
	case leafTable:
		if strings.TrimSpace(text) != "" {
			return v.r.tableRow(v.delim, text, v.e)
		}
		return ""
	case leafHeader:
		return v.pending("")
	}
	return v.pending(text)
}

// whole shows the containers and the leaf that a line begins.
func (v *view) whole(p plan, text string) string {
	var b strings.Builder
	for _, c := range p.open {
		open, _ := c.tags()
		b.WriteString(open)
		if c.kind == kindNote {
			b.WriteString("<sup>" + escape(c.label) + "</sup>")
		}
	}
	switch p.leaf {
	case leafParagraph:
		tag := "p"
		if n := len(p.open); n > 0 && p.open[n-1].kind == kindItem {
			tag = "span"
			if box, rest, ok := taskMark(text); ok {
				b.WriteString(box)
				text = rest
			}
		}
		b.WriteString("<" + tag + ">" + v.r.inline(mend(text), v.e) + "</" + tag + ">")
	case leafHeading:
		tag := "h" + string(rune('0'+p.level)) + ">"
		b.WriteString("<" + tag + v.r.inline(mend(text), v.e) + "</" + tag)
	case leafHeader:
		b.WriteString(v.headerPreview(p.text))
	case leafIndented, leafFence:
		b.WriteString(v.r.figureOpen("") + escape(text) + figureClose)
	}
	for i := len(p.open) - 1; i >= 0; i-- {
		_, end := p.open[i].tags()
		b.WriteString(end)
	}
	return b.String()
}

// headerLine takes a line that begins like a table, or the one after it.
func (v *view) headerLine(p plan) {
	if !p.same {
		v.first = p.text
		return
	}
	if v.becomesTable(p.text) {
		return
	}
	first := v.first
	v.leaf, v.first, v.lines = leafParagraph, "", 0
	v.pushText(v.textTag())
	v.takeText(first)
	v.endLine(first)
	v.pend += "\n"
	v.takeText(p.text)
	v.endLine(p.text)
}

// becomesTable: l is the delimiter row under the only line so far.
func (v *view) becomesTable(l string) bool {
	n := parseLine(l).columns()
	if n == 0 || n > maxColumns || n != cells(v.first) || (v.leaf == leafParagraph && v.lines != 1) {
		return false
	}
	head, ok := v.r.tablePart(v.first+"\n"+l, "<thead>", "</thead>", v.e)
	if !ok {
		return false
	}
	if v.leaf == leafParagraph {
		v.t.discard()
	}
	v.t.push(v.r.tableOpen()+"<table>"+head+"<tbody>", "</tbody></table>"+tableClose, 1, 0, 1)
	v.leaf, v.delim, v.pend = leafTable, l, ""
	return true
}

// row settles a row of the table. Too large a table goes on as text.
func (v *view) row(l string) {
	if v.cells += parseLine(v.delim).columns(); v.cells > maxCells {
		v.endLeaf()
		v.leaf = leafParagraph
		v.pushText("p")
		v.takeText(l)
		v.endLine(l)
		return
	}
	v.t.last().add(v.r.tableRow(v.delim, l, v.e), 1)
}

// tableRow renders one row of a table with the given delimiter row.
func (r *Renderer) tableRow(delim, row string, e *env) string {
	head := strings.Repeat("|a", parseLine(delim).columns()) + "|"
	body, ok := r.tablePart(head+"\n"+delim+"\n"+row, "<tbody>", "</tbody>", e)
	if !ok {
		return "<tr><td>" + escape(row) + "</td></tr>"
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(body, "<tbody>"), "</tbody>"))
}

// tablePart renders a table and gives one part of it.
func (r *Renderer) tablePart(src, from, to string, e *env) (string, bool) {
	out, _ := r.parse(r.blocks, src, e)
	i, j := strings.Index(out, from), strings.Index(out, to)
	if i < 0 || j < i {
		return "", false
	}
	return out[i : j+len(to)], true
}

// headerPreview shows a line that begins like a table as its header.
func (v *view) headerPreview(l string) string {
	n := cells(l)
	if n > maxColumns || len(l) > previewed {
		return ""
	}
	src := l + "\n" + strings.Repeat("|-", n) + "|"
	if (&segment{lines: []string{src}}).excess() != "" {
		return ""
	}
	out, roots := v.r.parse(v.r.blocks, src, v.e)
	if roots != 1 {
		return ""
	}
	return out
}
