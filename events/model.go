package events

// ModelAdded says that a connection has a model that was not known.
type ModelAdded struct {
	Model      string     `json:"model"` // our id
	Connection string     `json:"connection"`
	Name       string     `json:"name"` // the endpoint's id of it
	State      ModelState `json:"state"`
}

// ModelChanged carries the whole state after an administrator's change.
type ModelChanged struct {
	Model string     `json:"model"`
	State ModelState `json:"state"`
}

// ModelState is what an administrator sets on a model.
type ModelState struct {
	Title    string `json:"title,omitempty"` // shown instead of the name
	Enabled  bool   `json:"enabled"`
	Position int    `json:"position"`
	Default  bool   `json:"default,omitempty"`
	Vision   bool   `json:"vision,omitempty"`
	Tools    bool   `json:"tools,omitempty"`
	// Flags are the model's tool_GATE switches; an absent one inherits Tools.
	Flags         map[string]bool    `json:"flags,omitempty"`
	ContextLength int                `json:"context_length,omitempty"` // tokens; 0 is unknown
	Params        map[string]float64 `json:"params,omitempty"`         // temperature, top_p, max_tokens …
	Effort        string             `json:"effort,omitempty"`
	SystemPrompt  string             `json:"system_prompt,omitempty"`
}

// ModelRemoved says that a connection no longer lists a model.
type ModelRemoved struct {
	Model string `json:"model"`
}

func (ModelAdded) EventType() string   { return "model.added" }
func (ModelChanged) EventType() string { return "model.changed" }
func (ModelRemoved) EventType() string { return "model.removed" }

func modelTypes() []Info {
	return []Info{define[ModelAdded](1), define[ModelChanged](1, permits), define[ModelRemoved](1)}
}
