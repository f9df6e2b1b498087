package commands

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"lembas/events"
	"lembas/projections/transcript"
)

// Bounds of what a person types.
const (
	MaxText  = 1 << 20 // bytes of one message
	MaxTitle = 200     // characters
)

// ViewChat shows a chat of the caller at the log's head to fn, which must not
// keep it. Another person's chat, a deleted one and none are all not found.
func (s *Service) ViewChat(ctx context.Context, user, chat string, fn func(*transcript.Chat) error) error {
	return s.chats.view(ctx, events.ChatStream(chat), func(c *transcript.Chat, _ events.Position) error {
		if c.Owner == "" || c.Owner != user || c.Deleted {
			return fmt.Errorf("chat: %w", events.ErrNotFound)
		}
		return fn(c)
	})
}

// WithChat is ViewChat without an owner: for the loop and for the CLI.
func (s *Service) WithChat(ctx context.Context, chat string, fn func(*transcript.Chat) error) error {
	return s.chats.view(ctx, events.ChatStream(chat), func(c *transcript.Chat, _ events.Position) error {
		if c.Owner == "" {
			return fmt.Errorf("chat: %w", events.ErrNotFound)
		}
		return fn(c)
	})
}

// onChat runs a decision about one chat of the caller.
func onChat[A any](ctx context.Context, s *Service, c Caller, chat string,
	decide func(*transcript.Chat) ([]events.Payload, A, error)) (A, events.Result, error) {
	return handle(ctx, s, c, func() (attempt[A], error) {
		var a attempt[A]
		err := s.ViewChat(ctx, c.User, chat, func(t *transcript.Chat) error {
			payloads, answer, err := decide(t)
			if err != nil {
				return err
			}
			a.answer = answer
			if len(payloads) > 0 {
				a.parts = []events.Part{{Stream: events.ChatStream(chat), Expect: events.Exactly(t.Deciding), Events: happened(payloads...)}}
			}
			return nil
		})
		return a, err
	})
}

// CreateChat is a new chat together with its first message.
type CreateChat struct {
	Model       string // an id, or a name that is unique
	Text        string
	Kind        string // "" is chat
	Effort      *string
	Folder      string
	Attachments []string
	Scope       map[string]bool // as PatchChat's
}

// Created answers CreateChat.
type Created struct {
	Chat    string `json:"chat_id"`
	Message string `json:"message_id"`
	Reply   string `json:"reply_id"`
}

// CreateChat makes a chat and asks for its first reply, in one append.
func (s *Service) CreateChat(ctx context.Context, c Caller, cmd CreateChat) (Created, events.Result, error) {
	if err := s.mayChat(ctx, c); err != nil {
		return Created{}, events.Result{}, err
	}
	return handle(ctx, s, c, func() (attempt[Created], error) {
		if err := checkText(cmd.Text); err != nil {
			return attempt[Created]{}, err
		}
		if cmd.Kind != "" && cmd.Kind != events.KindChat {
			return attempt[Created]{}, events.Invalid("kind", "only %q is possible on this instance", events.KindChat)
		}
		if len(cmd.Attachments) > 0 {
			return attempt[Created]{}, events.Invalid("attachments", "attachments are not possible on this instance yet; paste the text")
		}
		folder, err := s.folderFor(ctx, c.User, cmd.Folder)
		if err != nil {
			return attempt[Created]{}, err
		}
		name, effort := cmd.Model, cmd.Effort
		if name == "" {
			name = folder.Seeds["model"]
		}
		if seed := folder.Seeds["effort"]; effort == nil && seed != "" {
			effort = &seed
		}
		model, err := s.ResolveModel(ctx, name)
		if err != nil {
			return attempt[Created]{}, err
		}
		if effort != nil {
			if err := checkEffort(*effort); err != nil {
				return attempt[Created]{}, err
			}
		}
		if _, err := newScope(cmd.Scope); err != nil {
			return attempt[Created]{}, err
		}
		id := Created{Chat: s.NewID(), Message: s.NewID(), Reply: s.NewID()}
		return attempt[Created]{answer: id, parts: []events.Part{{Stream: events.ChatStream(id.Chat),
			Expect: events.Exactly(0), Events: happened(createChat(id, c.User, cmd, model, effort)...)}}}, nil
	})
}

func createChat(id Created, owner string, cmd CreateChat, m ModelView, effort *string) []events.Payload {
	created := events.ChatCreated{Chat: id.Chat, Owner: owner, Kind: events.KindChat, Model: m.ID, Effort: m.State.Effort,
		Folder: cmd.Folder, Title: TitleFromPrompt(cmd.Text)}
	out := []events.Payload{created}
	if effort != nil {
		created.Effort = *effort
		out = []events.Payload{created, events.ChatEffortChanged{Effort: *effort, ByHand: true}}
	}
	if scope, err := newScope(cmd.Scope); err == nil && len(scope) > 0 {
		out = append(out, events.ChatScopeChanged{Scope: scope})
	}
	return append(out,
		events.MessageSubmitted{Message: id.Message, Text: cmd.Text, Attachments: []events.Attachment{}},
		events.ReplyRequested{Reply: id.Reply, Message: id.Message, Reason: events.ForMessage, Model: m.ID})
}

// PatchChat is the fields of a chat that a person may change; nil is unchanged.
type PatchChat struct {
	Title  *string
	Folder *string // "" takes it out of its folder
	Model  *string
	Effort *string // "" clears
	Pinned *bool
	// Scope is the chat's whole scope: the gates and rows that are off. An empty
	// map switches all on.
	Scope *map[string]bool
	// ForgetAllowed clears the patterns that "always" remembered.
	ForgetAllowed bool
}

