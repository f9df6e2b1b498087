package api

import (
	"context"
	"net/http"
	"time"

	"lembas/commands"
	"lembas/web/request"
)

// refreshTime bounds asking an endpoint for its models and recording what it
// said; Discover has a shorter bound of its own.
const refreshTime = 40 * time.Second

type connection struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	BaseURL    string     `json:"base_url"`
	HasKey     bool       `json:"has_key"`
	Enabled    bool       `json:"enabled"`
	Extensions bool       `json:"extensions"`
	Created    time.Time  `json:"created"`
	Refreshed  *time.Time `json:"refreshed,omitempty"`
	Error      string     `json:"error,omitempty"` // of the last look at its models
}

func connectionOf(c commands.ConnectionView) connection {
	out := connection{ID: c.ID, Name: c.State.Name, BaseURL: c.State.BaseURL, HasKey: c.State.HasKey,
		Enabled: c.State.Enabled, Extensions: c.State.Extensions, Created: c.Created, Error: c.Error}
	if !c.Refreshed.IsZero() {
		out.Refreshed = &c.Refreshed
	}
	return out
}

// Connections lists the connections, oldest first, without their keys.
func (a *API) Connections(w http.ResponseWriter, r *http.Request) error {
	all, err := a.Service.Connections(r.Context())
	if err != nil {
		return err
	}
	var out []connection
	for _, c := range all {
		out = append(out, connectionOf(c))
	}
	p, err := page(r, out, func(c connection) string { return c.ID })
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, p)
}

// Connection gives one connection.
func (a *API) Connection(w http.ResponseWriter, r *http.Request) error {
	c, err := a.Service.Connection(r.Context(), id(r))
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, connectionOf(c))
}

type patchConnection struct {
	Name       request.Optional[string] `json:"name"`
	BaseURL    request.Optional[string] `json:"base_url"`
	APIKey     request.Optional[string] `json:"api_key"` // null takes the key away
	Enabled    request.Optional[bool]   `json:"enabled"`
	Extensions request.Optional[bool]   `json:"extensions"`
}

func (p patchConnection) command() commands.PatchConnection {
	return commands.PatchConnection{Name: p.Name.Pointer(), BaseURL: p.BaseURL.Pointer(), APIKey: p.APIKey.Pointer(),
		Enabled: p.Enabled.Pointer(), Extensions: p.Extensions.Pointer()}
}

type refreshed struct {
	ID     string  `json:"id"`
	Models []model `json:"models"`
	Error  string  `json:"error,omitempty"`
}

// CreateConnection adds an endpoint and asks it for its models. One that is
// down is added all the same, with the reason.
func (a *API) CreateConnection(w http.ResponseWriter, r *http.Request) error {
	var in patchConnection
	if err := request.Read(r, &in); err != nil {
		return err
	}
	made, _, err := a.Service.CreateConnection(r.Context(), request.Caller(r), in.command())
	if err != nil {
		return err
	}
	out, err := a.refresh(r, made.ID)
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusCreated, out)
}

// RefreshConnection asks an endpoint for its models again.
func (a *API) RefreshConnection(w http.ResponseWriter, r *http.Request) error {
	out, err := a.refresh(r, id(r))
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, out)
}

// refresh goes on when the client leaves: what the endpoint said is recorded.
func (a *API) refresh(r *http.Request, connection string) (refreshed, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), refreshTime)
	defer cancel()
	trouble, err := a.Service.RefreshConnection(ctx, request.Caller(r), connection)
	if err != nil {
		return refreshed{}, err
	}
	all, err := a.Service.Models(ctx, false)
	if err != nil {
		return refreshed{}, err
	}
	out := refreshed{ID: connection, Models: []model{}, Error: trouble}
	for _, m := range all {
		if m.Connection == connection {
			out.Models = append(out.Models, modelOf(m, true))
		}
	}
	return out, nil
}

// PatchConnection changes an endpoint.
func (a *API) PatchConnection(w http.ResponseWriter, r *http.Request) error {
	var in patchConnection
	if err := request.Read(r, &in); err != nil {
		return err
	}
	if _, err := a.Service.ChangeConnection(r.Context(), request.Caller(r), id(r), in.command()); err != nil {
		return err
	}
	return a.Connection(w, r)
}

// DeleteConnection takes an endpoint and its models away.
func (a *API) DeleteConnection(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.Service.RemoveConnection(r.Context(), request.Caller(r), id(r)); err != nil {
		return err
	}
	return noContent(w)
}
