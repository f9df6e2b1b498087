package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"lembas/projections"
)

// access is who may use a route.
type access string

const (
	open   access = "everybody"
	person access = "signed-in people, for their own things"
	admin  access = "administrators; a token needs the scope admin"
)

// operation is one route of the API as documented. In and Out are values of
// the types of the bodies, nil for none.
type operation struct {
	method, path, summary string
	access                access
	query                 string // names of the query's members, apart by spaces
	in                    any
	status                int
	out                   any
	media                 string // of the answer, "" is JSON
}

// operations is every route under /api/v1. A test compares it with the router.
func operations() []operation {
	const paging = "limit cursor"
	return []operation{
		{"GET", "/openapi.json", "This document", open, "", nil, 200, map[string]any{}, ""},
		{"GET", "/me", "Who is signed in", person, "", nil, 200, me{}, ""},
		{"GET", "/sessions", "Own browser logins", person, paging, nil, 200, list[session]{}, ""},
		{"DELETE", "/sessions/{id}", "End a browser login", person, "", nil, 204, nil, ""},
		{"GET", "/tokens", "Own API tokens", person, paging, nil, 200, list[token]{}, ""},
		{"POST", "/tokens", "Make an API token; the secret is shown once", person, "", createToken{}, 201, token{}, ""},
		{"DELETE", "/tokens/{id}", "End an API token", person, "", nil, 204, nil, ""},
		{"GET", "/push", "The key for Web Push, and the caller's browsers that are told when a card waits", person, "", nil, 200, pushes{}, ""},
		{"POST", "/push", "Let a browser be told, until its login ends; a known endpoint is the same subscription", person, "", createPush{}, 201, createdPush{}, ""},
		{"DELETE", "/push/{id}", "Tell a browser no more", person, "", nil, 204, nil, ""},
		{"GET", "/connections", "Endpoints, less their keys", admin, paging, nil, 200, list[connection]{}, ""},
		{"POST", "/connections", "Add an endpoint and ask it for its models", admin, "", patchConnection{}, 201, refreshed{}, ""},
		{"GET", "/connections/{id}", "One endpoint", admin, "", nil, 200, connection{}, ""},
		{"PATCH", "/connections/{id}", "Change an endpoint", admin, "", patchConnection{}, 200, connection{}, ""},
		{"DELETE", "/connections/{id}", "Take an endpoint and its models away", admin, "", nil, 204, nil, ""},
		{"POST", "/connections/{id}/refresh", "Ask an endpoint for its models", admin, "", nil, 200, refreshed{}, ""},
		{"GET", "/models", "Models that can be chosen; for administrators all", person, paging, nil, 200, list[model]{}, ""},
		{"PATCH", "/models/{id}", "Change a model", admin, "", patchModel{}, 200, model{}, ""},
		{"GET", "/models/{id}", "One model", person, "", nil, 200, model{}, ""},
		{"GET", "/tools", "HTTP tools, less their secrets", admin, paging, nil, 200, list[customTool]{}, ""},
		{"POST", "/tools", "Add an HTTP tool", admin, "", patchTool{}, 201, customTool{}, ""},
		{"GET", "/tools/{id}", "One HTTP tool", admin, "", nil, 200, customTool{}, ""},
		{"PATCH", "/tools/{id}", "Change an HTTP tool; a header without a value keeps what it has", admin, "", patchTool{}, 200, customTool{}, ""},
		{"DELETE", "/tools/{id}", "Take an HTTP tool away", admin, "", nil, 204, nil, ""},
		{"POST", "/tools/try", "Send one request of a draft, or with an id of that tool as the rest would make it", admin, "", tryTool{}, 200, tried{}, ""},
		{"GET", "/tools/web_search", "How the web is searched", admin, "", nil, 200, searchProvider{}, ""},
		{"PATCH", "/tools/web_search", "Choose how the web is searched", admin, "", patchSearchProvider{}, 200, searchProvider{}, ""},
		{"GET", "/mcp", "MCP servers and their tools, less their secrets", admin, paging, nil, 200, list[server]{}, ""},
		{"POST", "/mcp", "Add an MCP server and ask it for its tools", admin, "", patchServer{}, 201, server{}, ""},
		{"GET", "/mcp/{id}", "One MCP server", admin, "", nil, 200, server{}, ""},
		{"PATCH", "/mcp/{id}", "Change an MCP server", admin, "", patchServer{}, 200, server{}, ""},
		{"DELETE", "/mcp/{id}", "Take an MCP server and its tools away", admin, "", nil, 204, nil, ""},
		{"POST", "/mcp/{id}/refresh", "Ask an MCP server for its tools", admin, "", nil, 200, server{}, ""},
		{"POST", "/mcp/{id}/review", "Offer tools again that were looked at as they are now", admin, "", reviewServer{}, 200, server{}, ""},
		{"GET", "/chats", "Own chats, used last first", person, "q folder limit cursor", nil, 200, list[ChatRow]{}, ""},
		{"POST", "/chats", "Make a chat with its first message", person, "", createChat{}, 201, createdChat{}, ""},
		{"GET", "/chats/{id}", "One conversation, its last messages", person, "before limit at", nil, 200, chat{}, ""},
		{"PATCH", "/chats/{id}", "Rename, move, pin a chat; choose its model and tools; forget what is always allowed", person, "", patchChat{}, 200, chatHead{}, ""},
		{"DELETE", "/chats/{id}", "Stop and delete a chat", person, "", nil, 204, nil, ""},
		{"GET", "/chats/{id}/events", "Events of a chat, stored and live", person, "after follow", nil, 200, nil, "text/event-stream"},
		{"POST", "/chats/{id}/seen", "Say how far a chat was read", person, "", seen{}, 204, nil, ""},
		{"GET", "/chats/{id}/export", "A chat as a file", person, "format", nil, 200, nil, "application/octet-stream"},
		{"POST", "/chats/{id}/stop", "End the running reply", person, "", nil, 202, accepted{}, ""},
		{"POST", "/chats/{id}/messages", "Send a message; it waits while a reply runs", person, "", submitMessage{}, 202, submitted{}, ""},
		{"PATCH", "/chats/{id}/messages/{mid}", "Change a message that waits", person, "", text{}, 200, queued{}, ""},
		{"DELETE", "/chats/{id}/messages/{mid}", "Take back a message that waits", person, "", nil, 204, nil, ""},
		{"POST", "/chats/{id}/messages/{mid}/send", "Send a message that waits now", person, "", nil, 202, submitted{}, ""},
		{"POST", "/chats/{id}/messages/{mid}/edit", "Change a message that was sent; a new reply follows", person, "", text{}, 202, submitted{}, ""},
		{"POST", "/chats/{id}/replies/{rid}/regenerate", "Ask for another reply", person, "", nil, 202, submitted{}, ""},
		{"POST", "/chats/{id}/compact", "Ask for a summary that stands for the chat so far", person, "", nil, 202, compacting{}, ""},
		{"POST", "/chats/{id}/interactions/{iid}", "Answer a card, every item once; 409 with state, answers, by and at when it is closed", person, "", answerCard{}, 200, answeredCard{}, ""},
		{"GET", "/interactions", "Everything that waits for the caller", person, "", nil, 200, []Interaction{}, ""},
		{"GET", "/audit", "The audit trail, newest first: own chats and account; for administrators all (a token needs the scope admin)", person,
			auditFilters + " " + paging, nil, 200, list[projections.AuditRow]{}, ""},
		{"GET", "/events", "Events of the caller and of chats, live", person, "chat after", nil, 200, nil, "text/event-stream"},
		{"GET", "/folders", "Own folders", person, paging, nil, 200, list[folder]{}, ""},
		{"POST", "/folders", "Make a folder", person, "", patchFolder{}, 201, folder{}, ""},
		{"PATCH", "/folders/{id}", "Rename, move, set up a folder", person, "", patchFolder{}, 200, folder{}, ""},
		{"DELETE", "/folders/{id}", "Take a folder away; what is in it moves up", person, "", nil, 204, nil, ""},
		{"GET", "/search", "Own chats by words of their titles", person, "q limit cursor", nil, 200, list[ChatRow]{}, ""},
		{"GET", "/blobs/{digest}", "Bytes that a chat of the caller refers to", person, "chat", nil, 200, nil, "application/octet-stream"},
		{"POST", "/render", "Markdown as a bubble shows it", person, "", renderText{}, 200, rendered{}, ""},
		{"GET", "/settings", "Settings in force", admin, "", nil, 200, map[string]any{}, ""},
		{"PATCH", "/settings", "Change settings; null is the default again", admin, "", map[string]any{}, 200, map[string]any{}, ""},
		{"GET", "/users", "Accounts", admin, "q limit cursor", nil, 200, list[user]{}, ""},
		{"POST", "/users", "Make an account", admin, "", createUser{}, 201, user{}, ""},
		{"PATCH", "/users/{id}", "Change an account", admin, "", patchUser{}, 200, user{}, ""},
	}
}

