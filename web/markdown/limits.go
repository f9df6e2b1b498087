package markdown

import (
	"strings"
	"time"
)

// Bounds. Each stands for a text that would otherwise cost more than in
// proportion to its length, or would trouble the browser.
const (
	maxText     = 1 << 20   // bytes of one text that are looked at as Markdown
	maxBlock    = 256 << 10 // bytes of one leaf block
	maxColumns  = 64        // columns of a table; goldmark fills each row up to the header
	maxCells    = 20000     // cells of the tables of a segment
	maxEscaped  = 400       // escaped pipes of a segment with code: quadratic in goldmark
	maxDepth    = 24        // nested lists and quotations; browsers stop at 512 elements
	maxDelims   = 300       // emphasis marks of one leaf block: they nest, and match backwards
	maxScan     = 16 << 20  // bytes that look-aheads may read in one segment
	maxMath     = 4 << 10   // bytes of one formula
	maxMathNest = 40        // nested groups of a formula
	maxCode     = 32 << 10  // bytes of a code block that is highlighted
	maxCodeLine = 2 << 10   // bytes of a line in such a block: lexers backtrack
)

// codeTime is what the lexers may take for one text before they are given up.
// Real code within maxCode needs a fiftieth of it, so time decides about
// nothing but bombs.
const codeTime = 3 * time.Second

// excess says why a segment must not be parsed, or "".
func (s *segment) excess() string {
	if s.kind == kindFence || s.kind == kindIndented || s.kind == kindMath {
		return ""
	}
	if s.kind == kindRest {
		return "This text is too long to be formatted"
	}
	run, columns, total, escaped := 0, 0, 0, 0
	code := false
	for _, l := range s.lines {
		if strings.TrimSpace(l) == "" {
			run, columns = 0, 0
			continue
		}
		d, rest := depth(l)
		if d > maxDepth {
			return "This text is nested too deeply to be formatted"
		}
		if rest.begins {
			run, columns = 0, 0
		}
		if run += len(l) + 1; run > maxBlock {
			return "This paragraph is too long to be formatted"
		}
		if n := rest.line.columns(); n > 0 {
			columns = max(columns, n)
		}
		total += columns
		escaped += strings.Count(l, `\|`)
		code = code || strings.Contains(l, "`")
		if columns > maxColumns || total > maxCells || (code && escaped > maxEscaped) {
			return "This table is too large to be formatted"
		}
	}
	return ""
}

// inner is what is left of a line inside its containers.
type inner struct {
	line   line
	begins bool // a list item certainly begins here
}

// depth counts the containers that a line opens or continues, by its prefix.
// Two columns of indentation count as one, so it is never too low.
func depth(s string) (int, inner) {
	d, begins := 0, false
	l := parseLine(s)
	for d <= maxDepth {
		if l.text == "" {
			break
		}
		d += l.indent / 2
		l.indent = 0
		if l.quote() {
			l = parseLine(l.unquote())
		} else if m, ok := l.marker(); ok {
			begins = begins || m.interrupts()
			l = parseLine(m.rest)
		} else {
			return d, inner{l, begins}
		}
		d++
	}
	return d, inner{l, begins}
}
