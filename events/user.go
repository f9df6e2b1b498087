package events

// UserStream is the stream of a person.
func UserStream(user string) string { return "user/" + user }

// UserRegistered begins an account. The password's hash is in the vault, never
// here.
type UserRegistered struct {
	User  string `json:"user"`
	Email string `json:"email"` // as typed, trimmed
	Name  string `json:"name"`
	Admin bool   `json:"admin"`
}

// UserChanged is an administrator's change; nil is unchanged.
type UserChanged struct {
	Name     *string `json:"name,omitempty"`
	Admin    *bool   `json:"admin,omitempty"`
	Disabled *bool   `json:"disabled,omitempty"`
}

// UserSignedIn says that a password was right; session.opened follows in the
// same append.
type UserSignedIn struct {
	Session string `json:"session"`
	Address string `json:"address"`
}

// UserSignInFailed says that a password was wrong. Failures of names that do
// not exist are not recorded: the typed text may be a password.
type UserSignInFailed struct {
	Address string `json:"address"`
	// Session is the session or token of somebody signed in who gave a wrong
	// present password, absent for a sign-in.
	Session string `json:"session,omitempty"`
}

// UserPasswordChanged says that the password was changed; all other sessions
// are revoked in the same append.
type UserPasswordChanged struct{}

// UserPreferencesChanged carries all preferences after the change.
type UserPreferencesChanged struct {
	Preferences Preferences `json:"preferences"`
}

// Preferences are a person's own settings; zero values are the defaults.
type Preferences struct {
	Theme        string `json:"theme,omitempty"`         // "", "moria" or "shire"; "" follows the system
	Font         string `json:"font,omitempty"`          // "", "serif" or "sans" for replies
	EnterNewline bool   `json:"enter_newline,omitempty"` // Enter makes a new line, Ctrl+Enter sends
	NoFollow     bool   `json:"no_follow,omitempty"`     // do not scroll along with a reply
	NoShortcuts  bool   `json:"no_shortcuts,omitempty"`
	Notify       bool   `json:"notify,omitempty"` // browser notifications
	DefaultModel string `json:"default_model,omitempty"`
}

// SessionOpened begins a browser login. Hash is hex SHA-256 of the cookie's
// 256 random bits, which cannot be turned back.
type SessionOpened struct {
	Session string `json:"session"`
	Hash    string `json:"hash"`
	Address string `json:"address"`
	Agent   string `json:"agent"`   // the browser's name for itself, at most 200 bytes
	Expires string `json:"expires"` // RFC 3339 UTC
}

// SessionRevoked ends a browser login. Reason: signed_out, revoked, password,
// disabled, expired, or crowded where newer ones took its place.
type SessionRevoked struct {
	Session string `json:"session"`
	Reason  string `json:"reason"`
}

// The scopes of a token.
const (
	ScopeRead  = "read"
	ScopeWrite = "write"
	ScopeAdmin = "admin"
)

// TokenCreated makes an API token. Hash is hex SHA-256 of its 256 random bits.
type TokenCreated struct {
	Token   string `json:"token"` // its id
	Name    string `json:"name"`
	Hash    string `json:"hash"`
	Scope   string `json:"scope"`
	Expires string `json:"expires,omitempty"` // RFC 3339 UTC
}

// TokenRevoked ends an API token.
type TokenRevoked struct {
	Token string `json:"token"`
}

// ChatSeen says how far a person has read a chat, in the stream of the person.
type ChatSeen struct {
	Chat     string   `json:"chat"`
	Position Position `json:"position"`
}

func (UserRegistered) EventType() string         { return "user.registered" }
func (UserChanged) EventType() string            { return "user.changed" }
func (UserSignedIn) EventType() string           { return "user.signed_in" }
func (UserSignInFailed) EventType() string       { return "user.sign_in_failed" }
func (UserPasswordChanged) EventType() string    { return "user.password_changed" }
func (UserPreferencesChanged) EventType() string { return "user.preferences_changed" }
func (SessionOpened) EventType() string          { return "session.opened" }
func (SessionRevoked) EventType() string         { return "session.revoked" }
func (TokenCreated) EventType() string           { return "token.created" }
func (TokenRevoked) EventType() string           { return "token.revoked" }
func (ChatSeen) EventType() string               { return "chat.seen" }

func userTypes() []Info {
	return []Info{
		define[UserRegistered](1, permits), define[UserChanged](1, permits), define[UserSignedIn](1, weak),
		define[UserSignInFailed](1, weak), define[UserPasswordChanged](1, permits), define[UserPreferencesChanged](1),
		define[SessionOpened](1, weak, permits), define[SessionRevoked](1, weak, permits),
		define[TokenCreated](1, permits), define[TokenRevoked](1, permits), define[ChatSeen](1, weak),
	}
}
