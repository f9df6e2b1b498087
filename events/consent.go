package events

// ConsentItem is one thing that a card asks about.
type ConsentItem struct {
	Key       string   `json:"key"`
	Call      string   `json:"call"`
	Name      string   `json:"name"`
	Arguments RawJSON  `json:"arguments"`
	Detail    string   `json:"detail"`
	Risk      string   `json:"risk"`
	Reason    string   `json:"reason"`
	Why       string   `json:"why,omitempty"`
	Question  string   `json:"question,omitempty"`
	Options   []string `json:"options,omitempty"`
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
