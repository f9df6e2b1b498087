package api

import (
	"reflect"
	"strings"
	"time"

	"lembas/events"
	"lembas/web/request"
)

// problem is the document that every failure answers with.
type problem = request.Problem

// schemas are the JSON schemas of Go types by their names.
type schemas map[string]any

func reference(name string) map[string]any {
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

// of gives the schema of a type as encoding/json writes it. Named structs are
// kept once and referred to.
func (s schemas) of(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[events.RawJSON]() || t.Kind() == reflect.Interface:
		return map[string]any{}
	case strings.HasPrefix(t.Name(), "Optional["):
		value, _ := t.FieldByName("Value")
		return null(s.of(value.Type))
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.nullable(t.Elem())}
	case reflect.Struct:
		return s.structure(t)
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "integer"}
}

func null(schema map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
}

// nullable is of, and null too for a pointer that is written when it is nil.
func (s schemas) nullable(t reflect.Type) map[string]any {
	if t.Kind() == reflect.Pointer {
		return null(s.of(t))
	}
	return s.of(t)
}

func (s schemas) structure(t reflect.Type) map[string]any {
	name := schemaName(t)
	if _, ok := s[name]; ok {
		return reference(name)
	}
	schema := map[string]any{"type": "object"}
	s[name] = schema // before its members, which may refer to it
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		member, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || member == "-" || member == "" {
			continue
		}
		properties[member] = s.of(f.Type)
		if options == "" {
			properties[member] = s.nullable(f.Type)
		}
		if options == "" && !strings.HasPrefix(f.Type.Name(), "Optional[") {
			required = append(required, member)
		}
	}
	schema["properties"] = properties
	if len(required) > 0 {
		schema["required"] = required
	}
	return reference(name)
}

// schemaName is the type's name, beginning small; list[pkg.chat] is chatList.
func schemaName(t reflect.Type) string {
	name := t.Name()
	if base, argument, ok := strings.Cut(strings.TrimSuffix(name, "]"), "["); ok {
		argument = argument[strings.LastIndexByte(argument, '.')+1:]
		name = argument + strings.ToUpper(base[:1]) + base[1:]
	}
	return strings.ToLower(name[:1]) + name[1:]
}
