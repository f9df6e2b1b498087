package markdown

import "strings"

// line is one source line, without its end, seen from inside its container.
type line struct {
	indent int    // columns of leading white space
	text   string // the rest
}

func parseLine(s string) line {
	col := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return line{indent: col, text: s[i:]}
		}
	}
	return line{indent: col}
}

func (l line) blank() bool { return strings.TrimSpace(l.text) == "" }

// cut removes n columns of indentation and gives the line as text again.
func (l line) cut(n int) string {
	if l.indent <= n {
		return l.text
	}
	return strings.Repeat(" ", l.indent-n) + l.text
}

// fence is the opening line of a fenced code block.
type fence struct {
	char   byte
	length int
	indent int
	info   string
}

func (l line) fence() (fence, bool) {
	if l.indent > 3 || len(l.text) < 3 || (l.text[0] != '`' && l.text[0] != '~') {
		return fence{}, false
	}
	n := runLength(l.text)
	info := strings.TrimSpace(l.text[n:])
	if n < 3 || (l.text[0] == '`' && strings.IndexByte(info, '`') >= 0) {
		return fence{}, false
	}
	return fence{char: l.text[0], length: n, indent: l.indent, info: info}, true
}

// closes tells whether l ends the code block that f began.
func (f fence) closes(l line) bool {
	if l.indent > 3 || l.text == "" || l.text[0] != f.char {
		return false
	}
	n := runLength(l.text)
	return n >= f.length && strings.TrimSpace(l.text[n:]) == ""
}

// mayClose tells whether a line cut here can still become the closing one.
func (f fence) mayClose(l line) bool {
	return l.indent <= 3 && l.text != "" && strings.Trim(l.text, string(f.char)+" \t") == ""
}

