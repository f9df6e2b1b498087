package transcript

import "lembas/events"

func (c *Chat) stepTool(e *events.Envelope, p events.Payload) {
	switch p := p.(type) {
	case events.ToolCalled:
		if x := c.findRound(p.Reply, p.Round); x != nil {
			x.Calls = append(x.Calls, &Call{ID: p.Call, Index: p.Index, Name: p.Name, Arguments: p.Arguments, Raw: p.Raw,
				Risk: p.Risk, Why: p.Why, Status: Called, Extra: p.Extra, Label: p.Label, Icon: p.Icon, Detail: p.Detail})
		}
	case events.ToolStarted:
		if k := c.findCall(p.Reply, p.Round, p.Call); k != nil {
			k.Status, k.Consent, k.Started = Running, p.Consent, e.Time
		}
	case events.ToolProgressed:
		if k := c.findCall(p.Reply, p.Round, p.Call); k != nil && k.Status == Running {
			k.Progress = p.Text
		}
	case events.ToolFinished:
		if k := c.findCall(p.Reply, p.Round, p.Call); k != nil {
			k.Status, k.Output, k.Bytes, k.Blob = p.Status, p.Output, p.Bytes, p.Blob
			k.Exit, k.Diff, k.MS, k.Progress = p.Exit, p.Diff, p.MS, ""
			k.Sources, k.Images = p.Sources, p.Images
		}
		c.progressed(p.Reply)
	case events.ToolInterrupted:
		if k := c.findCall(p.Reply, p.Round, p.Call); k != nil {
			k.Status, k.Progress = Interrupted, ""
		}
	}
}

// progressed says that the reply got on, so earlier restarts no longer count.
func (c *Chat) progressed(reply string) {
	if _, r := c.Reply(reply); r != nil {
		r.Resumed = 0
	}
}

func (c *Chat) findCall(reply string, round int, call string) *Call {
	if x := c.findRound(reply, round); x != nil {
		return x.call(call)
	}
	return nil
}
