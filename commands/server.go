package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lembas/events"
)

const (
	maxServers         = 50
	maxServerHeaders   = 20
	maxServerOff       = 500
	maxServerGuidance  = 2000 // characters
	maxServerTimeout   = 600  // seconds
	serverTimeout      = 60   // seconds, where nothing else is set
	maxServerToolName  = 256  // bytes of a tool's own name
	maxServerHeaderLen = 128  // bytes of a header's name
)

// ListTools asks an MCP server for its tools. What it gives is bounded and
// cleaned; the error is what a person reads.
type ListTools func(ctx context.Context, st events.ServerState, secrets map[string]string) ([]events.ServerTool, error)

// ServerView is an MCP server as it stands, less its secrets.
type ServerView struct {
	ID      string
	State   events.ServerState
	Created time.Time
	Changed time.Time // when it or what an administrator saw of its tools last changed
	Listed  time.Time // of the last look at its tools
	Error   string    // of that look
	Known   bool      // a look at its tools went well once
	Tools   []events.ServerTool
	// Reviewed are the digests that an administrator has seen, by tool. A tool
	// whose digest is another one is held.
	Reviewed map[string]string
}

// Held says whether a tool waits for an administrator to look at it again.
func (v *ServerView) Held(t events.ServerTool) bool { return v.Reviewed[t.Name] != t.Digest }

func (in *Instance) applyServer(e *events.Envelope, p events.Payload) {
	switch p := p.(type) {
	case events.ServerAdded:
		in.Servers[p.Server] = &ServerView{ID: p.Server, State: p.State, Created: e.Time, Changed: e.Time, Reviewed: map[string]string{}}
	case events.ServerChanged:
		if v := in.Servers[p.Server]; v != nil {
			v.State, v.Changed = p.State, e.Time
		}
	case events.ServerListed:
		if v := in.Servers[p.Server]; v != nil {
			v.Listed, v.Error = e.Time, p.Error
			if p.Error == "" {
				v.Tools, v.Known = p.Tools, true
			}
		}
	case events.ServerReviewed:
		if v := in.Servers[p.Server]; v != nil {
			v.Reviewed = maps.Clone(v.Reviewed) // a copy of the view keeps its own
			maps.Copy(v.Reviewed, p.Digests)
			v.Changed = e.Time
		}
	case events.ServerRemoved:
		delete(in.Servers, p.Server)
	}
}

// PatchServer is what an administrator sets on an MCP server; nil is unchanged.
type PatchServer struct {
	Slug     *string
	Name     *string
	URL      *string
	Headers  *[]PatchHeader // all of them
	Guidance *string
	Risk     *string
	Enabled  *bool
	Off      *[]string // all of them
	Timeout  *int      // seconds
	// Command is always refused, in words: nothing is started on this host.
	Command *string
}

// PatchHeader is a header of each request to the server. A secret one without a
// value keeps the value that is stored.
type PatchHeader struct {
	Name   string
	Value  *string
	Secret bool
}

// CreatedServer answers CreateServer.
type CreatedServer struct {
	ID string `json:"id"`
}

// CreateServer adds an MCP server. Its tools come with RefreshServer.
func (s *Service) CreateServer(ctx context.Context, c Caller, cmd PatchServer) (CreatedServer, events.Result, error) {
	id := s.NewID()
	return onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, CreatedServer, error) {
		if len(in.Servers) >= maxServers {
			return nil, nil, CreatedServer{}, fmt.Errorf("%d servers exist already: %w", maxServers, events.ErrConflict)
		}
		st, puts, err := s.patchServer(in, id, events.ServerState{Enabled: true, Risk: events.RiskWrite, Timeout: serverTimeout}, cmd)
		if err != nil {
			return nil, nil, CreatedServer{}, err
		}
		return []events.Payload{events.ServerAdded{Server: id, State: st}}, puts, CreatedServer{ID: id}, nil
	})
}

// ChangeServer changes an MCP server. A secret header never follows to another
// host: moving the address asks for its value again.
func (s *Service) ChangeServer(ctx context.Context, c Caller, id string, cmd PatchServer) (events.Result, error) {
	_, res, err := onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, struct{}, error) {
		old, ok := in.Servers[id]
		if !ok {
			return nil, nil, struct{}{}, fmt.Errorf("server: %w", events.ErrNotFound)
		}
		st, puts, err := s.patchServer(in, id, old.State, cmd)
		if err != nil {
			return nil, nil, struct{}{}, err
		}
		return []events.Payload{events.ServerChanged{Server: id, State: st}}, puts, struct{}{}, nil
	})
	return res, err
}

