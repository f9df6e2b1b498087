package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"lembas/events"
)

// addServer adds an MCP server with one secret header and one plain one.
func (h *house) addServer(t *testing.T, c Caller) string {
	t.Helper()
	r, _, err := h.CreateServer(t.Context(), c, PatchServer{Slug: ptr("bread"), Name: ptr("Bakery"), URL: ptr("https://mcp.test/mcp?v=1"),
		Headers: &[]PatchHeader{{Name: "authorization", Value: ptr("Bearer sesame-123"), Secret: true}, {Name: "X-Team", Value: ptr("kitchen")}}})
	check(t, err)
	return r.ID
}

func serverTool(name, digest string) events.ServerTool {
	return events.ServerTool{Name: name, Schema: json.RawMessage(`{"type":"object"}`), Digest: digest}
}

// serves makes every look at a server's tools give these.
func (h *house) serves(tools ...events.ServerTool) {
	h.ListTools = func(context.Context, events.ServerState, map[string]string) ([]events.ServerTool, error) {
		return tools, nil
	}
}

func (h *house) refreshServer(t *testing.T, c Caller, id string) ServerView {
	t.Helper()
	trouble, err := h.RefreshServer(t.Context(), c, id)
	if err != nil || trouble != "" {
		t.Fatalf("%q, %v", trouble, err)
	}
	v, err := h.Server(t.Context(), id)
	check(t, err)
	return v
}

func heldOf(v ServerView) (out []string) {
	for _, t := range v.Tools {
		if v.Held(t) {
			out = append(out, t.Name)
		}
	}
	return out
}

func TestAServerFromItsBeginningToItsEnd(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.addServer(t, ann)
	v, err := h.Server(t.Context(), id)
	check(t, err)
	want := []events.ServerHeader{{Name: "Authorization", Secret: true}, {Name: "X-Team", Value: "kitchen"}}
	if s := v.State; s.Slug != "bread" || s.Name != "Bakery" || s.URL != "https://mcp.test/mcp?v=1" || s.Risk != events.RiskWrite || !s.Enabled || s.Timeout != 60 || !slices.Equal(s.Headers, want) {
		t.Errorf("added as %+v", s)
	}
	_, err = h.ChangeServer(t.Context(), ann, id, PatchServer{Name: ptr("  The\nbakery "), Risk: ptr(events.RiskRead), Enabled: ptr(false), Off: ptr([]string{"x"}), Timeout: ptr(9), Guidance: ptr(" Knead. ")})
	check(t, err)
	all, err := h.Servers(t.Context())
	check(t, err)
	if s := all[0].State; len(all) != 1 || s.Name != "The bakery" || s.Risk != events.RiskRead || s.Enabled || !slices.Equal(s.Off, []string{"x"}) || s.Timeout != 9 || s.Guidance != "Knead." || len(s.Headers) != 2 {
		t.Errorf("changed to %+v", s)
	}
	older := all[0]
	_, err = h.RemoveServer(t.Context(), ann, id)
	check(t, err)
	wantErr(t, failure(h.ServerSecrets(older)), events.ErrConflict)
	_, err = h.Server(t.Context(), id)
	wantErr(t, err, events.ErrNotFound)
	if b, err := h.Secrets.Open(serverHeadersName(id)); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("the vault still has %q", b)
	}
	for _, err := range []error{
		failure(h.ChangeServer(t.Context(), ann, id, PatchServer{})), failure(h.RemoveServer(t.Context(), ann, id)),
		failure(h.RefreshServer(t.Context(), ann, id)), failure(h.ReviewServer(t.Context(), ann, id, map[string]string{"a": "1"})),
	} {
		wantErr(t, err, events.ErrNotFound)
	}
}

func failure[T any](_ T, err error) error { return err }

