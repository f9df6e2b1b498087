package pages

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"lembas/events"
	"lembas/projections"
	"lembas/web/api"
	"lembas/web/pages/view"
	"lembas/web/templates"
)

// auditPage is how many entries a page of the trail has.
const auditPage = 60

// audit is the page of the trail: of all people for an administrator, else
// one's own.
func (p *Pages) audit(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	_, all := api.AuditReader(r)
	v := templates.Audit{All: all, Form: auditForm(r.URL.Query(), all)}
	status := http.StatusOK
	list, err := p.auditList(r, all)
	var wrong *events.FieldError
	if errors.As(err, &wrong) {
		status = http.StatusUnprocessableEntity
		v.Form.Errors = templates.Errors{wrong.Field: wrong.Detail}
		list.Error = sentence(filterName(wrong.Field) + ": " + wrong.Detail)
	} else if err != nil {
		return err
	}
	v.List = list
	if v.Shell, err = p.shell(r, "audit", "Audit", at); err != nil {
		return err
	}
	return p.write(w, status, func(b *bytes.Buffer) error { return p.Set.Page(b, "audit", v) })
}

// filterName is what the form calls a filter.
func filterName(field string) string {
	if field == "user" {
		return "Person"
	}
	return capital(field)
}

func (p *Pages) auditList(r *http.Request, all bool) (templates.AuditList, error) {
	v := r.URL.Query()
	q, err := api.AuditQuery(v)
	if err == nil {
		q.Limit = auditPage
		q, err = api.AuditFor(r, p.Service, q)
	}
	if err != nil {
		return templates.AuditList{}, err
	}
	rows, next, err := p.Audit.Audit(r.Context(), q)
	if err != nil {
		return templates.AuditList{}, err
	}
	v.Del("cursor")
	out := templates.AuditList{Total: count(len(rows), "entry"), Short: next != "" && len(rows) < auditPage}
	for name := range v {
		out.Filtered = out.Filtered || v.Get(name) != ""
	}
	if len(rows) != 1 {
		out.Total = strconv.Itoa(len(rows)) + " entries"
	}
	if next != "" {
		v.Set("cursor", next)
		out.Next = "/audit?" + given(v).Encode()
	}
	reader := auditReader{p: p, ctx: r.Context(), me: me(r).ID, all: all, names: map[string]string{}}
	for i := range rows {
		label := rows[i].Time.UTC().Format("Monday, 2 January 2006")
		if n := len(out.Days); n == 0 || out.Days[n-1].Label != label {
			out.Days = append(out.Days, templates.AuditDay{Label: label})
		}
		day := &out.Days[len(out.Days)-1]
		day.Rows = append(day.Rows, reader.row(&rows[i]))
	}
	return out, nil
}

// given is a query without what is empty.
func given(v url.Values) url.Values {
	out := url.Values{}
	for name := range v {
		if v.Get(name) != "" {
			out.Set(name, v.Get(name))
		}
	}
	return out
}

func auditForm(v url.Values, all bool) templates.AuditForm {
	f := templates.AuditForm{All: all, User: v.Get("user"), Tool: v.Get("tool"), Chat: v.Get("chat"), Consent: v.Get("consent"),
		From: v.Get("from"), To: v.Get("to"), Types: auditTypes(v.Get("type"), all), Verdicts: []templates.Option{{Label: "Any"}}}
	for _, verdict := range projections.AuditVerdicts() {
		f.Verdicts = append(f.Verdicts, templates.Option{Value: verdict, Label: verdictWords[verdict].word, Selected: verdict == v.Get("verdict")})
	}
	return f
}

