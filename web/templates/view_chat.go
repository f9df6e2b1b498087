package templates

import "html/template"

// NewChat is the empty state: no row exists until the first message.
type NewChat struct {
	Shell
	Greeting    string // "Good evening, Ann"
	Folder      *Option
	Suggestions []Suggestion
	Composer    Composer
	// NoModel is set when nothing can be sent because there is no model yet:
	// what to do, and for an administrator where ("/admin/connections").
	NoModel     string
	NoModelLink string
}

// Suggestion is a first prompt that a click puts into the composer.
type Suggestion struct {
	Title string
	Text  string
}

// Chat is one conversation, its last messages first loaded.
type Chat struct {
	Shell
	ID       string
	Name     string // the chat's title
	Folder   string // id, or ""
	Pinned   bool
	Messages MessagePage
	Queue    Queue
	Composer Composer
	Status   ChatStatus
	Meter    Meter
	Compact  Compact
	// Exports are the formats to offer: label and path.
	Exports []Option
}

// MessagePage is a run of messages, oldest first. Older is the path of the
// fragment with the ones before, "" at the beginning.
type MessagePage struct {
	Chat     string
	Older    string
	Messages []Message
}

// Message is a turn of the person (Role user) or a reply (Role assistant).
type Message struct {
	Chat   string
	ID     string
	Role   string // user, assistant
	Status string // streaming, waiting, stopped, failed, interrupted, complete
	Author string // "You", or the model's title
	Time   Time
	Day    string // not "": a day separator stands before this message
	Edited bool   // the turn was changed after it was sent
	// Text is a turn's source. It is shown as written, so the element's text
	// content is what is copied and edited.
	Text   string
	Rounds []Round // of a reply
	// Waiting is a line while nothing has come yet: "Asking qwen3 …".
	Waiting  string
	Error    *ReplyError
	Notice   string // "Stopped by you.", "Continued after a restart.", or ""
	Metrics  []Metric
	Versions *Versions // nil when there is one
	// Summary is the divider after this reply, nil when it is elsewhere.
	Summary *Summary
	// Editable and Again say whether Edit and Regenerate are offered.
	Editable bool
	Again    bool
}

// Round is one request to the endpoint, N from 1.
type Round struct {
	Reply string
	N     int
	// Turns were delivered to the running reply at this round's end.
	Turns []Message
	Think *Think
	// HTML is the Markdown of the round's text; only block elements at the top.
	HTML template.HTML
	// Notes are one-line remarks: a retry, a nudge, a spent budget.
	Notes []Note
	Tools []ToolLine
	// Cards asked about calls of the round, in the order in which they came.
	Cards []Card
}

// Think is a round's reasoning, folded.
type Think struct {
	Reply   string
	N       int
	Running bool
	Summary string // "Thought for 4 s", or a live line while running
	HTML    template.HTML
}

// Note is a remark in a reply; its id is note-REPLY-N-KEY. Kind is info, warn
// or error.
type Note struct {
	Reply string
	N     int
	Key   string // unique in the round
	Kind  string
	Text  string
}

// ReplyError is what ended a reply.
type ReplyError struct {
	Title    string // plain words: "The endpoint refused the request (401)."
	Detail   string // what to do about it, or ""
	Provider string // the endpoint's own words, untrusted, or ""
	Retry    bool
}

// Metric is one figure of the line under a reply.
type Metric struct {
	Text  string // "~3,210 in", "31 tok/s"
	Title string // the tooltip, or ""
}

// Versions lets the earlier answers or wordings be looked at. Index is from 1.
type Versions struct {
	Index int
	Count int
	Prev  string // fragment path, "" at the first
	Next  string // fragment path, "" at the last
}

// Queue is what waits until the running reply has ended.
type Queue struct {
	Chat string
	Rows []QueueRow
	// Held says that no reply runs, so that nothing will take the rows by
	// itself (after Stop or a failure): Send now is offered.
	Held bool
}

// QueueRow is one queued turn.
type QueueRow struct {
	Chat string
	ID   string
	Text string
	Held bool
}

// Composer is where a person writes.
type Composer struct {
	Chat        string // "" for a new chat
	Folder      string // of a new chat
	State       string // idle, running, waiting
	Placeholder string
	Waiting     string // the placeholder while a card waits
	Scope       *Scope // nil when there is no menu
	Send        Send
	Models      []ModelOption // in the administrator's order
	Efforts     []Option      // the level in force is selected; "" is "not set"
	// EnterNewline is the person's choice: Enter makes a new line.
	EnterNewline bool
	MaxLength    int // characters
}

// Send is the one button of the composer.
type Send struct {
	Chat     string
	Act      string // send, stop
	Disabled string // why nothing can be sent, or ""
}

// ModelOption is a model in the picker.
type ModelOption struct {
	ID         string
	Title      string
	Connection string
	Badges     []string // "vision", "tools", "128k"
	Effort     string   // the model's default, or ""
	Selected   bool
	Gone       bool // no longer listed or switched off: shown, cannot be chosen
}

// ChatStatus is the word in the chat's header.
type ChatStatus struct {
	Status string // "" is idle: nothing is shown
	Detail string // "round 2", "2 queued", or ""
}

// Meter is the share of the model's context in use.
type Meter struct {
	Known   bool
	Percent int    // 0 to 100
	Text    string // "12 % of 32,768 tokens"
}
