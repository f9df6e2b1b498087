package builtin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const maxArguments = 64 << 10 // bytes

// one gives the single text argument of a tool. Names are told apart by case and
// none may come twice or unknown, so that what runs is what a card showed.
func one(raw json.RawMessage, name string, most int) (string, error) {
	var members map[string]jsontext.Value
	if len(raw) > maxArguments || jsonv2.Unmarshal(raw, &members) != nil || members == nil {
		return "", fmt.Errorf("the arguments must be one JSON object such as {%q: \"…\"}", name)
	}
	var s string
	for key, v := range members {
		switch {
		case key == name:
			if v.Kind() != '"' || jsonv2.Unmarshal(v, &s) != nil {
				return "", fmt.Errorf("%s must be a text", name)
			}
		case key != "why":
			return "", fmt.Errorf("there is no argument %q; give only %s", clip(key, 60), name)
		}
	}
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return "", fmt.Errorf("%s is missing; give {%q: \"…\"}", name, name)
	case len(s) > most:
		return "", fmt.Errorf("%s is longer than %d bytes", name, most)
	}
	return s, nil
}

// clean takes out what has no place in text from outside: control characters,
// marks that turn the direction of writing, and invisible tags.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r', r == 0x2028, r == 0x2029:
			return '\n'
		case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff,
			r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff:
			return -1
		}
		return r
	}, s)
}

// line makes one line of at most n characters.
func line(s string, n int) string { return clip(strings.Join(strings.Fields(clean(s)), " "), n) }

// clip cuts s to n characters, with an ellipsis.
func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
		n--
	}
	return s
}

// cut gives the first n characters, and whether there are more.
func cut(s string, n int) (string, bool) {
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}

func oneOf(s string, list ...string) bool { return slices.Contains(list, s) }
