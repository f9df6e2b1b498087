package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"strings"

	"lembas/cmd/lembas/demo"
	"lembas/commands"
	"lembas/events"
)

// What the demo's connection and MCP server are called.
const (
	demoName  = "Demo endpoint"
	demoTools = "Demo tools"
	demoSlug  = "demo"
)

// startDemo serves the scripted models and the tools, and points their
// connection and their server at the port of this start.
func startDemo(ctx context.Context, a *app) (stop func(), err error) {
	base, stop, err := newDemo().Start(ctx)
	if err != nil {
		return nil, err
	}
	if err := connectDemo(ctx, a.service, base, a.logger); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

func connectDemo(ctx context.Context, s *commands.Service, base string, logger *slog.Logger) error {
	connection, err := connectEndpoint(ctx, s, base)
	if err != nil {
		return err
	}
	tools, err := url.Parse(base)
	if err != nil {
		return err
	}
	trouble, err := connectTools(ctx, s, connection, tools.ResolveReference(&url.URL{Path: demo.ToolsPath}).String())
	if errors.Is(err, events.ErrConflict) || errors.Is(err, events.ErrInvalid) { // an administrator has other plans
		trouble, err = err.Error(), nil
	}
	if trouble != "" {
		logger.Warn("the demo's tools are left out", "err", trouble)
	}
	return err
}

// connectEndpoint keeps the demo's connection at the address of this start.
func connectEndpoint(ctx context.Context, s *commands.Service, base string) (id string, err error) {
	all, err := s.Connections(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range all {
		if c.State.Name == demoName {
			id = c.ID
		}
	}
	name := demoName
	patch := commands.PatchConnection{Name: &name, BaseURL: &base}
	if id == "" {
		made, _, err := s.CreateConnection(ctx, commands.Caller{}, patch)
		if err != nil {
			return "", err
		}
		id = made.ID
		// The demo shows agents; whoever switches them off later keeps it so.
		if _, err := s.ChangeSettings(ctx, commands.Caller{}, map[string]json.RawMessage{"agents.enabled": json.RawMessage("true")}); err != nil {
			return "", err
		}
	} else if _, err := s.ChangeConnection(ctx, commands.Caller{}, id, patch); err != nil {
		return "", err
	}
	_, err = s.RefreshConnection(ctx, commands.Caller{}, id)
	return id, err
}

// connectTools keeps the demo's MCP server at the address of this start, and
// nothing else of it: what an administrator set stays, and a server that was
// removed stays away. When it is new, the demo's models may use tools. Trouble is
// why its tools could not be read.
func connectTools(ctx context.Context, s *commands.Service, connection, address string) (trouble string, err error) {
	id, removed, err := demoServer(ctx, s)
	switch {
	case err != nil || removed:
		return "", err
	case id == "":
		id, err = addDemoServer(ctx, s, connection, address)
	default:
		_, err = s.ChangeServer(ctx, commands.Caller{}, id, commands.PatchServer{URL: &address})
	}
	if err != nil {
		return "", err
	}
	if trouble, err = s.RefreshServer(ctx, commands.Caller{}, id); err != nil || trouble != "" {
		return trouble, err
	}
	return "", vouch(ctx, s, id)
}

func addDemoServer(ctx context.Context, s *commands.Service, connection, address string) (string, error) {
	name, slug := demoTools, demoSlug
	made, _, err := s.CreateServer(ctx, commands.Caller{}, commands.PatchServer{Name: &name, Slug: &slug, URL: &address})
	if err != nil {
		return "", err
	}
	return made.ID, letModelsUseTools(ctx, s, connection)
}

// demoServer finds the demo's MCP server by its address: name and slug are the
// administrator's to change. Removed says that there was one, which is gone or
// points elsewhere.
func demoServer(ctx context.Context, s *commands.Service) (id string, removed bool, err error) {
	ours := func(st events.ServerState) bool {
		return strings.HasPrefix(st.URL, "http://127.0.0.1:") && strings.HasSuffix(st.URL, demo.ToolsPath)
	}
	all, err := s.Servers(ctx)
	if err != nil {
		return "", false, err
	}
	for _, v := range all {
		if ours(v.State) {
			return v.ID, false, nil
		}
	}
	for e, err := range s.Log.ReadStream(ctx, events.InstanceStream, 0) {
		if err != nil {
			return "", false, err
		}
		if p, err := events.Decode(&e); err != nil {
			return "", false, err
		} else if added, ok := p.(events.ServerAdded); ok && ours(added.State) {
			return "", true, nil
		}
	}
	return "", false, nil
}

func letModelsUseTools(ctx context.Context, s *commands.Service, connection string) error {
	all, err := s.Models(ctx, false)
	if err != nil {
		return err
	}
	on := true
	for _, m := range all {
		if m.Connection != connection || m.Gone || m.State.Tools {
			continue
		}
		if _, err := s.ChangeModel(ctx, commands.Caller{}, m.ID, commands.PatchModel{Tools: &on}); err != nil {
			return err
		}
	}
	return nil
}

// vouch says that the demo's tools are as they should be: they are this
// program's own, of this very start, so nobody has to look at them first.
func vouch(ctx context.Context, s *commands.Service, id string) error {
	v, err := s.Server(ctx, id)
	if err != nil {
		return err
	}
	seen := map[string]string{}
	for _, t := range v.Tools {
		seen[t.Name] = t.Digest
	}
	_, err = s.ReviewServer(ctx, commands.Caller{}, id, seen)
	return err
}
