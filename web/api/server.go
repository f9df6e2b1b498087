package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"lembas/commands"
	"lembas/web/request"
)

// server is an MCP server, less its secrets.
type server struct {
	ID       string     `json:"id"`
	Slug     string     `json:"slug"` // the start of its tools' offered names
	Name     string     `json:"name"`
	URL      string     `json:"url"`
	Headers  []header   `json:"headers"`
	Guidance string     `json:"guidance"`
	Risk     string     `json:"risk"` // of all its tools: read, write or execute
	Enabled  bool       `json:"enabled"`
	Timeout  int        `json:"timeout"` // seconds of a call
	Created  time.Time  `json:"created"`
	Listed   *time.Time `json:"listed,omitempty"`
	Error    string     `json:"error,omitempty"` // of the last look at its tools
	Held     int        `json:"held"`            // tools that wait for a look
	// Off names tools that are not offered.
	Off   []string     `json:"off"`
	Tools []serverTool `json:"tools"`
}

// serverTool is one tool as its server describes it: untrusted text.
type serverTool struct {
	Name        string          `json:"name"` // the server's own
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	Digest      string          `json:"digest"`
	Off         bool            `json:"off"`
	// Held says that it is not offered until somebody looked at it as it is now.
	Held bool `json:"held"`
}

func serverOf(v commands.ServerView) server {
	st := v.State
	out := server{ID: v.ID, Slug: st.Slug, Name: st.Name, URL: st.URL, Headers: []header{}, Guidance: st.Guidance, Risk: st.Risk, Enabled: st.Enabled,
		Timeout: st.Timeout, Created: v.Created, Error: v.Error, Off: append([]string{}, st.Off...), Tools: []serverTool{}}
	if !v.Listed.IsZero() {
		out.Listed = &v.Listed
	}
	for _, h := range st.Headers {
		out.Headers = append(out.Headers, header(h))
	}
	for _, t := range v.Tools {
		x := serverTool{Name: t.Name, Title: t.Title, Description: t.Description, Schema: t.Schema, Digest: t.Digest,
			Off: slices.Contains(st.Off, t.Name), Held: v.Held(t)}
		if x.Held {
			out.Held++
		}
		out.Tools = append(out.Tools, x)
	}
	return out
}

// Servers lists the MCP servers, oldest first, without their secrets.
func (a *API) Servers(w http.ResponseWriter, r *http.Request) error {
	all, err := a.Service.Servers(r.Context())
	if err != nil {
		return err
	}
	var out []server
	for _, v := range all {
		out = append(out, serverOf(v))
	}
	p, err := page(r, out, func(v server) string { return v.ID })
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, p)
}

// Server gives one MCP server with its tools.
func (a *API) Server(w http.ResponseWriter, r *http.Request) error {
	return a.server(w, r, http.StatusOK, id(r))
}

func (a *API) server(w http.ResponseWriter, r *http.Request, status int, id string) error {
	v, err := a.Service.Server(r.Context(), id)
	if err != nil {
		return err
	}
	return request.JSON(w, status, serverOf(v))
}

type patchServer struct {
	Slug     request.Optional[string]        `json:"slug"`
	Name     request.Optional[string]        `json:"name"`
	URL      request.Optional[string]        `json:"url"`
	Headers  request.Optional[[]patchHeader] `json:"headers"`
	Guidance request.Optional[string]        `json:"guidance"`
	Risk     request.Optional[string]        `json:"risk"`
	Enabled  request.Optional[bool]          `json:"enabled"`
	Off      request.Optional[[]string]      `json:"off"`
	Timeout  request.Optional[int]           `json:"timeout"`
	// Command is what other products start a local server with. It is refused.
	Command request.Optional[any] `json:"command"`
}

func (p patchServer) command() commands.PatchServer {
	cmd := commands.PatchServer{Slug: p.Slug.Pointer(), Name: p.Name.Pointer(), URL: p.URL.Pointer(), Headers: headersOf(p.Headers),
		Guidance: p.Guidance.Pointer(), Risk: p.Risk.Pointer(), Enabled: p.Enabled.Pointer(), Off: p.Off.Pointer(), Timeout: p.Timeout.Pointer()}
	if p.Command.Set {
		cmd.Command = new(string)
	}
	return cmd
}

// CreateServer adds an MCP server and asks it for its tools. One that is down
// is added all the same, with the reason.
func (a *API) CreateServer(w http.ResponseWriter, r *http.Request) error {
	var in patchServer
	if err := request.Read(r, &in); err != nil {
		return err
	}
	made, _, err := a.Service.CreateServer(r.Context(), request.Caller(r), in.command())
	if err != nil {
		return err
	}
	return a.listed(w, r, http.StatusCreated, made.ID)
}

// RefreshServer asks an MCP server for its tools again.
func (a *API) RefreshServer(w http.ResponseWriter, r *http.Request) error {
	return a.listed(w, r, http.StatusOK, id(r))
}

// listed goes on when the client leaves: what the server said is recorded.
func (a *API) listed(w http.ResponseWriter, r *http.Request, status int, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), refreshTime)
	defer cancel()
	if _, err := a.Service.RefreshServer(ctx, request.Caller(r), id); err != nil {
		return err
	}
	return a.server(w, r, status, id)
}

// PatchServer changes an MCP server.
func (a *API) PatchServer(w http.ResponseWriter, r *http.Request) error {
	var in patchServer
	if err := request.Read(r, &in); err != nil {
		return err
	}
	if _, err := a.Service.ChangeServer(r.Context(), request.Caller(r), id(r), in.command()); err != nil {
		return err
	}
	return a.Server(w, r)
}

// DeleteServer takes an MCP server and its tools away.
func (a *API) DeleteServer(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.Service.RemoveServer(r.Context(), request.Caller(r), id(r)); err != nil {
		return err
	}
	return noContent(w)
}

// reviewServer is what was looked at: the digests of tools by their own names.
type reviewServer struct {
	Digests map[string]string `json:"digests"`
}

// ReviewServer offers tools again that were held.
func (a *API) ReviewServer(w http.ResponseWriter, r *http.Request) error {
	var in reviewServer
	if err := request.Read(r, &in); err != nil {
		return err
	}
	if _, err := a.Service.ReviewServer(r.Context(), request.Caller(r), id(r), in.Digests); err != nil {
		return err
	}
	return a.Server(w, r)
}