func TestServersThatAreRefused(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	header := func(name, value string, secret bool) *[]PatchHeader {
		return &[]PatchHeader{{Name: name, Value: &value, Secret: secret}}
	}
	for name, c := range map[string]struct {
		field string
		patch PatchServer
	}{
		"no name":              {"name", PatchServer{Name: ptr(" ")}},
		"no slug":              {"slug", PatchServer{Slug: ptr("")}},
		"capital slug":         {"slug", PatchServer{Slug: ptr("Bread")}},
		"long slug":            {"slug", PatchServer{Slug: ptr(strings.Repeat("a", 33))}},
		"no address":           {"url", PatchServer{URL: ptr("")}},
		"a program":            {"url", PatchServer{URL: ptr("npx -y server")}},
		"another scheme":       {"url", PatchServer{URL: ptr("stdio://npx")}},
		"a password":           {"url", PatchServer{URL: ptr("https://a:b@mcp.test/")}},
		"a fragment":           {"url", PatchServer{URL: ptr("https://mcp.test/#a")}},
		"a risk of its own":    {"risk", PatchServer{Risk: ptr("harmless")}},
		"no time":              {"timeout", PatchServer{Timeout: ptr(0)}},
		"too much time":        {"timeout", PatchServer{Timeout: ptr(601)}},
		"a book of guidance":   {"guidance", PatchServer{Guidance: ptr(strings.Repeat("a", 2001))}},
		"an empty off":         {"off", PatchServer{Off: ptr([]string{""})}},
		"a header twice":       {"headers", PatchServer{Headers: &[]PatchHeader{{Name: "X-A", Value: ptr("1")}, {Name: "x-a", Value: ptr("2")}}}},
		"a header's two lines": {"headers", PatchServer{Headers: header("X-A", "1\r\nX-B: 2", true)}},
		"two lines of a name":  {"headers", PatchServer{Headers: header("X-A\r\nX-B", "1", false)}},
		"the session's header": {"headers", PatchServer{Headers: header("mcp-session-id", "1", false)}},
		"the host's header":    {"headers", PatchServer{Headers: header("HOST", "1", false)}},
		"an open password":     {"headers", PatchServer{Headers: header("Authorization", "Bearer x", false)}},
		"no value":             {"headers", PatchServer{Headers: header("X-A", "", true)}},
		"none that is kept":    {"headers", PatchServer{Headers: &[]PatchHeader{{Name: "X-A", Secret: true}}}},
		"many headers":         {"headers", PatchServer{Headers: ptr(make([]PatchHeader, 21))}},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.patch
			p.Slug, p.Name, p.URL = cmp.Or(p.Slug, ptr("bread")), cmp.Or(p.Name, ptr("Bakery")), cmp.Or(p.URL, ptr("https://mcp.test/"))
			_, _, err := h.CreateServer(t.Context(), ann, p)
			wantField(t, err, c.field)
		})
	}
	if n := h.count(t, "server.added"); n != 0 {
		t.Errorf("%d were added", n)
	}
}

// TestACommandIsRefused: row mcp30.
func TestACommandIsRefused(t *testing.T) {
	b, err := os.ReadFile("../testdata/cases/mcp.json")
	check(t, err)
	var rows []struct {
		ID    string
		Input struct{ Config string }
	}
	_ = json.Unmarshal(b, &rows) // the other rows' inputs have other shapes
	i := slices.IndexFunc(rows, func(r struct {
		ID    string
		Input struct{ Config string }
	}) bool {
		return r.ID == "mcp30"
	})
	if i < 0 {
		t.Fatal("no row mcp30")
	}
	var config struct{ Command *string }
	check(t, json.Unmarshal([]byte(rows[i].Input.Config), &config))
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	_, _, err = h.CreateServer(t.Context(), ann, PatchServer{Slug: ptr("s"), Name: ptr("S"), URL: ptr("https://mcp.test/"), Command: config.Command})
	wantField(t, err, "command")
	_, err = h.ChangeServer(t.Context(), ann, h.addServer(t, ann), PatchServer{Command: config.Command})
	wantField(t, err, "command")
}

func TestASlugIsOneServersAlone(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.addServer(t, ann)
	add := func(slug string) error {
		_, _, err := h.CreateServer(t.Context(), ann, PatchServer{Slug: &slug, Name: ptr("N"), URL: ptr("https://mcp.test/")})
		return err
	}
	wantErr(t, add("bread"), events.ErrConflict)
	wantErr(t, add("bread_knife"), events.ErrConflict) // bread + knife_x and bread_knife + x are one name
	check(t, add("bread-knife"))
	check(t, add("breadth"))
	wantErr(t, failure(h.ChangeServer(t.Context(), ann, id, PatchServer{Slug: ptr("breadth")})), events.ErrConflict)
	wantErr(t, failure(h.ChangeServer(t.Context(), ann, id, PatchServer{Slug: ptr("breadth_x")})), events.ErrConflict)
	check(t, failure(h.ChangeServer(t.Context(), ann, id, PatchServer{Slug: ptr("bread")})))
}

