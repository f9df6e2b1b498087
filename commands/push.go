package commands

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"lembas/events"
)

// Bounds of push subscriptions.
const (
	MaxPushes   = 20   // of one person
	MaxEndpoint = 2048 // bytes of a subscription's address
)

// The reasons of push.unsubscribed.
const (
	PushByPerson = "person"
	PushGone     = "gone"
	PushSession  = "session"
)

// Push is a browser that is told when a card waits. Its address and keys are in
// the vault.
type Push struct {
	ID      string
	Host    string // of its push service
	Agent   string // the browser's name for itself
	Session string // the login or API token it came with, and ends with
	Created time.Time
}

// PushTarget is where one browser is told. Who has it can tell, so it is shown
// and logged nowhere.
type PushTarget struct {
	ID       string          `json:"-"`
	Host     string          `json:"-"`
	Endpoint string          `json:"endpoint"`
	Key      []byte          `json:"p256dh"` // the browser's public key: an uncompressed point of P-256
	Auth     []byte          `json:"auth"`   // 16 bytes
	Public   *ecdh.PublicKey `json:"-"`      // Key as a key
}

// Subscribe is what a browser's PushSubscription says.
type Subscribe struct {
	Endpoint     string
	P256dh, Auth string // base64url, with or without padding
	Agent        string
}

// Subscribed answers SubscribePush.
type Subscribed struct {
	ID string `json:"id"`
}

// SubscribePush lets a browser of the caller be told when a card waits, until
// the caller's login ends. An address that is known already is the same
// subscription.
func (s *Service) SubscribePush(ctx context.Context, c Caller, cmd Subscribe) (Subscribed, events.Result, error) {
	t, err := readPush(cmd)
	if err != nil {
		return Subscribed{}, events.Result{}, err
	}
	login := cmp.Or(c.Session, c.Token)
	fresh := s.NewID()
	return onUser(ctx, s, c, c.User, func(u *User) ([]events.Payload, []events.Put, Subscribed, error) {
		if !u.signedIn(login, s.Now()) {
			return nil, nil, Subscribed{}, fmt.Errorf("a browser is told for as long as it is signed in, and this one is not: %w", events.ErrForbidden)
		}
		known, same, err := s.knownPush(u, t)
		if err != nil {
			return nil, nil, Subscribed{}, err
		}
		if same && u.Pushes[known].Session == login {
			return nil, nil, Subscribed{ID: known}, nil
		}
		out, puts, left, err := s.deadPushes(u)
		if err != nil {
			return nil, nil, Subscribed{}, err
		}
		if known == "" && left >= MaxPushes {
			return nil, nil, Subscribed{}, fmt.Errorf("%d browsers are told already; remove one first: %w", MaxPushes, events.ErrConflict)
		}
		id := cmp.Or(known, fresh)
		put, err := s.sealPush(id, t)
		out = append(out, events.PushSubscribed{Push: id, Host: t.Host, Agent: clip(cmd.Agent, 200), Session: login})
		return out, append(puts, put), Subscribed{ID: id}, err
	})
}

// readPush checks what a browser said. That the address may be asked at all is
// looked at when something is sent: names change what they mean.
func readPush(cmd Subscribe) (PushTarget, error) {
	t := PushTarget{Endpoint: cmd.Endpoint}
	u, err := url.Parse(cmd.Endpoint)
	if err != nil || len(cmd.Endpoint) > MaxEndpoint || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
		strings.ContainsFunc(cmd.Endpoint, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return t, events.Invalid("endpoint", "must be the https address that the browser gave, at most %d bytes", MaxEndpoint)
	}
	t.Host = strings.ToLower(u.Hostname())
	if t.Key, err = pushKey(cmd.P256dh); err == nil {
		t.Public, err = ecdh.P256().NewPublicKey(t.Key)
	}
	if err != nil {
		return t, events.Invalid("keys.p256dh", "must be a public key of the curve P-256: 65 bytes in base64url")
	}
	if t.Auth, err = pushKey(cmd.Auth); err != nil || len(t.Auth) != 16 {
		return t, events.Invalid("keys.auth", "must be 16 bytes in base64url")
	}
	return t, nil
}

func pushKey(text string) ([]byte, error) {
	if len(text) > 128 {
		return nil, events.ErrTooLarge
	}
	return base64.RawURLEncoding.Strict().DecodeString(strings.TrimRight(text, "="))
}

func pushName(id string) string { return "push/" + id }

func (s *Service) sealPush(id string, t PushTarget) (events.Put, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return events.Put{}, err
	}
	return s.Secrets.Seal(pushName(id), b)
}

// openPush gives where a subscription is told, or an error that matches
// events.ErrNotFound, as after an import: exports have no secrets.
func (s *Service) openPush(p Push) (PushTarget, error) {
	b, err := s.Secrets.Open(pushName(p.ID))
	if err != nil {
		return PushTarget{}, err
	}
	t := PushTarget{ID: p.ID, Host: p.Host}
	if err = json.Unmarshal(b, &t); err == nil {
		t.Public, err = ecdh.P256().NewPublicKey(t.Key)
	}
	if err != nil { // its words could quote the secret
		return PushTarget{}, fmt.Errorf("%w: push subscription %s", events.ErrDamaged, p.ID)
	}
	return t, nil
}

