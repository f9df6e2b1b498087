package pages

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/api"
	"lembas/web/pages/view"
	"lembas/web/request"
	"lembas/web/templates"
)

// Sidebar is the read model of people's lists of chats.
type Sidebar interface {
	// Wait returns when the model has applied the log up to a position, or with
	// ctx's error.
	Wait(ctx context.Context, at events.Position) error
	// List gives one page of a person's chats, as they stand at a position: on
	// the first one all pinned chats and those with the newest activity, on the
	// others older ones that are not pinned. next is "" at the end.
	List(ctx context.Context, user string, limit int, cursor string) (rows []view.Row, next string, at events.Position, err error)
}

// Windows reads the end of a chat without the rest of it.
type Windows interface {
	// Window is a chat at the log's head with at most its last turns;
	// events.ErrNotFound for one that is not there or was deleted.
	Window(ctx context.Context, chat string, turns int) (*transcript.Chat, error)
	// Before gives turns before the one with a number, oldest first.
	Before(ctx context.Context, chat string, number, limit int) ([]*transcript.Turn, error)
}

// Pages answers the routes of people. Fields are set once; all but Windows,
// Tools, Waiting and ReadOnly are needed.
type Pages struct {
	Service  *commands.Service
	Sidebar  Sidebar
	Accounts api.Accounts
	Windows  Windows // nil reads whole chats
	Tools    Tools   // nil has no scope menu
	Waiting  Waiting // nil: nothing waits
	Audit    api.Audit
	Views    *view.Views
	Set      *templates.Set
	// Try sends the requests of HTTP tools that an administrator tries, TrySearch
	// a query, and gives what a model would read; its errors that match
	// events.ErrInvalid are shown. Either may be nil.
	Try       commands.TryRequest
	TrySearch func(ctx context.Context, user, query string) (string, error)
	// Demo says that the instance runs with its built-in endpoint.
	Demo bool
	// ReadOnly says why the server takes no work at present, "" when it does.
	ReadOnly func() string
}

// Mount adds the pages for signed-in people and those for administrators.
func (p *Pages) Mount(person, admin request.Router) {
	person.Get("/", p.newChat)
	person.Get("/offline", p.offline)
	person.Get("/sidebar", p.olderChats)
	person.Get("/chat/{id}", p.chat)
	person.Get("/chat/{id}/messages", p.olderMessages)
	person.Get("/chat/{id}/messages/{mid}", p.version)

	person.Get("/chat/{id}/scope", p.chatScope)
	person.Get("/scope", p.newScope)
	person.Get("/waiting", p.waiting)
	person.Get("/audit", p.audit)

	person.Get("/settings", p.settings)
	person.Post("/settings/preferences", p.savePreferences)
	person.Post("/settings/password", p.savePassword)
	person.Delete("/settings/sessions/{id}", p.endSession)
	person.Get("/settings/push", p.toldBrowsers)
	person.Delete("/settings/push/{id}", p.removePush)
	person.Post("/settings/tokens", p.makeToken)
	person.Delete("/settings/tokens/{id}", p.revokeToken)

	admin.Get("/admin/connections", p.connections)
	admin.Post("/admin/connections", p.addConnection)
	admin.Get("/admin/connections/{id}", p.connection)
	admin.Patch("/admin/connections/{id}", p.saveConnection)
	admin.Delete("/admin/connections/{id}", p.removeConnection)
	admin.Post("/admin/connections/{id}/check", p.checkConnection)
	admin.Post("/admin/connections/{id}/refresh", p.refreshConnection)
	admin.Get("/admin/models", p.models)
	admin.Get("/admin/models/{id}", p.model)
	admin.Patch("/admin/models/{id}", p.saveModel)
	admin.Post("/admin/models/{id}/move", p.moveModel)
	admin.Get("/admin/tools", p.tools)
	admin.Post("/admin/tools", p.addTool)
	admin.Get("/admin/tools/new", p.newTool)
	admin.Get("/admin/tools/row", p.formRow)
	admin.Post("/admin/tools/try", p.tryTool)
	admin.Get("/admin/tools/{id}", p.tool)
	admin.Patch("/admin/tools/{id}", p.saveTool)
	admin.Delete("/admin/tools/{id}", p.removeTool)
	admin.Get("/admin/mcp", p.servers)
	admin.Post("/admin/mcp", p.addServer)
	admin.Get("/admin/mcp/{id}", p.server)
	admin.Patch("/admin/mcp/{id}", p.saveServer)
	admin.Delete("/admin/mcp/{id}", p.removeServer)
	admin.Patch("/admin/mcp/{id}/tools", p.switchTool)
	admin.Post("/admin/mcp/{id}/refresh", p.refreshServer)
	admin.Post("/admin/mcp/{id}/review", p.reviewServer)
	admin.Get("/admin/search", p.search)
	admin.Patch("/admin/search", p.saveSearch)
	admin.Post("/admin/search/try", p.trySearch)
	admin.Get("/admin/settings", p.instance)
	admin.Patch("/admin/settings", p.saveInstance)
	admin.Get("/admin/users", p.users)
	admin.Post("/admin/users", p.addUser)
	admin.Patch("/admin/users/{id}", p.saveUser)
}

// page renders a whole page with status 200.
func (p *Pages) page(w http.ResponseWriter, name string, data any) error {
	return p.write(w, http.StatusOK, func(b *bytes.Buffer) error { return p.Set.Page(b, name, data) })
}

// part renders a fragment.
func (p *Pages) part(w http.ResponseWriter, status int, name string, data any) error {
	return p.write(w, status, func(b *bytes.Buffer) error { return p.Set.Fragment(b, name, data) })
}

func (p *Pages) write(w http.ResponseWriter, status int, render func(*bytes.Buffer) error) error {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the reader may be gone
	return nil
}

// me is who asks. The routes are behind a guard, so there is somebody.
func me(r *http.Request) commands.User {
	id, _ := request.Identity(r.Context())
	return id.User
}

func (p *Pages) now() time.Time { return p.Service.Now() }

// redirect sends htmx's page elsewhere.
func redirect(w http.ResponseWriter, to string) error {
	w.Header().Set("HX-Redirect", to)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