func TestSecretHeadersAreInTheVaultOnly(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.addServer(t, ann)
	secrets := func() map[string]string {
		v, err := h.Server(t.Context(), id)
		check(t, err)
		s, err := h.ServerSecrets(v)
		check(t, err)
		return s
	}
	if s := secrets(); !maps.Equal(s, map[string]string{"Authorization": "Bearer sesame-123"}) {
		t.Errorf("secrets %q", s)
	}
	// One is kept, one is new, one becomes an open one.
	_, err := h.ChangeServer(t.Context(), ann, id, PatchServer{Headers: &[]PatchHeader{{Name: "Authorization", Secret: true}, {Name: "X-Key", Value: ptr("sesame-456"), Secret: true}}})
	check(t, err)
	if s := secrets(); !maps.Equal(s, map[string]string{"Authorization": "Bearer sesame-123", "X-Key": "sesame-456"}) {
		t.Errorf("secrets %q", s)
	}
	known, err := h.serverSecrets(t.Context())
	check(t, err)
	if !slices.Equal(known, []string{"sesame-123", "sesame-456"}) {
		t.Errorf("known %q", known)
	}
	_, err = h.ChangeServer(t.Context(), ann, id, PatchServer{Headers: &[]PatchHeader{}})
	check(t, err)
	if s := secrets(); len(s) != 0 {
		t.Errorf("secrets %q", s)
	}
	for e, err := range h.log.Read(t.Context(), 0) {
		check(t, err)
		if strings.Contains(string(e.Data), "sesame") {
			t.Errorf("in the log: %s", e.Data)
		}
	}
}

// TestASecretDoesNotFollowToAnotherHost, not even between the two reads of state
// and vault.
func TestASecretDoesNotFollowToAnotherHost(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.addServer(t, ann)
	before, err := h.Server(t.Context(), id)
	check(t, err)
	check(t, failure(h.ChangeServer(t.Context(), ann, id, PatchServer{URL: ptr("https://mcp.test/other")})))
	moved := PatchServer{URL: ptr("https://evil.test/mcp")}
	wantField(t, failure(h.ChangeServer(t.Context(), ann, id, moved)), "headers")
	moved.Headers = &[]PatchHeader{{Name: "Authorization", Secret: true}}
	wantField(t, failure(h.ChangeServer(t.Context(), ann, id, moved)), "headers")
	moved.Headers = &[]PatchHeader{{Name: "Authorization", Secret: true, Value: ptr("Bearer new-one-9")}}
	check(t, failure(h.ChangeServer(t.Context(), ann, id, moved)))
	_, err = h.ServerSecrets(before)
	wantErr(t, err, events.ErrConflict)
}

func TestWhatIsNewOrChangedIsHeld(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.addServer(t, ann)
	h.serves(serverTool("a", "1"), serverTool("b", "1"))
	first := h.refreshServer(t, ann, id)
	if len(first.Tools) != 2 || heldOf(first) != nil || first.Listed.IsZero() {
		t.Errorf("the first list is %+v", first)
	}
	h.serves(serverTool("a", "1"), serverTool("b", "2"), serverTool("c", "1"))
	v := h.refreshServer(t, ann, id)
	if !slices.Equal(heldOf(v), []string{"b", "c"}) {
		t.Errorf("held %q", heldOf(v))
	}
	for _, wrong := range []map[string]string{{"b": "1"}, {"b": "2", "c": "2"}, {"z": "1"}, {"z": ""}} {
		wantErr(t, failure(h.ReviewServer(t.Context(), ann, id, wrong)), events.ErrConflict)
	}
	wantField(t, failure(h.ReviewServer(t.Context(), ann, id, nil)), "digests")
	check(t, failure(h.ReviewServer(t.Context(), ann, id, map[string]string{"b": "2"})))
	n := h.count(t, "server.reviewed")
	check(t, failure(h.ReviewServer(t.Context(), ann, id, map[string]string{"b": "2"}))) // said already
	if h.count(t, "server.reviewed") != n {
		t.Error("a look that changes nothing is recorded")
	}
	now, err := h.Server(t.Context(), id)
	check(t, err)
	if !slices.Equal(heldOf(now), []string{"c"}) || !slices.Equal(heldOf(v), []string{"b", "c"}) {
		t.Errorf("held %q; in the older view %q", heldOf(now), heldOf(v))
	}
	h.serves(serverTool("b", "1")) // as it was once: another look is needed
	if v := h.refreshServer(t, ann, id); !slices.Equal(heldOf(v), []string{"b"}) {
		t.Errorf("held %q", heldOf(v))
	}
}

