package generation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"lembas/commands"
	"lembas/commands/llm"
	"lembas/events"
	"lembas/projections/transcript"
)

// Loop answers. Fields are set once, by cmd.
type Loop struct {
	Service *commands.Service
	Log     events.Log
	HTTP    *http.Client // for endpoints
	Blobs   Blobs
	Now     func() time.Time
	NewID   func() string
	Logger  *slog.Logger
	// Retry is how transient trouble before the first byte is met.
	Retry llm.Retry
	Tools Toolbox // nil offers nothing
	Cards Cards   // what waits, for those whose person or connection is switched off
	// Since is the log's head when this process began: an answer up to there is
	// from before a restart. 0 takes every answer as that.
	Since events.Position

	mu      sync.Mutex // guards what follows
	running map[string]*run
	parked  map[string]string // by chat, the reply that this process left waiting on a card
}

// Blobs keeps bytes that are too long for an event, under their digest.
type Blobs interface {
	Put(data []byte) (events.BlobRef, events.Put, error)
	Get(digest string) ([]byte, error)
}

var (
	errStopped  = errors.New("stopped by the person")
	errWallTime = errors.New("the reply took longer than this instance allows")
	errOutput   = errors.New("the reply is longer than this instance allows")
)

// run is one reply in this process.
type run struct {
	loop   *Loop
	chat   string
	reply  string
	life   context.Context // of the delivery: it ends when the process goes down, not with Stop
	work   context.Context // ends with Stop, too
	cause  events.Batch    // actor, correlation and causation of what it appends
	cancel context.CancelCauseFunc
	done   chan struct{}
	// output is the bytes that the present round gave so far, maxOutput the tokens
	// that it may give, 0 for no limit.
	output, maxOutput int
	// restarted says that a crash cut the reply before this run.
	restarted bool
	compacted bool     // this run has tried to make room
	fresh     []string // cards that cannot have been answered before a restart
}

// StopReply ends a reply that this process is streaming and waits until that
// is durable or ctx ends. It gives false when the reply is not here.
func (l *Loop) StopReply(ctx context.Context, reply string) bool {
	l.mu.Lock()
	r := l.running[reply]
	l.mu.Unlock()
	if r == nil {
		return false
	}
	r.cancel(errStopped)
	select {
	case <-r.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// Running is how many replies this process is working on.
func (l *Loop) Running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.running)
}

// Handle answers one reply.requested. It returns nil when the reply has ended
// or waits for a person, so that the message is acked, and an error when the
// process is going down or the log cannot be written: then the redelivery takes
// it up again.
func (l *Loop) Handle(ctx context.Context, env *events.Envelope) error {
	p, err := events.Decode(env)
	if err != nil {
		return err
	}
	req, ok := p.(events.ReplyRequested)
	if !ok {
		return nil // erased, or from a newer version
	}
	r := l.newRun(ctx, env, req.Reply, req.Model)
	defer r.cancel(nil)
	return r.takeInTurn()
}

// newRun is the work on a reply that an event set off; cancel ends it.
func (l *Loop) newRun(ctx context.Context, env *events.Envelope, reply, model string) *run {
	r := &run{loop: l, chat: env.Stream[len("chat/"):], reply: reply, life: ctx, done: make(chan struct{}),
		cause: events.Batch{Actor: events.Actor{Kind: events.Model, ID: model}, Correlation: env.Correlation, Causation: env.Ref()}}
	r.work, r.cancel = context.WithCancelCause(ctx)
	return r
}

// takeInTurn does the work of a run when no other of this process has the reply.
// It does not return before: an acknowledgement would lose the reply in a crash.
func (r *run) takeInTurn() error {
	for !r.loop.enter(r) {
		if err := r.loop.left(r.life, r.reply); err != nil {
			return err
		}
	}
	return r.take()
}

// take does the work of a run that has entered.
func (r *run) take() error {
	defer r.loop.leave(r)
	err := r.contained(r.work)
	if conflict := new(events.ConflictError); errors.As(err, &conflict) {
		return nil // the reply was ended from outside
	}
	return err
}

