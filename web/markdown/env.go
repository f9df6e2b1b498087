package markdown

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"
)

// env is what the blocks of one text share.
type env struct {
	prefix  string
	refs    map[string]parser.Reference
	notes   map[string]bool // footnotes that are defined
	growing bool            // a footnote may still be defined: take every mark for one
	draft   bool            // for the open view: no ids, nothing is recorded
	seen    map[string]bool // footnotes that were referred to
	shown   map[string]bool // footnotes that were rendered
	spent   time.Duration   // on highlighting
	figures map[string]string

	// resolved: a block may look different depending on what comes elsewhere.
	resolved bool
}

func newEnv(prefix string) *env {
	return &env{
		prefix: idPart(prefix),
		refs:   map[string]parser.Reference{},
		notes:  map[string]bool{},
		seen:   map[string]bool{},
		shown:  map[string]bool{},
	}
}

// collect records what s defines. The first definition wins.
func (e *env) collect(s *segment) {
	switch s.kind {
	case kindDefinition:
		e.resolved = true
		label, dest, title, _ := parseLine(s.lines[0]).definition()
		key := util.ToLinkReference([]byte(label))
		if _, ok := e.refs[key]; !ok {
			e.refs[key] = parser.NewReference([]byte(label), []byte(dest), []byte(title))
		}
	case kindNote:
		e.resolved = true
		label, _, _ := parseLine(s.lines[0]).note()
		e.notes[label] = true
	}
}

func (e *env) hasNote(label string) bool {
	e.resolved = e.resolved || !e.draft
	return e.growing || e.notes[label]
}

// noteID is the id of a footnote within the page.
func (e *env) noteID(kind, label string) string {
	slug := label
	if idPart(label) != label {
		sum := sha256.Sum256([]byte(label))
		slug = "x" + hex.EncodeToString(sum[:8])
	}
	return e.prefix + "-" + kind + "-" + slug
}

func idPart(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || (r >= '0' && r <= '9') || (r|32 >= 'a' && r|32 <= 'z' && r < 128) {
			return r
		}
		return -1
	}, s)
}
