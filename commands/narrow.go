package commands

import (
	"regexp"
	"slices"
	"strings"

	"lembas/events"
)

// maxScope bounds how many keys a chat's scope has.
const maxScope = 500

// scopeRow is a row of a gate that has several.
var scopeRow = regexp.MustCompile(`^(?:custom|mcp):[a-z0-9_-]{1,64}$`)

// newScope gives a chat's whole scope as a person sets it: what is on is not
// kept, because absent is on. A row that is not there is taken: it may have been
// removed a moment ago.
func newScope(set map[string]bool) (map[string]bool, error) {
	out := map[string]bool{}
	for key, on := range set {
		if !slices.Contains(Gates(), key) && !scopeRow.MatchString(key) {
			return nil, events.Invalid("scope", "%q is none of %s, and no row such as custom:weather or mcp:files", clip(key, 100), strings.Join(Gates(), ", "))
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
