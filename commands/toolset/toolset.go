package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"lembas/commands"
	"lembas/commands/tools"
	"lembas/commands/tools/builtin"
	"lembas/commands/tools/custom"
	"lembas/commands/tools/guard"
	"lembas/commands/tools/mcp"
	"lembas/events"
)

// Set is all tools of this instance. Fields are set once, by cmd.
type Set struct {
	Service *commands.Service
	Guard   *guard.Client
	MCP     *mcp.Client
	Logger  *slog.Logger
}

// gate says why a family is closed, "" for open.
type gate struct {
	key, label, icon string
	closed           string
}

// Offer gives the tools for a model and a person whose chat has that scope, in a
// fixed order. A row that cannot be offered is left out; only the log's own
// errors come back.
func (s *Set) Offer(ctx context.Context, user string, m commands.ModelView, scope map[string]bool) ([]tools.Tool, error) {
	if !m.State.Tools {
		return nil, nil
	}
	gates, err := s.gates(ctx, user, m)
	if err != nil {
		return nil, err
	}
	var before, out []tools.Tool
	for _, g := range gates { // also closed ones: what is off must not lend its names to others
		list, err := s.family(ctx, g.key, before)
		if err != nil {
			return nil, err
		}
		before = append(before, list...)
		if g.closed != "" || off(scope, g.key) {
			continue
		}
		out = append(out, slices.DeleteFunc(list, func(t tools.Tool) bool { return off(scope, t.Scope) })...)
	}
	return out, nil
}

// off says whether a scope takes a key away; absent is on.
func off(scope map[string]bool, key string) bool {
	on, there := scope[key]
	return there && !on
}

// gates gives the families with what closes them: the instance's switch, the
// person's permission, the model's flag.
func (s *Set) gates(ctx context.Context, user string, m commands.ModelView) ([]gate, error) {
	set, err := s.Service.Settings(ctx)
	if err != nil {
		return nil, err
	}
	search, err := s.Service.Search(ctx)
	if err != nil {
		return nil, err
	}
	labels := map[string][2]string{"web_search": {"Web search", "search"}, "fetch": {"Read web pages", "globe"},
		"ask_user": {"Ask you", "question"}, "custom": {"HTTP tools", "tool"}, "mcp": {"MCP servers", "plug"}}
	var out []gate
	for _, key := range commands.Gates() {
		g := gate{key: key, label: labels[key][0], icon: labels[key][1]}
		on, flagged := m.State.Flags["tool_"+key]
		permitted := true
		if key != "ask_user" { // asking the person needs nobody's leave
			if permitted, err = s.Service.Permitted(ctx, user, "tools."+key); err != nil {
				return nil, err
			}
		}
		switch {
		case !m.State.Tools, flagged && !on:
			g.closed = "The model does not use this"
		case key == "fetch" && !set.Bool("fetch.enabled"), key == "web_search" && search.Provider == events.SearchOff:
			g.closed = "Switched off on this instance"
		case !permitted:
			g.closed = "You do not have this permission"
		}
		out = append(out, g)
	}
	return out, nil
}

// family gives the tools of a gate. The names in before are taken.
func (s *Set) family(ctx context.Context, key string, before []tools.Tool) ([]tools.Tool, error) {
	switch key {
	case "web_search":
		return []tools.Tool{builtin.WebSearch(s.Guard, s.search)}, nil
	case "fetch":
		return []tools.Tool{builtin.Fetch(s.Guard)}, nil
	case "ask_user":
		return []tools.Tool{{Spec: builtin.AskUser()}}, nil
	case "custom":
		return s.custom(ctx)
	case "mcp":
		return s.servers(ctx, before)
	}
	return nil, fmt.Errorf("there is no family of tools %q: %w", key, events.ErrInvalid)
}

func (s *Set) search(ctx context.Context) (events.SearchState, string, error) {
	st, err := s.Service.Search(ctx)
	if err != nil {
		return st, "", err
	}
	key, err := s.Service.SearchKey(st)
	return st, key, err
}

func (s *Set) custom(ctx context.Context) ([]tools.Tool, error) {
	all, err := s.Service.CustomTools(ctx)
	if err != nil {
		return nil, err
	}
	var out []tools.Tool
	for _, t := range all {
		if !t.State.Enabled || tools.BuiltIn(t.State.Slug) {
			continue
		}
		secrets, err := s.Service.ToolSecrets(t)
		if err := s.unreadable(err, "tool", t.ID); err != nil {
			return nil, err
		}
		if err == nil {
			tool := custom.New(t.State, secrets, s.Guard)
			tool.Changed = t.Changed
			out = append(out, tool)
		}
	}
	return out, nil
}

