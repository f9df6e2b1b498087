package pages_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lembas/commands"
	"lembas/events"
)

const toolSecret = "very-secret-1234"

// toolFields is a whole form of an HTTP tool, with changes of it at the end:
// the last value counts, and rows are added.
func toolFields(more ...string) []string {
	return append([]string{"slug", "weather", "label", "Weather", "description", "Tells the weather.", "guidance", "One town.", "risk", "read",
		"enabled", "false", "enabled", "true", "method", "GET", "url", "https://weather.test/{{town}}", "body", "", "timeout", "20",
		"header", "a", "header.a.name", "X-Unit", "header.a.value", "metric", "header.a.secret", "false",
		"header", "b", "header.b.name", "Authorization", "header.b.value", "Bearer " + toolSecret, "header.b.secret", "false", "header.b.secret", "true",
		"parameter", "c", "parameter.c.name", "town", "parameter.c.type", "string", "parameter.c.description", "A town", "parameter.c.required", "true",
		"parameter", "d", "parameter.d.name", "days", "parameter.d.type", "integer", "parameter.d.description", "", "parameter.d.required", "false",
		"parameter", "e", "parameter.e.name", "", "parameter.e.type", "string"}, more...)
}

// tool adds an HTTP tool and gives its id.
func (u human) tool(slug string) string {
	u.h.t.Helper()
	to := u.do("POST", "/admin/tools", toolFields("slug", slug)...).is(204).header.Get("HX-Redirect")
	return strings.TrimPrefix(to, "/admin/tools/")
}

// server adds an MCP server and gives its id.
func (u human) server(slug string, more ...string) string {
	u.h.t.Helper()
	fields := append([]string{"slug", slug, "name", "The " + slug, "url", "http://mcp.test/", "risk", "write", "timeout", "60"}, more...)
	to := u.do("POST", "/admin/mcp", fields...).is(204).header.Get("HX-Redirect")
	return strings.TrimPrefix(to, "/admin/mcp/")
}

// placeholders are what empty fields say.
func (d doc) placeholders() (out []string) {
	for _, n := range d.all("[placeholder]") {
		out = append(out, attr(n, "placeholder"))
	}
	return out
}

func (h *house) toolState(id string) (events.CustomState, string) {
	h.t.Helper()
	v, err := h.CustomTool(h.t.Context(), id)
	h.ok(err)
	secrets, err := h.ToolSecrets(v)
	h.ok(err)
	return v.State, secrets["Authorization"]
}

