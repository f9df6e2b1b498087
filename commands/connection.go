package commands

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"lembas/events"
)

const (
	maxConnections = 100
	maxModels      = 2000 // of one endpoint; what it lists beyond is not taken
	maxKey         = 4096
)

// MinSecret is the shortest key, in bytes, that is looked for in what an endpoint
// sends: a shorter one ("none", "ollama") stands in ordinary text and names.
const MinSecret = 8

func connectionKeyName(id string) string { return "connection/" + id + "/key" }

// PatchConnection is what an administrator sets on a connection; nil is
// unchanged.
type PatchConnection struct {
	Name       *string
	BaseURL    *string
	APIKey     *string // "" removes the key
	Enabled    *bool
	Extensions *bool
}

// CreatedConnection answers CreateConnection.
type CreatedConnection struct {
	ID string `json:"id"`
}

// CreateConnection adds an endpoint. Its models come with RefreshConnection.
func (s *Service) CreateConnection(ctx context.Context, c Caller, cmd PatchConnection) (CreatedConnection, events.Result, error) {
	id := s.NewID()
	st, put, err := s.patchConnection(id, events.ConnectionState{Enabled: true}, cmd)
	if err != nil {
		return CreatedConnection{}, events.Result{}, err
	}
	return onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, CreatedConnection, error) {
		if len(in.Connections) >= maxConnections {
			return nil, nil, CreatedConnection{}, fmt.Errorf("%d connections exist already: %w", maxConnections, events.ErrConflict)
		}
		return []events.Payload{events.ConnectionCreated{Connection: id, State: st}}, put, CreatedConnection{ID: id}, nil
	})
}

// ChangeConnection changes an endpoint. A key never follows to another host:
// moving the address without a new key removes the old one.
func (s *Service) ChangeConnection(ctx context.Context, c Caller, id string, cmd PatchConnection) (events.Result, error) {
	_, res, err := onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, struct{}, error) {
		old, ok := in.Connections[id]
		if !ok {
			return nil, nil, struct{}{}, fmt.Errorf("connection: %w", events.ErrNotFound)
		}
		if cmd.BaseURL != nil && cmd.APIKey == nil && old.State.HasKey && !sameOrigin(old.State.BaseURL, *cmd.BaseURL) {
			return nil, nil, struct{}{}, events.Invalid("api_key", "the address moves to another host; give its key, or null for none")
		}
		st, put, err := s.patchConnection(id, old.State, cmd)
		if err != nil {
			return nil, nil, struct{}{}, err
		}
		return []events.Payload{events.ConnectionChanged{Connection: id, State: st}}, put, struct{}{}, nil
	})
	return res, err
}

func sameOrigin(a, b string) bool { return origin(a) == origin(strings.TrimSpace(b)) }

func (s *Service) patchConnection(id string, st events.ConnectionState, cmd PatchConnection) (events.ConnectionState, []events.Put, error) {
	set(&st.Enabled, cmd.Enabled)
	set(&st.Extensions, cmd.Extensions)
	if cmd.Name != nil {
		st.Name = oneLine(*cmd.Name)
	}
	if n := utf8.RuneCountInString(st.Name); n == 0 || n > MaxName {
		return st, nil, events.Invalid("name", "1 to %d characters", MaxName)
	}
	if cmd.BaseURL != nil {
		st.BaseURL = strings.TrimRight(strings.TrimSpace(*cmd.BaseURL), "/")
	}
	if err := checkBaseURL(st.BaseURL); err != nil {
		return st, nil, err
	}
	if cmd.APIKey == nil {
		return st, nil, nil
	}
	key := strings.TrimSpace(*cmd.APIKey)
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r == 0x7f || r > 0xff }) {
		return st, nil, events.Invalid("api_key", "at most %d printable characters", maxKey)
	}
	st.HasKey = key != ""
	var sealed []byte
	if st.HasKey {
		sealed = []byte(origin(st.BaseURL) + "\n" + key)
	}
	put, err := s.Secrets.Seal(connectionKeyName(id), sealed)
	return st, []events.Put{put}, err
}

// origin is the part of an address that a key belongs to. A key is kept
// together with it: state and key are two reads, and between them a reply must
// not send the new key to the old host.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// storedKey gives a connection's key and the origin it is for.
func (s *Service) storedKey(id string) (belongs, key string, err error) {
	b, err := s.Secrets.Open(connectionKeyName(id))
	if err != nil {
		return "", "", err
	}
	belongs, key, ok := strings.Cut(string(b), "\n")
	if !ok {
		return "", "", fmt.Errorf("%w: the key of a connection", events.ErrDamaged)
	}
	return belongs, key, nil
}

func checkBaseURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https", len(raw) > 2048:
		return events.Invalid("base_url", "must be an http or https address such as http://127.0.0.1:11434/v1")
	case u.User != nil:
		return events.Invalid("base_url", "must hold no user name or password; use the API key")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return events.Invalid("base_url", "must hold no ? or # part")
	}
	return nil
}

