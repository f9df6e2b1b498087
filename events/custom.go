package events

// CustomAdded adds an HTTP tool of the administrator's. Its secret header
// values are in the vault under "tool/ID/headers".
type CustomAdded struct {
	Tool  string      `json:"tool"`
	State CustomState `json:"state"`
}

// CustomChanged carries the whole state after the change.
type CustomChanged struct {
	Tool  string      `json:"tool"`
	State CustomState `json:"state"`
}

// CustomRemoved takes an HTTP tool away.
type CustomRemoved struct {
	Tool string `json:"tool"`
}

// CustomState is what an HTTP tool is, less its secrets. Templates hold
// arguments as {{name}}.
type CustomState struct {
	Slug        string            `json:"slug"` // the name that models call it by: [a-z0-9_-]{1,64}
	Label       string            `json:"label"`
	Description string            `json:"description"`
	Guidance    string            `json:"guidance,omitempty"` // for the system prompt, when the tool is offered
	Risk        string            `json:"risk"`
	Enabled     bool              `json:"enabled"`
	Method      string            `json:"method"`
	URL         string            `json:"url"`
	Headers     []CustomHeader    `json:"headers,omitempty"`
	Body        string            `json:"body,omitempty"`
	Parameters  []CustomParameter `json:"parameters,omitempty"`
	Timeout     int               `json:"timeout"` // seconds
}

// CustomHeader is one header of the request. A secret one has no Value here and
// takes no arguments.
type CustomHeader struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Secret bool   `json:"secret,omitempty"`
}

// CustomParameter is one argument that the model fills in.
type CustomParameter struct {
	Name        string `json:"name"`
	Type        string `json:"type"` // string, number, integer or boolean
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

func (CustomAdded) EventType() string   { return "tool.added" }
func (CustomChanged) EventType() string { return "tool.changed" }
func (CustomRemoved) EventType() string { return "tool.removed" }

func customTypes() []Info {
	return []Info{define[CustomAdded](1, permits), define[CustomChanged](1, permits), define[CustomRemoved](1, permits)}
}
