package view

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/markdown"
	"lembas/web/templates"
)

// Bounds of what a page shows of a call: models and tools are untrusted.
const (
	maxArguments = 16 << 10
	maxLine      = 160 // characters of a line's parts
	maxSources   = 50
	maxImages    = 16
)

// Tools are the calls of a round, one line each.
func (v *Views) Tools(c *transcript.Chat, r *transcript.Reply, x *transcript.Round) []templates.ToolLine {
	var out []templates.ToolLine
	for i := range x.Calls {
		out = append(out, v.Tool(c, r, x, i))
	}
	return out
}

// Tool is the round's call at an index.
func (v *Views) Tool(c *transcript.Chat, r *transcript.Reply, x *transcript.Round, i int) templates.ToolLine {
	k := x.Calls[i]
	line := templates.ToolLine{Reply: r.ID, N: x.N, Index: i, Call: k.ID, Icon: k.Icon, Label: lineOf(cmp.Or(k.Label, k.Name, "unnamed tool"), 60),
		Target: lineOf(cmp.Or(k.Detail, target(k.Arguments)), maxLine), Why: lineOf(k.Why, maxLine), Status: callStatus(r, x, k), Result: result(k),
		Arguments: indented(k.Arguments, k.Raw), Edited: k.Edited, Output: output(c.ID, k), Sources: sources(k.Sources), Images: images(c.ID, k.Images)}
	if k.Edited || !json.Valid([]byte(cmp.Or(k.Raw, "{}"))) {
		line.Sent = indented(events.RawJSON(k.Raw), k.Raw)
	}
	if line.Status == transcript.Running {
		line.Progress, line.Since = lineOf(k.Progress, maxLine), Time(k.Started)
	}
	if k.MS > 0 {
		line.Duration = seconds(k.MS)
	}
	return line
}

// callStatus is where a call stands. One that was never started when its reply
// ended did not run; of one that was, nobody knows.
func callStatus(r *transcript.Reply, x *transcript.Round, k *transcript.Call) string {
	switch {
	case k.Over():
		return k.Status
	case r.Ended() && k.Status == transcript.Running:
		return transcript.Interrupted
	case r.Ended():
		return transcript.Stopped
	case k.Status == transcript.Called && waits(x, k.ID):
		return transcript.Waiting
	}
	return k.Status
}

// waits says whether a card that is not answered asks about a call.
func waits(x *transcript.Round, call string) bool {
	return slices.ContainsFunc(x.Consents, func(q *transcript.Consent) bool {
		return q.State == transcript.CardWaiting && slices.ContainsFunc(q.Items, func(i events.ConsentItem) bool { return i.Call == call })
	})
}

// lineOf makes one line of at most n characters, with what cannot be seen in it
// shown.
func lineOf(s string, n int) string {
	s = markdown.VisibleControls(cut(s, 8*n))
	s = strings.Join(strings.Fields(strings.ReplaceAll(strings.TrimSpace(s), "\n", " ↵ ")), " ")
	if utf8.RuneCountInString(s) > n {
		s = string([]rune(s)[:n-1]) + "…"
	}
	return s
}

// cut keeps n bytes of a text, at a character's border.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// pretty is JSON as it is, indented; anything else stays. What cannot be seen
// in it is shown.
func pretty(raw []byte) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil {
		return markdown.VisibleControls(string(raw))
	}
	return markdown.VisibleControls(b.String())
}

// indented is a call's arguments as the parser understood them, or what the
// model sent; a page shows so much of it.
func indented(arguments events.RawJSON, raw string) string {
	if len(arguments) == 0 || !json.Valid(arguments) {
		arguments = events.RawJSON(raw)
	}
	text := pretty(arguments)
	if text == "{}" {
		return ""
	}
	if rest := len(text) - maxArguments; rest > 0 {
		return cut(text, maxArguments) + "\n… " + bytesText(int64(rest)) + " more"
	}
	return text
}

// target is the one argument that says what a call acts on.
func target(arguments events.RawJSON) string {
	members := members(arguments)
	names := []string{"path", "command", "url", "query", "pattern", "job", "name", "id"}
	for _, name := range append(names, slices.Sorted(maps.Keys(members))...) {
		if s, ok := members[name].(string); ok && s != "" && name != "why" {
			return s
		}
	}
	return ""
}

// members are the arguments of a call, nil when they are no object.
func members(arguments events.RawJSON) map[string]any {
	var out map[string]any
	if json.Unmarshal(arguments, &out) != nil {
		return nil
	}
	return out
}

func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// result is one short phrase about how a call ended.
func result(k *transcript.Call) string {
	switch k.Status {
	case events.ToolRefused, events.ToolError:
		text, _, _ := strings.Cut(strings.TrimSpace(k.Output), "\n")
		return lineOf(text, 80)
	case events.ToolOK:
	default:
		return ""
	}
	if k.Exit != nil {
		return fmt.Sprintf("exit %d", *k.Exit)
	}
	switch n, images := len(k.Sources), len(k.Images); {
	case n == 1:
		return "1 source"
	case n > 1:
		return fmt.Sprintf("%d sources", n)
	case images == 1:
		return "1 picture"
	case images > 1:
		return fmt.Sprintf("%d pictures", images)
	case k.Output == "":
		return "no output"
	case k.Blob != nil:
		return bytesText(max(k.Bytes, k.Blob.Size))
	}
	n := strings.Count(strings.TrimRight(k.Output, "\n"), "\n") + 1
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// sources are the pages that a result names. Others than http and https are no
// links, here neither.
func sources(list []events.Source) (out []templates.SourceLink) {
	for _, s := range list[:min(len(list), maxSources)] {
		u, err := url.Parse(s.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(s.URL) > 4096 {
			continue
		}
		out = append(out, templates.SourceLink{Title: lineOf(cmp.Or(s.Title, s.URL), maxLine), URL: u.String(), Host: lineOf(u.Host, 80)})
	}
	return out
}

// images are the pictures of known types that a result brought.
func images(chat string, list []events.Attachment) (out []templates.ImageLink) {
	for _, a := range list[:min(len(list), maxImages)] {
		if path := blobPath(chat, &a.Blob); path != "" && Picture(a.Type) {
			out = append(out, templates.ImageLink{Name: lineOf(cmp.Or(a.Name, "picture"), 80), Path: path})
		}
	}
	return out
}

// Picture says whether a browser may show a type of file as a picture.
func Picture(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// blobPath is where a blob that a chat refers to can be had, "" for what is no
// digest.
func blobPath(chat string, ref *events.BlobRef) string {
	if ref == nil {
		return ""
	}
	if b, err := hex.DecodeString(ref.Digest); err != nil || len(b) != 32 {
		return ""
	}
	return "/api/v1/blobs/" + ref.Digest + "?chat=" + url.QueryEscape(chat)
}
