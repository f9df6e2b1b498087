package projections_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
	"lembas/events/store"
	"lembas/projections"
)

// The sidebar says of each chat what its own fold says.
func TestSidebarAgreesWithTheFold(t *testing.T) {
	for seed := range uint64(4) {
		st := openStore(t, vfs.NewMem())
		set := openSet(t, st)
		h := newHistory(t, st, 300+seed)
		for range 500 {
			h.step()
		}
		catchUp(t, set)
		live, open := 0, 0
		for _, chat := range h.chats {
			full := fold(t, st, chat)
			row, err := set.Sidebar.Row(context.Background(), full.Owner, chat)
			if full.Deleted {
				if !errors.Is(err, events.ErrNotFound) {
					t.Errorf("deleted %s: %v", chat, err)
				}
				continue
			}
			live++
			if full.Open() != nil {
				open++
			}
			if err != nil || row.Status() != full.Status() || row.Title != full.Title || row.Pinned != full.Pinned ||
				row.Model != full.Model || row.NeedsYou() != len(full.Pending) || !row.Updated.Equal(full.Updated) {
				t.Errorf("seed %d: %s: %+v, %v; the fold: %s %q %v %s %d %s", seed, chat, row, err,
					full.Status(), full.Title, full.Pinned, full.Model, len(full.Pending), full.Updated)
			}
			if owner, err := set.Sidebar.Owner(context.Background(), chat); err != nil || owner != full.Owner {
				t.Errorf("owner of %s: %s, %v", chat, owner, err)
			}
			if _, err := set.Sidebar.Row(context.Background(), "another", chat); !errors.Is(err, events.ErrNotFound) {
				t.Errorf("%s was shown to another: %v", chat, err)
			}
		}
		c, err := set.Counts()
		if err != nil || c.Chats != live || c.Open != open || c.Events != st.Head() || c.Accounts.Total != len(h.users) {
			t.Errorf("seed %d: counts %+v, %v; want %d chats, %d open, %d users", seed, c, err, live, open, len(h.users))
		}
		if list, err := set.Replies.List(100); err != nil || len(list) != open {
			t.Errorf("open replies %v, %v", list, err)
		}
	}
}

// chatOf makes a chat whose reply is open.
func chatOf(t *testing.T, st *store.Store, owner, chat, title string) {
	t.Helper()
	appendTo(t, st, events.ChatStream(chat), events.ChatCreated{Chat: chat, Owner: owner, Kind: events.KindChat, Title: title},
		events.MessageSubmitted{Message: "m", Text: "?"}, events.ReplyRequested{Reply: "r", Message: "m"})
}

func finish(t *testing.T, st *store.Store, chat string) events.Position {
	t.Helper()
	return appendTo(t, st, events.ChatStream(chat), events.ReplyFinished{Reply: "r", Status: events.Complete}).Last
}

func TestUnread(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	want := func(what string, unread bool) {
		t.Helper()
		catchUp(t, set)
		row, err := set.Sidebar.Row(context.Background(), "ann", "c")
		if err != nil || row.Unread() != unread {
			t.Errorf("%s: unread is %v, %v", what, row.Unread(), err)
		}
	}
	seen := func(user string, p events.Position) {
		appendTo(t, st, events.UserStream(user), events.ChatSeen{Chat: "c", Position: p})
	}
	chatOf(t, st, "ann", "c", "t")
	want("running", false)
	ended := finish(t, st, "c")
	want("ended unseen", true)
	seen("bob", ended)
	want("another looked", true)
	seen("ann", ended-1)
	want("seen up to before the end", true)
	seen("ann", ended)
	want("seen", false)
	seen("ann", 1)
	want("an older mark came late", false)
	appendTo(t, st, events.ChatStream("c"), events.ReplyRequested{Reply: "r2", Message: "m"})
	want("running again", false)
	appendTo(t, st, events.ChatStream("c"), events.ReplyFinished{Reply: "r2", Status: events.Stopped})
	want("ended again", true)
}

