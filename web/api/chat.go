package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"lembas/commands"
	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/request"
)

// chatHead is a chat without its messages.
type chatHead struct {
	ID       string          `json:"id"`
	Title    string          `json:"title"`
	Kind     string          `json:"kind"`
	Mode     string          `json:"mode"`
	Model    string          `json:"model"`
	Effort   string          `json:"effort"`
	Folder   string          `json:"folder_id"`
	Pinned   bool            `json:"pinned"`
	Status   string          `json:"status"` // idle, running or waiting
	Scope    map[string]bool `json:"scope"`  // gates and rows that are off
	Allow    []string        `json:"allow"`  // patterns that no longer ask
	Position events.Position `json:"position"`
}

func headOf(c *transcript.Chat) chatHead {
	scope, allow := map[string]bool{}, append([]string{}, c.Allow...)
	maps.Copy(scope, c.Scope)
	return chatHead{ID: c.ID, Title: c.Title, Kind: c.Kind, Mode: c.Mode, Model: c.Model, Effort: c.Effort,
		Folder: c.Folder, Pinned: c.Pinned, Status: c.Status(),
		Scope: scope, Allow: allow, Position: c.Position}
}

// chat is one conversation.
type chat struct {
	chatHead
	Messages []message `json:"messages"`
	// Earlier is the id to pass as ?before= for older messages, absent at the
	// beginning.
	Earlier string                    `json:"earlier,omitempty"`
	Queue   []queued                  `json:"queue"`
	Pending []events.ConsentRequested `json:"pending"`
}

type createChat struct {
	Model       string                   `json:"model,omitempty"` // an id, or a name that is unique; the default when empty
	Text        string                   `json:"text"`
	Kind        string                   `json:"kind,omitempty"`
	Profile     string                   `json:"profile_id,omitempty"`
	Directory   string                   `json:"project_dir,omitempty"`
	Mode        string                   `json:"mode,omitempty"`
	Effort      request.Optional[string] `json:"effort"`
	Folder      string                   `json:"folder_id,omitempty"`
	Attachments []string                 `json:"attachments,omitempty"`
	Scope       map[string]*bool         `json:"scope,omitempty"` // gates and rows that are off; null is on
}

type createdChat struct {
	commands.Created
	accepted
}

// CreateChat makes a chat with its first message and asks for the reply.
func (a *API) CreateChat(w http.ResponseWriter, r *http.Request) error {
	var in createChat
	if err := request.Read(r, &in); err != nil {
		return err
	}
	for _, later := range []struct{ field, value string }{{"profile_id", in.Profile}, {"project_dir", in.Directory}, {"mode", in.Mode}} {
		if later.value != "" {
			return notYet(later.field)
		}
	}
	made, res, err := a.Service.CreateChat(r.Context(), request.Caller(r), commands.CreateChat{Model: in.Model, Text: in.Text,
		Kind: in.Kind, Effort: in.Effort.Pointer(), Folder: in.Folder, Attachments: in.Attachments, Scope: scopeOf(in.Scope)})
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusCreated, createdChat{made, accepted{res.Last}})
}

// notYet refuses a member that belongs to agents, which this version lacks.
func notYet(field string) error {
	return events.Invalid(field, "agents are not possible on this instance yet")
}

// Chats lists the caller's chats, the ones used last first.
func (a *API) Chats(w http.ResponseWriter, r *http.Request) error {
	q, err := listQuery(r)
	if err != nil {
		return err
	}
	who, _ := request.Identity(r.Context())
	rows, next, err := a.Sidebar.Chats(r.Context(), who.User.ID, q)
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, listOf(rows, next))
}

// Search lists the caller's chats whose titles have the words of ?q=.
func (a *API) Search(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Query().Get("q") == "" {
		return events.Invalid("q", "says what to look for")
	}
	return a.Chats(w, r)
}

// Chat gives one conversation: its last messages, or those ?before= one, as it
// stands or as it stood ?at= a position.
func (a *API) Chat(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Identity(r.Context())
	n, err := limit(r, MaxLimit/2)
	if err != nil {
		return err
	}
	before := r.URL.Query().Get("before")
	var out chat
	view := func(c *transcript.Chat) (err error) {
		out, err = chatOf(c, before, n)
		out.Folder = who.User.Folder(out.Folder)
		return err
	}
	if raw := r.URL.Query().Get("at"); raw != "" {
		err = a.viewChatAt(r.Context(), who.User.ID, id(r), raw, view)
	} else {
		err = a.Service.ViewChat(r.Context(), who.User.ID, id(r), view)
	}
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, out)
}

// viewChatAt folds a chat of the caller up to a position, from the log.
func (a *API) viewChatAt(ctx context.Context, user, id, raw string, view func(*transcript.Chat) error) error {
	at, err := strconv.ParseUint(raw, 10, 64)
	if err != nil || at == 0 {
		return events.Invalid("at", "a position in the log")
	}
	if err := a.Service.ViewChat(ctx, user, id, func(*transcript.Chat) error { return nil }); err != nil {
		return err
	}
	c := &transcript.Chat{}
	for e, err := range a.Service.Log.ReadStream(ctx, events.ChatStream(id), 0) {
		if err != nil {
			return err
		}
		if e.Position > events.Position(at) {
			break
		}
		if err := c.Apply(&e); err != nil {
			return err
		}
	}
	if c.ID == "" {
		return events.Invalid("at", "is before the chat began")
	}
	return view(c)
}

