package commands

import (
	"context"
	"slices"
)

// Permissions lists what a person can be allowed (contract.md). The setting
// "permissions" is what everybody has; an administrator has all.
func Permissions() []string {
	return []string{"chat.use", "tools.web_search", "tools.fetch", "tools.custom", "tools.mcp", "agents.use", "agents.terminal",
		"library.use", "library.share", "audio.use"}
}

// Permitted says whether a person has a permission now. A disabled one has none.
func (s *Service) Permitted(ctx context.Context, user, permission string) (bool, error) {
	u, err := s.User(ctx, user)
	if err != nil || u.Disabled {
		return false, err
	}
	if u.Admin {
		return true, nil
	}
	set, err := s.Settings(ctx)
	return slices.Contains(set.List("permissions"), permission), err
}
