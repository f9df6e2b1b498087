package commands

import (
	"time"

	"lembas/events"
)

// CustomView is an HTTP tool as it stands, less its secrets.
type CustomView struct {
	ID      string
	State   events.CustomState
	Created time.Time
}

func (in *Instance) applyCustom(e *events.Envelope, p events.Payload) {
	switch p := p.(type) {
	case events.CustomAdded:
		in.Tools[p.Tool] = &CustomView{ID: p.Tool, State: p.State, Created: e.Time}
	case events.CustomChanged:
		if t := in.Tools[p.Tool]; t != nil {
			t.State = p.State
		}
	case events.CustomRemoved:
		delete(in.Tools, p.Tool)
	}
}
