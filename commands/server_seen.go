package commands

import (
	"context"

	"lembas/events"
)

// SeenTools gives a server's tools as an administrator last looked at them, by
// the server's own names: what a held tool is compared with. A tool that nobody
// looked at is not in it. It reads the instance's stream from its beginning.
func (s *Service) SeenTools(ctx context.Context, id string) (map[string]events.ServerTool, error) {
	listed, seen := map[string]events.ServerTool{}, map[string]events.ServerTool{}
	for e, err := range s.Log.ReadStream(ctx, events.InstanceStream, 0) {
		if err != nil {
			return nil, err
		}
		p, err := events.Decode(&e)
		if err != nil {
			return nil, err
		}
		switch p := p.(type) {
		case events.ServerListed:
			if p.Server != id || p.Error != "" {
				continue
			}
			for _, t := range p.Tools {
				listed[t.Name] = t
			}
		case events.ServerReviewed:
			if p.Server != id {
				continue
			}
			for name := range p.Digests { // only what was listed then is ever reviewed
				seen[name] = listed[name]
			}
		}
	}
	return seen, nil
}
