package view

import (
	"strconv"

	"lembas/projections/transcript"
	"lembas/web/templates"
)

// Messages is a run of turns with their replies in force, from the turn at
// index from up to, not including, the one at index to.
func (v *Views) Messages(c *transcript.Chat, from, to int) templates.MessagePage {
	page := templates.MessagePage{Chat: c.ID}
	if from < to && from+c.Earlier > 0 {
		t := c.Turns[from]
		page.Older = "/chat/" + c.ID + "/messages?before=" + t.ID + "&n=" + strconv.Itoa(t.N)
	}
	for i := from; i < to; i++ {
		page.Messages = append(page.Messages, v.Turn(c, i))
		if r := c.Turns[i].Reply(); r != nil {
			page.Messages = append(page.Messages, v.Reply(c, c.Turns[i], r))
		}
	}
	return page
}

// Last is the page of a chat's last turns.
func (v *Views) Last(c *transcript.Chat) templates.MessagePage {
	return v.Messages(c, max(0, len(c.Turns)-Window), len(c.Turns))
}

// Turn is the turn at an index, in its wording in force.
func (v *Views) Turn(c *transcript.Chat, i int) templates.Message {
	return v.TurnVersion(c, i, len(c.Turns[i].Texts))
}

// TurnVersion is a turn in its n-th wording, from 1.
func (v *Views) TurnVersion(c *transcript.Chat, i, n int) templates.Message {
	t := c.Turns[i]
	m := templates.Message{Chat: c.ID, ID: t.ID, Role: "user", Status: transcript.Complete, Author: "You",
		Time: Time(t.Time), Text: t.Texts[n-1].Text, Edited: len(t.Texts) > 1, Editable: true,
		Versions: versions(c.ID, t.ID, n, len(t.Texts))}
	if i == 0 && c.Earlier == 0 || i > 0 && day(c.Turns[i-1].Time) != day(t.Time) {
		m.Day = day(t.Time)
	}
	return m
}

// versions links the earlier and later ones, nil when there is one.
func versions(chat, message string, n, count int) *templates.Versions {
	if count < 2 {
		return nil
	}
	path := func(n int) string {
		if n < 1 || n > count {
			return ""
		}
		return "/chat/" + chat + "/messages/" + message + "?version=" + strconv.Itoa(n)
	}
	return &templates.Versions{Index: n, Count: count, Prev: path(n - 1), Next: path(n + 1)}
}

// Queue is what waits for the running reply.
func (v *Views) Queue(c *transcript.Chat) templates.Queue {
	q := templates.Queue{Chat: c.ID, Held: c.Open() == nil}
	for _, m := range c.Queue {
		q.Rows = append(q.Rows, templates.QueueRow{Chat: c.ID, ID: m.ID, Text: m.Text, Held: q.Held})
	}
	return q
}

// Send is the composer's one button.
func (v *Views) Send(c *transcript.Chat) templates.Send {
	if c.Open() != nil {
		return templates.Send{Chat: c.ID, Act: "stop"}
	}
	return templates.Send{Chat: c.ID, Act: "send"}
}

// Status is the word in the chat's header: of the open reply, or how the last
// one ended when that was not well.
func (v *Views) Status(c *transcript.Chat) templates.ChatStatus {
	var s templates.ChatStatus
	if t := c.Last(); t != nil && t.Reply() != nil {
		if r := t.Reply(); r.Status != transcript.Complete {
			s.Status = r.Status
		}
		if x := t.Reply().Current(); x != nil && x.N > 1 && !t.Reply().Ended() {
			s.Detail = "round " + strconv.Itoa(x.N)
		}
	}
	if n := len(c.Queue); n > 0 {
		if s.Detail != "" {
			s.Detail += ", "
		}
		s.Detail += strconv.Itoa(n) + " queued"
	}
	return s
}

// Meter is the share of the model's context that the last measured reply took.
func (v *Views) Meter(c *transcript.Chat) templates.Meter {
	for i := len(c.Turns) - 1; i >= 0 && i >= len(c.Turns)-Window; i-- {
		r := c.Turns[i].Reply()
		if r == nil || r.Metrics == nil {
			continue
		}
		if r.Metrics.Context == nil {
			return templates.Meter{}
		}
		percent := min(100, max(0, int(*r.Metrics.Context+0.5)))
		return templates.Meter{Known: true, Percent: percent, Text: strconv.Itoa(percent) + " % of the model's context was used by the last request"}
	}
	return templates.Meter{}
}

// Chat is the page of a chat as far as the chat itself goes: who looks, and
// what the composer offers, the handler adds.
func (v *Views) Chat(c *transcript.Chat) templates.Chat {
	return templates.Chat{ID: c.ID, Name: c.Title, Folder: c.Folder, Pinned: c.Pinned, Messages: v.Last(c),
		Queue: v.Queue(c), Status: v.Status(c), Meter: v.Meter(c), Compact: v.Compact(c),
		Composer: templates.Composer{Chat: c.ID, State: c.Status(), Send: v.Send(c)}}
}
