package export

import (
	"bytes"
	"cmp"
	"html/template"
	"strconv"

	"lembas/projections/transcript"
)

// Render gives the safe HTML of Markdown; the prefix keeps ids apart.
type Render func(prefix, src string) template.HTML

// page is a whole file: its style is inside, it loads nothing and runs nothing.
const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{.Title}}</title>
<style>
:root{color-scheme:light dark}
body{font:1rem/1.6 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}
section{border-top:1px solid #8884;padding-top:1rem;margin-top:1.5rem}
h2{font-size:.9rem;opacity:.75;margin:0 0 .5rem}
pre{overflow:auto;padding:.75rem;background:#8882;border-radius:.4rem}
.turn{white-space:pre-wrap;overflow-wrap:anywhere}
details{opacity:.85;margin:.5rem 0}
button{display:none}
table{border-collapse:collapse}td,th{border:1px solid #8886;padding:.25rem .5rem}
</style></head><body>
<h1>{{.Title}}</h1>
{{range .Parts}}<section><h2>{{.Author}}</h2>
{{with .Turn}}<div class="turn">{{.}}</div>{{end}}
{{range .Rounds}}{{with .Reasoning}}<details><summary>Reasoning</summary>{{.}}</details>{{end}}
{{.Content}}
{{range .Calls}}<details><summary>Tool: {{.Name}} ({{.Status}})</summary>
{{range .Blocks}}{{with .Title}}<p>{{.}}:</p>{{end}}<pre>{{.Text}}</pre>
{{end}}</details>{{end}}
{{range .Turns}}<div class="turn"><strong>You, meanwhile:</strong> {{.}}</div>{{end}}{{end}}
{{with .Ending}}<p><em>{{.}}</em></p>{{end}}</section>
{{end}}</body></html>
`

type part struct {
	Author, Turn, Ending string
	Rounds               []round
}

type round struct {
	Reasoning, Content template.HTML
	Calls              []call
	Turns              []string // said meanwhile
}

type call struct {
	Name, Status string
	Blocks       []block
}

// HTML gives the conversation as one file that needs nothing and runs no
// script.
func HTML(c *transcript.Chat, render Render) ([]byte, error) {
	t, err := template.New("export").Parse(page)
	if err != nil {
		return nil, err
	}
	var parts []part
	for i, turn := range c.Turns {
		parts = append(parts, part{Author: "You", Turn: turn.Text()})
		if r := turn.Reply(); r != nil {
			parts = append(parts, replyPart(c.Owner, r, "t"+strconv.Itoa(i), render))
		}
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{"Title": line(cmp.Or(c.Title, "Chat")), "Parts": parts})
	return b.Bytes(), err
}

func replyPart(owner string, r *transcript.Reply, prefix string, render Render) part {
	p := part{Author: author(r), Ending: ending(r)}
	for _, x := range r.Live() {
		at := prefix + "-" + strconv.Itoa(x.N)
		out := round{Content: render(at, x.Content.String())}
		if x.Reasoning.Len() > 0 {
			out.Reasoning = render(at+"-r", x.Reasoning.String())
		}
		for _, q := range x.Injected {
			out.Turns = append(out.Turns, q.Text)
		}
		for _, k := range x.Calls {
			out.Calls = append(out.Calls, call{Name: k.Name, Status: status(x, k), Blocks: blocks(owner, x, k)})
		}
		p.Rounds = append(p.Rounds, out)
	}
	return p
}
