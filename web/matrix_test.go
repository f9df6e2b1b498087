package web

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// matrix is every route with what each actor gets: nobody, another person, the
// owner, an administrator, and the owner's token with the scope read. A word
// $NAME of a path or body is a thing of the owner, or of the instance.
var matrix = []struct{ route, path, body, want string }{
	{"GET /healthz", "", "", "200 200 200 200 200"},
	{"GET /readyz", "", "", "200 200 200 200 200"},
	{"GET /metrics", "", "", "404 404 404 200 404"},
	{"GET /static/*", "/static/x/none.css", "", "404 404 404 404 404"},
	{"GET /favicon.svg", "", "", "404 404 404 404 404"}, // the stand-in has no files
	{"GET /favicon.ico", "", "", "404 404 404 404 404"},
	{"GET /apple-touch-icon.png", "", "", "404 404 404 404 404"},
	{"GET /sw.js", "", "", "404 404 404 404 404"},
	{"GET /robots.txt", "", "", "404 404 404 404 404"},
	{"GET /manifest.webmanifest", "", "", "404 404 404 404 404"},

	{"GET /auth/login", "", "", "200 303 303 303 303"},
	{"POST /auth/login", "", `{"email":"ann@example.test","password":"wrong password"}`, "401 401 401 401 401"},
	{"GET /auth/register", "", "", "200 303 303 303 303"},
	{"POST /auth/register", "", `{"email":"ann@example.test","password":"some password"}`, "409 409 409 409 409"},
	{"POST /auth/logout", "", "{}", "200 200 200 200 200"},

	{"GET /", "", "", "303 200 200 200 200"},
	{"GET /chat/{id}", "/chat/$chat", "", "303 404 200 404 200"},
	{"GET /admin/users", "", "", "303 404 404 200 404"},
	{"GET /events", "", "", "401 200 200 200 200"},

	{"GET /api/v1/openapi.json", "", "", "200 200 200 200 200"},
	{"GET /api/v1/me", "", "", "401 200 200 200 200"},
	{"GET /api/v1/sessions", "", "", "401 200 200 200 200"},
	{"DELETE /api/v1/sessions/{id}", "/api/v1/sessions/$session", "", "401 404 204 404 403"},
	{"GET /api/v1/tokens", "", "", "401 200 200 200 200"},
	{"POST /api/v1/tokens", "", `{"name":"x"}`, "401 201 201 201 403"},
	{"DELETE /api/v1/tokens/{id}", "/api/v1/tokens/$token", "", "401 404 204 404 403"},

	{"GET /api/v1/push", "", "", "401 200 200 200 200"},
	{"POST /api/v1/push", "", subscription, "401 201 201 201 403"},
	{"DELETE /api/v1/push/{id}", "/api/v1/push/$push", "", "401 404 204 404 403"},

	{"GET /api/v1/connections", "", "", "401 404 404 200 404"},
	{"POST /api/v1/connections", "", `{"name":"x","base_url":"http://x.test/v1"}`, "401 404 404 201 403"},
	{"GET /api/v1/connections/{id}", "/api/v1/connections/$connection", "", "401 404 404 200 404"},
	{"PATCH /api/v1/connections/{id}", "/api/v1/connections/$connection", `{"name":"y"}`, "401 404 404 200 403"},
	{"DELETE /api/v1/connections/{id}", "/api/v1/connections/$connection", "", "401 404 404 204 403"},
	{"POST /api/v1/connections/{id}/refresh", "/api/v1/connections/$connection/refresh", "", "401 404 404 200 403"},
	{"GET /api/v1/models", "", "", "401 200 200 200 200"},
	{"PATCH /api/v1/models/{id}", "/api/v1/models/$model", `{"title":"x"}`, "401 404 404 200 403"},
	{"GET /api/v1/models/{id}", "/api/v1/models/$model", "", "401 200 200 200 200"},
	{"GET /api/v1/tools", "", "", "401 404 404 200 404"},
	{"POST /api/v1/tools", "", httpTool, "401 404 404 201 403"},
	{"POST /api/v1/tools/try", "", `{"id":"$tool","arguments":{"city":"Bree"}}`, "401 404 404 200 403"},
	{"GET /api/v1/tools/web_search", "", "", "401 404 404 200 404"},
	{"PATCH /api/v1/tools/web_search", "", `{"provider":"duckduckgo"}`, "401 404 404 200 403"},
	{"GET /api/v1/tools/{id}", "/api/v1/tools/$tool", "", "401 404 404 200 404"},
	{"PATCH /api/v1/tools/{id}", "/api/v1/tools/$tool", `{"label":"y"}`, "401 404 404 200 403"},
	{"DELETE /api/v1/tools/{id}", "/api/v1/tools/$tool", "", "401 404 404 204 403"},
	{"GET /api/v1/mcp", "", "", "401 404 404 200 404"},
	{"POST /api/v1/mcp", "", `{"slug":"x","name":"x","url":"http://x.test/mcp"}`, "401 404 404 201 403"},
	{"GET /api/v1/mcp/{id}", "/api/v1/mcp/$server", "", "401 404 404 200 404"},
	{"PATCH /api/v1/mcp/{id}", "/api/v1/mcp/$server", `{"name":"y"}`, "401 404 404 200 403"},
	{"DELETE /api/v1/mcp/{id}", "/api/v1/mcp/$server", "", "401 404 404 204 403"},
	{"POST /api/v1/mcp/{id}/refresh", "/api/v1/mcp/$server/refresh", "", "401 404 404 200 403"},
	{"POST /api/v1/mcp/{id}/review", "/api/v1/mcp/$server/review", `{"digests":{"read":"1"}}`, "401 404 404 200 403"},
	{"GET /api/v1/settings", "", "", "401 404 404 200 404"},
	{"PATCH /api/v1/settings", "", `{"signup":true}`, "401 404 404 200 403"},
	{"GET /api/v1/users", "", "", "401 404 404 200 404"},
	{"POST /api/v1/users", "", `{"email":"new@example.test","password":"some password"}`, "401 404 404 201 403"},
	{"PATCH /api/v1/users/{id}", "/api/v1/users/$ann", `{"name":"Ann"}`, "401 404 404 200 403"},

	{"GET /api/v1/events", "", "", "401 200 200 200 200"},
	{"GET /api/v1/interactions", "", "", "401 200 200 200 200"},
	{"GET /api/v1/audit", "", "", "401 200 200 200 200"},
	{"GET /api/v1/search", "/api/v1/search?q=x", "", "401 200 200 200 200"},
	{"GET /api/v1/blobs/{digest}", "/api/v1/blobs/$digest?chat=$chat", "", "401 404 200 404 200"},
	{"POST /api/v1/render", "", `{"markdown":"x"}`, "401 200 200 200 403"},
	{"GET /api/v1/folders", "", "", "401 200 200 200 200"},
	{"POST /api/v1/folders", "", `{"name":"x"}`, "401 201 201 201 403"},
	{"PATCH /api/v1/folders/{id}", "/api/v1/folders/$folder", `{"name":"y"}`, "401 404 200 404 403"},
	{"DELETE /api/v1/folders/{id}", "/api/v1/folders/$folder", "", "401 404 204 404 403"},

	{"GET /api/v1/chats", "", "", "401 200 200 200 200"},
	{"POST /api/v1/chats", "", `{"text":"x"}`, "401 201 201 201 403"},
	{"GET /api/v1/chats/{id}", "/api/v1/chats/$chat", "", "401 404 200 404 200"},
	{"PATCH /api/v1/chats/{id}", "/api/v1/chats/$chat", `{"title":"x"}`, "401 404 200 404 403"},
	{"DELETE /api/v1/chats/{id}", "/api/v1/chats/$chat", "", "401 404 204 404 403"},
	{"GET /api/v1/chats/{id}/events", "/api/v1/chats/$chat/events", "", "401 404 200 404 200"},
	{"GET /api/v1/chats/{id}/export", "/api/v1/chats/$chat/export?format=jsonl", "", "401 404 200 404 200"},
	{"POST /api/v1/chats/{id}/seen", "/api/v1/chats/$chat/seen", `{"position":1}`, "401 404 204 404 403"},
	{"POST /api/v1/chats/{id}/stop", "/api/v1/chats/$busy/stop", "", "401 404 202 404 403"},
	{"POST /api/v1/chats/{id}/messages", "/api/v1/chats/$chat/messages", `{"text":"x"}`, "401 404 202 404 403"},
	{"PATCH /api/v1/chats/{id}/messages/{mid}", "/api/v1/chats/$busy/messages/$queued", `{"text":"x"}`, "401 404 200 404 403"},
	{"DELETE /api/v1/chats/{id}/messages/{mid}", "/api/v1/chats/$busy/messages/$queued", "", "401 404 204 404 403"},
	{"POST /api/v1/chats/{id}/messages/{mid}/send", "/api/v1/chats/$stuck/messages/$waiting/send", "", "401 404 202 404 403"},
	{"POST /api/v1/chats/{id}/messages/{mid}/edit", "/api/v1/chats/$chat/messages/$message/edit", `{"text":"x"}`, "401 404 202 404 403"},
	{"POST /api/v1/chats/{id}/replies/{rid}/regenerate", "/api/v1/chats/$chat/replies/$reply/regenerate", "", "401 404 202 404 403"},
	{"POST /api/v1/chats/{id}/compact", "/api/v1/chats/$chat/compact", "", "401 404 202 404 403"},
	{"POST /api/v1/chats/{id}/interactions/{iid}", "/api/v1/chats/$busy/interactions/$card", `{"answers":[{"key":"1","verdict":"allow"}]}`, "401 404 200 404 403"},
}

