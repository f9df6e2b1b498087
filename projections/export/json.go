package export

import (
	"encoding/json"

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
	// Status is stopped or failed for a reply that did not end by itself.
	Status string `json:"status,omitempty"`
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

func replyMessages(r *transcript.Reply) []Message {
	var out []Message
	for _, x := range r.Live() {
		for _, q := range x.Injected {
			out = append(out, Message{Role: "user", Content: q.Text})
		}
		m := Message{Role: "assistant", Content: x.Content.String(), Reasoning: x.Reasoning.String()}
		var results []Message
		for _, k := range x.Calls {
			m.ToolCalls = append(m.ToolCalls, ToolCall{ID: k.ID, Type: "function", Function: Function{Name: k.Name, Arguments: arguments(k)}})
			results = append(results, Message{Role: "tool", ToolCallID: k.ID, Content: k.Output})
		}
		out = append(append(out, m), results...)
	}
	if n := len(out); n > 0 && r.Status != transcript.Complete {
		out[n-1].Status = r.Status
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