// knownPush finds the subscription with an address, "" for none, and says
// whether its keys are the same.
func (s *Service) knownPush(u *User, t PushTarget) (id string, same bool, err error) {
	for _, p := range u.Pushes {
		if p.Host != t.Host {
			continue
		}
		old, err := s.openPush(p)
		if err != nil && !errors.Is(err, events.ErrNotFound) {
			return "", false, err
		}
		if err == nil && old.Endpoint == t.Endpoint {
			return p.ID, bytes.Equal(old.Key, t.Key) && bytes.Equal(old.Auth, t.Auth), nil
		}
	}
	return "", false, nil
}

// signedIn says whether a login or an API token is one of the account's, and has
// not expired.
func (u *User) signedIn(login string, now time.Time) bool {
	if x, ok := u.Sessions[login]; ok {
		return now.Before(x.Expires)
	}
	x, ok := u.Tokens[login]
	return ok && (x.Expires.IsZero() || now.Before(x.Expires))
}

// LivePushes are the browsers that would be told now, the newest first.
func (u *User) LivePushes(now time.Time) (out []Push) {
	for _, p := range u.Pushes {
		if u.signedIn(p.Session, now) && !u.Disabled {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Push) int { return strings.Compare(b.ID, a.ID) })
	return out
}

// deadPushes ends the subscriptions of logins that have expired, and counts the
// others.
func (s *Service) deadPushes(u *User) ([]events.Payload, []events.Put, int, error) {
	out, puts, err := s.dropPushes(u, PushSession, func(p Push) bool { return !u.signedIn(p.Session, s.Now()) })
	return out, puts, len(u.Pushes) - len(out), err
}

// dropPushes ends the subscriptions that are meant, with their secrets.
func (s *Service) dropPushes(u *User, reason string, meant func(Push) bool) (out []events.Payload, puts []events.Put, err error) {
	for _, id := range slices.Sorted(maps.Keys(u.Pushes)) {
		if !meant(u.Pushes[id]) {
			continue
		}
		put, err := s.Secrets.Seal(pushName(id), nil)
		if err != nil {
			return nil, nil, err
		}
		out, puts = append(out, events.PushUnsubscribed{Push: id, Reason: reason}), append(puts, put)
	}
	return out, puts, nil
}

// endPushes is what a decision means for push: with a login, a token or the
// account ends what it subscribed, whichever decision that is.
func (s *Service) endPushes(u *User, payloads []events.Payload) ([]events.Payload, []events.Put, error) {
	all, gone := false, map[string]bool{}
	for _, p := range payloads {
		switch p := p.(type) {
		case events.SessionRevoked:
			gone[p.Session] = true
		case events.TokenRevoked:
			gone[p.Token] = true
		case events.UserChanged:
			all = all || p.Disabled != nil && *p.Disabled
		}
	}
	return s.dropPushes(u, PushSession, func(p Push) bool { return all || gone[p.Session] })
}

// UnsubscribePush ends one subscription of the caller.
func (s *Service) UnsubscribePush(ctx context.Context, c Caller, push string) (events.Result, error) {
	return s.unsubscribe(ctx, c, c.User, push, PushByPerson)
}

// EndPush ends a subscription that its push service does not know any more.
func (s *Service) EndPush(ctx context.Context, user, push string) error {
	_, err := s.unsubscribe(ctx, Caller{}, user, push, PushGone)
	return err
}

func (s *Service) unsubscribe(ctx context.Context, c Caller, user, push, reason string) (events.Result, error) {
	_, res, err := onUser(ctx, s, c, user, func(u *User) ([]events.Payload, []events.Put, struct{}, error) {
		if _, ok := u.Pushes[push]; !ok {
			return nil, nil, struct{}{}, fmt.Errorf("push subscription: %w", events.ErrNotFound)
		}
		out, puts, err := s.dropPushes(u, reason, func(p Push) bool { return p.ID == push })
		return out, puts, struct{}{}, err
	})
	return res, err
}

// PushTargets gives where a person is told now, the newest first: nowhere for a
// disabled account, and not where the login has ended. lost are subscriptions
// whose secrets are not there.
func (s *Service) PushTargets(ctx context.Context, user string) (targets []PushTarget, lost []string, err error) {
	u, err := s.User(ctx, user)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range u.LivePushes(s.Now()) {
		t, err := s.openPush(p)
		switch {
		case errors.Is(err, events.ErrNotFound), errors.Is(err, events.ErrDamaged):
			lost = append(lost, p.ID)
		case err != nil:
			return nil, nil, err
		default:
			targets = append(targets, t)
		}
	}
	return targets, lost, nil
}

func (u *User) applyPush(p events.Payload, at time.Time) {
	switch p := p.(type) {
	case events.PushSubscribed:
		if old, ok := u.Pushes[p.Push]; ok {
			at = old.Created
		}
		u.Pushes[p.Push] = Push{ID: p.Push, Host: p.Host, Agent: p.Agent, Session: p.Session, Created: at}
	case events.PushUnsubscribed:
		delete(u.Pushes, p.Push)
	}
}
