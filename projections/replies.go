package projections

import (
	"context"
	"strings"
	"time"

	"lembas/events"
	"lembas/events/store"
)

// OpenReply is a reply that was asked for and has not ended.
type OpenReply struct {
	Reply    string          `json:"reply"`
	Chat     string          `json:"chat"`
	Since    time.Time       `json:"since"`
	Position events.Position `json:"position"` // of reply.requested
}

// Replies lists the open replies of all chats.
type Replies struct{ ks *store.Keyspace }

// NewReplies is the list over a log; a Runner keeps it up.
func NewReplies(st *store.Store) *Replies { return &Replies{keyspace(st, Replies{}.Name())} }

// Name implements Projection.
func (Replies) Name() string { return "replies" }

// Version implements Projection.
func (Replies) Version() int { return 1 }

// Types implements Projection.
func (Replies) Types() []string { return []string{"reply.requested", "reply.finished", "chat.deleted"} }

// Apply implements Projection. Keys: CHAT 0 REPLY.
func (Replies) Apply(_ context.Context, tx *Tx, e *events.Envelope, p events.Payload) error {
	chat, ok := strings.CutPrefix(e.Stream, "chat/")
	if !ok {
		return nil
	}
	prefix := append([]byte(chat), 0)
	switch p := p.(type) {
	case events.ReplyRequested:
		return setJSON(tx, append(prefix, p.Reply...), OpenReply{Reply: p.Reply, Chat: chat, Since: e.Time, Position: e.Position})
	case events.ReplyFinished:
		tx.Delete(append(prefix, p.Reply...))
	}
	if e.Type != "chat.deleted" {
		return nil
	}
	return deleteAll(tx, prefix)
}

// deleteAll removes the rows whose keys begin with a prefix.
func deleteAll(tx *Tx, prefix []byte) error {
	for row, err := range tx.Scan(prefix, after(prefix)) {
		if err != nil {
			return err
		}
		tx.Delete(row.Key)
	}
	return nil
}

// List gives the open replies, at most limit, in no promised order.
func (s *Replies) List(limit int) (open []OpenReply, err error) {
	for row, err := range (reader{s.ks}).Scan(nil, []byte{0xff}) {
		var o OpenReply
		if err == nil {
			err = parseRow(row.Value, &o)
		}
		if err != nil {
			return nil, err
		}
		if len(open) == limit {
			break
		}
		open = append(open, o)
	}
	return open, nil
}

// Count is the number of open replies.
func (s *Replies) Count() (n int, err error) {
	for _, err := range (reader{s.ks}).Scan(nil, []byte{0xff}) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}
