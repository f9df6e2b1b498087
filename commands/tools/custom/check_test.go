package custom

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"lembas/events"
)

// fields are the fields that an error names, in order.
func fields(err error) (out []string) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			out = append(out, fields(e)...)
		}
		return out
	}
	var f *events.FieldError
	if errors.As(err, &f) {
		out = append(out, f.Field)
	}
	return out
}

func header(name, value string) []events.CustomHeader {
	return []events.CustomHeader{{Name: name, Value: value}}
}

func parameter(name, typ string) []events.CustomParameter {
	return []events.CustomParameter{{Name: name, Type: typ}}
}

func TestCheck(t *testing.T) {
	type state = events.CustomState
	long := func(n int) string { return strings.Repeat("a", n) }
	many := func(n int) (out []events.CustomParameter) {
		for i := range n {
			out = append(out, events.CustomParameter{Name: fmt.Sprintf("p%d", i), Type: "string"})
		}
		return out
	}
	url := func(u string) func(*state) { return func(s *state) { s.URL = u } }
	head := func(name, value string) func(*state) { return func(s *state) { s.Headers = header(name, value) } }
	body := func(typ, b string) func(*state) {
		return func(s *state) {
			s.Body = b
			if typ != "" {
				s.Headers = header("Content-Type", typ)
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*state)
		want   string // fields, "" when it is accepted
	}{
		"as it is":             {func(*state) {}, ""},
		"slug: none":           {func(s *state) { s.Slug = "" }, "slug"},
		"slug: capital":        {func(s *state) { s.Slug = "Weather" }, "slug"},
		"slug: longest":        {func(s *state) { s.Slug = long(64) }, ""},
		"slug: too long":       {func(s *state) { s.Slug = long(65) }, "slug"},
		"slug: newline":        {func(s *state) { s.Slug = "a\n" }, "slug"},
		"slug: built-in":       {func(s *state) { s.Slug = "web_search" }, "slug"},
		"slug: of a family":    {func(s *state) { s.Slug = "memory_x" }, "slug"},
		"slug: near a family":  {func(s *state) { s.Slug = "memory" }, ""},
		"label: none":          {func(s *state) { s.Label = "  " }, "label"},
		"label: two lines":     {func(s *state) { s.Label = "a\nb" }, "label"},
		"label: too long":      {func(s *state) { s.Label = long(101) }, "label"},
		"description: none":    {func(s *state) { s.Description = "" }, "description"},
		"description: long":    {func(s *state) { s.Description = long(maxText + 1) }, "description"},
		"guidance: lines":      {func(s *state) { s.Guidance = "a\nb" }, ""},
		"guidance: escape":     {func(s *state) { s.Guidance = "a\x1b[1m" }, "guidance"},
		"risk":                 {func(s *state) { s.Risk = "none" }, "risk"},
		"timeout: none":        {func(s *state) { s.Timeout = 0 }, "timeout"},
		"timeout: most":        {func(s *state) { s.Timeout = 120 }, ""},
		"timeout: too long":    {func(s *state) { s.Timeout = 121 }, "timeout"},
		"method: lower":        {func(s *state) { s.Method = "get" }, "method"},
		"method: HEAD":         {func(s *state) { s.Method = "HEAD" }, "method"},
		"several":              {func(s *state) { s.Slug, s.Risk, s.URL = "", "", "x" }, "slug risk url"},
		"url: query only":      {url("https://api.test?q={{q}}"), ""},
		"url: capitals, port":  {url("HTTPS://API.test:8443/{{q}}"), ""},
		"url: IPv6":            {url("http://[2001:db8::1]:8080/{{q}}"), ""},
		"url: none":            {url(""), "url"},
		"url: too long":        {url("https://api.test/" + long(maxTemplate)), "url"},
		"url: user":            {url("https://ann@api.test/"), "url"},
		"url: password":        {url("https://ann:pw@api.test/"), "url"},
		"url: escaped host":    {url("https://api%2etest/{{q}}"), "url"},
		"url: no host":         {url("https:///{{q}}"), "url"},
		"url: one slash":       {url("https:/api.test/{{q}}"), "url"},
		"url: no port":         {url("https://api.test:/"), "url"},
		"url: port too large":  {url("https://api.test:65536/"), "url"},
		"url: space":           {url("https://api.test/a b"), "url"},
		"url: space before":    {url(" https://api.test/"), "url"},
		"url: tab":             {url("https://api.test/\t{{q}}"), "url"},
		"url: fragment":        {url("https://api.test/#{{q}}"), "url"},
		"url: fragment host":   {url("https://api.test#{{q}}"), "url"},
		"url: hole with slash": {url("https://api.test{{a/b}}"), "url"},
		"url: hole in ? host":  {url("https://{{a?b}}.api.test/"), "url"},
		"url: open hole":       {url("https://api.test/{{q"), "url"},
		"url: half escape":     {url("https://api.test/%{{q}}"), "url"},
		"url: half escape 2":   {url("https://api.test/%2{{q}}"), "url"},
		"url: dots":            {url("https://api.test/a/../{{q}}"), "url"},
		"url: escaped dots":    {url("https://api.test/a/%2E%2e/b"), "url"},
		"url: dots in query":   {url("https://api.test/a?b=/../"), ""},
		"url: decimal host":    {url("http://2130706433/{{q}}"), "url"},
		"url: undeclared hole": {url("https://api.test/{{nobody}}"), ""},
		"header: fine":         {head("X-Note", "a {{id}}"), ""},
		"header: empty name":   {head("", "a"), "headers"},
		"header: colon":        {head("X:Y", "a"), "headers"},
		"header: newline":      {head("X\r\nY", "a"), "headers"},
		"header: pseudo":       {head(":authority", "a"), "headers"},
		"header: host":         {head("hOST", "a"), "headers"},
		"header: connection":   {head("connection", "x-note"), "headers"},
		"header: TE":           {head("te", "trailers"), "headers"},
		"header: encoding":     {head("accept-encoding", "gzip"), "headers"},
		"header: control":      {head("X-Note", "a\r\nX-B: c"), "headers"},
		"header: too long":     {head("X-Note", long(maxHeader+1)), "headers"},
		"header: open key":     {head("Authorization", "Bearer abc"), "headers"},
		"header: type hole":    {head("Content-Type", "application/{{t}}"), "headers"},
		"header: no type":      {head("Content-Type", "json"), "headers"},
		"header: twice": {func(s *state) {
			s.Headers = append(header("X-Note", "a"), events.CustomHeader{Name: "x-note", Secret: true})
		}, "headers"},
		"header: secret with value": {func(s *state) {
			s.Headers = []events.CustomHeader{{Name: "X-Key", Value: "k", Secret: true}}
		}, "headers"},
		"header: secret type": {func(s *state) {
			s.Headers = []events.CustomHeader{{Name: "content-type", Secret: true}}
		}, "headers"},
		"header: too many": {func(s *state) {
			for i := range maxHeaders + 1 {
				s.Headers = append(s.Headers, events.CustomHeader{Name: fmt.Sprintf("X-%d", i)})
			}
		}, "headers"},
		"parameter: digit first": {func(s *state) { s.Parameters = parameter("1a", "string") }, "parameters"},
		"parameter: dash":        {func(s *state) { s.Parameters = parameter("a-b", "string") }, "parameters"},
		"parameter: none":        {func(s *state) { s.Parameters = parameter("", "string") }, "parameters"},
		"parameter: longest":     {func(s *state) { s.Parameters = parameter(long(64), "string") }, ""},
		"parameter: too long":    {func(s *state) { s.Parameters = parameter(long(65), "string") }, "parameters"},
		"parameter: type":        {func(s *state) { s.Parameters = parameter("a", "object") }, "parameters"},
		"parameter: twice":       {func(s *state) { s.Parameters = append(parameter("a", "string"), parameter("a", "number")...) }, "parameters"},
		"parameters: most":       {func(s *state) { s.Parameters = many(maxParameters) }, ""},
		"parameters: too many":   {func(s *state) { s.Parameters = many(maxParameters + 1) }, "parameters"},
		"body: json":             {body("", `{"a":{"b":{{id}}},"c":"x{{id}}y"}`), ""},
		"body: json, key":        {body("", `{"{{id}}":1}`), "body"},
		"body: json, bare key":   {body("", `{{{id}}:1}`), "body"},
		"body: json, two values": {body("", `{"a":{{id}}{{id}}}`), "body"},
		"body: json, digits":     {body("", `{"a":1{{id}}}`), "body"},
		"body: json, escape":     {body("", `{"a":"\{{id}}"}`), "body"},
		"body: json, unicode":    {body("", `{"a":"\u00{{id}}"}`), "body"},
		"body: json, literal":    {body("application/json", `not checked without an argument`), ""},
		"body: broken json":      {body("application/json", `{"a":{{id}}`), "body"},
		"body: text with brace":  {body("text/plain", `{ not json {{id}}`), ""},
		"body: form":             {body("application/x-www-form-urlencoded", "a={{id}}"), ""},
		"body: multipart":        {body("multipart/form-data; boundary=x", "--x\r\n\r\n{{id}}\r\n--x--"), "body"},
		"body: unknown, literal": {body("application/octet-stream", "abc"), ""},
		"body: too long":         {body("", long(maxTemplates+1)), "body"},
	} {
		st := weather()
		c.change(&st)
		err := Check(st)
		if got := strings.Join(fields(err), " "); got != c.want {
			t.Errorf("%s: %q (%v), want %q", name, got, err, c.want)
		}
		if err != nil && !errors.Is(err, events.ErrInvalid) {
			t.Errorf("%s: %v does not match ErrInvalid", name, err)
		}
	}
}

func TestOriginIsCanonical(t *testing.T) {
	for template, want := range map[string]string{
		"https://API.test:443/{{x}}": "https://api.test", "http://api.test:80?{{x}}": "http://api.test",
		"https://api.test:8443/": "https://api.test:8443", "http://[2001:DB8:0::1]/": "http://[2001:db8::1]",
		"https://{{x}}/": "", "api.test": "",
	} {
		if got, err := Origin(template); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", template, got, err)
		}
	}
}
