package commands

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"lembas/events"
)

// PatchModel is what an administrator sets on a model; nil is unchanged.
type PatchModel struct {
	Title         *string
	Enabled       *bool
	Position      *int // its place in the list, from 0
	Default       *bool
	Vision        *bool
	Tools         *bool
	ContextLength *int // 0 is unknown
	Params        *map[string]float64
	Effort        *string
	SystemPrompt  *string
	// Flags sets switches of ModelFlags; nil is inherited again. What is not in
	// it is unchanged.
	Flags map[string]*bool
}

// ModelFlags are the families of tools that a model can be given or refused.
// One that is not set is as the model's Tools says.
func ModelFlags() []string {
	var out []string
	for _, gate := range Gates() {
		out = append(out, "tool_"+gate)
	}
	return out
}

// paramBounds are the sampling parameters that go out, with their bounds.
var paramBounds = map[string][2]float64{
	"temperature": {0, 2}, "top_p": {0, 1}, "max_tokens": {1, 1e7}, "presence_penalty": {-2, 2},
	"frequency_penalty": {-2, 2}, "seed": {-1 << 53, 1 << 53}, "top_k": {0, 1e6}, "min_p": {0, 1},
	"repetition_penalty": {0, 10},
}

// Params lists the names of the sampling parameters, sorted.
func Params() []string { return slices.Sorted(maps.Keys(paramBounds)) }

// ParamBounds gives the least and the greatest value of a parameter.
func ParamBounds(name string) (bounds [2]float64, ok bool) {
	bounds, ok = paramBounds[name]
	return bounds, ok
}

// ChangeModel changes a model.
func (s *Service) ChangeModel(ctx context.Context, c Caller, id string, cmd PatchModel) (events.Result, error) {
	_, res, err := onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, struct{}, error) {
		m, ok := in.Models[id]
		if !ok || m.Gone {
			return nil, nil, struct{}{}, fmt.Errorf("model: %w", events.ErrNotFound)
		}
		st, err := patchModel(m.State, cmd)
		if err != nil {
			return nil, nil, struct{}{}, err
		}
		out := []events.Payload{events.ModelChanged{Model: id, State: st}}
		if cmd.Position != nil {
			out = reorder(in, id, st, *cmd.Position)
		}
		return out, nil, struct{}{}, nil
	})
	return res, err
}

func patchModel(st events.ModelState, cmd PatchModel) (events.ModelState, error) {
	set(&st.Title, cmd.Title)
	set(&st.Enabled, cmd.Enabled)
	set(&st.Default, cmd.Default)
	set(&st.Vision, cmd.Vision)
	set(&st.Tools, cmd.Tools)
	set(&st.ContextLength, cmd.ContextLength)
	set(&st.Params, cmd.Params)
	set(&st.Effort, cmd.Effort)
	set(&st.SystemPrompt, cmd.SystemPrompt)
	st.Title = oneLine(st.Title)
	switch {
	case utf8.RuneCountInString(st.Title) > MaxName:
		return st, events.Invalid("title", "at most %d characters", MaxName)
	case st.ContextLength < 0 || st.ContextLength > 1e9:
		return st, events.Invalid("context_length", "0 (unknown) to 1000000000 tokens")
	case len(st.SystemPrompt) > MaxPrompt:
		return st, events.Invalid("system_prompt", "at most %d bytes", MaxPrompt)
	case st.Default && !st.Enabled:
		return st, events.Invalid("default", "a model that is off cannot be the default")
	}
	for name, v := range st.Params {
		b, ok := paramBounds[name]
		if !ok {
			return st, events.Invalid("params", "%q is not a parameter; %s are", clip(name, 50), strings.Join(Params(), ", "))
		}
		if !(v >= b[0] && v <= b[1]) {
			return st, events.Invalid("params", "%s is between %g and %g", name, b[0], b[1])
		}
	}
	var err error
	if st.Flags, err = patchFlags(st.Flags, cmd.Flags); err != nil {
		return st, err
	}
	return st, checkEffort(st.Effort)
}

// patchFlags gives a new map: the old one is part of states that were given out.
func patchFlags(old map[string]bool, patch map[string]*bool) (map[string]bool, error) {
	if len(patch) == 0 {
		return old, nil
	}
	out := map[string]bool{}
	maps.Copy(out, old)
	for name, on := range patch {
		switch {
		case !slices.Contains(ModelFlags(), name):
			return nil, events.Invalid(clip(name, 100), "there is no such switch")
		case on == nil:
			delete(out, name)
		default:
			out[name] = *on
		}
	}
	return out, nil
}

// reorder puts a model at a place of the list and numbers what moved.
func reorder(in *Instance, id string, st events.ModelState, place int) (out []events.Payload) {
	list := in.models()
	from := slices.IndexFunc(list, func(m ModelView) bool { return m.ID == id })
	moved := list[from]
	moved.State = st
	list = slices.Delete(list, from, from+1)
	list = slices.Insert(list, min(max(place, 0), len(list)), moved)
	for i, m := range list {
		if m.State.Position != i+1 || m.ID == id {
			m.State.Position = i + 1
			out = append(out, events.ModelChanged{Model: m.ID, State: m.State})
		}
	}
	return out
}
