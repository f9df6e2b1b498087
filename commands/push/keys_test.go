package push

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
	"lembas/events/store"
	"lembas/events/vault"
)

// secrets adapts the vault: an empty secret is none.
type secrets struct{ *vault.Vault }

func (s secrets) Seal(name string, b []byte) (events.Put, error) {
	if len(b) == 0 {
		return vault.Delete(name), nil
	}
	return s.Vault.Seal(name, b)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newLog(t testing.TB) (*store.Store, secrets) {
	t.Helper()
	log, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	check(t, err)
	t.Cleanup(func() { check(t, log.Close()) })
	v, err := vault.Open(log, vault.Options{SecretKey: vault.NewKey()})
	check(t, err)
	return log, secrets{v}
}

func newVault(t testing.TB) (secrets, *Keys) {
	t.Helper()
	log, s := newLog(t)
	keys, err := EnsureKeys(t.Context(), log, s)
	check(t, err)
	return s, keys
}

func TestKeysAreMadeOnce(t *testing.T) {
	log, s := newLog(t)
	public := make([]string, 8)
	var all sync.WaitGroup
	for i := range public {
		all.Go(func() {
			keys, err := EnsureKeys(t.Context(), log, s)
			if err != nil {
				t.Error(err)
				return
			}
			public[i] = keys.Public()
		})
	}
	all.Wait()
	for _, p := range public {
		if p != public[0] || len(p) != 87 {
			t.Errorf("keys %q", public)
		}
	}
	if n := log.Head(); n != 1 {
		t.Errorf("%d events, one claim is enough", n)
	}
	raw, err := s.Open(keyName)
	check(t, err)
	for e, err := range log.Read(t.Context(), 0) {
		check(t, err)
		if strings.Contains(string(e.Data), string(raw)) || strings.Contains(string(e.Data), public[0]) {
			t.Errorf("the key is in %s", e.Data)
		}
	}
}

// TestKeysOfALogWithoutItsVault: an import brings the claim, not the secret.
func TestKeysOfALogWithoutItsVault(t *testing.T) {
	log, s := newLog(t)
	_, err := log.Append(t.Context(), events.Batch{Actor: events.Actor{Kind: events.System, ID: "lembas"},
		Parts: []events.Part{{Stream: events.ClaimStream(keyClaim), Events: []events.New{{Payload: events.ClaimMade{Owner: "instance"}}}}}})
	check(t, err)
	first, err := EnsureKeys(t.Context(), log, s)
	check(t, err)
	again, err := EnsureKeys(t.Context(), log, s)
	check(t, err)
	if first.Public() != again.Public() {
		t.Error("the new key was not kept")
	}
}

func TestKeysThatAreDamaged(t *testing.T) {
	log, s := newLog(t)
	put, err := s.Seal(keyName, []byte("not a key"))
	check(t, err)
	_, err = log.Append(t.Context(), events.Batch{Actor: events.Actor{Kind: events.System, ID: "lembas"}, Puts: []events.Put{put},
		Parts: []events.Part{{Stream: events.ClaimStream(keyClaim), Events: []events.New{{Payload: events.ClaimMade{Owner: "instance"}}}}}})
	check(t, err)
	if _, err := EnsureKeys(t.Context(), log, s); !errors.Is(err, events.ErrDamaged) || strings.Contains(err.Error(), "not a key") {
		t.Errorf("error %v", err)
	}
}

// full is a log that takes nothing.
type full struct{ *store.Store }

func (full) Append(context.Context, events.Batch) (events.Result, error) {
	return events.Result{}, events.ErrReadOnly
}

// TestKeysOnAFullDisk: the server starts, and tells nobody.
func TestKeysOnAFullDisk(t *testing.T) {
	log, s := newLog(t)
	keys, err := EnsureKeys(t.Context(), full{log}, s)
	if keys != nil || err != nil || keys.Public() != "" {
		t.Errorf("%v, %v", keys, err)
	}
	w := newWorld(t, true)
	w.browser(w.ann, "/a")
	w.sender.o.Keys = nil
	w.handle(w.ask("x1", time.Hour))
	w.want()
	made, err := EnsureKeys(t.Context(), log, s) // the next start
	if made == nil || err != nil {
		t.Errorf("%v, %v", made, err)
	}
}
