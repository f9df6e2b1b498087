package templates

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"reflect"
	"regexp"

	"lembas/web/static"
)

//go:embed *.tmpl
var source embed.FS

// Set is all pages and fragments, parsed once. It is safe for concurrent use.
type Set struct {
	pages     map[string]*template.Template
	fragments *template.Template
	types     map[string]reflect.Type // of the fragments
	pageTypes map[string]reflect.Type
}

// New parses every page with the layout and the shared parts. The error names
// the file that does not parse.
func New(files *static.Files) (*Set, error) {
	parts, err := parse(template.New("parts").Funcs(funcs(files)), "_*.tmpl")
	if err != nil {
		return nil, err
	}
	set := &Set{
		pages: map[string]*template.Template{}, fragments: parts,
		types: fragmentTypes(), pageTypes: pageTypes(),
	}
	for name := range set.pageTypes {
		page, err := parts.Clone()
		if err != nil {
			return nil, fmt.Errorf("templates: cloning for %s: %w", name, err)
		}
		if set.pages[name], err = parse(page, name+".tmpl"); err != nil {
			return nil, err
		}
	}
	for name := range set.types {
		if parts.Lookup(name) == nil {
			return nil, fmt.Errorf("templates: fragment %q is not defined", name)
		}
	}
	return set, nil
}

// Page writes the whole page name. Data must be of the page's type. Nothing is
// written when the template fails.
func (s *Set) Page(w io.Writer, name string, data any) error {
	page, ok := s.pages[name]
	if !ok {
		return fmt.Errorf("templates: no page %q", name)
	}
	return execute(w, page, "page", name, s.pageTypes[name], data)
}

// Fragment writes the part name. Data must be of the fragment's type. Nothing
// is written when the template fails.
func (s *Set) Fragment(w io.Writer, name string, data any) error {
	want, ok := s.types[name]
	if !ok {
		return fmt.Errorf("templates: no fragment %q", name)
	}
	return execute(w, s.fragments, name, name, want, data)
}

// execute renders into memory first: a template that fails half way must not
// leave half a page under status 200.
func execute(w io.Writer, t *template.Template, entry, name string, want reflect.Type, data any) error {
	if got := reflect.TypeOf(data); got != want {
		return fmt.Errorf("templates: %s takes %v, not %v", name, want, got)
	}
	var page bytes.Buffer
	if err := t.ExecuteTemplate(&page, entry, data); err != nil {
		return fmt.Errorf("templates: rendering %s: %w", name, err)
	}
	_, err := w.Write(page.Bytes())
	return err
}

// parse adds every file that matches the pattern, less the white space between
// tags.
func parse(t *template.Template, pattern string) (*template.Template, error) {
	names, err := fs.Glob(source, pattern)
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("templates: no file %s: %w", pattern, err)
	}
	for _, name := range names {
		text, err := source.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("templates: %w", err)
		}
		if t, err = t.New(name).Parse(squeeze(string(text))); err != nil {
			return nil, fmt.Errorf("templates: parsing %s: %w", name, err)
		}
	}
	return t, nil
}

// squeeze drops line breaks and indentation between tags and actions, and makes
// one space of them elsewhere.
func squeeze(text string) string {
	between := regexp.MustCompile(`(>|\}\})[ \t]*\n\s*(<|\{\{)`)
	for next := between.ReplaceAllString(text, "$1$2"); next != text; next = between.ReplaceAllString(text, "$1$2") {
		text = next
	}
	return regexp.MustCompile(`\s*\n\s*`).ReplaceAllString(text, " ")
}
