package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// work is what look-aheads have cost so far in one parse. When it is used up,
// marks are plain characters.
type work struct {
	scanned int
	block   ast.Node // the leaf block that delims counts
	delims  int
}

// scan charges n bytes and tells whether they were still allowed.
func (w *work) scan(n int) bool {
	w.scanned += n
	return w.scanned <= maxScan
}

// rest counts the bytes from here to the end of the leaf block.
func rest(parent ast.Node, at text.Segment) int {
	for parent.Type() != ast.TypeBlock && parent.Parent() != nil {
		parent = parent.Parent()
	}
	lines := parent.Lines()
	if lines == nil || lines.Len() == 0 {
		return 0
	}
	return lines.At(lines.Len()-1).Stop - at.Start
}

// bounded wraps an inline parser of goldmark whose cost per call may be the
// length of what follows.
type bounded struct {
	parser.InlineParser
	cost func(line []byte, rest int) int
}

func (b bounded) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	l, seg := block.PeekLine()
	if n := b.cost(l, rest(parent, seg)); n < 0 || !state(pc).work.scan(n) {
		return nil
	}
	return b.InlineParser.Parse(parent, block, pc)
}

// CloseBlock passes on; the link parser needs it.
func (b bounded) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := b.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// toRest: code spans look for their end in the whole block, links likewise.
func toRest(_ []byte, rest int) int { return rest }

// linkCost: only a closing bracket looks ahead.
func linkCost(l []byte, rest int) int {
	if l[0] != ']' {
		return 16
	}
	if len(l) > 1 && (l[1] == '(' || l[1] == '[') {
		return rest
	}
	return 64
}

// addressSpan is how far a bare address may reach; goldmark's search for an @
// is without bound.
const addressSpan = 320

// linkifyCost refuses where no address can begin.
func linkifyCost(l []byte, _ int) int {
	if bytes.IndexByte([]byte(" *_~("), l[0]) >= 0 {
		l = l[1:]
	}
	for _, p := range []string{"http", "www."} {
		if bytes.HasPrefix(l, []byte(p)) {
			return min(len(l), 2048)
		}
	}
	at := bytes.IndexByte(l[:min(len(l), addressSpan)], '@')
	if at <= 0 || bytes.IndexByte(l[:at], ' ') >= 0 {
		return -1
	}
	return addressSpan
}

// limitedDelims bounds the emphasis marks of one leaf block.
type limitedDelims struct{ parser.InlineParser }

func (d limitedDelims) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	w := &state(pc).work
	if w.block != parent {
		w.block, w.delims = parent, 0
	}
	if w.delims++; w.delims > maxDelims {
		return nil
	}
	return d.InlineParser.Parse(parent, block, pc)
}

// doubleTilde lets only ~~ strike: a single one means "about".
type doubleTilde struct{ parser.InlineParser }

func (d doubleTilde) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	l, _ := block.PeekLine()
	if runLength(string(l[:min(len(l), 4)])) != 2 || block.PrecendingCharacter() == '~' {
		return nil
	}
	return d.InlineParser.Parse(parent, block, pc)
}

// kindNoteRef and kindMathNode are our own inline nodes.
var (
	kindNoteRef  = ast.NewNodeKind("NoteRef")
	kindMathNode = ast.NewNodeKind("Math")
)

type noteRef struct {
	ast.BaseInline
	label string
}

func (*noteRef) Kind() ast.NodeKind { return kindNoteRef }

func (n *noteRef) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

// noteParser reads the mark of a footnote, if the text has (or, while it grows,
// may have) that footnote.
type noteParser struct{}

func (noteParser) Trigger() []byte { return []byte{'['} }

func (noteParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	l, _ := block.PeekLine()
	if len(l) < 4 || l[1] != '^' {
		return nil
	}
	i := bytes.IndexByte(l[:min(len(l), 80)], ']')
	if i < 3 || !noteLabel(string(l[2:i])) {
		return nil
	}
	label := string(l[2:i])
	if !state(pc).env.hasNote(label) {
		return nil
	}
	block.Advance(i + 1)
	return &noteRef{label: label}
}

type mathNode struct {
	ast.BaseInline
	tex     string
	display bool
}

