package templates

// Connections is the administrator's list of endpoints.
type Connections struct {
	Shell
	List ConnectionList
	New  ConnectionForm
}

// ConnectionList is the rows alone.
type ConnectionList struct {
	Items []ConnectionRow
}

// ConnectionRow is one endpoint in the list.
type ConnectionRow struct {
	ID      string
	Name    string
	BaseURL string
	Key     string // masked: "••••abcd", or "" for none
	Enabled bool
	Health  Health
	Models  int
	Demo    bool
}

// Health is what the last look at an endpoint gave.
type Health struct {
	State  string // ok, failed, unknown, off
	Text   string // "reachable", "refused the key (401)"
	Detail string // the endpoint's own words, untrusted, or ""
	Time   Time   // zero: never looked
}

// ConnectionForm is the form of POST /admin/connections and PATCH …/{id}.
// Fields: name, base_url, api_key ("" keeps the stored one), clear_key,
// enabled, extensions.
type ConnectionForm struct {
	ID         string // "" for a new one
	Name       string
	BaseURL    string
	Key        string // masked, "" for none
	Enabled    bool
	Extensions bool
	Saved      string
	Errors     Errors
}

// Connection is the detail page of an endpoint.
type Connection struct {
	Shell
	Form   ConnectionForm
	Health ConnectionHealth
	Models ConnectionModels
}

// ConnectionHealth is the section with Check.
type ConnectionHealth struct {
	ID     string
	Health Health
}

// ConnectionModels is the section with the endpoint's models and Refresh.
type ConnectionModels struct {
	ID     string
	Items  []ModelRow
	Result string // "3 new, 1 gone", or ""
	Error  string
}

// Models is the administrator's list of models.
type Models struct {
	Shell
	Query       string
	Connections []Option
	States      []Option // all, enabled, disabled
	List        ModelList
}

// ModelList is one page of rows.
type ModelList struct {
	Items []ModelRow
	Next  string // path of the next page, "" at the end
	Total string // "24 models"
	// Filtered says that a search or filter is on: order cannot be changed.
	Filtered bool
}

// ModelRow is one model in a list.
type ModelRow struct {
	ID         string
	Title      string // shown
	Name       string // the endpoint's id of it
	Connection string
	Enabled    bool
	Default    bool
	Gone       bool // the endpoint no longer lists it
	Badges     []string
	// Up and Down are the models that a move puts this one before; Down is ""
	// for the end. CanUp and CanDown say whether the move exists.
	Up      string
	Down    string
	CanUp   bool
	CanDown bool
}

// Model is the detail page of a model.
type Model struct {
	Shell
	Name       string // the endpoint's id of it
	Connection Option // Value is the connection's id
	Gone       bool
	Form       ModelForm
}

// ModelForm is the form of PATCH /admin/models/{id}. Fields: title, enabled,
// default, vision, tools, context_length, effort, system_prompt, params.KEY for
// each parameter ("" is not sent), and each of the flags ("" is as tools says,
// else true or false).
type ModelForm struct {
	ID            string
	Name          string
	Title         string
	Enabled       bool
	Default       bool
	Vision        bool
	Tools         bool
	Flags         []Flag
	Position      string // "3 of 24"
	ContextLength string // digits, "" is unknown
	Efforts       []Option
	Params        []Param
	SystemPrompt  string
	Saved         string
	Errors        Errors
}

// Flag is a family of tools that a model may be given or refused.
type Flag struct {
	Key     string // tool_fetch
	Label   string
	Icon    string
	Options []Option
}

// Param is a sampling parameter.
type Param struct {
	Key   string // temperature
	Label string
	Value string // "" is not sent
	Hint  string // "0 to 2"
	Step  string
	Min   string
	Max   string
}

// Users is the administrator's list of accounts.
type Users struct {
	Shell
	Query string
	List  UserList
	New   UserForm
}

// UserList is one page of rows.
type UserList struct {
	Items []UserRow
	Next  string
	Total string
	Error string
}

// UserRow is one account. PATCH /admin/users/{id} with admin or disabled as
// true or false.
type UserRow struct {
	ID       string
	Name     string
	Email    string
	Initial  string
	Admin    bool
	Disabled bool
	Self     bool
	Since    Time
}

// UserForm is the form of POST /admin/users. Fields: name, email, password,
// admin.
type UserForm struct {
	Name   string
	Email  string
	Admin  bool
	Saved  string
	Errors Errors
}

// Instance is the administrator's page of instance settings.
type Instance struct {
	Shell
	Form InstanceForm
}

// InstanceForm is the form of PATCH /admin/settings. A field's name is the
// setting's key.
type InstanceForm struct {
	Groups []SettingGroup
	Saved  string
	Errors Errors
}

// SettingGroup is settings under one heading.
type SettingGroup struct {
	Title    string
	Settings []Setting
}

// Setting is one instance setting.
type Setting struct {
	Key     string // limits.gather_ms
	Label   string
	Help    string
	Kind    string // switch, number, choice, checks, text
	Value   string // of number and text; "true" for a switch that is on
	Unit    string // "ms", "s", "bytes"
	Default string
	Min     string
	Max     string
	Options []Option // of a choice or of checks
}
