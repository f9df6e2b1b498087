package request

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"lembas/events"
)

// Read decodes the request's JSON body into v, a pointer to a struct. Names are
// matched with case; unknown and duplicate ones are refused, as are values of
// another type, all with the member's name. What is not JSON, or nested beyond
// reason, is a 400.
func Read(r *http.Request, v any) error {
	body, err := Bytes(r)
	if err != nil {
		return err
	}
	return decode(body, v)
}

func decode(body []byte, v any) error {
	if jsontext.Value(body).Kind() != '{' {
		return Fail(http.StatusBadRequest, "The body must be a JSON object.")
	}
	err := json.Unmarshal(body, v, json.RejectUnknownMembers(true))
	if err != nil && !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)) {
		// A mistake further on is worse than the member that was looked at first.
		return Fail(http.StatusBadRequest, "The body is not JSON, or is nested too deep.")
	}
	return badJSON(err)
}

// badJSON names the member that is wrong in a body that is JSON.
func badJSON(err error) error {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntactic):
		return events.Invalid(member(syntactic.JSONPointer), "is there twice")
	case errors.Is(err, json.ErrUnknownName) && errors.As(err, &semantic):
		return events.Invalid(member(semantic.JSONPointer), "is not known here")
	case errors.As(err, &semantic):
		return events.Invalid(member(semantic.JSONPointer), "has a value of the wrong type, or out of range")
	}
	return err
}

// member spells a JSON pointer with dots, at most 100 bytes of it.
func member(p jsontext.Pointer) string {
	name := strings.Join(slices.Collect(p.Tokens()), ".")
	if len(name) > 100 {
		name = strings.ToValidUTF8(name[:100], "") + "…"
	}
	return name
}

// badBody says why a body could not be read.
func badBody(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Fail(http.StatusRequestTimeout, "The body did not arrive in time.")
	}
	return Fail(http.StatusBadRequest, "The body could not be read to its end.")
}

// Optional is a member of a PATCH: absent, null or a value.
type Optional[T any] struct {
	Set   bool // it was there
	Null  bool // it was null
	Value T    // the zero T when Null
}

// UnmarshalJSONFrom notes that the member was there.
func (o *Optional[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	o.Set, o.Null = true, dec.PeekKind() == 'n'
	return json.UnmarshalDecode(dec, &o.Value)
}

// Pointer is nil for absent, else the value, which for null is the zero T.
func (o Optional[T]) Pointer() *T {
	if !o.Set {
		return nil
	}
	return &o.Value
}