func ids(rows []projections.ChatRow) (out []string) {
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return out
}

func TestSidebarList(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	for i, title := range []string{"Bread and butter", "ÄPFEL", "bread", "Other"} {
		chatOf(t, st, "ann", fmt.Sprint("c", i), title)
	}
	chatOf(t, st, "ann2", "foreign", "bread") // a name that begins the same
	appendTo(t, st, events.ChatStream("c0"), events.ChatMoved{Folder: "f"}, events.ChatPinned{Pinned: true})
	finish(t, st, "c1") // the last active
	catchUp(t, set)
	f, none, yes := "f", "", true
	for _, c := range []struct {
		name string
		q    projections.ChatQuery
		want string
	}{
		{"all", projections.ChatQuery{}, "c1 c3 c2 c0"},
		{"text", projections.ChatQuery{Text: " bREAD "}, "c2 c0"},
		{"text with an accent", projections.ChatQuery{Text: "äpf"}, "c1"},
		{"text that is nowhere", projections.ChatQuery{Text: "butter bread"}, ""},
		{"folder", projections.ChatQuery{Folder: &f}, "c0"},
		{"no folder", projections.ChatQuery{Folder: &none}, "c1 c3 c2"},
		{"pinned", projections.ChatQuery{Pinned: &yes}, "c0"},
		{"kind", projections.ChatQuery{Kind: events.KindAgent}, ""},
		{"limit", projections.ChatQuery{Limit: 2}, "c1 c3"},
	} {
		rows, _, err := set.Sidebar.List(context.Background(), "ann", c.q)
		if got := strings.Join(ids(rows), " "); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	if _, _, err := set.Sidebar.List(context.Background(), "ann", projections.ChatQuery{Cursor: "x"}); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("bad cursor: %v", err)
	}
}

func TestSidebarPages(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	var want []string
	for i := range 25 {
		chatOf(t, st, "ann", fmt.Sprint("c", i), fmt.Sprint("title ", i%2))
		want = append([]string{fmt.Sprint("c", i)}, want...)
	}
	catchUp(t, set)
	for _, text := range []string{"", "title 1"} {
		var got []string
		cursor, pages := "", 0
		for ; pages == 0 || cursor != ""; pages++ {
			rows, next, err := set.Sidebar.List(context.Background(), "ann", projections.ChatQuery{Text: text, Limit: 5, Cursor: cursor})
			if err != nil || len(rows) == 0 {
				t.Fatalf("page %d: %v, %v", pages, rows, err)
			}
			got, cursor = append(got, ids(rows)...), next
		}
		expect := want
		if text != "" {
			expect = slices.DeleteFunc(slices.Clone(want), func(id string) bool { return (int(id[len(id)-1])-'0')%2 == 0 })
		}
		if !slices.Equal(got, expect) || pages != (len(expect)+4)/5 {
			t.Errorf("%q: %v in %d pages, want %v", text, got, pages, expect)
		}
	}
}

func TestRemovedFolderMovesUp(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	appendTo(t, st, events.UserStream("ann"), events.FolderCreated{Folder: "top"},
		events.FolderCreated{Folder: "mid", State: events.FolderState{Parent: "top"}},
		events.FolderCreated{Folder: "low", State: events.FolderState{Parent: "mid"}})
	appendTo(t, st, events.UserStream("bob"), events.FolderCreated{Folder: "mid"})
	for _, c := range []string{"mid", "low"} {
		chatOf(t, st, "ann", c, "")
		appendTo(t, st, events.ChatStream(c), events.ChatMoved{Folder: c})
	}
	chatOf(t, st, "bob", "bobs", "")
	appendTo(t, st, events.ChatStream("bobs"), events.ChatMoved{Folder: "mid"})
	where := func(user, chat, want string) {
		t.Helper()
		catchUp(t, set)
		if row, err := set.Sidebar.Row(context.Background(), user, chat); err != nil || row.Folder != want {
			t.Errorf("%s is in %q, %v; want %q", chat, row.Folder, err, want)
		}
	}
	appendTo(t, st, events.UserStream("ann"), events.FolderRemoved{Folder: "mid"})
	where("ann", "mid", "top")
	where("ann", "low", "low")
	where("bob", "bobs", "mid")
	appendTo(t, st, events.UserStream("ann"), events.FolderRemoved{Folder: "low"}) // was in mid, is in top
	where("ann", "low", "top")
}