func TestOnlyTheFirstListOfAPersonIsReviewed(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.addServer(t, ann)
	h.serves() // nothing yet, which is a list, too
	h.refreshServer(t, ann, id)
	h.ListTools = func(context.Context, events.ServerState, map[string]string) ([]events.ServerTool, error) {
		return nil, errors.New("down")
	}
	trouble, err := h.RefreshServer(t.Context(), ann, id)
	if err != nil || trouble != "down" {
		t.Errorf("%q, %v", trouble, err)
	}
	h.serves(serverTool("a", "1"))
	if v := h.refreshServer(t, ann, id); len(heldOf(v)) != 1 {
		t.Error("a later list was taken for the first")
	}
	check(t, failure(h.RemoveServer(t.Context(), ann, id)))
	id = h.addServer(t, ann)
	if v := h.refreshServer(t, Caller{}, id); len(heldOf(v)) != 1 {
		t.Error("a list that nobody looked at is reviewed")
	}
}

func TestAServerInTroubleKeepsItsTools(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.addServer(t, ann)
	h.serves(serverTool("a", "1"))
	h.refreshServer(t, ann, id)
	h.ListTools = func(_ context.Context, _ events.ServerState, secrets map[string]string) ([]events.ServerTool, error) {
		return nil, errors.New("no\nentry for " + secrets["Authorization"] + strings.Repeat("x", 1000))
	}
	trouble, err := h.RefreshServer(t.Context(), ann, id)
	check(t, err)
	v, err := h.Server(t.Context(), id)
	check(t, err)
	if v.Error != trouble || !strings.HasPrefix(trouble, "no entry for Bearer ••••x") || len(trouble) > 500 || len(v.Tools) != 1 || heldOf(v) != nil {
		t.Errorf("%q, %+v", trouble, v)
	}
	h.serves(serverTool("a", "1"))
	if v := h.refreshServer(t, ann, id); v.Error != "" {
		t.Errorf("the trouble stays: %q", v.Error)
	}
}

// TestAToolThatTellsTheSecretIsNotRecorded: a server knows what it is sent.
func TestAToolThatTellsTheSecretIsNotRecorded(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.addServer(t, ann)
	check(t, failure(h.ChangeServer(t.Context(), ann, id, PatchServer{Headers: &[]PatchHeader{{Name: "X-Key", Secret: true, Value: ptr(`sesame"\456`)}}})))
	h.serves(serverTool("a", "1"), serverTool(`sesame"\456`, "1"), events.ServerTool{Name: "t", Title: `x sesame"\456`}, events.ServerTool{Name: "d", Description: `sesame"\456`},
		events.ServerTool{Name: "s", Schema: json.RawMessage(`{"title":"sesame\"\\456"}`)})
	if v := h.refreshServer(t, ann, id); len(v.Tools) != 1 || v.Tools[0].Name != "a" {
		t.Errorf("recorded %+v", v.Tools)
	}
}

func TestALookThatWasLeftOrOvertakenRecordsNothing(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	id := h.addServer(t, ann)
	ctx, cancel := context.WithCancel(t.Context())
	h.ListTools = func(context.Context, events.ServerState, map[string]string) ([]events.ServerTool, error) {
		cancel()
		return nil, ctx.Err()
	}
	_, err := h.RefreshServer(ctx, ann, id)
	wantErr(t, err, context.Canceled)
	h.ListTools = func(ctx context.Context, _ events.ServerState, _ map[string]string) ([]events.ServerTool, error) {
		_, err := h.ChangeServer(ctx, ann, id, PatchServer{URL: ptr("https://other.test/"), Headers: &[]PatchHeader{}})
		return []events.ServerTool{serverTool("of the old one", "1")}, err
	}
	_, err = h.RefreshServer(t.Context(), ann, id)
	wantErr(t, err, events.ErrConflict)
	if n := h.count(t, "server.listed"); n != 0 {
		t.Errorf("%d lists are recorded", n)
	}
}
