package generation

import (
	"cmp"
	"context"
	"runtime/debug"
	"strings"
	"time"

	"lembas/commands/llm"
	"lembas/events"
	"lembas/projections/transcript"
)

const (
	summaryLead = "[Summary of the conversation so far, made because it had grown long. It stands for the turns before this one.]\n\n"
	// summaryReply keeps user and assistant turns apart.
	summaryReply  = "Understood. I will go on from there."
	summaryPrompt = "Summarise the conversation so far for yourself: you will go on with it and see only your summary. " +
		"Keep what was asked and decided, facts, names, numbers, files and code that are still needed, what is open, and what the person prefers. " +
		"Do not answer anything and do not call tools. Write the summary alone."
	summaryTokens = 4000
	summaryTime   = 5 * time.Minute
	maxSummary    = 64 << 10 // bytes
)

// makeRoom looks at the size of the next request. Past the threshold the turns
// before this one are summarised; past the headroom tools are taken away; without
// any room the reply ends. Done says that the loop has to look again.
func (r *run) makeRoom(ctx context.Context, t *target, s state, body []byte) (done bool, err error) {
	if t.model.State.ContextLength == 0 {
		return false, nil
	}
	set, err := r.loop.Service.Settings(context.WithoutCancel(ctx))
	if err != nil {
		return false, err
	}
	if t.tooLong(body, set.Float("limits.compact_at")) && !r.compacted {
		r.compacted = true // once in a run: one that fails is not tried before each round
		if ok, err := r.compactBefore(ctx, t); ok || err != nil {
			return ok, err
		}
	}
	if s.round == nil || !t.tooLong(body, set.Float("limits.context_headroom")) {
		return false, nil
	}
	limit := int64(set.Float("limits.context_headroom") * float64(t.model.State.ContextLength))
	if s.budget == "" {
		return true, r.wrapUp(budget{"limits.context_headroom", limit})
	}
	if !t.tooLong(body, 1) {
		return false, nil
	}
	return true, r.finish(events.Failed, "limits.context_headroom", &events.RoundError{Kind: "budget",
		Message: "There is no room left in the model's context for another request. Start a new chat, or use /compact."}, t.model.State.ContextLength)
}

// compactBefore summarises what came before the turn that the reply answers. Ok
// is false when there is nothing to summarise or the summary failed: then the
// request goes out as it is.
func (r *run) compactBefore(ctx context.Context, t *target) (ok bool, err error) {
	var message string
	var history []llm.Message
	err = r.loop.Service.WithChat(context.WithoutCancel(ctx), r.chat, func(c *transcript.Chat) error {
		turn, _ := c.Reply(r.reply)
		message, history = summarised(c, turn)
		return nil
	})
	if err != nil || message == "" {
		return false, err
	}
	done, trouble := r.summarise(ctx, t, message, history)
	if trouble != nil {
		r.loop.Logger.Warn("compacting a chat", "chat", r.chat, "err", trouble.Message)
		return false, nil
	}
	return true, r.append(nil, done)
}

// summarised gives the last turn before one (nil: before the end) that has a
// finished reply, and the conversation up to it as it would be sent; "" when
// there is nothing new to summarise.
func summarised(c *transcript.Chat, before *transcript.Turn) (message string, history []llm.Message) {
	cut := -1
	for i, t := range c.Turns {
		if t == before {
			break
		}
		if r := t.Reply(); r != nil && r.Ended() {
			cut = i
		}
	}
	if cut < 0 || c.Summary != nil && c.Turns[cut].N <= c.Summary.N {
		return "", nil
	}
	upTo := *c
	upTo.Turns = c.Turns[:cut+1]
	return c.Turns[cut].ID, conversation(&upTo, "")
}

// summarise asks the model of the reply for a summary.
func (r *run) summarise(ctx context.Context, t *target, message string, history []llm.Message) (events.ChatCompacted, *events.RoundError) {
	tokens := int64(summaryTokens)
	req := llm.Request{Model: t.model.Name, MaxTokens: &tokens, Stream: true,
		Messages: append(history, llm.Message{Role: "user", Content: summaryPrompt})}
	body, err := req.Encode()
	if err != nil {
		return events.ChatCompacted{}, &events.RoundError{Kind: "internal", Message: "The request for a summary could not be built."}
	}
	ctx, cancel := context.WithTimeout(ctx, summaryTime)
	defer cancel()
	res, err := t.endpoint.Complete(ctx, body)
	m := r.loop.secrets(ctx)
	switch text := strings.TrimSpace(m.text(res.Content)); {
	case err != nil:
		return events.ChatCompacted{}, &events.RoundError{Kind: "timeout", Message: "The summary was cut: " + cmp.Or(context.Cause(ctx), err).Error() + "."}
	case res.Err != nil:
		return events.ChatCompacted{}, m.error(res.Err)
	case text == "":
		return events.ChatCompacted{}, &events.RoundError{Kind: "empty", Message: "The model gave no summary."}
	case len(text) > maxSummary:
		return events.ChatCompacted{}, &events.RoundError{Kind: "too_large", Message: "The model's summary is too long to be of use."}
	default:
		return events.ChatCompacted{Message: message, Summary: text, Usage: usage(res.Usage)}, nil
	}
}

