package markdown

import (
	"strings"
	"unicode/utf8"
)

// command renders a command of TeX, named without its backslash.
func (p *texParser) command(name string) (string, bool) {
	if s := texSpace(name); s != "" {
		return space(s), true
	}
	if s, ok := texLetters[name]; ok {
		return "<mi>" + s + "</mi>", true
	}
	if s, ok := texOperators[name]; ok {
		return mo(s), true
	}
	if strings.Contains(texFunctions, " "+name+" ") {
		return `<mi>` + name + "</mi>", true
	}
	if mark, ok := texAccents[name]; ok {
		arg, ok := p.argument()
		if strings.HasPrefix(name, "under") {
			return "<munder>" + arg + mo(mark) + "</munder>", ok
		}
		return `<mover accent="true">` + arg + mo(mark) + "</mover>", ok
	}
	if variant, ok := texAlphabets[name]; ok {
		s, ok := p.raw()
		return "<mi" + uprightAttr(variant, s) + ">" + escape(alphabet(variant, s)) + "</mi>", ok
	}
	return p.structure(name)
}

func (p *texParser) structure(name string) (string, bool) {
	switch name {
	case "frac", "dfrac", "tfrac", "cfrac":
		return p.two("<mfrac>", "</mfrac>")
	case "binom", "dbinom", "tbinom":
		s, ok := p.two(`<mfrac linethickness="0">`, "</mfrac>")
		return "<mrow>" + mo("(") + s + mo(")") + "</mrow>", ok
	case "sqrt":
		return p.root()
	case "text", "textrm", "textbf", "textit", "mbox", "texttt", "textsf":
		s, ok := p.raw()
		return "<mtext>" + escape(strings.ReplaceAll(s, " ", "\u00a0")) + "</mtext>", ok
	case "operatorname", "operatorname*":
		s, ok := p.raw()
		return "<mi>" + escape(s) + "</mi>", ok
	case "overset", "stackrel":
		over, ok := p.argument()
		base, ok2 := p.argument()
		return "<mover>" + base + over + "</mover>", ok && ok2
	case "underset":
		under, ok := p.argument()
		base, ok2 := p.argument()
		return "<munder>" + base + under + "</munder>", ok && ok2
	case "left":
		return p.fenced()
	case "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "biggl", "biggr", "Biggl", "Biggr", "middle":
		d, ok := p.delimiter()
		return mo(d), ok
	case "begin":
		return p.environment()
	case "displaystyle", "textstyle", "limits", "nolimits", "nonumber", "notag":
		return "", true
	case "boxed", "mathstrut", "phantom", "tag", "label", "pmod", "not", "substack":
		return p.rare(name)
	}
	return "", false
}

func (p *texParser) rare(name string) (string, bool) {
	switch name {
	case "boxed":
		return p.argument()
	case "pmod":
		a, ok := p.argument()
		return "<mrow>" + mo("(") + "<mi>mod</mi>" + space("0.33em") + a + mo(")") + "</mrow>", ok
	case "tag":
		s, ok := p.raw()
		return space("2em") + "<mtext>(" + escape(s) + ")</mtext>", ok
	case "not":
		switch p.next() {
		case "=":
			return mo("≠"), true
		case `\in`:
			return mo("∉"), true
		}
	}
	return "", false
}

func (p *texParser) two(open, end string) (string, bool) {
	a, ok := p.argument()
	if !ok {
		return "", false
	}
	b, ok := p.argument()
	return open + a + b + end, ok
}

func (p *texParser) root() (string, bool) {
	if p.peek() != "[" {
		a, ok := p.argument()
		return "<msqrt>" + a + "</msqrt>", ok
	}
	p.next()
	index, ok := p.row("]")
	if !ok {
		return "", false
	}
	p.next()
	a, ok := p.argument()
	return "<mroot>" + a + mrow(index) + "</mroot>", ok
}

// raw reads a group as it stands, without groups in it.
func (p *texParser) raw() (string, bool) {
	t := p.next()
	if t == `\operatorname` || (t == "*" && p.peek() == "{") {
		t = p.next()
	}
	if t != "{" {
		return t, len(t) == 1 && isLetter(t[0])
	}
	i := strings.IndexByte(p.src[p.pos:], '}')
	if i < 0 || strings.ContainsAny(p.src[p.pos:p.pos+i], `{\$`) {
		return "", false
	}
	s := p.src[p.pos : p.pos+i]
	p.pos += i + 1
	return s, true
}