// world is an instance with an administrator, an owner with things, and another
// person.
type world struct {
	*server
	root, ann, bob *actor
	names          map[string]string
}

func newWorld(t *testing.T) *world {
	w := &world{server: newServer(t)}
	w.root, w.ann, w.bob = w.register("root"), w.register("ann"), w.register("bob")
	connection, model := w.connect(w.root)
	chat, busy, stuck := w.chat(w.ann, "hello"), w.chat(w.ann, "long"), w.chat(w.ann, "stuck")
	w.reply(chat, "Hello.")
	submit := func(c created, text string) string {
		var got struct {
			Message string `json:"message_id"`
			Queued  bool
		}
		w.do(w.ann, "POST", "/api/v1/chats/"+c.Chat+"/messages", map[string]string{"text": text}).json(t, &got)
		if !got.Queued {
			t.Fatal("a message sent while a reply runs is queued")
		}
		return got.Message
	}
	w.card(busy, "card", "fetch")
	queued, waiting := submit(busy, "next"), submit(stuck, "next")
	w.reply(stuck, "Done, and the loop delivered nothing.")
	var folder, session, token, push, tool, mcp struct {
		ID    string
		Items []struct{ ID string }
	}
	w.do(w.ann, "POST", "/api/v1/folders", map[string]string{"name": "things"}).json(t, &folder)
	w.do(nil, "POST", "/auth/login", map[string]string{"email": "ann@example.test", "password": password})
	w.do(w.ann, "GET", "/api/v1/sessions", nil).json(t, &session)
	w.do(w.ann, "POST", "/api/v1/tokens", map[string]string{"name": "x"}).json(t, &token)
	w.do(w.ann, "POST", "/api/v1/push", subscription).json(t, &push)
	w.do(w.root, "POST", "/api/v1/tools", strings.Replace(httpTool, "weather", "forecast", 1)).json(t, &tool)
	w.do(w.root, "POST", "/api/v1/mcp", `{"slug":"files","name":"Files","url":"http://mcp.test/"}`).json(t, &mcp)
	w.names = map[string]string{"push": push.ID, "tool": tool.ID, "server": mcp.ID, "chat": chat.Chat, "message": chat.Message, "reply": chat.Reply, "busy": busy.Chat, "queued": queued,
		"stuck": stuck.Chat, "waiting": waiting, "folder": folder.ID, "session": session.Items[0].ID, "token": token.ID,
		"connection": connection, "model": model, "ann": w.ann.id, "card": "card", "digest": w.blob(chat, "the whole output")}
	return w
}

