package commands

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode/utf8"

	"lembas/events"
)

// Bounds of what an account is made of.
const (
	MinPassword = 8    // characters
	MaxPassword = 1024 // bytes, checked before hashing
	MaxEmail    = 254  // bytes
	MaxName     = 100  // characters
)

const (
	indexKeyName = "instance/index-key"
	firstAdmin   = "first-admin"
)

// Passwords hashes and checks; argon2id behind a gate that bounds its memory.
type Passwords interface {
	Hash(ctx context.Context, password string) (string, error)
	Verify(ctx context.Context, hash, password string) (bool, error)
}

// ErrSignupOff says that this instance takes no new accounts.
var ErrSignupOff = fmt.Errorf("sign-up is off on this instance; ask its administrator for an account: %w", events.ErrForbidden)

// ErrEmailTaken says that an account could not be made, without naming whose.
var ErrEmailTaken = fmt.Errorf("an account with this e-mail address exists; sign in instead: %w", events.ErrConflict)

// initialise writes a new log's first event together with the key that e-mail
// addresses are hashed with before they become stream names.
func (s *Service) initialise(ctx context.Context, version string) error {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	put, err := s.Secrets.Seal(indexKeyName, key)
	if err != nil {
		return err
	}
	cause := s.NewID()
	_, err = s.Log.Append(ctx, events.Batch{Actor: Caller{}.actor(), Correlation: cause, Causation: cause, Puts: []events.Put{put},
		Parts: []events.Part{{Stream: events.InstanceStream, Expect: events.Exactly(0),
			Events: happened(events.InstanceCreated{Version: version})}}})
	return err
}

// emailClaim is the stream that owns an address: a keyed hash, so that no
// address is a key on disk.
func (s *Service) emailClaim(email string) string {
	m := hmac.New(sha256.New, s.indexKey)
	m.Write([]byte(NormalEmail(email)))
	return events.ClaimStream("email/" + hex.EncodeToString(m.Sum(nil)))
}

// NormalEmail is the form in which addresses are compared.
func NormalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// UserByEmail finds an account by its address.
func (s *Service) UserByEmail(ctx context.Context, email string) (User, error) {
	var owner string
	for env, err := range s.Log.ReadStream(ctx, s.emailClaim(email), 0) {
		if err != nil {
			return User{}, err
		}
		p, err := events.Decode(&env)
		if err != nil {
			return User{}, err
		}
		switch p := p.(type) {
		case events.ClaimMade:
			owner = p.Owner
		case events.ClaimReleased:
			owner = ""
		}
	}
	if owner == "" {
		return User{}, fmt.Errorf("account: %w", events.ErrNotFound)
	}
	return s.User(ctx, owner)
}

// User gives an account by its id.
func (s *Service) User(ctx context.Context, id string) (User, error) {
	var out User
	err := s.users.view(ctx, events.UserStream(id), func(u *User, _ events.Position) error {
		if u.ID == "" {
			return fmt.Errorf("account: %w", events.ErrNotFound)
		}
		out = u.clone()
		return nil
	})
	return out, err
}

// onUser runs a decision about one account. What it means for push is added.
func onUser[A any](ctx context.Context, s *Service, c Caller, user string, decide func(*User) ([]events.Payload, []events.Put, A, error)) (A, events.Result, error) {
	return handle(ctx, s, c, func() (attempt[A], error) {
		var a attempt[A]
		err := s.users.view(ctx, events.UserStream(user), func(u *User, _ events.Position) error {
			if u.ID == "" {
				return fmt.Errorf("account: %w", events.ErrNotFound)
			}
			payloads, puts, answer, err := decide(u)
			if err != nil {
				return err
			}
			ended, forgotten, err := s.endPushes(u, payloads)
			if err != nil {
				return err
			}
			payloads, puts = append(payloads, ended...), append(puts, forgotten...)
			a.answer, a.puts = answer, puts
			if len(payloads) > 0 {
				a.parts = []events.Part{{Stream: events.UserStream(user), Expect: events.Exactly(u.Deciding), Events: happened(payloads...)}}
			}
			return nil
		})
		return a, err
	})
}

