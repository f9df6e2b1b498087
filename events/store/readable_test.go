package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

// TestWhatCannotBeReadBackIsRefused: one such event would stop every projection
// for good.
func TestWhatCannotBeReadBackIsRefused(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	s, err := Open("data", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, c := range map[string]struct {
		json string
		ok   bool
	}{
		"flat": {`{"a":1}`, true}, "deep": {nested(900), true}, "too deep": {nested(1001), false}, "far too deep": {nested(20_000), false},
		"lists": {strings.Repeat("[", 1500) + strings.Repeat("]", 1500), false}, "braces in a text": {`{"a":"` + strings.Repeat("{", 5000) + `"}`, true},
		"a quote in a text": {`{"a":"\"` + strings.Repeat("[", 5000) + `\\"}`, true}, "not UTF-8": {"{\"a\":\"\xff\"}", false},
	} {
		_, err := s.Append(t.Context(), events.Batch{Actor: events.Actor{Kind: events.System, ID: "x"}, Correlation: "c", Causation: "d",
			Parts: []events.Part{{Stream: "chat/c", Expect: events.Any(), Events: []events.New{{Payload: events.ToolCalled{Arguments: events.RawJSON(c.json)}}}}}})
		if (err == nil) != c.ok || err != nil && !errors.Is(err, events.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for e, err := range s.Read(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := events.Decode(&e); err != nil {
			t.Errorf("an event was kept that cannot be read: %v", err)
		}
	}
}