func (l *Loop) enter(r *run) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		l.running = map[string]*run{}
	}
	if l.running[r.reply] != nil {
		return false
	}
	l.running[r.reply] = r
	return true
}

func (l *Loop) leave(r *run) {
	l.mu.Lock()
	delete(l.running, r.reply)
	l.mu.Unlock()
	close(r.done)
}

// append makes events of the reply durable while it is open.
func (r *run) append(puts []events.Put, payloads ...events.Payload) error {
	b := r.cause
	b.Puts = puts
	b.Parts = []events.Part{{Stream: events.ChatStream(r.chat), Expect: events.WhileOpen(r.reply), Events: news(payloads)}}
	return r.write(b)
}

func news(payloads []events.Payload) []events.New {
	out := make([]events.New, len(payloads))
	for i, p := range payloads {
		out[i] = events.New{Payload: p}
	}
	return out
}

// fullWait is how long a full disk is left alone.
const fullWait = 500 * time.Millisecond

// write appends, whatever ended the work: what happened happened. While the
// disk is full it waits, so that neither an answer that was paid for is lost
// nor the word that ended it; only the end of the process ends that.
func (r *run) write(b events.Batch) error {
	for {
		_, err := r.loop.Log.Append(context.WithoutCancel(r.life), b)
		if !errors.Is(err, events.ErrReadOnly) {
			return err
		}
		select {
		case <-time.After(fullWait):
		case <-r.life.Done():
			return err
		}
	}
}

// maxResumes is how often a reply is taken up again without getting on.
const maxResumes = 3

// answer takes the reply from where its stream stands to its end, or to a card.
func (r *run) answer(ctx context.Context) error {
	s, err := r.look()
	if err != nil || s.ended {
		return err
	}
	if s.waiting {
		return r.park()
	}
	target, err := r.target(ctx)
	if words := sentence(""); errors.As(err, &words) {
		return r.finish(events.Failed, "", &events.RoundError{Kind: "unavailable", Message: string(words)}, 0)
	}
	if err != nil {
		return err
	}
	if !s.begun {
		if err := r.append(nil, events.ReplyStarted{Reply: r.reply, Model: target.model.ID,
			ModelName: target.model.Name, Connection: target.model.Connection}); err != nil {
			return err
		}
	} else if !r.loop.unpark(r.chat, r.reply) {
		if done, err := r.resume(s, target); done || err != nil {
			return err
		}
	}
	defer r.watch(ctx, target)()
	return r.rounds(ctx, target)
}

// resume settles what a restart left: a round in flight is superseded, a call
// that ran has an outcome that nobody knows, and a reply that does not get on is
// given up.
func (r *run) resume(s state, t *target) (done bool, err error) {
	if s.resume >= maxResumes {
		return true, r.finish(events.Failed, "resumed", &events.RoundError{Kind: "unavailable",
			Message: fmt.Sprintf("The reply was taken up %d times after a restart and never got on.", maxResumes)}, t.model.State.ContextLength)
	}
	if s.lastRound() {
		return false, nil // what is left is to say so
	}
	r.restarted = true
	var out []events.Payload
	switch x := s.round; {
	case x == nil:
	case !x.Done:
		out = append(out, events.RoundSuperseded{Reply: r.reply, Round: x.N, Reason: "restart"})
	default:
		for _, k := range x.Calls {
			if k.Status == transcript.Running {
				out = append(out, events.ToolInterrupted{Reply: r.reply, Round: x.N, Call: k.ID})
			}
		}
	}
	return false, r.append(nil, append(out, events.ReplyResumed{Reply: r.reply, Reason: "restart"})...)
}

// isLast says whether a round that has finished is the reply's last.
func isLast(x *transcript.Round) bool {
	return x.Error != nil || len(x.Calls) == 0 || cutShort(x.Finish)
}

// cutShort says whether a reply was ended before its model had finished: then
// also a call that looks whole may be half of what was meant.
func cutShort(finish string) bool { return finish == llm.FinishLength || finish == llm.FinishFilter }

// maxRefused is how many rounds in a row may end with calls that are refused
// before the model is no longer asked.
const maxRefused = 3