// OpenAPI gives the description of the API, made of the types it uses.
func (a *API) OpenAPI(w http.ResponseWriter, _ *http.Request) error {
	body, err := json.Marshal(document())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client may be gone
	return nil
}

func document() map[string]any {
	s := schemas{}
	s.of(reflect.TypeFor[problem]())
	paths := map[string]map[string]any{}
	for _, op := range operations() {
		if paths[op.path] == nil {
			paths[op.path] = map[string]any{}
		}
		paths[op.path][strings.ToLower(op.method)] = op.document(s)
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": "LLeMbas", "version": "1",
			"description": "Writes accept Idempotency-Key. Lists page with limit and cursor. In a PATCH an absent member is unchanged and null is cleared."},
		"servers": []any{map[string]any{"url": "/api/v1"}},
		"paths":   paths,
		"components": map[string]any{"schemas": s, "securitySchemes": map[string]any{
			"token":   map[string]any{"type": "http", "scheme": "bearer"},
			"session": map[string]any{"type": "apiKey", "in": "cookie", "name": "lembas_session"},
		}},
		"security": []any{map[string]any{"token": []any{}}, map[string]any{"session": []any{}}},
	}
}

func (op operation) document(s schemas) map[string]any {
	media := op.media
	if media == "" {
		media = "application/json"
	}
	answer := map[string]any{"description": http.StatusText(op.status)}
	switch {
	case op.out != nil:
		answer["content"] = map[string]any{media: map[string]any{"schema": s.of(reflect.TypeOf(op.out))}}
	case op.media != "":
		answer["content"] = map[string]any{media: map[string]any{}}
	}
	failure := func(what string, schema map[string]any) map[string]any {
		return map[string]any{"description": what, "content": map[string]any{"application/problem+json": map[string]any{"schema": schema}}}
	}
	responses := map[string]any{strconv.Itoa(op.status): answer, "default": failure("A problem", reference("problem"))}
	if c := op.conflict(); c != nil {
		responses["409"] = failure("It is closed: what stands", s.of(reflect.TypeOf(c)))
	}
	doc := map[string]any{"summary": op.summary, "description": "For " + string(op.access) + ".", "responses": responses}
	if op.access == open {
		doc["security"] = []any{}
	}
	if op.in != nil {
		doc["requestBody"] = map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": s.of(reflect.TypeOf(op.in))}}}
	}
	if p := op.parameters(); len(p) > 0 {
		doc["parameters"] = p
	}
	return doc
}

// conflict is the body of a 409 that says more than a problem does, nil for none.
func (op operation) conflict() any {
	if op.path == "/chats/{id}/interactions/{iid}" {
		return closedCard{}
	}
	return nil
}

func (op operation) parameters() (out []any) {
	text := map[string]any{"type": "string"}
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(op.path, -1) {
		out = append(out, map[string]any{"name": m[1], "in": "path", "required": true, "schema": text})
	}
	for _, name := range strings.Fields(op.query) {
		out = append(out, map[string]any{"name": name, "in": "query", "schema": text})
	}
	return out
}
