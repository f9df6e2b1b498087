package custom

import (
	"errors"
	"mime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"lembas/events"
)

// format is the language of a body: it decides how values are escaped.
type format int

const (
	plain   format = iota // as it is
	jsonDoc               // inside quotes escaped, outside a JSON value
	form                  // percent-encoded
	xmlDoc                // entities
	opaque                // unknown: no values
)

// mark stands for a value inside quotes while a template is looked at. Behind a
// backslash, or inside \u0041, it leaves no valid JSON.
const mark = "\ue000"

var errNotJSON = errors.New("not JSON")

// bodyFormat reads the language from the Content-Type, and where there is none,
// from the body's beginning.
func bodyFormat(st events.CustomState) format {
	typ := contentType(st)
	media, _, err := mime.ParseMediaType(typ)
	switch {
	case typ != "" && err != nil:
		return opaque
	case media == "application/json", strings.HasSuffix(media, "+json"):
		return jsonDoc
	case media == "application/x-www-form-urlencoded":
		return form
	case strings.HasSuffix(media, "/xml"), strings.HasSuffix(media, "+xml"), media == "text/html":
		return xmlDoc
	case media == "":
		if looksJSON(st.Body) {
			return jsonDoc
		}
		return plain
	case strings.HasPrefix(media, "text/"):
		// A service may read JSON whatever its type says.
		if looksJSON(st.Body) && checkJSON(st.Body) == nil {
			return jsonDoc
		}
		return plain
	}
	return opaque
}

func contentType(st events.CustomState) string {
	for _, h := range st.Headers {
		if strings.EqualFold(h.Name, "Content-Type") {
			return h.Value
		}
	}
	return ""
}

// looksJSON says whether a body begins as an object or a list.
func looksJSON(template string) bool {
	parts := split(strings.TrimLeft(template, " \t\r\n"))
	return len(parts) > 0 && !parts[0].hole && strings.IndexByte("{[", parts[0].text[0]) >= 0
}

// defaultType is the Content-Type of a body that names none.
func defaultType(f format) string {
	if f == jsonDoc {
		return "application/json"
	}
	return "text/plain; charset=utf-8"
}

func checkBody(st events.CustomState) error {
	switch {
	case len(st.Body) > maxTemplates:
		return events.Invalid("body", "at most %d bytes", maxTemplates)
	case st.Body == "" || !hasHole(st.Body):
		return nil
	}
	switch bodyFormat(st) {
	case jsonDoc:
		return checkJSON(st.Body)
	case opaque:
		return events.Invalid("body", "takes no {{arguments}} in this Content-Type: values cannot be escaped for it; use JSON, a form, XML or text")
	}
	return nil
}

// quoted says of each part of a JSON template whether it begins inside quotes.
func quoted(parts []part) []bool {
	out := make([]bool, len(parts))
	in, escaped := false, false
	for i, p := range parts {
		out[i] = in
		if p.hole {
			escaped = false
			continue
		}
		for j := range len(p.text) {
			switch c := p.text[j]; {
			case escaped:
				escaped = false
			case in && c == '\\':
				escaped = true
			case c == '"':
				in = !in
			}
		}
	}
	return out
}

// checkJSON checks that a template is JSON with a value in each hole: holes
// outside quotes are whole values, none stands in a key or in an escape.
func checkJSON(template string) error {
	parts := split(template)
	in := quoted(parts)
	var b strings.Builder
	for i, p := range parts {
		switch {
		case !p.hole:
			b.WriteString(p.text)
		case in[i]:
			b.WriteString(mark)
		default:
			b.WriteString("null")
		}
	}
	keys, err := keysOf(b.String())
	if err != nil {
		return events.Invalid("body", "is not JSON where each {{argument}} is a value, alone or inside quotes; for other text set Content-Type to text/plain")
	}
	if slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(k, mark) }) {
		return events.Invalid("body", "must hold no {{argument}} in a key")
	}
	return nil
}

// keysOf gives the keys in a JSON text, or an error when the text is not one JSON
// value or an object holds a key twice.
func keysOf(text string) ([]string, error) {
	if !jsontext.Value(text).IsValid() {
		return nil, errNotJSON
	}
	var keys []string
	dec := jsontext.NewDecoder(strings.NewReader(text))
	for dec.PeekKind() != 0 {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		if kind, n := dec.StackIndex(dec.StackDepth()); kind == '{' && n%2 == 1 {
			keys = append(keys, tok.String())
		}
	}
	return keys, nil
}

// fillBody fills a body for the place where each value lands.
func fillBody(st events.CustomState, values map[string]string) (string, error) {
	parts := split(st.Body)
	if size(parts, values) > maxBody {
		return "", largeBody()
	}
	var out string
	switch bodyFormat(st) {
	case jsonDoc:
		var err error
		if out, err = fillJSON(st.Body, parts, values); err != nil {
			return "", err
		}
	case form:
		out = fill(parts, values, percent)
	case xmlDoc:
		out = fill(parts, values, escapeXML)
	case plain, opaque: // opaque has no holes
		out = fill(parts, values, func(s string) string { return s })
	}
	if len(out) > maxBody {
		return "", largeBody()
	}
	return out, nil
}

func largeBody() error {
	return wrong("the body would be larger than %d bytes; give shorter values", maxBody)
}

func escapeXML(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return -1 // XML has no spelling for these
		}
		return r
	}, s)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(s)
}

// fillJSON fills a JSON body. What comes out is JSON with the template's keys.
func fillJSON(template string, parts []part, values map[string]string) (string, error) {
	in := quoted(parts)
	var b strings.Builder
	for i, p := range parts {
		v, ok := values[p.text]
		switch {
		case !p.hole:
			b.WriteString(p.text)
		case in[i]:
			b.WriteString(escapeJSON(v))
		case !ok:
			return "", wrong("%q is needed: without it the body is not valid JSON", p.text)
		case !scalar(v):
			return "", wrong("%q stands outside quotes in the body: give a number, true, false or another JSON value without keys of its own", p.text)
		default:
			b.WriteString(v)
		}
	}
	if _, err := keysOf(b.String()); err != nil && hasHole(template) {
		return "", wrong("with these values the body is no longer valid JSON; give simpler ones")
	}
	return b.String(), nil
}

// escapeJSON escapes a value for the inside of a JSON string.
func escapeJSON(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // invalid UTF-8, which arguments do not hold
		return ""
	}
	return string(b[1 : len(b)-1])
}

// scalar says whether a text is one JSON value without keys.
func scalar(s string) bool {
	keys, err := keysOf(s)
	return err == nil && len(keys) == 0
}
