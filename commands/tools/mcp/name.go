package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"lembas/events"
)

const maxOffered = 64 // bytes: what endpoints accept

// offeredNames gives each tool's offered name by its own. A tool whose own name
// can stand as it is keeps it; another one that would shadow it, or something
// that is taken, gets a mark made of its own name, so that the name of a tool
// does not depend on the order in which a server lists.
func offeredNames(slug string, list []events.ServerTool, taken func(string) bool) map[string]string {
	out, used := map[string]string{}, map[string]bool{}
	order := slices.Clone(list)
	exact := func(t events.ServerTool) int {
		if offer(slug, t.Name) == slug+"_"+t.Name {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b events.ServerTool) int {
		return cmp.Or(cmp.Compare(exact(a), exact(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, t := range order {
		for _, name := range []string{offer(slug, t.Name), marked(slug, t.Name, 4), marked(slug, t.Name, 16)} {
			if !used[name] && !taken(name) {
				out[t.Name], used[name] = name, true
				break
			}
		}
	}
	return out
}

// offer is slug_tool in what endpoints accept: [a-z0-9_-]{1,64}.
func offer(slug, own string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, slug+"_"+own)
	return name[:min(len(name), maxOffered)]
}

func marked(slug, own string, n int) string {
	sum := sha256.Sum256([]byte(own))
	mark := "_" + hex.EncodeToString(sum[:n])
	name := offer(slug, own)
	return name[:min(len(name), maxOffered-len(mark))] + mark
}
