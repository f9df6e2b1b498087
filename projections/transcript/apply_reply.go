package transcript

import "lembas/events"

func (c *Chat) chunk(p events.ReplyChunk) {
	_, r := c.Reply(p.Reply)
	if r == nil {
		return
	}
	x := r.round(p.Round)
	if x == nil {
		return
	}
	switch p.Kind {
	case events.ChunkContent:
		x.Content.add(p.Text)
	case events.ChunkReasoning:
		x.Reasoning.add(p.Text)
		if n := len(p.Cuts); n > 0 {
			x.ThoughtMS = p.Cuts[n-1][1]
		}
	}
	r.Resumed = 0
}

func (c *Chat) stepReply(e *events.Envelope, p events.Payload) {
	switch p := p.(type) {
	case events.ReplyRequested:
		t := c.Turn(p.Message)
		if t == nil {
			return
		}
		t.Replies = append(t.Replies, &Reply{ID: p.Reply, Message: p.Message, Reason: p.Reason, Model: p.Model,
			Status: Streaming, TextNo: len(t.Texts) - 1, Requested: e.Time, Position: e.Position})
		c.CompactError = nil // it was read
		if c.Summary != nil && c.Summary.N >= t.N {
			c.Summary = nil // it tells of what is said anew
		}
		c.Updated = e.Time
	case events.ReplyStarted:
		if _, r := c.Reply(p.Reply); r != nil {
			r.Model, r.ModelName, r.Connection, r.Begun = p.Model, p.ModelName, p.Connection, true
		}
	case events.ReplyResumed:
		if _, r := c.Reply(p.Reply); r != nil {
			r.Resumed++
		}
	case events.ReplyReclassified:
		c.reclassify(p)
	case events.ReplyFolded:
		c.folded(p)
	case events.ReplyFinished:
		_, r := c.Reply(p.Reply)
		if r == nil {
			return
		}
		r.Status, r.Why, r.Error, r.Finished = p.Status, p.Reason, p.Error, e.Time
		m := p.Metrics
		r.Metrics = &m
		c.Updated = e.Time
	}
}

func (c *Chat) reclassify(p events.ReplyReclassified) {
	_, r := c.Reply(p.Reply)
	if r == nil {
		return
	}
	x := r.round(p.Round)
	if x == nil {
		return
	}
	from, to := &x.Content, &x.Reasoning
	if p.From == events.ChunkReasoning {
		from, to = to, from
	}
	to.add(from.String())
	*from = Text{}
}

// folded puts the final text in place of the chunks that were erased.
func (c *Chat) folded(p events.ReplyFolded) {
	_, r := c.Reply(p.Reply)
	if r == nil {
		return
	}
	for _, f := range p.Rounds {
		if x := r.round(f.Round); x != nil {
			x.Content, x.Reasoning = Text{b: []byte(f.Content)}, Text{b: []byte(f.Reasoning)}
		}
	}
}

func (c *Chat) stepRound(e *events.Envelope, p events.Payload) {
	switch p := p.(type) {
	case events.RoundStarted:
		if _, r := c.Reply(p.Reply); r != nil {
			r.Rounds = append(r.Rounds, &Round{N: p.Round, Started: e.Time, Position: e.Position, Estimate: p.Estimate})
		}
	case events.RoundRetried:
		if x := c.findRound(p.Reply, p.Round); x != nil {
			x.Retries = append(x.Retries, Retry{Attempt: p.Attempt, Error: p.Error, WaitMS: p.WaitMS})
		}
	case events.RoundSuperseded:
		if x := c.findRound(p.Reply, p.Round); x != nil {
			x.Superseded = true
		}
	case events.RoundFinished:
		if x := c.findRound(p.Reply, p.Round); x != nil {
			x.finish(p)
			_, r := c.Reply(p.Reply)
			r.Resumed = 0
		}
	case events.ReplyNudged:
		c.note(p.Reply, Note{Kind: "nudge", Text: p.Text})
	case events.ReplyBudgetSpent:
		c.note(p.Reply, Note{Kind: "budget", Budget: p.Budget, Limit: p.Limit})
	}
}

func (c *Chat) findRound(reply string, n int) *Round {
	if _, r := c.Reply(reply); r != nil {
		return r.round(n)
	}
	return nil
}

func (c *Chat) note(reply string, n Note) {
	if _, r := c.Reply(reply); r != nil {
		if x := r.Current(); x != nil {
			x.Notes = append(x.Notes, n)
		}
	}
}
