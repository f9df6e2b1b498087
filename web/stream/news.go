package stream

import (
	"strings"

	"lembas/events"
)

// concerned says by an event's header alone whether it can change a sidebar,
// and whose; "" and true when its chat's owner has to be asked for. Most
// events are chunks, and end here.
func concerned(e *events.Envelope) (user string, ok bool) {
	if id, is := strings.CutPrefix(e.Stream, "user/"); is {
		if e.Type == "chat.seen" || strings.HasPrefix(e.Type, "folder.") {
			return id, true
		}
		return "", false
	}
	if !strings.HasPrefix(e.Stream, "chat/") || !onList(e.Type) {
		return "", false
	}
	if e.Actor.Kind == events.Person {
		return e.Actor.ID, true // nobody else acts on a chat
	}
	return "", true
}

// onList says whether a type of a chat's events shows in the sidebar.
func onList(typ string) bool {
	noun, _, _ := strings.Cut(typ, ".")
	switch noun {
	case "chat", "message", "consent":
		return true
	}
	return typ == "reply.requested" || typ == "reply.finished"
}

// note remembers that a person's list changed, and adds what the event means to
// the news of one who is followed.
func (h *Hub) note(all map[string]*news, user string, e *events.Envelope) {
	if user == "" || !h.changed(user, e) {
		return
	}
	n := all[user]
	if n == nil {
		n = &news{rows: map[string]bool{}}
		all[user] = n
	}
	p, err := events.Decode(e)
	if err != nil {
		return // the list itself comes from the read model
	}
	if chat, is := strings.CutPrefix(e.Stream, "chat/"); is {
		n.chat(chat, p)
		return
	}
	if p, ok := p.(events.ChatSeen); ok {
		n.rows[p.Chat] = true
	} else {
		n.whole = true
	}
}

// changed remembers a change, and says whether somebody follows the person.
func (h *Hub) changed(user string, e *events.Envelope) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes.note(user, e.Position, e.Time)
	return h.people[user] != nil
}

// chat notes an event of a chat. What makes, takes or moves a row needs the
// whole list; the rest only the row.
func (n *news) chat(chat string, p events.Payload) {
	n.rows[chat] = true
	noun, _, _ := strings.Cut(p.EventType(), ".")
	n.cards = n.cards || noun == "consent"
	switch p := p.(type) {
	case events.ChatRenamed, events.ReplyRequested, events.ConsentAnswered, events.ConsentExpired, events.ConsentWithdrawn,
		events.MessageQueued, events.MessageWithdrawn:
	case events.ConsentRequested:
		n.toasts = append(n.toasts, toastOf{chat, "warn", "", " waits for your answer", p.Consent})
	case events.ReplyFinished:
		n.whole = true // its activity is the newest
		switch p.Status {
		case events.Complete:
			n.toasts = append(n.toasts, toastOf{chat, "ok", "Reply finished in ", "", p.Reply})
		case events.Failed:
			n.toasts = append(n.toasts, toastOf{chat, "error", "Reply failed in ", "", p.Reply})
		}
	default:
		n.whole = true
	}
}
