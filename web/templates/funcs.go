package templates

import (
	"bytes"
	"html/template"

	"lembas/web/static"
)

// funcs is what templates may call: addresses of static files, our own artwork
// and the one language of status.
func funcs(files *static.Files) template.FuncMap {
	return template.FuncMap{
		"static":   files.URL,
		"art":      art(files),
		"word":     statusWord,
		"sign":     statusIcon,
		"list":     func(items ...string) []string { return items },
		"glyph":    glyph(),
		"callword": callWord,
	}
}

// art gives one of our drawings for use inside a page, where it takes its
// colours from the theme. The files are our own, so they are not escaped.
func art(files *static.Files) func(name string) (template.HTML, error) {
	return func(name string) (template.HTML, error) {
		svg, err := files.Read("art/" + name + ".svg")
		return template.HTML(svg), err
	}
}

// statusWord names a status as a person reads it, everywhere the same.
func statusWord(status string) string {
	words := map[string]string{
		"streaming": "writing", "waiting": "waiting for you", "queued": "queued", "stopped": "stopped",
		"failed": "failed", "interrupted": "interrupted", "complete": "done", "running": "running",
		"ok": "done", "error": "failed", "refused": "refused", "denied": "denied", "expired": "not answered",
		"called": "queued",
	}
	if word, ok := words[status]; ok {
		return word
	}
	return status
}

// callWord is statusWord of a tool call: one that a restart cut has come to
// something, but nobody knows to what.
func callWord(status string) string {
	if status == "interrupted" {
		return "outcome unknown"
	}
	return statusWord(status)
}

// statusIcon names the icon of a status in the icon sheet.
func statusIcon(status string) string {
	icons := map[string]string{
		"streaming": "writing", "running": "run", "called": "clock", "waiting": "hand", "queued": "clock", "stopped": "square",
		"failed": "alert", "error": "alert", "interrupted": "cut", "complete": "check", "ok": "check",
		"refused": "ban", "denied": "ban", "expired": "clock",
	}
	if icon, ok := icons[status]; ok {
		return icon
	}
	return "dot"
}

// glyph gives the name of an icon that the sheet has, for one that may come from
// a tool that is gone or was never ours.
func glyph() func(name string) string {
	sheet, err := source.ReadFile("_icons.tmpl")
	if err != nil {
		sheet = nil // parsing the set says so
	}
	return func(name string) string {
		if name != "" && bytes.Contains(sheet, []byte(`<symbol id="i-`+name+`" `)) {
			return name
		}
		return "tool"
	}
}
