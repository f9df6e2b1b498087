package view

import (
	"lembas/projections/transcript"
	"lembas/web/templates"
)

// Summary is the divider after the turns that travel as a summary, nil without
// one.
func (v *Views) Summary(c *transcript.Chat) *templates.Summary {
	s := c.Summary
	if s == nil {
		return nil
	}
	return &templates.Summary{Time: Time(s.Time), HTML: v.text("summary", s.Text, true)}
}

// Compact is the line about a summary that is being made, or could not be.
func (v *Views) Compact(c *transcript.Chat) templates.Compact {
	switch {
	case c.Compacting != "":
		return templates.Compact{Running: true}
	case c.CompactError != nil:
		title, _ := errorText(c.CompactError)
		return templates.Compact{Error: title, Detail: lineOf(c.CompactError.Message, 300)}
	}
	return templates.Compact{}
}
