package web

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"lembas/commands"
	"lembas/events"
)

// httpTool is the body of a POST to /tools.
const httpTool = `{"slug":"weather","label":"Weather","description":"Tells the weather.","url":"https://weather.test/{{city}}","risk":"read",
	"headers":[{"name":"X-Unit","value":"metric"},{"name":"Authorization","value":"Bearer very-secret-1234","secret":true}],
	"parameters":[{"name":"city","type":"string","required":true}]}`

const toolSecret = "very-secret-1234"

func TestHTTPTools(t *testing.T) {
	s := newServer(t)
	root := s.register("root")
	var made struct {
		ID, Risk, Method string
		Enabled          bool
		Headers          []struct {
			Name, Value string
			Secret      bool
		}
	}
	a := s.do(root, "POST", "/api/v1/tools", httpTool)
	a.json(t, &made)
	if a.status != 201 || made.Risk != "read" || made.Method != "GET" || !made.Enabled || len(made.Headers) != 2 || !made.Headers[1].Secret {
		t.Fatalf("made %d %s", a.status, a.body)
	}
	path := "/api/v1/tools/" + made.ID
	for _, method := range []string{"GET", "PATCH"} {
		for _, p := range []string{path, "/api/v1/tools"} {
			if got := s.do(root, method, p, `{}`); strings.Contains(string(got.body), toolSecret) {
				t.Errorf("%s %s gives a secret away: %s", method, p, got.body)
			}
		}
	}
	secret := func() string {
		v, err := s.service.CustomTool(context.Background(), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.service.ToolSecrets(v)
		if err != nil {
			t.Fatal(err)
		}
		return all["Authorization"]
	}
	for _, c := range []struct {
		body   string
		status int
		fields []string
		secret string
	}{
		{`{"label":"Sky","guidance":"Ask for one city.","timeout":5}`, 200, nil, "Bearer very-secret-1234"},
		{`{"headers":[{"name":"Authorization","secret":true}]}`, 200, nil, "Bearer very-secret-1234"},
		{`{"headers":[{"name":"X-New","secret":true}]}`, 422, []string{"headers"}, "Bearer very-secret-1234"},
		{`{"url":"https://elsewhere.test/"}`, 422, []string{"headers"}, "Bearer very-secret-1234"},
		{`{"url":"ftp://x","slug":"fetch","timeout":0}`, 422, []string{"headers", "slug", "timeout", "url"}, "Bearer very-secret-1234"},
		{`{"slugs":"x"}`, 422, []string{"slugs"}, "Bearer very-secret-1234"},
		{`{"parameters":[{"name":"city","type":"text"}]}`, 422, []string{"parameters"}, "Bearer very-secret-1234"},
		{`{"guidance":null}`, 200, nil, "Bearer very-secret-1234"},
		{`{"headers":[{"name":"Authorization","secret":true,"value":"other-secret"}]}`, 200, nil, "other-secret"},
		{`{"headers":null}`, 200, nil, ""},
	} {
		got := s.do(root, "PATCH", path, c.body)
		if got.status != c.status {
			t.Errorf("%s: %d %s", c.body, got.status, got.body)
			continue
		}
		if c.fields != nil {
			fields := got.fields(t)
			for _, f := range fields {
				if !slices.Contains(c.fields, f) {
					t.Errorf("%s: fields %q", c.body, fields)
				}
			}
		}
		if got := secret(); got != c.secret {
			t.Errorf("%s: the secret is %q", c.body, got)
		}
	}
	var now struct{ Label, Guidance string }
	s.do(root, "GET", path, nil).json(t, &now)
	if now.Label != "Sky" || now.Guidance != "" {
		t.Errorf("state %+v", now)
	}
	if got := s.do(root, "POST", "/api/v1/tools", strings.Replace(httpTool, "weather", "sky", 1)); got.status != 201 {
		t.Errorf("another one: %d", got.status)
	}
	if got := s.do(root, "POST", "/api/v1/tools", httpTool); got.status != 422 || !slices.Equal(got.fields(t), []string{"slug"}) {
		t.Errorf("the same slug: %d %s", got.status, got.body)
	}
	var list struct {
		Items []struct{ ID string }
		Next  string
	}
	s.do(root, "GET", "/api/v1/tools?limit=1", nil).json(t, &list)
	if len(list.Items) != 1 || list.Next == "" {
		t.Errorf("a page of one: %+v", list)
	}
	if got := s.do(root, "DELETE", path, nil); got.status != 204 {
		t.Errorf("removed: %d", got.status)
	}
	if got := s.do(root, "GET", path, nil); got.status != 404 {
		t.Errorf("gone: %d", got.status)
	}
}

// TestTrying: a draft and a stored tool with changes; nothing is recorded.
func TestTrying(t *testing.T) {
	s := newServer(t)
	root := s.register("root")
	var made struct{ ID string }
	s.do(root, "POST", "/api/v1/tools", httpTool).json(t, &made)
	var state events.CustomState
	var secret, args string
	s.try = func(_ context.Context, st events.CustomState, secrets map[string]string, a json.RawMessage) (commands.Tried, error) {
		state, secret, args = st, secrets["Authorization"], string(a)
		if st.URL == "" {
			return commands.Tried{}, events.Invalid("url", "is missing")
		}
		return commands.Tried{Request: "GET " + st.URL, Status: events.ToolError, Output: "<b>404</b>"}, nil
	}
	head := s.log.Head()
	var got struct{ Request, Status, Output string }
	a := s.do(root, "POST", "/api/v1/tools/try", `{"id":"`+made.ID+`","method":"POST","arguments":{"city":"Bree"}}`)
	a.json(t, &got)
	if a.status != 200 || got.Request != "GET https://weather.test/{{city}}" || got.Status != "error" || got.Output != "<b>404</b>" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if state.Method != "POST" || secret != "Bearer "+toolSecret || args != `{"city":"Bree"}` {
		t.Errorf("tried %+v with %q and %s", state, secret, args)
	}
	s.do(root, "POST", "/api/v1/tools/try", `{"url":"https://draft.test/","arguments":null}`).json(t, &got)
	if state.URL != "https://draft.test/" || secret != "" || args != "" {
		t.Errorf("a draft: %+v with %q and %s", state, secret, args)
	}
	for body, want := range map[string]string{`{"arguments":{}}`: "url", `{"id":"` + made.ID + `","url":"https://elsewhere.test/"}`: "headers", `{"arg":1}`: "arg"} {
		if a := s.do(root, "POST", "/api/v1/tools/try", body); a.status != 422 || !slices.Equal(a.fields(t), []string{want}) {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	if a := s.do(root, "POST", "/api/v1/tools/try", `{"id":"none"}`); a.status != 404 {
		t.Errorf("of no tool: %d", a.status)
	}
	if s.log.Head() != head {
		t.Error("trying left something in the log")
	}
}

func TestMCPServers(t *testing.T) {
	s := newServer(t)
	root := s.register("root")
	type mcp struct {
		ID, Error string
		Held      int
		Off       []string
		Listed    *string
		Tools     []struct {
			Name, Digest string
			Held, Off    bool
		}
	}
	found := []events.ServerTool{{Name: "read", Schema: json.RawMessage(`{}`), Digest: "1"}, {Name: "write", Schema: json.RawMessage(`{}`), Digest: "2"}}
	var down error
	s.listTools = func(_ context.Context, _ events.ServerState, secrets map[string]string) ([]events.ServerTool, error) {
		if secrets["Authorization"] != "Bearer "+toolSecret {
			return nil, errors.New("no secret came")
		}
		return found, down
	}
	send := func(method, path, body string, status int) (out mcp) {
		t.Helper()
		a := s.do(root, method, "/api/v1/mcp"+path, body)
		if a.status != status {
			t.Fatalf("%s %s %s: %d %s", method, path, body, a.status, a.body)
		}
		if strings.Contains(string(a.body), toolSecret) {
			t.Errorf("%s %s gives a secret away: %s", method, path, a.body)
		}
		if status < 300 && status != 204 {
			a.json(t, &out)
		}
		return out
	}
	down = errors.New("nobody answers")
	made := send("POST", "", `{"slug":"files","name":"Files","url":"http://mcp.test/","headers":[{"name":"authorization","value":"Bearer `+toolSecret+`","secret":true}]}`, 201)
	if made.Error != "nobody answers" || len(made.Tools) != 0 || made.Listed == nil {
		t.Errorf("a server that is down: %+v", made)
	}
	down = nil
	if got := send("POST", "/"+made.ID+"/refresh", "", 200); got.Error != "" || got.Held != 0 || len(got.Tools) != 2 {
		t.Errorf("up again: %+v", got)
	}
	found = []events.ServerTool{{Name: "read", Description: "Now more.", Schema: json.RawMessage(`{}`), Digest: "3"}, found[1]}
	if got := send("POST", "/"+made.ID+"/refresh", "", 200); got.Held != 1 || !got.Tools[0].Held || got.Tools[1].Held {
		t.Errorf("changed: %+v", got)
	}
	send("POST", "/"+made.ID+"/review", `{"digests":{"read":"1"}}`, 409)
	send("POST", "/"+made.ID+"/review", `{"digests":{}}`, 422)
	if got := send("POST", "/"+made.ID+"/review", `{"digests":{"read":"3"}}`, 200); got.Held != 0 {
		t.Errorf("looked at: %+v", got)
	}
	if got := send("PATCH", "/"+made.ID, `{"off":["write"]}`, 200); !slices.Equal(got.Off, []string{"write"}) || got.Tools[0].Off || !got.Tools[1].Off {
		t.Errorf("one off: %+v", got)
	}
	if got := send("PATCH", "/"+made.ID, `{"off":null}`, 200); len(got.Off) != 0 {
		t.Errorf("none off: %+v", got)
	}
	for _, command := range []string{`"npx server"`, `["npx","server"]`, `null`} {
		a := s.do(root, "PATCH", "/api/v1/mcp/"+made.ID, `{"command":`+command+`}`)
		if a.status != 422 || !slices.Equal(a.fields(t), []string{"command"}) || !strings.Contains(string(a.body), "no program is started") {
			t.Errorf("command %s: %d %s", command, a.status, a.body)
		}
	}
	send("PATCH", "/"+made.ID, `{"url":"http://elsewhere.test/"}`, 422)
	send("POST", "", `{"slug":"files","name":"x","url":"http://x.test/"}`, 409)
	send("POST", "", `{"slug":"x","name":"x","url":"http://x.test/","args":[]}`, 422)
	send("DELETE", "/"+made.ID, "", 204)
	send("GET", "/"+made.ID, "", 404)
	send("POST", "/"+made.ID+"/refresh", "", 404)
}

func TestSearchProvider(t *testing.T) {
	s := newServer(t)
	root := s.register("root")
	const path = "/api/v1/tools/web_search"
	type provider struct {
		Provider, URL string
		HasKey        bool `json:"has_key"`
		Results       int
	}
	for _, c := range []struct {
		body   string
		status int
		want   provider
	}{
		{`{}`, 200, provider{"off", "", false, 5}},
		{`{"provider":"searxng"}`, 422, provider{}},
		{`{"provider":"searxng","url":"http://127.0.0.1:8888/"}`, 200, provider{"searxng", "http://127.0.0.1:8888", false, 5}},
		{`{"provider":"firecrawl","api_key":"` + toolSecret + `","results":7}`, 200, provider{"firecrawl", "", true, 7}},
		{`{"results":21}`, 422, provider{}},
		{`{"key":"x"}`, 422, provider{}},
		{`{"api_key":null}`, 200, provider{"firecrawl", "", false, 7}},
	} {
		a := s.do(root, "PATCH", path, c.body)
		if a.status != c.status || strings.Contains(string(a.body), toolSecret) {
			t.Errorf("%s: %d %s", c.body, a.status, a.body)
		}
		if c.status != 200 {
			continue
		}
		var got, again provider
		a.json(t, &got)
		s.do(root, "GET", path, nil).json(t, &again)
		if got != c.want || again != c.want {
			t.Errorf("%s: %+v, then %+v", c.body, got, again)
		}
	}
}

func TestModelFlags(t *testing.T) {
	s := newServer(t)
	root, ann := s.register("root"), s.register("ann")
	_, model := s.connect(root)
	path := "/api/v1/models/" + model
	for _, c := range []struct {
		body string
		want map[string]any
	}{
		{`{"tool_fetch":false,"tool_mcp":true}`, map[string]any{"tool_fetch": false, "tool_mcp": true, "tool_custom": nil}},
		{`{"tools":true}`, map[string]any{"tool_fetch": false, "tool_mcp": true, "tool_custom": nil}},
		{`{"tool_fetch":null,"tool_ask_user":true,"tool_web_search":true,"tool_custom":false}`,
			map[string]any{"tool_fetch": nil, "tool_mcp": true, "tool_custom": false, "tool_ask_user": true, "tool_web_search": true}},
	} {
		if a := s.do(root, "PATCH", path, c.body); a.status != 200 {
			t.Fatalf("%s: %d %s", c.body, a.status, a.body)
		}
		var got map[string]any
		s.do(ann, "GET", path, nil).json(t, &got)
		for name, want := range c.want {
			if v, there := got[name]; v != want || !there {
				t.Errorf("%s: %s is %v", c.body, name, v)
			}
		}
	}
	for _, body := range []string{`{"tool_fetch":"on"}`, `{"tool_shell":true}`} {
		if a := s.do(root, "PATCH", path, body); a.status != 422 {
			t.Errorf("%s: %d", body, a.status)
		}
	}
	s.do(root, "PATCH", path, `{"enabled":false}`)
	if a := s.do(ann, "GET", path, nil); a.status != 404 {
		t.Errorf("a model that is off, for a member: %d", a.status)
	}
	if a := s.do(root, "GET", path, nil); a.status != 200 {
		t.Errorf("a model that is off, for an administrator: %d", a.status)
	}
}
