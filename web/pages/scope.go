package pages

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"lembas/commands"
	"lembas/projections/transcript"
	"lembas/web/templates"
)

// maxOff bounds the keys of a new chat's scope in a request.
const maxOff = 200

// Tools says which tools a chat may be offered.
type Tools interface {
	// ScopeRows gives the rows of the scope menu for a model, in the order shown;
	// none when the model takes no tools. scope is the chat's, nil for a new one.
	ScopeRows(ctx context.Context, user, model string, scope map[string]bool) ([]commands.ScopeRow, error)
}

// scopeMenu is the menu of a chat with a model; nil without Tools.
func (p *Pages) scopeMenu(ctx context.Context, user, model string, c *transcript.Chat) (*templates.Scope, error) {
	if p.Tools == nil {
		return nil, nil
	}
	rows, err := p.Tools.ScopeRows(ctx, user, model, c.Scope)
	if err != nil {
		return nil, err
	}
	v := scopeView(rows)
	v.Chat, v.Allow = c.ID, c.Allow
	return &v, nil
}

// scopeView puts rows under their headings and counts the tools that are on.
func scopeView(rows []commands.ScopeRow) templates.Scope {
	var v templates.Scope
	on, all := 0, 0
	for _, r := range rows {
		if n := len(v.Groups); n == 0 || v.Groups[n-1].Label != r.Group {
			v.Groups = append(v.Groups, templates.ScopeGroup{Label: r.Group})
		}
		g := &v.Groups[len(v.Groups)-1]
		g.Rows = append(g.Rows, templates.ScopeRow{Key: r.Key, Label: r.Label, Icon: r.Icon, On: r.On, Tools: r.Tools, Off: r.Off})
		if r.Off != "" {
			continue
		}
		all += r.Tools
		if r.On {
			on += r.Tools
		}
	}
	v.Count, v.Word = scopeLabel(on, all)
	if len(rows) == 0 {
		v.None = "This model takes no tools. Choose another to use some."
	} else if all == 0 {
		v.None = "None of these can be used now."
	}
	return v
}

// scopeLabel is the button's count and the word after it.
func scopeLabel(on, all int) (count, word string) {
	switch {
	case all == 0:
		return "No", "tools"
	case on == all && all == 1:
		return "1", "tool"
	case on == all:
		return strconv.Itoa(all), "tools"
	}
	return fmt.Sprintf("%d of %d", on, all), "tools"
}

// chatScope is the menu of one chat, for a page that shows it.
func (p *Pages) chatScope(w http.ResponseWriter, r *http.Request) error {
	u := me(r)
	var c transcript.Chat
	err := p.Service.ViewChat(r.Context(), u.ID, r.PathValue("id"), func(t *transcript.Chat) error {
		c = transcript.Chat{ID: t.ID, Model: t.Model, Scope: maps.Clone(t.Scope), Allow: slices.Clone(t.Allow)}
		return nil
	})
	if err != nil {
		return err
	}
	return p.scopePart(w, r, u.ID, c.Model, &c)
}

// newScope is the menu of a chat that is not there yet: ?model= and any ?off=.
func (p *Pages) newScope(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	c := transcript.Chat{Scope: map[string]bool{}}
	for i, key := range q["off"] {
		if i < maxOff {
			c.Scope[key] = false
		}
	}
	return p.scopePart(w, r, me(r).ID, q.Get("model"), &c)
}

func (p *Pages) scopePart(w http.ResponseWriter, r *http.Request, user, model string, c *transcript.Chat) error {
	v, err := p.scopeMenu(r.Context(), user, model, c)
	if err != nil {
		return err
	}
	if v == nil {
		none := scopeView(nil)
		v, none.Chat = &none, c.ID
	}
	return p.part(w, http.StatusOK, "scope", *v)
}