// RemoveConnection takes an endpoint, its models and its key away.
func (s *Service) RemoveConnection(ctx context.Context, c Caller, id string) (events.Result, error) {
	_, res, err := onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, struct{}, error) {
		if _, ok := in.Connections[id]; !ok {
			return nil, nil, struct{}{}, fmt.Errorf("connection: %w", events.ErrNotFound)
		}
		put, err := s.Secrets.Seal(connectionKeyName(id), nil)
		return []events.Payload{events.ConnectionRemoved{Connection: id}}, []events.Put{put}, struct{}{}, err
	})
	return res, err
}

// CheckConnection asks an endpoint for its models and changes nothing. The
// error is what a person reads.
func (s *Service) CheckConnection(ctx context.Context, id string) ([]Discovered, error) {
	c, err := s.Connection(ctx, id)
	if err != nil {
		return nil, err
	}
	key, err := s.ConnectionKey(c)
	if err != nil {
		return nil, err
	}
	found, err := s.Discover(ctx, c.State.BaseURL, key)
	if len(key) >= MinSecret { // an endpoint that makes the key a name must not bring it into the log
		found = slices.DeleteFunc(found, func(d Discovered) bool { return strings.Contains(d.Name, key) })
	}
	return found, err
}

// KnownSecrets gives the keys of all connections and the secrets of all tools,
// for masking them where an endpoint or a tool sends them back. Those that can be read are given with an error, too.
func (s *Service) KnownSecrets(ctx context.Context) ([]string, error) {
	all, err := s.Connections(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	var failed error
	for _, c := range all {
		if !c.State.HasKey {
			continue
		}
		_, key, err := s.storedKey(c.ID)
		failed = errors.Join(failed, err)
		if key != "" {
			out = append(out, key)
		}
	}
	for _, of := range []func(context.Context) ([]string, error){s.toolSecrets, s.serverSecrets, s.searchSecrets} {
		more, err := of(ctx)
		out, failed = append(out, more...), errors.Join(failed, err)
	}
	return out, failed
}

func (s *Service) searchSecrets(context.Context) ([]string, error) {
	key, err := s.searchSecret()
	if key == "" {
		return nil, err
	}
	return []string{key}, err
}

// RefreshConnection asks an endpoint for its models and records what is new and
// what is gone. An endpoint that is down is recorded too: the trouble comes back
// as text, not as an error. ErrConflict when the address was changed meanwhile.
func (s *Service) RefreshConnection(ctx context.Context, c Caller, id string) (trouble string, err error) {
	c.Key = ""
	asked, err := s.Connection(ctx, id)
	if err != nil {
		return "", err
	}
	found, err := s.CheckConnection(ctx, id)
	switch {
	case ctx.Err() != nil: // who asked went away, which is no trouble of the endpoint
		return "", ctx.Err()
	case errors.Is(err, events.ErrNotFound):
		return "", err
	case err != nil:
		trouble = clip(err.Error(), 500)
	}
	_, _, err = onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, struct{}, error) {
		now, ok := in.Connections[id]
		if !ok {
			return nil, nil, struct{}{}, fmt.Errorf("connection: %w", events.ErrNotFound)
		}
		if now.State.BaseURL != asked.State.BaseURL {
			return nil, nil, struct{}{}, fmt.Errorf("the address was changed while its models were read; try again: %w", events.ErrConflict)
		}
		return refresh(in, id, found, trouble, s.NewID), nil, struct{}{}, nil
	})
	return trouble, err
}

func refresh(in *Instance, id string, found []Discovered, trouble string, newID func() string) []events.Payload {
	out := []events.Payload{events.ConnectionRefreshed{Connection: id, Models: len(found), Error: trouble}}
	if trouble != "" {
		return out
	}
	known, position := map[string]*ModelView{}, 0
	for _, m := range in.Models {
		if m.Connection == id {
			known[m.Name] = m
		}
		if !m.Gone {
			position = max(position, m.State.Position)
		}
	}
	listed := map[string]bool{}
	for _, d := range found[:min(len(found), maxModels)] {
		if d.Name == "" || len(d.Name) > 500 || listed[d.Name] {
			continue
		}
		listed[d.Name] = true
		if m := known[d.Name]; m != nil && !m.Gone {
			continue
		} else if m != nil { // back again, with what was set on it
			out = append(out, events.ModelAdded{Model: m.ID, Connection: id, Name: m.Name, State: m.State})
			continue
		}
		position++
		out = append(out, events.ModelAdded{Model: newID(), Connection: id, Name: d.Name,
			State: events.ModelState{Enabled: true, Position: position, ContextLength: max(0, d.ContextLength)}})
	}
	var gone []string
	for name, m := range known {
		if !m.Gone && !listed[name] {
			gone = append(gone, m.ID)
		}
	}
	slices.Sort(gone)
	for _, g := range gone {
		out = append(out, events.ModelRemoved{Model: g})
	}
	return out
}
