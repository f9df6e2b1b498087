package api

import (
	"encoding/json"
	"regexp"
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
