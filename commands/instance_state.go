package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"lembas/events"
)

// Instance is what administrators set, folded from the instance's stream.
type Instance struct {
	Connections map[string]*ConnectionView
	Models      map[string]*ModelView
	Settings    map[string]json.RawMessage
	Tools       map[string]*CustomView
	Servers     map[string]*ServerView
	Search      events.SearchState
	Version     string
	Deciding    events.Version
}

// ConnectionView is a connection as it stands, less its key.
type ConnectionView struct {
	ID        string
	State     events.ConnectionState
	Created   time.Time
	Refreshed time.Time // of the last look at its models
	Error     string    // of that look
}

// ModelView is a model as it stands.
type ModelView struct {
	ID, Connection, Name string
	State                events.ModelState
	// Gone models are no longer listed by their endpoint; old chats name them.
	Gone bool
}

// Title is what people read.
func (m *ModelView) Title() string { return cmp.Or(m.State.Title, m.Name) }

func (in *Instance) apply(e *events.Envelope) error {
	p, err := events.Decode(e)
	if err != nil {
		return err
	}
	if in.Models == nil {
		in.Connections, in.Models = map[string]*ConnectionView{}, map[string]*ModelView{}
		in.Settings = map[string]json.RawMessage{}
		in.Tools, in.Servers = map[string]*CustomView{}, map[string]*ServerView{}
		in.Search = events.SearchState{Provider: events.SearchOff, Results: 5}
	}
	if i, ok := events.Lookup(e.Type); !ok || !i.Weak {
		in.Deciding = e.Version
	}
	switch p := p.(type) {
	case events.InstanceCreated:
		in.Version = p.Version
	case events.SettingChanged:
		in.Settings[p.Key] = p.Value
		if string(p.Value) == "null" {
			delete(in.Settings, p.Key)
		}
	case events.ModelAdded:
		in.Models[p.Model] = &ModelView{ID: p.Model, Connection: p.Connection, Name: p.Name, State: p.State}
	case events.ModelChanged:
		in.changeModel(p)
	case events.ModelRemoved:
		if m := in.Models[p.Model]; m != nil {
			m.Gone = true
		}
	case events.CustomAdded, events.CustomChanged, events.CustomRemoved:
		in.applyCustom(e, p)
	case events.ServerAdded, events.ServerChanged, events.ServerListed, events.ServerReviewed, events.ServerRemoved:
		in.applyServer(e, p)
	case events.SearchChanged:
		in.Search = p.State
	default:
		in.applyConnection(e, p)
	}
	return nil
}

func (in *Instance) changeModel(p events.ModelChanged) {
	if p.State.Default { // there is one default
		for _, m := range in.Models {
			m.State.Default = false
		}
	}
	if m := in.Models[p.Model]; m != nil {
		m.State = p.State
	}
}

func (in *Instance) applyConnection(e *events.Envelope, p events.Payload) {
	switch p := p.(type) {
	case events.ConnectionCreated:
		in.Connections[p.Connection] = &ConnectionView{ID: p.Connection, State: p.State, Created: e.Time}
	case events.ConnectionChanged:
		if c := in.Connections[p.Connection]; c != nil {
			c.State = p.State
		}
	case events.ConnectionRefreshed:
		if c := in.Connections[p.Connection]; c != nil {
			c.Refreshed, c.Error = e.Time, p.Error
		}
	case events.ConnectionRemoved:
		delete(in.Connections, p.Connection)
		for _, m := range in.Models {
			if m.Connection == p.Connection {
				m.Gone = true
			}
		}
	}
}

