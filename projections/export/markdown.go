package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"lembas/projections/transcript"
)

// Markdown gives the conversation as one document: the title, each turn under
// a heading, reasoning folded, tool calls with what people said of them as fenced
// blocks.
func Markdown(c *transcript.Chat) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", line(cmp.Or(c.Title, "Chat")))
	for _, t := range c.Turns {
		fmt.Fprintf(&b, "\n## You\n\n%s\n", strings.TrimSpace(t.Text()))
		if r := t.Reply(); r != nil {
			markdownReply(&b, c.Owner, r)
		}
	}
	return b.Bytes()
}

func markdownReply(b *bytes.Buffer, owner string, r *transcript.Reply) {
	fmt.Fprintf(b, "\n## %s\n", line(author(r)))
	for _, x := range r.Live() {
		if s := strings.TrimSpace(x.Reasoning.String()); s != "" {
			// Escaped, because what is within <details> is HTML first.
			fmt.Fprintf(b, "\n<details>\n<summary>Reasoning</summary>\n\n%s\n\n</details>\n", html.EscapeString(s))
		}
		if s := strings.TrimSpace(x.Content.String()); s != "" {
			fmt.Fprintf(b, "\n%s\n", s)
		}
		for _, k := range x.Calls {
			markdownCall(b, owner, x, k)
		}
		for _, q := range x.Injected {
			fmt.Fprintf(b, "\n> **You, meanwhile:** %s\n", strings.ReplaceAll(strings.TrimSpace(q.Text), "\n", "\n> "))
		}
	}
	if note := ending(r); note != "" {
		fmt.Fprintf(b, "\n*%s*\n", line(note))
	}
}

func markdownCall(b *bytes.Buffer, owner string, x *transcript.Round, k *transcript.Call) {
	fmt.Fprintf(b, "\n**Tool: %s** (%s)\n", line(k.Name), status(x, k))
	for _, t := range blocks(owner, x, k) {
		if t.Title != "" {
			fmt.Fprintf(b, "\n%s:\n", t.Title)
		}
		fence(b, t.Language, t.Text)
	}
}

// fence writes a code block whose fence is longer than any in the text.
func fence(b *bytes.Buffer, language, text string) {
	longest, run := 2, 0
	for _, c := range text {
		if c != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	mark := strings.Repeat("`", longest+1)
	fmt.Fprintf(b, "\n%s%s\n%s\n%s\n", mark, language, strings.TrimRight(text, "\n"), mark)
}

func indented(raw string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(raw), "", "  ") != nil {
		return raw
	}
	return b.String()
}

// line makes one line of a text that stands in a heading.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

func author(r *transcript.Reply) string { return cmp.Or(r.ModelName, "Assistant") }

// ending says how a reply ended that did not end by itself, "" for one that did.
func ending(r *transcript.Reply) string {
	switch {
	case r.Status == transcript.Stopped:
		return "Stopped."
	case r.Status == transcript.Failed && r.Error != nil:
		return "Failed: " + r.Error.Message
	case r.Status == transcript.Failed:
		return "Failed: " + cmp.Or(r.Why, "no reason was given")
	case r.Status == transcript.Waiting:
		return "Waiting for its person when this was exported."
	case !r.Ended():
		return "Still being written when this was exported."
	}
	return ""
}
