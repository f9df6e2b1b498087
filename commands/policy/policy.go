package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"lembas/events"
)

// Rules is what a decision about one round looks at: read once, for all of its
// calls.
type Rules struct {
	// Ask are the risks that ask in an ordinary chat.
	Ask []string
	// Allow are the patterns in force: those of the instance and those that the
	// chat remembers.
	Allow []string
	// Deny are the instance's patterns that ask in any case.
	Deny []string
}

// Decision is what becomes of a call.
type Decision struct {
	Ask bool
	// Reason says to a person why it asks.
	Reason string
	// Pattern is what an "always" would remember, "" when nothing can be.
	Pattern string
}

// Decide says whether a call with that tool and risk asks in an ordinary chat.
// A risk that is not known asks: what is not understood is not let through.
func (r Rules) Decide(tool, risk string, arguments json.RawMessage) Decision {
	d := Decision{Pattern: Pattern(tool, arguments)}
	switch {
	case matches(r.Deny, d.Pattern):
		d.Ask, d.Reason = true, "This instance asks before this tool, whatever was allowed"
		d.Pattern = ""
	case matches(r.Allow, d.Pattern):
	case !slices.Contains([]string{events.RiskRead, events.RiskWrite, events.RiskExecute}, risk):
		d.Ask, d.Reason = true, "The risk of this tool is not known"
	case slices.Contains(r.Ask, risk):
		d.Ask, d.Reason = true, reasons[risk]
	}
	return d
}

var reasons = map[string]string{
	events.RiskRead:    "This instance asks before a tool reads",
	events.RiskWrite:   "This instance asks before a tool changes something",
	events.RiskExecute: "This instance asks before a tool runs something",
}

// Pattern is what "always" remembers of a call: for tools whose target is
// another party's, their name.
func Pattern(tool string, _ json.RawMessage) string { return tool }

// matches says whether one of the patterns is the whole of what is matched. A *
// is any run of characters, everything else literal; case matters.
func matches(patterns []string, what string) bool {
	return what != "" && slices.ContainsFunc(patterns, func(p string) bool { return Match(p, what) })
}

// Match says whether a pattern matches the whole of a text.
func Match(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// maxDepth bounds how deep arguments nest.
const maxDepth = 64

// Object reads arguments: one JSON object, of which every name stands once, also
// when case is not looked at, because readers disagree about which one counts.
// Numbers are json.Number.
func Object(raw json.RawMessage) (map[string]any, error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	v, err := value(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err == nil || err.Error() != "EOF" {
		return nil, fmt.Errorf("the arguments must be one JSON object, with nothing after it")
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the arguments must be a JSON object")
	}
	return o, nil
}

// Encode writes arguments as they are read on a card: <, > and & stay.
func Encode(arguments map[string]any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(arguments); err != nil {
		return nil, fmt.Errorf("writing arguments: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func value(dec *json.Decoder, depth int) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON")
	}
	open, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if depth >= maxDepth {
		return nil, fmt.Errorf("the arguments nest deeper than %d", maxDepth)
	}
	if open == '[' {
		list := []any{}
		for dec.More() {
			v, err := value(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, closing(dec)
	}
	return object(dec, depth)
}

func object(dec *json.Decoder, depth int) (any, error) {
	out := map[string]any{}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("the arguments are not valid JSON")
		}
		name, ok := t.(string)
		if !ok {
			return nil, fmt.Errorf("the arguments are not valid JSON")
		}
		folded := strings.ToLower(name)
		if seen[folded] {
			return nil, fmt.Errorf("the argument %q is given twice", name)
		}
		seen[folded] = true
		if out[name], err = value(dec, depth+1); err != nil {
			return nil, err
		}
	}
	return out, closing(dec)
}

func closing(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("the arguments are not valid JSON")
	}
	return nil
}