func TestHTTPToolForm(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	ann.get("/admin/tools").is(200).says(".empty h2", "No tools of your own yet")
	ann.get("/admin/tools/new").is(200).node("[name=parameter]")
	d := ann.do("POST", "/admin/tools", toolFields("slug", "fetch", "url", "ftp://x", "timeout", "soon")...).is(422)
	if strings.Contains(d.source, toolSecret) {
		t.Error("a secret came back")
	}
	d = ann.do("POST", "/admin/tools", toolFields("slug", "fetch", "url", "ftp://x")...).is(422)
	if hints := d.placeholders(); !slices.Contains(hints, "type it again") {
		t.Errorf("nothing says that the secret is gone: %q", hints)
	}
	if n := len(d.all(".field-error")); n != 2 {
		t.Errorf("%d errors at fields, want those of slug and address", n)
	}
	if v := attr(d.node("[name=url]"), "value"); v != "ftp://x" {
		t.Errorf("the form lost what was typed: %q", v)
	}
	id := ann.tool("weather")
	st, secret := h.toolState(id)
	if secret != "Bearer "+toolSecret || st.Slug != "weather" || st.Risk != "read" || st.Timeout != 20 || !st.Enabled || len(st.Headers) != 2 || st.Headers[0].Value != "metric" {
		t.Errorf("state %+v", st)
	}
	if want := []events.CustomParameter{{Name: "town", Type: "string", Description: "A town", Required: true}, {Name: "days", Type: "integer"}}; !slices.Equal(st.Parameters, want) {
		t.Errorf("parameters %+v", st.Parameters)
	}
	path := "/admin/tools/" + id
	d = ann.get(path).is(200)
	if strings.Contains(d.source, toolSecret) || !slices.Contains(d.placeholders(), "••••1234 · leave empty to keep it") {
		t.Error("the secret is not masked")
	}
	ann.do("PATCH", path, toolFields("header.b.value", "", "label", "Sky")...).is(200).says("[data-saved]", "Saved")
	if st, secret = h.toolState(id); secret != "Bearer "+toolSecret || st.Label != "Sky" {
		t.Errorf("an empty secret changed it: %q %+v", secret, st)
	}
	ann.do("PATCH", path, toolFields("header.b.value", "", "url", "https://elsewhere.test/")...).is(422).says(".field-error", "another host")
	ann.do("PATCH", path, toolFields("header.b.name", "X-Renamed", "header.b.value", "")...).is(422).says(".field-error", "needs a value")
	ann.do("PATCH", path, "slug", "weather", "label", "Bare", "description", "x", "risk", "read", "method", "POST", "url", "https://weather.test/", "body", "a\r\nb", "timeout", "5").is(200)
	if st, secret = h.toolState(id); secret != "" || len(st.Headers) != 0 || len(st.Parameters) != 0 || st.Body != "a\nb" {
		t.Errorf("rows that left the form stay: %q %+v", secret, st)
	}
	ann.do("PATCH", path+"?row=1", "enabled", "false").is(200).says("li a", "Bare")
	ann.tool("other")
	if got := ann.get("/admin/tools?state=disabled").is(200).all("#tool-list .item"); len(got) != 1 {
		t.Errorf("%d are disabled", len(got))
	}
	ann.get("/admin/tools?q=OTHER").says("#tool-list small", "other")
	ann.get("/admin/tools?q=nothing").says(".empty h2", "Nothing matches")
	if to := ann.do("DELETE", path).is(204).header.Get("HX-Redirect"); to != "/admin/tools" {
		t.Errorf("after the removal to %q", to)
	}
	ann.get(path).is(404)
	ann.do("PATCH", path, toolFields()...).is(404)
}

func TestRowsOfForms(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	a, b := ann.get("/admin/tools/row?kind=header").is(200), ann.get("/admin/tools/row?kind=header").is(200)
	if x, y := attr(a.node("[name=header]"), "value"), attr(b.node("[name=header]"), "value"); x == "" || x == y {
		t.Errorf("two rows have the keys %q and %q", x, y)
	}
	a.node("[autofocus]")
	ann.get("/admin/tools/row?kind=parameter").is(200).node("[name=parameter]")
	if d := ann.get("/admin/tools/row?kind=none").is(200); d.source != "" {
		t.Errorf("no row is %q", d.source)
	}
}

func TestTryingATool(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	var state events.CustomState
	var secret, args string
	calls := 0
	h.try = func(_ context.Context, st events.CustomState, secrets map[string]string, a json.RawMessage) (commands.Tried, error) {
		calls++
		state, secret, args = st, secrets["Authorization"], string(a)
		if strings.HasPrefix(st.URL, "ftp") {
			return commands.Tried{}, events.Invalid("url", "must begin with http")
		}
		return commands.Tried{Request: "GET " + st.URL + "\nAuthorization: ••••" + hostile, Status: events.ToolOK, Output: "answer " + hostile}, nil
	}
	try := func(fields ...string) doc { return ann.do("POST", "/admin/tools/try", fields...) }
	d := try(toolFields("arg.town", `Bree "x"`, "arg.days", "3")...).is(200).says(".tried .status", "done").lacks("img").lacks("script")
	if args != `{"days":3,"town":"Bree \"x\""}` || secret != "Bearer "+toolSecret || state.Slug != "weather" {
		t.Errorf("a draft was tried with %s, %q, %+v", args, secret, state)
	}
	pres := d.all(".tried pre")
	if len(pres) != 2 || !strings.Contains(words(pres[0]), "GET https://weather.test/{{town}}") || words(pres[1]) != "answer "+hostile {
		t.Errorf("shown %q", d.source)
	}
	if v := attr(d.node("[name=arg.town]"), "value"); v != `Bree "x"` {
		t.Errorf("the panel lost what was typed: %q", v)
	}
	before := calls
	try(toolFields("arg.town", "", "arg.days", "1")...).is(422).says(".field-error", "Give a value").lacks(".tried")
	try(toolFields("arg.town", "x", "arg.days", "many")...).is(422).says(".field-error", "must be a number")
	try(toolFields("arg.town", "x", "timeout", "soon")...).is(422).says(".notice", "Timeout: ")
	if calls != before {
		t.Error("something was sent that was refused")
	}
	try(toolFields("arg.town", "x", "url", "ftp://x")...).is(422).says(".notice", "Address: Must begin with http")
	id := ann.tool("stored")
	head := h.log.Head()
	try(toolFields("id", id, "slug", "stored", "header.b.value", "", "arg.town", "x", "method", "POST")...).is(200)
	if secret != "Bearer "+toolSecret || state.Method != "POST" || args != `{"town":"x"}` {
		t.Errorf("a stored one was tried with %q, %s, %+v", secret, args, state)
	}
	if h.log.Head() != head {
		t.Error("trying left something in the log")
	}
	try(toolFields("id", "none", "arg.town", "x")...).is(404)
}

