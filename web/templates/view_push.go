package templates

// Push is the section of the notifications: a switch for this browser, which the
// script works, and the browsers that are told also while no page is open.
type Push struct {
	Items []PushBrowser
	This  string // the id of this login's own, "" for none
}

// PushBrowser is one of them.
type PushBrowser struct {
	ID     string
	Device string // "Firefox on Linux"
	Host   string // of its push service
	Since  Time
	This   bool // this login's own
}
