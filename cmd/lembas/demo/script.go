package demo

import (
	"embed"
	"fmt"
	"strings"
	"time"
	"unicode"
)

//go:embed replies
var replies embed.FS

// model is one scripted model.
type model struct {
	id, name string
}

// models lists what GET /v1/models shows, in that order.
func models() []model {
	return []model{
		{"demo-chat", "Demo: short chat (scripted)"},
		{"demo-markdown", "Demo: Markdown (scripted)"},
		{"demo-code", "Demo: code in several languages (scripted)"},
		{"demo-thinking", "Demo: thinking in a field of its own (scripted)"},
		{"demo-think-tags", "Demo: thinking in tags (scripted)"},
	}
}

// ending is how a reply goes wrong after some words.
type ending int

const (
	endWell ending = iota
	endSilent
	endCut
	endError
)

// fault is an answer in place of a reply.
type fault int

const (
	faultNone fault = iota
	faultFail
	faultBusy
	faultPage
)

// script is a reply before it is sent.
type script struct {
	fault     fault
	reasoning string
	content   string
	calls     []call
	end       ending
	pace      time.Duration // between two pieces, 0 for none
}

// faultyWords is how many pieces of a reply come before it goes wrong.
const faultyWords = 12

// plan reads a request and says what happens.
func (o Options) plan(r request) script {
	if r.asksTitle() {
		return script{content: titleFor(r), pace: o.pace(time.Second / 32)}
	}
	if r.asksSummary() {
		return script{content: summaryOf(r), pace: o.pace(time.Second / 300)}
	}
	t := r.turn()
	has := wordsOf(t.prompt)
	s := script{pace: o.pace(time.Second / 32)}
	switch {
	case has["fail"]:
		s.fault = faultFail
	case has["busy"]:
		s.fault = faultBusy
	case has["html"]:
		s.fault = faultPage
	}
	switch {
	case has["stall"]:
		s.end = endSilent
	case has["cut"]:
		s.end = endCut
	case has["error"]:
		s.end = endError
	}
	switch {
	case s.act(r, t, has):
	case len(t.results) > 0:
		s.content = quoting(t.results)
	default:
		s.write(r.Model, t.prompt, has)
	}
	switch {
	case has["trickle"]:
		s.pace = o.pace(300 * time.Millisecond)
	case has["slow"]:
		s.pace = o.pace(time.Second / 8)
	case has["long"]:
		s.pace = o.pace(time.Second / 300)
	}
	return s
}

// write chooses the words of a reply: by trigger, else by model.
func (s *script) write(id, prompt string, has map[string]bool) {
	switch {
	case has["long"]:
		s.content = long()
	case has["table"]:
		s.content = text("table")
	case has["code"]:
		s.content = text("code")
	case has["think"]:
		s.think(id == "demo-think-tags")
	case id == "demo-markdown":
		s.content = text("markdown")
	case id == "demo-code":
		s.content = text("code")
	case id == "demo-thinking", id == "demo-think-tags":
		s.think(id == "demo-think-tags")
	default:
		s.content = "Hello from the demo. You wrote: “" + clip(strings.Join(strings.Fields(prompt), " "), 200) + "”\n" + text("words")
	}
}

func (s *script) think(tags bool) {
	s.reasoning, s.content = text("thinking"), text("answer")
	if tags {
		s.content = "<think>\n" + s.reasoning + "\n</think>\n\n" + s.content
		s.reasoning = ""
	}
}

func text(name string) string {
	raw, err := replies.ReadFile("replies/" + name + ".md")
	if err != nil {
		panic("demo: " + err.Error()) // the file is compiled in; a test reads each
	}
	return strings.TrimRight(string(raw), "\n")
}

// longBytes is the length the long reply passes.
const longBytes = 100_000

// long is a reply of about 100 KB: numbered sections with a paragraph, a list, a table and code.
func long() string {
	var b strings.Builder
	b.WriteString("# A long demo reply\n\nAbout 100 KB of scripted Markdown, to see how a long reply scrolls.\n")
	for i := 1; b.Len() < longBytes; i++ {
		fmt.Fprintf(&b, "\n## Section %d\n\nThis is paragraph %d of the demo. It has **bold** words, `code` and a [link](https://example.org/%d). "+
			"It says nothing new, at some length, so that there is something to scroll through.\n\n", i, i, i)
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, "| Row | Square |\n| ---: | ---: |\n| %d | %d |\n| %d | %d |\n", i, i*i, i+1, (i+1)*(i+1))
		case 1:
			fmt.Fprintf(&b, "- first of section %d\n- second\n  - nested\n", i)
		default:
			fmt.Fprintf(&b, "```go\nfunc section%d() int { return %d * %d }\n```\n", i, i, i)
		}
	}
	b.WriteString("\nThat was the whole of the long demo reply.")
	return b.String()
}

// wordsOf is the set of words in s, in lower case.
func wordsOf(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		out[w] = true
	}
	return out
}

// pieces cuts a text the way tokens come: a word with the space before it, at most twelve characters.
func pieces(s string) []string {
	var out []string
	var b strings.Builder
	n := 0
	cut := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
		}
		b.Reset()
		n = 0
	}
	for _, r := range s {
		if n > 0 && unicode.IsSpace(r) || n == 12 {
			cut()
		}
		b.WriteRune(r)
		n++
	}
	cut()
	return out
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
