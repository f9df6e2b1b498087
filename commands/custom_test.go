package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lembas/events"
)

func ref[T any](v T) *T { return &v }

// weatherTool is a tool with one secret header.
func weatherTool() PatchTool {
	return PatchTool{Slug: ref("weather"), Label: ref(" The\nweather "), Description: ref("The weather of a place."), URL: ref("https://api.example.test/{{place}}"),
		Risk: ref(events.RiskRead), Parameters: &[]events.CustomParameter{{Name: "place", Type: "string", Required: true}},
		Headers: &[]PatchHeader{{Name: "Accept", Value: ref("text/plain")}, {Name: "authorization", Value: ref("Bearer tok-12345678"), Secret: true}}}
}

func (h *house) tool(t *testing.T, c Caller, cmd PatchTool) CustomView {
	t.Helper()
	made, _, err := h.CreateTool(t.Context(), c, cmd)
	check(t, err)
	return h.toolNow(t, made.ID)
}

func (h *house) toolNow(t *testing.T, id string) CustomView {
	t.Helper()
	v, err := h.CustomTool(t.Context(), id)
	check(t, err)
	return v
}

func (h *house) secretOf(t *testing.T, id string) string {
	t.Helper()
	secrets, err := h.ToolSecrets(h.toolNow(t, id))
	check(t, err)
	return secrets["Authorization"]
}

func TestToolsAsAnAdministratorSetsThem(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann := h.register(t, "ann@example.test")
	v := h.tool(t, ann, weatherTool())
	st := v.State
	if st.Label != "The weather" || !st.Enabled || st.Method != "GET" || st.Timeout != 30 || st.Risk != events.RiskRead {
		t.Errorf("state %+v", st)
	}
	if len(st.Headers) != 2 || st.Headers[0].Value != "text/plain" || !st.Headers[1].Secret || st.Headers[1].Value != "" {
		t.Errorf("headers %+v", st.Headers)
	}
	_, err := h.ChangeTool(ctx, ann, v.ID, PatchTool{Method: ref("post"), Enabled: ref(false)})
	check(t, err)
	if got := h.toolNow(t, v.ID).State; got.Method != "POST" || got.Enabled || got.Slug != "weather" || h.secretOf(t, v.ID) != "Bearer tok-12345678" {
		t.Errorf("after a change: %+v", got)
	}
	_, err = h.ChangeTool(ctx, ann, v.ID, PatchTool{Timeout: ref(0)})
	wantField(t, err, "timeout")
	_, err = h.ChangeTool(ctx, ann, "nobody", PatchTool{})
	wantErr(t, err, events.ErrNotFound)
	_, err = h.RemoveTool(ctx, ann, v.ID)
	check(t, err)
	if _, err := h.CustomTool(ctx, v.ID); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("after its removal: %v", err)
	}
	if _, err := h.Secrets.Open("tool/" + v.ID + "/headers"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("its secrets after its removal: %v", err)
	}
	_, err = h.RemoveTool(ctx, ann, v.ID)
	wantErr(t, err, events.ErrNotFound)
	for e, err := range h.log.Read(ctx, 0) {
		check(t, err)
		if strings.Contains(string(e.Data), "tok-12345678") {
			t.Errorf("the secret is in %s", e.Type)
		}
	}
}

