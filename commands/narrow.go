package commands

import (
	"regexp"

	"lembas/events"
)

// maxScope bounds how many keys a chat's scope has.
const maxScope = 500

// scopeKey is a gate, or custom:SLUG or mcp:SLUG for a row of one.
var scopeKey = regexp.MustCompile(`^(?:[a-z][a-z_]{0,63}|(?:custom|mcp):[a-z0-9_-]{1,64})$`)

// newScope gives a chat's whole scope as a person sets it: what is on is not
// kept, because absent is on. A key that no tool has is harmless: it narrows
// nothing.
func newScope(set map[string]bool) (map[string]bool, error) {
	out := map[string]bool{}
	for key, on := range set {
		if !scopeKey.MatchString(key) {
			return nil, events.Invalid("scope", "%q is no gate and no row; such are fetch, custom:weather or mcp:files", clip(key, 100))
		}
		if !on {
			out[key] = false
		}
	}
	if len(out) > maxScope {
		return nil, events.Invalid("scope", "at most %d keys", maxScope)
	}
	return out, nil
}
