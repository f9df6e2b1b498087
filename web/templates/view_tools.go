package templates

// Tools is the administrator's list of HTTP tools.
type Tools struct {
	Shell
	Query  string
	States []Option // any, enabled, disabled
	List   ToolList
}

// ToolList is the rows alone.
type ToolList struct {
	Items []ToolRow
	Total string // "3 tools"
	// Filtered says that a search or filter is on.
	Filtered bool
}

// ToolRow is one HTTP tool in the list. PATCH /admin/tools/{id}?row=1 with
// enabled as true or false answers with it.
type ToolRow struct {
	ID      string
	Label   string
	Slug    string
	Method  string
	URL     string
	Risk    string
	Enabled bool
}

// Tool is the page of one HTTP tool, or of a new one.
type Tool struct {
	Shell
	Edit ToolEdit
}

// ToolEdit is what is swapped when a tool is saved: its form, and the panel
// that tries what the form says.
type ToolEdit struct {
	Form ToolForm
	Try  ToolTry
}

// ToolForm is the form of POST /admin/tools and PATCH …/{id}. Fields: slug,
// label, description, guidance, risk, enabled, method, url, body, timeout, and
// the rows: header and parameter, each the key of a row in the order shown, with
// header.KEY.name, .value and .secret, parameter.KEY.name, .type, .description
// and .required. A secret header without a value keeps the one that is stored.
type ToolForm struct {
	ID          string // "" for a new one
	Slug        string
	Label       string
	Description string
	Guidance    string
	Enabled     bool
	Risks       []Option
	Methods     []Option
	URL         string
	Headers     []HeaderRow
	Body        string
	Parameters  []ParameterRow
	Timeout     string // seconds
	Saved       string
	Errors      Errors
}

// HeaderRow is one header in a form.
type HeaderRow struct {
	Key    string // of the row, unique in its form
	Name   string
	Value  string // "" for a secret one
	Secret bool
	Stored string // the masked end of a secret that is kept, "" for none
	// Again says that a secret was typed in a form that was refused.
	Again bool
	// Fresh is a row that was just added: it takes the focus.
	Fresh bool
}

// ParameterRow is one parameter in a form.
type ParameterRow struct {
	Key         string
	Name        string
	Types       []Option
	Description string
	Required    bool
	Fresh       bool
}

// ToolTry is the panel of POST /admin/tools/try: the tool's form comes with it,
// and arg.NAME for each argument.
type ToolTry struct {
	ID        string
	Arguments []ToolArgument
	Result    *ToolResult
	Errors    Errors // arg.NAME, or ""
}

// ToolArgument is one argument to try with.
type ToolArgument struct {
	Name        string
	Type        string // string, number, integer or boolean
	Description string
	Required    bool
	Value       string
	Options     []Option // of a boolean
}

// ToolResult is what came of a request. All of it is untrusted.
type ToolResult struct {
	Status  string // ok, error or refused
	Took    string // "0.4 s"
	Request string // as it was sent, secrets masked
	Output  string
}

// Servers is the administrator's list of MCP servers.
type Servers struct {
	Shell
	Query string
	List  ServerList
	New   ServerForm
}

// ServerList is the rows alone.
type ServerList struct {
	Items    []ServerRow
	Filtered bool
}

// ServerRow is one MCP server in the list.
type ServerRow struct {
	ID      string
	Name    string
	URL     string
	Tools   int
	Held    int // tools that wait for a look
	Enabled bool
	Health  Health
}

// Server is the page of one MCP server.
type Server struct {
	Shell
	Form  ServerForm
	Tools ServerTools
}

// ServerForm is the form of POST /admin/mcp and PATCH …/{id}. Fields: name,
// slug, url, bearer ("" keeps the stored one), clear_bearer, risk, guidance,
// timeout, enabled, and rows of headers as in ToolForm.
type ServerForm struct {
	ID       string // "" for a new one
	Name     string
	Slug     string
	URL      string
	Bearer   string // masked, "" for none
	Headers  []HeaderRow
	Risks    []Option
	Guidance string
	Timeout  string // seconds
	Enabled  bool
	Saved    string
	Errors   Errors
}

// ServerTools is the state of a server, what it holds, and its tools. All that
// a server says is plain text.
type ServerTools struct {
	ID     string
	Health Health
	Held   []HeldTool
	Items  []ServerTool
	Total  string // "12 tools"
	Result string // "2 new, 1 gone", or ""
	Error  string
}

// HeldTool is a tool that is new or changed since somebody looked. POST
// /admin/mcp/{id}/review with tool and digest, once for each tool, offers it.
type HeldTool struct {
	Name    string
	Title   string
	Digest  string
	New     bool
	Changes []Change
}

// Change is one part of a tool that is not as it was looked at.
type Change struct {
	Label  string
	Before Marked
	After  Marked
}

// Marked is a text of which the middle is what differs.
type Marked struct {
	Head, Middle, Tail string
}

// ServerTool is one tool of a server. PATCH /admin/mcp/{id}/tools with tool and
// on as true or false answers with its row.
type ServerTool struct {
	Server      string // the server's id
	Name        string // the server's own
	Title       string
	Description string
	Schema      string // of its arguments
	On          bool
	Held        bool
}

// Search is the administrator's page of web search.
type Search struct {
	Shell
	Edit SearchEdit
}

// SearchEdit is what is swapped when the provider is saved: its form, and the
// panel that tries what is saved.
type SearchEdit struct {
	Form SearchForm
	Try  SearchTry
}

// SearchForm is the form of PATCH /admin/search. Fields: provider, url,
// api_key ("" keeps the stored one), clear_key, results.
type SearchForm struct {
	Providers []Option
	URL       string
	Key       string // masked, "" for none
	Results   string
	Saved     string
	Errors    Errors
}

// SearchTry is the panel of POST /admin/search/try with query.
type SearchTry struct {
	Off    string // why nothing can be searched, or ""
	Query  string
	Took   string
	Output string // untrusted
	Error  string
}