// Register is a new account.
type Register struct {
	Email, Name, Password string
	// ByAdmin makes an account whatever the sign-up setting says; Admin makes
	// it an administrator.
	ByAdmin, Admin bool
}

// Registered answers Register.
type Registered struct {
	User  string `json:"id"`
	Admin bool   `json:"admin"`
}

// Register makes an account. The first one of an instance is its administrator:
// the claim on that is in the same append, so of many at once one has it.
func (s *Service) Register(ctx context.Context, c Caller, cmd Register) (Registered, events.Result, error) {
	if err := checkRegister(cmd); err != nil {
		return Registered{}, events.Result{}, err
	}
	hash, err := s.Passwords.Hash(ctx, cmd.Password)
	if err != nil {
		return Registered{}, events.Result{}, err
	}
	id := s.NewID()
	put, err := s.Secrets.Seal(passwordName(id), []byte(hash))
	if err != nil {
		return Registered{}, events.Result{}, err
	}
	return handle(ctx, s, c, func() (attempt[Registered], error) {
		claim := s.emailClaim(cmd.Email)
		taken, err := s.Log.Stream(ctx, claim)
		if err != nil {
			return attempt[Registered]{}, err
		}
		first, err := s.Log.Stream(ctx, events.ClaimStream(firstAdmin))
		if err != nil {
			return attempt[Registered]{}, err
		}
		return s.register(ctx, id, claim, cmd, taken, first, put)
	})
}

func (s *Service) register(ctx context.Context, id, claim string, cmd Register, taken, first events.StreamInfo, put events.Put) (attempt[Registered], error) {
	isFirst := first.Version == 0
	if !isFirst && !cmd.ByAdmin {
		settings, err := s.Settings(ctx)
		if err != nil {
			return attempt[Registered]{}, err
		}
		if !settings.Bool("signup") {
			return attempt[Registered]{}, ErrSignupOff
		}
	}
	if taken.Version != 0 {
		return attempt[Registered]{}, ErrEmailTaken
	}
	admin := isFirst || (cmd.ByAdmin && cmd.Admin)
	a := attempt[Registered]{answer: Registered{User: id, Admin: admin}, puts: []events.Put{put}, parts: []events.Part{
		{Stream: events.UserStream(id), Expect: events.Exactly(0), Events: happened(events.UserRegistered{
			User: id, Email: strings.TrimSpace(cmd.Email), Name: displayName(cmd), Admin: admin})},
		{Stream: claim, Expect: events.Exactly(0), Events: happened(events.ClaimMade{Owner: id})},
	}}
	if isFirst {
		a.parts = append(a.parts, events.Part{Stream: events.ClaimStream(firstAdmin), Expect: events.Exactly(0),
			Events: happened(events.ClaimMade{Owner: id})})
	}
	return a, nil
}

func passwordName(user string) string { return "user/" + user + "/password" }

func displayName(cmd Register) string {
	if name := oneLine(cmd.Name); name != "" {
		return name
	}
	name, _, _ := strings.Cut(strings.TrimSpace(cmd.Email), "@")
	return name
}

func checkRegister(cmd Register) error {
	return errors.Join(checkEmail(cmd.Email), checkName(cmd.Name), checkPassword("password", cmd.Password))
}

func checkEmail(email string) error {
	email = strings.TrimSpace(email)
	a, err := mail.ParseAddress(email)
	if err != nil || a.Address != email || len(email) > MaxEmail || oneLine(email) != email {
		return events.Invalid("email", "must be an e-mail address such as ann@example.org, at most %d bytes", MaxEmail)
	}
	return nil
}

func checkName(name string) error {
	if utf8.RuneCountInString(name) > MaxName || !utf8.ValidString(name) {
		return events.Invalid("name", "at most %d characters", MaxName)
	}
	return nil
}

