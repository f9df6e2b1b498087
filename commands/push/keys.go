package push

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	"lembas/commands"
	"lembas/events"
)

const (
	keyName  = "instance/push-key"
	keyClaim = "push-key"
)

// Keys are the instance's own for Web Push (VAPID): browsers bind their
// subscriptions to the public one, so new keys end all of them.
type Keys struct{ private *ecdsa.PrivateKey }

// Public is the key as browsers take it: an uncompressed point of P-256 in
// base64url without padding; "" without keys.
func (k *Keys) Public() string {
	if k == nil {
		return ""
	}
	b, err := k.private.PublicKey.Bytes()
	if err != nil {
		panic("push: a key of P-256 has bytes: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// EnsureKeys reads the keys, or makes them: at the first start, and where a log
// came without its secrets. Two that do it at once get the same. The log must
// have its first event already (commands.Service.Open). While the log takes
// nothing there are none to make: nil, and nobody is told until the next start.
func EnsureKeys(ctx context.Context, log events.Log, secrets commands.Secrets) (*Keys, error) {
	// The claim is looked at first: a key that is made after this conflicts.
	at, err := log.Stream(ctx, events.ClaimStream(keyClaim))
	if err != nil {
		return nil, fmt.Errorf("reading the claim on the push key: %w", err)
	}
	keys, err := readKeys(secrets)
	if !errors.Is(err, events.ErrNotFound) {
		return keys, err
	}
	err = makeKeys(ctx, log, secrets, at)
	if errors.Is(err, events.ErrReadOnly) {
		return nil, nil
	}
	if err != nil && !errors.Is(err, events.ErrConflict) {
		return nil, fmt.Errorf("making the push key: %w", err)
	}
	return readKeys(secrets) // of whoever was first
}

func readKeys(secrets commands.Secrets) (*Keys, error) {
	b, err := secrets.Open(keyName)
	if err != nil {
		return nil, fmt.Errorf("reading the push key: %w", err)
	}
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), b)
	if err != nil { // its words could quote the secret
		return nil, fmt.Errorf("%w: the push key in the vault is no key of P-256", events.ErrDamaged)
	}
	return &Keys{private}, nil
}

// makeKeys keeps a new key together with the claim on it.
func makeKeys(ctx context.Context, log events.Log, secrets commands.Secrets, at events.StreamInfo) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	raw, err := private.Bytes()
	if err != nil {
		return err
	}
	put, err := secrets.Seal(keyName, raw)
	if err != nil {
		return err
	}
	made := []events.New{{Payload: events.ClaimMade{Owner: "instance"}}}
	if at.Version > 0 { // a copy of a log, without its vault
		made = append([]events.New{{Payload: events.ClaimReleased{}}}, made...)
	}
	_, err = log.Append(ctx, events.Batch{Actor: events.Actor{Kind: events.System, ID: "lembas"}, Correlation: keyClaim, Causation: keyClaim,
		Puts: []events.Put{put}, Parts: []events.Part{{Stream: events.ClaimStream(keyClaim), Expect: events.Exactly(at.Deciding), Events: made}}})
	return err
}
