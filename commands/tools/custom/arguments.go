package custom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"lembas/events"
)

// The types of a parameter, as in JSON Schema.
const (
	typeString  = "string"
	typeNumber  = "number"
	typeInteger = "integer"
	typeBoolean = "boolean"
)

const maxArguments = 1 << 20 // bytes

// ErrArguments says that a call's arguments do not fit its tool. The text tells
// a model what to give instead.
var ErrArguments = errors.New("arguments")

type argumentError string

func (e argumentError) Error() string        { return string(e) }
func (e argumentError) Is(target error) bool { return target == ErrArguments }

func wrong(format string, args ...any) error { return argumentError(fmt.Sprintf(format, args...)) }

// Schema is the JSON Schema of a tool's arguments.
func Schema(st events.CustomState) json.RawMessage {
	type property struct {
		Type        string `json:"type"`
		Description string `json:"description,omitempty"`
	}
	schema := struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required,omitempty"`
		Additional bool                `json:"additionalProperties"`
	}{Type: "object", Properties: map[string]property{}}
	for _, p := range st.Parameters {
		schema.Properties[p.Name] = property{p.Type, p.Description}
		if p.Required {
			schema.Required = append(schema.Required, p.Name)
		}
	}
	b, err := json.Marshal(schema)
	if err != nil { // strings and booleans always marshal
		return json.RawMessage(`{"type":"object"}`)
	}
	return b
}

// arguments reads a call's arguments, once: the text of each that is there. All
// that is wrong is said together.
func arguments(declared []events.CustomParameter, raw json.RawMessage) (map[string]string, error) {
	members, err := members(raw)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	var faults []error
	for _, p := range declared {
		v, ok := members[p.Name]
		delete(members, p.Name)
		if !ok || v.Kind() == 'n' {
			if p.Required {
				faults = append(faults, wrong("%q is missing; give it as %s", p.Name, kind(p.Type)))
			}
			continue
		}
		text, err := value(p, v)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		values[p.Name] = text
	}
	if len(members) > 0 {
		faults = append(faults, unknown(declared, members))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return values, nil
}

// members reads one JSON object. Names that come twice are refused: readers
// disagree about which counts.
func members(raw json.RawMessage) (map[string]jsontext.Value, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return nil, nil
	case len(raw) > maxArguments:
		return nil, wrong("the arguments are larger than %d bytes", maxArguments)
	case raw[0] != '{' && jsontext.Value(raw).IsValid():
		return nil, wrong(`the arguments must be one JSON object, such as {"name": "value"}`)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	out := map[string]jsontext.Value{}
	if _, err := dec.ReadToken(); err != nil {
		return nil, notJSON(err)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, notJSON(err)
		}
		key := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			return nil, notJSON(err)
		}
		out[key] = v.Clone()
	}
	if end := dec.InputOffset() + 1; len(bytes.TrimSpace(raw[end:])) > 0 {
		return nil, wrong("the arguments must be one JSON object, with nothing behind it")
	}
	return out, nil
}

func notJSON(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return wrong("the arguments hold a name twice; give each once")
	}
	return wrong("the arguments are not valid JSON; give one object, such as {\"name\": \"value\"}")
}

func unknown(declared []events.CustomParameter, left map[string]jsontext.Value) error {
	var names, known []string
	for name := range left {
		names = append(names, fmt.Sprintf("%q", clip(name, 64)))
	}
	slices.Sort(names)
	for _, p := range declared {
		known = append(known, p.Name)
	}
	if len(known) == 0 {
		return wrong("the tool takes no arguments; leave %s out", clip(strings.Join(names, ", "), 300))
	}
	return wrong("%s is not an argument of this tool; it takes %s", clip(strings.Join(names, ", "), 300), strings.Join(known, ", "))
}

// value is the text of an argument of the declared type.
func value(p events.CustomParameter, v jsontext.Value) (string, error) {
	fits := false
	text := string(v)
	switch v.Kind() {
	case '"':
		b, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return "", notJSON(err)
		}
		text, fits = string(b), p.Type == typeString
	case '0':
		fits = p.Type == typeNumber || p.Type == typeInteger && whole(text)
	case 't', 'f':
		fits = p.Type == typeBoolean
	}
	if !fits {
		return "", wrong("%q must be %s", p.Name, kind(p.Type))
	}
	return text, nil
}

// whole says whether a JSON number is written as an integer.
func whole(s string) bool { return !strings.ContainsAny(s, ".eE") }

// kind is a type in the words of an error.
func kind(typ string) string {
	switch typ {
	case typeNumber:
		return "a number, without quotes"
	case typeInteger:
		return "a whole number, without quotes"
	case typeBoolean:
		return "true or false, without quotes"
	}
	return "text, in quotes"
}

// clip cuts s to n bytes at a character's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
