package pages

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"lembas/commands"
	"lembas/events"
	"lembas/web/templates"
)

// tools is the administrator's list of HTTP tools.
func (p *Pages) tools(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	q := r.URL.Query()
	all, err := p.Service.CustomTools(r.Context())
	if err != nil {
		return err
	}
	v := templates.Tools{Query: q.Get("q"), List: templates.ToolList{Filtered: q.Get("q") != "" || q.Get("state") != ""}}
	for _, t := range all {
		if toolWanted(t, q) {
			v.List.Items = append(v.List.Items, toolRow(t))
		}
	}
	v.List.Total = count(len(v.List.Items), "tool")
	v.States = choose(q.Get("state"), "", "any state", "enabled", "enabled", "disabled", "disabled")
	if v.Shell, err = p.shell(r, "tools", "Tools", at); err != nil {
		return err
	}
	return p.page(w, "tools", v)
}

func toolWanted(t commands.CustomView, q url.Values) bool {
	text := strings.ToLower(strings.Join([]string{t.State.Label, t.State.Slug, t.State.URL, t.State.Description}, "\n"))
	state := q.Get("state")
	return strings.Contains(text, strings.ToLower(strings.TrimSpace(q.Get("q")))) && (state == "" || (state == "enabled") == t.State.Enabled)
}

func toolRow(t commands.CustomView) templates.ToolRow {
	return templates.ToolRow{ID: t.ID, Label: t.State.Label, Slug: t.State.Slug, Method: t.State.Method, URL: t.State.URL, Risk: t.State.Risk, Enabled: t.State.Enabled}
}

// choose makes the options of a select of pairs of value and label.
func choose(now string, pairs ...string) []templates.Option {
	var out []templates.Option
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, templates.Option{Value: pairs[i], Label: pairs[i+1], Selected: pairs[i] == now})
	}
	return out
}

func risks(now string) []templates.Option {
	return choose(now, events.RiskRead, "read: only looks", events.RiskWrite, "write: changes something", events.RiskExecute, "execute: runs something")
}

func methods(now string) []templates.Option {
	return choose(now, "GET", "GET", "POST", "POST", "PUT", "PUT", "PATCH", "PATCH", "DELETE", "DELETE")
}

// newTool is the page of a tool that does not exist yet.
func (p *Pages) newTool(w http.ResponseWriter, r *http.Request) error {
	form := templates.ToolForm{Enabled: true, Methods: methods("GET"), Risks: risks(events.RiskWrite), Timeout: "30",
		Parameters: []templates.ParameterRow{{Key: "0", Types: parameterTypes(""), Required: true}}}
	return p.toolPage(w, r, "New tool", templates.ToolEdit{Form: form})
}

