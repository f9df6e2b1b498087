package events

// InstanceStream holds what an administrator sets: connections, models,
// settings.
const InstanceStream = "instance"

// ConnectionCreated adds an endpoint. Its key is in the vault under
// "connection/ID/key".
type ConnectionCreated struct {
	Connection string          `json:"connection"`
	State      ConnectionState `json:"state"`
}

// ConnectionChanged carries the whole state after the change.
type ConnectionChanged struct {
	Connection string          `json:"connection"`
	State      ConnectionState `json:"state"`
}

// ConnectionState is what a connection is, less its key.
type ConnectionState struct {
	Name    string `json:"name"`
	BaseURL string `json:"base_url"`
	HasKey  bool   `json:"has_key"`
	Enabled bool   `json:"enabled"`
	// Extensions lets fields go out that strict providers refuse.
	Extensions bool `json:"extensions,omitempty"`
}

// ConnectionRefreshed is what a look at the endpoint's model list gave. The
// models that are new or gone follow as model.added and model.removed.
type ConnectionRefreshed struct {
	Connection string `json:"connection"`
	Models     int    `json:"models"`
	Error      string `json:"error,omitempty"`
}

// ConnectionRemoved takes an endpoint and its models away.
type ConnectionRemoved struct {
	Connection string `json:"connection"`
}

func (ConnectionCreated) EventType() string   { return "connection.created" }
func (ConnectionChanged) EventType() string   { return "connection.changed" }
func (ConnectionRefreshed) EventType() string { return "connection.refreshed" }
func (ConnectionRemoved) EventType() string   { return "connection.removed" }

func connectionTypes() []Info {
	return []Info{
		define[ConnectionCreated](1, permits), define[ConnectionChanged](1, permits),
		define[ConnectionRefreshed](1, weak), define[ConnectionRemoved](1, permits),
	}
}
