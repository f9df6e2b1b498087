package generation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lembas/commands"
	"lembas/commands/tools"
	"lembas/events"
	"lembas/projections/transcript"
)

// atOnce is how many calls of a round run together (GEN-9).
const atOnce = 4

// callsOf is act within the reply's time. Calls that this cuts are stopped, and
// the model is asked for an answer.
func (r *run) callsOf(ctx context.Context, t *target, s state) error {
	within, stop := context.WithTimeoutCause(ctx, max(t.wallClock-s.active, time.Millisecond), errWallTime)
	defer stop()
	err := r.act(within, t, s)
	if err != nil || ctx.Err() != nil || !errors.Is(context.Cause(within), errWallTime) {
		return err
	}
	if s, err = r.look(); err != nil || s.ended || s.waiting {
		return err
	}
	var out []events.Payload
	for _, k := range s.round.Calls {
		if !k.Over() {
			out = append(out, r.over(s.round.N, k, events.ToolStopped, "The time of this reply was used up; this was cut or not run."))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return r.append(nil, append(out, events.ReplyBudgetSpent{Reply: r.reply, Budget: "limits.wall_clock", Limit: int64(t.wallClock.Seconds())})...)
}

// act takes the calls of a finished round on that are not over: those that were
// denied end with what the person said, the others run. It gives back when all
// are over, when a card asks again, or when the work was cut.
func (r *run) act(ctx context.Context, t *target, s state) error {
	var settled []events.Payload
	var ready, stale []*transcript.Call
	window := r.resumeWindow(ctx)
	for _, k := range s.round.Calls {
		if k.Over() {
			continue
		}
		card := s.round.Card(k.ID)
		switch {
		case card == nil:
			ready = append(ready, k)
		case card.State == transcript.CardExpired:
			settled = append(settled, r.over(s.round.N, k, events.ToolExpired, "Nobody answered in time, so this was not run."))
		case card.State != transcript.CardAnswered:
			settled = append(settled, r.over(s.round.N, k, events.ToolStopped, "Not run."))
		default:
			if end := r.answered(s.round.N, k, card); end != nil {
				settled = append(settled, *end)
			} else if s.restarted && !slices.Contains(r.fresh, card.Consent) && r.loop.Now().Sub(card.Ended) > window {
				stale = append(stale, k)
			} else {
				k.Consent = card.Consent
				ready = append(ready, k)
			}
		}
	}
	if len(settled) > 0 {
		if err := r.append(nil, settled...); err != nil {
			return err
		}
	}
	if len(stale) > 0 {
		return r.askAgain(ctx, s.round, stale)
	}
	return r.runCalls(ctx, t, s.round, ready)
}

func (r *run) over(n int, k *transcript.Call, status, output string) events.Payload {
	return events.ToolFinished{Reply: r.reply, Round: n, Call: k.ID, Status: status, Output: output, Bytes: int64(len(output))}
}

// answered is how a call ends by its person's word alone: denied, or a question
// with its answers. Nil is a call that was allowed.
func (r *run) answered(n int, k *transcript.Call, card *transcript.Consent) *events.Payload {
	var words []string
	var denied, question bool
	for _, item := range card.Items {
		if item.Call != k.ID {
			continue
		}
		a := card.Answer(item.Key)
		switch {
		case item.Question == "" && (a == nil || a.Verdict == events.VerdictDeny):
			denied = true
			words = append(words, "The person denied this, so it was not run."+reason(a))
		case item.Question != "" && (a == nil || a.Verdict == events.VerdictDeny):
			question = true
			words = append(words, "Question: "+item.Question+"\nThe person declined to answer."+reason(a))
		case item.Question != "":
			question = true
			words = append(words, "Question: "+item.Question+"\nAnswer: "+a.Text)
		}
	}
	status := events.ToolOK
	switch {
	case denied:
		status = events.ToolDenied
	case !question:
		return nil
	}
	end := r.over(n, k, status, strings.Join(words, "\n\n"))
	return &end
}

func reason(a *events.ConsentAnswer) string {
	if a == nil || a.Reason == "" {
		return ""
	}
	return " They said: " + a.Reason
}

func (r *run) resumeWindow(ctx context.Context) time.Duration {
	set, err := r.loop.Service.Settings(context.WithoutCancel(ctx))
	if err != nil {
		return 0 // what cannot be read is not assumed to be long
	}
	return time.Duration(set.Int("resume_window")) * time.Second
}

// askAgain puts what was approved too long before the restart onto a new card,
// which names the old one.
func (r *run) askAgain(ctx context.Context, x *transcript.Round, calls []*transcript.Call) error {
	set, err := r.loop.Service.Settings(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	old := x.Card(calls[0].ID)
	consent := r.loop.NewID()
	r.fresh = append(r.fresh, consent)
	card := events.ConsentRequested{Consent: consent, Reply: r.reply, Round: x.N, Kind: events.ConsentApproval, Mode: old.Mode,
		Allow: old.Allow, Deny: old.Deny, Caused: old.Consent, Expires: r.loop.Now().Add(set.ApprovalTimeout()).UTC().Format(time.RFC3339)}
	for _, k := range calls {
		was := x.Card(k.ID)
		i := slices.IndexFunc(was.Items, func(item events.ConsentItem) bool { return item.Call == k.ID })
		item := was.Items[i]
		item.Arguments, item.Detail = k.Arguments, k.Detail
		item.Reason = "It was approved before a restart and was not started then"
		card.Items = append(card.Items, item)
	}
	return r.append(nil, card)
}

// runCalls runs calls of one round, four at a time. Each is recorded as started
// before it runs, so that one that a crash cut is never run again by itself.
func (r *run) runCalls(ctx context.Context, t *target, x *transcript.Round, calls []*transcript.Call) error {
	if len(calls) == 0 {
		return nil
	}
	o, err := r.offer(ctx, t, false)
	if err != nil {
		return err
	}
	m := r.loop.secrets(ctx)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, k := range calls {
		group.Go(func() error { return r.runCall(ctx, t, x, k, o.tool(k.Name), m) })
	}
	return group.Wait()
}

func (r *run) runCall(ctx context.Context, t *target, x *transcript.Round, k *transcript.Call, tool *tools.Tool, m mask) error {
	if ctx.Err() != nil {
		return nil // who cut the work says how the call ends
	}
	if tool == nil || tool.Run == nil {
		return r.append(nil, r.over(x.N, k, events.ToolRefused, "Not run: this tool was switched off meanwhile."))
	}
	if tool.Risk != k.Risk || tool.Label != k.Label || tool.Changed.After(x.Started) { // what was decided about is another one
		return r.append(nil, r.over(x.N, k, events.ToolRefused, "Not run: this tool was changed meanwhile. Call it again if it is still needed."))
	}
	if err := r.append(nil, events.ToolStarted{Reply: r.reply, Round: x.N, Call: k.ID, Consent: k.Consent}); err != nil {
		return err
	}
	begin := r.loop.Now()
	res, cut := r.perform(ctx, t, x, k, tool, m)
	if cut {
		return nil
	}
	end, puts, err := r.result(x.N, k, res, m)
	if err != nil {
		return err
	}
	end.MS = max(0, r.loop.Now().Sub(begin).Milliseconds())
	return r.append(puts, end)
}

// perform runs the tool within its time. Cut says that the work was cut and the
// outcome is not known.
func (r *run) perform(ctx context.Context, t *target, x *transcript.Round, k *transcript.Call, tool *tools.Tool, m mask) (res tools.Result, cut bool) {
	limit := tool.Timeout
	if limit <= 0 {
		limit = time.Minute
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan tools.Result, 1)
	go func() { // ends with the runner, which ends with its context
		defer func() {
			if p := recover(); p != nil {
				r.loop.Logger.Error("a tool panicked", "tool", tool.Name, "panic", p, "stack", string(debug.Stack()))
				done <- tools.Failed("The tool failed inside the server. Go on without it.")
			}
		}()
		done <- tool.Run(within, tools.Call{ID: k.ID, Chat: r.chat, Reply: r.reply, User: t.owner, Arguments: json.RawMessage(k.Arguments),
			Progress: r.progress(x.N, k.ID, m)})
	}()
	select {
	case res = <-done:
	case <-within.Done():
		select {
		case res = <-done:
		case <-time.After(time.Second): // a runner that does not end with its context is left behind
			res = tools.Failed("")
		}
	}
	switch {
	case ctx.Err() != nil && res.Status != events.ToolOK:
		return res, true
	case errors.Is(within.Err(), context.DeadlineExceeded) && res.Status != events.ToolOK:
		return tools.Failed(fmt.Sprintf("The tool gave no result within %s and was cut. It may have had its effect.", limit)), false
	}
	return res, false
}

// progressGap is how often a running call may say where it is.
const progressGap = 500 * time.Millisecond

// progress records what a tool says of itself, at most twice a second.
func (r *run) progress(n int, call string, m mask) func(string) {
	lines := make(chan struct{}, 1)
	var last time.Time
	return func(line string) {
		select {
		case lines <- struct{}{}:
			defer func() { <-lines }()
		default:
			return
		}
		line = oneLine(m.text(line), 200)
		now := time.Now()
		if line == "" || now.Sub(last) < progressGap {
			return
		}
		last = now
		if err := r.append(nil, events.ToolProgressed{Reply: r.reply, Round: n, Call: call, Text: line}); err != nil {
			r.loop.Logger.Debug("progress of a tool", "call", call, "err", err)
		}
	}
}

const (
	// maxInlineOutput is how long an output may be to stand in its event, in
	// bytes: what fetch gives at most, and a little.
	maxInlineOutput = 32 << 10
	headOutput      = 20 << 10
	tailOutput      = 8 << 10
	maxImages       = 8
)

// result is what is recorded of a call: the whole output, or its head and tail
// with the whole beside the log.
func (r *run) result(n int, k *transcript.Call, res tools.Result, m mask) (events.ToolFinished, []events.Put, error) {
	out := m.text(strings.ToValidUTF8(res.Output, "\uFFFD"))
	end := events.ToolFinished{Reply: r.reply, Round: n, Call: k.ID, Status: res.Status, Output: out, Bytes: int64(len(out))}
	var puts []events.Put
	if len(out) > maxInlineOutput {
		ref, put, err := r.loop.Blobs.Put([]byte(out))
		if err != nil {
			return end, nil, fmt.Errorf("keeping a tool's output: %w", err)
		}
		end.Blob, puts = &ref, append(puts, put)
		head, tail := commands.Head(out, headOutput), commands.Tail(out, tailOutput)
		end.Output = k.Shortened(head, tail, len(out))
	}
	for _, s := range res.Sources {
		end.Sources = append(end.Sources, events.Source{Title: m.text(s.Title), URL: m.text(s.URL)})
	}
	for i, image := range res.Images[:min(len(res.Images), maxImages)] {
		ref, put, err := r.loop.Blobs.Put(image.Data)
		if err != nil {
			return end, nil, fmt.Errorf("keeping a tool's image: %w", err)
		}
		puts = append(puts, put)
		end.Images = append(end.Images, events.Attachment{ID: r.loop.NewID(), Name: fmt.Sprintf("image-%d", i+1), Type: image.Type, Blob: ref})
	}
	return end, puts, nil
}
