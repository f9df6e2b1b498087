package pages_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestPreferences(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	h.connect(ann.Caller, "Shop", "")
	ann.get("/settings").is(200).says("#sessions .item-main", "Firefox on Linux")
	ann.do("POST", "/settings/preferences", "enter_newline", "false", "enter_newline", "true", "follow", "false", "font", "serif").
		is(200).says("[data-saved]", "Saved")
	d := ann.do("POST", "/settings/preferences", "theme", "shire").is(200)
	if d.header.Get("HX-Refresh") != "true" {
		t.Error("a new theme does not refresh the page")
	}
	u, err := h.User(t.Context(), ann.User)
	h.ok(err)
	if x := u.Preferences; x.Theme != "shire" || x.Font != "serif" || !x.EnterNewline || !x.NoFollow || x.NoShortcuts {
		t.Errorf("preferences are %+v", x)
	}
	d = ann.get("/settings")
	if attr(d.node("html"), "data-theme") != "shire" || attr(d.node("body"), "data-enter") != "newline" || attr(d.node("body"), "data-follow") != "off" {
		t.Errorf("the page does not show them")
	}
	ann.do("POST", "/settings/preferences", "theme", "mordor").is(422).says(".field-error", "Moria, shire")
	ann.do("POST", "/settings/preferences", "default_model", "none").is(422).says(".field-error", "cannot be used")
}

func TestPassword(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	post := func(current, password, repeat string) doc {
		return ann.do("POST", "/settings/password", "current", current, "password", password, "repeat", repeat)
	}
	post("wrong", "battery staple", "battery staple").is(422).says(".field-error", "not your present password")
	post("correct horse", "battery staple", "battery").is(422).says(".field-error", "The two new passwords are not the same.")
	d := post("correct horse", "short", "short").is(422).says(".field-error", "At least 8")
	if strings.Contains(d.source, "correct horse") {
		t.Error("a password came back")
	}
	post("correct horse", "battery staple", "battery staple").is(200).says("[data-saved]", "changed")
}

func TestSessionsAndTokens(t *testing.T) {
	h := newHouse(t)
	ann, bob := h.human("ann"), h.human("bob")
	_, other, err := h.OpenSession(t.Context(), ann.Caller, hostile)
	h.ok(err)
	ann.do("DELETE", "/settings/sessions/"+bob.Session).is(404)
	if n := len(ann.do("DELETE", "/settings/sessions/"+other.Session).is(200).all(".item")); n != 1 {
		t.Errorf("%d sessions are left", n)
	}
	ann.do("POST", "/settings/tokens", "name", "").is(422).says(".field-error", "1 to 100")
	d := ann.do("POST", "/settings/tokens", "name", "script "+hostile, "scope", "read", "expires", "30").is(200).lacks("img")
	secret := d.one("#new-token")
	if !strings.HasPrefix(secret, "lmb_") {
		t.Errorf("the secret is %q", secret)
	}
	if strings.Contains(ann.get("/settings").source, secret) {
		t.Error("the secret is shown again")
	}
	bob.do("POST", "/settings/tokens", "name", "x", "scope", "admin").is(422).says(".field-error", "administrator")
	u, err := h.User(t.Context(), ann.User)
	h.ok(err)
	for id := range u.Tokens {
		ann.do("DELETE", "/settings/tokens/"+id).is(200).says(".none", "No tokens")
	}
}

