package view

import (
	"cmp"
	"html/template"
	"strconv"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/markdown"
	"lembas/web/templates"
)

// Window is how many turns of a chat are shown at once; with their replies they
// are forty messages.
const Window = 20

// Views makes views. It is safe for concurrent use.
type Views struct {
	md    *markdown.Renderer
	title func(model string) string // "" when not known
	texts *texts
	opens *opens
}

// New makes views with the Markdown pipeline. title gives what people call a
// model by its id; keep is how many bytes of finished texts' HTML to keep.
func New(md *markdown.Renderer, title func(model string) string, keep int) *Views {
	return &Views{md: md, title: title, texts: newTexts(keep), opens: &opens{texts: map[string]*openText{}}}
}

// Markdown is the pipeline, for who shows a text as it grows.
func (v *Views) Markdown() *markdown.Renderer { return v.md }

// ModelTitle is what people call a reply's model.
func (v *Views) ModelTitle(r *transcript.Reply) string {
	return cmp.Or(v.title(r.Model), r.ModelName, "Assistant")
}

// Time gives a moment in the forms that pages need. It is UTC: the server does
// not know where a reader is.
func Time(t time.Time) templates.Time {
	if t.IsZero() {
		return templates.Time{}
	}
	t = t.UTC()
	return templates.Time{ISO: t.Format(time.RFC3339), Short: t.Format("15:04"), Full: t.Format("Monday, 2 January 2006, 15:04 UTC")}
}

// day is the heading between two days.
func day(t time.Time) string { return t.UTC().Format("Monday, 2 January 2006") }

// seconds writes a duration as people say it.
func seconds(ms int64) string {
	switch {
	case ms < 0:
		return "0 s"
	case ms < 9950:
		return strconv.FormatFloat(float64(ms)/1000, 'f', 1, 64) + " s"
	case ms < 100_000:
		return strconv.FormatInt((ms+500)/1000, 10) + " s"
	}
	return strconv.FormatInt(ms/60_000, 10) + " min " + strconv.FormatInt(ms/1000%60, 10) + " s"
}

// number writes a whole number with separators: 3,210.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Closed says whether nothing more comes to a round's text.
func Closed(r *transcript.Reply, x *transcript.Round) bool {
	return x.Done || x.Superseded || r.Ended()
}

// TextPrefix and ThoughtPrefix name a round's texts for the Markdown pipeline.
func TextPrefix(reply string, n int) string { return reply + "-" + strconv.Itoa(n) }

// ThoughtPrefix is TextPrefix of the reasoning.
func ThoughtPrefix(reply string, n int) string { return TextPrefix(reply, n) + "-t" }

// text renders one text of a round: as a whole when nothing more comes to it,
// else as a Stream would show it here.
func (v *Views) text(prefix, src string, closed bool) template.HTML {
	if src == "" {
		return ""
	}
	if !closed {
		return v.opens.get(v.md, prefix, src)
	}
	v.opens.drop(prefix)
	return v.texts.get(prefix, src, func() template.HTML { return v.md.Render(prefix, src) })
}

// errorText is what went wrong in plain words, and what to do about it.
func errorText(e *events.RoundError) (title, advice string) {
	switch e.Kind {
	case "http":
		return httpText(e.Status)
	case "stream":
		return "The endpoint reported an error while it was answering.", "Try again; if it happens again, its own words below say more."
	case "truncated":
		return "The answer was cut off before its end.", "What arrived is kept. Try again."
	case "transport":
		return "The endpoint could not be reached.", "It may be down or its address may be wrong. Try again, or ask the administrator to check the connection."
	case "timeout":
		return "The endpoint stopped answering.", "What arrived is kept. Try again."
	case "not_sse":
		return "The endpoint answered with something that is not a reply.", "Its address may be wrong: ask the administrator to check the connection."
	case "empty":
		return "The endpoint sent an empty answer.", "Try again, or choose another model."
	case "malformed":
		return "The endpoint's answer could not be read.", "Try again, or choose another model."
	}
	return "The reply failed.", "Try again."
}

func httpText(status int) (title, advice string) {
	code := " (" + strconv.Itoa(status) + ")."
	switch {
	case status == 401 || status == 403:
		return "The endpoint refused the key" + code, "Ask the administrator to check the connection's API key."
	case status == 404:
		return "The endpoint does not know this model or address" + code, "Choose another model, or ask the administrator to refresh the connection."
	case status == 413:
		return "The conversation is too long for this model" + code, "Start a new chat, or edit an earlier message."
	case status == 429:
		return "The endpoint is busy or a quota is used up" + code, "Try again in a moment, or choose another model."
	case status >= 500:
		return "The endpoint has a problem of its own" + code, "Try again in a moment."
	}
	return "The endpoint refused the request" + code, "Its own words below say why."
}
