package custom

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"lembas/events"
)

// Request is what a filled tool sends.
type Request struct {
	Method, URL string
	Header      http.Header
	Secret      []string // names of headers that hold secrets
	Body        []byte
}

// Fill puts a call's arguments into a tool's templates. It is pure. secrets are
// the values of the secret headers by name. Errors match ErrArguments, with
// words that a model can act on, or events.ErrInvalid where the tool itself may
// not be called.
func Fill(st events.CustomState, secrets map[string]string, args json.RawMessage) (Request, error) {
	if err := checkRequest(st); err != nil {
		return Request{}, err
	}
	values, err := arguments(st.Parameters, args)
	if err != nil {
		return Request{}, err
	}
	out := Request{Method: st.Method}
	if out.URL, err = fillAddress(st.URL, values); err != nil {
		return Request{}, err
	}
	if out.Header, out.Secret, err = fillHeaders(st.Headers, secrets, values); err != nil {
		return Request{}, err
	}
	body, err := fillBody(st, values)
	if err != nil {
		return Request{}, err
	}
	if body != "" {
		out.Body = []byte(body)
		if out.Header.Get("Content-Type") == "" {
			out.Header.Set("Content-Type", defaultType(bodyFormat(st)))
		}
	}
	return out, nil
}

func fillHeaders(headers []events.CustomHeader, secrets, values map[string]string) (http.Header, []string, error) {
	out, names := http.Header{}, []string(nil)
	for _, h := range headers {
		value := ""
		if h.Secret {
			var ok bool
			if value, ok = secretOf(secrets, h.Name); !ok {
				return nil, nil, events.Invalid("headers", "the secret header %s has no value", h.Name)
			}
			names = append(names, h.Name)
		} else {
			parts := split(h.Value)
			if size(parts, values) > maxHeader {
				return nil, nil, wrong("the header %s would be longer than %d bytes; give shorter values", h.Name, maxHeader)
			}
			value = fill(parts, values, func(s string) string { return s })
		}
		out.Set(h.Name, withoutControls(value))
	}
	return out, names, nil
}

func secretOf(secrets map[string]string, name string) (string, bool) {
	for n, v := range secrets {
		if strings.EqualFold(n, name) && v != "" {
			return v, true
		}
	}
	return "", false
}

// hidden stands where a secret stood.
const hidden = "***"

// Preview is a request as text, exactly as it is sent but for its secrets.
func Preview(r Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL)
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := r.Header.Get(name)
		if r.secret(name) {
			value = hidden
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	if len(r.Body) > 0 {
		fmt.Fprintf(&b, "\n%s", r.Body)
	}
	return r.mask(b.String())
}

func (r Request) secret(name string) bool {
	return slices.ContainsFunc(r.Secret, func(s string) bool { return strings.EqualFold(s, name) })
}

// MinSecret is the shortest secret, in bytes, that is looked for in a text: a
// shorter one would tear holes into ordinary words.
const MinSecret = 8

// Spellings gives the forms of a header's secret that a service may send back:
// the whole value, and what stands behind a scheme such as Bearer. The longest
// comes first.
func Spellings(value string) []string {
	var out []string
	_, credential, _ := strings.Cut(value, " ")
	for _, s := range []string{value, strings.TrimSpace(credential)} {
		if len(s) >= MinSecret {
			out = append(out, s)
		}
	}
	return out
}

// spellings are all that may not be shown of a request.
func (r Request) spellings() []string {
	var out []string
	for _, name := range r.Secret {
		out = append(out, Spellings(r.Header.Get(name))...)
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// mask hides a request's secrets in a text that is whole.
func (r Request) mask(s string) string {
	for _, secret := range r.spellings() {
		s = strings.ReplaceAll(s, secret, hidden)
	}
	return s
}
