package commands

import (
	"context"
	"testing"

	"lembas/events"
)

// TestARefreshThatWasLeftRecordsNothing: that the person went away is no
// trouble of the endpoint.
func TestARefreshThatWasLeftRecordsNothing(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.connect(t, ann)
	for range 20 { // a queued append is as ready as a context that has ended
		ctx, cancel := context.WithCancel(t.Context())
		h.Discover = func(context.Context, string, string) ([]Discovered, error) {
			cancel()
			return nil, ctx.Err()
		}
		_, err := h.RefreshConnection(ctx, ann, id)
		wantErr(t, err, context.Canceled)
	}
	c, err := h.Connection(t.Context(), id)
	check(t, err)
	if c.Error != "" {
		t.Errorf("recorded as trouble: %q", c.Error)
	}
}

// TestARefreshOfAnAddressThatMoved: the old endpoint's models are not put on the
// new one.
func TestARefreshOfAnAddressThatMoved(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.connect(t, ann)
	h.Discover = func(ctx context.Context, _, _ string) ([]Discovered, error) {
		elsewhere, key := "http://127.0.0.2:9/v1", "sk-2"
		_, err := h.ChangeConnection(ctx, ann, id, PatchConnection{BaseURL: &elsewhere, APIKey: &key})
		return []Discovered{{Name: "of the old one"}}, err
	}
	_, err := h.RefreshConnection(t.Context(), ann, id)
	wantErr(t, err, events.ErrConflict)
	models, err := h.Models(t.Context(), false)
	check(t, err)
	for _, m := range models {
		if m.Name == "of the old one" {
			t.Error("the old endpoint's model is there")
		}
	}
}

// TestAShortKeyHidesNoModel: a key that is a word takes no models away whose
// names have it; a real one does.
func TestAShortKeyHidesNoModel(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.connect(t, ann)
	for key, want := range map[string]int{"ollama": 2, "sk-0123456789": 1} {
		_, err := h.ChangeConnection(t.Context(), ann, id, PatchConnection{APIKey: &key})
		check(t, err)
		h.found = []Discovered{{Name: "ollama/small"}, {Name: "x-" + key}}
		found, err := h.CheckConnection(t.Context(), id)
		check(t, err)
		if len(found) != want {
			t.Errorf("with the key %q there are %d models, want %d", key, len(found), want)
		}
	}
}
