package commands

import (
	"context"
	"fmt"
	"slices"

	"lembas/events"
)

// Permissions lists what a person can be allowed, of the contract's list what
// this version has. The setting "permissions" is what everybody has; an
// administrator has all.
func Permissions() []string {
	return []string{"chat.use", "tools.web_search", "tools.fetch", "tools.custom", "tools.mcp"}
}

// Gates are the families of tools, in the order in which they are offered.
func Gates() []string { return []string{"web_search", "fetch", "ask_user", "custom", "mcp"} }

// mayChat is an error for a person who may not ask models.
func (s *Service) mayChat(ctx context.Context, c Caller) error {
	ok, err := s.Permitted(ctx, c.User, "chat.use")
	if err == nil && !ok {
		err = fmt.Errorf("you may read your chats, but not ask for new replies; an administrator can allow it: %w", events.ErrForbidden)
	}
	return err
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
