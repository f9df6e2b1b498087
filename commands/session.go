package commands

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lembas/events"
	"lembas/projections/transcript"
)

// SessionLife is how long a browser login lasts.
const SessionLife = 30 * 24 * time.Hour

// tokenPrefix makes an API token recognisable to people and scanners.
const tokenPrefix = "lmb_"

// ErrCredentials says that a sign-in failed, without saying what was wrong.
var ErrCredentials = errors.New("the e-mail address or the password is not right")

func nilView(*transcript.Chat) error { return nil }

// bearer makes a secret that names its own record: user, record and 256 random
// bits. The hash is what events keep.
func bearer(user, record string) (secret, hash string, err error) {
	random := make([]byte, 32)
	if _, err := rand.Read(random); err != nil {
		return "", "", err
	}
	secret = user + "." + record + "." + base64.RawURLEncoding.EncodeToString(random)
	return secret, bearerHash(secret), nil
}

func bearerHash(secret string) string {
	h := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(h[:])
}

func splitBearer(secret string) (user, record string, ok bool) {
	parts := strings.Split(secret, ".")
	if len(parts) != 3 || len(secret) > 200 {
		return "", "", false
	}
	return parts[0], parts[1], true
}

func sameHash(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Identity is who a session or a token stands for, looked up now.
type Identity struct {
	User    User
	Session string // its id, for a session
	Token   string // its id, for a token
	Scope   string // of a token; a session has all that its person has
}

// Authenticate finds who a session's cookie stands for; not found for one that
// is unknown, expired, revoked or of a disabled account.
func (s *Service) Authenticate(ctx context.Context, cookie string) (Identity, error) {
	user, id, ok := splitBearer(cookie)
	if !ok {
		return Identity{}, fmt.Errorf("session: %w", events.ErrNotFound)
	}
	u, err := s.User(ctx, user)
	if err != nil {
		return Identity{}, err
	}
	x, ok := u.Sessions[id]
	if !ok || u.Disabled || !sameHash(x.Hash, bearerHash(cookie)) || !s.Now().Before(x.Expires) {
		return Identity{}, fmt.Errorf("session: %w", events.ErrNotFound)
	}
	return Identity{User: u, Session: id, Scope: events.ScopeAdmin}, nil
}

// AuthenticateToken is Authenticate for an API token.
func (s *Service) AuthenticateToken(ctx context.Context, token string) (Identity, error) {
	secret, prefixed := strings.CutPrefix(token, tokenPrefix)
	user, id, ok := splitBearer(secret)
	if !prefixed || !ok {
		return Identity{}, fmt.Errorf("token: %w", events.ErrNotFound)
	}
	u, err := s.User(ctx, user)
	if err != nil {
		return Identity{}, err
	}
	x, ok := u.Tokens[id]
	if !ok || u.Disabled || !sameHash(x.Hash, bearerHash(secret)) || (!x.Expires.IsZero() && !s.Now().Before(x.Expires)) {
		return Identity{}, fmt.Errorf("token: %w", events.ErrNotFound)
	}
	return Identity{User: u, Token: id, Scope: x.Scope}, nil
}

// SignIn checks a password and opens a session; the cookie is shown once. The
// work is the same whether the account exists or not.
func (s *Service) SignIn(ctx context.Context, c Caller, email, password, agent string) (cookie string, id Identity, err error) {
	if len(password) > MaxPassword || len(email) > MaxEmail {
		return "", Identity{}, ErrCredentials
	}
	u, err := s.UserByEmail(ctx, email)
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return "", Identity{}, err
	}
	ok, err := s.checkPassword(ctx, u, password)
	if err != nil {
		return "", Identity{}, err
	}
	if !ok || u.Disabled {
		if u.ID != "" {
			s.recordFailure(ctx, u, c, "")
		}
		return "", Identity{}, ErrCredentials
	}
	c.User = u.ID
	return s.OpenSession(ctx, c, agent)
}

func (s *Service) checkPassword(ctx context.Context, u User, password string) (bool, error) {
	hash := ""
	if u.ID != "" {
		b, err := s.Secrets.Open(passwordName(u.ID))
		if err != nil && !errors.Is(err, events.ErrNotFound) {
			return false, err
		}
		hash = string(b)
	}
	ok, err := s.Passwords.Verify(ctx, hash, password)
	return ok && hash != "", err
}

func (s *Service) recordFailure(ctx context.Context, u User, c Caller, session string) {
	// The refusal stands whether or not it could be recorded.
	_, _ = s.Log.Append(ctx, events.Batch{Actor: Caller{}.actor(), Correlation: c.Correlation, Causation: s.NewID(),
		Parts: []events.Part{{Stream: events.UserStream(u.ID), Events: happened(events.UserSignInFailed{Address: c.Address, Session: session})}}})
}

