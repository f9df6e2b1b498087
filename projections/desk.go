package projections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"lembas/events"
	"lembas/projections/transcript"
)

// The rows of a chat, all of which begin with CHAT 0:
//
//	m            the chat without its turns, Earlier counting all of them;
//	             "deleted" once it was
//	o            the reply that is open
//	t N          the turn with number N (8 bytes, big endian)
//	l POSITION N the turn that had number N and left at a position
//	i ID         the key, less the chat, of the turn that has the message or reply
const deletedMeta = "deleted"

func chatPrefix(chat string) []byte { return append([]byte(chat), 0) }

func metaKey(chat string) []byte { return append(chatPrefix(chat), 'm') }

func openKey(chat string) []byte { return append(chatPrefix(chat), 'o') }

func turnPlace(n int) []byte { return binary.BigEndian.AppendUint64([]byte("t"), uint64(n)) }

func leftPlace(t *transcript.Turn) []byte {
	b := binary.BigEndian.AppendUint64([]byte("l"), uint64(t.Left))
	return binary.BigEndian.AppendUint64(b, uint64(t.N))
}

func isNotFound(err error) bool { return errors.Is(err, events.ErrNotFound) }

// desk is a chat of which only some turns were taken from the rows: the last
// ones, and what an event needs.
type desk struct {
	rows    rows
	id      string
	deleted bool
	chat    *transcript.Chat
	total   int // turns in the rows
	// taken is the turns that came from rows: where from, and the bytes there.
	taken map[*transcript.Turn]taken
	// lent is those that stand in chat.Left for a while, so that the fold finds
	// their replies: turns from before the window, or that left long ago.
	lent map[*transcript.Turn]bool
	// known is a reply that the fold can find.
	known string
}

type taken struct{ place, bytes []byte }

// openDesk takes the chat with its last turns from the rows. A chat without
// rows is empty: the fold begins with its first event.
func openDesk(r rows, id string, lastN int) (*desk, error) {
	d := &desk{rows: r, id: id, chat: &transcript.Chat{}, taken: map[*transcript.Turn]taken{}, lent: map[*transcript.Turn]bool{}}
	b, err := r.Get(metaKey(id))
	if isNotFound(err) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if d.deleted = string(b) == deletedMeta; d.deleted {
		return d, nil
	}
	if err := parseRow(b, d.chat); err != nil {
		return nil, err
	}
	d.total = d.chat.Earlier
	return d, d.from(d.total - min(lastN, d.total))
}

// from makes the window begin at a turn that is before it.
func (d *desk) from(n int) error {
	c := d.chat
	if n >= c.Earlier {
		return nil
	}
	turns := make([]*transcript.Turn, 0, c.Earlier-n+len(c.Turns))
	for i := n; i < c.Earlier; i++ {
		t, err := d.turn(i)
		if err != nil {
			return err
		}
		if d.lent[t] {
			delete(d.lent, t)
			c.Left = slices.DeleteFunc(c.Left, func(x *transcript.Turn) bool { return x == t })
		}
		turns = append(turns, t)
	}
	c.Turns = append(turns, c.Turns...)
	c.Earlier = n
	return nil
}

// turn gives the turn with a number, from the window or the rows.
func (d *desk) turn(n int) (*transcript.Turn, error) {
	if i := n - d.chat.Earlier; i >= 0 {
		return d.chat.Turns[i], nil
	}
	return d.take(turnPlace(n))
}

// take gives the turn at a place, the same pointer each time.
func (d *desk) take(place []byte) (*transcript.Turn, error) {
	for t := range d.lent {
		if bytes.Equal(d.taken[t].place, place) {
			return t, nil
		}
	}
	b, err := d.rows.Get(append(chatPrefix(d.id), place...))
	if isNotFound(err) {
		return nil, fmt.Errorf("%w: turn %x of chat %s is missing", events.ErrDamaged, place, d.id)
	}
	if err != nil {
		return nil, err
	}
	t := new(transcript.Turn)
	if err := parseRow(b, t); err != nil {
		return nil, err
	}
	d.taken[t] = taken{place: place, bytes: b}
	return t, nil
}

// place says where the rows have the turn of a message or reply, nil for
// nowhere.
func (d *desk) place(id string) ([]byte, error) {
	b, err := d.rows.Get(indexKey(d.id, id))
	if isNotFound(err) {
		return nil, nil
	}
	return b, err
}

func indexKey(chat, id string) []byte { return append(append(chatPrefix(chat), 'i'), id...) }

