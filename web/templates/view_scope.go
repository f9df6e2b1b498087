package templates

// Scope is the menu that says which tools a chat may use. It only narrows.
type Scope struct {
	Chat  string // "" of a new chat, which has no list of what is always allowed
	Count string // of the button: "5 of 7"
	Word  string // after the count: "tools"
	// None is why there are no tools, or "".
	None  string
	Rows  []ScopeRow
	Allow []string // the patterns that are always allowed, untrusted
}

// ScopeRow is one switch.
type ScopeRow struct {
	Key   string
	Label string
	Icon  string
	On    bool
	Tools int    // how many tools it brings
	Off   string // why it cannot be on, or ""
	Under bool   // it is one of the family above
	Shut  bool   // its family is switched off
}
