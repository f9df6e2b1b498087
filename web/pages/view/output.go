package view

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"lembas/projections/transcript"
	"lembas/web/templates"
)

// Bounds of the output that a page has at hand; the rest is behind "show all".
const (
	maxHead = 12 << 10
	maxTail = 4 << 10
)

// output is what a page shows of a call's output: all of it, or its head and
// tail. The log already has only those of an output that became a blob.
func output(chat string, k *transcript.Call) templates.Output {
	text, sequences := plain(k.Output)
	out := templates.Output{Head: text}
	if len(text) > maxHead+maxTail {
		head, tail := cut(text, maxHead), text[len(text)-maxTail:]
		for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
		if i := strings.LastIndexByte(head, '\n'); i > maxHead/2 {
			head = head[:i]
		}
		if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
			tail = tail[i+1:]
		}
		out = templates.Output{Head: head, Tail: tail, Gap: bytesText(int64(len(text)-len(head)-len(tail))) + " not shown here"}
	}
	switch {
	case sequences == 1:
		out.Note = "1 terminal sequence left out"
	case sequences > 1:
		out.Note = fmt.Sprintf("%d terminal sequences left out", sequences)
	}
	if out.All = blobPath(chat, k.Blob); out.All != "" {
		out.Size = bytesText(max(k.Bytes, k.Blob.Size))
	}
	return out
}

// terminal matches what a terminal would carry out and not show: CSI, OSC and
// other string sequences, and short escapes.
var terminal = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]`)

// plain is an output as text: terminal sequences are left out and counted, line
// ends are \n, and characters that move or turn other text are shown as
// escapes. Joiners and selectors stay, for scripts and emoji need them.
func plain(s string) (text string, sequences int) {
	if strings.ContainsRune(s, 0x1b) {
		s = terminal.ReplaceAllStringFunc(s, func(string) string { sequences++; return "" })
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !strings.ContainsFunc(s, moves) && utf8.ValidString(s) {
		return s, sequences
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case moves(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case moves(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), sequences
}

// moves: control characters, and marks that change the order of what is read.
func moves(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	}
	return r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029
}
