package pages

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"lembas/commands"
	"lembas/events"
	"lembas/web/pages/view"
	"lembas/web/templates"
)

const (
	// sidebarRows is how many chats the sidebar has before "Older chats".
	sidebarRows = 60
	// sidebarWait bounds the wait for a list that is behind: the page then
	// begins its stream where the list is.
	sidebarWait = 2 * time.Second
)

// shell is what a page of a signed-in person has around it. at is up to where
// the rest of the page is up to date, read before anything of it.
func (p *Pages) shell(r *http.Request, page, title string, at events.Position) (templates.Shell, error) {
	u := me(r)
	tree, at, err := p.sidebar(r.Context(), u, at)
	if err != nil {
		return templates.Shell{}, err
	}
	waits, err := p.waitingNav(r.Context(), u.ID, page == "waiting")
	if err != nil {
		return templates.Shell{}, err
	}
	epoch := p.Service.Log.Epoch()
	s := templates.Shell{Title: title, Page: page, Person: person(u), Theme: u.Preferences.Theme, Font: u.Preferences.Font,
		Sidebar: tree, Waiting: waits, Epoch: epoch, Cursor: fmt.Sprintf("%s.%d", epoch, at), Demo: p.Demo,
		EnterNewline: u.Preferences.EnterNewline, NoFollow: u.Preferences.NoFollow, NoShortcuts: u.Preferences.NoShortcuts, Notify: u.Preferences.Notify}
	if p.ReadOnly != nil {
		s.ReadOnly = p.ReadOnly()
	}
	return s, nil
}

// sidebar is the person's list, and the position that the whole page may claim:
// no part of it lacks an event up to there.
func (p *Pages) sidebar(ctx context.Context, u commands.User, at events.Position) (templates.SidebarTree, events.Position, error) {
	short, cancel := context.WithTimeout(ctx, sidebarWait)
	defer cancel()
	if err := p.Sidebar.Wait(short, at); err != nil && short.Err() == nil {
		return templates.SidebarTree{}, 0, err
	}
	rows, next, listed, err := p.Sidebar.List(ctx, u.ID, sidebarRows, "")
	if err != nil {
		return templates.SidebarTree{}, 0, err
	}
	tree := view.Tree(u.Folders, rows, p.now())
	tree.More = view.More(next)
	return tree, min(at, listed), nil
}

// olderChats is what replaces the button "Older chats".
func (p *Pages) olderChats(w http.ResponseWriter, r *http.Request) error {
	rows, next, _, err := p.Sidebar.List(r.Context(), me(r).ID, sidebarRows, r.URL.Query().Get("cursor"))
	if err != nil {
		return err
	}
	tree := view.Tree(nil, rows, p.now())
	tree.More = view.More(next)
	return p.part(w, http.StatusOK, "sidebar-more", tree)
}

func person(u commands.User) templates.Person {
	return templates.Person{ID: u.ID, Name: u.Name, Email: u.Email, Initial: initial(u.Name), Admin: u.Admin}
}

// initial is one character for an avatar.
func initial(name string) string {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(name))
	if r == utf8.RuneError {
		return "?"
	}
	return string(unicode.ToUpper(r))
}