func TestToolNamesAreUniqueAndNotBuiltIn(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann := h.register(t, "ann@example.test")
	first := h.tool(t, ann, weatherTool())
	_, _, err := h.CreateTool(ctx, ann, weatherTool())
	wantField(t, err, "slug")
	second := weatherTool()
	second.Slug = ref("weather2")
	other := h.tool(t, ann, second)
	_, err = h.ChangeTool(ctx, ann, other.ID, PatchTool{Slug: ref("weather")})
	wantField(t, err, "slug")
	_, err = h.ChangeTool(ctx, ann, first.ID, PatchTool{Slug: ref("weather"), Label: ref("Again")})
	check(t, err)
	draft := weatherTool()
	draft.Slug, draft.Headers = ref("draft"), &[]PatchHeader{{Name: "X-Key", Secret: true}}
	if _, _, err := h.CreateTool(ctx, ann, draft); !errors.Is(err, events.ErrInvalid) || !strings.Contains(err.Error(), "needs a value") {
		t.Errorf("a new tool whose secret has no value: %v", err)
	}
	for _, slug := range []string{"fetch", "notes_anything", "memory_add", "plan_update", "Weather", "", "a b", strings.Repeat("a", 65)} {
		bad := weatherTool()
		bad.Slug = &slug
		_, _, err := h.CreateTool(ctx, ann, bad)
		wantField(t, err, "slug")
	}
	list, err := h.CustomTools(ctx)
	check(t, err)
	if len(list) != 2 || list[0].ID != first.ID || list[0].State.Label != "Again" {
		t.Errorf("list %+v", list)
	}
}

func TestThereAreNoMoreToolsThanTheBound(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	for i := range maxTools {
		cmd := weatherTool()
		cmd.Slug, cmd.Headers = ref(fmt.Sprintf("t%d", i)), nil
		h.tool(t, ann, cmd)
	}
	_, _, err := h.CreateTool(t.Context(), ann, weatherTool())
	wantErr(t, err, events.ErrConflict)
}

func TestSecretHeadersAreKeptReplacedAndRemoved(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann := h.register(t, "ann@example.test")
	id := h.tool(t, ann, weatherTool()).ID
	change := func(headers ...PatchHeader) error {
		_, err := h.ChangeTool(ctx, ann, id, PatchTool{Headers: &headers})
		return err
	}
	check(t, change(PatchHeader{Name: "accept"}, PatchHeader{Name: "Authorization", Secret: true}))
	if got := h.toolNow(t, id).State.Headers; len(got) != 2 || got[0].Value != "text/plain" {
		t.Errorf("an ordinary header without a value in the patch: %+v", got)
	}
	check(t, change(PatchHeader{Name: "AUTHORIZATION", Secret: true}))
	if got := h.secretOf(t, id); got != "Bearer tok-12345678" {
		t.Errorf("kept: %q", got)
	}
	if got := h.toolNow(t, id).State.Headers; len(got) != 1 {
		t.Errorf("a header that is not in the new list stayed: %+v", got)
	}
	known, err := h.toolSecrets(ctx)
	check(t, err)
	if !slices.Contains(known, "tok-12345678") || !slices.Contains(known, "Bearer tok-12345678") {
		t.Errorf("known secrets %q", known)
	}
	check(t, change(PatchHeader{Name: "Authorization", Value: ref("Bearer other-9876"), Secret: true}))
	if got := h.secretOf(t, id); got != "Bearer other-9876" {
		t.Errorf("replaced: %q", got)
	}
	if err := change(PatchHeader{Name: "X-New", Secret: true}); !errors.Is(err, events.ErrInvalid) || !strings.Contains(err.Error(), "needs a value") {
		t.Errorf("a new secret without a value: %v", err)
	}
	wantField(t, change(PatchHeader{Name: "X-New", Value: ref("a\r\nb"), Secret: true}), "headers")
	// A secret that becomes an ordinary header does not become readable.
	check(t, change(PatchHeader{Name: "Authorization", Secret: true}, PatchHeader{Name: "X-Key", Value: ref("hidden-value"), Secret: true}))
	check(t, change(PatchHeader{Name: "X-Key"}))
	if got := h.toolNow(t, id).State.Headers; len(got) != 1 || got[0].Secret || got[0].Value != "" {
		t.Errorf("a secret was laid open: %+v", got)
	}
	check(t, change(PatchHeader{Name: "Authorization", Value: ref("Bearer last-5555"), Secret: true}))
	check(t, change(PatchHeader{Name: "Authorization", Value: ref(""), Secret: true}))
	if got := h.toolNow(t, id).State.Headers; len(got) != 0 {
		t.Errorf("removed: %+v", got)
	}
	if _, err := h.Secrets.Open("tool/" + id + "/headers"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("removed, but in the vault: %v", err)
	}
}

