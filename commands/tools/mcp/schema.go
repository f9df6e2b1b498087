package mcp

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	maxSchema = 16 << 10 // bytes
	maxDepth  = 32       // levels of JSON
	maxList   = 200      // values of an enum, or of any other list
)

// What a keyword of JSON Schema holds. All others hold plain values.
const (
	holdsSchema = iota + 1
	holdsSchemas
	holdsNamed
	dropped
)

func holds(keyword string) int {
	switch keyword {
	case "items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames", "not", "if", "then", "else", "contentSchema":
		return holdsSchema
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return holdsSchemas
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return holdsNamed
	case "$schema", "$id", "$anchor", "$comment", "$vocabulary", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor":
		return dropped
	}
	return 0
}

// cleanSchema is a schema as a model may be given it: an object, bounded in size
// and depth, its texts cleaned, without references to itself or out of itself.
// Nothing of it is compiled or followed. It gives false where that is impossible.
func cleanSchema(v any) (json.RawMessage, bool) {
	if v == nil {
		v = map[string]any{}
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	for _, lean := range []bool{false, true} {
		c := &cleaner{lean: lean}
		out := c.schema(root, 1)
		if c.bad {
			return nil, false
		}
		b, err := json.Marshal(out)
		if err != nil {
			return nil, false
		}
		if len(b) > maxSchema {
			continue
		}
		return finish(out)
	}
	return nil, false
}

// finish cuts circles of references and makes sure that the root is an object.
func finish(root map[string]any) (json.RawMessage, bool) {
	r := &refs{root: root, state: map[string]bool{}}
	r.visit("", root)
	switch t := root["type"].(type) {
	case nil:
	case string:
		if t != "object" {
			return nil, false
		}
	case []any:
		if !slices.Contains(t, any("object")) {
			return nil, false
		}
	default:
		return nil, false
	}
	root["type"] = "object"
	if _, ok := root["properties"]; !ok { // some endpoints refuse an object without
		root["properties"] = map[string]any{}
	}
	b, err := json.Marshal(root)
	return b, err == nil
}

// cleaner copies what may stay. With lean it leaves out what only explains.
type cleaner struct {
	lean bool
	bad  bool // too deep, or with a name that cannot be shown
}

func (c *cleaner) schema(m map[string]any, depth int) map[string]any {
	out := map[string]any{}
	if depth > maxDepth {
		c.bad = true
	}
	if c.bad {
		return out
	}
	for k, v := range m {
		switch holds(k) {
		case dropped:
		case holdsSchema:
			if list, ok := v.([]any); ok { // items of old drafts
				out[k] = c.schemas(list, depth+1)
			} else if s, ok := c.sub(v, depth+1); ok {
				out[k] = s
			}
		case holdsSchemas:
			if list, ok := v.([]any); ok {
				out[k] = c.schemas(list, depth+1)
			}
		case holdsNamed:
			if named, ok := v.(map[string]any); ok {
				out[k] = c.named(named, depth+1)
			}
		default:
			c.keyword(out, k, v, depth)
		}
	}
	return out
}

func (c *cleaner) keyword(out map[string]any, k string, v any, depth int) {
	list, isList := v.([]any)
	switch {
	case k == "enum" && (!isList || len(list) > maxList): // a part of it would forbid the rest
	case k == "$ref" && !isString(v):
	case c.lean && slices.Contains([]string{"title", "description", "markdownDescription", "examples", "default"}, k):
	case plain(k) == k && len(k) <= maxToolName:
		out[k] = c.value(v, depth+1)
	}
}

func isString(v any) bool { _, ok := v.(string); return ok }

func (c *cleaner) sub(v any, depth int) (any, bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case map[string]any:
		return c.schema(v, depth), true
	}
	return nil, false
}

func (c *cleaner) schemas(list []any, depth int) []any {
	out := []any{}
	for _, v := range list[:min(len(list), maxList)] {
		if s, ok := c.sub(v, depth+1); ok {
			out = append(out, s)
		}
	}
	return out
}

func (c *cleaner) named(m map[string]any, depth int) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		if plain(k) != k || len(k) > maxToolName { // it could not be called by another name
			c.bad = true
			return out
		}
		if s, ok := c.sub(v, depth+1); ok {
			out[k] = s
		}
	}
	return out
}

// value copies what is no schema.
func (c *cleaner) value(v any, depth int) any {
	if depth > maxDepth {
		c.bad = true
		return nil
	}
	switch v := v.(type) {
	case string:
		return text(v, maxText)
	case []any:
		out := []any{}
		for _, x := range v[:min(len(v), maxList)] {
			out = append(out, c.value(x, depth+1))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if plain(k) == k && len(k) <= maxToolName {
				out[k] = c.value(x, depth+1)
			}
		}
		return out
	}
	return v
}

// refs takes references away that lead nowhere, out of the schema, or back to
// where they stand. It looks at each place once; paths are JSON pointers.
type refs struct {
	root  any
	state map[string]bool // looked at
	open  []string        // the places being looked at
}

func (r *refs) visit(path string, node any) {
	if r.state[path] {
		return
	}
	r.state[path] = true
	r.open = append(r.open, path)
	switch n := node.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(n)) {
			if to, ok := n[k].(string); ok && k == "$ref" {
				if !r.follow(to) {
					delete(n, k)
				}
				continue
			}
			r.visit(path+"/"+escape(k), n[k])
		}
	case []any:
		for i, x := range n {
			r.visit(path+"/"+strconv.Itoa(i), x)
		}
	}
	r.open = r.open[:len(r.open)-1]
}

// follow says whether a reference may stay.
func (r *refs) follow(to string) bool {
	path, node, ok := r.find(to)
	if !ok {
		return false
	}
	for _, o := range r.open { // what it points to holds what is being looked at
		if o == path || strings.HasPrefix(o, path+"/") {
			return false
		}
	}
	r.visit(path, node)
	return true
}

func (r *refs) find(to string) (path string, node any, ok bool) {
	pointer, ok := strings.CutPrefix(to, "#")
	if !ok {
		return "", nil, false
	}
	if pointer, err := url.PathUnescape(pointer); err != nil || pointer != "" && pointer[0] != '/' {
		return "", nil, false
	}
	pointer, _ = url.PathUnescape(pointer)
	node = r.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch n := node.(type) {
		case map[string]any:
			node, ok = n[token]
		case []any:
			i, err := strconv.Atoi(token)
			ok = err == nil && i >= 0 && i < len(n)
			if ok {
				token, node = strconv.Itoa(i), n[i]
			}
		default:
			ok = false
		}
		if !ok {
			return "", nil, false
		}
		path += "/" + escape(token)
	}
	return path, node, true
}

func escape(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }
