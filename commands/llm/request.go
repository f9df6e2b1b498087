package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Request is a chat completion request. Encode gives the same bytes for the same request: members in the order below,
// maps by key. Only what is set is sent, so a provider that is strict about unknown members sees standard ones.
type Request struct {
	Model           string          `json:"model"`
	Messages        []Message       `json:"messages"`
	Tools           []Tool          `json:"tools,omitempty"`
	ToolChoice      json.RawMessage `json:"tool_choice,omitempty"`
	Temperature     *float64        `json:"temperature,omitempty"`
	TopP            *float64        `json:"top_p,omitempty"`
	MaxTokens       *int64          `json:"max_tokens,omitempty"`
	Stop            []string        `json:"stop,omitempty"`
	Seed            *int64          `json:"seed,omitempty"`
	FrequencyPen    *float64        `json:"frequency_penalty,omitempty"`
	PresencePen     *float64        `json:"presence_penalty,omitempty"`
	ReasoningEffort string          `json:"reasoning_effort,omitempty"`
	// TemplateArgs is for chat templates; not a standard member. Set reasoning_effort here as well as above.
	TemplateArgs  map[string]json.RawMessage `json:"chat_template_kwargs,omitempty"`
	Stream        bool                       `json:"stream,omitempty"`
	StreamOptions *StreamOptions             `json:"stream_options,omitempty"`
	// Extra holds members beyond these, sent last, by name. It cannot replace one of the above.
	Extra map[string]json.RawMessage `json:"-"`
}

// StreamOptions asks for usage at the end of a stream.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// Message is one turn. Content is sent as a plain string unless there are Parts.
type Message struct {
	Role       string
	Content    string
	Parts      []Part
	ToolCalls  []Call // of an assistant turn
	ToolCallID string // of a tool turn
}

// Part is text or an image (a data URI) in a message.
type Part struct {
	Text  string
	Image string
}

// Tool is a function offered to the model. Parameters is a JSON schema.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Encode returns the exact bytes to send. It fails when a raw member is not JSON or Extra names a member of Request.
func (r Request) Encode() ([]byte, error) {
	head, err := encode(r)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	names := make([]string, 0, len(r.Extra))
	for name := range r.Extra {
		if known(name) {
			return nil, fmt.Errorf("encode request: extra member %q is set by the request itself", name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	out := head[:len(head)-1]
	for _, name := range names {
		key, err := encode(name)
		if err != nil || !json.Valid(r.Extra[name]) {
			return nil, fmt.Errorf("encode request: extra member %q is not JSON", name)
		}
		out = append(append(append(append(out, ','), key...), ':'), r.Extra[name]...)
	}
	return append(out, '}'), nil
}

// known reports whether Request has a member of that name itself.
func known(name string) bool {
	t := reflect.TypeFor[Request]()
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
			return true
		}
	}
	return false
}

// MarshalJSON writes role, content, tool_calls, tool_call_id. Content is always there: some servers refuse null.
func (m Message) MarshalJSON() ([]byte, error) {
	var content any = m.Content
	if len(m.Parts) > 0 {
		content = m.Parts
	}
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type call struct {
		ID       string          `json:"id"`
		Type     string          `json:"type"`
		Function function        `json:"function"`
		Extra    json.RawMessage `json:"extra_content,omitempty"`
	}
	var calls []call
	for _, c := range m.ToolCalls {
		calls = append(calls, call{c.ID, "function", function{c.Name, c.Arguments}, c.Extra})
	}
	return encode(struct {
		Role       string `json:"role"`
		Content    any    `json:"content"`
		ToolCalls  []call `json:"tool_calls,omitempty"`
		ToolCallID string `json:"tool_call_id,omitempty"`
	}{m.Role, content, calls, m.ToolCallID})
}

// MarshalJSON writes a text part, or an image_url part.
func (p Part) MarshalJSON() ([]byte, error) {
	if p.Image == "" {
		return encode(struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{"text", p.Text})
	}
	if p.Text != "" {
		return nil, errors.New("a part is text or an image, not both")
	}
	type link struct {
		URL string `json:"url"`
	}
	return encode(struct {
		Type  string `json:"type"`
		Image link   `json:"image_url"`
	}{"image_url", link{p.Image}})
}

// MarshalJSON writes the function form. A tool without parameters gets the empty object schema.
func (t Tool) MarshalJSON() ([]byte, error) {
	params := t.Parameters
	if params == nil {
		params = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	return encode(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{t.Name, t.Description, params}})
}

// encode is json.Marshal that leaves <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
