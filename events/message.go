package events

// MessageSubmitted is a turn of the person that a reply follows at once.
type MessageSubmitted struct {
	Message     string       `json:"message"`
	Text        string       `json:"text"`
	Attachments []Attachment `json:"attachments"`
}

// MessageQueued is a turn that waits until the running reply has ended.
type MessageQueued struct {
	Message     string       `json:"message"`
	Text        string       `json:"text"`
	Attachments []Attachment `json:"attachments"`
}

// MessageWithdrawn takes a queued turn back.
type MessageWithdrawn struct {
	Message string `json:"message"`
}

// MessageDelivered puts a queued turn into the conversation: as the turn of a
// new reply, or into a running one at a round's boundary.
type MessageDelivered struct {
	Message string `json:"message"`
	Reply   string `json:"reply,omitempty"`
	Round   int    `json:"round,omitempty"`
}

// MessageEdited changes the text of a turn, queued or sent. A sent one is
// followed by chat.rewound in the same append.
type MessageEdited struct {
	Message string `json:"message"`
	Text    string `json:"text"`
}

func (MessageSubmitted) EventType() string { return "message.submitted" }
func (MessageQueued) EventType() string    { return "message.queued" }
func (MessageWithdrawn) EventType() string { return "message.withdrawn" }
func (MessageDelivered) EventType() string { return "message.delivered" }
func (MessageEdited) EventType() string    { return "message.edited" }

func messageTypes() []Info {
	return []Info{
		define[MessageSubmitted](1), define[MessageQueued](1), define[MessageWithdrawn](1),
		define[MessageDelivered](1), define[MessageEdited](1),
	}
}
