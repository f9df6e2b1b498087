package transcript

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"lembas/events"
)

func encode(t testing.TB, p events.Payload) *events.Envelope {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // as the store writes
	if err := enc.Encode(p); err != nil {
		t.Fatal(err)
	}
	return &events.Envelope{Position: 1, Stream: "chat/c", Type: p.EventType(), TypeVersion: 1, Data: bytes.TrimSpace(buf.Bytes())}
}

// What this product writes goes the quick way and gives what the fold reads.
func TestQuickIsUsed(t *testing.T) {
	three := 3
	for _, p := range []events.Payload{
		events.ReplyChunk{Reply: "r", Round: 1, Kind: "content", Text: "héllo <b> \u2028 𝄞"},
		events.ReplyChunk{Reply: "r", Round: 12, Kind: "tool_arguments", Call: &three, Text: "a\n\"\\\t", Cuts: [][2]int64{}},
		events.ReplyChunk{Reply: "", Text: "", Cuts: [][2]int64{{5, 123456789}}},
	} {
		e := encode(t, p)
		got, ok := quickChunk(e.Data)
		if !ok || !reflect.DeepEqual(got, p) {
			t.Errorf("%s: %v, %+v", e.Data, ok, got)
		}
	}
	many := events.ReplyChunk{Reply: "r", Text: "abc", Cuts: [][2]int64{{0, 1}, {1, 20}, {2, 40}}}
	if got, ok := quickChunk(encode(t, many).Data); !ok || !reflect.DeepEqual(got.Cuts, [][2]int64{{2, 40}}) {
		t.Errorf("cuts %v, %v", got.Cuts, ok)
	}
	for _, p := range []events.RoundStarted{
		{Reply: "r", Round: 2, Request: []byte(`{"a":{"estimate":9},"s":",\"estimate\":7}"}`), Estimate: 41},
		{Reply: "r", Round: 2, Blob: &events.BlobRef{Digest: "d", Size: 5}},
	} {
		e := encode(t, p)
		got, ok := quickRound(e.Data)
		if !ok || !reflect.DeepEqual(got, events.RoundStarted{Reply: p.Reply, Round: p.Round, Estimate: p.Estimate}) {
			t.Errorf("%s: %v, %+v", e.Data, ok, got)
		}
	}
}

func TestOtherVersionsGoTheLongWay(t *testing.T) {
	e := encode(t, events.ReplyChunk{Reply: "r", Text: "x"})
	e.TypeVersion = 2
	if p, err := Decode(e); err != nil || reflect.TypeOf(p) != reflect.TypeFor[events.Unknown]() {
		t.Errorf("a version from the future gave %T, %v", p, err)
	}
}

// Whatever the bytes: where the quick way answers, the long one says the same
// of all that the fold reads.
func FuzzQuick(f *testing.F) {
	for _, s := range []string{
		`{"reply":"r","round":1,"kind":"content","text":"a\u00e9","cuts":[[0,1],[2,3]]}`,
		`{"reply":"r","round":1,"kind":"content","call":2,"text":"","cuts":null}`,
		`{"reply":"r","round":1,"kind":"content","text":"x","cuts":[[0,-1]]}`,
		`{"reply":"r","round":1,"request":{"estimate":5},"estimate":6}`,
		`{"reply":"r","round":1,"estimate":6}`,
		`{"reply":"r","round":01,"request":[],"estimate":00}`,
		`{"erased":"00"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !json.Valid(b) {
			return // never in a log
		}
		var c events.ReplyChunk
		if got, ok := quickChunk(b); ok {
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			if n := len(c.Cuts); n > 1 {
				c.Cuts = c.Cuts[n-1:]
			}
			if !reflect.DeepEqual(got, c) {
				t.Fatalf("%s: %+v, want %+v", b, got, c)
			}
		}
		var r events.RoundStarted
		if got, ok := quickRound(b); ok && unique(b) {
			if err := json.Unmarshal(b, &r); err != nil {
				return // its request is of another kind, which the fold does not read
			}
			if got.Reply != r.Reply || got.Round != r.Round || got.Estimate != r.Estimate {
				t.Fatalf("%s: %+v, want %+v", b, got, r)
			}
		}
	})
}

// unique says that no member of the object comes twice, whatever its case.
func unique(b []byte) bool {
	seen := map[string]bool{}
	dec := json.NewDecoder(bytes.NewReader(b))
	depth := 0
	key := false
	for {
		tok, err := dec.Token()
		if err != nil {
			return true
		}
		switch v := tok.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
			key = depth == 1
		case string:
			if depth == 1 && key {
				folded := strings.ToLower(v)
				if seen[folded] {
					return false
				}
				seen[folded], key = true, false
				continue
			}
			key = depth == 1
		default:
			key = depth == 1
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	e := encode(b, events.ReplyChunk{Reply: "01JABCDEFGHJKMNPQRSTVWXYZ0", Round: 1, Kind: "content", Text: "and so it goes on for a while", Cuts: [][2]int64{{0, 5}, {9, 17}, {20, 31}}})
	b.Run("quick", func(b *testing.B) {
		for b.Loop() {
			_, _ = Decode(e)
		}
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			_, _ = events.Decode(e)
		}
	})
}
