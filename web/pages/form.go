package pages

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"lembas/commands"
	"lembas/events"
	"lembas/web/request"
	"lembas/web/templates"
)

// form is a form as it came. Of a field that comes several times the last value
// counts: a switch is preceded by a hidden "false".
type form struct{ values url.Values }

func readForm(r *http.Request) (form, error) {
	body, err := request.Bytes(r)
	if err != nil {
		return form{}, err
	}
	v, err := url.ParseQuery(string(body))
	if err != nil {
		return form{}, request.Fail(http.StatusBadRequest, "The form could not be read.")
	}
	return form{v}, nil
}

// text is a field's value, "" when it did not come.
func (f form) text(name string) string {
	if v := f.values[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// maybe is a field's value, nil when it did not come.
func (f form) maybe(name string) *string {
	if _, ok := f.values[name]; !ok {
		return nil
	}
	v := f.text(name)
	return &v
}

// flag is a switch, nil when it did not come.
func (f form) flag(name string) *bool {
	v := f.maybe(name)
	if v == nil {
		return nil
	}
	on := *v == "true" || *v == "on"
	return &on
}

// refused gives the errors of a form by field, and the status to answer with.
// What a person cannot mend in the form is returned as it is.
func refused(err error) (templates.Errors, error) {
	p := request.Classify(err)
	if p.Status != http.StatusUnprocessableEntity {
		return nil, err
	}
	out := templates.Errors{}
	for _, e := range p.Errors {
		out[e.Field] = sentence(e.Detail)
	}
	if len(p.Errors) == 0 {
		out[""] = p.Detail
	}
	return out, nil
}

// under moves errors that the form has no field for to the whole form.
func under(errs templates.Errors, fields ...string) templates.Errors {
	for field, detail := range errs {
		if field != "" && !slices.Contains(fields, field) {
			delete(errs, field)
			errs[""] = strings.TrimSpace(errs[""] + " " + detail)
		}
	}
	return errs
}

func sentence(s string) string {
	if s = capital(s); s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// capital makes the first letter a capital.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// caller is who gives the command. Forms carry no idempotency key.
func caller(r *http.Request) commands.Caller { return request.CallerWithoutKey(r) }

// gone is no error for what is gone already: the page shows that it is.
func gone(err error) error {
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	return err
}