func TestSecretHeadersStayWithTheirOrigin(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann := h.register(t, "ann@example.test")
	v := h.tool(t, ann, weatherTool())
	for _, to := range []string{"https://evil.example.test/", "http://api.example.test/", "https://api.example.test:8443/"} {
		_, err := h.ChangeTool(ctx, ann, v.ID, PatchTool{URL: &to})
		wantField(t, err, "headers")
		_, err = h.ChangeTool(ctx, ann, v.ID, PatchTool{URL: &to, Headers: &[]PatchHeader{{Name: "Authorization", Secret: true}}})
		wantField(t, err, "headers")
		_, err = h.TryTool(ctx, v.ID, PatchTool{URL: &to}, nil, neverSent(t))
		wantField(t, err, "headers")
	}
	_, err := h.ChangeTool(ctx, ann, v.ID, PatchTool{URL: ref("https://{{place}}/")})
	wantField(t, err, "url")
	same := "https://API.example.test:443/other/{{place}}" // the same origin, spelled otherwise
	_, err = h.ChangeTool(ctx, ann, v.ID, PatchTool{URL: &same})
	check(t, err)
	if got := h.secretOf(t, v.ID); got != "Bearer tok-12345678" {
		t.Errorf("at its own origin: %q", got)
	}
	_, err = h.ChangeTool(ctx, ann, v.ID, PatchTool{URL: ref("https://b.example.test/"), Headers: &[]PatchHeader{{Name: "Authorization", Value: ref("Bearer new-1234"), Secret: true}}})
	check(t, err)
	if got := h.secretOf(t, v.ID); got != "Bearer new-1234" {
		t.Errorf("at the new origin: %q", got)
	}
	if secrets, err := h.ToolSecrets(v); !errors.Is(err, events.ErrConflict) { // read before the change, used after it
		t.Errorf("new values %v for the old host, %v", secrets, err)
	}
}

func neverSent(t *testing.T) TryRequest {
	return func(_ context.Context, st events.CustomState, secrets map[string]string, _ json.RawMessage) (Tried, error) {
		t.Errorf("sent to %s with %v", st.URL, secrets)
		return Tried{}, nil
	}
}

func TestTryingAToolChangesNothing(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann := h.register(t, "ann@example.test")
	v := h.tool(t, ann, weatherTool())
	head := h.log.Head()
	var got events.CustomState
	var secret string
	run := func(_ context.Context, st events.CustomState, secrets map[string]string, args json.RawMessage) (Tried, error) {
		got, secret = st, secrets["Authorization"]
		return Tried{Status: events.ToolOK, Output: string(args)}, nil
	}
	res, err := h.TryTool(ctx, v.ID, PatchTool{URL: ref("https://api.example.test/v2/{{place}}")}, json.RawMessage(`{"place":"Oslo"}`), run)
	check(t, err)
	if got.URL != "https://api.example.test/v2/{{place}}" || secret != "Bearer tok-12345678" || res.Output != `{"place":"Oslo"}` {
		t.Errorf("tried %+v with %q: %+v", got, secret, res)
	}
	draft := PatchTool{URL: ref("https://c.example.test/"), Headers: &[]PatchHeader{{Name: "Authorization", Value: ref("Bearer draft-1"), Secret: true}}}
	_, err = h.TryTool(ctx, "", draft, nil, run)
	check(t, err)
	if got.URL != "https://c.example.test/" || got.Method != "GET" || secret != "Bearer draft-1" {
		t.Errorf("a draft %+v with %q", got, secret)
	}
	_, err = h.TryTool(ctx, "nobody", PatchTool{}, nil, run)
	wantErr(t, err, events.ErrNotFound)
	if h.log.Head() != head || h.toolNow(t, v.ID).State.URL != v.State.URL || h.secretOf(t, v.ID) != "Bearer tok-12345678" {
		t.Error("trying changed something")
	}
}
