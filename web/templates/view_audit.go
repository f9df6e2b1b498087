package templates

// Audit is the page of the audit trail: an administrator's of all people, or
// one's own.
type Audit struct {
	Shell
	All  bool // of all people
	Form AuditForm
	List AuditList
}

// AuditForm is the filters, as they were sent.
type AuditForm struct {
	All      bool
	User     string // an e-mail address or an id
	Tool     string
	Chat     string
	Consent  string
	From     string // a date
	To       string
	Types    []Option
	Verdicts []Option
	Errors   Errors
}

// AuditList is one page of the trail, the newest day first.
type AuditList struct {
	Days []AuditDay
	// Total says how many entries the page has: "12 entries".
	Total string
	// Next is the path of the next page, "" at the end. Short says that the page
	// ended because a long time was looked through.
	Next     string
	Short    bool
	Filtered bool   // there are filters
	Error    string // what is wrong with them
}

// AuditDay is the entries of one day.
type AuditDay struct {
	Label string // "Tuesday, 3 March 2026"
	Rows  []AuditRow
}

// AuditRow is one entry. All of it is metadata.
type AuditRow struct {
	Position string
	Type     string // consent.answered
	Time     Time
	Icon     string
	What     string // "Answered"
	About    string // what changed, in our own words
	Who      string // "Ann", "Qwen3 Coder", "LLeMbas"
	Whose    string // "in a chat of Bob", when that is somebody else
	Mode     string
	Outcomes []AuditOutcome
	Facts    []AuditFact
	Links    []Option // Value is the path
	Erased   bool
}

// AuditOutcome is what came of one call, or the word on it.
type AuditOutcome struct {
	Tool    string
	Status  string // of a call, in the one language of status
	State   string // else: how it is coloured, its icon and its word
	Icon    string
	Word    string
	Edited  bool
	Pattern string // what is let through from now on
}

// AuditFact is a detail of an entry.
type AuditFact struct {
	Name  string
	Value string
	Code  bool
}
