package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// rooms is the order of the house: a room may import rooms above it in its own
// row's list, never the other way. The longest prefix decides.
var rooms = []struct {
	room string
	may  []string // of ours
	why  string
}{
	{"events", nil, "the vocabulary knows nobody"},
	{"ssh", nil, "machines know nothing of chats"},
	{"commands/llm", nil, "the endpoint client is useful alone"},
	{"events/store", []string{"events"}, "the log stores events, whatever they mean"},
	{"events/vault", []string{"events", "events/store"}, "secrets lie beside the log"},
	{"events/blob", []string{"events", "events/store"}, "blobs lie beside the log"},
	{"projections/transcript", []string{"events"}, "the fold is pure"},
	{"projections/export", []string{"events", "projections/transcript"}, "exports are written from the fold"},
	{"events/bus", []string{"events", "events/store"}, "the bus carries, it does not decide"},
	{"events/audit", []string{"events", "events/store"}, "proofs are over the log"},
	{"projections", []string{"events", "projections"}, "what is read is derived from the log alone"},
	{"commands/policy", []string{"events"}, "policy is pure"},
	{"commands/tools", []string{"events", "commands/policy", "ssh"}, "tools run, they do not decide"},
	{"commands", []string{"events", "events/store", "events/vault", "events/blob", "projections/transcript", "commands"},
		"a decision never reads a stored projection nor a page"},
	{"web", []string{"events", "projections", "commands", "web"}, "pages come after commands"},
	{"cmd", []string{"events", "projections", "commands", "ssh", "web", "cmd"}, "cmd wires everything"},
}

// forbidden has precedence over rooms.
var forbidden = []struct{ from, to, why string }{
	{"web", "commands/llm", "a page asks through a command, never an endpoint"},
	{"web", "commands/tools", "a page runs no tools"},
	{"web", "ssh", "a page reaches machines through interfaces it declares"},
	{"commands/llm", "events", "the endpoint client is useful alone"},
	{"events", "events/", "the vocabulary knows no store"},
}

func under(path, room string) bool { return path == room || strings.HasPrefix(path, room+"/") }

// allowed says why an import is not, or "".
func allowed(from, to string) string {
	for _, f := range forbidden {
		sub, only := strings.CutSuffix(f.to, "/")
		if from == f.from || (!only && under(from, f.from)) {
			if (only && strings.HasPrefix(to, f.to)) || (!only && under(to, sub)) {
				return f.why
			}
		}
	}
	best := -1
	for i, r := range rooms {
		if under(from, r.room) && (best < 0 || len(r.room) > len(rooms[best].room)) {
			best = i
		}
	}
	if best < 0 {
		return "its room is not in the house (docs/architecture.md)"
	}
	if under(to, rooms[best].room) {
		return ""
	}
	for _, may := range rooms[best].may {
		if to == may || (may != "events" && under(to, may)) {
			return ""
		}
	}
	if under(from, "web") || under(from, "cmd") || from == "projections" || strings.HasPrefix(from, "projections/") {
		if under(to, "events") {
			return ""
		}
	}
	return rooms[best].why
}

// TestImportsRunOneWay reads the imports of every package, tests excepted: a
// test may stand anything beside its room.
func TestImportsRunOneWay(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || name == "bin" || (strings.HasPrefix(name, ".") && name != "..")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			to, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			to, ours := strings.CutPrefix(to, "lembas/")
			if !ours {
				continue
			}
			seen++
			if why := allowed(filepath.ToSlash(dir), to); why != "" {
				t.Errorf("%s imports lembas/%s: %s", path, to, why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Fatal("no import of ours was found: the test looks at the wrong place")
	}
}

func TestImportRulesBite(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"events", "events/store"}, {"events/store", "commands"}, {"commands", "web"}, {"commands", "projections"},
		{"commands/generation", "projections/sidebar"}, {"web/pages", "commands/llm"}, {"web", "ssh"},
		{"ssh", "events"}, {"commands/llm", "events"}, {"projections", "commands"}, {"attic", "events"},
	} {
		if allowed(c.from, c.to) == "" {
			t.Errorf("%s may import %s", c.from, c.to)
		}
	}
	for _, c := range []struct{ from, to string }{
		{"events/store", "events"}, {"commands/generation", "commands/llm"}, {"commands", "projections/transcript"},
		{"web/pages", "commands"}, {"cmd/lembas", "web"}, {"projections/sidebar", "events/store"}, {"web/stream", "events"},
	} {
		if why := allowed(c.from, c.to); why != "" {
			t.Errorf("%s may not import %s: %s", c.from, c.to, why)
		}
	}
}
