package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lembas/commands/policy"
)

// maxArguments bounds what a model sends with one call, in bytes.
const maxArguments = 1 << 20

// Arguments reads what a model sent for a call, once: the card, the policy and
// the runner see the result. Text that is no JSON object becomes the first
// required parameter, which is what models mean by it. The error is for the
// model: it says what to send instead.
func (s *Tool) Arguments(raw string) (json.RawMessage, error) {
	if len(raw) > maxArguments {
		return nil, fmt.Errorf("the arguments are longer than %d bytes", maxArguments)
	}
	shape, err := s.Spec.shape()
	if err != nil {
		return nil, err
	}
	given, err := policy.Object(json.RawMessage(raw))
	trimmed := strings.TrimSpace(raw)
	switch {
	case trimmed == "" || trimmed == "null":
		given, err = map[string]any{}, nil
	case err != nil && !strings.HasPrefix(trimmed, "{"):
		if given = shape.repair(trimmed); given != nil {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w; send an object such as %s", err, shape.example())
	}
	if s.Run != nil { // a tool that a person answers reads loose shapes itself
		if err := shape.check(given); err != nil {
			return nil, err
		}
	}
	return policy.Encode(given)
}

// shape is what is looked at of a schema: the first level. Patterns, formats and
// references of a server's schema are never run here; its own runner checks.
type shape struct {
	Required   []string                   `json:"required"`
	Properties map[string]json.RawMessage `json:"properties"`
	Additional json.RawMessage            `json:"additionalProperties"`
}

func (s *Spec) shape() (shape, error) {
	var out shape
	if len(s.Schema) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(s.Schema, &out); err != nil {
		return out, fmt.Errorf("the schema of this tool cannot be read; do not use it")
	}
	return out, nil
}

// types gives the types that a property takes, nil for any.
func (sh shape) types(name string) []string {
	var p struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(sh.Properties[name], &p) != nil || len(p.Type) == 0 {
		return nil
	}
	var one string
	if json.Unmarshal(p.Type, &one) == nil {
		return []string{one}
	}
	var several []string
	if json.Unmarshal(p.Type, &several) != nil {
		return nil
	}
	return several
}

// repair makes a text the first required parameter, or the only one; nil when
// there is none.
func (sh shape) repair(raw string) map[string]any {
	var name string
	switch {
	case len(sh.Required) > 0:
		name = sh.Required[0]
	case len(sh.Properties) == 1:
		name = slices.Collect(maps.Keys(sh.Properties))[0]
	default:
		return nil
	}
	var text string
	if json.Unmarshal([]byte(raw), &text) == nil {
		raw = text
	} else if json.Valid([]byte(raw)) && !slices.Contains(sh.types(name), "string") {
		var v any
		dec := json.NewDecoder(strings.NewReader(raw))
		dec.UseNumber()
		if dec.Decode(&v) == nil {
			return map[string]any{name: v}
		}
	}
	return map[string]any{name: raw}
}

// example is what a call looks like, for a model that got it wrong.
func (sh shape) example() string {
	names := sh.Required
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(sh.Properties))
	}
	var parts []string
	for _, n := range names {
		value := `"…"`
		switch t := sh.types(n); {
		case len(t) == 0:
		case t[0] == "number" || t[0] == "integer":
			value = "0"
		case t[0] == "boolean":
			value = "true"
		case t[0] == "array":
			value = "[…]"
		case t[0] == "object":
			value = "{…}"
		}
		key, _ := json.Marshal(n) // text always encodes
		parts = append(parts, string(key)+": "+value)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (sh shape) check(given map[string]any) error {
	for _, name := range sh.Required {
		if _, ok := given[name]; !ok {
			return fmt.Errorf("the argument %q is missing; send an object such as %s", name, sh.example())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		_, known := sh.Properties[name]
		if !known && string(sh.Additional) == "false" {
			return fmt.Errorf("there is no argument %q; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(sh.Properties)), ", "))
		}
		if want := sh.types(name); known && len(want) > 0 && !slices.ContainsFunc(want, func(t string) bool { return isOf(given[name], t) }) {
			return fmt.Errorf("the argument %q must be of type %s", name, strings.Join(want, " or "))
		}
	}
	return nil
}

func isOf(v any, kind string) bool {
	switch v := v.(type) {
	case nil:
		return kind == "null"
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case json.Number:
		return kind == "number" || kind == "integer" && !strings.ContainsAny(v.String(), ".eE")
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	}
	return false
}
