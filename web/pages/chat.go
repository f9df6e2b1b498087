package pages

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"lembas/commands"
	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/pages/view"
	"lembas/web/templates"
)

// newChat is the empty state: a chat is made with its first message.
func (p *Pages) newChat(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	u := me(r)
	v := templates.NewChat{Greeting: "What is on your mind, " + u.Name + "?", Suggestions: suggestions(p.Demo)}
	model, effort := u.Preferences.DefaultModel, ""
	if id := r.URL.Query().Get("folder"); id != "" {
		if f, ok := u.Folders[id]; ok {
			v.Folder = &templates.Option{Value: id, Label: f.Name}
			v.Composer.Folder = id
			if f.Seeds["model"] != "" {
				model = f.Seeds["model"]
			}
			effort = f.Seeds["effort"]
		}
	}
	models, err := p.choices(r.Context(), model, false)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(models, func(m templates.ModelOption) bool { return m.Selected }); effort == "" && i >= 0 {
		effort = models[i].Effort
	}
	v.Composer = composer(v.Composer, u, models, effort)
	model = ""
	if i := slices.IndexFunc(models, func(m templates.ModelOption) bool { return m.Selected }); i >= 0 {
		model = models[i].ID
	}
	if v.Composer.Scope, err = p.scopeMenu(r.Context(), u.ID, model, &transcript.Chat{}); err != nil {
		return err
	}
	v.Composer.State, v.Composer.Send = transcript.Idle, templates.Send{Act: "send"}
	if len(models) == 0 {
		v.NoModel, v.Composer.Send.Disabled = "No model can be used yet. An administrator adds a connection first.", "there is no model yet"
		if u.Admin {
			v.NoModel, v.NoModelLink = "No model can be used yet. Add a connection to an endpoint first.", "/admin/connections"
		}
	}
	if v.Shell, err = p.shell(r, "new", "New chat", at); err != nil {
		return err
	}
	return p.page(w, "new", v)
}

// suggestions are first messages. The demo's scripted models act on the words in
// theirs.
func suggestions(demo bool) []templates.Suggestion {
	if demo {
		return []templates.Suggestion{
			{Title: "Approve", Text: "Use your tools, and ask me first."},
			{Title: "Decide", Text: "Show me a card with three calls."},
			{Title: "Answer", Text: "Ask me your questions."},
			{Title: "Stop", Text: "Call a tool in a loop until I stop you."},
		}
	}
	return []templates.Suggestion{
		{Title: "Explain", Text: "Explain how an append-only log works, to somebody who knows databases."},
		{Title: "Write", Text: "Write a polite reminder to a colleague about an overdue review."},
		{Title: "Compare", Text: "Compare three ways to keep notes, in a table."},
		{Title: "Program", Text: "Write a shell function that shows the ten largest files below a directory."},
	}
}

// composer is where a person writes: what the chat says of it, and what can be
// chosen.
func composer(c templates.Composer, u commands.User, models []templates.ModelOption, effort string) templates.Composer {
	c.Waiting = "Message, or answer the card above"
	c.Placeholder, c.Models, c.EnterNewline, c.MaxLength = "Write a message", models, u.Preferences.EnterNewline, commands.MaxText
	c.Efforts = efforts(effort)
	return c
}

// efforts are the levels of reasoning effort, the one in force selected.
func efforts(selected string) []templates.Option {
	out := []templates.Option{{Value: "", Label: "not set", Selected: selected == ""}}
	for _, e := range commands.Efforts() {
		out = append(out, templates.Option{Value: e, Label: e, Selected: e == selected})
	}
	return out
}

// choices are the models that can be chosen, in the administrator's order. The
// one of a chat is there too when it can no longer be.
func (p *Pages) choices(ctx context.Context, selected string, ofChat bool) ([]templates.ModelOption, error) {
	models, err := p.Service.Models(ctx, true)
	if err != nil {
		return nil, err
	}
	names, err := p.connectionNames(ctx)
	if err != nil {
		return nil, err
	}
	var out []templates.ModelOption
	chosen := slices.IndexFunc(models, func(m commands.ModelView) bool { return m.ID == selected })
	if chosen < 0 && !ofChat {
		chosen = max(0, slices.IndexFunc(models, func(m commands.ModelView) bool { return m.State.Default }))
	}
	for i, m := range models {
		out = append(out, templates.ModelOption{ID: m.ID, Title: m.Title(), Connection: names[m.Connection], Badges: badges(m.State),
			Effort: m.State.Effort, Selected: i == chosen})
	}
	if chosen < 0 {
		if m, err := p.Service.Model(ctx, selected); err == nil {
			out = append([]templates.ModelOption{{ID: m.ID, Title: m.Title(), Connection: names[m.Connection], Selected: true, Gone: true}}, out...)
		}
	}
	return out, nil
}

func (p *Pages) connectionNames(ctx context.Context) (map[string]string, error) {
	list, err := p.Service.Connections(ctx)
	names := map[string]string{}
	for _, c := range list {
		names[c.ID] = c.State.Name
	}
	return names, err
}

