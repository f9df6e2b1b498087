package stream

import (
	"maps"
	"slices"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/pages/view"
)

// callMark is how much of a call's line was touched.
type callMark int

const (
	callLine callMark = iota + 1 // progress alone
	callAll
	callNew
)

func (r *roundMarks) call(id string, mark callMark) { r.calls[id] = max(r.calls[id], mark) }

func (m *marks) addTool(p events.Payload) {
	switch p := p.(type) {
	case events.ToolCalled:
		r := m.round(p.Reply, p.Round)
		r.closed = true // the reasoning is over
		r.call(p.Call, callNew)
	case events.ToolStarted:
		m.round(p.Reply, p.Round).call(p.Call, callAll)
	case events.ToolProgressed:
		m.text = true
		m.round(p.Reply, p.Round).call(p.Call, callLine)
	case events.ToolFinished:
		m.round(p.Reply, p.Round).call(p.Call, callAll)
	case events.ToolInterrupted:
		m.round(p.Reply, p.Round).call(p.Call, callAll)
	}
}

// addConsent: who waits for whom shows at the reply that is open. Which one
// that is, and where a card stands, the state says.
func (m *marks) addConsent(p events.Payload) {
	switch p := p.(type) {
	case events.ConsentRequested:
		m.state[p.Reply] = true
		m.cards[p.Consent] = true
		k := &transcript.Consent{ConsentRequested: p}
		m.said = append(m.said, announce("Waiting for you: "+view.Asks(k), true))
	case events.ConsentAnswered:
		m.cards[p.Consent] = true
	case events.ConsentExpired:
		m.cards[p.Consent] = true
	case events.ConsentWithdrawn:
		m.cards[p.Consent] = true
	}
	m.status = true
	m.state[openReply] = true
}

// addNote: a remark belongs to the round that the reply was at, which the state
// says.
func (m *marks) addNote(p events.Payload) {
	switch p := p.(type) {
	case events.ReplyNudged:
		m.noted[p.Reply] = true
	case events.ReplyBudgetSpent:
		m.noted[p.Reply] = true
	}
}

// openReply stands for the reply that is open at the end of the batch.
const openReply = ""

// settle resolves what only the chat's state names, marks what an ended reply
// leaves open, and drops the parts of replies that are shown as a whole.
func (m *marks) settle(c *transcript.Chat) {
	if m.state[openReply] {
		delete(m.state, openReply)
		if r := c.Open(); r != nil {
			m.state[r.ID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.cards)) {
		m.settleCard(c, id)
	}
	for _, id := range slices.Sorted(maps.Keys(m.noted)) {
		if _, r := c.Reply(id); r != nil {
			m.settleNotes(r)
		}
	}
	for id := range m.state {
		if _, r := c.Reply(id); r != nil && r.Ended() {
			m.endRounds(r)
		}
	}
	kept := m.order[:0]
	for _, p := range m.order {
		if _, whole := m.reply[p.reply]; !whole {
			kept = append(kept, p)
		}
	}
	m.order = kept
}

// settleCard marks a card and the calls that it asks about: they wait for it,
// and a correction changes what runs.
func (m *marks) settleCard(c *transcript.Chat, id string) {
	k := c.Consent(id)
	if k == nil {
		return
	}
	r := m.round(k.Reply, k.Round)
	r.cards[id] = true
	for _, i := range k.Items {
		r.call(i.Call, callAll)
	}
}

// settleNotes marks the rounds that have remarks.
func (m *marks) settleNotes(r *transcript.Reply) {
	for _, x := range view.Rounds(r) {
		if len(x.Notes) > 0 {
			m.round(r.ID, x.N).notes = true
		}
	}
}

// endRounds marks what the end of a reply closes in its rounds.
func (m *marks) endRounds(r *transcript.Reply) {
	for _, x := range view.Rounds(r) {
		open := slices.ContainsFunc(x.Calls, func(k *transcript.Call) bool { return !k.Over() })
		if x.Superseded || x.Done && !open && x.Error == nil {
			continue
		}
		y := m.round(r.ID, x.N)
		for _, k := range x.Calls {
			if !k.Over() {
				y.call(k.ID, callAll)
			}
		}
		y.notes = true
		if !x.Done {
			y.closed, y.content, y.reasoning = true, true, true
		}
	}
}
