package stream

import (
	"context"
	"errors"
	"time"

	"lembas/commands"
	"lembas/events"
)

// guard checks, before each write, that a follower may still read. It asks for
// the person again only when their stream has moved, so that a check costs a
// look into the store's memory.
type guard struct {
	log     events.Log
	users   Users
	user    string
	session string          // of a browser, or
	token   string          // of a program
	seen    events.Position // of the person's stream, when they were last looked up
	expires time.Time       // of the session or token, zero is never
	now     func() time.Time
}

// check gives ended{signed_out} when the session or token is no longer good.
func (g *guard) check(ctx context.Context) error {
	st, err := g.log.Stream(ctx, events.UserStream(g.user))
	if err != nil {
		return err
	}
	if st.Last != g.seen {
		u, err := g.users.User(ctx, g.user)
		if errors.Is(err, events.ErrNotFound) {
			return ended{endSignedOut}
		}
		if err != nil {
			return err
		}
		if !g.good(u) {
			return ended{endSignedOut}
		}
		g.seen = st.Last
	}
	if !g.expires.IsZero() && !g.now().Before(g.expires) {
		return ended{endSignedOut}
	}
	return nil
}

// good says whether the account is on and the session or token is still there.
func (g *guard) good(u commands.User) bool {
	if u.Disabled {
		return false
	}
	if g.token != "" {
		t, ok := u.Tokens[g.token]
		g.expires = t.Expires
		return ok
	}
	s, ok := u.Sessions[g.session]
	g.expires = s.Expires
	return ok
}