// Keys outlive what they named: no text of a person may be in one.
func TestKeysHoldNoText(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	appendTo(t, st, events.UserStream("u1"), events.UserRegistered{User: "u1", Email: "marker@x.test", Name: "Marker"})
	chatOf(t, st, "u1", "c1", "Marker")
	finish(t, st, "c1")
	catchUp(t, set)
	for _, name := range names() {
		for k := range dump(t, st, name) {
			if strings.Contains(strings.ToLower(k), "marker") {
				t.Errorf("%s has the key %q", name, k)
			}
		}
	}
}

func TestAccounts(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	for i, name := range []string{"Zoe", "Ann", "Bob"} {
		u := fmt.Sprint("u", i)
		appendTo(t, st, events.UserStream(u), events.UserRegistered{User: u, Email: strings.ToLower(name) + "@x.test", Name: name, Admin: i == 0})
	}
	yes, newName := true, "Anna"
	appendTo(t, st, events.UserStream("u1"), events.UserChanged{Name: &newName, Admin: &yes})
	appendTo(t, st, events.UserStream("u2"), events.UserChanged{Admin: &yes})
	appendTo(t, st, events.UserStream("u2"), events.UserChanged{Disabled: &yes})
	catchUp(t, set)
	list := func(q projections.AccountQuery) (string, string) {
		t.Helper()
		rows, next, err := set.Accounts.List(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, a := range rows {
			names = append(names, a.Name)
		}
		return strings.Join(names, " "), next
	}
	if got, next := list(projections.AccountQuery{}); got != "Zoe Anna Bob" || next != "" {
		t.Errorf("all: %q %q", got, next)
	}
	if got, _ := list(projections.AccountQuery{Text: "ANN@"}); got != "Anna" {
		t.Errorf("by address: %q", got)
	}
	got, next := list(projections.AccountQuery{Limit: 2})
	if more, end := list(projections.AccountQuery{Limit: 2, Cursor: next}); got+" "+more != "Zoe Anna Bob" || end != "" {
		t.Errorf("pages: %q %q, then %q", got, more, end)
	}
	if n, err := set.Accounts.Counts(); err != nil || n != (projections.AccountCounts{Total: 3, Admins: 2, Disabled: 1}) {
		t.Errorf("counts %+v, %v", n, err)
	}
}

// What erasure left of a deleted chat builds the same rows as the chat did.
func TestErasedChat(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	gone := events.Envelope{TypeVersion: 1, Time: time.Unix(1e9, 0), Actor: events.Actor{Kind: events.System, ID: "x"},
		Data: []byte(`{"erased":"` + strings.Repeat("0", 64) + `"}`)}
	var raw []events.New
	for _, typ := range []string{"chat.created", "message.submitted", "reply.requested", "reply.chunk", "reply.finished", "chat.renamed", "chat.deleted"} {
		e := gone
		e.Type = typ
		raw = append(raw, events.New{Raw: &e})
	}
	for _, part := range [][]events.New{raw[:5], raw[5:6], raw[6:]} {
		_, err := st.Append(context.Background(), events.Batch{Actor: gone.Actor, Parts: []events.Part{{Stream: "chat/c", Events: part}}})
		if err != nil {
			t.Fatal(err)
		}
		catchUp(t, set)
	}
	for _, name := range names() {
		for k, v := range dump(t, st, name) {
			if name != "audit" && (name != "windows" || v != "deleted") { // the trail keeps who and when
				t.Errorf("%s: %q %s", name, k, v)
			}
		}
	}
	if _, err := set.Windows.Window(context.Background(), "c", 1); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("window of an erased chat: %v", err)
	}
}
