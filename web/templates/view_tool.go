package templates

// ToolLine is one call of a tool: a line that opens to what ran and what came
// back. Its strings are untrusted, but what cannot be seen in them is shown.
type ToolLine struct {
	Reply     string
	N         int    // the round
	Index     int    // in the round; the line's id is tool-REPLY-N-INDEX
	Call      string // the model's id of it, untrusted
	Icon      string // a name of the icon sheet
	Label     string // "Fetch a page", or the tool's name
	Target    string // what it acts on, one line
	Why       string // the model's words, or ""
	Status    string // called, waiting, running, ok, error, refused, denied, expired, stopped, interrupted
	Result    string // "18 lines", "exit 1", or ""
	Progress  string // the last line of a call that runs, or ""
	Since     Time   // zero but for a call that runs
	Duration  string // "0.3 s", or ""
	Arguments string // what ran: JSON, indented
	Sent      string // what the model sent, when that is something else
	Edited    bool   // a person corrected the arguments
	Output    Output
	Sources   []SourceLink
	Images    []ImageLink
}

// Output is what a call brought: all of it, or its head and tail.
type Output struct {
	Head string
	Tail string // "" when Head is all
	Gap  string // "34 KB left out", between the two
	Note string // "12 terminal sequences left out", or ""
	All  string // the path of the whole, or ""
	Size string // of the whole, "34 KB"
}

// SourceLink is a page that a result names; URL is http or https.
type SourceLink struct {
	Title string
	URL   string
	Host  string
}

// ImageLink is a picture that a result brought, served by us.
type ImageLink struct {
	Name string
	Path string
}
