package pages

import (
	"context"
	"fmt"
	"net/http"

	"lembas/commands"
	"lembas/web/templates"
)

// connections is the administrator's list of endpoints.
func (p *Pages) connections(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	list, err := p.Service.Connections(r.Context())
	if err != nil {
		return err
	}
	models, err := p.Service.Models(r.Context(), false)
	if err != nil {
		return err
	}
	v := templates.Connections{New: templates.ConnectionForm{Enabled: true}}
	for _, c := range list {
		row := templates.ConnectionRow{ID: c.ID, Name: c.State.Name, BaseURL: c.State.BaseURL, Key: p.masked(c), Enabled: c.State.Enabled, Health: health(c)}
		for _, m := range models {
			if m.Connection == c.ID {
				row.Models++
			}
		}
		v.List.Items = append(v.List.Items, row)
	}
	if v.Shell, err = p.shell(r, "connections", "Connections", at); err != nil {
		return err
	}
	return p.page(w, "connections", v)
}

// masked shows that there is a key, and the end of a long one.
func (p *Pages) masked(c commands.ConnectionView) string {
	key, err := p.Service.ConnectionKey(c)
	switch {
	case !c.State.HasKey:
		return ""
	case err != nil:
		return "cannot be read"
	}
	return mask(key)
}

// health is what the last look at an endpoint gave.
func health(c commands.ConnectionView) templates.Health {
	h := templates.Health{State: "unknown", Text: "not looked at yet", Time: dated(c.Refreshed)}
	switch {
	case !c.State.Enabled:
		h.State, h.Text = "off", "switched off"
	case c.Refreshed.IsZero():
	case c.Error != "":
		h.State, h.Text, h.Detail = "failed", "did not answer as it should", c.Error
	default:
		h.State, h.Text = "ok", "reachable"
	}
	return h
}

func (p *Pages) addConnection(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	cmd := commands.PatchConnection{Name: f.maybe("name"), BaseURL: f.maybe("base_url"), Extensions: f.flag("extensions")}
	if f.text("api_key") != "" {
		cmd.APIKey = f.maybe("api_key")
	}
	made, _, err := p.Service.CreateConnection(r.Context(), caller(r), cmd)
	if err != nil {
		return p.connectionAgain(w, err, templates.ConnectionForm{Name: f.text("name"), BaseURL: f.text("base_url"), Enabled: true, Extensions: f.text("extensions") == "true"})
	}
	// One that is down is added all the same; its page says what is wrong.
	if _, err := p.Service.RefreshConnection(r.Context(), caller(r), made.ID); err != nil {
		return err
	}
	return redirect(w, "/admin/connections/"+made.ID)
}

// connectionAgain shows the form again with what was wrong.
func (p *Pages) connectionAgain(w http.ResponseWriter, err error, v templates.ConnectionForm) error {
	if v.Errors, err = refused(err); err != nil {
		return err
	}
	v.Errors = under(v.Errors, "name", "base_url", "api_key")
	return p.part(w, http.StatusUnprocessableEntity, "connection-form", v)
}

func (p *Pages) connectionForm(c commands.ConnectionView) templates.ConnectionForm {
	return templates.ConnectionForm{ID: c.ID, Name: c.State.Name, BaseURL: c.State.BaseURL, Key: p.masked(c), Enabled: c.State.Enabled, Extensions: c.State.Extensions}
}

// connection is the detail page of an endpoint.
func (p *Pages) connection(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	c, err := p.Service.Connection(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	v := templates.Connection{Form: p.connectionForm(c), Health: templates.ConnectionHealth{ID: c.ID, Health: health(c)}}
	if v.Models, err = p.connectionModels(r.Context(), c.ID); err != nil {
		return err
	}
	if v.Shell, err = p.shell(r, "connections", c.State.Name, at); err != nil {
		return err
	}
	return p.page(w, "connection", v)
}

func (p *Pages) connectionModels(ctx context.Context, id string) (templates.ConnectionModels, error) {
	v := templates.ConnectionModels{ID: id}
	models, err := p.Service.Models(ctx, false)
	for _, m := range models {
		if m.Connection == id {
			v.Items = append(v.Items, modelRow(m, ""))
		}
	}
	return v, err
}

func (p *Pages) saveConnection(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	cmd := commands.PatchConnection{Name: f.maybe("name"), BaseURL: f.maybe("base_url"), Enabled: f.flag("enabled"), Extensions: f.flag("extensions")}
	switch none := ""; {
	case f.text("api_key") != "":
		cmd.APIKey = f.maybe("api_key")
	case f.text("clear_key") == "true":
		cmd.APIKey = &none
	}
	_, failed := p.Service.ChangeConnection(r.Context(), caller(r), id, cmd)
	c, err := p.Service.Connection(r.Context(), id)
	if err != nil {
		return err
	}
	v := p.connectionForm(c)
	if failed != nil {
		v.Name, v.BaseURL, v.Extensions = f.text("name"), f.text("base_url"), f.text("extensions") == "true"
		return p.connectionAgain(w, failed, v)
	}
	v.Saved = "Saved."
	return p.part(w, http.StatusOK, "connection-form", v)
}

func (p *Pages) removeConnection(w http.ResponseWriter, r *http.Request) error {
	_, err := p.Service.RemoveConnection(r.Context(), caller(r), r.PathValue("id"))
	if err := gone(err); err != nil {
		return err
	}
	return redirect(w, "/admin/connections")
}

// checkConnection looks whether an endpoint answers, and changes nothing.
func (p *Pages) checkConnection(w http.ResponseWriter, r *http.Request) error {
	c, err := p.Service.Connection(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	h := templates.Health{State: "ok", Time: dated(p.now())}
	h.Time.Short = "just now"
	found, err := p.Service.CheckConnection(r.Context(), c.ID)
	if err != nil {
		h.State, h.Text, h.Detail = "failed", "did not answer as it should", err.Error()
	} else {
		h.Text = "reachable, " + count(len(found), "model")
	}
	return p.part(w, http.StatusOK, "connection-health", templates.ConnectionHealth{ID: c.ID, Health: h})
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// refreshConnection asks an endpoint for its models and records them.
func (p *Pages) refreshConnection(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	before, err := p.listed(r.Context(), id)
	if err != nil {
		return err
	}
	trouble, err := p.Service.RefreshConnection(r.Context(), caller(r), id)
	if err != nil {
		return err
	}
	after, err := p.listed(r.Context(), id)
	if err != nil {
		return err
	}
	v, err := p.connectionModels(r.Context(), id)
	if err != nil {
		return err
	}
	if v.Error = trouble; trouble == "" {
		v.Result = fmt.Sprintf("%d new, %d gone.", without(after, before), without(before, after))
	}
	return p.part(w, http.StatusOK, "connection-models", v)
}

// listed are the models that a connection lists.
func (p *Pages) listed(ctx context.Context, id string) (map[string]bool, error) {
	if _, err := p.Service.Connection(ctx, id); err != nil {
		return nil, err
	}
	models, err := p.Service.Models(ctx, false)
	out := map[string]bool{}
	for _, m := range models {
		if m.Connection == id {
			out[m.ID] = true
		}
	}
	return out, err
}

// without counts what is in a and not in b.
func without(a, b map[string]bool) (n int) {
	for id := range a {
		if !b[id] {
			n++
		}
	}
	return n
}