// RemoveServer takes an MCP server, its tools and its secrets away.
func (s *Service) RemoveServer(ctx context.Context, c Caller, id string) (events.Result, error) {
	_, res, err := onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, struct{}, error) {
		if _, ok := in.Servers[id]; !ok {
			return nil, nil, struct{}{}, fmt.Errorf("server: %w", events.ErrNotFound)
		}
		put, err := s.Secrets.Seal(serverHeadersName(id), nil)
		return []events.Payload{events.ServerRemoved{Server: id}}, []events.Put{put}, struct{}{}, err
	})
	return res, err
}

func (s *Service) patchServer(in *Instance, id string, st events.ServerState, cmd PatchServer) (events.ServerState, []events.Put, error) {
	if cmd.Command != nil {
		return st, nil, events.Invalid("command", "no program is started on this host; give the address (url) of a server that is reached over HTTP")
	}
	before := st
	st.Headers, st.Off = slices.Clone(st.Headers), slices.Clone(st.Off)
	set(&st.Enabled, cmd.Enabled)
	set(&st.Timeout, cmd.Timeout)
	set(&st.Risk, cmd.Risk)
	set(&st.Off, cmd.Off)
	set(&st.Slug, cmd.Slug)
	if cmd.Name != nil {
		st.Name = oneLine(*cmd.Name)
	}
	if cmd.Guidance != nil {
		st.Guidance = strings.TrimSpace(*cmd.Guidance)
	}
	if cmd.URL != nil {
		st.URL = strings.TrimSpace(*cmd.URL)
	}
	if err := checkServer(st); err != nil {
		return st, nil, err
	}
	if err := freeSlug(in, id, st.Slug); err != nil {
		return st, nil, err
	}
	return s.patchServerHeaders(id, before, st, cmd.Headers)
}

func checkServer(st events.ServerState) error {
	switch n := utf8.RuneCountInString(st.Name); {
	case n == 0 || n > MaxName:
		return events.Invalid("name", "1 to %d characters", MaxName)
	case utf8.RuneCountInString(st.Guidance) > maxServerGuidance || !utf8.ValidString(st.Guidance):
		return events.Invalid("guidance", "at most %d characters", maxServerGuidance)
	case !slices.Contains([]string{events.RiskRead, events.RiskWrite, events.RiskExecute}, st.Risk):
		return events.Invalid("risk", "must be read, write or execute")
	case st.Timeout < 1 || st.Timeout > maxServerTimeout:
		return events.Invalid("timeout", "1 to %d seconds", maxServerTimeout)
	case len(st.Off) > maxServerOff:
		return events.Invalid("off", "at most %d tools", maxServerOff)
	}
	for _, name := range st.Off {
		if name == "" || len(name) > maxServerToolName || !utf8.ValidString(name) {
			return events.Invalid("off", "each name has 1 to %d bytes", maxServerToolName)
		}
	}
	return cmp.Or(checkServerSlug(st.Slug), checkServerURL(st.URL))
}

func checkServerSlug(slug string) error {
	bad := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' }
	if slug == "" || len(slug) > 32 || strings.ContainsFunc(slug, bad) {
		return events.Invalid("slug", "1 to 32 of a-z, 0-9, _ and -")
	}
	return nil
}

// freeSlug also keeps apart what would give two servers the same tool names: a_b
// with a tool c, and a with a tool b_c. An "always" for one must not meet the
// other.
func freeSlug(in *Instance, id, slug string) error {
	for other, v := range in.Servers {
		if other == id {
			continue
		}
		if s := v.State.Slug; s == slug || strings.HasPrefix(s, slug+"_") || strings.HasPrefix(slug, s+"_") {
			return fmt.Errorf("slug: %q is taken by %q, whose tools could have the same names; choose another one: %w", s, v.State.Name, events.ErrConflict)
		}
	}
	return nil
}

func checkServerURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https", len(raw) > 2048:
		return events.Invalid("url", "must be an http or https address such as https://tools.example.org/mcp; programs are not started here")
	case u.User != nil:
		return events.Invalid("url", "must hold no user name or password; use a secret header")
	case strings.Contains(raw, "#"):
		return events.Invalid("url", "must hold no # part")
	}
	return nil
}

