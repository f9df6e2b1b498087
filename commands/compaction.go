package commands

import (
	"context"
	"fmt"

	"lembas/events"
	"lembas/projections/transcript"
)

// Compacting answers Compact.
type Compacting struct {
	Compaction string `json:"compaction"`
}

// Compact asks for a summary of a chat so far, which then stands for its turns
// in what the model is sent. The turns stay in the transcript.
func (s *Service) Compact(ctx context.Context, c Caller, chat string) (Compacting, events.Result, error) {
	if err := s.mayChat(ctx, c); err != nil {
		return Compacting{}, events.Result{}, err
	}
	id := s.NewID()
	return onChat(ctx, s, c, chat, func(t *transcript.Chat) ([]events.Payload, Compacting, error) {
		if err := mustBeIdle(t); err != nil {
			return nil, Compacting{}, err
		}
		if t.Compacting != "" {
			return nil, Compacting{}, fmt.Errorf("a summary is being made already: %w", events.ErrConflict)
		}
		last := t.Last()
		if last == nil || last.Reply() == nil || t.Summary != nil && t.Summary.N >= last.N {
			return nil, Compacting{}, fmt.Errorf("there is nothing new to summarise: %w", events.ErrConflict)
		}
		return []events.Payload{events.CompactionRequested{Compaction: id, Message: last.ID, Model: t.Model}}, Compacting{Compaction: id}, nil
	})
}