func TestConnections(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	ann.do("POST", "/admin/connections", "name", "Shop", "base_url", "ftp://x").is(422).says(".field-error", "http or https")
	h.down = errors.New("refused " + hostile)
	d := ann.do("POST", "/admin/connections", "name", "Shop", "base_url", "http://127.0.0.1:9/v1", "api_key", "sk-very-secret-1234").is(204)
	path := d.header.Get("HX-Redirect")
	d = ann.get(path).is(200).says("#connection-health .words", hostile).lacks("#connection-health img")
	if strings.Contains(d.source, "sk-very") || !strings.Contains(d.source, "••••1234") {
		t.Error("the key is not masked")
	}
	h.down = nil
	ann.do("POST", path+"/check").is(200).says(".health", "reachable, 3 models")
	ann.do("POST", path+"/refresh").is(200).says(".notice", "3 new, 0 gone")
	h.found = h.found[:1]
	ann.do("POST", path+"/refresh").is(200).says(".notice", "0 new, 2 gone")
	ann.do("PATCH", path, "name", "", "base_url", "http://127.0.0.1:9/v1").is(422).says(".field-error", "1 to 100")
	ann.do("PATCH", path, "base_url", "http://elsewhere:9/v1").is(422).says(".field-error", "give its key")
	ann.do("PATCH", path, "name", "Renamed", "base_url", "http://127.0.0.1:9/v1", "api_key", "", "enabled", "false", "extensions", "false").is(200).says("[data-saved]", "Saved")
	ann.get("/admin/connections").is(200).says("td[data-label=Name]", "Renamed").says("td[data-label=Key]", "••••1234").says(".health", "switched off")
	ann.do("PATCH", path, "clear_key", "false", "clear_key", "true").is(200)
	ann.get("/admin/connections").says("td[data-label=Key]", "none")
	if to := ann.do("DELETE", path).is(204).header.Get("HX-Redirect"); to != "/admin/connections" {
		t.Errorf("after the removal to %q", to)
	}
	ann.get(path).is(404)
}

func TestModels(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	h.connect(ann.Caller, "Shop", "")
	order := func(d doc) (out []string) {
		for _, n := range d.all("#model-list code") {
			out = append(out, words(n))
		}
		return out
	}
	d := ann.get("/admin/models").is(200).says("#model-list h2", "3 models").lacks("#model-list large")
	if got := order(d); !slices.Equal(got, []string{"small", "<large>", "third"}) {
		t.Errorf("order %q", got)
	}
	down := d.all("[title=Down]")[0]
	id := strings.TrimSuffix(strings.TrimPrefix(attr(down, "hx-post"), "/admin/models/"), "/move")
	var before string
	if _, after, ok := strings.Cut(attr(down, "hx-vals"), `"before":"`); ok {
		before, _, _ = strings.Cut(after, `"`)
	}
	if got := order(ann.do("POST", "/admin/models/"+id+"/move", "before", before).is(200)); !slices.Equal(got, []string{"<large>", "small", "third"}) {
		t.Errorf("moved down: %q", got)
	}
	if got := order(ann.do("POST", "/admin/models/"+id+"/move", "before", "").is(200)); !slices.Equal(got, []string{"<large>", "third", "small"}) {
		t.Errorf("moved to the end: %q", got)
	}
	ann.do("POST", "/admin/models/"+id+"/move", "before", "nonsense").is(409)
	if got := order(ann.get("/admin/models?q=LARGE").is(200)); !slices.Equal(got, []string{"<large>"}) {
		t.Errorf("found %q", got)
	}
	ann.do("PATCH", "/admin/models/"+id+"?row=1", "enabled", "false").is(200).says("li code", "small")
	if got := order(ann.get("/admin/models?state=disabled").is(200)); !slices.Equal(got, []string{"small"}) {
		t.Errorf("disabled %q", got)
	}
	path := "/admin/models/" + id
	ann.get(path).is(200).node("#model-form [name=params.temperature]")
	if hint := attr(ann.get(path).node("[name=params.seed]"), "placeholder"); hint != "a whole number" {
		t.Errorf("the seed's hint is %q", hint)
	}
	d = ann.do("PATCH", path, "title", "Small "+hostile, "enabled", "true", "context_length", "8000", "effort", "low", "params.temperature", "0.5", "params.top_p", "", "system_prompt", "Be brief.").is(200).lacks("img")
	if v := attr(d.node("[name=params.temperature]"), "value"); v != "0.5" {
		t.Errorf("temperature %q", v)
	}
	for field, value := range map[string]string{"params.temperature": "9", "params.top_p": "x", "context_length": "many", "effort": "huge"} {
		d := ann.do("PATCH", path, field, value).is(422)
		if n := len(d.all(".field-error")); n != 1 {
			t.Errorf("%s: %d errors at fields", field, n)
		}
		d.lacks(".notice")
	}
	m, err := h.Model(t.Context(), id)
	h.ok(err)
	if st := m.State; st.Title != "Small "+hostile || st.ContextLength != 8000 || st.Params["temperature"] != 0.5 || len(st.Params) != 1 || st.Effort != "low" {
		t.Errorf("state %+v", st)
	}
	ann.get("/admin/models/none").is(404)
}

