package api

import (
	"encoding/json"
	"net/http"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/web/request"
)

// customTool is an HTTP tool of the administrator's, less its secrets.
type customTool struct {
	ID          string      `json:"id"`
	Slug        string      `json:"slug"` // the name that models call it by
	Label       string      `json:"label"`
	Description string      `json:"description"`
	Guidance    string      `json:"guidance"`
	Risk        string      `json:"risk"` // read, write or execute
	Enabled     bool        `json:"enabled"`
	Method      string      `json:"method"`
	URL         string      `json:"url"`
	Headers     []header    `json:"headers"`
	Body        string      `json:"body"`
	Parameters  []parameter `json:"parameters"`
	Timeout     int         `json:"timeout"` // seconds
	Created     time.Time   `json:"created"`
}

// header is one header of a request. A secret one never has its value.
type header struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Secret bool   `json:"secret,omitempty"`
}

type parameter struct {
	Name        string `json:"name"`
	Type        string `json:"type"` // string, number, integer or boolean
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

func customOf(t commands.CustomView) customTool {
	st := t.State
	out := customTool{ID: t.ID, Slug: st.Slug, Label: st.Label, Description: st.Description, Guidance: st.Guidance, Risk: st.Risk, Enabled: st.Enabled,
		Method: st.Method, URL: st.URL, Headers: []header{}, Body: st.Body, Parameters: []parameter{}, Timeout: st.Timeout, Created: t.Created}
	for _, h := range st.Headers {
		out.Headers = append(out.Headers, header(h))
	}
	for _, p := range st.Parameters {
		out.Parameters = append(out.Parameters, parameter(p))
	}
	return out
}

// Tools lists the HTTP tools, oldest first, without their secrets.
func (a *API) Tools(w http.ResponseWriter, r *http.Request) error {
	all, err := a.Service.CustomTools(r.Context())
	if err != nil {
		return err
	}
	var out []customTool
	for _, t := range all {
		out = append(out, customOf(t))
	}
	p, err := page(r, out, func(t customTool) string { return t.ID })
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, p)
}

// Tool gives one HTTP tool.
func (a *API) Tool(w http.ResponseWriter, r *http.Request) error {
	return a.customTool(w, r, http.StatusOK, id(r))
}

func (a *API) customTool(w http.ResponseWriter, r *http.Request, status int, id string) error {
	t, err := a.Service.CustomTool(r.Context(), id)
	if err != nil {
		return err
	}
	return request.JSON(w, status, customOf(t))
}

// patchTool is what can be set of an HTTP tool; lists replace what is there.
type patchTool struct {
	Slug        request.Optional[string]        `json:"slug"`
	Label       request.Optional[string]        `json:"label"`
	Description request.Optional[string]        `json:"description"`
	Guidance    request.Optional[string]        `json:"guidance"`
	Risk        request.Optional[string]        `json:"risk"`
	Enabled     request.Optional[bool]          `json:"enabled"`
	Method      request.Optional[string]        `json:"method"`
	URL         request.Optional[string]        `json:"url"`
	Headers     request.Optional[[]patchHeader] `json:"headers"`
	Body        request.Optional[string]        `json:"body"`
	Parameters  request.Optional[[]parameter]   `json:"parameters"`
	Timeout     request.Optional[int]           `json:"timeout"`
}

// patchHeader is a header as it is set: one without a value keeps what it has.
type patchHeader struct {
	Name   string                   `json:"name"`
	Value  request.Optional[string] `json:"value"`
	Secret bool                     `json:"secret"`
}

func headersOf(in request.Optional[[]patchHeader]) *[]commands.PatchHeader {
	if !in.Set {
		return nil
	}
	out := []commands.PatchHeader{}
	for _, h := range in.Value {
		out = append(out, commands.PatchHeader{Name: h.Name, Value: h.Value.Pointer(), Secret: h.Secret})
	}
	return &out
}

func (p patchTool) command() commands.PatchTool {
	cmd := commands.PatchTool{Slug: p.Slug.Pointer(), Label: p.Label.Pointer(), Description: p.Description.Pointer(), Guidance: p.Guidance.Pointer(),
		Risk: p.Risk.Pointer(), Enabled: p.Enabled.Pointer(), Method: p.Method.Pointer(), URL: p.URL.Pointer(), Headers: headersOf(p.Headers),
		Body: p.Body.Pointer(), Timeout: p.Timeout.Pointer()}
	if p.Parameters.Set {
		list := []events.CustomParameter{}
		for _, x := range p.Parameters.Value {
			list = append(list, events.CustomParameter(x))
		}
		cmd.Parameters = &list
	}
	return cmd
}

// CreateTool adds an HTTP tool.
func (a *API) CreateTool(w http.ResponseWriter, r *http.Request) error {
	var in patchTool
	if err := request.Read(r, &in); err != nil {
		return err
	}
	made, _, err := a.Service.CreateTool(r.Context(), request.Caller(r), in.command())
	if err != nil {
		return err
	}
	return a.customTool(w, r, http.StatusCreated, made.ID)
}

// PatchTool changes an HTTP tool.
func (a *API) PatchTool(w http.ResponseWriter, r *http.Request) error {
	var in patchTool
	if err := request.Read(r, &in); err != nil {
		return err
	}
	if _, err := a.Service.ChangeTool(r.Context(), request.Caller(r), id(r), in.command()); err != nil {
		return err
	}
	return a.Tool(w, r)
}

// DeleteTool takes an HTTP tool and its secrets away.
func (a *API) DeleteTool(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.Service.RemoveTool(r.Context(), request.Caller(r), id(r)); err != nil {
		return err
	}
	return noContent(w)
}

// tryTool is a draft, or with an id the tool as the rest would make it.
type tryTool struct {
	patchTool
	ID        string                            `json:"id,omitempty"`
	Arguments request.Optional[json.RawMessage] `json:"arguments"`
}

type tried struct {
	Request string `json:"request"` // as it was sent, secrets masked
	Status  string `json:"status"`  // ok, error or refused
	Output  string `json:"output"`  // untrusted
}

// TryTool sends one request and changes nothing.
func (a *API) TryTool(w http.ResponseWriter, r *http.Request) error {
	var in tryTool
	if err := request.Read(r, &in); err != nil {
		return err
	}
	args := in.Arguments.Value
	if in.Arguments.Null {
		args = nil
	}
	got, err := a.Service.TryTool(r.Context(), in.ID, in.command(), args, a.Try)
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, tried(got))
}
