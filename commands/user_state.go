package commands

import (
	"maps"
	"slices"
	"time"

	"lembas/events"
)

// User is a person folded from their stream.
type User struct {
	ID, Email, Name string
	Admin, Disabled bool
	Created         time.Time
	Preferences     events.Preferences
	Sessions        map[string]Session
	Tokens          map[string]Token
	Folders         map[string]events.FolderState
	Pushes          map[string]Push
	// seen grows with a person's chats; only decisions look at it, so it is not
	// in the copies that each request gets.
	seen map[string]events.Position
	// removed says where a removed folder was: chats that were in it name it
	// still.
	removed map[string]string
	// guesses are the last maxGuesses times that a wrong present password was
	// given by somebody signed in.
	guesses  []time.Time
	Deciding events.Version
}

// Session is a browser login that has not been revoked.
type Session struct {
	ID, Hash, Address, Agent string
	Opened, Expires          time.Time
}

// Token is an API token that has not been revoked.
type Token struct {
	ID, Name, Hash, Scope string
	Created               time.Time
	Expires               time.Time // zero is never
}

func (u *User) apply(e *events.Envelope) error {
	p, err := events.Decode(e)
	if err != nil {
		return err
	}
	if i, ok := events.Lookup(e.Type); !ok || !i.Weak {
		u.Deciding = e.Version
	}
	switch p := p.(type) {
	case events.UserRegistered:
		u.ID, u.Email, u.Name, u.Admin, u.Created = p.User, p.Email, p.Name, p.Admin, e.Time
		u.Sessions, u.Tokens = map[string]Session{}, map[string]Token{}
		u.Folders, u.seen = map[string]events.FolderState{}, map[string]events.Position{}
		u.Pushes = map[string]Push{}
	case events.UserChanged:
		set(&u.Name, p.Name)
		set(&u.Admin, p.Admin)
		set(&u.Disabled, p.Disabled)
	case events.UserPreferencesChanged:
		u.Preferences = p.Preferences
	case events.SessionOpened:
		expires, _ := time.Parse(time.RFC3339, p.Expires) // unreadable is expired
		u.Sessions[p.Session] = Session{ID: p.Session, Hash: p.Hash, Address: p.Address, Agent: p.Agent, Opened: e.Time, Expires: expires}
	case events.UserSignInFailed:
		if p.Session != "" {
			u.guesses = append(slices.Clone(u.guesses[max(0, len(u.guesses)-maxGuesses+1):]), e.Time)
		}
	case events.SessionRevoked:
		delete(u.Sessions, p.Session)
	case events.TokenCreated:
		t := Token{ID: p.Token, Name: p.Name, Hash: p.Hash, Scope: p.Scope, Created: e.Time}
		if p.Expires != "" {
			t.Expires, err = time.Parse(time.RFC3339, p.Expires)
		}
		if err == nil {
			u.Tokens[p.Token] = t
		}
	case events.TokenRevoked:
		delete(u.Tokens, p.Token)
	case events.ChatSeen:
		u.seen[p.Chat] = max(u.seen[p.Chat], p.Position)
	case events.PushSubscribed, events.PushUnsubscribed:
		u.applyPush(p, e.Time)
	default:
		u.applyFolder(p)
	}
	return nil
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func (u *User) applyFolder(p events.Payload) {
	switch p := p.(type) {
	case events.FolderCreated:
		u.Folders[p.Folder] = p.State
	case events.FolderChanged:
		u.Folders[p.Folder] = p.State
	case events.FolderRemoved:
		gone := u.Folders[p.Folder]
		delete(u.Folders, p.Folder)
		if u.removed == nil {
			u.removed = map[string]string{}
		}
		u.removed[p.Folder] = gone.Parent
		for id, f := range u.Folders {
			if f.Parent == p.Folder {
				f.Parent = gone.Parent
				u.Folders[id] = f
			}
		}
	}
}

// Folder gives the folder in which something is that was put into one: that
// folder, or, where it was removed, the nearest one above that is left; "" is
// none.
func (u *User) Folder(id string) string {
	for id != "" {
		if _, ok := u.Folders[id]; ok {
			return id
		}
		id = u.removed[id]
	}
	return ""
}

// clone is a copy that may outlive the cache's lock.
func (u *User) clone() User {
	c := *u
	c.Sessions, c.Tokens = maps.Clone(u.Sessions), maps.Clone(u.Tokens)
	c.Folders, c.seen, c.removed = maps.Clone(u.Folders), nil, maps.Clone(u.removed)
	c.Pushes = maps.Clone(u.Pushes)
	return c
}
