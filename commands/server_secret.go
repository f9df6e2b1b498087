package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"lembas/events"
)

func serverHeadersName(id string) string { return "server/" + id + "/headers" }

// storedHeaders is what the vault keeps of a server: the values of its secret
// headers and the origin that they are for. State and values are two reads, and
// between them a call must not send new values to the old host.
type storedHeaders struct {
	Origin  string            `json:"origin"`
	Headers map[string]string `json:"headers"` // by canonical name
}

func (s *Service) storedHeaders(v ServerView) (storedHeaders, error) {
	var out storedHeaders
	if !slices.ContainsFunc(v.State.Headers, func(h events.ServerHeader) bool { return h.Secret }) {
		return out, nil
	}
	b, err := s.Secrets.Open(serverHeadersName(v.ID))
	if errors.Is(err, events.ErrNotFound) { // an older look at the state, or a vault that was lost
		return out, fmt.Errorf("the values of the secret headers are not there; give them again: %w", events.ErrConflict)
	}
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return storedHeaders{}, fmt.Errorf("%w: the headers of a server", events.ErrDamaged)
	}
	return out, nil
}

// ServerSecrets gives the values of a server's secret headers by canonical
// name. ErrConflict when they are for another address than the server's.
func (s *Service) ServerSecrets(v ServerView) (map[string]string, error) {
	stored, err := s.storedHeaders(v)
	if err != nil {
		return nil, err
	}
	if stored.Headers != nil && stored.Origin != origin(v.State.URL) {
		return nil, fmt.Errorf("the secret headers are for another address than the server's: %w", events.ErrConflict)
	}
	return stored.Headers, nil
}

// takenHeaders belong to the protocol or to the connection.
var takenHeaders = []string{"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host", "Keep-Alive",
	"Last-Event-Id", "Proxy-Authorization", "Proxy-Connection", "Referer", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// patchServerHeaders gives st its headers and the vault their secret values.
func (s *Service) patchServerHeaders(id string, before, st events.ServerState, patch *[]PatchHeader) (events.ServerState, []events.Put, error) {
	moved := origin(before.URL) != origin(st.URL)
	if patch == nil {
		if moved && slices.ContainsFunc(st.Headers, func(h events.ServerHeader) bool { return h.Secret }) {
			return st, nil, events.Invalid("headers", "the address moves to another host; give the values of its secret headers, or take them away")
		}
		return st, nil, nil
	}
	if len(*patch) > maxServerHeaders {
		return st, nil, events.Invalid("headers", "at most %d", maxServerHeaders)
	}
	old, err := s.storedHeaders(ServerView{ID: id, State: before})
	if err != nil && !errors.Is(err, events.ErrConflict) && !errors.Is(err, events.ErrDamaged) {
		return st, nil, err
	}
	if moved {
		old.Headers = nil
	}
	next := storedHeaders{Origin: origin(st.URL), Headers: map[string]string{}}
	st.Headers = nil
	for _, p := range *patch {
		h, err := patchHeader(p, old.Headers, next.Headers)
		if err != nil {
			return st, nil, err
		}
		if slices.ContainsFunc(st.Headers, func(o events.ServerHeader) bool { return o.Name == h.Name }) {
			return st, nil, events.Invalid("headers", "%s is there twice", h.Name)
		}
		st.Headers = append(st.Headers, h)
	}
	var plain []byte
	if len(next.Headers) > 0 {
		if plain, err = json.Marshal(next); err != nil {
			return st, nil, err
		}
	}
	put, err := s.Secrets.Seal(serverHeadersName(id), plain)
	return st, []events.Put{put}, err
}

// patchHeader reads one header; a secret value goes to next.
func patchHeader(p PatchHeader, old, next map[string]string) (events.ServerHeader, error) {
	name := textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(p.Name))
	if !headerName(name) {
		return events.ServerHeader{}, events.Invalid("headers", "a name has 1 to %d letters, digits and -", maxServerHeaderLen)
	}
	if slices.Contains(takenHeaders, name) || strings.HasPrefix(name, "Mcp-") {
		return events.ServerHeader{}, events.Invalid("headers", "%s is set by the connection itself", name)
	}
	h := events.ServerHeader{Name: name, Secret: p.Secret}
	value, kept := "", false
	switch {
	case p.Value != nil:
		value = strings.TrimSpace(*p.Value)
	case p.Secret:
		value, kept = old[name]
		if !kept {
			return h, events.Invalid("headers", "give a value for %s", name)
		}
	}
	if value == "" || len(value) > maxKey || strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r == 0x7f || r > 0xff }) {
		return h, events.Invalid("headers", "the value of %s must have 1 to %d printable characters", name, maxKey)
	}
	switch {
	case p.Secret:
		next[name] = value
	case name == "Authorization" || name == "Cookie" || name == "Proxy-Authorization":
		return h, events.Invalid("headers", "%s must be a secret", name)
	default:
		h.Value = value
	}
	return h, nil
}

// headerName accepts what net/http accepts, less the odd characters.
func headerName(s string) bool {
	bad := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	return s != "" && len(s) <= maxServerHeaderLen && !strings.ContainsFunc(s, bad) && http.CanonicalHeaderKey(s) == s
}

// bare is a header's value less the scheme in front of its secret.
func bare(value string) string {
	scheme, token, ok := strings.Cut(value, " ")
	if ok && len(scheme) <= 10 && len(token) >= MinSecret {
		return strings.TrimSpace(token)
	}
	return value
}

// maskSecrets takes a server's own secrets out of a text.
func maskSecrets(text string, secrets map[string]string) string {
	for _, value := range secrets {
		if v := bare(value); len(v) >= MinSecret {
			text = strings.ReplaceAll(text, v, "••••")
		}
	}
	return text
}