func (s *Set) servers(ctx context.Context, before []tools.Tool) ([]tools.Tool, error) {
	all, err := s.Service.Servers(ctx)
	if err != nil {
		return nil, err
	}
	own, err := s.Service.CustomTools(ctx) // those that are switched off keep their names
	if err != nil {
		return nil, err
	}
	var out []tools.Tool
	taken := func(name string) bool {
		is := func(t tools.Tool) bool { return t.Name == name }
		return tools.BuiltIn(name) || slices.ContainsFunc(own, func(t commands.CustomView) bool { return t.State.Slug == name }) || slices.ContainsFunc(before, is) || slices.ContainsFunc(out, is)
	}
	for _, v := range all {
		if !v.State.Enabled {
			continue
		}
		secrets, err := s.Service.ServerSecrets(v)
		if err := s.unreadable(err, "server", v.ID); err != nil {
			return nil, err
		}
		if err == nil {
			for _, tool := range s.MCP.Tools(mcp.Server{State: v.State, Tools: v.Tools, Held: v.Held}, secrets, taken) {
				tool.Changed = v.Changed
				out = append(out, tool)
			}
		}
	}
	return out, nil
}

// unreadable passes a closed log on. A row whose secrets cannot be read is said
// in the process's log and left out.
func (s *Set) unreadable(err error, noun, id string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, events.ErrClosed) {
		return err
	}
	s.Logger.Error("reading the secrets of a "+noun, noun, id, "err", err)
	return nil
}

// ScopeRows gives what the menu of a chat can narrow: each family, and below it
// the rows of those that have several.
func (s *Set) ScopeRows(ctx context.Context, user, model string, scope map[string]bool) ([]commands.ScopeRow, error) {
	m, err := s.Service.Model(ctx, model)
	if err != nil {
		return nil, err
	}
	gates, err := s.gates(ctx, user, m)
	if err != nil {
		return nil, err
	}
	var out []commands.ScopeRow
	var before []tools.Tool
	for _, g := range gates {
		list, err := s.family(ctx, g.key, before)
		if err != nil {
			return nil, err
		}
		before = append(before, list...)
		if len(list) == 0 {
			continue
		}
		out = append(out, commands.ScopeRow{Key: g.key, Label: g.label, Icon: g.icon, On: !off(scope, g.key), Tools: len(list), Off: g.closed})
		out = append(out, rows(g, list, scope)...)
	}
	return out, nil
}

// rows gives one row for each custom tool and each server of a family.
func rows(g gate, list []tools.Tool, scope map[string]bool) []commands.ScopeRow {
	var out []commands.ScopeRow
	for _, t := range list {
		if t.Scope == g.key {
			continue
		}
		i := slices.IndexFunc(out, func(r commands.ScopeRow) bool { return r.Key == t.Scope })
		if i >= 0 {
			out[i].Tools++
			continue
		}
		label := t.Label
		if g.key == "mcp" {
			label, _, _ = strings.Cut(t.Label, ": ")
		}
		out = append(out, commands.ScopeRow{Key: t.Scope, Label: label, Icon: t.Icon, Group: g.key, On: !off(scope, t.Scope), Tools: 1, Off: g.closed})
	}
	return out
}

// TryTool sends one request of an HTTP tool for an administrator.
func (s *Set) TryTool(ctx context.Context, st events.CustomState, secrets map[string]string, args json.RawMessage) (commands.Tried, error) {
	preview, res, err := custom.Try(ctx, s.Guard, st, secrets, args)
	return commands.Tried{Request: preview, Status: res.Status, Output: res.Output}, err
}

// TrySearch asks the provider of web search for an administrator.
func (s *Set) TrySearch(ctx context.Context, user, query string) (string, error) {
	args, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return "", err
	}
	res := builtin.WebSearch(s.Guard, s.search).Run(ctx, tools.Call{User: user, Arguments: args})
	if res.Status != events.ToolOK {
		return "", fmt.Errorf("%s: %w", res.Output, events.ErrInvalid)
	}
	return res.Output, nil
}
