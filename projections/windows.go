package projections

import (
	"context"
	"fmt"
	"math"
	"strings"

	"lembas/events"
	"lembas/events/store"
	"lembas/projections/transcript"
)

// Windows keeps the transcripts of chats in rows, one for each turn, so that the
// end of a long chat is read without the rest. They are written at quiet
// points: when no reply is open. What came after, the reader folds. The work
// for a reply is that of its own events and of the last turn, however long the
// chat is.
type Windows struct {
	st *store.Store
	ks *store.Keyspace
}

// NewWindows is the transcripts over a log; a Runner keeps them up.
func NewWindows(st *store.Store) *Windows {
	return &Windows{st: st, ks: keyspace(st, Windows{}.Name())}
}

// Name implements Projection.
func (Windows) Name() string { return "windows" }

// Version implements Projection.
func (Windows) Version() int { return 2 }

// Types implements Projection: those that can end or follow a quiet point, but
// for those that a reply.requested follows in the same append.
func (Windows) Types() []string {
	return []string{
		"reply.requested", "reply.finished", "reply.folded", "message.edited", "message.withdrawn",
		"chat.renamed", "chat.moved", "chat.pinned", "chat.mode_changed", "chat.model_changed", "chat.effort_changed",
		"chat.scope_changed", "chat.allow_added", "chat.allow_cleared", "chat.rewound", "chat.compacted", "compaction.requested", "compaction.failed",
		"plan.submitted", "plan.updated",
		"chat.imported", "chat.forked", "chat.deleted",
	}
}

// Apply implements Projection.
func (w *Windows) Apply(ctx context.Context, tx *Tx, e *events.Envelope, p events.Payload) error {
	chat, ok := strings.CutPrefix(e.Stream, "chat/")
	if !ok {
		return nil
	}
	if e.Type == "chat.deleted" {
		if err := deleteAll(tx, chatPrefix(chat)); err != nil {
			return err
		}
		tx.Set(metaKey(chat), []byte(deletedMeta))
		return nil
	}
	if asked, ok := p.(events.ReplyRequested); ok {
		tx.Set(openKey(chat), []byte(asked.Reply))
		return nil
	}
	quiet, err := becomesQuiet(tx, chat, p)
	if err != nil || !quiet {
		return err
	}
	return w.save(ctx, tx, chat, e.Position)
}

// becomesQuiet says whether no reply is open after an event.
func becomesQuiet(tx *Tx, chat string, p events.Payload) (bool, error) {
	open, err := tx.Get(openKey(chat))
	if isNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if done, ok := p.(events.ReplyFinished); ok && done.Reply != string(open) {
		return false, nil
	} else if _, erased := p.(events.Erased); !ok && !erased {
		return false, nil
	}
	tx.Delete(openKey(chat))
	return true, nil
}

// save folds a chat up to a position and writes the rows that are other than
// before.
func (w *Windows) save(ctx context.Context, tx *Tx, chat string, until events.Position) error {
	d, err := openDesk(tx, chat, 1)
	if err != nil || d.deleted {
		return err
	}
	if err := w.fold(ctx, d, until); err != nil {
		return err
	}
	if d.chat.Open() != nil {
		return nil
	}
	return d.save(tx)
}

// fold applies the events after those in the rows, up to a position.
func (w *Windows) fold(ctx context.Context, d *desk, until events.Position) error {
	for env, err := range w.st.ReadStream(ctx, events.ChatStream(d.id), d.chat.Position) {
		if err != nil {
			return err
		}
		if env.Position > until {
			return nil
		}
		if err := d.apply(&env); err != nil {
			return err
		}
	}
	return nil
}

// Window gives a chat at the log's head with its last turns only, at most lastN
// (all when negative); Chat.Earlier counts the others. Chat.Left is empty: see
// Left. It is right also while the Runner is behind, only slower then.
// ErrNotFound for a chat that is not there or was deleted.
func (w *Windows) Window(ctx context.Context, chat string, lastN int) (*transcript.Chat, error) {
	if lastN < 0 {
		lastN = math.MaxInt
	}
	var c *transcript.Chat
	err := w.look(ctx, chat, lastN, func(d *desk) error {
		c = d.chat
		total := c.Earlier + len(c.Turns)
		first := total - min(lastN, total)
		if err := d.from(first); err != nil { // the tail took turns away
			return err
		}
		c.Turns = c.Turns[first-c.Earlier:]
		c.Earlier, c.Left = first, nil
		return nil
	})
	return c, err
}

// Before gives the turns before the turn with number turnN, oldest first and at
// most limit, at the log's head.
func (w *Windows) Before(ctx context.Context, chat string, turnN, limit int) ([]*transcript.Turn, error) {
	var turns []*transcript.Turn
	err := w.look(ctx, chat, 1, func(d *desk) error {
		end := min(turnN, d.chat.Earlier+len(d.chat.Turns))
		for n := max(0, end-limit); n < end; n++ {
			t, err := d.turn(n)
			if err != nil {
				return err
			}
			turns = append(turns, t)
		}
		return nil
	})
	return turns, err
}

// Left gives the turns that edits and regenerations took out of a chat, in the
// order in which they left.
func (w *Windows) Left(ctx context.Context, chat string) ([]*transcript.Turn, error) {
	var turns []*transcript.Turn
	err := w.look(ctx, chat, 1, func(d *desk) (err error) {
		turns, err = d.left()
		return err
	})
	return turns, err
}

// look shows a chat at the log's head to f.
func (w *Windows) look(ctx context.Context, chat string, lastN int, f func(*desk) error) error {
	return view(w.ks, func(r rows) error {
		d, err := openDesk(r, chat, max(1, lastN))
		if err != nil {
			return err
		}
		if !d.deleted {
			err = w.fold(ctx, d, math.MaxUint64)
		}
		if err != nil {
			return err
		}
		if d.deleted || d.chat.Deleted || d.chat.Owner == "" {
			return fmt.Errorf("chat: %w", events.ErrNotFound)
		}
		return f(d)
	})
}
