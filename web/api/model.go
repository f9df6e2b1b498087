package api

import (
	"net/http"
	"slices"

	"lembas/commands"
	"lembas/events"
	"lembas/web/request"
)

type model struct {
	ID            string             `json:"id"`
	Name          string             `json:"name"`  // as its endpoint calls it
	Title         string             `json:"title"` // as people see it
	Connection    string             `json:"connection_id"`
	Enabled       bool               `json:"enabled"`
	Position      int                `json:"position"` // from 1
	Default       bool               `json:"default"`
	Vision        bool               `json:"vision"`
	Tools         bool               `json:"tools"`
	ContextLength int                `json:"context_length"` // tokens, 0 is not known
	Params        map[string]float64 `json:"params"`
	Effort        string             `json:"effort"`
	SystemPrompt  *string            `json:"system_prompt,omitempty"` // for administrators
	// The families of tools that it may call: null is as Tools says.
	WebSearch *bool `json:"tool_web_search"`
	Fetch     *bool `json:"tool_fetch"`
	AskUser   *bool `json:"tool_ask_user"`
	Custom    *bool `json:"tool_custom"`
	MCP       *bool `json:"tool_mcp"`
}

func modelOf(m commands.ModelView, admin bool) model {
	out := model{ID: m.ID, Name: m.Name, Title: m.Title(), Connection: m.Connection, Enabled: m.State.Enabled,
		Position: m.State.Position, Default: m.State.Default, Vision: m.State.Vision, Tools: m.State.Tools,
		ContextLength: m.State.ContextLength, Params: m.State.Params, Effort: m.State.Effort}
	flag := func(name string) *bool {
		if on, ok := m.State.Flags[name]; ok {
			return &on
		}
		return nil
	}
	out.WebSearch, out.Fetch, out.AskUser = flag("tool_web_search"), flag("tool_fetch"), flag("tool_ask_user")
	out.Custom, out.MCP = flag("tool_custom"), flag("tool_mcp")
	if out.Params == nil {
		out.Params = map[string]float64{}
	}
	if admin {
		out.SystemPrompt = &m.State.SystemPrompt
	}
	return out
}

// Models lists the models in the administrator's order: those that can be
// chosen, and for an administrator all.
func (a *API) Models(w http.ResponseWriter, r *http.Request) error {
	admin := isAdmin(r)
	all, err := a.Service.Models(r.Context(), !admin)
	if err != nil {
		return err
	}
	var out []model
	for _, m := range all {
		out = append(out, modelOf(m, admin))
	}
	p, err := page(r, out, func(m model) string { return m.ID })
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, p)
}

// Model gives one model that the caller may choose; to an administrator any.
func (a *API) Model(w http.ResponseWriter, r *http.Request) error {
	admin := isAdmin(r)
	all, err := a.Service.Models(r.Context(), !admin)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(m commands.ModelView) bool { return m.ID == id(r) })
	if i < 0 {
		return request.NotFound()
	}
	return request.JSON(w, http.StatusOK, modelOf(all[i], admin))
}

func isAdmin(r *http.Request) bool {
	_, err := request.Admin(r)
	return err == nil
}

type patchModel struct {
	Title         request.Optional[string]             `json:"title"`
	Enabled       request.Optional[bool]               `json:"enabled"`
	Position      request.Optional[int]                `json:"position"` // from 1
	Default       request.Optional[bool]               `json:"default"`
	Vision        request.Optional[bool]               `json:"vision"`
	Tools         request.Optional[bool]               `json:"tools"`
	ContextLength request.Optional[int]                `json:"context_length"`
	Params        request.Optional[map[string]float64] `json:"params"`
	Effort        request.Optional[string]             `json:"effort"`
	SystemPrompt  request.Optional[string]             `json:"system_prompt"`
	WebSearch     request.Optional[bool]               `json:"tool_web_search"` // null is as tools says
	Fetch         request.Optional[bool]               `json:"tool_fetch"`
	AskUser       request.Optional[bool]               `json:"tool_ask_user"`
	Custom        request.Optional[bool]               `json:"tool_custom"`
	MCP           request.Optional[bool]               `json:"tool_mcp"`
}

// flags gives the switches that are in the request; nil is inherited again.
func (p patchModel) flags() map[string]*bool {
	out := map[string]*bool{}
	for name, f := range map[string]request.Optional[bool]{"tool_web_search": p.WebSearch, "tool_fetch": p.Fetch, "tool_ask_user": p.AskUser,
		"tool_custom": p.Custom, "tool_mcp": p.MCP} {
		switch {
		case f.Null:
			out[name] = nil
		case f.Set:
			out[name] = &f.Value
		}
	}
	return out
}

// PatchModel changes a model.
func (a *API) PatchModel(w http.ResponseWriter, r *http.Request) error {
	var in patchModel
	if err := request.Read(r, &in); err != nil {
		return err
	}
	cmd := commands.PatchModel{Title: in.Title.Pointer(), Enabled: in.Enabled.Pointer(), Default: in.Default.Pointer(),
		Vision: in.Vision.Pointer(), Tools: in.Tools.Pointer(), ContextLength: in.ContextLength.Pointer(),
		Params: in.Params.Pointer(), Effort: in.Effort.Pointer(), SystemPrompt: in.SystemPrompt.Pointer(), Flags: in.flags()}
	if p := in.Position.Pointer(); p != nil {
		place := *p - 1 // commands count from 0
		if place < 0 {
			return events.Invalid("position", "counts from 1")
		}
		cmd.Position = &place
	}
	if _, err := a.Service.ChangeModel(r.Context(), request.Caller(r), id(r), cmd); err != nil {
		return err
	}
	m, err := a.Service.Model(r.Context(), id(r))
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, modelOf(m, true))
}
