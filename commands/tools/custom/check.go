package custom

import (
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"lembas/commands/tools"
	"lembas/events"
)

// Bounds of a tool.
const (
	MaxLabel      = 100  // characters
	maxSlug       = 64   // bytes
	maxText       = 4000 // characters of a description
	maxGuidance   = 8000 // characters
	maxHeaders    = 30
	maxHeaderName = 100      // bytes
	maxHeader     = 8 << 10  // bytes of a value, also of a filled one
	maxParameters = 50       // of one tool
	maxHint       = 1000     // characters of a parameter's description
	MaxTimeout    = 120      // seconds
	maxTemplates  = 64 << 10 // bytes of a body template
	maxBody       = 1 << 20  // bytes of a filled body
)

// reserved are headers that belong to the client or to the target of a request.
var reserved = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization",
	"Te", "Trailer", "Upgrade", "Expect", "Accept-Encoding", "Content-Encoding", "Referer", "Http2-Settings"}

// Check says what is not acceptable in a tool, as events.FieldErrors joined, or
// nil. Secret values are not in it: see CheckSecret.
func Check(st events.CustomState) error {
	return errors.Join(checkNames(st), checkRequest(st))
}

func checkNames(st events.CustomState) error {
	var faults []error
	add := func(bad bool, field, format string, args ...any) {
		if bad {
			faults = append(faults, events.Invalid(field, format, args...))
		}
	}
	add(!slug(st.Slug), "slug", "1 to %d of the characters a-z, 0-9, _ and -", maxSlug)
	add(tools.BuiltIn(st.Slug), "slug", "%q is the name of a built-in tool; choose another", st.Slug)
	add(!text(st.Label, 1, MaxLabel, false), "label", "1 to %d characters on one line", MaxLabel)
	add(!text(st.Description, 1, maxText, true), "description", "1 to %d characters: it tells a model what the tool does", maxText)
	add(!text(st.Guidance, 0, maxGuidance, true), "guidance", "at most %d characters", maxGuidance)
	add(!slices.Contains([]string{events.RiskRead, events.RiskWrite, events.RiskExecute}, st.Risk), "risk", "must be read, write or execute")
	add(st.Timeout < 1 || st.Timeout > MaxTimeout, "timeout", "1 to %d seconds", MaxTimeout)
	return errors.Join(faults...)
}

func slug(s string) bool {
	return len(s) >= 1 && len(s) <= maxSlug && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// text says whether s is ordinary text of so many characters.
func text(s string, least, most int, lines bool) bool {
	if n := utf8.RuneCountInString(s); n > most || !utf8.ValidString(s) || least > 0 && strings.TrimSpace(s) == "" {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && (!lines || r != '\n' && r != '\t' && r != '\r')
	})
}

// checkRequest checks what a request is made of. It is done again before each
// call, because a stored row can be older than a check.
func checkRequest(st events.CustomState) error {
	faults := []error{checkAddress(st.URL), checkHeaders(st.Headers), checkBody(st), checkParameters(st.Parameters)}
	if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, st.Method) {
		faults = append(faults, events.Invalid("method", "must be GET, POST, PUT, PATCH or DELETE"))
	}
	return errors.Join(faults...)
}

func checkHeaders(headers []events.CustomHeader) error {
	if len(headers) > maxHeaders {
		return events.Invalid("headers", "at most %d", maxHeaders)
	}
	seen := map[string]bool{}
	for _, h := range headers {
		name := http.CanonicalHeaderKey(h.Name)
		switch {
		case len(h.Name) > maxHeaderName, !httpguts.ValidHeaderFieldName(h.Name):
			return events.Invalid("headers", "%q is no header name; names hold no {{arguments}}", clip(h.Name, 50))
		case slices.Contains(reserved, name):
			return events.Invalid("headers", "%s is set by the client and cannot be set here", name)
		case seen[name]:
			return events.Invalid("headers", "%s is there twice", name)
		case h.Secret && h.Value != "":
			return events.Invalid("headers", "the value of the secret header %s is kept apart", name)
		case !h.Secret && !hasHole(h.Value) && (name == "Authorization" || name == "Cookie"):
			return events.Invalid("headers", "%s must be a secret header", name)
		case len(h.Value) > maxHeader, !utf8.ValidString(h.Value), strings.ContainsFunc(h.Value, control):
			return events.Invalid("headers", "the value of %s must be one line of at most %d bytes", name, maxHeader)
		}
		if err := checkContentType(name, h); err != nil {
			return err
		}
		seen[name] = true
	}
	return nil
}

// checkContentType keeps the language of a body literal: values are escaped for
// it.
func checkContentType(name string, h events.CustomHeader) error {
	if name != "Content-Type" {
		return nil
	}
	media, _, err := mime.ParseMediaType(h.Value)
	if err != nil || hasHole(h.Value) || !strings.Contains(media, "/") {
		return events.Invalid("headers", "Content-Type must be written out, such as application/json")
	}
	return nil
}

// CheckSecret says whether a value may be that of a secret header.
func CheckSecret(name, value string) error {
	if value == "" || len(value) > maxHeader || !utf8.ValidString(value) || strings.ContainsFunc(value, control) {
		return events.Invalid("headers", "the value of the secret header %s must be one line of 1 to %d bytes", clip(name, 50), maxHeader)
	}
	return nil
}

func checkParameters(parameters []events.CustomParameter) error {
	if len(parameters) > maxParameters {
		return events.Invalid("parameters", "at most %d", maxParameters)
	}
	seen := map[string]bool{}
	for _, p := range parameters {
		switch {
		case !parameterName(p.Name):
			return events.Invalid("parameters", "%q is no name: 1 to 64 letters, digits and _, not beginning with a digit", clip(p.Name, 50))
		case seen[p.Name]:
			return events.Invalid("parameters", "%s is there twice", p.Name)
		case !slices.Contains([]string{typeString, typeNumber, typeInteger, typeBoolean}, p.Type):
			return events.Invalid("parameters", "the type of %s must be string, number, integer or boolean", p.Name)
		case !text(p.Description, 0, maxHint, true):
			return events.Invalid("parameters", "the description of %s has at most %d characters", p.Name, maxHint)
		}
		seen[p.Name] = true
	}
	return nil
}

func parameterName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 64
}
