package api

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func TestDocumentRefersToWhatItDefines(t *testing.T) {
	b, err := json.Marshal(document())
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]map[string]any
				Required   []string
			}
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"#/components/schemas/([^"]*)"`).FindAllStringSubmatch(string(b), -1) {
		if _, ok := doc.Components.Schemas[m[1]]; !ok {
			t.Errorf("%s is not defined", m[1])
		}
	}
	chat := doc.Components.Schemas["chat"]
	for _, member := range []string{"id", "title", "kind", "mode", "model", "status", "position", "messages", "queue", "pending"} {
		if chat.Properties[member] == nil {
			t.Errorf("chat has no %s", member)
		}
	}
	if doc.Components.Schemas["patchChat"].Properties["title"]["anyOf"] == nil {
		t.Error("a member of a PATCH may be null")
	}
}

// dig follows members of a JSON object.
func dig(t *testing.T, v any, path ...string) any {
	t.Helper()
	for _, name := range path {
		m, _ := v.(map[string]any)
		if v = m[name]; v == nil {
			t.Fatalf("there is no %s of %q", name, path)
		}
	}
	return v
}

// TestDocumentSaysWhatMayBeNull: what the API writes or takes as null is
// described so, and what a closed card answers is described whole.
func TestDocumentSaysWhatMayBeNull(t *testing.T) {
	b, err := json.Marshal(document())
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	all := dig(t, doc, "components", "schemas")
	null := func(v any) bool {
		for _, x := range dig(t, v, "anyOf").([]any) {
			if dig(t, x, "type") == "null" {
				return true
			}
		}
		return false
	}
	for _, name := range []string{"tool_web_search", "tool_fetch", "tool_ask_user", "tool_custom", "tool_mcp"} {
		if !null(dig(t, all, "model", "properties", name)) {
			t.Errorf("model.%s may be null", name)
		}
	}
	if !null(dig(t, all, "createChat", "properties", "scope", "additionalProperties")) {
		t.Error("a new chat's scope may have null")
	}
	scope := dig(t, all, "patchChat", "properties", "scope", "anyOf").([]any)
	if !null(dig(t, scope[0], "additionalProperties")) {
		t.Error("a scope may have null")
	}
	if dig(t, all, "model", "properties", "enabled", "type") != "boolean" || dig(t, all, "chatHead", "properties", "scope", "additionalProperties", "type") != "boolean" {
		t.Error("what is never null is described as null")
	}
	path := "/chats/{id}/interactions/{iid}"
	ref := dig(t, doc, "paths", path, "post", "responses", "409", "content", "application/problem+json", "schema", "$ref").(string)
	closed := dig(t, all, ref[strings.LastIndexByte(ref, '/')+1:], "properties")
	for _, member := range []string{"consent", "state", "answers", "by", "at", "status", "detail"} {
		dig(t, closed, member)
	}
}