// Compact makes the summary that a person asked for. It is the handler of
// compaction.requested; what goes wrong is an event, too.
func (l *Loop) Compact(ctx context.Context, env *events.Envelope) (err error) {
	p, err := events.Decode(env)
	if err != nil {
		return err
	}
	asked, ok := p.(events.CompactionRequested)
	if !ok {
		return nil
	}
	r := l.newRun(ctx, env, "", asked.Model)
	defer r.cancel(nil)
	defer func() {
		if p := recover(); p != nil {
			l.Logger.Error("compacting a chat panicked", "chat", r.chat, "panic", p, "stack", string(debug.Stack()))
			err = r.compactionFailed(asked, &events.RoundError{Kind: "internal", Message: "Something went wrong inside the server; its log says what."})
		}
	}()
	var history []llm.Message
	var last string
	open := false
	err = l.Service.WithChat(ctx, r.chat, func(c *transcript.Chat) error {
		open, last = c.Compacting == asked.Compaction && !c.Deleted, saidLast(c, asked.Message)
		if i := turnAfter(c, asked.Message); i > 0 && last != "" {
			upTo := *c
			upTo.Turns = c.Turns[:i]
			history = conversation(&upTo, "")
		}
		return nil
	})
	if err != nil || !open {
		return err
	}
	if len(history) == 0 {
		return r.compactionFailed(asked, &events.RoundError{Kind: "unavailable", Message: "The turns that were to be summarised are gone."})
	}
	t, err := r.targetOf(ctx, asked.Model)
	if words := sentence(""); asSentence(err, &words) {
		return r.compactionFailed(asked, &events.RoundError{Kind: "unavailable", Message: string(words)})
	}
	if err != nil {
		return err
	}
	done, trouble := r.summarise(ctx, t, asked.Message, history)
	if ctx.Err() != nil {
		return ctx.Err() // the process goes down: asked for again at the next start
	}
	if trouble != nil {
		return r.compactionFailed(asked, trouble)
	}
	done.Compaction = asked.Compaction
	return r.closeCompaction(asked, func(c *transcript.Chat) events.Payload {
		if saidLast(c, asked.Message) == last {
			return done
		}
		return events.CompactionFailed{Compaction: asked.Compaction,
			Error: events.RoundError{Kind: "unavailable", Message: "The conversation was changed while the summary was made."}}
	})
}

// saidLast is the finished reply of a turn, "" when there is none: a summary up
// to a turn that is said anew would take it from its own reply.
func saidLast(c *transcript.Chat, message string) string {
	if t := c.Turn(message); t != nil && t.Reply() != nil && t.Reply().Ended() {
		return t.Reply().ID
	}
	return ""
}

func turnAfter(c *transcript.Chat, message string) int {
	for i, t := range c.Turns {
		if t.ID == message {
			return i + 1
		}
	}
	return 0
}

func (r *run) compactionFailed(asked events.CompactionRequested, trouble *events.RoundError) error {
	return r.closeCompaction(asked, func(*transcript.Chat) events.Payload {
		return events.CompactionFailed{Compaction: asked.Compaction, Error: *trouble}
	})
}

// closeCompaction ends a compaction once, whatever else happens in the chat.
func (r *run) closeCompaction(asked events.CompactionRequested, end func(*transcript.Chat) events.Payload) error {
	for {
		b := r.cause
		err := r.loop.Service.WithChat(context.WithoutCancel(r.life), r.chat, func(c *transcript.Chat) error {
			if c.Compacting == asked.Compaction && !c.Deleted {
				b.Parts = []events.Part{{Stream: events.ChatStream(r.chat), Expect: events.Exactly(c.Deciding), Events: news([]events.Payload{end(c)})}}
			}
			return nil
		})
		if err != nil || len(b.Parts) == 0 {
			return err
		}
		if err = r.write(b); !isConflict(err) {
			return err
		}
	}
}
