package commands

import (
	"encoding/json"
	"errors"
	"testing"

	"lembas/events"
)

// TestPermissions: what everybody has is a setting; an administrator has all and
// a disabled person nothing.
func TestPermissions(t *testing.T) {
	w := newHouse(t)
	admin, bob := w.register(t, "ann@example.test"), w.register(t, "bob@example.test")
	if _, err := w.ChangeSettings(t.Context(), admin, map[string]json.RawMessage{"permissions": json.RawMessage(`["tools.fetch"]`)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		who        Caller
		permission string
		want       bool
	}{{admin, "chat.use", true}, {bob, "tools.fetch", true}, {bob, "tools.mcp", false}, {bob, "chat.use", false}} {
		if got, err := w.Permitted(t.Context(), c.who.User, c.permission); err != nil || got != c.want {
			t.Errorf("%s of %s: %t (%v)", c.permission, c.who.User, got, err)
		}
	}
	if _, _, err := w.CreateChat(t.Context(), bob, CreateChat{Text: "x"}); !errors.Is(err, events.ErrForbidden) {
		t.Errorf("a chat without chat.use: %v", err)
	}
	if _, _, err := w.SubmitMessage(t.Context(), bob, "none", "x"); !errors.Is(err, events.ErrForbidden) {
		t.Errorf("a message without chat.use: %v", err)
	}
	if _, _, err := w.Compact(t.Context(), bob, "none"); !errors.Is(err, events.ErrForbidden) {
		t.Errorf("a summary without chat.use: %v", err)
	}
}
