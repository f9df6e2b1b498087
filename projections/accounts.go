package projections

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"lembas/events"
	"lembas/events/store"
)

// Account is a person as an administrator's list shows them.
type Account struct {
	ID       string    `json:"id"`
	Email    string    `json:"email"`
	Name     string    `json:"name"`
	Admin    bool      `json:"admin,omitempty"`
	Disabled bool      `json:"disabled,omitempty"`
	Created  time.Time `json:"created"`
	// Position is where the person registered; the list is in this order.
	Position events.Position `json:"position"`
}

// AccountCounts counts accounts. Admins are those that are not disabled.
type AccountCounts struct {
	Total    int `json:"total"`
	Admins   int `json:"admins"`
	Disabled int `json:"disabled"`
}

// Accounts lists all persons in the order in which they registered.
type Accounts struct{ ks *store.Keyspace }

// NewAccounts is the list over a log; a Runner keeps it up.
func NewAccounts(st *store.Store) *Accounts { return &Accounts{keyspace(st, Accounts{}.Name())} }

// Name implements Projection.
func (Accounts) Name() string { return "accounts" }

// Version implements Projection.
func (Accounts) Version() int { return 1 }

// Types implements Projection.
func (Accounts) Types() []string { return []string{"user.registered", "user.changed"} }

// Keys: "a"POSITION is the account, "u"USER its position, "n" the counts.
func accountKey(p uint64) []byte { return binary.BigEndian.AppendUint64([]byte("a"), p) }

func userKey(user string) []byte { return append([]byte("u"), user...) }

// Apply implements Projection.
func (Accounts) Apply(_ context.Context, tx *Tx, e *events.Envelope, p events.Payload) error {
	user, ok := strings.CutPrefix(e.Stream, "user/")
	if !ok {
		return nil
	}
	var at uint64
	found, err := getJSON(tx, userKey(user), &at)
	if err != nil {
		return err
	}
	switch p := p.(type) {
	case events.UserRegistered:
		if found {
			return nil
		}
		tx.Set(userKey(user), strconv.AppendUint(nil, uint64(e.Position), 10))
		return putAccount(tx, nil, &Account{ID: user, Email: p.Email, Name: p.Name, Admin: p.Admin, Created: e.Time, Position: e.Position})
	case events.UserChanged:
		var a Account
		if found, err = getJSON(tx, accountKey(at), &a); err != nil || !found {
			return err
		}
		old := a
		change(&a.Name, p.Name)
		change(&a.Admin, p.Admin)
		change(&a.Disabled, p.Disabled)
		return putAccount(tx, &old, &a)
	}
	return nil
}

func change[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func putAccount(tx *Tx, old, a *Account) error {
	var n AccountCounts
	if _, err := getJSON(tx, countKey, &n); err != nil {
		return err
	}
	n.add(old, -1)
	n.add(a, 1)
	if err := setJSON(tx, countKey, n); err != nil {
		return err
	}
	return setJSON(tx, accountKey(uint64(a.Position)), a)
}

func (n *AccountCounts) add(a *Account, d int) {
	switch {
	case a == nil:
		return
	case a.Disabled:
		n.Disabled += d
	case a.Admin:
		n.Admins += d
	}
	n.Total += d
}

// AccountQuery narrows a list.
type AccountQuery struct {
	Text   string // in name or e-mail, whatever its case; "" is all
	Limit  int    // 1 to 200, 0 is 50
	Cursor string // what the last page said comes next
}

// List gives accounts in the order of registration, and the cursor of the next
// page, "" at the end. ErrInvalid for a cursor that is none.
func (s *Accounts) List(ctx context.Context, q AccountQuery) (page []Account, next string, err error) {
	var from uint64
	if q.Cursor != "" {
		if from, err = parseCursor(q.Cursor); err != nil {
			return nil, "", err
		}
	}
	limit := pageSize(q.Limit)
	for row, err := range (reader{s.ks}).Scan(accountKey(from), after([]byte("a"))) {
		if err == nil {
			err = ctx.Err()
		}
		var a Account
		if err == nil {
			err = parseRow(slices.Clone(row.Value), &a)
		}
		if err != nil {
			return nil, "", err
		}
		if !matches(q.Text, a.Name, a.Email) {
			continue
		}
		if len(page) == limit {
			return page, strconv.FormatUint(uint64(a.Position), 10), nil
		}
		page = append(page, a)
	}
	return page, "", nil
}

// Counts counts all accounts.
func (s *Accounts) Counts() (n AccountCounts, err error) {
	_, err = getJSON(reader{s.ks}, countKey, &n)
	return n, err
}