// OpenSession opens a session for the caller, who has just registered or
// signed in.
func (s *Service) OpenSession(ctx context.Context, c Caller, agent string) (cookie string, id Identity, err error) {
	session := s.NewID()
	cookie, hash, err := bearer(c.User, session)
	if err != nil {
		return "", Identity{}, err
	}
	c.Key = ""
	_, _, err = onUser(ctx, s, c, c.User, func(u *User) ([]events.Payload, []events.Put, struct{}, error) {
		if u.Disabled {
			return nil, nil, struct{}{}, ErrCredentials
		}
		return append(s.crowded(u),
			events.UserSignedIn{Session: session, Address: c.Address},
			events.SessionOpened{Session: session, Hash: hash, Address: c.Address, Agent: clip(agent, 200),
				Expires: s.Now().Add(SessionLife).UTC().Format(time.RFC3339)},
		), nil, struct{}{}, nil
	})
	if err != nil {
		return "", Identity{}, err
	}
	id, err = s.Authenticate(ctx, cookie)
	return cookie, id, err
}

// maxSessions bounds the logins of one person, which are in memory and looked at
// with each request.
const maxSessions = 100

// crowded ends the sessions that have expired, and the oldest ones where another
// one would be too many.
func (s *Service) crowded(u *User) (out []events.Payload) {
	list := slices.SortedFunc(maps.Values(u.Sessions), func(a, b Session) int { return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.ID, b.ID)) })
	left := len(list)
	for _, x := range list {
		if !s.Now().Before(x.Expires) {
			out = append(out, events.SessionRevoked{Session: x.ID, Reason: "expired"})
			left--
		}
	}
	for _, x := range list {
		if left >= maxSessions && s.Now().Before(x.Expires) {
			out = append(out, events.SessionRevoked{Session: x.ID, Reason: "crowded"})
			left--
		}
	}
	return out
}