// models gives the models that are listed, in the administrator's order.
func (in *Instance) models() []ModelView {
	var out []ModelView
	for _, m := range in.Models {
		if !m.Gone {
			out = append(out, *m)
		}
	}
	slices.SortFunc(out, func(a, b ModelView) int {
		return cmp.Or(cmp.Compare(a.State.Position, b.State.Position), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// usable says whether people can choose the model now.
func (in *Instance) usable(m *ModelView) bool {
	c := in.Connections[m.Connection]
	return m.State.Enabled && !m.Gone && c != nil && c.State.Enabled
}

// onInstance runs a decision about what administrators set.
func onInstance[A any](ctx context.Context, s *Service, c Caller, decide func(*Instance) ([]events.Payload, []events.Put, A, error)) (A, events.Result, error) {
	return handle(ctx, s, c, func() (attempt[A], error) {
		var a attempt[A]
		err := s.instance.view(ctx, events.InstanceStream, func(in *Instance, _ events.Position) error {
			payloads, puts, answer, err := decide(in)
			if err != nil {
				return err
			}
			a.answer, a.puts = answer, puts
			if len(payloads) > 0 {
				a.parts = []events.Part{{Stream: events.InstanceStream, Expect: events.Exactly(in.Deciding), Events: happened(payloads...)}}
			}
			return nil
		})
		return a, err
	})
}

// Models lists the models in the administrator's order; with usable, only those
// that people can choose.
func (s *Service) Models(ctx context.Context, usable bool) ([]ModelView, error) {
	var out []ModelView
	err := s.instance.view(ctx, events.InstanceStream, func(in *Instance, _ events.Position) error {
		for _, m := range in.models() {
			if !usable || in.usable(&m) {
				out = append(out, m)
			}
		}
		return nil
	})
	return out, err
}

// Model gives a model by its id, also one that is gone.
func (s *Service) Model(ctx context.Context, id string) (ModelView, error) {
	var out ModelView
	err := s.instance.view(ctx, events.InstanceStream, func(in *Instance, _ events.Position) error {
		m, ok := in.Models[id]
		if !ok {
			return fmt.Errorf("model: %w", events.ErrNotFound)
		}
		out = *m
		return nil
	})
	return out, err
}

// ResolveModel gives the model that people mean: an id, a name that is unique,
// or with "" the default. Only models that can be chosen count.
func (s *Service) ResolveModel(ctx context.Context, ref string) (ModelView, error) {
	usable, err := s.Models(ctx, true)
	if err != nil {
		return ModelView{}, err
	}
	if len(usable) == 0 {
		return ModelView{}, events.Invalid("model", "no model can be used yet; an administrator adds a connection first")
	}
	var found []ModelView
	for _, m := range usable {
		switch {
		case m.ID == ref, ref == "" && m.State.Default:
			return m, nil
		case m.Name == ref:
			found = append(found, m)
		}
	}
	switch {
	case ref == "":
		return usable[0], nil
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return ModelView{}, events.Invalid("model", "%q is on several connections; give the model's id", clip(ref, 100))
	}
	return ModelView{}, events.Invalid("model", "there is no model %q that you can use", clip(ref, 100))
}

// Connections lists the connections, oldest first.
func (s *Service) Connections(ctx context.Context) ([]ConnectionView, error) {
	var out []ConnectionView
	err := s.instance.view(ctx, events.InstanceStream, func(in *Instance, _ events.Position) error {
		for _, c := range in.Connections {
			out = append(out, *c)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b ConnectionView) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return out, err
}

// Connection gives one connection.
func (s *Service) Connection(ctx context.Context, id string) (ConnectionView, error) {
	all, err := s.Connections(ctx)
	if err != nil {
		return ConnectionView{}, err
	}
	for _, c := range all {
		if c.ID == id {
			return c, nil
		}
	}
	return ConnectionView{}, fmt.Errorf("connection: %w", events.ErrNotFound)
}

// ConnectionKey gives a connection's key, "" when it has none.
func (s *Service) ConnectionKey(c ConnectionView) (string, error) {
	if !c.State.HasKey {
		return "", nil
	}
	belongs, key, err := s.storedKey(c.ID)
	if err == nil && belongs != origin(c.State.BaseURL) {
		return "", fmt.Errorf("the key is for another address than the connection's: %w", events.ErrConflict)
	}
	return key, err
}
