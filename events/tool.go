package events

// How a tool call ended.
const (
	ToolOK      = "ok"
	ToolError   = "error"
	ToolRefused = "refused"
	ToolDenied  = "denied"
	ToolExpired = "expired"
	ToolStopped = "stopped"
)

// ToolCalled is one call that a model made, its arguments parsed once.
type ToolCalled struct {
	Reply     string  `json:"reply"`
	Round     int     `json:"round"`
	Call      string  `json:"call"` // the call's id, unique in the reply
	Index     int     `json:"index"`
	Name      string  `json:"name"`
	Arguments RawJSON `json:"arguments"` // the one parsed object
	Raw       string  `json:"raw"`       // what the model sent
	Risk      string  `json:"risk"`
	Why       string  `json:"why,omitempty"`
}

// ToolStarted says that a call runs now.
type ToolStarted struct {
	Reply   string `json:"reply"`
	Round   int    `json:"round"`
	Call    string `json:"call"`
	Consent string `json:"consent,omitempty"`
}

// ToolFinished is what a call came to.
type ToolFinished struct {
	Reply  string   `json:"reply"`
	Round  int      `json:"round"`
	Call   string   `json:"call"`
	Status string   `json:"status"`
	Output string   `json:"output"` // head and tail when Blob has the whole
	Bytes  int64    `json:"bytes"`
	Blob   *BlobRef `json:"blob,omitempty"`
	Exit   *int     `json:"exit,omitempty"`
	Diff   string   `json:"diff,omitempty"`
	MS     int64    `json:"ms"`
}

// ToolInterrupted says that a restart cut a running call: outcome unknown.
type ToolInterrupted struct {
	Reply string `json:"reply"`
	Round int    `json:"round"`
	Call  string `json:"call"`
}

func (ToolCalled) EventType() string      { return "tool.called" }
func (ToolStarted) EventType() string     { return "tool.started" }
func (ToolFinished) EventType() string    { return "tool.finished" }
func (ToolInterrupted) EventType() string { return "tool.interrupted" }

func toolTypes() []Info {
	return []Info{
		define[ToolCalled](1), define[ToolStarted](1), define[ToolFinished](1), define[ToolInterrupted](1),
	}
}
