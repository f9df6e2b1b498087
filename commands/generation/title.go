package generation

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"strings"
	"time"

	"lembas/commands/llm"
	"lembas/events"
	"lembas/projections/transcript"
)

const (
	// titleTokens leaves room for a model that thinks first: too small a budget
	// is not a shorter title but none.
	titleTokens  = 2000
	titleExcerpt = 4000 // bytes of each side that the title call reads
	titleTime    = 2 * time.Minute
)

// Title names a chat after its first answer. It is the handler of
// reply.finished; a failure leaves the trimmed first prompt. The error is that
// of a process that goes down: then the redelivery asks again.
func (l *Loop) Title(ctx context.Context, env *events.Envelope) error {
	defer func() {
		if p := recover(); p != nil { // or it would be asked for without end
			l.Logger.Error("titling a chat panicked", "chat", env.Stream, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	p, err := events.Decode(env)
	if err != nil {
		return nil
	}
	end, ok := p.(events.ReplyFinished)
	if !ok || end.Status != events.Complete {
		return nil
	}
	r := &run{loop: l, chat: env.Stream[len("chat/"):], reply: end.Reply}
	var question, answer string
	err = l.Service.WithChat(ctx, r.chat, func(c *transcript.Chat) error {
		t, reply := c.Reply(end.Reply)
		if reply == nil || c.Origin != "prompt" || c.Kind != events.KindChat || c.Earlier+len(c.Turns) != 1 || c.Deleted {
			return nil
		}
		question, answer = t.Text(), reply.Content()
		return nil
	})
	if err != nil || question == "" {
		return ctx.Err()
	}
	asking, cancel := context.WithTimeout(ctx, titleTime)
	defer cancel()
	title, model := r.askTitle(asking, question, answer)
	if title == "" && ctx.Err() != nil {
		return ctx.Err()
	}
	if err := l.Service.SetTitle(context.WithoutCancel(ctx), r.chat, title, model, env); err != nil {
		l.Logger.Warn("titling a chat", "chat", r.chat, "err", err)
	}
	return nil
}

func (r *run) askTitle(ctx context.Context, question, answer string) (title, model string) {
	t, err := r.target(ctx)
	if err != nil {
		return "", ""
	}
	tokens := int64(titleTokens)
	req := llm.Request{Model: t.model.Name, MaxTokens: &tokens, Stream: true, Messages: []llm.Message{
		{Role: "system", Content: "Give a title of at most six words for the conversation, in its language. Answer with the title alone: no quotes, no full stop."},
		{Role: "user", Content: "Question:\n" + excerpt(question) + "\n\nAnswer:\n" + excerpt(answer) + "\n\nTitle:"},
	}}
	body, err := req.Encode()
	if err != nil {
		return "", ""
	}
	res, err := t.endpoint.Complete(ctx, body)
	if err != nil || res.Err != nil {
		return "", ""
	}
	return cleanTitle(r.loop.secrets(ctx).text(res.Content)), t.model.ID
}

func excerpt(s string) string {
	if len(s) > titleExcerpt {
		s = s[:titleExcerpt]
	}
	return strings.ToValidUTF8(s, "")
}

// cleanTitle takes the first line without the quotes, marks and labels that
// models put around titles. One of more than 80 characters is a sentence, not
// a title: none.
func cleanTitle(s string) string {
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		line = strings.TrimLeft(line, "#*-> ")
		const label = "title:" // of the line itself: lower case may be longer or shorter
		if len(line) >= len(label) && strings.EqualFold(line[:len(label)], label) {
			line = line[len(label):]
		}
		line = strings.Trim(line, " \t\"'`*“”«»„.")
		if line == "" {
			continue
		}
		if len([]rune(line)) > 80 || json.Valid([]byte(line)) && strings.HasPrefix(line, "{") {
			return ""
		}
		return line
	}
	return ""
}