func tool(name, digest, description string) events.ServerTool {
	return events.ServerTool{Name: name, Title: "T " + hostile, Description: description, Digest: digest,
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"` + "<img src=x onerror=alert(1)>" + `"}}}`)}
}

func TestMCPServerPages(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	ann.get("/admin/mcp").is(200).says(".empty h2", "No server yet")
	d := ann.do("POST", "/admin/mcp", "slug", "files", "name", "Files", "url", "ftp://x", "risk", "write", "timeout", "60", "bearer", toolSecret).is(422)
	if faults := d.all(".field-error"); len(faults) != 2 || !strings.Contains(words(faults[0]), "http or https") || !strings.Contains(words(faults[1]), "token again") {
		t.Errorf("refused with %d errors at fields", len(faults))
	}
	h.down = errors.New("refused " + hostile)
	id := ann.server("files", "bearer", toolSecret)
	path := "/admin/mcp/" + id
	d = ann.get(path).is(200).says(".strip .words", hostile).lacks("img")
	if strings.Contains(d.source, toolSecret) || attr(d.node("[name=bearer]"), "placeholder") != "••••1234 · leave empty to keep it" {
		t.Error("the token is not masked")
	}
	d = ann.do("POST", "/admin/mcp", "slug", "files", "name", "Again", "url", "http://x.test/", "risk", "write", "timeout", "60").is(422)
	d.says(".field-error", "is taken by")
	h.down = nil
	h.listed = []events.ServerTool{tool("read", "1", "Reads a file by its path."), tool("write", "2", hostile)}
	d = ann.do("POST", path+"/refresh").is(200).says("[data-kind=ok]", "2 new, 0 changed, 0 gone.").lacks("#server-held").lacks("img")
	if n := len(d.all(".items .item")); n != 2 {
		t.Errorf("%d tools", n)
	}
	ann.do("PATCH", path+"/tools", "tool", "write", "on", "false", "on", "false").is(200).says("li code", "write")
	ann.do("PATCH", path+"/tools", "tool", "none", "on", "false").is(404)
	s, err := h.Server(t.Context(), id)
	h.ok(err)
	if !slices.Equal(s.State.Off, []string{"write"}) {
		t.Errorf("off are %q", s.State.Off)
	}
	ann.do("PATCH", path+"/tools", "tool", "write", "on", "false", "on", "true").is(200)
	s, err = h.Server(t.Context(), id)
	h.ok(err)
	if len(s.State.Off) != 0 {
		t.Errorf("off are %q", s.State.Off)
	}
	ann.do("PATCH", path, "slug", "files", "name", "Renamed", "url", "http://mcp.test/other", "risk", "read", "timeout", "5", "bearer", "", "enabled", "true",
		"header", "a", "header.a.name", "X-Team", "header.a.value", "mill", "header.a.secret", "false").is(200).says("[data-saved]", "Saved")
	secret := func() string {
		s, err := h.Server(t.Context(), id)
		h.ok(err)
		all, err := h.ServerSecrets(s)
		h.ok(err)
		return all["Authorization"]
	}
	if got := secret(); got != "Bearer "+toolSecret {
		t.Errorf("an empty token changed it: %q", got)
	}
	ann.do("PATCH", path, "slug", "files", "name", "x", "url", "http://elsewhere.test/", "risk", "read", "timeout", "5").is(422).says(".field-error", "Authorization")
	ann.do("PATCH", path, "slug", "files", "name", "Renamed", "url", "http://mcp.test/", "risk", "read", "timeout", "x").is(422).says(".field-error", "whole number")
	ann.do("PATCH", path, "slug", "files", "name", "Renamed", "url", "http://mcp.test/", "risk", "read", "timeout", "5", "clear_bearer", "true").is(200)
	if got := secret(); got != "" {
		t.Errorf("a token that was to be forgotten: %q", got)
	}
	ann.get("/admin/mcp?q=WRITE").says("td[data-label=Name]", "Renamed")
	ann.get("/admin/mcp?q=nothing").says("#server-list h2", "Nothing matches")
	if to := ann.do("DELETE", path).is(204).header.Get("HX-Redirect"); to != "/admin/mcp" {
		t.Errorf("after the removal to %q", to)
	}
	ann.get(path).is(404)
	ann.do("POST", path+"/refresh").is(404)
}

// TestHeldTools: what changed is shown against what was looked at, also when a
// later list changed once more, and only what the page shows is offered.
func TestHeldTools(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	h.listed = []events.ServerTool{tool("read", "1", "Reads a file by its path."), tool("write", "2", "Writes.")}
	path := "/admin/mcp/" + ann.server("files")
	ann.get(path).is(200).lacks("#server-held")
	h.listed = []events.ServerTool{tool("read", "3", "Reads a file by name. "+hostile), tool("write", "2", "Writes.")}
	ann.do("POST", path+"/refresh").is(200).says("[data-kind=ok]", "0 new, 1 changed, 0 gone.")
	h.listed = []events.ServerTool{tool("read", "4", "Reads a file by its URL. "+hostile), tool("send", "5", "Sends "+hostile)}
	ann.do("POST", path+"/refresh").is(200)
	d := ann.get(path).is(200).lacks("img").lacks("#server-held script")
	held := d.all(".held-tool")
	if len(held) != 2 || !strings.Contains(words(held[0]), "changed") || !strings.Contains(words(held[1]), "new") {
		t.Fatalf("held %d", len(held))
	}
	if d := (doc{t: t, root: held[1], source: d.source}); len(d.all(".change")) != 2 {
		t.Errorf("a new tool shows %d parts, want description and arguments: its title stands above", len(d.all(".change")))
	}
	if del, ins := d.one(".change del"), d.one(".change ins"); del != "path." || ins != "URL. "+hostile {
		t.Errorf("marked %q and %q", del, ins)
	}
	ann.get("/admin/mcp").says("td[data-label=Name] .tag", "2 held")
	ann.do("POST", path+"/review", "tool", "read", "digest", "3").is(409)
	ann.do("POST", path+"/review", "tool", "read", "tool", "send", "digest", "4").is(422)
	if n := len(ann.do("POST", path+"/review", "tool", "read", "digest", "4").is(200).all(".held-tool")); n != 1 {
		t.Errorf("%d are held", n)
	}
	ann.do("POST", path+"/review", "tool", "send", "digest", "5").is(200).lacks("#server-held").says("[data-kind=ok]", "1 tool looked at.")
}

func TestSearchPage(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	ann.get("/admin/search").is(200).says("#search-try .none", "Choose a provider")
	save := func(fields ...string) doc { return ann.do("PATCH", "/admin/search", fields...) }
	save("provider", "searxng", "url", "", "results", "5").is(422).says(".field-error", "needs the address")
	save("provider", "searxng", "url", "http://127.0.0.1:8888", "results", "many").is(422).says(".field-error", "whole number")
	save("provider", "searxng", "url", "http://127.0.0.1:8888", "results", "7", "api_key", "").is(200).says("[data-saved]", "Saved").node("#search-try [name=query]")
	save("provider", "firecrawl", "url", "http://127.0.0.1:8888", "results", "7", "api_key", toolSecret).is(200)
	st, err := h.Service.Search(t.Context())
	h.ok(err)
	if st != (events.SearchState{Provider: "firecrawl", HasKey: true, Results: 7}) {
		t.Errorf("the old provider's address went along: %+v", st)
	}
	d := ann.get("/admin/search").is(200)
	if strings.Contains(d.source, toolSecret) || attr(d.node("[name=api_key]"), "placeholder") != "••••1234 · leave empty to keep it" {
		t.Error("the key is not masked")
	}
	h.search = func(query string) (string, error) {
		switch query {
		case "bad":
			return "", fmt.Errorf("the page of the provider changed %s: %w", hostile, events.ErrInvalid)
		case "broken":
			return "", errors.New("internal words")
		}
		return "found " + query + hostile, nil
	}
	ann.do("POST", "/admin/search/try", "query", "lembas").is(200).says(".tried pre", "found lembas"+hostile).lacks("img")
	ann.do("POST", "/admin/search/try", "query", "bad").is(200).says(".notice", "The page of the provider changed").lacks("img").lacks(".tried")
	if d := ann.do("POST", "/admin/search/try", "query", "broken").is(500); strings.Contains(d.source, "internal words") {
		t.Error("internal words are shown")
	}
	ann.do("POST", "/admin/search/try", "query", " ").is(422).says(".notice", "Write what to search for")
	save("provider", "firecrawl", "url", "", "results", "7", "clear_key", "true").is(200)
	save("provider", "duckduckgo", "url", "http://left.test/", "api_key", "left", "results", "3").is(200)
	save("provider", "off", "url", "", "results", "3").is(200).says("#search-try .none", "Choose a provider")
}

func TestModelFlagForm(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	h.connect(ann.Caller, "Shop", "")
	all, err := h.Models(t.Context(), false)
	h.ok(err)
	path := "/admin/models/" + all[0].ID
	checked := func(d doc, key string) string {
		for _, n := range d.all("[type=radio][name=" + key + "]") {
			if has(n, "checked") {
				return attr(n, "value")
			}
		}
		return "none"
	}
	if got := checked(ann.get(path), "tool_fetch"); got != "" {
		t.Errorf("at first %q", got)
	}
	for _, want := range []string{"false", "true", ""} {
		d := ann.do("PATCH", path, "tool_fetch", want, "tool_mcp", "true").is(200)
		if got := checked(d, "tool_fetch"); got != want || checked(d, "tool_mcp") != "true" || checked(d, "tool_custom") != "" {
			t.Errorf("set to %q it is %q", want, got)
		}
	}
	if d := ann.do("PATCH", path, "tool_fetch", "false", "effort", "huge").is(422); checked(d, "tool_fetch") != "false" {
		t.Error("a form that was refused lost a switch")
	}
	m, err := h.Model(t.Context(), all[0].ID)
	h.ok(err)
	if _, there := m.State.Flags["tool_fetch"]; there || !m.State.Flags["tool_mcp"] {
		t.Errorf("flags %v", m.State.Flags)
	}
}

func TestSettingLists(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	ticked := func(d doc, key string) (out []string) {
		for _, n := range d.all("[type=checkbox][name=" + key + "]") {
			if has(n, "checked") {
				out = append(out, attr(n, "value"))
			}
		}
		return out
	}
	if got := ticked(ann.get("/admin/settings").is(200), "tools.ask"); !slices.Equal(got, []string{"write", "execute"}) {
		t.Errorf("at first %q", got)
	}
	for _, c := range []struct{ send, want []string }{
		{[]string{"tools.ask", "", "tools.ask", "read", "tools.ask", "execute"}, []string{"read", "execute"}},
		{[]string{"tools.ask", "", "approval_timeout", "3600"}, nil},
	} {
		d := ann.do("PATCH", "/admin/settings", c.send...).is(200).says("[data-saved]", "Saved")
		s, err := h.Settings(t.Context())
		h.ok(err)
		if got := s.List("tools.ask"); !slices.Equal(got, c.want) || !slices.Equal(ticked(d, "tools.ask"), c.want) {
			t.Errorf("%q: %q", c.send, got)
		}
	}
	ann.do("PATCH", "/admin/settings", "approval_timeout", "59").is(422).says(".field-error", "from 60")
	d := ann.do("PATCH", "/admin/settings", "tools.ask", "", "tools.ask", "sudo").is(422).says(".field-error", "cannot be a member")
	if len(ticked(d, "tools.ask")) != 0 {
		t.Error("something is ticked that was not sent")
	}
	head := h.log.Head()
	ann.do("PATCH", "/admin/settings", "tools.ask", "", "approval_timeout", "3600").is(200)
	if h.log.Head() != head {
		t.Error("a setting that did not change is recorded")
	}
}
