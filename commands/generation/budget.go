package generation

import (
	"bytes"
	"context"
	"slices"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
)

const (
	// maxRounds holds where no limit of rounds is set: a model that goes on
	// without end is asked for an answer.
	maxRounds = 250
	// maxSame is how many rounds in a row may make the very same calls.
	maxSame = 6
	// wrapTime is how long the answer may take that a model is asked for once a
	// budget is spent.
	wrapTime = 3 * time.Minute
	// wrapTokens is what that answer may have beyond a spent budget of output.
	wrapTokens = 2000
)

// wrapWords ask for an answer without tools, by budget.
var wrapWords = map[string]string{
	"limits.rounds":           "The limit of rounds for this reply is reached.",
	"limits.wall_clock":       "The time for this reply is used up.",
	"limits.output_tokens":    "The limit of output for this reply is reached.",
	"limits.tool_output":      "The tools have given as much output as this reply may have.",
	"limits.context_headroom": "The room in your context is nearly used up.",
	"repeated_calls":          "The same calls were made again and again.",
	"refused_calls":           "Only calls that cannot be run were made.",
}

// wrapPrompt is the machine's turn that asks for the last answer.
func wrapPrompt(budget string) string {
	return "[Note from the system, not from the person] " + wrapWords[budget] +
		" No more tools are available. Answer now with what you have, and say what is left undone."
}

// budget is one that is spent, and its limit.
type budget struct {
	name  string
	limit int64
}

// spent says which budget a reply has used up between rounds, nil for none.
func (r *run) spent(ctx context.Context, t *target, s state) (*budget, error) {
	set, err := r.loop.Service.Settings(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	limit := set.Int("limits.rounds")
	if limit == 0 {
		limit = maxRounds
	}
	switch {
	case int64(s.live) >= limit:
		return &budget{"limits.rounds", limit}, nil
	case s.active >= t.wallClock:
		return &budget{"limits.wall_clock", int64(t.wallClock.Seconds())}, nil
	case t.maxOutput > 0 && s.output >= t.maxOutput:
		return &budget{"limits.output_tokens", int64(t.maxOutput)}, nil
	case s.toolBytes > set.Int("limits.tool_output"):
		return &budget{"limits.tool_output", set.Int("limits.tool_output")}, nil
	case s.same >= maxSame:
		return &budget{"repeated_calls", maxSame}, nil
	case s.refused >= maxRefused:
		return &budget{"refused_calls", maxRefused}, nil
	}
	return nil, nil
}

// measure adds what the reply has used so far: the larger of reported and
// estimated tokens, the time that rounds and tools took (a person's time to
// answer is not the reply's), and the bytes that tools gave.
func (s *state) measure(live []*transcript.Round) {
	s.live = len(live)
	for _, x := range live {
		tokens := transcript.EstimateTokens(x.Content.Len() + x.Reasoning.Len() + transcript.CallBytes(x))
		if x.Usage != nil {
			tokens = max(tokens, x.Usage.Completion)
		}
		s.output += tokens
		for _, k := range x.Calls {
			s.toolBytes += k.Bytes
		}
		s.active += time.Duration(x.MS)*time.Millisecond + busy(x.Calls)
		for _, n := range x.Notes {
			if n.Kind == "budget" {
				s.budget = n.Budget
			}
		}
	}
	s.same, s.refused = repeats(live)
	s.nudges = nudges(live)
}

// busy is the time in which any of the calls ran: four run together, the others
// behind them, and some perhaps after a restart.
func busy(calls []*transcript.Call) (total time.Duration) {
	ran := slices.DeleteFunc(slices.Clone(calls), func(k *transcript.Call) bool { return k.MS <= 0 })
	slices.SortFunc(ran, func(a, b *transcript.Call) int { return a.Started.Compare(b.Started) })
	var until time.Time
	for _, k := range ran {
		begin, end := k.Started, k.Started.Add(time.Duration(k.MS)*time.Millisecond)
		if begin.Before(until) {
			begin = until
		}
		if end.After(begin) {
			total, until = total+end.Sub(begin), end
		}
	}
	return total
}

// repeats counts, from the end, rounds with the very same calls, and rounds
// whose calls were all refused.
func repeats(live []*transcript.Round) (same, refused int) {
	for i := len(live) - 1; i >= 0 && len(live[i].Calls) > 0 && sameCalls(live[i], live[len(live)-1]); i-- {
		same++
	}
	for i := len(live) - 1; i >= 0 && allRefused(live[i]); i-- {
		refused++
	}
	return same, refused
}

func sameCalls(a, b *transcript.Round) bool {
	if len(a.Calls) != len(b.Calls) {
		return false
	}
	for i, k := range a.Calls {
		if k.Name != b.Calls[i].Name || !bytes.Equal(k.Arguments, b.Calls[i].Arguments) {
			return false
		}
	}
	return true
}

func allRefused(x *transcript.Round) bool {
	for _, k := range x.Calls {
		if k.Status != events.ToolRefused {
			return false
		}
	}
	return len(x.Calls) > 0
}

// maxNudges is how often in a row a model is reminded of its plan.
const maxNudges = 2

// nudges counts the reminders since the last call of a tool.
func nudges(live []*transcript.Round) (n int) {
	for i := len(live) - 1; i >= 0 && len(live[i].Calls) == 0; i-- {
		for _, note := range live[i].Notes {
			if note.Kind == "nudge" {
				n++
			}
		}
	}
	return n
}

const nudgeWords = "[Note from the system, not from the person] Your plan has open tasks. Go on with them, or tick them with plan_update if they are done or no longer needed."

// nudge reminds a model that stopped of the open tasks of its plan. It gives
// false when the model is to be believed.
func (r *run) nudge(s state) (bool, error) {
	if s.round.Error != nil || cutShort(s.round.Finish) { // it did not stop of its own will
		return false, nil
	}
	if s.openTasks == 0 || s.planned || s.mode == "plan" || s.nudges >= maxNudges || s.budget != "" {
		return false, nil
	}
	return true, r.append(nil, events.ReplyNudged{Reply: r.reply, Round: s.round.N, Text: nudgeWords})
}

// roundBudget bounds one round: its time and its output.
func (r *run) roundBudget(ctx context.Context, t *target, s state, wrap bool) (context.Context, context.CancelFunc) {
	left := t.wallClock - s.active
	r.output, r.maxOutput = 0, 0
	if t.maxOutput > 0 {
		r.maxOutput = max(1, t.maxOutput-s.output)
	}
	if wrap {
		left = min(wrapTime, t.wallClock)
		if r.maxOutput > 0 {
			r.maxOutput = min(wrapTokens, t.maxOutput)
		}
	}
	return context.WithTimeoutCause(ctx, max(left, time.Millisecond), errWallTime)
}

// tooLong says whether a request leaves too little room in the model's context.
func (t *target) tooLong(body []byte, share float64) bool {
	n := t.model.State.ContextLength
	return n > 0 && float64(transcript.EstimateTokens(len(body))) > share*float64(n)
}

// noteTurns are the machine's words after a round.
func noteTurns(x *transcript.Round) []string {
	var out []string
	for _, n := range x.Notes {
		switch n.Kind {
		case "nudge":
			out = append(out, n.Text)
		case "budget":
			out = append(out, wrapPrompt(n.Budget))
		}
	}
	return out
}
