package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"lembas/commands/tools/custom"
	"lembas/events"
)

const maxTools = 200

// CustomView is an HTTP tool as it stands, less its secrets.
type CustomView struct {
	ID      string
	State   events.CustomState
	Created time.Time
	Changed time.Time // when it came to be what it is
}

func (in *Instance) applyCustom(e *events.Envelope, p events.Payload) {
	switch p := p.(type) {
	case events.CustomAdded:
		in.Tools[p.Tool] = &CustomView{ID: p.Tool, State: p.State, Created: e.Time, Changed: e.Time}
	case events.CustomChanged:
		if t := in.Tools[p.Tool]; t != nil {
			t.State, t.Changed = p.State, e.Time
		}
	case events.CustomRemoved:
		delete(in.Tools, p.Tool)
	}
}

// PatchTool is what an administrator sets on an HTTP tool; nil is unchanged.
// Lists replace what is there: a header without a value keeps the one it has, a
// secret header whose value is "" is removed.
type PatchTool struct {
	Slug, Label, Description, Guidance, Risk *string
	Enabled                                  *bool
	Method, URL, Body                        *string
	Headers                                  *[]PatchHeader
	Parameters                               *[]events.CustomParameter
	Timeout                                  *int // seconds
}

// CreatedTool answers CreateTool.
type CreatedTool struct {
	ID string `json:"id"`
}

// CreateTool adds an HTTP tool: enabled, GET, of risk write and with 30 seconds
// where the command says nothing else.
func (s *Service) CreateTool(ctx context.Context, c Caller, cmd PatchTool) (CreatedTool, events.Result, error) {
	id := s.NewID()
	return onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, CreatedTool, error) {
		if len(in.Tools) >= maxTools {
			return nil, nil, CreatedTool{}, fmt.Errorf("%d tools exist already: %w", maxTools, events.ErrConflict)
		}
		st, puts, err := s.decideTool(in, id, newTool(), cmd)
		return []events.Payload{events.CustomAdded{Tool: id, State: st}}, puts, CreatedTool{ID: id}, err
	})
}

func newTool() events.CustomState {
	return events.CustomState{Enabled: true, Method: http.MethodGet, Risk: events.RiskWrite, Timeout: 30}
}

// ChangeTool changes an HTTP tool. Secrets never follow to another host: moving
// the address without their new values is refused.
func (s *Service) ChangeTool(ctx context.Context, c Caller, id string, cmd PatchTool) (events.Result, error) {
	_, res, err := onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, struct{}, error) {
		old, ok := in.Tools[id]
		if !ok {
			return nil, nil, struct{}{}, fmt.Errorf("tool: %w", events.ErrNotFound)
		}
		st, puts, err := s.decideTool(in, id, old.State, cmd)
		return []events.Payload{events.CustomChanged{Tool: id, State: st}}, puts, struct{}{}, err
	})
	return res, err
}

// RemoveTool takes an HTTP tool and its secrets away.
func (s *Service) RemoveTool(ctx context.Context, c Caller, id string) (events.Result, error) {
	_, res, err := onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, struct{}, error) {
		if _, ok := in.Tools[id]; !ok {
			return nil, nil, struct{}{}, fmt.Errorf("tool: %w", events.ErrNotFound)
		}
		put, err := s.Secrets.Seal(toolSecretName(id), nil)
		return []events.Payload{events.CustomRemoved{Tool: id}}, []events.Put{put}, struct{}{}, err
	})
	return res, err
}

// decideTool gives a tool's state after a patch, and its secrets sealed where
// the patch names them.
func (s *Service) decideTool(in *Instance, id string, old events.CustomState, cmd PatchTool) (events.CustomState, []events.Put, error) {
	st, secrets, err := s.patchTool(id, old, cmd)
	if err != nil {
		return st, nil, err
	}
	if err := custom.Check(st); err != nil {
		return st, nil, err
	}
	for _, t := range in.Tools {
		if t.ID != id && t.State.Slug == st.Slug {
			return st, nil, events.Invalid("slug", "another tool is called %q already", st.Slug)
		}
	}
	if cmd.Headers == nil {
		return st, nil, nil
	}
	put, err := s.sealTool(id, st, secrets)
	return st, []events.Put{put}, err
}

