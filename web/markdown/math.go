package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// displayMath renders a block of display math: one element with its own box.
func (r *Renderer) displayMath(s *segment) string {
	src := strings.TrimSpace(s.source())
	tex := strings.TrimSpace(src[2 : len(src)-2])
	body := mathSource(tex)
	if h, ok := mathML(tex, true); ok {
		body = r.policy.Sanitize(h)
	}
	return `<div class="math" tabindex="0">` + body + "</div>"
}

// mathSource shows a formula that cannot be rendered as its source.
func mathSource(tex string) string {
	return `<code class="math">` + escape(strings.TrimSpace(tex)) + "</code>"
}

// mathML turns the usual subset of TeX math into MathML. Anything else, and
// anything beyond the bounds, gives false: there are no macros, and work is in
// proportion to the length. The text is kept in alttext.
func mathML(tex string, display bool) (string, bool) {
	tex = strings.TrimSpace(tex)
	if len(tex) > maxMath {
		return "", false
	}
	p := &texParser{src: tex, display: display}
	body, ok := p.row("")
	if !ok || p.pos < len(p.src) {
		return "", false
	}
	open := "<math"
	if display {
		open += ` display="block"`
	}
	return open + ` alttext="` + escape(tex) + `">` + mrow(body) + "</math>", true
}

type texParser struct {
	src     string
	pos     int
	nest    int
	display bool
}

// next takes one token: a command with its backslash, or one character; white
// space is skipped. "" at the end.
func (p *texParser) next() string {
	for p.pos < len(p.src) && strings.IndexByte(" \t\n", p.src[p.pos]) >= 0 {
		p.pos++
	}
	if p.pos == len(p.src) {
		return ""
	}
	start := p.pos
	if p.src[p.pos] != '\\' {
		_, n := utf8.DecodeRuneInString(p.src[p.pos:])
		p.pos += n
		return p.src[start:p.pos]
	}
	p.pos++
	for p.pos < len(p.src) && isLetter(p.src[p.pos]) {
		p.pos++
	}
	if p.pos == start+1 && p.pos < len(p.src) {
		_, n := utf8.DecodeRuneInString(p.src[p.pos:])
		p.pos += n
	}
	return p.src[start:p.pos]
}

func (p *texParser) peek() string {
	at := p.pos
	t := p.next()
	p.pos = at
	return t
}

func isLetter(c byte) bool { return c|32 >= 'a' && c|32 <= 'z' }

// row reads atoms up to one of the tokens in end, which it leaves.
func (p *texParser) row(end string) ([]string, bool) {
	if p.nest++; p.nest > maxMathNest {
		return nil, false
	}
	defer func() { p.nest-- }()
	var out []string
	for {
		t := p.peek()
		if t == "" {
			return out, end == ""
		}
		if end != "" && strings.Contains(" "+end+" ", " "+t+" ") {
			return out, true
		}
		a, ok := p.scripted()
		if !ok {
			return nil, false
		}
		if a != "" {
			out = append(out, a)
		}
	}
}

// scripted reads an atom with its subscript and superscript.
func (p *texParser) scripted() (string, bool) {
	t := p.next()
	base, limits, ok := "<mrow></mrow>", false, true
	if t == "_" || t == "^" || t == "'" {
		p.pos -= len(t)
	} else if base, ok = p.atom(t); !ok {
		return "", false
	} else {
		limits = p.display && takesLimits(t)
	}
	sub, sup, primes := "", "", ""
	for {
		switch p.peek() {
		case `\limits`:
			p.next()
			limits = true
			continue
		case `\nolimits`:
			p.next()
			limits = false
			continue
		case "'":
			p.next()
			primes += "′"
			continue
		case "_":
			if sub, ok = p.script(sub); !ok {
				return "", false
			}
			continue
		case "^":
			if sup, ok = p.script(sup); !ok {
				return "", false
			}
			continue
		}
		break
	}
	if primes != "" {
		sup = mrow([]string{mo(primes), sup})
	}
	return scripts(base, sub, sup, limits), true
}

func (p *texParser) script(present string) (string, bool) {
	p.next()
	if present != "" {
		return "", false
	}
	return p.argument()
}

func scripts(base, sub, sup string, limits bool) string {
	tag := "msub"
	switch {
	case sub == "" && sup == "":
		return base
	case sub == "" && limits:
		return "<mover>" + base + sup + "</mover>"
	case sup == "" && limits:
		return "<munder>" + base + sub + "</munder>"
	case limits:
		return "<munderover>" + base + sub + sup + "</munderover>"
	case sub == "":
		tag = "msup"
	case sup != "":
		tag = "msubsup"
	}
	return "<" + tag + ">" + base + sub + sup + "</" + tag + ">"
}

// argument reads a group or a single atom.
func (p *texParser) argument() (string, bool) {
	t := p.next()
	if t == "" || t == "}" || t == "&" {
		return "", false
	}
	if t >= "0" && t <= "9" { // as in TeX: one digit
		return "<mn>" + t + "</mn>", true
	}
	if p.nest++; p.nest > maxMathNest {
		return "", false
	}
	defer func() { p.nest-- }()
	return p.atom(t)
}

// atom renders what begins with token t.
func (p *texParser) atom(t string) (string, bool) {
	switch {
	case t == "{":
		body, ok := p.row("}")
		p.next()
		return mrow(body), ok
	case t == "}" || t == "&" || t == "$" || t == "#" || t == "%" || t == `\`:
		return "", false
	case t[0] == '\\':
		return p.command(t[1:])
	case t >= "0" && t <= "9":
		return "<mn>" + p.number(t) + "</mn>", true
	case t == "~":
		return space("0.28em"), true
	}
	r, _ := utf8.DecodeRuneInString(t)
	if unicode.IsLetter(r) {
		return "<mi>" + escape(t) + "</mi>", true
	}
	switch t {
	case "-":
		t = "−"
	case "*":
		t = "∗"
	}
	return mo(t), true
}

func (p *texParser) number(t string) string {
	start := p.pos
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		digitNext := p.pos+1 < len(p.src) && p.src[p.pos+1] >= '0' && p.src[p.pos+1] <= '9'
		if (c < '0' || c > '9') && (c != '.' || !digitNext) {
			break
		}
		p.pos++
	}
	return t + p.src[start:p.pos]
}

func mrow(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return "<mrow>" + strings.Join(parts, "") + "</mrow>"
}

func mo(s string) string { return "<mo>" + escape(s) + "</mo>" }

func space(width string) string { return `<mspace width="` + width + `"></mspace>` }
