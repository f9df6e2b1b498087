package generation

import (
	"encoding/json"
	"strings"
	"testing"

	"lembas/events"
)

// TestWhatCannotBeReadBackIsNotKeptAsJSON: arguments and extras that a reader of
// the log gives up on must not stop every projection for good.
func TestWhatCannotBeReadBackIsNotKeptAsJSON(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	for name, c := range map[string]struct{ tool, args string }{
		"deep, of nobody":     {"nothing", deep},
		"deep, of a tool":     {"look", deep},
		"a little less deep":  {"look", strings.Repeat(`{"a":`, 900) + "1" + strings.Repeat("}", 900)},
		"names twice":         {"look", `{"to":"1","TO":"2"}`},
		"prose for a call id": {"look", `{"to":"1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			id := "k1"
			if strings.HasPrefix(name, "prose") {
				id = "the patient has it " + strings.Repeat("long ", 300)
			}
			w, _ := withTools(t, script(calls(toolCall{id, c.tool, c.args}), says("done")))
			chat := w.chat("x")
			must(t, w.handle(t.Context(), chat.Chat))
			for _, e := range w.events(chat.Chat) {
				p, err := events.Decode(&e)
				must(t, err)
				if called, ok := p.(events.ToolCalled); ok && (len(called.Arguments) > 100 || len(called.Call) > maxID || strings.Contains(called.Call, " ")) {
					t.Errorf("%d bytes of arguments, the id %.60q", len(called.Arguments), called.Call)
				}
			}
			if r := w.reply(chat.Chat, chat.Reply); r.Status != events.Complete || r.Content() != "done" {
				t.Errorf("%s %q", r.Status, r.Content())
			}
		})
	}
}

func TestIDs(t *testing.T) {
	for id, want := range map[string]bool{"call_1": true, "a/b:c.d-e": true, strings.Repeat("x", maxID): true,
		"": false, "two words": false, "tab\t": false, "ünï": false, "\x7f": false, strings.Repeat("x", maxID+1): false} {
		if isID(id) != want {
			t.Errorf("%.40q: %t", id, !want)
		}
	}
}

// TestExtrasThatAreNoJSONAreDropped: they would go back to the endpoint and make
// the log's JSON invalid.
func TestExtrasThatAreNoJSONAreDropped(t *testing.T) {
	for raw, want := range map[string]bool{`{"a":"b"}`: true, "{\"a\":\"\xff\"}": false, `"x"`: false, `{"a":1,"a":2}`: false} {
		if isObject(raw) != want {
			t.Errorf("%q is %t", raw, !want)
		}
	}
	if json.Valid([]byte(strings.Repeat("[", 20_000))) {
		t.Error("the reader of JSON has another bound than this counts on")
	}
}