func (p *texParser) delimiter() (string, bool) {
	t := p.next()
	switch t {
	case "(", ")", "[", "]", "|", "/", "<", ">":
		return t, true
	case ".":
		return "", true
	case `\{`, `\}`, `\|`, `\lbrace`, `\rbrace`, `\langle`, `\rangle`, `\lfloor`, `\rfloor`, `\lceil`, `\rceil`, `\vert`, `\Vert`:
		return texOperators[t[1:]], true
	}
	return "", false
}

func (p *texParser) fenced() (string, bool) {
	open, ok := p.delimiter()
	if !ok {
		return "", false
	}
	body, ok := p.row(`\right`)
	if !ok {
		return "", false
	}
	p.next()
	end, ok := p.delimiter()
	return "<mrow>" + stretchy(open) + strings.Join(body, "") + stretchy(end) + "</mrow>", ok
}

func stretchy(d string) string {
	if d == "" {
		return ""
	}
	return `<mo stretchy="true">` + escape(d) + "</mo>"
}

// environment renders a matrix, cases or an alignment.
func (p *texParser) environment() (string, bool) {
	name, ok := p.raw()
	name = strings.TrimSuffix(name, "*")
	fences, known := texEnvironments[name]
	if !ok || !known {
		return "", false
	}
	if name == "array" {
		if _, ok := p.raw(); !ok {
			return "", false
		}
	}
	rows, ok := p.rows()
	if !ok {
		return "", false
	}
	if end, ok := p.raw(); !ok || strings.TrimSuffix(end, "*") != name {
		return "", false
	}
	attrs := ""
	switch name {
	case "cases":
		attrs = ` columnalign="left"`
	case "aligned", "align", "split", "eqnarray":
		attrs = ` columnalign="right left" displaystyle="true"`
	}
	table := "<mtable" + attrs + ">" + rows + "</mtable>"
	open, end, _ := strings.Cut(fences, " ")
	return "<mrow>" + stretchy(open) + table + stretchy(end) + "</mrow>", true
}

func (p *texParser) rows() (string, bool) {
	var b strings.Builder
	b.WriteString("<mtr><mtd>")
	for {
		cell, ok := p.row(`& \\ \end`)
		if !ok {
			return "", false
		}
		b.WriteString(strings.Join(cell, ""))
		switch p.next() {
		case "&":
			b.WriteString("</mtd><mtd>")
		case `\\`:
			if p.peek() != `\end` {
				b.WriteString("</mtd></mtr><mtr><mtd>")
			}
		default:
			return b.String() + "</mtd></mtr>", true
		}
	}
}

func takesLimits(t string) bool {
	return t != "" && strings.Contains(` \sum \prod \coprod \bigcup \bigcap \bigoplus \bigotimes \lim \max \min \sup \inf \limsup \liminf \argmax \argmin \det \gcd `, " "+t+" ")
}

func texSpace(name string) string {
	switch name {
	case ",":
		return "0.17em"
	case ":", ">":
		return "0.22em"
	case ";", " ":
		return "0.28em"
	case "!":
		return "-0.17em"
	case "quad":
		return "1em"
	case "qquad":
		return "2em"
	}
	return ""
}

// uprightAttr: a single letter is slanted unless told otherwise.
func uprightAttr(variant, s string) string {
	if variant == "rm" && utf8.RuneCountInString(s) == 1 {
		return ` mathvariant="normal"`
	}
	return ""
}

// alphabet maps letters and digits to the mathematical alphabets of Unicode.
func alphabet(variant, s string) string {
	return strings.Map(func(r rune) rune {
		if special, ok := mathLetters[variant+string(r)]; ok {
			return special
		}
		start, ok := mathAlphabets[variant]
		switch {
		case !ok:
		case r >= 'A' && r <= 'Z':
			return start[0] + r - 'A'
		case r >= 'a' && r <= 'z':
			return start[1] + r - 'a'
		case r >= '0' && r <= '9' && start[2] != 0:
			return start[2] + r - '0'
		}
		return r
	}, s)
}
