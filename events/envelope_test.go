package events

import (
	"crypto/sha256"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
)

func sample() Envelope {
	return Envelope{Position: 812, Stream: "chat/01J", Version: 41, Type: "reply.chunk", TypeVersion: 1,
		Time:  time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC),
		Actor: Actor{Kind: Model, ID: "m\"\\\u2028<é\x01\t"}, Correlation: "c\n", Causation: "chat/01J@40", Data: json.RawMessage(`{"a":1}`)}
}

func TestTheWireFormIsTheContracts(t *testing.T) {
	e := sample()
	e.Actor.ID, e.Correlation = "m1", "01J"
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"position":812,"stream":"chat/01J","version":41,"type":"reply.chunk","type_version":1,"time":"2026-11-30T12:00:00.123456Z",` +
		`"actor":{"kind":"model","id":"m1"},"correlation":"01J","causation":"chat/01J@40","data":{"a":1}}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

func TestTheWireFormGoesBothWays(t *testing.T) {
	for _, e := range []Envelope{sample(), {Stream: "s", Type: "t", Time: time.Unix(0, 0).UTC(), Data: json.RawMessage("null")}} {
		b := e.AppendJSON(nil)
		if !json.Valid(b) {
			t.Fatalf("not JSON: %s", b)
		}
		var back Envelope
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e, back) {
			t.Errorf("got %+v, want %+v", back, e)
		}
	}
	for _, bad := range []string{`{"time":"2026-11-30T12:00:00Z"}`, `{"time":"2026-11-30T12:00:00.123456+01:00"}`, `[]`, `{"position":-1}`} {
		if err := new(Envelope).UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// TestTheHeaderIsCanonical holds our encoder against a library's RFC 8785.
func TestTheHeaderIsCanonical(t *testing.T) {
	for _, odd := range []string{"", "plain", "quote\" back\\slash", "tab\tnewline\nreturn\rback\bfeed\f", "\x00\x1f\x7f", "<>&", "\u2028\u2029", "é漢🙂", "bad\xffutf8"} {
		e := sample()
		e.Actor.ID, e.Correlation, e.Causation = odd, odd, odd
		var members map[string]json.RawMessage
		if err := json.Unmarshal(e.AppendJSON(nil), &members); err != nil {
			t.Fatal(err)
		}
		delete(members, "data")
		b, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jcs.Transform(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(e.Header()); got != string(want) {
			t.Errorf("%q:\ngot  %s\nwant %s", odd, got, want)
		}
	}
}

// TestTheLeaf pins the leaf's form: it cannot be changed after the first release.
func TestTheLeaf(t *testing.T) {
	salt, payload := []byte("0123456789abcdef"), []byte(`{"a":1}`)
	header := []byte(`{"h":1}`)
	h, p := sha256.Sum256(header), sha256.Sum256(append(append([]byte{}, salt...), payload...))
	want := append(append([]byte{0}, h[:]...), p[:]...)
	if got := LeafData(header, PayloadHash(salt, payload)); string(got) != string(want) {
		t.Errorf("leaf %x", got)
	}
}

func TestRef(t *testing.T) {
	e := sample()
	if got := e.Ref(); got != "chat/01J@41" {
		t.Error(got)
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add("s", "t", "a", "c", []byte(`{}`))
	f.Add("\xff\x00", "\"", "\\", "\u2028", []byte(`null`))
	f.Fuzz(func(t *testing.T, stream, typ, actor, cause string, data []byte) {
		if !json.Valid(data) {
			return
		}
		e := Envelope{Position: 1, Stream: stream, Version: 2, Type: typ, TypeVersion: 1, Time: time.Unix(1, 0).UTC(),
			Actor: Actor{Kind: System, ID: actor}, Causation: cause, Data: data}
		b := e.AppendJSON(nil)
		var back Envelope
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		valid := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
		if len([]rune(back.Stream)) != len([]rune(stream)) || back.Type == "" && valid(typ) != "" {
			t.Errorf("%+v became %+v", e, back)
		}
		if !json.Valid(e.Header()) {
			t.Errorf("the header is not JSON: %s", e.Header())
		}
	})
}