// Servers lists the MCP servers, oldest first.
func (s *Service) Servers(ctx context.Context) ([]ServerView, error) {
	var out []ServerView
	err := s.instance.view(ctx, events.InstanceStream, func(in *Instance, _ events.Position) error {
		for _, v := range in.Servers {
			out = append(out, *v)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b ServerView) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return out, err
}

// Server gives one MCP server.
func (s *Service) Server(ctx context.Context, id string) (ServerView, error) {
	all, err := s.Servers(ctx)
	if err != nil {
		return ServerView{}, err
	}
	for _, v := range all {
		if v.ID == id {
			return v, nil
		}
	}
	return ServerView{}, fmt.Errorf("server: %w", events.ErrNotFound)
}

// RefreshServer asks an MCP server for its tools and records them. The first
// list that a person fetches counts as reviewed by them; what is new or changed
// later is held. A server that is down is recorded too: the trouble comes back as
// text, not as an error. ErrConflict when the address was changed meanwhile.
func (s *Service) RefreshServer(ctx context.Context, c Caller, id string) (trouble string, err error) {
	c.Key = ""
	asked, err := s.Server(ctx, id)
	if err != nil {
		return "", err
	}
	secrets, err := s.ServerSecrets(asked)
	if err != nil {
		return "", err
	}
	found, err := s.ListTools(ctx, asked.State, secrets)
	switch {
	case ctx.Err() != nil: // who asked went away, which is no trouble of the server
		return "", ctx.Err()
	case err != nil:
		trouble = clip(maskSecrets(oneLine(err.Error()), secrets), 500)
	}
	found = slices.DeleteFunc(found, func(t events.ServerTool) bool { return tellsSecret(t, secrets) })
	_, _, err = onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, struct{}, error) {
		now, ok := in.Servers[id]
		if !ok {
			return nil, nil, struct{}{}, fmt.Errorf("server: %w", events.ErrNotFound)
		}
		if now.State.URL != asked.State.URL {
			return nil, nil, struct{}{}, fmt.Errorf("the address was changed while its tools were read; try again: %w", events.ErrConflict)
		}
		return listed(now, c, found, trouble), nil, struct{}{}, nil
	})
	return trouble, err
}

func listed(v *ServerView, c Caller, found []events.ServerTool, trouble string) []events.Payload {
	if trouble != "" {
		return []events.Payload{events.ServerListed{Server: v.ID, Tools: []events.ServerTool{}, Error: trouble}}
	}
	if found == nil {
		found = []events.ServerTool{}
	}
	out := []events.Payload{events.ServerListed{Server: v.ID, Tools: found}}
	if !v.Known && c.User != "" && len(found) > 0 {
		seen := map[string]string{}
		for _, t := range found {
			seen[t.Name] = t.Digest
		}
		out = append(out, events.ServerReviewed{Server: v.ID, Digests: seen})
	}
	return out
}

// ReviewServer says that an administrator looked at tools as they are now, by
// the server's own names. ErrConflict when one of them is another one by now.
func (s *Service) ReviewServer(ctx context.Context, c Caller, id string, digests map[string]string) (events.Result, error) {
	_, res, err := onInstance(ctx, s, c, func(in *Instance) ([]events.Payload, []events.Put, struct{}, error) {
		v, ok := in.Servers[id]
		if !ok {
			return nil, nil, struct{}{}, fmt.Errorf("server: %w", events.ErrNotFound)
		}
		if len(digests) == 0 {
			return nil, nil, struct{}{}, events.Invalid("digests", "name the tools that were looked at")
		}
		present := map[string]string{}
		for _, t := range v.Tools {
			present[t.Name] = t.Digest
		}
		held := false
		for name, digest := range digests {
			if present[name] != digest || digest == "" {
				return nil, nil, struct{}{}, fmt.Errorf("tool %q changed since it was shown; look again: %w", clip(oneLine(name), 100), events.ErrConflict)
			}
			held = held || v.Reviewed[name] != digest
		}
		if !held {
			return nil, nil, struct{}{}, nil
		}
		return []events.Payload{events.ServerReviewed{Server: id, Digests: digests}}, nil, struct{}{}, nil
	})
	return res, err
}

// serverSecrets gives the secret header values of all MCP servers, for masking;
// of "Bearer X" and the like, the X. Those that can be read are given with an
// error, too.
func (s *Service) serverSecrets(ctx context.Context) ([]string, error) {
	all, err := s.Servers(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	var failed error
	for _, v := range all {
		stored, err := s.storedHeaders(v)
		failed = errors.Join(failed, err)
		for _, value := range stored.Headers {
			out = append(out, bare(value))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), failed
}

// tellsSecret says whether a tool's description holds one of the server's own
// secrets, which must not come into the log.
func tellsSecret(t events.ServerTool, secrets map[string]string) bool {
	text := t.Name + "\n" + t.Title + "\n" + t.Description
	if maskSecrets(text, secrets) != text {
		return true
	}
	quoted := map[string]string{} // as they stand in JSON
	for name, value := range secrets {
		b, err := json.Marshal(bare(value))
		if err != nil {
			return true
		}
		quoted[name] = strings.Trim(string(b), `"`)
	}
	return maskSecrets(string(t.Schema), quoted) != string(t.Schema)
}
