package stream

import "lembas/events"

// place names one round of a reply.
type place struct {
	reply string
	n     int
}

// marks is what a batch of events touched. What is touched is shown again as it
// stands at the end of the batch, whether or not it differs from before: a page
// may have been rendered in the middle of the batch.
type marks struct {
	log    bool            // the transcript as a whole
	turns  map[string]bool // messages of the person; true for new ones
	reply  map[string]bool // replies as a whole; true for new ones
	state  map[string]bool // replies whose status, figures and error changed
	rounds map[place]*roundMarks
	order  []place         // of rounds, as they were first touched
	cards  map[string]bool // cards by their ids
	noted  map[string]bool // replies that got a remark, in the round they were at
	title  bool
	queue  bool
	// summary: the divider or the line about one that is being made.
	summary bool
	scope   bool // what the scope menu says
	status  bool // of the chat
	said    []Op
	// deleted: the chat is gone, nothing else matters.
	deleted bool
	text    bool // words of a reply are among it
	// events are the positions of the batch.
	events []events.Position
}

// roundMarks is what was touched of a round, its calls and cards by their ids.
type roundMarks struct {
	whole, content, reasoning, closed, notes bool

	calls map[string]callMark
	cards map[string]bool
}

func newMarks() *marks {
	return &marks{turns: map[string]bool{}, reply: map[string]bool{}, state: map[string]bool{}, rounds: map[place]*roundMarks{},
		cards: map[string]bool{}, noted: map[string]bool{}}
}

func (m *marks) round(reply string, n int) *roundMarks {
	p := place{reply, n}
	if m.rounds[p] == nil {
		m.rounds[p] = &roundMarks{calls: map[string]callMark{}, cards: map[string]bool{}}
		m.order = append(m.order, p)
	}
	return m.rounds[p]
}

// touch sets id, and keeps that it is new.
func touch(set map[string]bool, id string, isNew bool) { set[id] = set[id] || isNew }

// add marks what one event touches. Erased and unknown events touch nothing.
func (m *marks) add(p events.Payload) {
	switch p := p.(type) {
	case events.ReplyChunk:
		m.text = true
		switch p.Kind {
		case events.ChunkContent:
			m.round(p.Reply, p.Round).content = true
		case events.ChunkReasoning:
			m.round(p.Reply, p.Round).reasoning = true
		}
	case events.ReplyRequested, events.ReplyStarted, events.ReplyReclassified, events.ReplyFolded, events.ReplyFinished:
		m.addReply(p)
	case events.RoundStarted, events.RoundRetried, events.RoundSuperseded, events.RoundFinished:
		m.addRound(p)
	case events.ToolCalled, events.ToolStarted, events.ToolProgressed, events.ToolFinished, events.ToolInterrupted:
		m.addTool(p)
	case events.ConsentRequested, events.ConsentAnswered, events.ConsentExpired, events.ConsentWithdrawn:
		m.addConsent(p)
	case events.ReplyNudged, events.ReplyBudgetSpent:
		m.addNote(p)
	default:
		m.addChat(p)
	}
}

func (m *marks) addReply(p events.Payload) {
	switch p := p.(type) {
	case events.ReplyRequested:
		touch(m.reply, p.Reply, true)
		m.status, m.queue, m.summary = true, true, true
	case events.ReplyStarted:
		touch(m.reply, p.Reply, false)
	case events.ReplyReclassified:
		m.round(p.Reply, p.Round).whole = true
	case events.ReplyFolded:
		touch(m.reply, p.Reply, false)
	case events.ReplyFinished:
		m.state[p.Reply] = true
		m.status, m.queue = true, true
		switch p.Status {
		case events.Complete:
			m.said = append(m.said, announce("The reply is complete.", false))
		case events.Failed:
			m.said = append(m.said, announce("The reply failed.", true))
		}
	}
}

func (m *marks) addRound(p events.Payload) {
	switch p := p.(type) {
	case events.RoundStarted:
		m.round(p.Reply, p.Round).whole = true
		m.status = true
	case events.RoundRetried:
		m.round(p.Reply, p.Round).notes = true
	case events.RoundSuperseded:
		touch(m.reply, p.Reply, false) // the line that it waits may be back
		m.status = true
	case events.RoundFinished:
		r := m.round(p.Reply, p.Round)
		r.closed, r.content, r.reasoning, r.notes = true, true, true, true
	}
}

func (m *marks) addChat(p events.Payload) {
	switch p := p.(type) {
	case events.ChatCreated, events.ChatRenamed:
		m.title = true
	case events.ChatRewound:
		m.log, m.status, m.queue, m.summary = true, true, true, true
	case events.ChatScopeChanged, events.ChatAllowAdded, events.ChatAllowCleared, events.ChatModelChanged:
		m.scope = true
	case events.CompactionRequested, events.CompactionFailed, events.ChatCompacted:
		m.summary = true
	case events.ChatDeleted:
		m.deleted = true
	case events.MessageSubmitted:
		touch(m.turns, p.Message, true)
	case events.MessageQueued, events.MessageWithdrawn:
		m.queue, m.status = true, true
	case events.MessageDelivered:
		m.queue, m.status = true, true
		if p.Round > 0 {
			m.round(p.Reply, p.Round).whole = true
		} else {
			touch(m.turns, p.Message, true)
		}
	case events.MessageEdited:
		m.queue = true
		touch(m.turns, p.Message, false)
	}
}
