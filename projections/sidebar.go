package projections

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lembas/events"
	"lembas/events/store"
	"lembas/projections/transcript"
)

// ChatRow is a chat as the sidebar shows it. Chats that were deleted have none.
type ChatRow struct {
	ID      string    `json:"id"`
	Owner   string    `json:"owner"`
	Kind    string    `json:"kind"`
	Title   string    `json:"title"`
	Folder  string    `json:"folder,omitempty"`
	Model   string    `json:"model"` // id
	Pinned  bool      `json:"pinned,omitempty"`
	Created time.Time `json:"created"`
	// Updated and Activity are time and position of the last message, request or
	// end of a reply.
	Updated  time.Time       `json:"updated"`
	Activity events.Position `json:"activity"`
	// Open is the reply that has not ended, Ended the position where the last one
	// did, and Seen how far the owner has read.
	Open  string          `json:"open,omitempty"`
	Ended events.Position `json:"ended,omitempty"`
	Seen  events.Position `json:"seen,omitempty"`
	// Pending is the cards that wait for an answer.
	Pending []string `json:"pending,omitempty"`
	// Last is how the last reply ended, when that was not complete.
	Last string `json:"last,omitempty"`
}

// Status is idle, running or waiting.
func (c *ChatRow) Status() string {
	switch {
	case c.Open == "":
		return transcript.Idle
	case len(c.Pending) > 0:
		return transcript.Waiting
	}
	return transcript.Running
}

// Unread says whether a reply ended that the owner has not seen.
func (c *ChatRow) Unread() bool { return c.Open == "" && c.Ended > c.Seen }

// NeedsYou is the number of cards that wait for an answer.
func (c *ChatRow) NeedsYou() int { return len(c.Pending) }

// Sidebar lists the chats of each person, the last active first.
type Sidebar struct{ ks *store.Keyspace }

// NewSidebar is the sidebar over a log; a Runner keeps it up.
func NewSidebar(st *store.Store) *Sidebar { return &Sidebar{keyspace(st, Sidebar{}.Name())} }

// Name implements Projection.
func (Sidebar) Name() string { return "sidebar" }

// Version implements Projection.
func (Sidebar) Version() int { return 2 }

// Types implements Projection.
func (Sidebar) Types() []string {
	return []string{
		"chat.created", "chat.renamed", "chat.moved", "chat.pinned", "chat.model_changed", "chat.imported", "chat.deleted",
		"message.submitted", "message.queued", "message.withdrawn", "message.delivered", "message.edited",
		"reply.requested", "reply.finished",
		"consent.requested", "consent.answered", "consent.expired", "consent.withdrawn",
		"chat.seen", "folder.created", "folder.changed", "folder.removed",
	}
}

// Keys: "c"CHAT is the row; "u"OWNER 0 ^ACTIVITY is the chat's id, so that the
// last active comes first; "f"OWNER 0 FOLDER is the folder's parent; "n" is the
// number of chats.
func chatKey(chat string) []byte { return append([]byte("c"), chat...) }

func ownerPrefix(kind byte, owner string) []byte {
	return append(append([]byte{kind}, owner...), 0)
}

func activityKey(c *ChatRow) []byte {
	return binary.BigEndian.AppendUint64(ownerPrefix('u', c.Owner), ^uint64(c.Activity))
}

func folderKey(owner, folder string) []byte { return append(ownerPrefix('f', owner), folder...) }

var countKey = []byte("n")

// Apply implements Projection.
func (Sidebar) Apply(_ context.Context, tx *Tx, e *events.Envelope, p events.Payload) error {
	if user, ok := strings.CutPrefix(e.Stream, "user/"); ok {
		return applyUserEvent(tx, user, p)
	}
	chat, ok := strings.CutPrefix(e.Stream, "chat/")
	if !ok {
		return nil
	}
	var row ChatRow
	found, err := getJSON(tx, chatKey(chat), &row)
	if err != nil {
		return err
	}
	if created, ok := p.(events.ChatCreated); ok && !found {
		return createRow(tx, chat, e, created)
	}
	if !found {
		return nil // deleted
	}
	if e.Type == "chat.deleted" { // by its name: the payload may be erased
		tx.Delete(chatKey(chat))
		tx.Delete(activityKey(&row))
		return addCount(tx, -1)
	}
	old := activityKey(&row)
	row.apply(e, p)
	return putRow(tx, old, &row)
}

func createRow(tx *Tx, chat string, e *events.Envelope, p events.ChatCreated) error {
	row := ChatRow{ID: chat, Owner: p.Owner, Kind: p.Kind, Title: p.Title, Folder: p.Folder, Model: p.Model,
		Created: e.Time, Updated: e.Time, Activity: e.Position}
	if err := addCount(tx, 1); err != nil {
		return err
	}
	return putRow(tx, nil, &row)
}

func putRow(tx *Tx, oldIndex []byte, row *ChatRow) error {
	if index := activityKey(row); !slices.Equal(oldIndex, index) {
		if oldIndex != nil {
			tx.Delete(oldIndex)
		}
		tx.Set(index, []byte(row.ID))
	}
	return setJSON(tx, chatKey(row.ID), row)
}

