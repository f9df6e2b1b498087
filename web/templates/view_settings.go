package templates

// Settings is a person's own page; each section is also a fragment.
type Settings struct {
	Shell
	Preferences Preferences
	Push        Push
	Password    PasswordForm
	Sessions    Sessions
	Tokens      Tokens
}

// Preferences is the form of POST /settings/preferences. Fields: theme, font,
// default_model, enter_newline, follow, shortcuts, notify. Each checkbox is
// preceded by a hidden field of its name with "false"; the last value counts.
type Preferences struct {
	Theme        string // "", moria, shire
	Font         string // "", serif, sans
	Models       []Option
	EnterNewline bool
	Follow       bool
	Shortcuts    bool
	Notify       bool
	Saved        string // "Saved.", or ""
	Errors       Errors
}

// PasswordForm is the form of POST /settings/password. Fields: current,
// password, repeat.
type PasswordForm struct {
	Email  string // for password managers
	Saved  string
	Errors Errors
}

// Sessions lists the browser logins of a person.
type Sessions struct {
	Items []Session
	Error string
}

// Session is one browser login.
type Session struct {
	ID      string
	Device  string // "Firefox on Linux"
	Address string
	Since   Time
	Current bool
}

// Tokens is the list of API tokens and the form of POST /settings/tokens.
// Fields: name, scope, expires (days, "" is never).
type Tokens struct {
	Items  []Token
	New    *NewToken // shown once
	Name   string
	Scopes []Option
	Spans  []Option
	Errors Errors
}

// Token is one API token, without its secret.
type Token struct {
	ID      string
	Name    string
	Scope   string
	Created Time
	Expires Time // zero: never
	Expired bool
}

// NewToken is the secret of a token that was just made.
type NewToken struct {
	Name   string
	Secret string
}
