package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"lembas/commands"
	"lembas/events"
	"lembas/web/request"
	"lembas/web/templates"
)

const (
	bearerHeader = "Authorization"
	bearerScheme = "Bearer "
)

// servers is the administrator's list of MCP servers.
func (p *Pages) servers(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	all, err := p.Service.Servers(r.Context())
	if err != nil {
		return err
	}
	words := r.URL.Query().Get("q")
	v := templates.Servers{Query: words, List: templates.ServerList{Filtered: words != ""},
		New: templates.ServerForm{Risks: risks(events.RiskWrite), Timeout: "60", Enabled: true}}
	for _, s := range all {
		if !serverWanted(s, words) {
			continue
		}
		row := templates.ServerRow{ID: s.ID, Name: s.State.Name, URL: s.State.URL, Tools: len(s.Tools), Enabled: s.State.Enabled, Health: serverHealth(s)}
		for _, t := range s.Tools {
			if s.Held(t) {
				row.Held++
			}
		}
		v.List.Items = append(v.List.Items, row)
	}
	if v.Shell, err = p.shell(r, "servers", "MCP servers", at); err != nil {
		return err
	}
	return p.page(w, "servers", v)
}

func serverWanted(s commands.ServerView, words string) bool {
	text := strings.Join([]string{s.State.Name, s.State.Slug, s.State.URL}, "\n")
	for _, t := range s.Tools {
		text += "\n" + t.Name + "\n" + t.Title
	}
	return strings.Contains(strings.ToLower(text), strings.ToLower(strings.TrimSpace(words)))
}

// serverHealth is what the last look at a server's tools gave.
func serverHealth(s commands.ServerView) templates.Health {
	h := templates.Health{State: "unknown", Text: "not asked yet", Time: dated(s.Listed)}
	switch {
	case !s.State.Enabled:
		h.State, h.Text = "off", "switched off"
	case s.Listed.IsZero():
	case s.Error != "":
		h.State, h.Text, h.Detail = "failed", "did not answer as it should", s.Error
	default:
		h.State, h.Text = "ok", "reachable"
	}
	return h
}

