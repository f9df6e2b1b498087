package pages

import (
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"lembas/commands"
	"lembas/events"
	"lembas/web/templates"
)

func canonical(name string) string { return http.CanonicalHeaderKey(strings.TrimSpace(name)) }

// headers are the rows of headers in a form that say something. A secret one
// without a value keeps the stored one.
func (f form) headers() []commands.PatchHeader {
	out := []commands.PatchHeader{}
	for _, key := range f.values["header"] {
		at := "header." + key + "."
		h := commands.PatchHeader{Name: strings.TrimSpace(f.text(at + "name")), Secret: f.text(at+"secret") == "true"}
		value := f.text(at + "value")
		if h.Name == "" && value == "" {
			continue
		}
		if value != "" || !h.Secret {
			h.Value = &value
		}
		out = append(out, h)
	}
	return out
}

// headerRows are the same rows for showing them again, less the secrets that
// were typed. stored are the masked values that are kept.
func (f form) headerRows(stored map[string]string) []templates.HeaderRow {
	var out []templates.HeaderRow
	for i, h := range f.headers() {
		row := templates.HeaderRow{Key: strconv.Itoa(i), Name: h.Name, Secret: h.Secret, Stored: stored[canonical(h.Name)]}
		switch {
		case h.Value != nil && h.Secret:
			row.Again = true
		case h.Value != nil:
			row.Value = *h.Value
		}
		out = append(out, row)
	}
	return out
}

// masks gives masked values by the canonical names of headers. Values that
// could not be read are said to be so.
func masks(names []string, values map[string]string, err error) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		value, ok := values[canonical(name)]
		if err != nil || !ok {
			out[canonical(name)] = "cannot be read"
			continue
		}
		out[canonical(name)] = mask(value)
	}
	return out
}

// mask shows that there is a secret, and the end of a long one.
func mask(secret string) string {
	if utf8.RuneCountInString(secret) < 12 {
		return "••••"
	}
	r := []rune(secret)
	return "••••" + string(r[len(r)-4:])
}

// number is a field's whole number, nil when the field did not come.
func (f form) number(name, what string) (*int, error) {
	text := f.maybe(name)
	if text == nil {
		return nil, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(*text))
	if err != nil {
		return nil, events.Invalid(name, "%s", what)
	}
	return &n, nil
}
