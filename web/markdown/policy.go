package markdown

import (
	"regexp"

	"github.com/microcosm-cc/bluemonday"
)

// newPolicy is what may come out of the formatting of text. It has no class,
// id, name, style, data attribute, button, image or form control: those are
// ours and are put in later.
func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "h1", "h2", "h3", "h4", "h5", "h6", "em", "strong", "del", "code",
		"blockquote", "ul", "ol", "li", "br", "hr", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|right|center)$`)).OnElements("th", "td")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("rel").Matching(regexp.MustCompile(`^noopener noreferrer nofollow$`)).OnElements("a")
	p.AllowAttrs("target").Matching(regexp.MustCompile(`^_blank$`)).OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	allowMathML(p)
	return p
}

// allowMathML admits the presentation elements that mathML makes, and of their
// attributes those that neither load nor link nor style freely.
func allowMathML(p *bluemonday.Policy) {
	p.AllowNoAttrs().OnElements("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msup", "msub", "msubsup",
		"mfrac", "msqrt", "mroot", "mover", "munder", "munderover", "mtable", "mtr", "mtd")
	word := regexp.MustCompile(`^[a-z]{1,10}$`)
	p.AllowAttrs("display", "mathvariant", "stretchy", "accent", "displaystyle").
		Matching(word).OnElements("math", "mi", "mo", "mover", "mtable")
	p.AllowAttrs("columnalign").Matching(regexp.MustCompile(`^(left|right|center)( (left|right|center)){0,19}$`)).
		OnElements("mtable")
	p.AllowAttrs("width").Matching(regexp.MustCompile(`^-?[0-9.]{1,6}em$`)).OnElements("mspace")
	p.AllowAttrs("linethickness").Matching(regexp.MustCompile(`^0$`)).OnElements("mfrac")
	p.AllowAttrs("alttext").OnElements("math")
}