func runLength(s string) int {
	n := 0
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// marker is a list marker. width counts the columns up to the item's content.
type marker struct {
	char    byte
	ordered bool
	start   int
	width   int
	rest    string
}

func (l line) marker() (marker, bool) {
	if l.indent > 3 || l.text == "" || l.rule() {
		return marker{}, false
	}
	m, n := marker{char: l.text[0]}, 1
	if c := l.text[0]; c >= '0' && c <= '9' {
		for n = 0; n < len(l.text) && n < 9 && l.text[n] >= '0' && l.text[n] <= '9'; n++ {
			m.start = m.start*10 + int(l.text[n]-'0')
		}
		if n == len(l.text) || (l.text[n] != '.' && l.text[n] != ')') {
			return marker{}, false
		}
		m.ordered, m.char = true, l.text[n]
		n++
	} else if c != '-' && c != '*' && c != '+' {
		return marker{}, false
	}
	rest := parseLine(l.text[n:])
	switch {
	case rest.blank():
		m.width = l.indent + n + 1
	case rest.indent == 0:
		return marker{}, false
	case rest.indent > 4:
		m.width, m.rest = l.indent+n+1, rest.cut(1)
	default:
		m.width, m.rest = l.indent+n+rest.indent, rest.text
	}
	return m, true
}

// interrupts tells whether the item can begin in the middle of a paragraph.
func (m marker) interrupts() bool {
	return m.rest != "" && (!m.ordered || m.start == 1)
}

func (l line) quote() bool { return l.indent <= 3 && strings.HasPrefix(l.text, ">") }

// unquote removes the mark of a quotation.
func (l line) unquote() string {
	s := l.text[1:]
	if strings.HasPrefix(s, "\t") {
		return "  " + s[1:]
	}
	return strings.TrimPrefix(s, " ")
}

func (l line) rule() bool {
	if l.indent > 3 || l.text == "" {
		return false
	}
	c, n := l.text[0], 0
	if c != '-' && c != '*' && c != '_' {
		return false
	}
	for i := 0; i < len(l.text); i++ {
		switch l.text[i] {
		case c:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// underline gives the level of the heading that l makes of the paragraph above.
func (l line) underline() int {
	t := strings.TrimRight(l.text, " \t")
	if l.indent > 3 || t == "" || runLength(t) != len(t) {
		return 0
	}
	switch t[0] {
	case '=':
		return 1
	case '-':
		return 2
	}
	return 0
}

// heading gives level and text of an ATX heading, or level 0.
func (l line) heading() (int, string) {
	if l.indent > 3 || l.text == "" || l.text[0] != '#' {
		return 0, ""
	}
	n := runLength(l.text)
	rest := l.text[n:]
	if n > 6 || (rest != "" && rest[0] != ' ' && rest[0] != '\t') {
		return 0, ""
	}
	rest = strings.TrimSpace(rest)
	if t := strings.TrimRight(rest, "#"); t == "" || strings.HasSuffix(t, " ") {
		rest = strings.TrimRight(t, " \t")
	}
	return n, rest
}

// mathOpen tells whether l begins display math, with which closing mark, and
// whether the same line ends it.
func (l line) mathOpen() (closer string, whole, ok bool) {
	t := strings.TrimRight(l.text, " \t")
	switch {
	case l.indent > 3:
		return "", false, false
	case strings.HasPrefix(t, "$$"):
		closer = "$$"
	case strings.HasPrefix(t, `\[`):
		closer = `\]`
	default:
		return "", false, false
	}
	i := strings.Index(t[2:], closer)
	if i < 0 { // \[ may also be an escaped bracket
		return closer, false, closer == "$$" || len(t) == 2 || t[2] == ' '
	}
	return closer, true, i > 0 && i+4 == len(t)
}

// note gives label and text of a footnote definition.
func (l line) note() (label, rest string, ok bool) {
	if l.indent > 3 || !strings.HasPrefix(l.text, "[^") {
		return "", "", false
	}
	i := strings.Index(l.text, "]:")
	if i < 3 || !noteLabel(l.text[2:i]) {
		return "", "", false
	}
	return l.text[2:i], strings.TrimLeft(l.text[i+2:], " \t"), true
}

// noteLabel bounds what is taken for the label of a footnote.
func noteLabel(s string) bool {
	return s != "" && len(s) <= 60 && !strings.ContainsAny(s, "[]^ \t\n`")
}

// definition gives the parts of a link reference definition on one line.
func (l line) definition() (label, dest, title string, ok bool) {
	if l.indent > 3 || !strings.HasPrefix(l.text, "[") || strings.HasPrefix(l.text, "[^") {
		return "", "", "", false
	}
	i := strings.Index(l.text, "]:")
	if i < 2 || i > 999 || strings.ContainsAny(l.text[1:i], "[]") || strings.TrimSpace(l.text[1:i]) == "" {
		return "", "", "", false
	}
	label, rest := l.text[1:i], strings.TrimSpace(l.text[i+2:])
	if strings.HasPrefix(rest, "<") {
		j := strings.IndexByte(rest, '>')
		if j < 0 {
			return "", "", "", false
		}
		dest, title = rest[1:j], rest[j+1:]
	} else {
		dest, title, _ = strings.Cut(rest, " ")
	}
	title = strings.TrimSpace(title)
	if dest == "" || (title != "" && !quoted(title)) {
		return "", "", "", false
	}
	return label, dest, title, true
}

func quoted(s string) bool {
	if len(s) < 2 {
		return false
	}
	a, b := s[0], s[len(s)-1]
	return (a == '"' && b == '"') || (a == '\'' && b == '\'') || (a == '(' && b == ')')
}

// columns counts the cells of a table's delimiter row, 0 if l is none.
func (l line) columns() int {
	t := strings.TrimSpace(l.text)
	if l.indent > 3 || !strings.Contains(t, "-") || strings.Trim(t, "|-: \t") != "" {
		return 0
	}
	if !strings.ContainsAny(t, "|:") {
		return 0
	}
	return cells(t)
}

// cells counts the cells of a table row.
func cells(t string) int {
	t = strings.TrimSpace(t)
	t = strings.TrimPrefix(t, "|")
	if strings.HasSuffix(t, "|") && !strings.HasSuffix(t, `\|`) {
		t = t[:len(t)-1]
	}
	n := 1
	for i := 0; i < len(t); i++ {
		if t[i] == '|' && (i == 0 || t[i-1] != '\\') {
			n++
		}
	}
	return n
}
