package view

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"lembas/events"
	"lembas/web/templates"
)

// Row is a chat as the sidebar's read model has it.
type Row struct {
	ID, Title, Folder string
	Pinned            bool
	Unread            bool   // a reply ended that the person has not seen
	NeedsYou          bool   // a card waits
	Status            string // of the open reply, or of the last one when it was not completed; "" is idle
	Updated           time.Time
}

// View is the row as it is shown. It is the same for all pages.
func (r Row) View() templates.ChatRow {
	return templates.ChatRow{ID: r.ID, Title: cmp.Or(r.Title, "New chat"), Folder: r.Folder, Pinned: r.Pinned,
		Unread: r.Unread, NeedsYou: r.NeedsYou, Status: r.Status, Time: Time(r.Updated)}
}

// maxDepth bounds the walk into folders, also through a cycle.
const maxDepth = 16

// Tree arranges a person's chats, newest first, as pinned ones, folders, and
// the rest by date.
func Tree(folders map[string]events.FolderState, rows []Row, now time.Time) templates.SidebarTree {
	var tree templates.SidebarTree
	inside := map[string][]templates.ChatRow{}
	for _, r := range rows {
		_, filed := folders[r.Folder]
		switch {
		case r.Pinned:
			tree.Pinned = append(tree.Pinned, r.View())
		case filed:
			inside[r.Folder] = append(inside[r.Folder], r.View())
		default:
			label := age(r.Updated, now)
			if n := len(tree.Groups); n == 0 || tree.Groups[n-1].Label != label {
				tree.Groups = append(tree.Groups, templates.ChatGroup{Label: label})
			}
			g := &tree.Groups[len(tree.Groups)-1]
			g.Chats = append(g.Chats, r.View())
		}
	}
	tree.Folders = folderTree(folders, inside, "", maxDepth)
	return tree
}

// folderTree is the folders under a parent, by name.
func folderTree(folders map[string]events.FolderState, inside map[string][]templates.ChatRow, parent string, depth int) []templates.Folder {
	if depth == 0 {
		return nil
	}
	var out []templates.Folder
	for id, f := range folders {
		if f.Parent == parent {
			out = append(out, templates.Folder{ID: id, Name: f.Name, Parent: parent, Chats: inside[id],
				Folders: folderTree(folders, inside, id, depth-1)})
		}
	}
	slices.SortFunc(out, func(a, b templates.Folder) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return out
}

// age is the heading that a moment falls under.
func age(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch {
	case !t.Before(midnight):
		return "Today"
	case !t.Before(midnight.AddDate(0, 0, -1)):
		return "Yesterday"
	case !t.Before(midnight.AddDate(0, 0, -7)):
		return "The last seven days"
	case t.Year() == now.Year():
		return t.Format("January")
	}
	return t.Format("January 2006")
}

// More is the path of the next page of older chats, "" at the end.
func More(cursor string) string {
	if cursor == "" {
		return ""
	}
	return "/sidebar?" + url.Values{"cursor": {cursor}}.Encode()
}
