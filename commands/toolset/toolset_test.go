package toolset

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/oklog/ulid/v2"

	"lembas/commands"
	"lembas/commands/tools/guard"
	"lembas/commands/tools/mcp"
	"lembas/events"
	"lembas/events/store"
)

// noSecrets is a vault that keeps nothing but its index key.
type noSecrets map[string][]byte

func (m noSecrets) Seal(name string, b []byte) (events.Put, error) {
	m[name] = b
	return events.Put{Space: "vault", Key: []byte(name), Value: []byte("sealed")}, nil
}

func (m noSecrets) Open(name string) ([]byte, error) {
	if b, ok := m[name]; ok {
		return b, nil
	}
	return nil, events.ErrNotFound
}

func newSet(t *testing.T, instance ...events.Payload) *Set {
	t.Helper()
	log, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	must(t, err)
	t.Cleanup(func() { _ = log.Close() })
	s := &commands.Service{Log: log, Secrets: noSecrets{}, Now: time.Now, NewID: func() string { return ulid.Make().String() },
		Passwords: commands.NewArgon(), Discover: func(context.Context, string, string) ([]commands.Discovered, error) { return nil, nil }}
	must(t, s.Open(t.Context(), "test"))
	var list []events.New
	for _, p := range instance {
		list = append(list, events.New{Payload: p})
	}
	_, err = log.Append(t.Context(), events.Batch{Actor: events.Actor{Kind: events.System, ID: "x"}, Correlation: "c", Causation: "d",
		Parts: []events.Part{{Stream: events.InstanceStream, Events: list}}})
	must(t, err)
	g := guard.New(guard.Config{})
	return &Set{Service: s, Guard: g, MCP: &mcp.Client{HTTP: mcp.Guarded(g), Version: "test"}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestANameMeansOneToolWhateverIsOff: what was approved or remembered under a
// name must not come to mean a tool of another party when its own is off.
func TestANameMeansOneToolWhateverIsOff(t *testing.T) {
	custom := events.CustomState{Slug: "files_send", Label: "Ours", Risk: events.RiskRead, Enabled: true, Method: "GET", URL: "https://one.example/", Timeout: 5}
	set := newSet(t, events.CustomAdded{Tool: "t", State: custom},
		events.ServerAdded{Server: "s", State: events.ServerState{Slug: "files", Name: "Theirs", URL: "https://two.example/", Risk: events.RiskRead, Enabled: true, Timeout: 5}},
		events.ServerListed{Server: "s", Tools: []events.ServerTool{{Name: "send", Schema: json.RawMessage(`{"type":"object"}`), Digest: "d"}}},
		events.ServerReviewed{Server: "s", Digests: map[string]string{"send": "d"}})
	r, _, err := set.Service.Register(t.Context(), commands.Caller{}, commands.Register{Email: "ann@example.test", Password: "correct horse"})
	must(t, err)
	model := commands.ModelView{State: events.ModelState{Enabled: true, Tools: true}}
	theirs := func(m commands.ModelView, scope map[string]bool) (name string) {
		t.Helper()
		list, err := set.Offer(t.Context(), r.User, m, scope)
		must(t, err)
		for _, x := range list {
			if x.Scope == "mcp:files" {
				name = x.Name
			}
			if x.Name == custom.Slug && x.Scope != "custom:files_send" {
				t.Errorf("%s is of %s with the scope %v", x.Name, x.Scope, scope)
			}
		}
		return name
	}
	want := theirs(model, nil)
	if want == "" || want == custom.Slug {
		t.Fatalf("the server's tool is called %q", want)
	}
	flagged := model
	flagged.State.Flags = map[string]bool{"tool_custom": false}
	for name, got := range map[string]string{
		"the row is off":       theirs(model, map[string]bool{"custom:files_send": false}),
		"the family is off":    theirs(model, map[string]bool{"custom": false}),
		"the model has it not": theirs(flagged, nil),
	} {
		if got != want {
			t.Errorf("%s: the server's tool is called %q, want %q", name, got, want)
		}
	}
	custom.Enabled = false
	_, err = set.Service.Log.Append(t.Context(), events.Batch{Actor: events.Actor{Kind: events.System, ID: "x"}, Correlation: "c", Causation: "d",
		Parts: []events.Part{{Stream: events.InstanceStream, Events: []events.New{{Payload: events.CustomChanged{Tool: "t", State: custom}}}}}})
	must(t, err)
	if got := theirs(model, nil); got != want {
		t.Errorf("the tool is switched off: the server's is called %q, want %q", got, want)
	}
}

// TestWhenAToolCameToBeWhatItIs: a change of the row, or another row of the same
// name, is after what was decided about the tool before.
func TestWhenAToolCameToBeWhatItIs(t *testing.T) {
	custom := events.CustomState{Slug: "weather", Label: "Weather", Risk: events.RiskRead, Enabled: true, Method: "GET", URL: "https://one.example/", Timeout: 5}
	server := events.ServerState{Slug: "files", Name: "Files", URL: "https://two.example/", Risk: events.RiskRead, Enabled: true, Timeout: 5}
	set := newSet(t, events.CustomAdded{Tool: "t", State: custom}, events.ServerAdded{Server: "s", State: server},
		events.ServerListed{Server: "s", Tools: []events.ServerTool{{Name: "send", Schema: json.RawMessage(`{"type":"object"}`), Digest: "d"}}},
		events.ServerReviewed{Server: "s", Digests: map[string]string{"send": "d"}})
	r, _, err := set.Service.Register(t.Context(), commands.Caller{}, commands.Register{Email: "ann@example.test", Password: "correct horse"})
	must(t, err)
	changed := func(name string) time.Time {
		t.Helper()
		list, err := set.Offer(t.Context(), r.User, commands.ModelView{State: events.ModelState{Tools: true}}, nil)
		must(t, err)
		for _, x := range list {
			if x.Name == name {
				return x.Changed
			}
		}
		t.Fatalf("no %s", name)
		return time.Time{}
	}
	for _, c := range []struct {
		tool   string
		change []events.Payload
	}{
		{"weather", []events.Payload{events.CustomChanged{Tool: "t", State: custom}}},
		{"weather", []events.Payload{events.CustomRemoved{Tool: "t"}, events.CustomAdded{Tool: "u", State: custom}}},
		{"files_send", []events.Payload{events.ServerChanged{Server: "s", State: server}}},
		{"files_send", []events.Payload{events.ServerReviewed{Server: "s", Digests: map[string]string{"send": "d"}}}},
	} {
		before := changed(c.tool)
		var list []events.New
		for _, p := range c.change {
			list = append(list, events.New{Payload: p})
		}
		_, err := set.Service.Log.Append(t.Context(), events.Batch{Actor: events.Actor{Kind: events.System, ID: "x"}, Correlation: "c", Causation: "d",
			Parts: []events.Part{{Stream: events.InstanceStream, Events: list}}})
		must(t, err)
		if now := changed(c.tool); before.IsZero() || !now.After(before) {
			t.Errorf("%s after %s: %v, before %v", c.tool, c.change[0].EventType(), now, before)
		}
	}
}
