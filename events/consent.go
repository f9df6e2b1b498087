package events

// The kinds of a card.
const (
	ConsentApproval = "approval"
	ConsentQuestion = "question"
	ConsentPlan     = "plan"
)

// The verdicts of an answer.
const (
	VerdictAllow  = "allow"
	VerdictAlways = "always"
	VerdictDeny   = "deny"
)

// ConsentItem is one thing that a card asks about: a call, or one question of a
// call.
type ConsentItem struct {
	Key       string   `json:"key"` // unique on the card
	Call      string   `json:"call"`
	Name      string   `json:"name"`
	Arguments RawJSON  `json:"arguments"` // the one parsed object: exactly what would run
	Detail    string   `json:"detail"`    // what the card shows first: the address, the command; else the arguments
	Risk      string   `json:"risk"`
	Reason    string   `json:"reason"` // ours: why this asks
	Why       string   `json:"why,omitempty"`
	Question  string   `json:"question,omitempty"`
	Options   []string `json:"options,omitempty"`
	Label     string   `json:"label,omitempty"` // of the tool, for people
	Icon      string   `json:"icon,omitempty"`
	// Edits names the argument that may be corrected on the card, "" for none.
	Edits string `json:"edits,omitempty"`
	// Pattern is what an "always" would remember; without one it is not offered.
	Pattern string `json:"pattern,omitempty"`
}

// ConsentRequested puts a card in front of the person; the loop ends here.
type ConsentRequested struct {
	Consent string        `json:"consent"`
	Reply   string        `json:"reply"`
	Round   int           `json:"round"`
	Kind    string        `json:"kind"` // approval, question or plan
	Items   []ConsentItem `json:"items"`
	Mode    string        `json:"mode"`
	Allow   []string      `json:"allow"`
	Deny    []string      `json:"deny"`
	Expires string        `json:"expires"` // RFC 3339 UTC
	// Caused names the card that this one asks again, because its approval was
	// not used within the resume window.
	Caused string `json:"caused,omitempty"`
}

// ConsentAnswer is the verdict on one item.
type ConsentAnswer struct {
	Key       string  `json:"key"`
	Verdict   string  `json:"verdict"` // allow, always or deny
	Arguments RawJSON `json:"arguments,omitempty"`
	Text      string  `json:"text,omitempty"`
	Reason    string  `json:"reason,omitempty"`
	Pattern   string  `json:"pattern,omitempty"`
}

// ConsentAnswered is the person's word; the person is the envelope's actor.
type ConsentAnswered struct {
	Consent string          `json:"consent"`
	Answers []ConsentAnswer `json:"answers"`
	Session string          `json:"session"`
	Token   string          `json:"token,omitempty"` // the id of the API token it came with
	Address string          `json:"address"`
}

// ConsentExpired says that nobody answered in time, which is a denial.
type ConsentExpired struct {
	Consent string `json:"consent"`
}

// ConsentWithdrawn says that a card ended unanswered: stopped, deleted or
// disabled.
type ConsentWithdrawn struct {
	Consent string `json:"consent"`
	Reason  string `json:"reason"`
}

func (ConsentRequested) EventType() string { return "consent.requested" }
func (ConsentAnswered) EventType() string  { return "consent.answered" }
func (ConsentExpired) EventType() string   { return "consent.expired" }
func (ConsentWithdrawn) EventType() string { return "consent.withdrawn" }

func consentTypes() []Info {
	return []Info{
		define[ConsentRequested](1, permits), define[ConsentAnswered](1, permits),
		define[ConsentExpired](1, permits), define[ConsentWithdrawn](1, permits),
	}
}
