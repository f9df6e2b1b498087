package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"lembas/commands/tools/custom"
	"lembas/events"
)

func toolSecretName(id string) string { return "tool/" + id + "/headers" }

// patchToolHeaders gives the new list of headers and the values of its secret ones.
func (s *Service) patchToolHeaders(id string, old, st events.CustomState, patch []PatchHeader) ([]events.CustomHeader, map[string]string, error) {
	var out []events.CustomHeader
	secrets := map[string]string{}
	for _, p := range patch {
		h := events.CustomHeader{Name: strings.TrimSpace(p.Name), Secret: p.Secret}
		switch {
		case p.Value != nil && !h.Secret:
			h.Value = strings.TrimSpace(*p.Value)
		case p.Value != nil:
			value := strings.TrimSpace(*p.Value)
			if value == "" {
				continue
			}
			if err := custom.CheckSecret(h.Name, value); err != nil {
				return nil, nil, err
			}
			secrets[http.CanonicalHeaderKey(h.Name)] = value
		case !h.Secret:
			h.Value = headerOf(old, h.Name).Value
		default:
			value, err := s.keptSecret(id, old, st, h.Name)
			if err != nil {
				return nil, nil, err
			}
			secrets[http.CanonicalHeaderKey(h.Name)] = value
		}
		out = append(out, h)
	}
	return out, secrets, nil
}

// keptSecret is the value that a patch leaves unchanged.
func (s *Service) keptSecret(id string, old, st events.CustomState, name string) (string, error) {
	if !headerOf(old, name).Secret {
		return "", events.Invalid("headers", "the secret header %s needs a value", clip(name, 50))
	}
	if !sameToolOrigin(old, st) {
		return "", errMoved()
	}
	kept, err := s.ToolSecrets(CustomView{ID: id, State: old})
	if err != nil {
		return "", err
	}
	value, ok := kept[http.CanonicalHeaderKey(name)]
	if !ok {
		return "", events.Invalid("headers", "the value of the secret header %s is gone; give it again", clip(name, 50))
	}
	return value, nil
}

func headerOf(st events.CustomState, name string) events.CustomHeader {
	for _, h := range st.Headers {
		if strings.EqualFold(h.Name, name) {
			return h
		}
	}
	return events.CustomHeader{}
}

func hasSecrets(st events.CustomState) bool {
	return slices.ContainsFunc(st.Headers, func(h events.CustomHeader) bool { return h.Secret })
}

func sameToolOrigin(a, b events.CustomState) bool {
	x, errX := custom.Origin(a.URL)
	y, errY := custom.Origin(b.URL)
	return errX == nil && errY == nil && x == y
}

// sealTool keeps the values together with the origin they are for, as those of
// a server are.
func (s *Service) sealTool(id string, st events.CustomState, secrets map[string]string) (events.Put, error) {
	if len(secrets) == 0 {
		return s.Secrets.Seal(toolSecretName(id), nil)
	}
	belongs, err := custom.Origin(st.URL)
	if err != nil {
		return events.Put{}, err
	}
	b, err := json.Marshal(storedHeaders{belongs, secrets})
	if err != nil {
		return events.Put{}, err
	}
	return s.Secrets.Seal(toolSecretName(id), b)
}

func (s *Service) storedToolHeaders(id string) (storedHeaders, error) {
	var out storedHeaders
	b, err := s.Secrets.Open(toolSecretName(id))
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return out, fmt.Errorf("%w: the secrets of a tool", events.ErrDamaged)
	}
	return out, nil
}

// ToolSecrets gives the values of a tool's secret headers by canonical name, nil
// for one that has none. ErrConflict when they are for another origin than the
// view's.
func (s *Service) ToolSecrets(t CustomView) (map[string]string, error) {
	if !hasSecrets(t.State) {
		return nil, nil
	}
	stored, err := s.storedToolHeaders(t.ID)
	if err != nil {
		return nil, err
	}
	if belongs, err := custom.Origin(t.State.URL); err != nil || belongs != stored.Origin {
		return nil, fmt.Errorf("the secrets are for another address than the tool's: %w", events.ErrConflict)
	}
	return stored.Headers, nil
}

// toolSecrets gives what may not be shown of all tools' secrets. Those that can
// be read are given with an error, too.
func (s *Service) toolSecrets(ctx context.Context) ([]string, error) {
	all, err := s.CustomTools(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	var failed error
	for _, t := range all {
		if !hasSecrets(t.State) {
			continue
		}
		stored, err := s.storedToolHeaders(t.ID)
		failed = errors.Join(failed, err)
		for _, value := range stored.Headers {
			out = append(out, custom.Spellings(value)...)
		}
	}
	return out, failed
}