// auditTypes are the choices of what; one that came by a link is added.
func auditTypes(chosen string, all bool) []templates.Option {
	out := []templates.Option{{Label: "Everything"}, {Value: "consent.*", Label: "Approvals"}, {Value: "tool.*", Label: "Tools"}, {Value: "chat.*", Label: "Chats"},
		{Value: "user.*", Label: "Accounts, sign-ins"}, {Value: "session.*", Label: "Sessions"}, {Value: "token.*", Label: "API tokens"}, {Value: "push.*", Label: "Notifications"}}
	if all {
		out = append(out, templates.Option{Value: "setting.*", Label: "Settings"}, templates.Option{Value: "connection.*", Label: "Connections"},
			templates.Option{Value: "model.*", Label: "Models"}, templates.Option{Value: "server.*", Label: "MCP servers"}, templates.Option{Value: "search.*", Label: "Web search"})
	}
	i := slices.IndexFunc(out, func(o templates.Option) bool { return o.Value == chosen })
	if i < 0 {
		out, i = append(out, templates.Option{Value: chosen, Label: chosen}), len(out)
	}
	out[i].Selected = true
	return out
}

// auditReader writes entries for one reader.
type auditReader struct {
	p     *Pages
	ctx   context.Context
	me    string
	all   bool
	names map[string]string
}

func (a *auditReader) row(r *projections.AuditRow) templates.AuditRow {
	words, ok := auditWords[r.Type]
	if !ok {
		words = auditWord{"dot", r.Type}
	}
	if r.Type == "tool.finished" && slices.Contains([]string{events.ToolDenied, events.ToolExpired, events.ToolRefused}, r.Status) {
		words = auditWord{"ban", "Tool not run"}
	}
	out := templates.AuditRow{Position: strconv.FormatUint(uint64(r.Position), 10), Type: r.Type, Time: view.Time(r.Time), Icon: words.icon, What: words.what,
		About: about(r), Who: a.who(r), Whose: a.whose(r), Outcomes: outcomes(r), Facts: facts(r), Links: a.links(r), Erased: r.Erased}
	if r.Chat != "" && strings.HasPrefix(r.Type, "consent.") {
		out.Mode = r.Mode
	}
	return out
}

// who is the person or thing that acted. Others than oneself are only named to
// an administrator.
func (a *auditReader) who(r *projections.AuditRow) string {
	switch {
	case r.Actor.Kind == events.Model:
		if m, err := a.p.Service.Model(a.ctx, r.Actor.ID); err == nil {
			return m.Title()
		}
		return "a model"
	case r.Type == "user.sign_in_failed":
		return "somebody"
	case r.Actor.Kind != events.Person:
		return "LLeMbas"
	case r.Actor.ID == a.me:
		return "you"
	case !a.all:
		return "an administrator"
	}
	return a.person(r.Actor.ID)
}

// person is somebody's name, or what is left of them.
func (a *auditReader) person(id string) string {
	if _, known := a.names[id]; !known {
		a.names[id] = "somebody who is gone"
		if u, err := a.p.Service.User(a.ctx, id); err == nil {
			a.names[id] = u.Name
		}
	}
	return a.names[id]
}

func (a *auditReader) whose(r *projections.AuditRow) string {
	if r.User == "" || (r.Actor.Kind == events.Person && r.Actor.ID == r.User) || (!a.all && r.User == a.me) {
		return ""
	}
	name := a.person(r.User)
	if r.User == a.me {
		name = "yours"
	}
	if r.Chat != "" {
		return "in a chat of " + name
	}
	return "about the account of " + name
}

// links lead on from an entry. Only one's own chats can be opened.
func (a *auditReader) links(r *projections.AuditRow) (out []templates.Option) {
	add := func(label, path string) { out = append(out, templates.Option{Label: label, Value: path}) }
	only := func(name, value string) string { return "/audit?" + url.Values{name: {value}}.Encode() }
	if r.Consent != "" {
		add("From the question to the result", only("consent", r.Consent))
	}
	if r.Chat != "" && r.User == a.me && !r.Erased {
		path := "/chat/" + url.PathEscape(r.Chat)
		if r.Reply != "" {
			path += "#m-" + url.PathEscape(r.Reply)
		}
		add("Open the chat", path)
	}
	if r.Chat != "" {
		add("Only this chat", only("chat", r.Chat))
	}
	if a.all && r.User != "" {
		add("Only this person", only("user", r.User))
	}
	return out
}
