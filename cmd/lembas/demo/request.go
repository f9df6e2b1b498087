package demo

import (
	"encoding/json"
	"regexp"
	"strings"
)

// request is what the demo reads of a chat completion request.
type request struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Stream        bool      `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// message is one turn. Content is a string or a list of parts.
type message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

// text is the text of a turn, its parts joined.
func (m message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	var out []string
	for _, p := range parts {
		if p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "\n")
}

// noteMark begins what the product itself says between rounds, as a user turn.
const noteMark = "[Note from the system"

// turn is what was said and done since the person spoke last.
type turn struct {
	prompt  string
	place   int // of the prompt among the messages
	steps   int // rounds with calls
	results []result
	noted   bool // the product asked for an answer without tools
}

// result is what a tool call was answered.
type result struct {
	id, name, text string
}

// turn reads the messages from the person's last words on.
func (r request) turn() turn {
	var t turn
	for i, m := range r.Messages {
		words, _, noted := strings.Cut(m.text(), noteMark)
		switch {
		case m.Role == "user" && noted && strings.TrimSpace(words) == "":
			t.noted = true
		case m.Role == "user":
			t = turn{prompt: strings.TrimSpace(words), place: i, noted: noted}
		case m.Role == "tool":
			t.results = append(t.results, result{m.ToolCallID, r.called(i, m.ToolCallID), m.text()})
		case len(m.ToolCalls) > 0:
			t.steps++
		}
	}
	return t
}

// called is the name of the tool of a call that was made before a place.
func (r request) called(before int, id string) string {
	for i := before - 1; i >= 0; i-- {
		for _, c := range r.Messages[i].ToolCalls {
			if c.ID == id {
				return c.Function.Name
			}
		}
	}
	return "tool"
}

// asksSummary: the last turn asks for a summary of the conversation.
func (r request) asksSummary() bool {
	return len(r.Tools) == 0 && strings.HasPrefix(strings.ToLower(r.Messages[len(r.Messages)-1].text()), "summarise the conversation")
}

// summaryOf lists what the person said first and last.
func summaryOf(r request) string {
	out := "This summary is scripted, like all of the demo."
	for _, m := range r.Messages[:len(r.Messages)-1] {
		if m.Role == "user" {
			out += "\n- The person wrote: “" + clip(strings.Join(strings.Fields(m.text()), " "), 200) + "”"
		}
	}
	return clip(out, 2000)
}

// askTitle finds the words that ask for the title of a conversation.
func askTitle(s string) []int {
	return regexp.MustCompile(`(?is)\b(give|write|generate|suggest|create|reply with|answer with|make up|produce|name)\b[^.\n]{0,80}\btitle\b|\btitle (for|of) (this|the) (chat|conversation)\b`).FindStringIndex(s)
}

// asksTitle: a system prompt or the last turn asks for a title.
func (r request) asksTitle() bool {
	for i, m := range r.Messages {
		if (m.Role == "system" || m.Role == "developer" || i == len(r.Messages)-1 && m.Role == "user") && askTitle(m.text()) != nil {
			return true
		}
	}
	return false
}

// titleFor makes a title of the first words the user wrote; where they stand behind the asking, of what follows it.
func titleFor(r request) string {
	for _, m := range r.Messages {
		if m.Role != "user" {
			continue
		}
		said := m.text()
		if at := askTitle(said); at != nil {
			_, said, _ = strings.Cut(strings.ReplaceAll(said[at[1]:], "\n", ":"), ":")
		}
		words := strings.FieldsFunc(firstLine(said), func(r rune) bool { return strings.ContainsRune(" \t\r\n.,;:!?\"'`<>#*_()[]", r) })
		if len(words) > 0 {
			return "Demo: " + clip(strings.Join(words[:min(len(words), 5)], " "), 50)
		}
	}
	return "Demo chat"
}

// firstLine is the first line that says something: one that only announces what follows, such as "Question:", does not.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line != "" && (!strings.HasSuffix(line, ":") || strings.ContainsAny(line, " \t")) {
			return line
		}
	}
	return ""
}

// tokens estimates a count the way many people do: four characters each.
func tokens(s string) int { return (len([]rune(s)) + 3) / 4 }

func (r request) tokens() int {
	n := 0
	for _, m := range r.Messages {
		n += tokens(m.text()) + 4
	}
	return n
}
