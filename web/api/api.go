package api

import (
	"context"
	"html/template"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"lembas/commands"
	"lembas/events"
)

// API answers the routes of /api/v1. Fields are set once.
type API struct {
	Service  *commands.Service
	Sidebar  Sidebar
	Accounts Accounts
	Markdown Markdown
	Waiting  Waiting
	Audit    Audit
	Blobs    Blobs
	// PushKey is the instance's public key for Web Push.
	PushKey string
	// Try sends the requests of HTTP tools that an administrator tries.
	Try commands.TryRequest
	// Ready says why the server cannot serve, nil when it can.
	Ready func(context.Context) error
}

// Sidebar lists the chats of a person, the ones used last first.
type Sidebar interface {
	// Chats gives one page and the cursor of the next, "" at the end.
	Chats(ctx context.Context, user string, q ListQuery) (rows []ChatRow, next string, err error)
}

// Accounts lists the accounts of the instance, oldest first.
type Accounts interface {
	Accounts(ctx context.Context, q ListQuery) (users []commands.User, next string, err error)
}

// Markdown is the one pipeline from Markdown to safe HTML.
type Markdown interface {
	Render(prefix, src string) template.HTML
	RenderOpen(prefix, src string) template.HTML
}

// ListQuery is one page of a list.
type ListQuery struct {
	Query  string  // words of the title (or the address), "" is all
	Folder *string // only what is in it; "" is outside of all; nil is everywhere
	Limit  int     // 1 to MaxLimit
	Cursor string  // where the page before ended, "" is the beginning
}

// ChatRow is a chat in a list.
type ChatRow struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Kind     string    `json:"kind"`
	Model    string    `json:"model"`
	Folder   string    `json:"folder_id"`
	Pinned   bool      `json:"pinned"`
	Status   string    `json:"status"` // idle, running or waiting
	Unread   bool      `json:"unread"`
	NeedsYou bool      `json:"needs_you"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
}

// accepted answers a command that gives nothing but its place in the log.
type accepted struct {
	Position events.Position `json:"position"`
}

func id(r *http.Request) string { return chi.URLParam(r, "id") }

func noContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}
