package templates

import "html/template"

// Card asks a person, or is the record of what was answered. Strings of models
// and tools in it are untrusted; what cannot be seen in them is shown.
type Card struct {
	ID      string
	Reply   string
	N       int    // the round
	Kind    string // approval, question, plan
	State   string // waiting, answered, expired, withdrawn
	Title   string // what is asked, or what came of it
	Sign    string // of a record: the icon's name
	Tone    string // of a record: ok, warn, danger or ""
	Items   []CardItem
	Many    bool
	Expires Time
	Ended   Time
	// Again says that it had been allowed before a restart and was not started.
	Again bool
}

// CardItem is one thing that a card asks about.
type CardItem struct {
	Card   string
	Key    string
	Call   string
	Number string // "2 of 3", or "" when there is one
	Icon   string
	Label  string
	Name   string // the tool's own name
	Risk   string // read, write, execute
	// Exact is what would run; Arguments are all arguments when that is more.
	Exact     string
	Arguments string
	Texts     []TextArgument // those of Arguments that have several lines
	Unseen    bool           // of characters in Exact that are shown as escapes
	Reason    string
	Why       string
	Pattern   string // what Always would remember, or ""
	Edit      *CardEdit

	Question string
	Options  []CardOption

	// Of a record.
	Verdict    string // allow, always, deny, or "" without an answer
	Said       string // "allowed", "denied", …
	Corrected  *Correction
	Remembered string
	Because    string // the reason that was given
	Text       string // the answer to a question
}

// TextArgument is one argument as the text that it is.
type TextArgument struct {
	Name string
	Text string
}

// CardEdit is the one argument that may be corrected.
type CardEdit struct {
	Name      string
	Text      string // the argument as it is, for a textarea
	Arguments string // the object as JSON
}

// CardOption is an offered answer: as it is sent, and as it is shown.
type CardOption struct {
	Value string
	Text  string
}

// Correction is an argument before and after.
type Correction struct {
	Name   string
	Before string
	After  string
}

// Summary is the divider after the turns that travel as a summary.
type Summary struct {
	Time Time
	HTML template.HTML
}

// Compact is the line about a summary that is being made or failed; "" is none.
type Compact struct {
	Running bool
	Error   string
	Detail  string // the endpoint's own words, or ""
}
