package markdown

import (
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// lexerTable finds a lexer by lower-case name or alias. It holds the languages
// of highlighted only: of chroma's 300 lexers some need minutes for a few
// kilobytes of unlucky text.
type lexerTable map[string]chroma.Lexer

const highlighted = "Ada Awk Bash BashSession Batchfile C C# C++ Clojure CMake CSS D Dart Diff Docker Elixir " +
	"Elm Erlang Fortran FSharp GAS GDScript Go GraphQL Groovy Haskell HCL HTML HTTP INI Java JavaScript JSON JSX Julia " +
	"Kotlin Lua Makefile Markdown Matlab MySQL NASM Nginx Nim Nix Objective-C OCaml Perl PHP PostgreSQL PowerShell Prolog " +
	"Properties Protobuf Python R React Ruby Rust Scala Scheme SCSS Solidity SQL Svelte Swift Terraform TeX TOML TypeScript TSX " +
	"VHDL VimL Vue WebAssembly XML YAML Zig"

func newLexerTable() lexerTable {
	t := lexerTable{}
	names := strings.Fields(strings.ToLower(highlighted))
	for _, l := range lexers.GlobalLexerRegistry.Lexers {
		c := l.Config()
		if !slices.Contains(names, strings.ReplaceAll(strings.ToLower(c.Name), " ", "")) {
			continue
		}
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
		body = r.highlight(lang, code, e)
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
func (r *Renderer) highlight(lang, code string, e *env) (out string) {
	plain := escape(code)
	lexer := r.lexers[strings.ToLower(lang)]
	if lexer == nil || len(code) > maxCode || longestLine(code) > maxCodeLine || e.spent > codeTime {
		return plain
	}
	begin := time.Now()
	defer func() { e.spent += time.Since(begin) }()
	defer func() { // lexers are data of a library, run on text from outside
		if recover() != nil {
			out = plain
		}
	}()
	tokens, err := lexer.Tokenise(nil, code)
	if err != nil {
		return plain
	}
	var b strings.Builder
	read, class := 0, ""
	for t := tokens(); t != chroma.EOF; t = tokens() {
		if !strings.HasPrefix(code[read:], t.Value) || time.Since(begin) > codeTime {
			return plain // the lexer changes text, or cannot cope with it
		}
		read += len(t.Value)
		c := tokenClass(t.Type)
		if strings.TrimSpace(t.Value) == "" {
			c = class // white space needs no colour
		}
		switchClass(&b, class, c)
		b.WriteString(escape(t.Value))
		class = c
	}
	switchClass(&b, class, "")
	if read != len(code) {
		return plain
	}
	return b.String()
}

// switchClass ends the element of one class and begins that of the next.
func switchClass(b *strings.Builder, from, to string) {
	if from == to {
		return
	}
	if from != "" {
		b.WriteString("</span>")
	}
	if to != "" {
		b.WriteString(`<span class="` + to + `">`)
	}
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