func TestUsersAndInstance(t *testing.T) {
	h := newHouse(t)
	ann, bob := h.human("ann"), h.human("bob")
	if n := len(ann.get("/admin/users").is(200).all("#user-list .item")); n != 2 {
		t.Errorf("%d accounts", n)
	}
	ann.get("/admin/users?q=bob").is(200).says("#user-list .item b", "bob")
	d := ann.do("POST", "/admin/users", "email", "no", "name", "x", "password", "short").is(422)
	if n := len(d.all(".field-error")); n != 2 {
		t.Errorf("%d errors at fields, want those of e-mail and password", n)
	}
	ann.do("POST", "/admin/users", "email", "cat@example.org", "name", hostile, "password", "correct horse", "admin", "false").is(200).says("[data-saved]", "Added")
	ann.do("PATCH", "/admin/users/"+bob.User, "admin", "true").is(200).says(".item-main", "administrator")
	ann.do("PATCH", "/admin/users/"+bob.User, "disabled", "true").is(200).says(".item-main", "disabled")
	ann.do("PATCH", "/admin/users/"+ann.User, "disabled", "true").is(422)
	if d := bob.get("/settings"); d.status == 200 {
		t.Error("a disabled account sees its pages")
	}
}

func TestInstanceForm(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	ann.get("/admin/settings").is(200).node("[name=limits.gather_ms]")
	ann.do("PATCH", "/admin/settings", "signup", "false", "limits.gather_ms", "0", "limits.stream_idle", "60").is(200).says("[data-saved]", "Saved")
	s, err := h.Settings(t.Context())
	h.ok(err)
	if s.Bool("signup") || s.Int("limits.gather_ms") != 0 || s.Int("limits.stream_idle") != 60 {
		t.Errorf("settings %v", s.All())
	}
	for _, bad := range []string{"-1", "5000", "x", "1.5", ""} {
		ann.do("PATCH", "/admin/settings", "limits.gather_ms", bad).is(422).says(".field-error", "0 to 1000")
	}
	ann.do("PATCH", "/admin/settings", "no.such", "1").is(422).says(".notice", "no such setting")
}

// TestAdminPagesAreNotThere for others.
func TestAdminPagesAreNotThere(t *testing.T) {
	h := newHouse(t)
	ann, bob := h.human("ann"), h.human("bob")
	id := h.connect(ann.Caller, "Shop", "")
	tool, server := ann.tool("weather"), ann.server("files")
	for _, path := range []string{"GET /admin/connections", "POST /admin/connections", "GET /admin/connections/" + id, "PATCH /admin/connections/" + id,
		"DELETE /admin/connections/" + id, "POST /admin/connections/" + id + "/check", "POST /admin/connections/" + id + "/refresh", "GET /admin/models",
		"GET /admin/tools", "POST /admin/tools", "GET /admin/tools/new", "GET /admin/tools/row", "POST /admin/tools/try", "GET /admin/tools/" + tool,
		"PATCH /admin/tools/" + tool, "DELETE /admin/tools/" + tool, "GET /admin/mcp", "POST /admin/mcp", "GET /admin/mcp/" + server, "PATCH /admin/mcp/" + server,
		"DELETE /admin/mcp/" + server, "PATCH /admin/mcp/" + server + "/tools", "POST /admin/mcp/" + server + "/refresh", "POST /admin/mcp/" + server + "/review",
		"GET /admin/search", "PATCH /admin/search", "POST /admin/search/try", "GET /admin/settings", "PATCH /admin/settings", "GET /admin/users", "POST /admin/users", "PATCH /admin/users/" + ann.User} {
		method, path, _ := strings.Cut(path, " ")
		bob.do(method, path).is(http.StatusNotFound)
	}
	if list, err := h.Connections(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("connections %v, %v", list, err)
	}
}
