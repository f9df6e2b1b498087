package markdown

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// linkAttrs end the start tag of every link to the outside.
const linkAttrs = ` rel="noopener noreferrer nofollow" target="_blank">`

// nodes are our own renderings; goldmark's do the rest.
type nodes struct{ r *Renderer }

func (r *Renderer) nodeRenderers() renderer.Renderer {
	return renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(nodes{r}, 100),
		util.Prioritized(extension.NewTableHTMLRenderer(
			extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), 500),
		util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
		util.Prioritized(html.NewRenderer(), 1000),
	))
}

// RegisterFuncs implements renderer.NodeRenderer.
func (n nodes) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindFencedCodeBlock, n.code)
	reg.Register(ast.KindCodeBlock, n.code)
	reg.Register(ast.KindAutoLink, n.autoLink)
	reg.Register(ast.KindLink, n.link)
	reg.Register(ast.KindImage, n.image)
	reg.Register(east.KindTable, n.table)
	reg.Register(east.KindTaskCheckBox, n.checkBox)
	reg.Register(kindNoteRef, n.noteRef)
	reg.Register(kindMathNode, n.math)
}

func (n nodes) code(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	info := ""
	if f, ok := node.(*ast.FencedCodeBlock); ok && f.Info != nil {
		info = string(f.Info.Segment.Value(src))
	}
	var code strings.Builder
	for i := range node.Lines().Len() {
		seg := node.Lines().At(i)
		code.Write(seg.Value(src))
	}
	o := w.(*out)
	o.trusted(n.r.figure(info, code.String(), o.env))
	return ast.WalkSkipChildren, nil
}

func (n nodes) table(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	o := w.(*out)
	if entering {
		o.trusted(n.r.tableOpen())
		o.WriteString("<table>\n")
	} else {
		o.WriteString("</table>")
		o.trusted(tableClose)
	}
	return ast.WalkContinue, nil
}

const tableClose = "</div></div>"

func (r *Renderer) tableOpen() string {
	return `<div class="table"><button type="button" class="copy" data-copy="table">` + r.copy +
		`</button><div class="scroll" tabindex="0">`
}

func (n nodes) checkBox(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		w.(*out).trusted(checkBox(node.(*east.TaskCheckBox).IsChecked))
	}
	return ast.WalkContinue, nil
}

func checkBox(checked bool) string {
	if checked {
		return `<input type="checkbox" checked disabled> `
	}
	return `<input type="checkbox" disabled> `
}

func (n nodes) link(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	href, _, ok := target(node.(*ast.Link).Destination, true)
	switch {
	case !ok:
	case entering:
		w.WriteString(`<a href="` + escape(href) + `"` + linkAttrs)
	default:
		w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

func (n nodes) autoLink(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	a := node.(*ast.AutoLink)
	dest, label := a.URL(src), escape(string(a.Label(src)))
	if a.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(string(dest)), "mailto:") {
		dest = append([]byte("mailto:"), dest...)
	}
	href, _, ok := target(dest, false)
	if ok && !inLink(node) {
		label = `<a href="` + escape(href) + `"` + linkAttrs + label + "</a>"
	}
	w.WriteString(label)
	return ast.WalkContinue, nil
}

// image never makes an image: to load one would tell its host what the text
// says. It makes a link that names the host.
func (n nodes) image(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	alt := strings.TrimSpace(plainText(node, src))
	href, host, ok := target(node.(*ast.Image).Destination, true)
	if !ok || host == "" || inLink(node) {
		if alt == "" {
			alt = "image"
		}
		w.WriteString(escape(alt))
		return ast.WalkSkipChildren, nil
	}
	label := "Image from " + host
	if alt != "" {
		label = "Image: " + alt + " (" + host + ")"
	}
	w.(*out).trusted(`<a class="remote-image" href="` + escape(href) + `"` + linkAttrs + escape(label) + "</a>")
	return ast.WalkSkipChildren, nil
}

func (n nodes) noteRef(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	o, label := w.(*out), node.(*noteRef).label
	if inLink(node) {
		o.WriteString(escape("[^" + label + "]"))
		return ast.WalkContinue, nil
	}
	id := ""
	if !o.env.draft && !o.env.seen[label] {
		o.env.seen[label] = true
		id = ` id="` + o.env.noteID("ref", label) + `"`
	}
	o.trusted(`<sup class="footnote-ref"` + id + `><a href="#` + o.env.noteID("fn", label) +
		`" role="doc-noteref">` + escape(label) + "</a></sup>")
	return ast.WalkContinue, nil
}

func (n nodes) math(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	m := node.(*mathNode)
	if h, ok := mathML(m.tex, m.display); ok {
		w.WriteString(h)
	} else {
		w.(*out).trusted(mathSource(m.tex))
	}
	return ast.WalkContinue, nil
}

func inLink(node ast.Node) bool {
	for p := node.Parent(); p != nil; p = p.Parent() {
		if _, ok := p.(*ast.Link); ok {
			return true
		}
	}
	return false
}

// plainText is the text of a node without marks.
func plainText(node ast.Node, src []byte) string {
	var b strings.Builder
	ast.Walk(node, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := c.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(src))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// target decides where a link may lead: http and https with a host, and
// mailto. host is empty for mailto.
func target(dest []byte, references bool) (href, host string, ok bool) {
	href = string(util.URLEscape(dest, references))
	u, err := url.Parse(href)
	if err != nil {
		return "", "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return href, u.Host, u.Host != "" && u.Opaque == ""
	case "mailto":
		return href, "", u.Opaque != ""
	}
	return "", "", false
}

// note renders the definition of a footnote, in the place where it stands.
func (r *Renderer) note(s *segment, e *env) string {
	label, first, _ := parseLine(s.lines[0]).note()
	lines := []string{first}
	for _, l := range s.lines[1:] {
		lines = append(lines, parseLine(l).cut(4))
	}
	body, _ := r.parse(r.blocks, strings.Join(lines, "\n"), e)
	back := ""
	if e.seen[label] {
		back = `<a class="footnote-back" href="#` + e.noteID("ref", label) +
			`" role="doc-backlink" aria-label="Back to reference ` + escape(label) + `">↩</a>`
	}
	id := ""
	if !e.shown[label] {
		e.shown[label] = true
		id = ` id="` + e.noteID("fn", label) + `"`
	}
	return `<div class="footnote" role="doc-footnote"` + id + `><sup>` + escape(label) + "</sup>" + body + back + "</div>"
}

// itemStart is the start attribute of a list.
func itemStart(m marker) string {
	if !m.ordered {
		return "<ul>"
	}
	if m.start == 1 {
		return "<ol>"
	}
	return `<ol start="` + strconv.Itoa(m.start) + `">`
}
