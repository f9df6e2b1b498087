package pages_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"lembas/commands"
	"lembas/events"
)

// TestTokenNeverGainsRights: the forms take API tokens too, and give one that
// has not the scope admin none that has.
func TestTokenNeverGainsRights(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann") // the administrator
	for _, scope := range []string{events.ScopeRead, events.ScopeWrite} {
		made, err := h.CreateToken(t.Context(), ann.Caller, commands.CreateToken{Name: "x", Scope: scope})
		h.ok(err)
		r, err := http.NewRequestWithContext(t.Context(), "POST", h.http.URL+"/settings/tokens", strings.NewReader("name=y&scope=admin"))
		h.ok(err)
		r.Header.Set("Authorization", "Bearer "+made.Secret)
		res, err := h.http.Client().Do(r)
		h.ok(err)
		body, err := io.ReadAll(res.Body)
		h.ok(err)
		h.ok(res.Body.Close())
		if res.StatusCode != http.StatusForbidden || strings.Contains(string(body), "lmb_") {
			t.Errorf("with the scope %s: %d %s", scope, res.StatusCode, body)
		}
	}
}