// clip cuts s to n bytes at a character's border.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "�")
	for len(s) > n {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// RevokeSession ends one session of the caller.
func (s *Service) RevokeSession(ctx context.Context, c Caller, session, reason string) (events.Result, error) {
	_, res, err := onUser(ctx, s, c, c.User, func(u *User) ([]events.Payload, []events.Put, struct{}, error) {
		if _, ok := u.Sessions[session]; !ok {
			return nil, nil, struct{}{}, fmt.Errorf("session: %w", events.ErrNotFound)
		}
		return []events.Payload{events.SessionRevoked{Session: session, Reason: reason}}, nil, struct{}{}, nil
	})
	return res, err
}

// How often somebody signed in may be wrong about the present password: who took
// a session must not find out the password with it.
const (
	maxGuesses  = 8
	guessWindow = 2 * time.Minute
)

// ChangePassword changes the caller's own password and ends all other sessions.
func (s *Service) ChangePassword(ctx context.Context, c Caller, old, password string) error {
	u, err := s.guesser(ctx, c.User)
	if err != nil {
		return err
	}
	ok, err := s.checkPassword(ctx, u, clip(old, MaxPassword))
	if err != nil {
		return err
	}
	// Of many at once all passed the first look; beyond the bound a right one
	// looks like a wrong one.
	if u, err = s.guesser(ctx, c.User); err != nil {
		return err
	}
	if !ok {
		s.recordFailure(ctx, u, c, cmp.Or(c.Session, c.Token))
		return events.Invalid("current", "this is not your present password")
	}
	return s.SetPassword(ctx, c, c.User, password)
}

// guesser gives an account, or busy when its present password was guessed
// wrongly too often.
func (s *Service) guesser(ctx context.Context, user string) (User, error) {
	u, err := s.User(ctx, user)
	if err == nil && len(u.guesses) == maxGuesses && s.Now().Sub(u.guesses[0]) < guessWindow {
		err = fmt.Errorf("too many wrong passwords; try again in %v: %w", guessWindow, events.ErrBusy)
	}
	return u, err
}

// SetPassword sets a password and ends all sessions but the caller's own.
func (s *Service) SetPassword(ctx context.Context, c Caller, user, password string) error {
	if err := checkPassword("password", password); err != nil {
		return err
	}
	hash, err := s.Passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	put, err := s.Secrets.Seal(passwordName(user), []byte(hash))
	if err != nil {
		return err
	}
	_, _, err = onUser(ctx, s, c, user, func(u *User) ([]events.Payload, []events.Put, struct{}, error) {
		out := append([]events.Payload{events.UserPasswordChanged{}}, revokeAll(u, c.Session, "password")...)
		return out, []events.Put{put}, struct{}{}, nil
	})
	return err
}

func revokeAll(u *User, but, reason string) (out []events.Payload) {
	for id := range u.Sessions {
		if id != but {
			out = append(out, events.SessionRevoked{Session: id, Reason: reason})
		}
	}
	return out
}

// CreateToken is a new API token.
type CreateToken struct {
	Name    string
	Scope   string    // "" is write; the API and the command line give the maker's own
	Expires time.Time // zero is never
}

// CreatedToken answers CreateToken; Secret is shown this once.
type CreatedToken struct {
	ID     string `json:"id"`
	Name   string `json:"name"` // as it is kept
	Secret string `json:"token"`
}

const maxTokens = 100

// CreateToken makes an API token for the caller. A token makes none that may do
// more than itself, or lasts longer. It takes no idempotency key: the secret is
// not kept, so it could not be answered twice.
func (s *Service) CreateToken(ctx context.Context, c Caller, cmd CreateToken) (CreatedToken, error) {
	c.Key = ""
	if cmd.Scope == "" {
		cmd.Scope = events.ScopeWrite
	}
	cmd.Name = oneLine(cmd.Name)
	if err := checkToken(cmd, s.Now()); err != nil {
		return CreatedToken{}, err
	}
	id := s.NewID()
	secret, hash, err := bearer(c.User, id)
	if err != nil {
		return CreatedToken{}, err
	}
	expires := ""
	if !cmd.Expires.IsZero() {
		expires = cmd.Expires.UTC().Format(time.RFC3339)
	}
	answer, _, err := onUser(ctx, s, c, c.User, func(u *User) ([]events.Payload, []events.Put, CreatedToken, error) {
		if cmd.Scope == events.ScopeAdmin && !u.Admin {
			return nil, nil, CreatedToken{}, events.Invalid("scope", "only an administrator can make a token with the scope admin")
		}
		if err := within(u, c.Token, cmd); err != nil {
			return nil, nil, CreatedToken{}, err
		}
		if len(u.Tokens) >= maxTokens {
			return nil, nil, CreatedToken{}, fmt.Errorf("%d tokens exist already; revoke one first: %w", maxTokens, events.ErrConflict)
		}
		return []events.Payload{events.TokenCreated{Token: id, Name: cmd.Name, Hash: hash, Scope: cmd.Scope, Expires: expires}},
			nil, CreatedToken{ID: id, Name: cmd.Name, Secret: tokenPrefix + secret}, nil
	})
	return answer, err
}

// within refuses a new token that goes beyond the one that asks for it.
func within(u *User, asking string, cmd CreateToken) error {
	if asking == "" {
		return nil
	}
	rank := map[string]int{events.ScopeRead: 1, events.ScopeWrite: 2, events.ScopeAdmin: 3}
	t, ok := u.Tokens[asking]
	switch {
	case !ok:
		return fmt.Errorf("token: %w", events.ErrNotFound)
	case rank[cmd.Scope] > rank[t.Scope]:
		return fmt.Errorf("a token with the scope %s cannot make one with the scope %s: %w", t.Scope, cmd.Scope, events.ErrForbidden)
	case !t.Expires.IsZero() && (cmd.Expires.IsZero() || cmd.Expires.After(t.Expires)):
		return fmt.Errorf("a token that expires cannot make one that lasts longer: %w", events.ErrForbidden)
	}
	return nil
}

func checkToken(cmd CreateToken, now time.Time) error {
	if n := utf8.RuneCountInString(cmd.Name); n == 0 || n > MaxName {
		return events.Invalid("name", "1 to %d characters", MaxName)
	}
	switch cmd.Scope {
	case events.ScopeRead, events.ScopeWrite, events.ScopeAdmin:
	default:
		return events.Invalid("scope", "read, write or admin")
	}
	if !cmd.Expires.IsZero() && !cmd.Expires.After(now) {
		return events.Invalid("expires", "must be in the future")
	}
	return nil
}

// RevokeToken ends one API token of the caller.
func (s *Service) RevokeToken(ctx context.Context, c Caller, token string) (events.Result, error) {
	_, res, err := onUser(ctx, s, c, c.User, func(u *User) ([]events.Payload, []events.Put, struct{}, error) {
		if _, ok := u.Tokens[token]; !ok {
			return nil, nil, struct{}{}, fmt.Errorf("token: %w", events.ErrNotFound)
		}
		return []events.Payload{events.TokenRevoked{Token: token}}, nil, struct{}{}, nil
	})
	return res, err
}
