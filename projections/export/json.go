package export

import (
	"encoding/json"
	"strings"

	"lembas/projections/transcript"
)

// Conversation is a chat in the OpenAI messages shape.
type Conversation struct {
	Title    string    `json:"title"`
	Model    string    `json:"model,omitempty"`
	Messages []Message `json:"messages"`
}

// Message is one message of it.
type Message struct {
	Role       string     `json:"role"` // user, assistant or tool
	Content    string     `json:"content"`
	Reasoning  string     `json:"reasoning_content,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	// Verdicts is what people said of the calls of an assistant's message.
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Images are pictures that a call brought, of a tool's message. Their bytes are
	// not in the file.
	Images []Image `json:"images,omitempty"`
	// Status is how a reply stands that did not end by itself: stopped, failed,
	// waiting or streaming; of its last assistant's message.
	Status string `json:"status,omitempty"`
}

// Image names a picture.
type Image struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`   // bytes
	Digest string `json:"digest"` // of its blob
}

// ToolCall is one call of an assistant's message.
type ToolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"` // function
	Function Function `json:"function"`
}

// Function is what was called; Arguments is JSON in a string.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// JSON gives the conversation as it stands: the versions in force.
func JSON(c *transcript.Chat) ([]byte, error) {
	out := Conversation{Title: c.Title, Messages: []Message{}}
	for _, t := range c.Turns {
		out.Messages = append(out.Messages, Message{Role: "user", Content: t.Text()})
		if r := t.Reply(); r != nil {
			out.Model = r.ModelName
			out.Messages = append(out.Messages, replyMessages(r)...)
		}
	}
	b, err := json.MarshalIndent(out, "", "  ")
	return append(b, '\n'), err
}

// replyMessages is a reply in the order in which a model is sent it: a round's
// words and calls, their results, then what the person said meanwhile.
func replyMessages(r *transcript.Reply) []Message {
	var out []Message
	last := -1 // the last assistant's message
	for _, x := range r.Live() {
		m := Message{Role: "assistant", Content: x.Content.String(), Reasoning: x.Reasoning.String()}
		var results []Message
		for _, k := range x.Calls {
			m.ToolCalls = append(m.ToolCalls, ToolCall{ID: k.ID, Type: "function", Function: Function{Name: k.Name, Arguments: arguments(k)}})
			m.Verdicts = append(m.Verdicts, verdicts(x, k)...)
			results = append(results, Message{Role: "tool", ToolCallID: k.ID, Content: told(x, k), Images: images(k)})
		}
		last = len(out)
		out = append(append(out, m), results...)
		if s := meanwhile(x); s != "" {
			out = append(out, Message{Role: "user", Content: s})
		}
	}
	if last >= 0 && r.Status != transcript.Complete {
		out[last].Status = r.Status
	}
	return out
}

// meanwhile is what the person said while a round ran, as one turn.
func meanwhile(x *transcript.Round) string {
	var words []string
	for _, q := range x.Injected {
		words = append(words, q.Text)
	}
	return strings.Join(words, "\n\n")
}

func images(k *transcript.Call) []Image {
	var out []Image
	for _, f := range k.Images {
		out = append(out, Image{Name: f.Name, Type: f.Type, Size: f.Blob.Size, Digest: f.Blob.Digest})
	}
	return out
}

// arguments is the one parsed object, else what the model sent.
func arguments(k *transcript.Call) string {
	if len(k.Arguments) > 0 {
		return string(k.Arguments)
	}
	return k.Raw
}
