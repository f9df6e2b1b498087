package view

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/static"
	"lembas/web/templates"
)

// hostileRow is one row of testdata/cases/xss.json.
type hostileRow struct {
	ID     string
	Input  json.RawMessage
	Expect string
}

func hostileRows(t *testing.T) (rows []hostileRow) {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/cases/xss.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// of gives the row's text, and where it comes from: "" is a model.
func (row hostileRow) of(t *testing.T) (value, context string) {
	t.Helper()
	if json.Unmarshal(row.Input, &value) == nil {
		return value, ""
	}
	var in struct {
		Context string
		Value   json.RawMessage
	}
	if err := json.Unmarshal(row.Input, &in); err != nil {
		t.Fatal(err)
	}
	var chunks []string
	if json.Unmarshal(in.Value, &value) != nil && json.Unmarshal(in.Value, &chunks) == nil {
		value = strings.Join(chunks, "")
	}
	return value, in.Context
}

// painted is a reply whose every string of outside is s: two calls, and the
// card about one of them in every state.
func painted(t *testing.T, set *templates.Set, s string) *html.Node {
	t.Helper()
	arguments, err := json.Marshal(map[string]string{"command": s, "why": s, "more": s})
	if err != nil {
		t.Fatal(err)
	}
	corrected, err := json.Marshal(map[string]string{"command": s + "!", "why": s, "more": s})
	if err != nil {
		t.Fatal(err)
	}
	call := transcript.Call{ID: s, Name: s, Label: s, Icon: s, Detail: s, Why: s, Arguments: arguments, Raw: s, Risk: s, Status: events.ToolOK, Output: s, Progress: s, Edited: true,
		Sources: []events.Source{{Title: s, URL: "https://example.test/" + s}, {Title: s, URL: s}}}
	runs := call
	runs.Status = transcript.Running
	item := events.ConsentItem{Key: s, Call: s, Name: s, Label: s, Icon: s, Arguments: arguments, Detail: s, Risk: s, Reason: s, Why: s, Question: s, Options: []string{s, s}, Edits: "command", Pattern: s}
	x := &transcript.Round{N: 1, Calls: []*transcript.Call{&call, &runs}, Injected: []*transcript.QueuedMessage{{ID: "q", Text: s}}, Notes: []transcript.Note{{Kind: "budget", Budget: s}, {Kind: "nudge", Text: s}}}
	for i, state := range []string{transcript.CardWaiting, transcript.CardAnswered, transcript.CardWithdrawn, transcript.CardExpired} {
		for _, kind := range []string{events.ConsentApproval, events.ConsentQuestion} {
			x.Consents = append(x.Consents, &transcript.Consent{State: state, Why: s, ConsentRequested: events.ConsentRequested{Consent: kind + string(rune('a'+i)), Round: 1, Kind: kind, Items: []events.ConsentItem{item}},
				Answers: []events.ConsentAnswer{{Key: s, Verdict: "allow", Arguments: corrected, Text: s, Reason: s, Pattern: s}}})
		}
	}
	r := &transcript.Reply{ID: "r1", Status: transcript.Waiting, Rounds: []*transcript.Round{x}}
	c := &transcript.Chat{ID: "c1", Turns: []*transcript.Turn{{ID: "t1", Replies: []*transcript.Reply{r}}}}
	var b bytes.Buffer
	if err := set.Fragment(&b, "round", testViews().Round(c, r, x)); err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// bones are the elements of a page with the names of their attributes.
func bones(doc *html.Node) (out []string) {
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		line := n.Data
		for _, a := range n.Attr {
			line += " " + a.Key
		}
		out = append(out, line)
	}
	return out
}

// TestNothingOfOutsideIsMarkup: whatever a model, a tool or a page says, a reply
// with it has the same elements and attributes as one with harmless words.
func TestNothingOfOutsideIsMarkup(t *testing.T) {
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	set, err := templates.New(files)
	if err != nil {
		t.Fatal(err)
	}
	harmless := strings.NewReplacer("<", "x", ">", "x", `"`, "x", "'", "x", "&", "x", "`", "x", "[", "x", "](", "x", ":", "x", "/", "x")
	for _, row := range hostileRows(t) {
		value, context := row.of(t)
		t.Run(row.ID+"-"+context, func(t *testing.T) {
			doc := painted(t, set, value)
			if got, want := bones(doc), bones(painted(t, set, harmless.Replace(value))); !slices.Equal(got, want) {
				t.Errorf("other elements: got %d, want %d\n%s", len(got), len(want), firstOther(got, want))
			}
			checkLinks(t, doc)
		})
	}
}

func firstOther(got, want []string) string {
	for i := range got {
		if i >= len(want) || got[i] != want[i] {
			return strings.Join(got[max(0, i-2):min(len(got), i+3)], "\n")
		}
	}
	return "less"
}

func checkLinks(t *testing.T, doc *html.Node) {
	t.Helper()
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "a" {
			continue
		}
		attr := map[string]string{}
		for _, a := range n.Attr {
			attr[a.Key] = a.Val
		}
		if !strings.HasPrefix(attr["href"], "https://example.test/") || attr["rel"] != "noopener noreferrer nofollow" || attr["target"] != "_blank" {
			t.Errorf("a link %v", attr)
		}
	}
}

func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// TestHostilePlaces: rows that name another place than a model's text.
func TestHostilePlaces(t *testing.T) {
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	set, err := templates.New(files)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, row := range hostileRows(t) {
		value, context := row.of(t)
		switch context {
		case "mcp_result": // preformatted
			found++
			hit := slices.ContainsFunc(all(painted(t, set, value), "pre"), func(n *html.Node) bool { return words(n) == value && len(bones(n)) == 0 })
			if !hit {
				t.Errorf("%s: not shown as it is", row.ID)
			}
		case "tool_source_url":
			found++
			if got := sources([]events.Source{{Title: "x", URL: value}}); got != nil {
				t.Errorf("%s: %+v", row.ID, got)
			}
		case "approval_card":
			found++
			const seen = `ls \u{202e}txt.sh\u{202c} \x1b[2K\x07 rm -rf /srv`
			n := 0
			for _, pre := range all(painted(t, set, value), "pre") {
				if words(pre) == seen {
					n++
				}
				if strings.ContainsAny(words(pre), "\u202e\u202c\x1b\x07") {
					t.Errorf("%s: something cannot be seen in %q", row.ID, words(pre))
				}
			}
			if n == 0 {
				t.Errorf("%s: no card shows %q", row.ID, seen)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d rows", found)
	}
}

func all(doc *html.Node, tag string) (out []*html.Node) {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == tag {
			out = append(out, n)
		}
	}
	return out
}
