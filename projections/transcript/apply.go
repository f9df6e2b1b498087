package transcript

import (
	"slices"
	"time"

	"lembas/events"
)

// Apply folds one event of the chat's stream. Events at or below the position
// already applied are ignored, so that a reader may overlap. Types it does not
// know only move the position.
func (c *Chat) Apply(e *events.Envelope) error {
	if e.Position <= c.Position {
		return nil
	}
	p, err := Decode(e)
	if err != nil {
		return err
	}
	c.step(e, p)
	return nil
}

// ApplyDecoded is Apply for a reader that has decoded the event already, with
// Decode or events.Decode.
func (c *Chat) ApplyDecoded(e *events.Envelope, p events.Payload) {
	if e.Position > c.Position {
		c.step(e, p)
	}
}

// Skip moves past an event without its payload, for readers that do not need
// what chunks say.
func (c *Chat) Skip(e *events.Envelope) {
	if e.Position > c.Position {
		c.mark(e)
	}
}

func (c *Chat) mark(e *events.Envelope) {
	c.Position, c.Version = e.Position, e.Version
	if i, ok := events.Lookup(e.Type); !ok || !i.Weak {
		c.Deciding = e.Version
	}
	if c.ID == "" {
		c.ID = e.Stream[len("chat/"):]
	}
}

func (c *Chat) step(e *events.Envelope, p events.Payload) {
	c.mark(e)
	switch p := p.(type) {
	case events.ReplyChunk:
		c.chunk(p)
	case events.ReplyRequested, events.ReplyStarted, events.ReplyResumed, events.ReplyReclassified,
		events.ReplyFolded, events.ReplyFinished:
		c.stepReply(e, p)
	case events.RoundStarted, events.RoundRetried, events.RoundSuperseded, events.RoundFinished, events.ReplyNudged,
		events.ReplyBudgetSpent:
		c.stepRound(e, p)
	case events.ToolCalled, events.ToolStarted, events.ToolFinished, events.ToolInterrupted, events.ToolProgressed:
		c.stepTool(e, p)
	case events.ConsentRequested, events.ConsentAnswered, events.ConsentExpired, events.ConsentWithdrawn:
		c.stepConsent(e, p)
	case events.MessageSubmitted, events.MessageQueued, events.MessageWithdrawn, events.MessageDelivered,
		events.MessageEdited:
		c.stepMessage(e, p)
	default:
		c.stepChat(e, p)
	}
}

func (c *Chat) stepChat(e *events.Envelope, p events.Payload) {
	switch p := p.(type) {
	case events.ChatCreated:
		c.Owner, c.Kind, c.Model, c.Profile = p.Owner, p.Kind, p.Model, p.Profile
		c.Directory, c.Mode, c.Effort, c.Folder = p.Directory, p.Mode, p.Effort, p.Folder
		c.Title, c.Origin, c.Created, c.Updated = p.Title, "prompt", e.Time, e.Time
	case events.ChatRenamed:
		c.Title, c.Origin = p.Title, p.Origin
	case events.ChatMoved:
		c.Folder = p.Folder
	case events.ChatPinned:
		c.Pinned = p.Pinned
	case events.ChatModeChanged:
		c.Mode = p.To
	case events.ChatModelChanged:
		c.Model = p.To
	case events.ChatEffortChanged:
		c.Effort, c.EffortByHand = p.Effort, p.ByHand
	case events.ChatScopeChanged:
		c.Scope = p.Scope
	case events.ChatAllowAdded:
		if !slices.Contains(c.Allow, p.Pattern) {
			c.Allow = append(c.Allow, p.Pattern)
		}
		if c.AllowedAt == nil {
			c.AllowedAt = map[string]time.Time{}
		}
		c.AllowedAt[p.Pattern] = e.Time
	case events.ChatAllowCleared:
		c.Allow, c.AllowedAt = nil, nil
	case events.ChatRewound:
		c.rewind(e, p.Message)
	case events.ChatImported:
		c.Owner = p.Owner
	case events.PlanSubmitted:
		c.Plan = &Plan{PlanSubmitted: p}
	case events.PlanUpdated:
		c.Plan.update(p)
	case events.CompactionRequested:
		c.Compacting, c.CompactError = p.Compaction, nil
	case events.CompactionFailed:
		c.Compacting, c.CompactError = "", &p.Error
	case events.ChatCompacted:
		if t := c.Turn(p.Message); t != nil {
			c.Summary = &Summary{Message: p.Message, N: t.N, Text: p.Summary, Time: e.Time}
		}
		c.Compacting = ""
	case events.ChatDeleted:
		c.Deleted = true
	}
}

// rewind takes the turns after a message out of the transcript.
func (c *Chat) rewind(e *events.Envelope, message string) {
	i := c.turnIndex(message)
	if i < 0 {
		return
	}
	for _, t := range c.Turns[i+1:] {
		t.Left = e.Position
		c.Left = append(c.Left, t)
	}
	c.Turns = slices.Delete(c.Turns, i+1, len(c.Turns))
	if c.Summary != nil && c.Summary.N > c.Turns[len(c.Turns)-1].N {
		c.Summary = nil // it tells of turns that are no longer there
	}
}

func (c *Chat) stepMessage(e *events.Envelope, p events.Payload) {
	switch p := p.(type) {
	case events.MessageSubmitted:
		c.addTurn(e, p.Message, p.Text, p.Attachments)
	case events.MessageQueued:
		c.Queue = append(c.Queue, &QueuedMessage{ID: p.Message, Text: p.Text, Attachments: p.Attachments, Time: e.Time})
	case events.MessageWithdrawn:
		c.unqueue(p.Message)
	case events.MessageDelivered:
		q := c.unqueue(p.Message)
		if q == nil {
			return
		}
		if _, r := c.Reply(p.Reply); r != nil && p.Round > 0 {
			x := r.round(p.Round)
			if x == nil {
				x = r.Current() // said before its round began
			}
			if x != nil {
				x.Injected = append(x.Injected, q)
				return
			}
		}
		c.addTurn(e, q.ID, q.Text, q.Attachments)
	case events.MessageEdited:
		if q := c.QueuedTurn(p.Message); q != nil {
			q.Text = p.Text
		} else if t := c.Turn(p.Message); t != nil {
			t.Texts = append(t.Texts, Wording{Text: p.Text, Time: e.Time})
		}
	}
	c.Updated = e.Time
}

func (c *Chat) addTurn(e *events.Envelope, id, text string, files []events.Attachment) {
	c.Turns = append(c.Turns, &Turn{ID: id, N: c.Earlier + len(c.Turns), Time: e.Time, Attachments: files,
		Texts: []Wording{{Text: text, Time: e.Time}}})
}

func (c *Chat) unqueue(message string) *QueuedMessage {
	i := slices.IndexFunc(c.Queue, func(q *QueuedMessage) bool { return q.ID == message })
	if i < 0 {
		return nil
	}
	q := c.Queue[i]
	c.Queue = slices.Delete(c.Queue, i, i+1)
	return q
}

// update ticks tasks; those that the plan does not have are left out.
func (p *Plan) update(u events.PlanUpdated) {
	if p == nil {
		return
	}
	for _, change := range u.Tasks {
		for _, ph := range p.Phases {
			for i := range ph.Tasks {
				if ph.Tasks[i].ID == change.ID {
					ph.Tasks[i].State = change.State
				}
			}
		}
	}
}
