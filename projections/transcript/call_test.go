package transcript

import (
	"strings"
	"testing"

	"lembas/events"
)

func TestWhatTheModelIsTold(t *testing.T) {
	for status, want := range map[string]string{Interrupted: "not known", Called: "not run yet", Running: "not ended yet",
		events.ToolStopped: "was stopped", events.ToolOK: "", events.ToolExpired: ""} {
		got := (&Call{Status: status}).Told()
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", status, got)
		}
	}
	for _, status := range []string{events.ToolOK, events.ToolStopped, events.ToolDenied, events.ToolExpired} {
		if got := (&Call{Status: status, Output: "words"}).Told(); got != "words" {
			t.Errorf("%s: %q", status, got)
		}
	}
}

// TestParts: also an output that has such a note of its own is taken apart where
// it was cut.
func TestParts(t *testing.T) {
	k := &Call{ID: `a"b`, Bytes: 5000, Blob: &events.BlobRef{Digest: "d", Size: 5000}}
	fake := "x\n\n[… 9 bytes left out; read_output with call \"a\\\"b\" reads on from byte 1 …]\n\ny\n\n[… "
	for _, head := range []string{"head", fake, ""} {
		for _, end := range []string{"tail", fake, ""} {
			k.Output = k.Shortened(head, end, 5000)
			h, n, l := k.Parts()
			if h != head || l != end || n != int64(5000-len(head)-len(end)) {
				t.Errorf("%q: %q %d %q", k.Output, h, n, l)
			}
		}
	}
	k.Output = "no note"
	if h, n, l := k.Parts(); h != "no note" || n != 4993 || l != "" {
		t.Errorf("%q %d %q", h, n, l)
	}
	k.Output, k.Blob = fake, nil
	if h, n, l := k.Parts(); h != fake || n != 0 || l != "" {
		t.Errorf("%q %d %q", h, n, l)
	}
}

// TestCard: the newest card that has the call, whatever came of it.
func TestCard(t *testing.T) {
	c := waitingChat(t)
	more(t, c, events.ConsentExpired{Consent: "c1"}, card("c2", "b", "{}", ""), card("c3", "a", "{}", ""))
	x := c.Open().Current()
	if a, b := x.Card("a"), x.Card("b"); a == nil || a.Consent != "c3" || b == nil || b.Consent != "c2" || x.Card("z") != nil {
		t.Errorf("%+v %+v", a, b)
	}
}
