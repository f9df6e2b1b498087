package request

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type patch struct {
	Title  Optional[string]         `json:"title"`
	Pinned Optional[bool]           `json:"pinned"`
	Nested struct{ A, B string }    `json:"nested"`
	Params Optional[map[string]int] `json:"params"`
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		field      string
	}{
		{"empty", "", 400, ""},
		{"spaces", " \n", 400, ""},
		{"array", "[]", 400, ""},
		{"null", "null", 400, ""},
		{"cut", `{"title":`, 400, ""},
		{"two values", `{} {}`, 400, ""},
		{"form", "agent_mode=auto", 400, ""},
		{"not UTF-8", "{\"title\":\"\xff\"}", 400, ""},
		{"100,000 arrays", strings.Repeat("[", 100_000), 400, ""},
		{"100,000 arrays in a member", `{"title":` + strings.Repeat("[", 100_000), 400, ""},
		{"100,000 objects in an unknown member", `{"x":` + strings.Repeat(`{"a":`, 100_000), 400, ""},
		{"twice", `{"title":"a","title":"b"}`, 422, "title"},
		{"twice inside", `{"nested":{"A":"a","A":"b"}}`, 422, "nested.A"},
		{"unknown", `{"user_id":"other"}`, 422, "user_id"},
		{"another case", `{"Title":"a"}`, 422, "Title"},
		{"unknown inside", `{"nested":{"C":""}}`, 422, "nested.C"},
		{"wrong type", `{"title":5}`, 422, "title"},
		{"wrong type inside", `{"params":{"x":"y"}}`, 422, "params.x"},
		{"out of range", `{"params":{"x":1e400}}`, 422, "params.x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v patch
			err := decode([]byte(c.body), &v)
			if err == nil {
				t.Fatal("accepted")
			}
			p := Classify(err)
			field := ""
			if len(p.Errors) > 0 {
				field = p.Errors[0].Field
			}
			if p.Status != c.status || field != c.field {
				t.Errorf("%d field %q (%v), want %d field %q", p.Status, field, err, c.status, c.field)
			}
		})
	}
}

func TestOptional(t *testing.T) {
	var v patch
	if err := decode([]byte(`{"title":null,"params":{"x":1}}`), &v); err != nil {
		t.Fatal(err)
	}
	if p := v.Title.Pointer(); p == nil || *p != "" || !v.Title.Null {
		t.Errorf("null is %+v", v.Title)
	}
	if v.Pinned.Pointer() != nil {
		t.Errorf("absent is %+v", v.Pinned)
	}
	if p := v.Params.Pointer(); p == nil || (*p)["x"] != 1 {
		t.Errorf("value is %+v", v.Params)
	}
}

func TestBytesIsBounded(t *testing.T) {
	r := httptest.NewRequest("POST", "/", bytes.NewReader(make([]byte, 2*MaxBody)))
	var large *http.MaxBytesError
	if _, err := Bytes(r); !errors.As(err, &large) || Classify(err).Status != 413 {
		t.Errorf("got %v", err)
	}
	if n, err := r.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Error("a client that sends all of its body first would not see the answer")
	}
}
