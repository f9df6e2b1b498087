package main

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"lembas/events"
)

// TestEventsAreDocumented: docs/events.md names every type that is registered,
// in a row that names each member of its payload, and no type that is not.
func TestEventsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/events.md")
	must(t, err)
	rows, known := map[string]string{}, map[string]bool{}
	name := regexp.MustCompile("`([a-z]+\\.[a-z_]+)`")
	for line := range strings.Lines(string(b)) {
		if cells := strings.SplitN(line, "|", 3); strings.HasPrefix(line, "|") && len(cells) == 3 {
			if strings.HasPrefix(cells[1], " `claim/") || strings.HasPrefix(cells[1], " `bus/") || strings.TrimSpace(cells[1]) == "" { // the stream comes first
				cells = strings.SplitN(cells[2], "|", 2)
				cells = []string{"", cells[0], cells[1]}
			}
			for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
				rows[m[1]] = line
			}
		}
	}
	for _, typ := range events.Types() {
		known[typ] = true
		info, _ := events.Lookup(typ)
		p, err := events.Decode(&events.Envelope{Type: typ, TypeVersion: info.Version, Data: json.RawMessage("{}")})
		must(t, err)
		row, ok := rows[typ]
		if !ok {
			t.Errorf("%s has no row", typ)
			continue
		}
		for _, member := range members(reflect.TypeOf(p)) {
			if !regexp.MustCompile(`\b` + member + `\b`).MatchString(row) {
				t.Errorf("the row of %s does not name %q", typ, member)
			}
		}
	}
	for typ := range rows {
		if !known[typ] {
			t.Errorf("%s has a row and is not registered", typ)
		}
	}
}

// members are the names of a payload's own members, in JSON.
func members(t reflect.Type) (out []string) {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}
