package projections

import (
	"lembas/events"
	"lembas/events/store"
)

// Set is all projections with the Runner that keeps them up.
type Set struct {
	*Runner
	Sidebar  *Sidebar
	Accounts *Accounts
	Replies  *Replies
	Windows  *Windows
	Consents *Consents
	Audit    *Audit

	st *store.Store
}

// Open prepares all projections of a store. They stand where they stood when it
// was closed until Run or CatchUp.
func Open(st *store.Store) (*Set, error) {
	s := &Set{Sidebar: NewSidebar(st), Accounts: NewAccounts(st), Replies: NewReplies(st), Windows: NewWindows(st),
		Consents: NewConsents(st), Audit: NewAudit(st), st: st}
	r, err := NewRunner(st, s.Sidebar, s.Accounts, s.Replies, s.Windows, s.Consents, s.Audit)
	s.Runner = r
	return s, err
}

// Head is the position of the log's last event.
func (s *Set) Head() events.Position { return s.st.Head() }

// Counts is how much there is, for "lembas info" and metrics.
type Counts struct {
	Events   events.Position `json:"events"`
	Chats    int             `json:"chats"`
	Accounts AccountCounts   `json:"accounts"`
	Open     int             `json:"open_replies"`
}

// Counts counts what the projections have. Events is the log's head.
func (s *Set) Counts() (c Counts, err error) {
	c.Events = s.st.Head()
	if c.Chats, err = s.Sidebar.Count(); err != nil {
		return c, err
	}
	if c.Accounts, err = s.Accounts.Counts(); err != nil {
		return c, err
	}
	c.Open, err = s.Replies.Count()
	return c, err
}
