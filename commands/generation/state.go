package generation

import (
	"context"
	"errors"
	"slices"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
)

// state is what the loop looks at between rounds.
type state struct {
	ended   bool
	begun   bool
	waiting bool // on a card
	resume  int
	round   *transcript.Round // the newest that counts; a copy
	next    int               // number of the next round
	queue   []string          // messages that wait
	// What the reply has used; see measure.
	live, output  int
	active        time.Duration
	toolBytes     int64
	budget        string // that is spent, "" for none
	same, refused int    // rounds in a row
	nudges        int
	// Of the chat's plan.
	openTasks int
	planned   bool // this reply submitted it
	mode      string
	deciding  events.Version
	restarted bool
}

// look reads on when the work was cut: how the reply stands decides what an
// ending has to record. A chat that is not there has nothing to answer.
func (r *run) look() (state, error) {
	s := state{restarted: r.restarted}
	err := r.loop.Service.WithChat(context.WithoutCancel(r.life), r.chat, func(c *transcript.Chat) error {
		_, reply := c.Reply(r.reply)
		if reply == nil || reply.Ended() || c.Deleted {
			s.ended = true
			return nil
		}
		s.begun, s.resume, s.next = reply.Begun, reply.Resumed, len(reply.Rounds)+1
		s.mode, s.deciding, s.openTasks = c.Mode, c.Deciding, c.Plan.Open()
		s.planned = c.Plan != nil && c.Plan.Reply == r.reply
		s.waiting = slices.ContainsFunc(c.Pending, func(p events.ConsentRequested) bool { return p.Reply == r.reply })
		if x := reply.Current(); x != nil {
			s.round = x.Clone()
		}
		for _, q := range c.Queue {
			s.queue = append(s.queue, q.ID)
		}
		s.measure(reply.Live())
		return nil
	})
	if errors.Is(err, events.ErrNotFound) {
		return state{ended: true}, nil
	}
	return s, err
}

// openCalls says whether calls of the newest round are not over.
func (s *state) openCalls() bool {
	return s.round != nil && s.round.Done && slices.ContainsFunc(s.round.Calls, func(k *transcript.Call) bool { return !k.Over() })
}

// lastRound says whether the newest round ends the reply. The one after a spent
// budget does, whatever it calls.
func (s *state) lastRound() bool {
	x := s.round
	if x == nil || !x.Done {
		return false
	}
	noted := len(x.Notes) > 0 // the note asks for one more
	return !noted && (isLast(x) || s.budget != "")
}