func (*mathNode) Kind() ast.NodeKind { return kindMathNode }

func (n *mathNode) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

// mathParser reads $…$, $$…$$, \(…\) and \[…\] inside a leaf block.
type mathParser struct{}

func (mathParser) Trigger() []byte { return []byte{'$', '\\'} }

func (mathParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	l, _ := block.PeekLine()
	open, closer := mathMarks(l)
	if open == "" || !state(pc).work.scan(min(len(l), maxMath)) {
		return nil
	}
	if open == "$" {
		n := dollarMath(l, block.PrecendingCharacter())
		if n == 0 {
			return nil
		}
		block.Advance(n + 2)
		return &mathNode{tex: string(l[1 : n+1])}
	}
	tex, ok := readUntil(block, len(open), closer)
	if !ok || len(bytes.TrimSpace([]byte(tex))) == 0 {
		return nil
	}
	return &mathNode{tex: tex, display: closer != `\)`}
}

func mathMarks(l []byte) (open, closer string) {
	switch {
	case bytes.HasPrefix(l, []byte("$$")):
		return "$$", "$$"
	case l[0] == '$':
		return "$", "$"
	case bytes.HasPrefix(l, []byte(`\(`)):
		return `\(`, `\)`
	case bytes.HasPrefix(l, []byte(`\[`)):
		return `\[`, `\]`
	}
	return "", ""
}

// readUntil takes what follows the opening mark up to the closing one, over
// lines; the caller restores the position if there is none.
func readUntil(block text.Reader, skip int, closer string) (string, bool) {
	var b []byte
	block.Advance(skip)
	for len(b) <= maxMath {
		l, _ := block.PeekLine()
		if l == nil {
			return "", false
		}
		if i := bytes.Index(l, []byte(closer)); i >= 0 {
			block.Advance(i + len(closer))
			b = append(b, l[:i]...)
			return string(b), len(b) <= maxMath
		}
		b = append(b, l...)
		block.AdvanceLine()
	}
	return "", false
}

// dollarMath gives the length of the formula in l = "$…$", 0 if it is none: an
// amount of money or a shell variable. Rules as on GitHub and in pandoc: no
// space inside the marks, no letter or digit outside of them.
func dollarMath(l []byte, before rune) int {
	if before == '$' || before == '\\' || isWord(before) || len(l) < 3 || util.IsSpace(l[1]) {
		return 0
	}
	for i := 1; i < min(len(l), maxMath); i++ {
		switch l[i] {
		case '\\':
			i++
		case '`', '\n':
			return 0
		case '$':
			next := rune(' ')
			if i+1 < len(l) {
				next = util.ToRune(l, i+1)
			}
			if i == 1 || util.IsSpace(l[i-1]) || isWord(next) || next == '$' {
				return 0
			}
			return i - 1
		}
	}
	return 0
}

func isWord(r rune) bool {
	return r == '_' || (r >= '0' && r <= '9') || (r|32 >= 'a' && r|32 <= 'z') || r > 127
}

// inlineParsers are the marks inside of a leaf block. Raw HTML is not one.
func inlineParsers() []util.PrioritizedValue {
	return []util.PrioritizedValue{
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(mathParser{}, 50),
		util.Prioritized(bounded{parser.NewCodeSpanParser(), toRest}, 100),
		util.Prioritized(noteParser{}, 150),
		util.Prioritized(bounded{parser.NewLinkParser(), linkCost}, 200),
		util.Prioritized(bounded{parser.NewAutoLinkParser(), func([]byte, int) int { return 64 }}, 300),
		util.Prioritized(limitedDelims{parser.NewEmphasisParser()}, 500),
		util.Prioritized(limitedDelims{doubleTilde{extension.NewStrikethroughParser()}}, 500),
		util.Prioritized(bounded{extension.NewLinkifyParser(), linkifyCost}, 999),
	}
}

// blockParsers are those of CommonMark without HTML blocks; tables are made of
// paragraphs. Link reference definitions are the splitter's.
func blockParsers() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(inlineParsers()...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

// lineParsers know paragraphs only: for a piece of a line.
func lineParsers() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(inlineParsers()...),
	)
}
