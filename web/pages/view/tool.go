package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"lembas/events"
	"lembas/projections/transcript"
)

// Bounds of what a page shows of a call: models and tools are untrusted.
const (
	maxArguments = 8 << 10
	maxOutput    = 16 << 10
	maxTarget    = 120 // characters
)

// oneLine makes one line of at most n characters, with what could hide text
// made visible.
func oneLine(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f || r == ' ' }), " ")
	if utf8.RuneCountInString(s) > n {
		s = string([]rune(s)[:n-1]) + "…"
	}
	return s
}

// cut keeps n bytes of a text, at a character's border.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// indented is a call's arguments as the parser understood them, or what the
// model sent.
func indented(arguments events.RawJSON, raw string) string {
	var b bytes.Buffer
	if len(arguments) == 0 || len(arguments) > maxArguments || json.Indent(&b, arguments, "", "  ") != nil {
		return cut(raw, maxArguments)
	}
	return b.String()
}

// target is the one argument that says what a call acts on.
func target(arguments events.RawJSON) string {
	var members map[string]any
	if len(arguments) > maxArguments || json.Unmarshal(arguments, &members) != nil {
		return ""
	}
	names := []string{"path", "command", "url", "query", "pattern", "job", "name", "id"}
	for _, name := range append(names, slices.Sorted(maps.Keys(members))...) {
		if s, ok := members[name].(string); ok && s != "" && name != "why" {
			return oneLine(s, maxTarget)
		}
	}
	return ""
}

// output is what a page shows of a call's output, and how much more there is.
func output(k *transcript.Call) (text, more string) {
	text = cut(k.Output, maxOutput)
	if rest := max(k.Bytes, int64(len(k.Output))) - int64(len(text)); rest > 0 {
		more = bytesText(rest) + " more"
	}
	return text, more
}

func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// result is one short phrase about how a call ended.
func result(k *transcript.Call) string {
	switch k.Status {
	case events.ToolRefused, events.ToolDenied:
		return oneLine(k.Output, maxTarget)
	case transcript.Interrupted:
		return "outcome unknown"
	}
	if k.Exit != nil {
		return fmt.Sprintf("exit %d", *k.Exit)
	}
	if n := strings.Count(strings.TrimRight(k.Output, "\n"), "\n") + 1; k.Status == events.ToolOK && k.Output != "" {
		if n == 1 {
			return "1 line"
		}
		return fmt.Sprintf("%d lines", n)
	}
	return ""
}