func checkPassword(field, password string) error {
	switch {
	case len(password) > MaxPassword:
		return events.Invalid(field, "at most %d bytes", MaxPassword)
	case utf8.RuneCountInString(password) < MinPassword:
		return events.Invalid(field, "at least %d characters", MinPassword)
	}
	return nil
}

// CreateAdmin makes an administrator, or promotes the account that has the
// address; a password is then changed only when one is given.
func (s *Service) CreateAdmin(ctx context.Context, c Caller, cmd Register) (Registered, error) {
	u, err := s.UserByEmail(ctx, cmd.Email)
	if errors.Is(err, events.ErrNotFound) {
		cmd.ByAdmin, cmd.Admin = true, true
		r, _, err := s.Register(ctx, c, cmd)
		return r, err
	}
	if err != nil {
		return Registered{}, err
	}
	yes, no := true, false
	if _, err := s.ChangeUser(ctx, c, u.ID, ChangeUser{Admin: &yes, Disabled: &no}); err != nil {
		return Registered{}, err
	}
	if cmd.Password != "" {
		err = s.SetPassword(ctx, c, u.ID, cmd.Password)
	}
	return Registered{User: u.ID, Admin: true}, err
}

// ChangeUser is what an administrator changes of an account; nil is unchanged.
type ChangeUser struct {
	Name            *string
	Admin, Disabled *bool
	Password        *string
}

// ChangeUser changes an account. Disabling ends its sessions.
func (s *Service) ChangeUser(ctx context.Context, c Caller, user string, cmd ChangeUser) (events.Result, error) {
	if cmd.Name != nil {
		if err := checkName(*cmd.Name); err != nil {
			return events.Result{}, err
		}
		name := oneLine(*cmd.Name)
		cmd.Name = &name
	}
	if user == c.User && (cmd.Disabled != nil && *cmd.Disabled || cmd.Admin != nil && !*cmd.Admin) {
		return events.Result{}, events.Invalid("id", "you can neither disable yourself nor give up your own administrator role; another administrator can")
	}
	_, res, err := onUser(ctx, s, c, user, func(u *User) ([]events.Payload, []events.Put, struct{}, error) {
		out := []events.Payload{events.UserChanged{Name: cmd.Name, Admin: cmd.Admin, Disabled: cmd.Disabled}}
		if cmd.Disabled != nil && *cmd.Disabled {
			out = append(out, revokeAll(u, "", "disabled")...)
		}
		return out, nil, struct{}{}, nil
	})
	if err == nil && cmd.Password != nil {
		c.Key = ""
		err = s.SetPassword(ctx, c, user, *cmd.Password)
	}
	return res, err
}

// SetPreferences replaces a person's preferences.
func (s *Service) SetPreferences(ctx context.Context, c Caller, p events.Preferences) (events.Result, error) {
	if p.Theme != "" && p.Theme != "moria" && p.Theme != "shire" {
		return events.Result{}, events.Invalid("theme", "moria, shire or empty")
	}
	if p.Font != "" && p.Font != "serif" && p.Font != "sans" {
		return events.Result{}, events.Invalid("font", "serif, sans or empty")
	}
	_, res, err := onUser(ctx, s, c, c.User, func(u *User) ([]events.Payload, []events.Put, struct{}, error) {
		if u.Preferences == p {
			return nil, nil, struct{}{}, nil
		}
		return []events.Payload{events.UserPreferencesChanged{Preferences: p}}, nil, struct{}{}, nil
	})
	return res, err
}

// Seen says how far the caller has read a chat.
func (s *Service) Seen(ctx context.Context, c Caller, chat string, position events.Position) (events.Result, error) {
	if err := s.ViewChat(ctx, c.User, chat, nilView); err != nil {
		return events.Result{}, err
	}
	position = min(position, s.Log.Head())
	_, res, err := onUser(ctx, s, c, c.User, func(u *User) ([]events.Payload, []events.Put, struct{}, error) {
		if u.seen[chat] >= position {
			return nil, nil, struct{}{}, nil
		}
		return []events.Payload{events.ChatSeen{Chat: chat, Position: position}}, nil, struct{}{}, nil
	})
	return res, err
}