// fill puts ids in the place of their names.
func (w *world) fill(s string) string {
	for name, id := range w.names {
		s = strings.ReplaceAll(s, "$"+name, id)
	}
	return s
}

func TestEveryRouteAndActor(t *testing.T) {
	rows := map[string]bool{}
	for _, row := range matrix {
		rows[row.route] = true
		t.Run(row.route, func(t *testing.T) {
			w := newWorld(t)
			method, path, _ := strings.Cut(row.route, " ")
			if row.path != "" {
				path = row.path
			}
			actors := []*actor{nil, w.bob, w.ann, w.root, w.token(w.ann, "read")}
			names := []string{"nobody", "another", "owner", "administrator", "read token"}
			want := strings.Fields(row.want)
			for _, i := range []int{0, 1, 3, 4, 2} { // the owner last: what they do may be final
				var body any
				if row.body != "" {
					body = w.fill(row.body)
				}
				got := w.do(actors[i], method, w.fill(path), body)
				if strconv.Itoa(got.status) != want[i] {
					t.Errorf("%s: %d, want %s: %.200s", names[i], got.status, want[i], got.body)
				}
			}
		})
	}
	for _, route := range routesOf(t, newServer(t).mux) {
		if !rows[route] {
			t.Errorf("%s has no row", route)
		}
		delete(rows, route)
	}
	for route := range rows {
		t.Errorf("%s is not a route", route)
	}
}