// tool is the page of an HTTP tool.
func (p *Pages) tool(w http.ResponseWriter, r *http.Request) error {
	t, err := p.Service.CustomTool(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	edit := templates.ToolEdit{Form: p.toolForm(t), Try: templates.ToolTry{ID: t.ID, Arguments: toolArguments(t.State.Parameters, form{})}}
	return p.toolPage(w, r, t.State.Label, edit)
}

func (p *Pages) toolPage(w http.ResponseWriter, r *http.Request, title string, edit templates.ToolEdit) (err error) {
	v := templates.Tool{Edit: edit}
	if v.Shell, err = p.shell(r, "tools", title, p.Service.Log.Head()); err != nil {
		return err
	}
	return p.page(w, "tool", v)
}

func (p *Pages) toolForm(t commands.CustomView) templates.ToolForm {
	st := t.State
	v := templates.ToolForm{ID: t.ID, Slug: st.Slug, Label: st.Label, Description: st.Description, Guidance: st.Guidance, Enabled: st.Enabled,
		Risks: risks(st.Risk), Methods: methods(st.Method), URL: st.URL, Body: st.Body, Timeout: strconv.Itoa(st.Timeout)}
	stored := p.toolMasks(t)
	for i, h := range st.Headers {
		v.Headers = append(v.Headers, templates.HeaderRow{Key: strconv.Itoa(i), Name: h.Name, Value: h.Value, Secret: h.Secret, Stored: stored[canonical(h.Name)]})
	}
	for i, x := range st.Parameters {
		v.Parameters = append(v.Parameters, templates.ParameterRow{Key: strconv.Itoa(i), Name: x.Name, Types: parameterTypes(x.Type), Description: x.Description, Required: x.Required})
	}
	if len(v.Parameters) == 0 {
		v.Parameters = []templates.ParameterRow{{Key: "0", Types: parameterTypes(""), Required: true}}
	}
	return v
}

// toolMasks gives the masked values of a tool's secret headers by their
// canonical names.
func (p *Pages) toolMasks(t commands.CustomView) map[string]string {
	var names []string
	for _, h := range t.State.Headers {
		if h.Secret {
			names = append(names, h.Name)
		}
	}
	values, err := p.Service.ToolSecrets(t)
	return masks(names, values, err)
}

func parameterTypes(now string) []templates.Option {
	return choose(now, "string", "text", "number", "number", "integer", "whole number", "boolean", "true or false")
}

// formRow is an empty row for a form. kind "none" is no row at all: what is
// asked for it is taken away.
func (p *Pages) formRow(w http.ResponseWriter, r *http.Request) error {
	key := p.Service.NewID()
	switch r.URL.Query().Get("kind") {
	case "header":
		return p.part(w, http.StatusOK, "header-row", templates.HeaderRow{Key: key, Secret: true, Fresh: true})
	case "parameter":
		return p.part(w, http.StatusOK, "parameter-row", templates.ParameterRow{Key: key, Types: parameterTypes(""), Required: true, Fresh: true})
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (p *Pages) addTool(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	cmd, err := patchTool(f)
	if err != nil {
		return p.toolAgain(w, r, f, err)
	}
	made, _, err := p.Service.CreateTool(r.Context(), caller(r), cmd)
	if err != nil {
		return p.toolAgain(w, r, f, err)
	}
	return redirect(w, "/admin/tools/"+made.ID)
}

// saveTool changes a tool: from its form, or with ?row=1 from the switch in the
// list, which gets its row back.
func (p *Pages) saveTool(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	row := r.URL.Query().Get("row") != ""
	cmd := commands.PatchTool{Enabled: f.flag("enabled")}
	if !row {
		cmd, err = patchTool(f)
	}
	if err == nil {
		_, err = p.Service.ChangeTool(r.Context(), caller(r), id, cmd)
	}
	switch {
	case err != nil && row:
		return err
	case err != nil:
		return p.toolAgain(w, r, f, err)
	}
	t, err := p.Service.CustomTool(r.Context(), id)
	if err != nil {
		return err
	}
	if row {
		return p.part(w, http.StatusOK, "tool-row", toolRow(t))
	}
	v := templates.ToolEdit{Form: p.toolForm(t), Try: templates.ToolTry{ID: id, Arguments: toolArguments(t.State.Parameters, f)}}
	v.Form.Saved = "Saved."
	return p.part(w, http.StatusOK, "tool-edit", v)
}

// toolAgain shows the form again with what was wrong, and what was typed but
// for secrets.
func (p *Pages) toolAgain(w http.ResponseWriter, r *http.Request, f form, failed error) error {
	errs, err := refused(failed)
	if err != nil {
		return err
	}
	v, err := p.typedTool(r.Context(), r.PathValue("id"), f)
	if err != nil {
		return err
	}
	v.Errors = under(errs, toolFields()...)
	try := templates.ToolTry{ID: v.ID, Arguments: toolArguments(parameters(f), f)}
	return p.part(w, http.StatusUnprocessableEntity, "tool-edit", templates.ToolEdit{Form: v, Try: try})
}

func toolFields() []string {
	return []string{"label", "slug", "description", "method", "url", "headers", "body", "parameters", "risk", "timeout", "guidance"}
}

func (p *Pages) typedTool(ctx context.Context, id string, f form) (templates.ToolForm, error) {
	stored := map[string]string{}
	if id != "" {
		t, err := p.Service.CustomTool(ctx, id)
		if err != nil {
			return templates.ToolForm{}, err
		}
		stored = p.toolMasks(t)
	}
	v := templates.ToolForm{ID: id, Slug: f.text("slug"), Label: f.text("label"), Description: f.text("description"), Guidance: f.text("guidance"),
		Enabled: f.text("enabled") == "true", Risks: risks(f.text("risk")), Methods: methods(f.text("method")), URL: f.text("url"), Body: f.text("body"),
		Timeout: f.text("timeout"), Headers: f.headerRows(stored)}
	for i, x := range parameters(f) {
		v.Parameters = append(v.Parameters, templates.ParameterRow{Key: strconv.Itoa(i), Name: x.Name, Types: parameterTypes(x.Type), Description: x.Description, Required: x.Required})
	}
	return v, nil
}

// patchTool is what a whole form says of a tool.
func patchTool(f form) (commands.PatchTool, error) {
	headers, list := f.headers(), parameters(f)
	cmd := commands.PatchTool{Slug: f.maybe("slug"), Label: f.maybe("label"), Description: f.maybe("description"), Guidance: f.maybe("guidance"),
		Risk: f.maybe("risk"), Enabled: f.flag("enabled"), Method: f.maybe("method"), URL: f.maybe("url"), Headers: &headers, Parameters: &list}
	if body := f.maybe("body"); body != nil { // browsers send CR LF
		text := strings.ReplaceAll(*body, "\r\n", "\n")
		cmd.Body = &text
	}
	var err error
	cmd.Timeout, err = f.number("timeout", "a whole number of seconds")
	return cmd, err
}

// parameters are the rows of a form that have a name.
func parameters(f form) []events.CustomParameter {
	out := []events.CustomParameter{}
	for _, key := range f.values["parameter"] {
		at := "parameter." + key + "."
		x := events.CustomParameter{Name: strings.TrimSpace(f.text(at + "name")), Type: f.text(at + "type"),
			Description: strings.TrimSpace(f.text(at + "description")), Required: f.text(at+"required") == "true"}
		if x.Name != "" || x.Description != "" {
			out = append(out, x)
		}
	}
	return out
}

func (p *Pages) removeTool(w http.ResponseWriter, r *http.Request) error {
	_, err := p.Service.RemoveTool(r.Context(), caller(r), r.PathValue("id"))
	if err := gone(err); err != nil {
		return err
	}
	return redirect(w, "/admin/tools")
}