type patchChat struct {
	Title  request.Optional[string] `json:"title"`
	Folder request.Optional[string] `json:"folder_id"`
	Model  request.Optional[string] `json:"model"`
	Effort request.Optional[string] `json:"effort"`
	Pinned request.Optional[bool]   `json:"pinned"`
	Mode   request.Optional[any]    `json:"mode"`
	// Scope is the chat's whole scope: the gates and rows that are off, where null
	// is on as absent is; null and {} switch all on.
	Scope request.Optional[map[string]*bool] `json:"scope"`
	// Allow can only be cleared: [] or null. What is added to it, a card adds.
	Allow request.Optional[[]string] `json:"allow"`
	// What a chat was made with; to change it is a conflict.
	Kind      request.Optional[any] `json:"kind"`
	Profile   request.Optional[any] `json:"profile_id"`
	Directory request.Optional[any] `json:"project_dir"`
	// Whose the chat is cannot be given: taken and ignored, so that a client may
	// send back what it was shown (case id50).
	User  request.Optional[any] `json:"user_id"`
	Owner request.Optional[any] `json:"owner"`
}

// scopeOf is a scope with each null as on, which is not to be off.
func scopeOf(in map[string]*bool) map[string]bool {
	out := make(map[string]bool, len(in))
	for key, on := range in {
		out[key] = on == nil || *on
	}
	return out
}

// fixed refuses a change of what stands since a chat's first message.
func (a *API) fixed(r *http.Request, in *patchChat) error {
	for _, f := range []struct {
		field string
		set   bool
	}{{"kind", in.Kind.Set}, {"profile_id", in.Profile.Set}, {"project_dir", in.Directory.Set}} {
		if f.set {
			who, _ := request.Identity(r.Context())
			mine := a.Service.ViewChat(r.Context(), who.User.ID, id(r), func(*transcript.Chat) error { return nil })
			return cmp.Or(mine, fmt.Errorf("%s is fixed with the first message; start a new chat: %w", f.field, events.ErrConflict))
		}
	}
	return nil
}

// PatchChat changes what a chat is called, where it is and what answers it.
func (a *API) PatchChat(w http.ResponseWriter, r *http.Request) error {
	var in patchChat
	if err := request.Read(r, &in); err != nil {
		return err
	}
	if err := a.fixed(r, &in); err != nil {
		return err
	}
	if in.Mode.Set {
		return notYet("mode")
	}
	if len(in.Allow.Value) > 0 {
		return events.Invalid("allow", "can only be cleared, with []; patterns are added by answering a card with always")
	}
	var scope *map[string]bool
	if in.Scope.Set {
		whole := scopeOf(in.Scope.Value)
		scope = &whole
	}
	if _, err := a.Service.PatchChat(r.Context(), request.Caller(r), id(r), commands.PatchChat{Title: in.Title.Pointer(),
		Folder: in.Folder.Pointer(), Model: in.Model.Pointer(), Effort: in.Effort.Pointer(), Pinned: in.Pinned.Pointer(),
		Scope: scope, ForgetAllowed: in.Allow.Set}); err != nil {
		return err
	}
	who, _ := request.Identity(r.Context())
	var out chatHead
	err := a.Service.ViewChat(r.Context(), who.User.ID, id(r), func(c *transcript.Chat) error {
		out = headOf(c)
		out.Folder = who.User.Folder(out.Folder)
		return nil
	})
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, out)
}

type compacting struct {
	commands.Compacting
	accepted
}

// Compact asks for a summary of the chat so far. It comes as an event.
func (a *API) Compact(w http.ResponseWriter, r *http.Request) error {
	made, res, err := a.Service.Compact(r.Context(), request.Caller(r), id(r))
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusAccepted, compacting{made, accepted{res.Last}})
}

// DeleteChat stops a running reply and ends the chat.
func (a *API) DeleteChat(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.Service.DeleteChat(r.Context(), request.Caller(r), id(r)); err != nil {
		return err
	}
	return noContent(w)
}

type seen struct {
	Position events.Position `json:"position,omitempty"` // absent is all there is
}

// Seen says how far the caller has read a chat.
func (a *API) Seen(w http.ResponseWriter, r *http.Request) error {
	in := seen{Position: a.Service.Log.Head()}
	body, err := request.Bytes(r)
	if err != nil {
		return err
	}
	if len(body) > 0 {
		if err := request.Read(r, &in); err != nil {
			return err
		}
	}
	if _, err := a.Service.Seen(r.Context(), request.Caller(r), id(r), in.Position); err != nil {
		return err
	}
	return noContent(w)
}