func (c *ChatRow) apply(e *events.Envelope, p events.Payload) {
	switch p := p.(type) {
	case events.ChatRenamed:
		c.Title = p.Title
	case events.ChatMoved:
		c.Folder = p.Folder
	case events.ChatPinned:
		c.Pinned = p.Pinned
	case events.ChatModelChanged:
		c.Model = p.To
	case events.ChatImported:
		c.Owner, c.Folder = p.Owner, ""
	case events.ConsentRequested:
		c.Pending = append(c.Pending, p.Consent)
	case events.ConsentAnswered:
		c.settle(p.Consent)
	case events.ConsentExpired:
		c.settle(p.Consent)
	case events.ConsentWithdrawn:
		c.settle(p.Consent)
	case events.ReplyRequested:
		c.Open, c.Last = p.Reply, ""
	case events.ReplyFinished:
		if c.Open == p.Reply {
			c.Open = ""
		}
		if c.Last = p.Status; c.Last == events.Complete {
			c.Last = ""
		}
		c.Ended = e.Position
	}
	if strings.HasPrefix(e.Type, "message.") || strings.HasPrefix(e.Type, "reply.") {
		c.Updated, c.Activity = e.Time, e.Position
	}
}

func (c *ChatRow) settle(consent string) {
	c.Pending = slices.DeleteFunc(c.Pending, func(id string) bool { return id == consent })
}

func applyUserEvent(tx *Tx, user string, p events.Payload) error {
	switch p := p.(type) {
	case events.ChatSeen:
		var row ChatRow
		found, err := getJSON(tx, chatKey(p.Chat), &row)
		if err != nil || !found || row.Owner != user || p.Position <= row.Seen {
			return err
		}
		row.Seen = p.Position
		return setJSON(tx, chatKey(p.Chat), &row)
	case events.FolderCreated:
		tx.Set(folderKey(user, p.Folder), []byte(p.State.Parent))
	case events.FolderChanged:
		tx.Set(folderKey(user, p.Folder), []byte(p.State.Parent))
	case events.FolderRemoved:
		return removeFolder(tx, user, p.Folder)
	}
	return nil
}

// removeFolder moves what was in the folder up to where the folder was.
func removeFolder(tx *Tx, user, folder string) error {
	parent, err := tx.Get(folderKey(user, folder))
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	tx.Delete(folderKey(user, folder))
	prefix := ownerPrefix('f', user)
	for row, err := range tx.Scan(prefix, after(prefix)) {
		if err != nil {
			return err
		}
		if string(row.Value) == folder {
			tx.Set(slices.Clone(row.Key), parent)
		}
	}
	prefix = ownerPrefix('u', user)
	for index, err := range tx.Scan(prefix, after(prefix)) {
		if err != nil {
			return err
		}
		var row ChatRow
		if _, err := getJSON(tx, chatKey(string(index.Value)), &row); err != nil {
			return err
		}
		if row.Folder != folder {
			continue
		}
		row.Folder = string(parent)
		if err := setJSON(tx, chatKey(row.ID), &row); err != nil {
			return err
		}
	}
	return nil
}

func addCount(tx *Tx, d int) error {
	n, err := count(tx)
	if err == nil {
		tx.Set(countKey, strconv.AppendInt(nil, int64(n+d), 10))
	}
	return err
}

func count(r rows) (int, error) {
	var n int
	_, err := getJSON(r, countKey, &n)
	return n, err
}

// ChatQuery narrows a list; nil and "" are no bound.
type ChatQuery struct {
	Folder *string // "" is those in none
	Kind   string
	Pinned *bool
	Text   string // in the title, whatever its case
	Limit  int    // 1 to 200, 0 is 50
	Cursor string // what the last page said comes next
}

func (q *ChatQuery) matches(c *ChatRow) bool {
	return (q.Folder == nil || *q.Folder == c.Folder) && (q.Kind == "" || q.Kind == c.Kind) &&
		(q.Pinned == nil || *q.Pinned == c.Pinned) && matches(q.Text, c.Title)
}

// List gives the chats of a person, the last active first, and the cursor of the
// next page, "" at the end. A chat that becomes active between two pages may
// be in both. ErrInvalid for a cursor that is none.
func (s *Sidebar) List(ctx context.Context, user string, q ChatQuery) (page []ChatRow, next string, err error) {
	prefix := ownerPrefix('u', user)
	lower := prefix
	limit := pageSize(q.Limit)
	if q.Cursor != "" {
		at, err := parseCursor(q.Cursor)
		if err != nil {
			return nil, "", err
		}
		lower = binary.BigEndian.AppendUint64(slices.Clone(prefix), ^at)
	}
	err = view(s.ks, func(r rows) error {
		for index, err := range r.Scan(lower, after(prefix)) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			var row ChatRow
			if _, err := getJSON(r, chatKey(string(index.Value)), &row); err != nil {
				return err
			}
			if !q.matches(&row) {
				continue
			}
			if len(page) == limit {
				next = strconv.FormatUint(uint64(row.Activity), 10)
				return nil
			}
			page = append(page, row)
		}
		return nil
	})
	return page, next, err
}

// Row gives one chat of a person. Another's, a deleted one and none are
// ErrNotFound.
func (s *Sidebar) Row(_ context.Context, user, chat string) (ChatRow, error) {
	row, err := s.row(chat)
	if err == nil && row.Owner != user {
		err = fmt.Errorf("chat: %w", events.ErrNotFound)
	}
	if err != nil {
		return ChatRow{}, err
	}
	return row, nil
}

// Owner gives the person that a chat belongs to, or ErrNotFound.
func (s *Sidebar) Owner(_ context.Context, chat string) (string, error) {
	row, err := s.row(chat)
	return row.Owner, err
}

func (s *Sidebar) row(chat string) (row ChatRow, err error) {
	found, err := getJSON(reader{s.ks}, chatKey(chat), &row)
	if err == nil && !found {
		err = fmt.Errorf("chat: %w", events.ErrNotFound)
	}
	return row, err
}

// Count is the number of chats of all persons.
func (s *Sidebar) Count() (int, error) { return count(reader{s.ks}) }

func pageSize(limit int) int {
	if limit <= 0 {
		return 50
	}
	return min(limit, 200)
}

func parseCursor(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, events.Invalid("cursor", "is not one that a page gave")
	}
	return n, nil
}
