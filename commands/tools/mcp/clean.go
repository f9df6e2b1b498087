package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"lembas/events"
)

const (
	maxToolName = 256  // bytes of a tool's own name
	maxTitle    = 100  // characters
	maxText     = 1024 // characters of a description, also within a schema
)

// cleanTool is a tool as it may be kept, and false where there is nothing to
// call or nothing that a model could be offered.
func cleanTool(t *mcp.Tool) (events.ServerTool, bool) {
	if t == nil || t.Name == "" || len(t.Name) > maxToolName || plain(t.Name) != t.Name {
		return events.ServerTool{}, false
	}
	schema, ok := cleanSchema(t.InputSchema)
	if !ok {
		return events.ServerTool{}, false
	}
	title := t.Title
	if t.Annotations != nil {
		title = cmp.Or(title, t.Annotations.Title)
	}
	out := events.ServerTool{Name: t.Name, Title: line(title, maxTitle), Description: text(t.Description, maxText), Schema: schema}
	out.Digest = digest(out)
	return out, true
}

// digest is the hex SHA-256 of what a person looks at and a model is told.
func digest(t events.ServerTool) string {
	b, err := json.Marshal([]string{t.Name, t.Title, t.Description, string(t.Schema)})
	if err != nil {
		panic(err) // strings always marshal
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// plain is s without what cannot be seen: control characters but line feed and
// tab, marks that turn or hide text, tags and variation selectors, which can
// carry a message that a person does not see.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "�")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\u200c', r == '\u200d': // the last two join letters and emoji
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029', r >= 0xe0100 && r <= 0xe01ef:
			return -1
		}
		return r
	}, s)
}

// text is plain, at most n characters.
func text(s string, n int) string {
	if len(s) > 8*n { // what follows is linear in what is left
		s = s[:8*n]
	}
	s = strings.TrimSpace(plain(s))
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// line is text in one line.
func line(s string, n int) string {
	if len(s) > 8*n {
		s = s[:8*n]
	}
	return text(strings.Join(strings.Fields(plain(s)), " "), n)
}