// PatchChat changes a chat.
func (s *Service) PatchChat(ctx context.Context, c Caller, chat string, cmd PatchChat) (events.Result, error) {
	var model *ModelView
	if cmd.Model != nil {
		m, err := s.ResolveModel(ctx, *cmd.Model)
		if err != nil {
			return events.Result{}, err
		}
		model = &m
	}
	if cmd.Folder != nil {
		if _, err := s.folderFor(ctx, c.User, *cmd.Folder); err != nil {
			return events.Result{}, err
		}
	}
	_, res, err := onChat(ctx, s, c, chat, func(t *transcript.Chat) ([]events.Payload, struct{}, error) {
		p, err := patchChat(t, cmd, model)
		return p, struct{}{}, err
	})
	return res, err
}

func patchChat(t *transcript.Chat, cmd PatchChat, model *ModelView) ([]events.Payload, error) {
	var out []events.Payload
	if cmd.Title != nil {
		title := oneLine(*cmd.Title)
		if title == "" {
			return nil, events.Invalid("title", "a title needs at least one character")
		}
		if utf8.RuneCountInString(title) > MaxTitle {
			return nil, events.Invalid("title", "at most %d characters", MaxTitle)
		}
		if title != t.Title || t.Origin != "person" {
			out = append(out, events.ChatRenamed{Title: title, Origin: "person"})
		}
	}
	if cmd.Folder != nil && *cmd.Folder != t.Folder {
		out = append(out, events.ChatMoved{Folder: *cmd.Folder})
	}
	if model != nil && model.ID != t.Model {
		out = append(out, events.ChatModelChanged{From: t.Model, To: model.ID})
		if !t.EffortByHand && model.State.Effort != t.Effort && cmd.Effort == nil {
			out = append(out, events.ChatEffortChanged{Effort: model.State.Effort})
		}
	}
	if cmd.Effort != nil {
		if err := checkEffort(*cmd.Effort); err != nil {
			return nil, err
		}
		if *cmd.Effort != t.Effort || !t.EffortByHand {
			out = append(out, events.ChatEffortChanged{Effort: *cmd.Effort, ByHand: true})
		}
	}
	if cmd.Pinned != nil && *cmd.Pinned != t.Pinned {
		out = append(out, events.ChatPinned{Pinned: *cmd.Pinned})
	}
	if cmd.Scope != nil {
		scope, err := newScope(*cmd.Scope)
		if err != nil {
			return nil, err
		}
		if !maps.Equal(scope, t.Scope) {
			out = append(out, events.ChatScopeChanged{Scope: scope})
		}
	}
	if cmd.ForgetAllowed && len(t.Allow) > 0 {
		out = append(out, events.ChatAllowCleared{})
	}
	return out, nil
}

// DeleteChat stops a running reply and ends the chat.
func (s *Service) DeleteChat(ctx context.Context, c Caller, chat string) (events.Result, error) {
	reply, err := s.stopLoop(ctx, c.User, chat)
	if err != nil {
		return events.Result{}, err
	}
	_, res, err := onChat(ctx, s, c, chat, func(t *transcript.Chat) ([]events.Payload, struct{}, error) {
		out := endOpen(t, "deleted", s.Now())
		return append(out, events.ChatDeleted{}), struct{}{}, nil
	})
	if err != nil || res.First > 0 {
		s.cutLoop(ctx, reply)
	}
	return res, err
}

// SetTitle gives a chat a title that a model made after the event cause; it
// does nothing once a person chose one.
func (s *Service) SetTitle(ctx context.Context, chat, title, model string, cause *events.Envelope) error {
	title = oneLine(title)
	if title == "" {
		return nil
	}
	for range maxTries {
		var part events.Part
		err := s.WithChat(ctx, chat, func(t *transcript.Chat) error {
			if t.Origin != "prompt" || t.Deleted {
				return nil
			}
			part = events.Part{Stream: events.ChatStream(chat), Expect: events.Exactly(t.Deciding),
				Events: happened(events.ChatRenamed{Title: truncate(title, MaxTitle), Origin: "model"})}
			return nil
		})
		if err != nil || len(part.Events) == 0 {
			return err
		}
		_, err = s.Log.Append(ctx, events.Batch{Actor: events.Actor{Kind: events.Model, ID: model},
			Correlation: cause.Correlation, Causation: cause.Ref(), Parts: []events.Part{part}})
		if !isConflict(err) {
			return err
		}
	}
	return nil // a title is not worth more tries
}

// TitleFromPrompt is what a chat is called before it has a better title: the
// first prompt's first words, at most 60 characters.
func TitleFromPrompt(text string) string {
	return truncate(oneLine(text), 60)
}

// truncate cuts s to n characters, at a space where one is near, with an
// ellipsis.
func truncate(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)[:n-1]
	cut := string(r)
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)*2/3 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,.;:") + "…"
}

func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return events.Invalid("text", "a message needs some text")
	case len(text) > MaxText:
		return fmt.Errorf("text: at most %d bytes: %w", MaxText, events.ErrTooLarge)
	case !utf8.ValidString(text):
		return events.Invalid("text", "must be UTF-8")
	}
	return nil
}

// Efforts are the levels of reasoning effort; "off" is one of them.
func Efforts() []string { return []string{"off", "minimal", "low", "medium", "high"} }

func checkEffort(effort string) error {
	if effort == "" {
		return nil
	}
	for _, e := range Efforts() {
		if e == effort {
			return nil
		}
	}
	return events.Invalid("effort", "one of %s, or empty", strings.Join(Efforts(), ", "))
}
