package generation

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"lembas/commands"
	"lembas/events"
)

func TestAReplyEndsWhenItsPersonOrModelIsSwitchedOff(t *testing.T) {
	yes, no := true, false
	for name, off := range map[string]func(t *testing.T, w *world, admin commands.Caller) error{
		"person": func(t *testing.T, w *world, admin commands.Caller) error {
			_, err := w.service.ChangeUser(t.Context(), admin, w.ann.User, commands.ChangeUser{Disabled: &yes})
			return err
		},
		"connection": func(t *testing.T, w *world, admin commands.Caller) error {
			all, err := w.service.Connections(t.Context())
			must(t, err)
			_, err = w.service.ChangeConnection(t.Context(), admin, all[0].ID, commands.PatchConnection{Enabled: &no})
			return err
		},
		"connection removed": func(t *testing.T, w *world, admin commands.Caller) error {
			all, err := w.service.Connections(t.Context())
			must(t, err)
			_, err = w.service.RemoveConnection(t.Context(), admin, all[0].ID)
			return err
		},
		"model": func(t *testing.T, w *world, admin commands.Caller) error {
			all, err := w.service.Models(t.Context(), false)
			must(t, err)
			_, err = w.service.ChangeModel(t.Context(), admin, all[0].ID, commands.PatchModel{Enabled: &no})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(_ int, rw http.ResponseWriter, r *http.Request) {
				piece(rw, "so far")
				<-r.Context().Done()
			})
			c := w.chat("x")
			done := make(chan error, 1)
			go func() { done <- w.handle(context.Background(), c.Chat) }()
			w.until(c.Chat, ofType("reply.chunk"))
			must(t, off(t, w, commands.Caller{User: "another admin", Admin: true}))
			must(t, <-done)
			r := w.reply(c.Chat, c.Reply)
			if r.Status != events.Stopped || r.Why != "disabled" || r.Content() != "so far" {
				t.Errorf("%s (%s) with %q", r.Status, r.Why, r.Content())
			}
		})
	}
}

// panicking is a part that breaks.
type panicking struct{ blobs }

func (panicking) Put([]byte) (events.BlobRef, events.Put, error) { panic("a bug") }

func TestABugInAReplyIsItsEndAndNotARepetition(t *testing.T) {
	w := newWorld(t, nil)
	w.loop.Blobs = panicking{}
	c := w.chat(strings.Repeat("long ", maxInlineRequest/4))
	must(t, w.handle(t.Context(), c.Chat)) // nil is an acknowledgement
	if r := w.reply(c.Chat, c.Reply); r.Status != events.Failed || r.Error.Kind != "internal" {
		t.Errorf("%s, %+v", r.Status, r.Error)
	}
}
