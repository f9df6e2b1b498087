package pages

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lembas/commands"
	"lembas/events"
	"lembas/web/templates"
)

func serverTool(s commands.ServerView, t events.ServerTool) templates.ServerTool {
	return templates.ServerTool{Server: s.ID, Name: t.Name, Title: t.Title, Description: t.Description, Schema: schemaText(t.Schema),
		On: !slices.Contains(s.State.Off, t.Name), Held: s.Held(t)}
}

// schemaText is a schema as a person reads it, "" for one that asks for nothing.
func schemaText(schema json.RawMessage) string {
	var asks struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &asks) == nil && len(asks.Properties) == 0 {
		return ""
	}
	var b bytes.Buffer
	if json.Indent(&b, schema, "", "  ") != nil {
		return string(schema)
	}
	return b.String()
}

// heldTool says what of a tool is not as it was looked at.
func heldTool(before, now events.ServerTool, isNew bool) templates.HeldTool {
	v := templates.HeldTool{Name: now.Name, Title: now.Title, Digest: now.Digest, New: isNew}
	for _, c := range []struct{ label, before, now string }{{"Title", before.Title, now.Title}, {"Description", before.Description, now.Description},
		{"Arguments", indented(before.Schema), indented(now.Schema)}} {
		if c.before == c.now || isNew && c.label == "Title" { // the title stands above
			continue
		}
		change := templates.Change{Label: c.label}
		change.Before, change.After = marked(c.before, c.now)
		if isNew {
			change.After = templates.Marked{Head: c.now}
		}
		v.Changes = append(v.Changes, change)
	}
	return v
}

// indented is the whole schema: what is compared leaves nothing out.
func indented(schema json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, schema, "", "  ") != nil {
		return string(schema)
	}
	return b.String()
}

// marked cuts two texts into the beginning and the end that they share, and what
// lies between, at the borders of words.
func marked(a, b string) (templates.Marked, templates.Marked) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	if !border(a, head) || !border(b, head) {
		head = wordStart(a, head)
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if !border(a, len(a)-tail) || !border(b, len(b)-tail) {
		tail = len(a) - wordEnd(a, len(a)-tail)
	}
	cut := func(s string) templates.Marked {
		return templates.Marked{Head: s[:head], Middle: s[head : len(s)-tail], Tail: s[len(s)-tail:]}
	}
	return cut(a), cut(b)
}

// border says whether a place is between words.
func border(s string, at int) bool {
	space := func(c byte) bool { return c == ' ' || c == '\n' }
	return at == 0 || at == len(s) || space(s[at-1]) || space(s[at])
}

// wordStart moves a place back to where the word that it is in begins.
func wordStart(s string, at int) int {
	i := strings.LastIndexFunc(s[:at], unicode.IsSpace)
	if i < 0 {
		return 0
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return i + n
}

// wordEnd moves a place on to where the next space is.
func wordEnd(s string, at int) int {
	i := strings.IndexFunc(s[at:], unicode.IsSpace)
	if i < 0 {
		return len(s)
	}
	return at + i
}
