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

// The risks of a tool.
const (
	RiskRead    = "read"
	RiskWrite   = "write"
	RiskExecute = "execute"
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
	// Label, Icon and Detail are what a reader sees of the call, kept for the
	// time when the tool is gone.
	Label  string `json:"label,omitempty"`
	Icon   string `json:"icon,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Extra is what some endpoints want back with the call (a signature of the
	// thought behind it).
	Extra RawJSON `json:"extra,omitempty"`
}

// ToolStarted says that a call runs now.
type ToolStarted struct {
	Reply   string `json:"reply"`
	Round   int    `json:"round"`
	Call    string `json:"call"`
	Consent string `json:"consent,omitempty"`
}

// ToolProgressed is a line of a call that runs. It decides nothing.
type ToolProgressed struct {
	Reply string `json:"reply"`
	Round int    `json:"round"`
	Call  string `json:"call"`
	Text  string `json:"text"`
}

// Source is a page that a result names. Only http and https addresses.
type Source struct {
	Title string `json:"title"`
	URL   string `json:"url"`
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
	// Sources are links that a search found, Images what a server sent beside
	// its text.
	Sources []Source     `json:"sources,omitempty"`
	Images  []Attachment `json:"images,omitempty"`
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
func (ToolProgressed) EventType() string  { return "tool.progressed" }

func toolTypes() []Info {
	return []Info{
		define[ToolCalled](1), define[ToolStarted](1), define[ToolFinished](1), define[ToolInterrupted](1),
		define[ToolProgressed](1, weak),
	}
}
