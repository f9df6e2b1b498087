package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"lembas/commands"
	"lembas/events"
	"lembas/web/request"
	"lembas/web/templates"
)

// modelsPage is how many models a page of the list has.
const modelsPage = 100

// models is the administrator's list of models.
func (p *Pages) models(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	q := r.URL.Query()
	list, err := p.modelList(r.Context(), q)
	if err != nil {
		return err
	}
	v := templates.Models{Query: q.Get("q"), List: list, Connections: []templates.Option{{Label: "all connections", Selected: q.Get("connection") == ""}}}
	connections, err := p.Service.Connections(r.Context())
	if err != nil {
		return err
	}
	for _, c := range connections {
		v.Connections = append(v.Connections, templates.Option{Value: c.ID, Label: c.State.Name, Selected: c.ID == q.Get("connection")})
	}
	for _, s := range []struct{ value, label string }{{"", "any state"}, {"enabled", "enabled"}, {"disabled", "disabled"}} {
		v.States = append(v.States, templates.Option{Value: s.value, Label: s.label, Selected: s.value == q.Get("state")})
	}
	if v.Shell, err = p.shell(r, "models", "Models", at); err != nil {
		return err
	}
	return p.page(w, "models", v)
}

// modelList is one page of the models that a query asks for.
func (p *Pages) modelList(ctx context.Context, q url.Values) (v templates.ModelList, err error) {
	all, err := p.Service.Models(ctx, false)
	if err != nil {
		return v, err
	}
	names, err := p.connectionNames(ctx)
	if err != nil {
		return v, err
	}
	v.Filtered = q.Get("q") != "" || q.Get("connection") != "" || q.Get("state") != ""
	var rows []templates.ModelRow
	for i, m := range all {
		if !wanted(m, q) {
			continue
		}
		row := modelRow(m, names[m.Connection])
		if row.CanUp = !v.Filtered && i > 0; row.CanUp {
			row.Up = all[i-1].ID
		}
		if row.CanDown = !v.Filtered && i < len(all)-1; row.CanDown && i+2 < len(all) {
			row.Down = all[i+2].ID
		}
		rows = append(rows, row)
	}
	v.Total = count(len(rows), "model")
	from, _ := strconv.Atoi(q.Get("cursor")) // what is no number begins the list
	from = min(max(from, 0), len(rows))
	v.Items = rows[from:min(from+modelsPage, len(rows))]
	if from+modelsPage < len(rows) {
		next := url.Values{"q": {q.Get("q")}, "connection": {q.Get("connection")}, "state": {q.Get("state")}, "cursor": {strconv.Itoa(from + modelsPage)}}
		v.Next = "/admin/models?" + next.Encode()
	}
	return v, nil
}

func wanted(m commands.ModelView, q url.Values) bool {
	words := strings.ToLower(strings.TrimSpace(q.Get("q")))
	state := q.Get("state")
	return (words == "" || strings.Contains(strings.ToLower(m.Title()+" "+m.Name), words)) &&
		(q.Get("connection") == "" || m.Connection == q.Get("connection")) &&
		(state == "" || (state == "enabled") == m.State.Enabled)
}

func modelRow(m commands.ModelView, connection string) templates.ModelRow {
	return templates.ModelRow{ID: m.ID, Title: m.Title(), Name: m.Name, Connection: connection, Enabled: m.State.Enabled,
		Default: m.State.Default, Gone: m.Gone, Badges: badges(m.State)}
}

