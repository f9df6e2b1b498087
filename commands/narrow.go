package commands

import (
	"maps"
	"regexp"

	"lembas/events"
)

// maxScope bounds how many keys a chat's scope has.
const maxScope = 500

// scopeKey is a gate, or custom:SLUG or mcp:SLUG for a row of one.
var scopeKey = regexp.MustCompile(`^(?:[a-z][a-z_]{0,63}|(?:custom|mcp):[a-z0-9_-]{1,64})$`)

// patchScope gives the scope after a change: what is on is not kept, because
// absent is on. A key that no tool has is harmless: it narrows nothing.
func patchScope(was, change map[string]bool) (map[string]bool, error) {
	out := map[string]bool{}
	if len(change) > 0 {
		maps.Copy(out, was)
	}
	for key, on := range change {
		if !scopeKey.MatchString(key) {
			return nil, events.Invalid("scope", "%q is no gate and no row; such are fetch, custom:weather or mcp:files", clip(key, 100))
		}
		if out[key] = on; on {
			delete(out, key)
		}
	}
	if len(out) > maxScope {
		return nil, events.Invalid("scope", "at most %d keys", maxScope)
	}
	return out, nil
}
