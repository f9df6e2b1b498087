package markdown

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"html"
	"html/template"
	"strconv"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
)

// Options are the words that the renderer adds to a page. The zero value means
// English.
type Options struct {
	Copy string // label of the copy buttons
}

// Renderer turns Markdown into HTML that is safe to put into a page whose
// content security policy allows no inline style and no inline script. It is
// safe for concurrent use.
type Renderer struct {
	blocks parser.Parser // whole blocks
	lines  parser.Parser // pieces of a line
	html   renderer.Renderer
	policy *bluemonday.Policy
	lexers lexerTable
	copy   string
	mark   string // begins the token of a trusted part; never leaves the package
}

// New makes a renderer. It costs some milliseconds; make one per process.
func New(o Options) *Renderer {
	if o.Copy == "" {
		o.Copy = "Copy"
	}
	var secret [16]byte
	rand.Read(secret[:])
	r := &Renderer{
		blocks: blockParsers(),
		lines:  lineParsers(),
		policy: newPolicy(),
		lexers: newLexerTable(),
		copy:   html.EscapeString(o.Copy),
		mark:   "mdx" + hex.EncodeToString(secret[:]) + "n",
	}
	r.html = r.nodeRenderers()
	return r
}

// Render gives the HTML of a whole text. prefix names the text within the page
// and keeps the ids of its footnotes apart from others; characters other than
// letters, digits, - and _ are left out of it. Each top-level block is one
// element; there is no text between them.
func (r *Renderer) Render(prefix, src string) template.HTML {
	segs := split(clean(src))
	e := newEnv(prefix)
	for _, s := range segs {
		e.collect(s)
	}
	return template.HTML(r.segments(segs, e))
}

// RenderOpen gives the HTML of a text that was cut here and goes on: what a
// Stream shows after it.
func (r *Renderer) RenderOpen(prefix, src string) template.HTML {
	s := r.NewStream(prefix)
	s.Append(src)
	return s.State()
}

func (r *Renderer) segments(segs []*segment, e *env) string {
	var b strings.Builder
	for _, s := range segs {
		h, _ := r.segment(s, e)
		b.WriteString(h)
	}
	return b.String()
}

// segment renders one block, and counts its elements at the top level.
func (r *Renderer) segment(s *segment, e *env) (string, int) {
	if why := s.excess(); why != "" {
		return unformatted(why, s.source()), 1
	}
	switch s.kind {
	case kindDefinition:
		return "", 0
	case kindFence:
		return r.figure(s.fence.info, s.code(), e), 1
	case kindNote:
		return r.note(s, e), 1
	case kindMath:
		if s.ended {
			return r.displayMath(s), 1
		}
	}
	return r.parse(r.blocks, s.source(), e)
}

// code gives the content of a fenced block.
func (s *segment) code() string {
	lines := s.lines[1:]
	if s.ended {
		lines = lines[:len(lines)-1]
	}
	var b strings.Builder
	for _, l := range lines {
		if p := parseLine(l); s.fence.indent > 0 && p.indent > 0 {
			l = p.cut(s.fence.indent)
		}
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return b.String()
}

// unformatted shows text that is beyond a bound.
func unformatted(why, src string) string {
	return `<div class="unformatted"><p>` + why + `.</p><pre tabindex="0">` + escape(src) + "</pre></div>"
}

// parse takes src through goldmark and the sanitiser. A panic of theirs is text
// without format: outside of a request it would end the process, and again at
// each look at the chat.
func (r *Renderer) parse(p parser.Parser, src string, e *env) (shown string, n int) {
	defer func() {
		if recover() != nil {
			shown, n = unformatted("This text cannot be formatted", src), 1
		}
	}()
	b := []byte(src) // a copy: goldmark writes behind the end of a slice
	pc := &context{Context: parser.NewContext(), env: e}
	doc := p.Parse(text.NewReader(b[:len(b):len(b)]), parser.WithContext(pc))
	w := &out{env: e, mark: r.mark}
	if err := r.html.Render(w, b, doc); err != nil {
		return unformatted("This text cannot be formatted", src), 1
	}
	safe := r.policy.SanitizeBytes(w.Bytes())
	// goldmark's ChildCount is wrong after a paragraph became a table.
	for c := doc.FirstChild(); c != nil; c = c.NextSibling() {
		n++
	}
	return w.fill(strings.TrimRight(string(safe), "\n")), n
}

// context is goldmark's parse context with what our inline parsers need.
type context struct {
	parser.Context
	env  *env
	work work
}

func state(pc parser.Context) *context { return pc.(*context) }

// Reference looks the definitions of the whole text up.
func (c *context) Reference(label string) (parser.Reference, bool) {
	ref, ok := c.env.refs[label]
	return ref, ok
}

// out is what goldmark writes to. Trusted parts are kept aside, and a token
// stands for each of them until the sanitiser has passed.
type out struct {
	bytes.Buffer
	env   *env
	mark  string
	parts []string
}

// Buffered and Flush complete util.BufWriter.
func (w *out) Buffered() int { return 0 }
func (w *out) Flush() error  { return nil }

func (w *out) trusted(part string) {
	w.WriteString(w.mark)
	w.WriteString(strconv.Itoa(len(w.parts)))
	w.WriteByte('z')
	w.parts = append(w.parts, part)
}

// fill puts the trusted parts into the sanitised text.
func (w *out) fill(s string) string {
	if len(w.parts) == 0 {
		return s
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, w.mark)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		num, tail, _ := strings.Cut(after, "z")
		if i, err := strconv.Atoi(num); err == nil && i < len(w.parts) {
			b.WriteString(w.parts[i])
		}
		s = tail
	}
}

// escape escapes text for HTML, also inside a quoted attribute.
func escape(s string) string { return html.EscapeString(s) }