// apply folds one event, after taking from the rows what it is about.
func (d *desk) apply(e *events.Envelope) error {
	p, err := transcript.Decode(e)
	if err != nil {
		return err
	}
	if e.Position > d.chat.Position {
		message, reply := subject(p)
		if err := d.needMessage(message); err != nil {
			return err
		}
		if err := d.needReply(reply); err != nil {
			return err
		}
	}
	d.chat.ApplyDecoded(e, p)
	return nil
}

// needMessage has the window begin at a turn or before it. All that can change
// a turn's place or words is about turns from there on.
func (d *desk) needMessage(id string) error {
	if id == "" || d.chat.Earlier == 0 || d.chat.Turn(id) != nil {
		return nil
	}
	place, err := d.place(id)
	if err != nil || len(place) != 9 || place[0] != 't' {
		return err
	}
	return d.from(int(binary.BigEndian.Uint64(place[1:])))
}

// needReply lends the fold the turn of a reply that is not in the window.
func (d *desk) needReply(id string) error {
	if id == "" || id == d.known || d.total == 0 {
		return nil
	}
	if _, r := d.chat.Reply(id); r != nil {
		d.known = id
		return nil
	}
	place, err := d.place(id)
	if err != nil || place == nil {
		return err
	}
	t, err := d.take(place)
	if err != nil {
		return err
	}
	d.lent[t] = true
	d.chat.Left = append(d.chat.Left, t)
	return nil
}

// left gives the turns that left, those in the rows and those since.
func (d *desk) left() ([]*transcript.Turn, error) {
	var turns []*transcript.Turn
	prefix := append(chatPrefix(d.id), 'l')
	for row, err := range d.rows.Scan(prefix, after(prefix)) {
		if err != nil {
			return nil, err
		}
		t, err := d.take(bytes.Clone(row.Key[len(prefix)-1:]))
		if err != nil {
			return nil, err
		}
		turns = append(turns, t)
	}
	for _, t := range d.chat.Left {
		if !d.lent[t] {
			turns = append(turns, t)
		}
	}
	return turns, nil
}

// save writes the rows that are other than before.
func (d *desk) save(tx *Tx) error {
	c := d.chat
	for _, t := range c.Turns {
		if err := d.saveTurn(tx, t, turnPlace(t.N)); err != nil {
			return err
		}
	}
	for _, t := range c.Left {
		place := leftPlace(t)
		if d.lent[t] {
			place = d.taken[t].place
		}
		if err := d.saveTurn(tx, t, place); err != nil {
			return err
		}
	}
	total := c.Earlier + len(c.Turns)
	for n := total; n < d.total; n++ {
		tx.Delete(append(chatPrefix(d.id), turnPlace(n)...))
	}
	meta := *c
	meta.Earlier = total
	return setJSON(tx, metaKey(d.id), meta)
}

func (d *desk) saveTurn(tx *Tx, t *transcript.Turn, place []byte) error {
	b, err := rowJSON(t)
	if err != nil {
		return err
	}
	was := d.taken[t]
	if bytes.Equal(was.place, place) && bytes.Equal(was.bytes, b) {
		return nil
	}
	tx.Set(append(chatPrefix(d.id), place...), b)
	tx.Set(indexKey(d.id, t.ID), place)
	for _, r := range t.Replies {
		tx.Set(indexKey(d.id, r.ID), place)
	}
	return nil
}

// subject gives the message whose place in the conversation an event is about,
// or the reply.
func subject(p events.Payload) (message, reply string) {
	switch p := p.(type) {
	case events.ReplyChunk:
		return "", p.Reply
	case events.MessageEdited:
		return p.Message, ""
	case events.ChatRewound:
		return p.Message, ""
	case events.ReplyRequested:
		return p.Message, ""
	case events.MessageDelivered:
		return "", p.Reply
	case events.ReplyStarted:
		return "", p.Reply
	case events.ReplyResumed:
		return "", p.Reply
	case events.ReplyReclassified:
		return "", p.Reply
	case events.ReplyFolded:
		return "", p.Reply
	case events.ReplyFinished:
		return "", p.Reply
	case events.RoundStarted:
		return "", p.Reply
	case events.RoundRetried:
		return "", p.Reply
	case events.RoundSuperseded:
		return "", p.Reply
	case events.RoundFinished:
		return "", p.Reply
	case events.ToolCalled:
		return "", p.Reply
	case events.ToolStarted:
		return "", p.Reply
	case events.ToolFinished:
		return "", p.Reply
	case events.ToolInterrupted:
		return "", p.Reply
	case events.ToolProgressed:
		return "", p.Reply
	case events.ConsentRequested:
		return "", p.Reply
	case events.ReplyNudged:
		return "", p.Reply
	case events.ReplyBudgetSpent:
		return "", p.Reply
	case events.ChatCompacted:
		return p.Message, ""
	}
	return "", ""
}
