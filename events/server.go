package events

// ServerAdded adds an MCP server. The values of its secret headers are in the
// vault under "server/ID/headers".
type ServerAdded struct {
	Server string      `json:"server"`
	State  ServerState `json:"state"`
}

// ServerChanged carries the whole state after the change.
type ServerChanged struct {
	Server string      `json:"server"`
	State  ServerState `json:"state"`
}

// ServerListed is what a look at the server's tools gave, bounded and cleaned.
// With an error the tools known before stay.
type ServerListed struct {
	Server string       `json:"server"`
	Tools  []ServerTool `json:"tools"`
	Error  string       `json:"error,omitempty"`
}

// ServerReviewed says that an administrator looked at tools as they are now:
// what was held is offered again.
type ServerReviewed struct {
	Server string `json:"server"`
	// Digests are what was looked at, by the tool's own name.
	Digests map[string]string `json:"digests"`
}

// ServerRemoved takes an MCP server and its tools away.
type ServerRemoved struct {
	Server string `json:"server"`
}

// ServerState is what an MCP server is, less its secrets.
type ServerState struct {
	Slug     string         `json:"slug"` // [a-z0-9_-]{1,32}: the start of its tools' offered names
	Name     string         `json:"name"`
	URL      string         `json:"url"`
	Headers  []ServerHeader `json:"headers,omitempty"`
	Guidance string         `json:"guidance,omitempty"`
	// Risk is that of all its tools: what a server says of its own harmlessness
	// is not believed.
	Risk    string `json:"risk"`
	Enabled bool   `json:"enabled"`
	// Off names tools (the server's own names) that are not offered.
	Off     []string `json:"off,omitempty"`
	Timeout int      `json:"timeout"` // seconds a call may take
}

// ServerHeader is a header of each request to the server.
type ServerHeader struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Secret bool   `json:"secret,omitempty"`
}

// ServerTool is one tool as the server describes it, bounded and cleaned.
type ServerTool struct {
	Name        string  `json:"name"` // the server's own
	Title       string  `json:"title,omitempty"`
	Description string  `json:"description,omitempty"`
	Schema      RawJSON `json:"schema"`
	Digest      string  `json:"digest"` // hex SHA-256 of all of the above
}

func (ServerAdded) EventType() string    { return "server.added" }
func (ServerChanged) EventType() string  { return "server.changed" }
func (ServerListed) EventType() string   { return "server.listed" }
func (ServerReviewed) EventType() string { return "server.reviewed" }
func (ServerRemoved) EventType() string  { return "server.removed" }

func serverTypes() []Info {
	return []Info{define[ServerAdded](1, permits), define[ServerChanged](1, permits), define[ServerListed](1),
		define[ServerReviewed](1, permits), define[ServerRemoved](1, permits)}
}