// server is the page of an MCP server.
func (p *Pages) server(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	s, err := p.Service.Server(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	v := templates.Server{Form: p.serverForm(s)}
	if v.Tools, err = p.serverTools(r.Context(), s); err != nil {
		return err
	}
	if v.Shell, err = p.shell(r, "servers", s.State.Name, at); err != nil {
		return err
	}
	return p.page(w, "server", v)
}

// serverForm shows a bearer token as a field of its own; any other
// Authorization is a header as all are.
func (p *Pages) serverForm(s commands.ServerView) templates.ServerForm {
	st := s.State
	v := templates.ServerForm{ID: s.ID, Name: st.Name, Slug: st.Slug, URL: st.URL, Risks: risks(st.Risk), Guidance: st.Guidance,
		Timeout: strconv.Itoa(st.Timeout), Enabled: st.Enabled}
	stored, bearer := p.serverMasks(s)
	v.Bearer = bearer
	for i, h := range st.Headers {
		if bearer != "" && h.Name == bearerHeader {
			continue
		}
		v.Headers = append(v.Headers, templates.HeaderRow{Key: strconv.Itoa(i), Name: h.Name, Value: h.Value, Secret: h.Secret, Stored: stored[h.Name]})
	}
	return v
}

// serverMasks gives the masked values of a server's secret headers, and that of
// its bearer token, "" when it has none.
func (p *Pages) serverMasks(s commands.ServerView) (stored map[string]string, bearer string) {
	var names []string
	for _, h := range s.State.Headers {
		if h.Secret {
			names = append(names, h.Name)
		}
	}
	values, err := p.Service.ServerSecrets(s)
	stored = masks(names, values, err)
	if token, ok := strings.CutPrefix(values[bearerHeader], bearerScheme); ok {
		bearer = mask(token)
	}
	return stored, bearer
}

func (p *Pages) addServer(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	cmd, err := patchServer(f, false)
	if err != nil {
		return p.serverAgain(w, f, templates.ServerForm{}, nil, err)
	}
	made, _, err := p.Service.CreateServer(r.Context(), caller(r), cmd)
	if err != nil {
		return p.serverAgain(w, f, templates.ServerForm{}, nil, err)
	}
	// One that is down is added all the same; its page says what is wrong.
	if _, err := p.Service.RefreshServer(r.Context(), caller(r), made.ID); err != nil {
		return err
	}
	return redirect(w, "/admin/mcp/"+made.ID)
}

// patchServer is what a whole form says of a server. kept says that a bearer
// token is stored.
func patchServer(f form, kept bool) (commands.PatchServer, error) {
	headers := f.headers()
	switch token := strings.TrimSpace(f.text("bearer")); {
	case token != "":
		value := bearerScheme + strings.TrimPrefix(token, bearerScheme)
		headers = append(headers, commands.PatchHeader{Name: bearerHeader, Value: &value, Secret: true})
	case kept && f.text("clear_bearer") != "true":
		headers = append(headers, commands.PatchHeader{Name: bearerHeader, Secret: true})
	}
	cmd := commands.PatchServer{Slug: f.maybe("slug"), Name: f.maybe("name"), URL: f.maybe("url"), Headers: &headers, Guidance: f.maybe("guidance"),
		Risk: f.maybe("risk"), Enabled: f.flag("enabled")}
	var err error
	cmd.Timeout, err = f.number("timeout", "a whole number of seconds")
	return cmd, err
}

func (p *Pages) saveServer(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	s, err := p.Service.Server(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	stored, bearer := p.serverMasks(s)
	cmd, err := patchServer(f, bearer != "")
	if err == nil {
		_, err = p.Service.ChangeServer(r.Context(), caller(r), s.ID, cmd)
	}
	if err != nil {
		return p.serverAgain(w, f, templates.ServerForm{ID: s.ID, Bearer: bearer}, stored, err)
	}
	if s, err = p.Service.Server(r.Context(), s.ID); err != nil {
		return err
	}
	v := p.serverForm(s)
	v.Saved = "Saved."
	return p.part(w, http.StatusOK, "server-form", v)
}

// serverAgain shows the form again with what was wrong, and what was typed but
// for secrets.
func (p *Pages) serverAgain(w http.ResponseWriter, f form, v templates.ServerForm, stored map[string]string, failed error) error {
	errs, err := refused(failed)
	if words, ok := strings.CutPrefix(request.Classify(failed).Detail, "Slug: "); ok && errors.Is(failed, events.ErrConflict) {
		errs, err = templates.Errors{"slug": sentence(words)}, nil
	}
	if err != nil {
		return err
	}
	v.Name, v.Slug, v.URL, v.Guidance, v.Timeout = f.text("name"), f.text("slug"), f.text("url"), f.text("guidance"), f.text("timeout")
	v.Enabled, v.Risks, v.Headers = f.text("enabled") == "true", risks(f.text("risk")), f.headerRows(stored)
	v.Errors = under(errs, "name", "slug", "url", "headers", "risk", "timeout", "guidance")
	if f.text("bearer") != "" && v.Errors["bearer"] == "" {
		v.Errors["bearer"] = "Type the token again."
	}
	return p.part(w, http.StatusUnprocessableEntity, "server-form", v)
}

func (p *Pages) removeServer(w http.ResponseWriter, r *http.Request) error {
	_, err := p.Service.RemoveServer(r.Context(), caller(r), r.PathValue("id"))
	if err := gone(err); err != nil {
		return err
	}
	return redirect(w, "/admin/mcp")
}

// switchTool keeps a tool of a server from every chat, or offers it again.
func (p *Pages) switchTool(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	s, err := p.Service.Server(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	name := f.text("tool")
	i := slices.IndexFunc(s.Tools, func(t events.ServerTool) bool { return t.Name == name })
	if i < 0 {
		return fmt.Errorf("tool: %w", events.ErrNotFound)
	}
	off := slices.DeleteFunc(slices.Clone(s.State.Off), func(o string) bool { return o == name })
	on := f.text("on") == "true"
	if !on {
		off = append(off, name)
	}
	if _, err := p.Service.ChangeServer(r.Context(), caller(r), s.ID, commands.PatchServer{Off: &off}); err != nil {
		return err
	}
	row := serverTool(s, s.Tools[i])
	row.On = on
	return p.part(w, http.StatusOK, "server-tool", row)
}

// refreshServer asks a server for its tools and records them.
func (p *Pages) refreshServer(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	before, err := p.Service.Server(r.Context(), id)
	if err != nil {
		return err
	}
	trouble, err := p.Service.RefreshServer(r.Context(), caller(r), id)
	if err != nil {
		return err
	}
	after, err := p.Service.Server(r.Context(), id)
	if err != nil {
		return err
	}
	v, err := p.serverTools(r.Context(), after)
	if err != nil {
		return err
	}
	if trouble == "" {
		v.Result = difference(before.Tools, after.Tools)
	} else if !after.State.Enabled { // else the health says it
		v.Error = trouble
	}
	return p.part(w, http.StatusOK, "server-tools", v)
}

func difference(before, after []events.ServerTool) string {
	old, now := map[string]string{}, map[string]bool{}
	fresh, changed := 0, 0
	for _, t := range before {
		old[t.Name] = t.Digest
	}
	for _, t := range after {
		now[t.Name] = true
		switch digest, known := old[t.Name]; {
		case !known:
			fresh++
		case digest != t.Digest:
			changed++
		}
	}
	lost := 0
	for name := range old {
		if !now[name] {
			lost++
		}
	}
	return fmt.Sprintf("%d new, %d changed, %d gone.", fresh, changed, lost)
}

// reviewServer offers tools again that were looked at as they are on the page.
func (p *Pages) reviewServer(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	names, digests := f.values["tool"], map[string]string{}
	if len(names) != len(f.values["digest"]) {
		return events.Invalid("digest", "one for each tool")
	}
	for i, name := range names {
		digests[name] = f.values["digest"][i]
	}
	id := r.PathValue("id")
	if _, err := p.Service.ReviewServer(r.Context(), caller(r), id, digests); err != nil {
		return err
	}
	s, err := p.Service.Server(r.Context(), id)
	if err != nil {
		return err
	}
	v, err := p.serverTools(r.Context(), s)
	if err != nil {
		return err
	}
	v.Result = count(len(digests), "tool") + " looked at."
	return p.part(w, http.StatusOK, "server-tools", v)
}

// serverTools is the state of a server, with what it holds beside what was
// looked at before.
func (p *Pages) serverTools(ctx context.Context, s commands.ServerView) (templates.ServerTools, error) {
	v := templates.ServerTools{ID: s.ID, Health: serverHealth(s), Total: count(len(s.Tools), "tool")}
	var held []events.ServerTool
	for _, t := range s.Tools {
		v.Items = append(v.Items, serverTool(s, t))
		if s.Held(t) {
			held = append(held, t)
		}
	}
	if len(held) == 0 {
		return v, nil
	}
	seen, err := p.Service.SeenTools(ctx, s.ID)
	for _, t := range held {
		before, ok := seen[t.Name]
		v.Held = append(v.Held, heldTool(before, t, !ok))
	}
	return v, err
}