// model is the detail page of a model.
func (p *Pages) model(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	m, err := p.Service.Model(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	names, err := p.connectionNames(r.Context())
	if err != nil {
		return err
	}
	form, err := p.modelForm(r.Context(), m)
	if err != nil {
		return err
	}
	v := templates.Model{Name: m.Name, Gone: m.Gone, Form: form, Connection: templates.Option{Value: m.Connection, Label: names[m.Connection]}}
	if v.Shell, err = p.shell(r, "models", m.Title(), at); err != nil {
		return err
	}
	return p.page(w, "model", v)
}

func (p *Pages) modelForm(ctx context.Context, m commands.ModelView) (templates.ModelForm, error) {
	st := m.State
	v := templates.ModelForm{ID: m.ID, Name: m.Name, Title: st.Title, Enabled: st.Enabled, Default: st.Default, Vision: st.Vision,
		Tools: st.Tools, Flags: flags(st.Flags), Efforts: efforts(st.Effort), SystemPrompt: st.SystemPrompt, Params: params(st.Params)}
	if st.ContextLength > 0 {
		v.ContextLength = strconv.Itoa(st.ContextLength)
	}
	all, err := p.Service.Models(ctx, false)
	if i := slices.IndexFunc(all, func(x commands.ModelView) bool { return x.ID == m.ID }); i >= 0 {
		v.Position = fmt.Sprintf("%d of %d", i+1, len(all))
	}
	return v, err
}

// flags are the families of tools with three states each.
func flags(set map[string]bool) []templates.Flag {
	words := map[string][2]string{"tool_web_search": {"Web search", "search"}, "tool_fetch": {"Read web pages", "globe"},
		"tool_ask_user": {"Ask the person", "question"}, "tool_custom": {"HTTP tools", "tool"}, "tool_mcp": {"MCP servers", "plug"}}
	var out []templates.Flag
	for _, key := range commands.ModelFlags() {
		now := ""
		if on, ok := set[key]; ok {
			now = strconv.FormatBool(on)
		}
		out = append(out, templates.Flag{Key: key, Label: words[key][0], Icon: words[key][1], Options: choose(now, "", "inherited", "true", "on", "false", "off")})
	}
	return out
}

// patchFlags are the switches that are in a form; nil is inherited.
func patchFlags(f form) map[string]*bool {
	out := map[string]*bool{}
	for _, key := range commands.ModelFlags() {
		if text := f.maybe(key); text != nil && *text == "" {
			out[key] = nil
		} else if text != nil {
			out[key] = f.flag(key)
		}
	}
	return out
}

// longestHint is how long a hint may be, in bytes; longer ones do not fit.
const longestHint = 20

// params are the sampling parameters with the values that are set.
func params(set map[string]float64) []templates.Param {
	var out []templates.Param
	for _, key := range commands.Params() {
		q := templates.Param{Key: key, Label: capital(strings.ReplaceAll(key, "_", " ")), Step: "any"}
		if b, ok := commands.ParamBounds(key); ok {
			q.Min, q.Max = decimal(b[0]), decimal(b[1])
			if q.Hint = q.Min + " to " + q.Max; len(q.Hint) > longestHint {
				q.Hint = "a whole number"
			}
		}
		if v, ok := set[key]; ok {
			q.Value = decimal(v)
		}
		out = append(out, q)
	}
	return out
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// saveModel changes a model: from its form, or with ?row=1 from the switch in
// the list, which gets its row back.
func (p *Pages) saveModel(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	cmd, err := patchModel(f)
	if err == nil {
		_, err = p.Service.ChangeModel(r.Context(), caller(r), id, cmd)
	}
	m, merr := p.Service.Model(r.Context(), id)
	if merr != nil {
		return merr
	}
	if r.URL.Query().Get("row") != "" {
		if err != nil {
			return err
		}
		return p.modelRowPart(w, r, m)
	}
	v, ferr := p.modelForm(r.Context(), m)
	if ferr != nil {
		return ferr
	}
	if err == nil {
		v.Saved = "Saved."
		return p.part(w, http.StatusOK, "model-form", v)
	}
	errs, err := refused(err)
	if err != nil {
		return err
	}
	typed(&v, f)
	v.Errors = modelErrors(errs)
	return p.part(w, http.StatusUnprocessableEntity, "model-form", v)
}

func (p *Pages) modelRowPart(w http.ResponseWriter, r *http.Request, m commands.ModelView) error {
	list, err := p.modelList(r.Context(), url.Values{})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list.Items, func(x templates.ModelRow) bool { return x.ID == m.ID })
	row := modelRow(m, "")
	if i >= 0 {
		row = list.Items[i]
	}
	return p.part(w, http.StatusOK, "model-row", row)
}

func patchModel(f form) (commands.PatchModel, error) {
	cmd := commands.PatchModel{Title: f.maybe("title"), Enabled: f.flag("enabled"), Default: f.flag("default"), Vision: f.flag("vision"),
		Tools: f.flag("tools"), Effort: f.maybe("effort"), SystemPrompt: f.maybe("system_prompt"), Flags: patchFlags(f)}
	if text := f.maybe("context_length"); text != nil {
		n := 0
		if *text != "" {
			var err error
			if n, err = strconv.Atoi(*text); err != nil {
				return cmd, events.Invalid("context_length", "a whole number of tokens, or empty")
			}
		}
		cmd.ContextLength = &n
	}
	set, came := map[string]float64{}, false
	for _, key := range commands.Params() {
		text := f.maybe("params." + key)
		came = came || text != nil
		if text == nil || *text == "" {
			continue
		}
		v, err := strconv.ParseFloat(*text, 64)
		if err != nil {
			return cmd, events.Invalid("params."+key, "a number, or empty")
		}
		set[key] = v
	}
	if came {
		cmd.Params = &set
	}
	return cmd, nil
}

// typed keeps what the person typed in a form that was refused.
func typed(v *templates.ModelForm, f form) {
	v.Title, v.ContextLength, v.SystemPrompt, v.Efforts = f.text("title"), f.text("context_length"), f.text("system_prompt"), efforts(f.text("effort"))
	for name, to := range map[string]*bool{"enabled": &v.Enabled, "default": &v.Default, "vision": &v.Vision, "tools": &v.Tools} {
		*to = f.text(name) == "true"
	}
	for i, flag := range v.Flags {
		for j := range flag.Options {
			flag.Options[j].Selected = flag.Options[j].Value == f.text(flag.Key)
		}
		v.Flags[i] = flag
	}
	for i := range v.Params {
		v.Params[i].Value = f.text("params." + v.Params[i].Key)
	}
}

// modelErrors puts an error of the parameters to the one that it names.
func modelErrors(errs templates.Errors) templates.Errors {
	fields := []string{"title", "context_length", "effort", "system_prompt"}
	for _, key := range commands.Params() {
		fields = append(fields, "params."+key)
		if detail := errs["params"]; strings.HasPrefix(strings.ToLower(detail), key+" ") {
			delete(errs, "params")
			errs["params."+key] = detail
		}
	}
	return under(errs, fields...)
}

// moveModel puts a model before another, or to the end.
func (p *Pages) moveModel(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	all, err := p.Service.Models(r.Context(), false)
	if err != nil {
		return err
	}
	id, before := r.PathValue("id"), f.text("before")
	all = slices.DeleteFunc(all, func(m commands.ModelView) bool { return m.ID == id })
	place := len(all)
	if before != "" {
		if place = slices.IndexFunc(all, func(m commands.ModelView) bool { return m.ID == before }); place < 0 {
			return request.Fail(http.StatusConflict, "The list has changed. Load the page again.")
		}
	}
	if _, err := p.Service.ChangeModel(r.Context(), caller(r), id, commands.PatchModel{Position: &place}); err != nil {
		return err
	}
	list, err := p.modelList(r.Context(), url.Values{})
	if err != nil {
		return err
	}
	return p.part(w, http.StatusOK, "model-list", list)
}