// patchTool gives a tool's state after a patch, unchecked, and the values of its
// secret headers where the patch has headers.
func (s *Service) patchTool(id string, old events.CustomState, cmd PatchTool) (events.CustomState, map[string]string, error) {
	st := old
	for _, f := range []struct{ to, from *string }{{&st.Slug, cmd.Slug}, {&st.Description, cmd.Description}, {&st.Guidance, cmd.Guidance},
		{&st.Risk, cmd.Risk}, {&st.URL, cmd.URL}} {
		if f.from != nil {
			*f.to = strings.TrimSpace(*f.from)
		}
	}
	if cmd.Label != nil {
		st.Label = oneLine(*cmd.Label)
	}
	if cmd.Method != nil {
		st.Method = strings.ToUpper(strings.TrimSpace(*cmd.Method))
	}
	set(&st.Body, cmd.Body)
	set(&st.Enabled, cmd.Enabled)
	set(&st.Timeout, cmd.Timeout)
	set(&st.Parameters, cmd.Parameters)
	if hasSecrets(old) {
		if _, err := custom.Origin(st.URL); err != nil {
			return st, nil, err
		}
		if cmd.Headers == nil && !sameToolOrigin(old, st) {
			return st, nil, errMoved()
		}
	}
	if cmd.Headers == nil {
		return st, nil, nil
	}
	var secrets map[string]string
	var err error
	st.Headers, secrets, err = s.patchToolHeaders(id, old, st, *cmd.Headers)
	return st, secrets, err
}

func errMoved() error {
	return events.Invalid("headers", "the address moves to another host; give the values of its secret headers, or null for none")
}

// CustomTools lists the HTTP tools, oldest first.
func (s *Service) CustomTools(ctx context.Context) ([]CustomView, error) {
	var out []CustomView
	err := s.instance.view(ctx, events.InstanceStream, func(in *Instance, _ events.Position) error {
		for _, t := range in.Tools {
			out = append(out, *t)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b CustomView) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return out, err
}

// CustomTool gives one HTTP tool.
func (s *Service) CustomTool(ctx context.Context, id string) (CustomView, error) {
	var out CustomView
	err := s.instance.view(ctx, events.InstanceStream, func(in *Instance, _ events.Position) error {
		t, ok := in.Tools[id]
		if !ok {
			return fmt.Errorf("tool: %w", events.ErrNotFound)
		}
		out = *t
		return nil
	})
	return out, err
}

// Tried is what a person sees of a request that was tried.
type Tried struct {
	Request string // as it was sent, secrets masked
	Status  string // events.ToolOK, ToolError or ToolRefused
	Output  string // untrusted
}

// TryRequest sends one request of a tool that may be a draft. Its error says why
// nothing was sent.
type TryRequest func(ctx context.Context, st events.CustomState, secrets map[string]string, args json.RawMessage) (Tried, error)

// TryTool sends one request of the tool as it would be after the patch, and
// changes nothing; id is "" for a tool that does not exist yet. Kept secrets go
// to their own origin only.
func (s *Service) TryTool(ctx context.Context, id string, cmd PatchTool, args json.RawMessage, run TryRequest) (Tried, error) {
	old := CustomView{State: newTool()}
	if id != "" {
		var err error
		if old, err = s.CustomTool(ctx, id); err != nil {
			return Tried{}, err
		}
	}
	st, secrets, err := s.patchTool(id, old.State, cmd)
	if err == nil && cmd.Headers == nil {
		secrets, err = s.ToolSecrets(CustomView{ID: id, State: st})
	}
	if err != nil {
		return Tried{}, err
	}
	return run(ctx, st, secrets, args)
}
