package markdown

import (
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// lexerTable finds a lexer by lower-case name or alias. chroma's own search
// also tries file patterns, one after the other, for each unknown name.
type lexerTable map[string]chroma.Lexer

func newLexerTable() lexerTable {
	t := lexerTable{}
	for _, l := range lexers.GlobalLexerRegistry.Lexers {
		c := l.Config()
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if name = strings.ToLower(name); t[name] == nil {
				t[name] = l
			}
		}
	}
	return t
}

// language is the label of a code block: the first word of the info string, if
// it looks like the name of a language.
func language(info string) string {
	name := strings.TrimSpace(info)
	if strings.HasPrefix(name, "{") {
		name = strings.TrimLeft(name, "{. ")
	}
	if i := strings.IndexAny(name, " \t,:;{}"); i >= 0 {
		name = name[:i]
	}
	if len(name) > 32 {
		return ""
	}
	for _, c := range name {
		if c != '+' && c != '#' && c != '.' && !isWord(c) && c != '-' {
			return ""
		}
	}
	return name
}

// figure renders a code block: label, copy button, code. It is one element.
func (r *Renderer) figure(info, code string, e *env) string {
	lang := language(info)
	key := lang + "\n" + code
	body, ok := e.figures[key]
	if !ok {
		body = r.highlight(lang, code)
		if e.figures != nil {
			e.figures[key] = body
		}
	}
	return r.figureOpen(lang) + body + figureClose
}

const figureClose = "</code></pre></figure>"

func (r *Renderer) figureOpen(lang string) string {
	label := ""
	if lang != "" {
		label = `<span class="lang">` + escape(lang) + "</span>"
	}
	return `<figure class="code"><figcaption>` + label + `<button type="button" class="copy" data-copy="code">` +
		r.copy + `</button></figcaption><pre tabindex="0"><code class="chroma">`
}

// highlight marks the tokens of code with classes, or only escapes it: unknown
// language, too long, or the lexer fails.
func (r *Renderer) highlight(lang, code string) (out string) {
	plain := escape(code)
	lexer := r.lexers[strings.ToLower(lang)]
	if lexer == nil || len(code) > maxCode || longestLine(code) > maxCodeLine {
		return plain
	}
	defer func() { // lexers are data of a library, run on text from outside
		if recover() != nil {
			out = plain
		}
	}()
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return plain
	}
	var b strings.Builder
	read := 0
	for t := tokens(); t != chroma.EOF; t = tokens() {
		if !strings.HasPrefix(code[read:], t.Value) {
			return plain // the lexer changes text
		}
		read += len(t.Value)
		writeToken(&b, t)
	}
	if read != len(code) {
		return plain
	}
	return b.String()
}

func writeToken(b *strings.Builder, t chroma.Token) {
	class := tokenClass(t.Type)
	if class == "" {
		b.WriteString(escape(t.Value))
		return
	}
	b.WriteString(`<span class="` + class + `">`)
	b.WriteString(escape(t.Value))
	b.WriteString("</span>")
}

func longestLine(s string) int {
	longest := 0
	for l := range strings.Lines(s) {
		longest = max(longest, len(l))
	}
	return longest
}

// tokenClass is the class of a token, one per role; names, punctuation and
// white space have none and get no element.
func tokenClass(t chroma.TokenType) string {
	switch t {
	case chroma.KeywordType, chroma.NameClass, chroma.NameException, chroma.NameNamespace,
		chroma.GenericHeading, chroma.GenericSubheading:
		return "kt"
	case chroma.KeywordConstant, chroma.NameConstant, chroma.Literal, chroma.LiteralDate:
		return "m"
	case chroma.OperatorWord, chroma.NameTag, chroma.NameBuiltinPseudo:
		return "k"
	case chroma.NameFunction, chroma.NameFunctionMagic, chroma.NameBuiltin, chroma.NameDecorator,
		chroma.NameAttribute:
		return "nf"
	case chroma.GenericError, chroma.GenericTraceback:
		return "gr"
	case chroma.GenericInserted:
		return "gi"
	case chroma.GenericDeleted:
		return "gd"
	case chroma.Operator:
		return "o"
	}
	switch {
	case t.InCategory(chroma.Keyword):
		return "k"
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "m"
	}
	return ""
}

// ChromaClasses maps each class that tokens inside code.chroma may carry to
// the role it plays. A theme needs one colour for each.
func ChromaClasses() map[string]string {
	return map[string]string{
		"k": "keyword", "s": "string", "m": "number", "c": "comment", "nf": "function",
		"kt": "type", "o": "operator", "gr": "error", "gi": "inserted", "gd": "deleted",
	}
}
