package commands

import (
	"errors"
	"strings"
	"testing"
)

func TestConnectionsAndTheirModels(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann := h.register(t, "ann@example.test")
	id := h.connect(t, ann)
	names := func() (out []string) {
		models, err := h.Models(ctx, true)
		check(t, err)
		for _, m := range models {
			out = append(out, m.Name)
		}
		return out
	}
	if got := strings.Join(names(), " "); got != "small large" {
		t.Fatalf("models %q", got)
	}
	large, err := h.ResolveModel(ctx, "large")
	check(t, err)
	if large.State.ContextLength != 8192 {
		t.Errorf("context length %d", large.State.ContextLength)
	}
	yes, zero := true, 0
	_, err = h.ChangeModel(ctx, ann, large.ID, PatchModel{Default: &yes, Position: &zero})
	check(t, err)
	if got := strings.Join(names(), " "); got != "large small" {
		t.Errorf("after the move: %q", got)
	}
	if m, err := h.ResolveModel(ctx, ""); err != nil || m.ID != large.ID {
		t.Errorf("default %v, %v", m.Name, err)
	}
	h.found = []Discovered{{Name: "small"}, {Name: "new"}, {Name: "new"}, {Name: ""}}
	_, err = h.RefreshConnection(ctx, ann, id)
	check(t, err)
	if got := strings.Join(names(), " "); got != "small new" {
		t.Errorf("after the list changed: %q", got)
	}
	h.found = append(h.found, Discovered{Name: "large"})
	_, err = h.RefreshConnection(ctx, ann, id)
	check(t, err)
	if m, err := h.ResolveModel(ctx, "large"); err != nil || m.ID != large.ID {
		t.Errorf("a model that came back has another id: %v, %v", m, err)
	}
	h.down = errors.New("connection refused")
	trouble, err := h.RefreshConnection(ctx, ann, id)
	if err != nil || trouble == "" || len(names()) != 3 {
		t.Errorf("an endpoint that is down: %q, %v, %v", trouble, err, names())
	}
	elsewhere := "https://evil.example.test/v1"
	old, err := h.Connection(ctx, id)
	check(t, err)
	newKey := "sk-2"
	_, err = h.ChangeConnection(ctx, ann, id, PatchConnection{BaseURL: &elsewhere, APIKey: &newKey})
	check(t, err)
	if key, err := h.ConnectionKey(old); err == nil { // read before the change, used after it
		t.Errorf("the new key %q would go to the old host", key)
	}
	back, oldKey := "http://127.0.0.1:9/v1", "sk-1"
	_, err = h.ChangeConnection(ctx, ann, id, PatchConnection{BaseURL: &back, APIKey: &oldKey})
	check(t, err)
	_, err = h.ChangeConnection(ctx, ann, id, PatchConnection{BaseURL: &elsewhere})
	wantField(t, err, "api_key")
	none := ""
	_, err = h.ChangeConnection(ctx, ann, id, PatchConnection{BaseURL: &elsewhere, APIKey: &none})
	check(t, err)
	if c, _ := h.Connection(ctx, id); c.State.HasKey {
		t.Error("the key followed to another host")
	}
	for e, err := range h.log.Read(ctx, 0) {
		check(t, err)
		if strings.Contains(string(e.Data), "sk-1") {
			t.Errorf("the key is in %s", e.Type)
		}
	}
}

func TestConnectionAddresses(t *testing.T) {
	for url, ok := range map[string]bool{
		"http://127.0.0.1:11434/v1": true, "https://api.example.test/v1/": true, "HTTP://host/v1": true,
		"": false, "ftp://host/": false, "javascript:alert(1)": false, "//host/v1": false, "host/v1": false,
		"http://": false, "http://u:p@host/v1": false, "http://host/v1?x=1": false, "http://host/v1#x": false,
		"http://host/" + strings.Repeat("x", 2100): false, "http://[::1": false,
	} {
		if err := checkBaseURL(strings.TrimRight(url, "/")); (err == nil) != ok {
			t.Errorf("%q: %v", url, err)
		}
	}
}
