package commands

import (
	"time"

	"lembas/events"
)

// ServerView is an MCP server as it stands, less its secrets.
type ServerView struct {
	ID      string
	State   events.ServerState
	Created time.Time
	Listed  time.Time // of the last look at its tools
	Error   string    // of that look
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
		in.Servers[p.Server] = &ServerView{ID: p.Server, State: p.State, Created: e.Time, Reviewed: map[string]string{}}
	case events.ServerChanged:
		if v := in.Servers[p.Server]; v != nil {
			v.State = p.State
		}
	case events.ServerListed:
		if v := in.Servers[p.Server]; v != nil {
			v.Listed, v.Error = e.Time, p.Error
			if p.Error == "" {
				v.Tools = p.Tools
			}
		}
	case events.ServerReviewed:
		if v := in.Servers[p.Server]; v != nil {
			for name, digest := range p.Digests {
				v.Reviewed[name] = digest
			}
		}
	case events.ServerRemoved:
		delete(in.Servers, p.Server)
	}
}
