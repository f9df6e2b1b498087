package store

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"lembas/events"
)

// The bytes are on disk for ever.
func TestStoredFormIsPinned(t *testing.T) {
	e := events.Envelope{Stream: "s", Version: 300, Type: "t.d", TypeVersion: 2, Time: time.UnixMicro(1).UTC(),
		Actor: events.Actor{Kind: "model", ID: "m"}, Correlation: "c", Causation: "", Data: []byte(`{}`)}
	got := appendEvent(nil, &e, []byte("0123456789abcdef"))
	want := "\x010123456789abcdef\xac\x02\x02\x03t.d\x02\x01s\x02\x01m\x01c\x00{}"
	if string(got) != want {
		t.Errorf("stored as %q, want %q", got, want)
	}
	e.Actor.Kind = "robot"
	if got, want := string(appendEvent(nil, &e, nil)), "\x02\xac\x02\x02\x03t.d\x02\x01s\x00\x05robot\x01m\x01c\x00{}"; got != want {
		t.Errorf("stored as %q, want %q", got, want)
	}
}

func FuzzEvent(f *testing.F) {
	f.Add([]byte("\x010123456789abcdef\xac\x02\x02\x03t.d\x02\x01s\x02\x01m\x01c\x00{}"))
	f.Add([]byte("\x02\x01\x01\x00\x01\x00\x00\x00\x00\x00\x00{\"erased\":\"00\"}"))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseEvent(b)
		if err != nil {
			if !errors.Is(err, events.ErrDamaged) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		var names interner
		e := s.envelope(1, &names)
		again, err := parseEvent(appendEvent(nil, &e, s.salt))
		if err != nil {
			t.Fatal(err)
		}
		if back := again.envelope(1, &names); string(back.AppendJSON(nil)) != string(e.AppendJSON(nil)) {
			t.Errorf("%s\nbecame\n%s", e.AppendJSON(nil), back.AppendJSON(nil))
		}
		_, _ = s.leaf(&e)
	})
}

func FuzzRecords(f *testing.F) {
	f.Add((&streamState{micros: 5}).append(nil))
	f.Add(appendOutcome(nil, []byte("body"), &events.Result{First: 1, Last: 2, Streams: map[string]events.StreamInfo{"a": {Version: 1}}}))
	f.Add((&slot{epoch: "0123456789abcdef"}).append(nil))
	f.Add(typeRecord{1, true, "x"}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if st, err := parseStream(b); err == nil {
			if again, err := parseStream(st.append(nil)); err != nil || again != st {
				t.Errorf("stream %+v became %+v", st, again)
			}
		}
		if h, ok := parseSlot(b); ok {
			if again, ok := parseSlot(h.append(nil)); !ok || again != h {
				t.Errorf("slot %+v became %+v", h, again)
			}
		}
		if body, r, err := parseOutcome(b); err == nil {
			if body2, again, err := parseOutcome(appendOutcome(nil, body, &r)); err != nil || !bytes.Equal(body, body2) || again.Last != r.Last {
				t.Errorf("outcome %+v became %+v", r, again)
			}
		}
		_, _ = parseType(b)
	})
}