func TestDocumentHasEveryRoute(t *testing.T) {
	s := newServer(t)
	var doc struct {
		Paths map[string]map[string]any
	}
	s.do(nil, "GET", "/api/v1/openapi.json", nil).json(t, &doc)
	var documented, routed []string
	for path, methods := range doc.Paths {
		for m := range methods {
			documented = append(documented, strings.ToUpper(m)+" /api/v1"+path)
		}
	}
	for _, r := range routesOf(t, s.mux) {
		if strings.Contains(r, " /api/") {
			routed = append(routed, r)
		}
	}
	slices.Sort(documented)
	if !slices.Equal(documented, routed) {
		t.Errorf("documented %q\nrouted %q", documented, routed)
	}
}

// TestScopes: what a token may do, whoever it belongs to.
func TestScopes(t *testing.T) {
	w := newWorld(t)
	write, admin := w.token(w.root, "write"), w.token(w.root, "admin")
	for _, c := range []struct {
		who          *actor
		method, path string
		body         any
		want         int
	}{
		{write, "GET", "/api/v1/me", nil, 200},
		{write, "POST", "/api/v1/folders", `{"name":"x"}`, 201},
		{write, "GET", "/api/v1/users", nil, 403},
		{write, "POST", "/api/v1/tokens", `{"name":"x","scope":"admin"}`, 403},
		{write, "POST", "/api/v1/tokens", `{"name":"x","scope":"read"}`, 201},
		{admin, "GET", "/api/v1/users", nil, 200},
		{admin, "GET", "/metrics", nil, 200},
		{admin, "POST", "/api/v1/tokens", `{"name":"x","scope":"admin"}`, 201},
		{w.ann, "POST", "/api/v1/tokens", `{"name":"x","scope":"admin"}`, 422},
		{&actor{token: "lmb_nobody"}, "GET", "/api/v1/me", nil, 401},
		{&actor{token: "lmb_nobody"}, "GET", "/healthz", nil, 401},
	} {
		if got := w.do(c.who, c.method, c.path, c.body); got.status != c.want {
			t.Errorf("%s %s: %d, want %d: %s", c.method, c.path, got.status, c.want, got.body)
		}
	}
	w.do(w.root, "PATCH", "/api/v1/users/"+w.ann.id, `{"admin":true}`)
	promoted := w.token(w.ann, "admin")
	if got := w.do(promoted, "GET", "/api/v1/users", nil); got.status != 200 {
		t.Errorf("a new administrator: %d", got.status)
	}
	w.do(w.root, "PATCH", "/api/v1/users/"+w.ann.id, `{"admin":false}`)
	if got := w.do(promoted, "GET", "/api/v1/users", nil); got.status != 404 {
		t.Errorf("a token of somebody who is no longer an administrator: %d", got.status)
	}
}
