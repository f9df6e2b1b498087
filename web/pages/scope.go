package pages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"lembas/commands"
	"lembas/events"
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

// scopeMenu is the menu of a chat with a model; nil without Tools, and while there
// is no model.
func (p *Pages) scopeMenu(ctx context.Context, user, model string, c *transcript.Chat) (*templates.Scope, error) {
	if p.Tools == nil || model == "" {
		return nil, nil
	}
	rows, err := p.Tools.ScopeRows(ctx, user, model, c.Scope)
	if err != nil && !errors.Is(err, events.ErrNotFound) { // a model that is gone has none
		return nil, err
	}
	v := scopeView(rows)
	v.Chat, v.Allow = c.ID, c.Allow
	return &v, nil
}

// scopeView arranges the rows and counts the tools that are on.
func scopeView(rows []commands.ScopeRow) templates.Scope {
	var v templates.Scope
	family := map[string]*commands.ScopeRow{}
	counts := map[string]int{} // of a family, less what stands below it
	for i := range rows {
		if r := &rows[i]; r.Group == "" {
			family[r.Key], counts[r.Key] = r, r.Tools
		} else {
			counts[r.Group] -= r.Tools
		}
	}
	on, all := 0, 0
	for _, r := range rows {
		above := family[r.Group]
		row := templates.ScopeRow{Key: r.Key, Label: r.Label, Icon: r.Icon, On: r.On, Tools: r.Tools, Off: r.Off, Under: r.Group != ""}
		if above != nil {
			row.Shut = !above.On
			if r.Off == above.Off {
				row.Off = "" // said once
				row.Shut = row.Shut || r.Off != ""
			}
		}
		v.Rows = append(v.Rows, row)
		n := r.Tools
		if r.Group == "" {
			n = max(0, counts[r.Key])
		}
		if r.Off == "" {
			all += n
			if r.On && !row.Shut {
				on += n
			}
		}
	}
	v.Count, v.Word = scopeLabel(on, all)
	if why, one := oneReason(rows); one {
		v.None, v.Rows = why, nil
	}
	return v
}

// oneReason says why nothing can be on, when that is the same for all rows.
func oneReason(rows []commands.ScopeRow) (string, bool) {
	if len(rows) == 0 {
		return "There are no tools for this model.", true
	}
	for _, r := range rows {
		if r.Off == "" || r.Off != rows[0].Off {
			return "", false
		}
	}
	return rows[0].Off + ".", true
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