// rounds takes the reply on, step by step, as the log says that it stands: run
// the calls of a round, ask again, until a round has no calls or a card waits.
func (r *run) rounds(ctx context.Context, t *target) error {
	for {
		s, err := r.look()
		if err != nil || s.ended {
			return err
		}
		if cause := context.Cause(ctx); cause != nil {
			return r.cut(cause, t)
		}
		switch {
		case s.waiting:
			return r.park()
		case s.openCalls():
			err = r.callsOf(ctx, t, s)
		case s.lastRound():
			var more bool
			if more, err = r.nudge(s); err == nil && !more {
				return r.conclude(s, t)
			}
		default:
			err = r.ask(ctx, t, s)
		}
		if err != nil {
			return err
		}
	}
}

// cut ends a reply whose work was cut, together with what has to be recorded
// before: in one append, or a crash between the two would leave a reply that
// looks complete. When the process is going down nothing is recorded: the round
// is superseded at the next start.
func (r *run) cut(cause error, t *target, before ...events.Payload) error {
	switch {
	case errors.Is(cause, errStopped):
		return r.finish(events.Stopped, "stopped", nil, t.model.State.ContextLength, before...)
	case errors.Is(cause, errDisabled):
		return r.finish(events.Stopped, "disabled", nil, t.model.State.ContextLength, before...)
	case errors.Is(cause, errOutput):
		return r.overBudget("limits.output_tokens", int64(t.maxOutput), cause, t, before...)
	case errors.Is(cause, errWallTime):
		return r.overBudget("limits.wall_clock", int64(t.wallClock.Seconds()), cause, t, before...)
	}
	return cause
}

// overBudget ends a reply that may take no more, and says which budget it was.
func (r *run) overBudget(budget string, limit int64, why error, t *target, before ...events.Payload) error {
	before = append(before, events.ReplyBudgetSpent{Reply: r.reply, Budget: budget, Limit: limit})
	return r.finish(events.Failed, budget, &events.RoundError{Kind: "budget", Message: why.Error() + " (" + budget + ")"},
		t.model.State.ContextLength, before...)
}

// conclude ends a reply whose last round has finished.
func (r *run) conclude(s state, t *target) error {
	x, reason := s.round, ""
	switch {
	case x.Error != nil:
		return r.finish(events.Failed, x.Error.Kind, x.Error, t.model.State.ContextLength)
	case cutShort(x.Finish):
		reason = x.Finish
	case s.budget != "":
		reason = s.budget
	case s.nudges >= maxNudges && s.openTasks > 0:
		reason = "plan_open"
	}
	return r.finish(events.Complete, reason, nil, t.model.State.ContextLength)
}

// finish ends the reply, once, after the events before it, and delivers the
// next queued turn in the same append when it ended well: Stop and failure
// leave the queue alone.
func (r *run) finish(status, reason string, trouble *events.RoundError, contextLength int, before ...events.Payload) error {
	for {
		var out []events.Payload
		var deciding events.Version
		err := r.loop.Service.WithChat(context.WithoutCancel(r.life), r.chat, func(c *transcript.Chat) error {
			_, reply := c.Reply(r.reply)
			if reply == nil || reply.Ended() {
				return nil
			}
			why := "stopped"
			if reason == "disabled" {
				why = reason
			}
			out = append(slices.Clone(before), commands.EndCalls(c, reply, why)...)
			out = append(out, events.ReplyFinished{Reply: r.reply, Status: status, Reason: reason, Error: trouble,
				Metrics: transcript.Measure(reply.With(before...), contextLength, r.loop.Now())})
			if status == events.Complete {
				out = append(out, commands.DeliverNext(c, r.loop.NewID)...)
			}
			deciding = c.Deciding
			return nil
		})
		if err != nil || len(out) == 0 {
			return err
		}
		b := r.cause
		b.Parts = []events.Part{{Stream: events.ChatStream(r.chat), Expect: events.Exactly(deciding), Events: news(out)}}
		err = r.write(b)
		if conflict := new(events.ConflictError); !errors.As(err, &conflict) {
			return err
		}
	}
}
