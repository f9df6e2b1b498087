package web

import (
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"lembas/web/api"
	"lembas/web/auth"
	"lembas/web/request"
)

// routes is every route of the server; the pages' own are in Pages.Mount.
func routes(c Config, front *request.Front) *chi.Mux {
	mux := chi.NewRouter()
	mux.Use(counted(c.Metrics), middleware.GetHead)
	mux.NotFound(front.Handle(notFound))
	mux.MethodNotAllowed(front.Handle(notAllowed(mux)))

	all := request.Router{Mux: mux, Front: front}
	person, admin := all.With(front.NeedUser), all.With(front.NeedAdmin)
	a := &api.API{Service: c.Service, Sidebar: c.Sidebar, Accounts: c.Accounts, Markdown: c.Markdown, Waiting: c.Waiting,
		Audit: c.Audit, Blobs: c.Blobs, Ready: c.Ready, PushKey: c.PushKey, Try: c.Try}
	in := auth.New(c.Service, c.Pages, c.Log)

	all.Get("/healthz", a.Healthz)
	all.Get("/readyz", a.Readyz)
	all.Get("/metrics", metrics(c.Metrics))
	mux.Get("/static/*", c.Static.ServeHTTP)
	for _, path := range []string{"/favicon.svg", "/favicon.ico", "/apple-touch-icon.png", "/sw.js", "/robots.txt", "/manifest.webmanifest"} {
		mux.Get(path, c.Fixed.ServeHTTP)
	}

	all.Get("/auth/login", in.LoginPage)
	all.Post("/auth/login", in.Login)
	all.Get("/auth/register", in.RegisterPage)
	all.Post("/auth/register", in.Register)
	all.Post("/auth/logout", in.Logout)

	c.Pages.Mount(person, admin)
	person.Get("/events", c.Streams.Page)

	const v1 = "/api/v1"
	all.Get(v1+"/openapi.json", a.OpenAPI)
	person.Get(v1+"/me", a.Me)
	person.Get(v1+"/sessions", a.Sessions)
	person.Delete(v1+"/sessions/{id}", a.DeleteSession)
	person.Get(v1+"/tokens", a.Tokens)
	person.Post(v1+"/tokens", a.CreateToken)
	person.Delete(v1+"/tokens/{id}", a.DeleteToken)
	person.Get(v1+"/push", a.Pushes)
	person.Post(v1+"/push", a.CreatePush)
	person.Delete(v1+"/push/{id}", a.DeletePush)

	admin.Get(v1+"/connections", a.Connections)
	admin.Post(v1+"/connections", a.CreateConnection)
	admin.Get(v1+"/connections/{id}", a.Connection)
	admin.Patch(v1+"/connections/{id}", a.PatchConnection)
	admin.Delete(v1+"/connections/{id}", a.DeleteConnection)
	admin.Post(v1+"/connections/{id}/refresh", a.RefreshConnection)
	person.Get(v1+"/models", a.Models)
	admin.Patch(v1+"/models/{id}", a.PatchModel)
	person.Get(v1+"/models/{id}", a.Model)
	admin.Get(v1+"/tools", a.Tools)
	admin.Post(v1+"/tools", a.CreateTool)
	admin.Post(v1+"/tools/try", a.TryTool)
	admin.Get(v1+"/tools/web_search", a.SearchProvider)
	admin.Patch(v1+"/tools/web_search", a.PatchSearchProvider)
	admin.Get(v1+"/tools/{id}", a.Tool)
	admin.Patch(v1+"/tools/{id}", a.PatchTool)
	admin.Delete(v1+"/tools/{id}", a.DeleteTool)
	admin.Get(v1+"/mcp", a.Servers)
	admin.Post(v1+"/mcp", a.CreateServer)
	admin.Get(v1+"/mcp/{id}", a.Server)
	admin.Patch(v1+"/mcp/{id}", a.PatchServer)
	admin.Delete(v1+"/mcp/{id}", a.DeleteServer)
	admin.Post(v1+"/mcp/{id}/refresh", a.RefreshServer)
	admin.Post(v1+"/mcp/{id}/review", a.ReviewServer)
	admin.Get(v1+"/settings", a.Settings)
	admin.Patch(v1+"/settings", a.PatchSettings)
	admin.Get(v1+"/users", a.Users)
	admin.Post(v1+"/users", a.CreateUser)
	admin.Patch(v1+"/users/{id}", a.PatchUser)

	person.Get(v1+"/events", c.Streams.Person)
	person.Get(v1+"/interactions", a.Interactions)
	person.Get(v1+"/audit", a.AuditTrail)
	person.Get(v1+"/search", a.Search)
	person.Get(v1+"/blobs/{digest}", a.Blob)
	person.Post(v1+"/render", a.Render)
	person.Get(v1+"/folders", a.Folders)
	person.Post(v1+"/folders", a.CreateFolder)
	person.Patch(v1+"/folders/{id}", a.PatchFolder)
	person.Delete(v1+"/folders/{id}", a.DeleteFolder)

	const chat = v1 + "/chats/{id}"
	person.Get(v1+"/chats", a.Chats)
	person.Post(v1+"/chats", a.CreateChat)
	person.Get(chat, a.Chat)
	person.Patch(chat, a.PatchChat)
	person.Delete(chat, a.DeleteChat)
	person.Get(chat+"/events", c.Streams.Chat)
	person.Get(chat+"/export", a.Export)
	person.Post(chat+"/seen", a.Seen)
	person.Post(chat+"/stop", a.Stop)
	person.Post(chat+"/compact", a.Compact)
	person.Post(chat+"/messages", a.SubmitMessage)
	person.Patch(chat+"/messages/{mid}", a.EditQueued)
	person.Delete(chat+"/messages/{mid}", a.WithdrawMessage)
	person.Post(chat+"/messages/{mid}/send", a.SendNow)
	person.Post(chat+"/messages/{mid}/edit", a.EditMessage)
	person.Post(chat+"/replies/{rid}/regenerate", a.Regenerate)
	person.Post(chat+"/interactions/{iid}", a.AnswerInteraction)
	return mux
}