// badges are a model's abilities in a word each.
func badges(m events.ModelState) (out []string) {
	if m.Vision {
		out = append(out, "vision")
	}
	if m.Tools {
		out = append(out, "tools")
	}
	if n := m.ContextLength; n >= 1000 {
		out = append(out, strconv.Itoa(n/1000)+"k")
	}
	return out
}

// chat is one conversation, its last messages first loaded. The page's cursor
// is the position it shows: the stream goes on from there.
func (p *Pages) chat(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head() // before the chat: what it has is at least that
	u := me(r)
	var v templates.Chat
	var now transcript.Chat
	err := p.withEnd(r.Context(), u.ID, r.PathValue("id"), func(c *transcript.Chat) error {
		v = p.Views.Chat(c)
		now = transcript.Chat{ID: c.ID, Model: c.Model, Effort: c.Effort, Scope: maps.Clone(c.Scope), Allow: slices.Clone(c.Allow)}
		at = max(at, c.Position)
		return nil
	})
	if err != nil {
		return err
	}
	models, err := p.choices(r.Context(), now.Model, true)
	if err != nil {
		return err
	}
	v.Composer = composer(v.Composer, u, models, now.Effort)
	if v.Composer.Scope, err = p.scopeMenu(r.Context(), u.ID, now.Model, &now); err != nil {
		return err
	}
	for _, f := range []struct{ format, label string }{{"md", "Markdown"}, {"html", "HTML"}, {"json", "JSON (OpenAI messages)"}, {"jsonl", "Events (JSONL)"}} {
		v.Exports = append(v.Exports, templates.Option{Value: "/api/v1/chats/" + v.ID + "/export?format=" + f.format, Label: f.label})
	}
	if v.Shell, err = p.shell(r, "chat", v.Name, at); err != nil {
		return err
	}
	return p.page(w, "chat", v)
}

// withEnd shows the end of a person's chat to fn.
func (p *Pages) withEnd(ctx context.Context, user, chat string, fn func(*transcript.Chat) error) error {
	if p.Windows == nil {
		return p.Service.ViewChat(ctx, user, chat, fn)
	}
	c, err := p.Windows.Window(ctx, chat, view.Window)
	if err == nil && c.Owner != user {
		err = events.ErrNotFound
	}
	if err != nil {
		return err
	}
	return fn(c)
}

// olderMessages is the run of messages before one, with the way to those before.
func (p *Pages) olderMessages(w http.ResponseWriter, r *http.Request) error {
	q, chat := r.URL.Query(), r.PathValue("id")
	n, err := strconv.Atoi(q.Get("n"))
	if p.Windows == nil || err != nil {
		return p.olderByMessage(w, r, chat, q.Get("before"))
	}
	var page templates.MessagePage
	err = p.withEnd(r.Context(), me(r).ID, chat, func(c *transcript.Chat) error {
		turns, err := p.Windows.Before(r.Context(), chat, n, view.Window)
		if err != nil {
			return err
		}
		part := &transcript.Chat{ID: c.ID, Owner: c.Owner, Summary: c.Summary, Turns: turns}
		if len(turns) > 0 {
			part.Earlier = turns[0].N
		}
		page = p.Views.Messages(part, 0, len(turns))
		return nil
	})
	if err != nil {
		return err
	}
	return p.part(w, http.StatusOK, "messages", page)
}

func (p *Pages) olderByMessage(w http.ResponseWriter, r *http.Request, chat, before string) error {
	var page templates.MessagePage
	err := p.Service.ViewChat(r.Context(), me(r).ID, chat, func(c *transcript.Chat) error {
		i := slices.IndexFunc(c.Turns, func(t *transcript.Turn) bool {
			return t.ID == before || t.Reply() != nil && t.Reply().ID == before
		})
		if i < 0 {
			return events.ErrNotFound
		}
		page = p.Views.Messages(c, max(0, i-view.Window), i)
		return nil
	})
	if err != nil {
		return err
	}
	return p.part(w, http.StatusOK, "messages", page)
}

// version is one message in one of its versions: a turn's words, or one of the
// replies that a turn had.
func (p *Pages) version(w http.ResponseWriter, r *http.Request) error {
	n, err := strconv.Atoi(r.URL.Query().Get("version"))
	if err != nil || n < 1 {
		return events.ErrNotFound
	}
	var m templates.Message
	err = p.Service.ViewChat(r.Context(), me(r).ID, r.PathValue("id"), func(c *transcript.Chat) error {
		mid := r.PathValue("mid")
		for i, t := range c.Turns {
			if t.ID == mid && n <= len(t.Texts) {
				m = p.Views.TurnVersion(c, i, n)
				return nil
			}
			if t.Reply() != nil && t.Reply().ID == mid && n <= len(t.Replies) {
				m = p.Views.Reply(c, t, t.Replies[n-1])
				return nil
			}
		}
		return events.ErrNotFound
	})
	if err != nil {
		return err
	}
	return p.part(w, http.StatusOK, "message", m)
}
