package generation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lembas/commands"
	"lembas/commands/llm"
	"lembas/events"
	"lembas/projections/transcript"
)

// target is whom a reply asks and within which limits.
type target struct {
	owner      string
	model      commands.ModelView
	connection commands.ConnectionView
	endpoint   *llm.Endpoint
	wallClock  time.Duration
	gather     time.Duration
	maxOutput  int // tokens, 0 is no limit
}

// sentence is an error that a person reads as it stands.
type sentence string

func (s sentence) Error() string { return string(s) }

func asSentence(err error, to *sentence) bool { return errors.As(err, to) }

func isConflict(err error) bool {
	conflict := new(events.ConflictError)
	return errors.As(err, &conflict)
}

// target resolves the reply's model. A sentence is for the person who waits;
// any other error is the log's. It reads on when the work was cut, or Stop would
// look like a model that is gone.
func (r *run) target(ctx context.Context) (*target, error) {
	ctx = context.WithoutCancel(ctx)
	s := r.loop.Service
	var id string
	err := s.WithChat(ctx, r.chat, func(c *transcript.Chat) error {
		_, reply := c.Reply(r.reply)
		if reply == nil {
			return fmt.Errorf("reply: %w", events.ErrNotFound)
		}
		id = reply.Model
		if id == "" {
			id = c.Model
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.targetOf(ctx, id)
}

// targetOf is target for a model that is known.
func (r *run) targetOf(ctx context.Context, id string) (*target, error) {
	s := r.loop.Service
	m, err := s.Model(ctx, id)
	if errors.Is(err, events.ErrNotFound) || err == nil && (m.Gone || !m.State.Enabled) {
		return nil, sentence("The model of this chat is no longer available. Choose another one below and try again.")
	}
	if err != nil {
		return nil, err
	}
	c, err := s.Connection(ctx, m.Connection)
	if errors.Is(err, events.ErrNotFound) || err == nil && !c.State.Enabled {
		return nil, sentence("The connection of this model is switched off. Choose another model below and try again.")
	}
	if err != nil {
		return nil, err
	}
	key, err := s.ConnectionKey(c)
	if errors.Is(err, events.ErrClosed) {
		return nil, err
	}
	if err != nil {
		r.loop.Logger.Error("reading a connection's key", "connection", c.ID, "err", err)
		return nil, sentence("The key of this model's connection cannot be read. An administrator has to enter it again.")
	}
	owner, err := r.owner(ctx)
	if err != nil {
		return nil, err
	}
	set, err := s.Settings(ctx)
	if err != nil {
		return nil, err
	}
	idle := time.Duration(set.Int("limits.stream_idle")) * time.Second
	return &target{owner: owner, model: m, connection: c,
		endpoint: &llm.Endpoint{BaseURL: c.State.BaseURL, APIKey: key, HTTP: r.loop.HTTP, Retry: r.loop.Retry,
			IdleTimeout: idle, FirstByteTimeout: max(idle, 5*time.Minute)},
		wallClock: time.Duration(set.Int("limits.wall_clock")) * time.Second,
		gather:    time.Duration(set.Int("limits.gather_ms")) * time.Millisecond,
		maxOutput: int(set.Int("limits.output_tokens")),
	}, nil
}

// request builds the exact bytes of the next round. It reads on when the work
// was cut: settle says how that ends.
func (r *run) request(ctx context.Context, t *target, o *offer) ([]byte, error) {
	ctx = context.WithoutCancel(ctx)
	req := llm.Request{Model: t.model.Name, Stream: true, StreamOptions: &llm.StreamOptions{IncludeUsage: true}}
	var owner, folder string
	err := r.loop.Service.WithChat(ctx, r.chat, func(c *transcript.Chat) error {
		owner, folder = c.Owner, c.Folder
		req.Messages = conversation(c, r.reply)
		setEffort(&req, c.Effort)
		return nil
	})
	if err != nil {
		return nil, err
	}
	u, err := r.loop.Service.User(ctx, owner)
	if err != nil {
		return nil, err
	}
	prompt := u.FolderPrompt(folder)
	if prompt == "" {
		prompt = t.model.State.SystemPrompt
	}
	if g := o.guidance(); g != "" {
		prompt = strings.TrimSpace(prompt + "\n\n" + g)
	}
	req.Tools = o.schemas()
	if prompt != "" {
		req.Messages = append([]llm.Message{{Role: "system", Content: prompt}}, req.Messages...)
	}
	setParams(&req, t.model.State.Params, t.connection.State.Extensions)
	return req.Encode()
}

// conversation is the turns up to and with the one that a reply answers. A
// reply without words is told in words, so that two user turns never go out
// side by side.
func conversation(c *transcript.Chat, reply string) []llm.Message {
	var out []llm.Message
	turns := c.Turns
	if s := c.Summary; s != nil {
		i := slices.IndexFunc(turns, func(t *transcript.Turn) bool { return t.ID == s.Message })
		if i >= 0 {
			turns = turns[i+1:]
			out = append(out, llm.Message{Role: "user", Content: summaryLead + s.Text}, llm.Message{Role: "assistant", Content: summaryReply})
		}
	}
	for _, t := range turns {
		out = append(out, llm.Message{Role: "user", Content: t.Text()})
		for _, r := range t.Replies {
			if r.ID == reply {
				return append(out, rounds(r)...)
			}
		}
		out = append(out, past(t.Reply())...)
	}
	return out
}

// past is a reply of an earlier turn: its words, and between them what the
// person said while it ran.
func past(r *transcript.Reply) []llm.Message {
	var out []llm.Message
	if r != nil {
		part := *r
		part.Rounds = nil
		for _, x := range r.Live() {
			part.Rounds = append(part.Rounds, x)
			if len(x.Injected) == 0 {
				continue
			}
			text := strings.TrimSpace(part.Content())
			if text == "" {
				text = "(Nothing was said yet.)" // two user turns never go out side by side
			}
			out = append(out, llm.Message{Role: "assistant", Content: text}, llm.Message{Role: "user", Content: injected(x)})
			part.Rounds = nil
		}
		r = &part
	}
	return append(out, llm.Message{Role: "assistant", Content: said(r)})
}

func injected(x *transcript.Round) string {
	var words []string
	for _, q := range x.Injected {
		words = append(words, q.Text)
	}
	return strings.Join(words, "\n\n")
}

func said(r *transcript.Reply) string {
	if r == nil {
		return "(No answer was given.)"
	}
	if text := strings.TrimSpace(r.Content()); text != "" {
		return text
	}
	switch r.Status {
	case transcript.Stopped:
		return "(No answer was given: the reply was stopped.)"
	case transcript.Failed:
		return "(No answer was given: the reply failed.)"
	}
	return "(No answer was given.)"
}

// rounds is what the running reply has said and been told so far.
func rounds(r *transcript.Reply) []llm.Message {
	var out []llm.Message
	for _, x := range r.Live() {
		if !x.Done {
			continue
		}
		turn := llm.Message{Role: "assistant", Content: x.Content.String()}
		var results []llm.Message
		for _, k := range x.Calls {
			turn.ToolCalls = append(turn.ToolCalls, llm.Call{ID: k.ID, Name: k.Name, Arguments: string(k.Arguments), Extra: k.Extra})
			results = append(results, llm.Message{Role: "tool", ToolCallID: k.ID, Content: k.Told()})
		}
		if turn.Content == "" && len(turn.ToolCalls) == 0 {
			turn.Content = "(Nothing was said.)" // no server takes an empty turn
		}
		out = append(append(out, turn), results...)
		out = append(out, after(x)...)
	}
	return out
}

// after is what stands between a round and the next, as one turn: what the
// person said meanwhile, word for word, and a note of the machine's.
func after(x *transcript.Round) []llm.Message {
	words := noteTurns(x)
	if len(x.Injected) > 0 {
		words = append([]string{injected(x)}, words...)
	}
	if len(words) == 0 {
		return nil
	}
	return []llm.Message{{Role: "user", Content: strings.Join(words, "\n\n")}}
}

// setEffort sends a level in both spellings that servers read; "off" and none
// send neither.
func setEffort(req *llm.Request, effort string) {
	if effort == "" || effort == "off" {
		return
	}
	level, _ := json.Marshal(effort) // text always encodes
	req.ReasoningEffort = effort
	req.TemplateArgs = map[string]json.RawMessage{"reasoning_effort": level}
}

// setParams sends the model's sampling parameters; those that are not standard
// only to a connection that opted in.
func setParams(req *llm.Request, params map[string]float64, extensions bool) {
	for name, v := range params {
		whole := int64(v)
		switch name {
		case "temperature":
			req.Temperature = &v
		case "top_p":
			req.TopP = &v
		case "max_tokens":
			req.MaxTokens = &whole
		case "seed":
			req.Seed = &whole
		case "presence_penalty":
			req.PresencePen = &v
		case "frequency_penalty":
			req.FrequencyPen = &v
		default:
			if extensions {
				if req.Extra == nil {
					req.Extra = map[string]json.RawMessage{}
				}
				raw, _ := json.Marshal(v) // bounded finite numbers always encode
				req.Extra[name] = raw
			}
		}
	}
}

// maxInlineRequest is how long a request may be to stand in its event; longer
// ones are blobs.
const maxInlineRequest = 32 << 10

func (r *run) roundStarted(n int, body []byte) (events.RoundStarted, []events.Put, error) {
	p := events.RoundStarted{Reply: r.reply, Round: n, Estimate: transcript.EstimateTokens(len(body))}
	if len(body) <= maxInlineRequest {
		p.Request = body
		return p, nil, nil
	}
	ref, put, err := r.loop.Blobs.Put(body)
	p.Blob = &ref
	return p, []events.Put{put}, err
}
