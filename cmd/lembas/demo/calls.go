package demo

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

// call is a tool call.
type call struct {
	ID, Name, Arguments string
}

// wish is a call that a trigger word makes, of the offered tool whose name is
// tool or ends with it.
type wish struct {
	word, tool, arguments string
}

// wishes are the calls of the first round, in this order.
func wishes() []wish {
	return []wish{
		{"tools", "send_raven", `{"to":"Elrond","text":"The demo sends its regards."}`},
		{"card", "send_raven", `{"to":"Gandalf","text":"You are late."}`},
		{"card", "weather", `{"place":"Rivendell"}`},
		{"card", "count_to", `{"n":5}`},
		{"picture", "picture", `{}`},
		{"output", "saga", `{"lines":2000}`},
		{"broken", "cross_bridge", `{}`},
		{"loop", "weather", `{"place":"the Dead Marshes"}`},
		{"fetch", "fetch", `{"url":"https://example.org/"}`},
		{"questions", "ask_user", `{"questions":[{"question":"Which way shall the demo go?","options":["Over the mountain","Through the mines","Around it"]},` +
			`{"question":"What shall it take along?"}]}`},
	}
}

// maxLoop is how many rounds the word loop makes where nothing stops it.
const maxLoop = 30

// longOutput is how much of a long output a model is given at first, in bytes;
// the demo reads on from there.
const longOutput = 20 << 10

// offered gives the full name of an offered tool, "" when there is none.
func (r request) offered(tool string) string {
	for _, t := range r.Tools {
		if name := t.Function.Name; name == tool || strings.HasSuffix(name, "_"+tool) {
			return name
		}
	}
	return ""
}

// act decides what a message with a trigger word for tools does next. It gives
// false for a message without one.
func (s *script) act(r request, t turn, has map[string]bool) bool {
	var asked bool
	var missing []string
	for _, w := range wishes() {
		if !has[w.word] {
			continue
		}
		asked = true
		if name := r.offered(w.tool); name == "" {
			missing = append(missing, w.tool)
		} else if t.steps == 0 || w.word == "loop" && t.steps < maxLoop && !t.noted {
			s.calls = append(s.calls, call{Name: name, Arguments: w.arguments})
		}
	}
	if t.steps == 1 && has["output"] {
		s.readOn(r, t)
	}
	switch {
	case !asked:
		return false
	case len(s.calls) > 0:
		s.content = asking(len(s.calls))
	case t.steps > 0:
		s.content = quoting(t.results)
	case has["tools"]: // shows what becomes of a call that was not offered
		s.content = asking(1)
		s.calls = []call{{Name: "get_weather", Arguments: `{"city":"Rivendell","unit":"celsius"}`}}
	default:
		s.content = "The demo would use `" + strings.Join(missing, "`, `") + "` now, but was not offered it. Look at the tools of this chat, of the model, and of the instance."
	}
	s.number(t)
	return true
}

// readOn calls for the rest of an output that was shortened.
func (s *script) readOn(r request, t turn) {
	name := r.offered("read_output")
	for _, res := range t.results {
		if name != "" && strings.HasSuffix(res.name, "saga") && len(res.text) > longOutput {
			args, _ := json.Marshal(object{"call": res.id, "from": longOutput}) // always encodes
			s.calls = append(s.calls, call{Name: name, Arguments: string(args)})
		}
	}
}

// number gives calls ids that no other call of the chat has.
func (s *script) number(t turn) {
	for i := range s.calls {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s", t.place, t.steps, i, t.prompt))
		s.calls[i].ID = fmt.Sprintf("demo_call_%x", sum[:6])
	}
}

func asking(n int) string {
	if n == 1 {
		return "The demo asks for a tool. "
	}
	return fmt.Sprintf("The demo asks for %d tools at once. ", n)
}

// quoting is the last answer: what each call was told.
func quoting(results []result) string {
	var b strings.Builder
	b.WriteString("The demo was told:\n")
	for _, res := range results {
		fmt.Fprintf(&b, "\n`%s`\n\n> %s\n", strings.ReplaceAll(clip(res.name, 64), "`", ""), clip(strings.Join(strings.Fields(res.text), " "), 300))
	}
	b.WriteString("\nThe demo makes nothing more of it.")
	return b.String()
}
