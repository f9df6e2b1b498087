package custom

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"lembas/events"
)

// all is a tool with a parameter of each type; c is required where wanted.
func all() events.CustomState {
	st := weather()
	st.Parameters = []events.CustomParameter{{Name: "s", Type: "string"}, {Name: "u", Type: "string"}, {Name: "n", Type: "number"},
		{Name: "i", Type: "integer"}, {Name: "b", Type: "boolean"}}
	return st
}

func TestValuesAreEscapedForAnAddress(t *testing.T) {
	const base = "https://api.test"
	for _, c := range []struct{ url, args, want string }{ // want "" is a refusal in words for a model
		{"/{{s}}", `{"s":"a/b;c?d#e&f=g+h%i"}`, "/a%2Fb%3Bc%3Fd%23e%26f%3Dg%2Bh%25i"},
		{"/{{s}}", `{"s":"%2e%2e"}`, "/%252e%252e"},
		{"/{{s}}", `{"s":"\\..\\"}`, "/%5C..%5C"},
		{"/{{s}}", `{"s":"ä\u0000\r\n\u202e "}`, "/%C3%A4%00%0D%0A%E2%80%AE%20"},
		{"/{{s}}", `{"s":"@evil.test"}`, "/%40evil.test"},
		{"/{{s}}", `{"s":"//evil.test"}`, "/%2F%2Fevil.test"},
		{"/{{s}}", `{"s":"{{u}}","u":"x"}`, "/%7B%7Bu%7D%7D"},
		{"?a={{s}}&b={{n}}", `{"s":"1&b=2","n":-1.5e3}`, "?a=1%26b%3D2&b=-1.5e3"},
		{"/?a={{s}}", `{"s":".."}`, "/?a=.."},
		{"/{{ s }}/{{i}}/{{b}}", `{"s":"x","i":12345678901234567890,"b":true}`, "/x/12345678901234567890/true"},
		{"/{{s}}{{nobody}}", `{"s":"x"}`, "/x"},
		{"/a{{s}}", `{}`, "/a"},
		{"/a{{s}}", ``, "/a"},
		{"/a{{s}}", `{"s":null}`, "/a"},
		{"/ä\"{{s}}", `{}`, "/%C3%A4%22"},
		{"/{{s}}/x", `{"s":"."}`, ""},
		{"/{{s}}", `{"s":".."}`, ""},
		{"/{{s}}{{u}}/x", `{"s":".","u":"."}`, ""},
		{"/%2e{{s}}/x", `{"s":"."}`, ""},
		{"/.{{s}}/x", `{}`, ""},
		{"/{{s}};v=1/x", `{"s":".."}`, ""},
		{"/{{s}}", `{"s":"..;x"}`, ""},
		{"/{{s}}", `{"s":"` + strings.Repeat("a", maxAddress) + `"}`, ""},
		{"/{{s}}", `{"s":"` + strings.Repeat("ä", maxAddress/4) + `"}`, ""},
	} {
		st := all()
		st.URL = base + c.url
		check(t, Check(st))
		r, err := Fill(st, nil, json.RawMessage(c.args))
		switch {
		case c.want == "" && !errors.Is(err, ErrArguments):
			t.Errorf("%s with %.60s: %s, %v", c.url, c.args, r.URL, err)
		case c.want != "" && (err != nil || r.URL != base+c.want):
			t.Errorf("%s with %.60s: %s, %v", c.url, c.args, r.URL, err)
		}
	}
}

func TestValuesAreEscapedForABody(t *testing.T) {
	const text, urlencoded, js, xml = "text/plain", "application/x-www-form-urlencoded", "application/json", "text/xml; charset=utf-8"
	const refused = "\x00"
	for _, c := range []struct{ typ, body, args, want string }{
		{"", `{"a":"{{s}}"}`, `{"s":"x\",\"admin\":\"\\\n"}`, `{"a":"x\",\"admin\":\"\\\n"}`},
		{"", `{"a":"{{s}}-{{u}}"}`, `{"s":"\\","u":"\""}`, `{"a":"\\-\""}`},
		{"", `{"a":"\\{{s}}"}`, `{"s":"\""}`, `{"a":"\\\""}`},
		{"", ` [ {{n}}, {{b}} ] `, `{"n":1e400,"b":false}`, ` [ 1e400, false ] `},
		{"", `{"a":{{s}}}`, `{"s":"[1,\"x\",null,{}]"}`, `{"a":[1,"x",null,{}]}`},
		{"", `{"a":{{s}}}`, `{"s":"{\"admin\":true}"}`, refused},
		{"", `{"a":{{s}}}`, `{"s":"[{\"admin\":true}]"}`, refused},
		{"", `{"a":{{s}}}`, `{"s":"1}{"}`, refused},
		{"", `{"a":{{s}}}`, `{"s":"hello"}`, refused},
		{"", `{"a":{{s}}}`, `{"s":""}`, refused},
		{"", `{"a":{{s}}}`, `{}`, refused},
		{"", `{"a":{{nobody}}}`, `{}`, refused},
		{"", `{"a":"{{nobody}}{{s}}"}`, `{}`, `{"a":""}`},
		{"", `{"a":{"b":{{n}}}}`, `{"n":0}`, `{"a":{"b":0}}`},
		{js, `{{n}}`, `{"n":5}`, `5`},
		{js, `"{{s}}"`, `{"s":"\""}`, `"\""`},
		{"application/problem+json", `{"a":"{{s}}"}`, `{"s":"\""}`, `{"a":"\""}`},
		{text, `{"a":"{{s}}"}`, `{"s":"\",\"admin\":\""}`, `{"a":"\",\"admin\":\""}`}, // its reader may not ask for the type
		{text, `Hello {{s}} & <you>`, `{"s":"\"<a>\"\n"}`, "Hello \"<a>\"\n & <you>"},
		{"", `{{s}}`, `{"s":"a&b"}`, "a&b"},
		{urlencoded, `a={{s}}&b=2`, `{"s":"1&b=3+%"}`, "a=1%26b%3D3%2B%25&b=2"},
		{xml, `<a b="{{s}}">{{u}}</a>`, `{"s":"\"'","u":"</a><b>&\u0001\uffff"}`, `<a b="&quot;&apos;">&lt;/a&gt;&lt;b&gt;&amp;</a>`},
		{text, strings.Repeat("{{s}}", 1000), `{"s":"` + strings.Repeat("a", 2000) + `"}`, refused},
		{xml, `<a>{{s}}</a>`, `{"s":"` + strings.Repeat("'", maxBody/5) + `"}`, refused}, // each becomes six bytes
	} {
		st := all()
		st.Method, st.Body = "POST", c.body
		if c.typ != "" {
			st.Headers = header("content-type", c.typ)
		}
		check(t, Check(st))
		r, err := Fill(st, nil, json.RawMessage(c.args))
		switch {
		case c.want == refused && !errors.Is(err, ErrArguments):
			t.Errorf("%.60s with %.60s: %.200s, %v", c.body, c.args, r.Body, err)
		case c.want != refused && (err != nil || string(r.Body) != c.want):
			t.Errorf("%.60s with %.60s: %s, %v", c.body, c.args, r.Body, err)
		}
	}
}

func TestABodyHasAType(t *testing.T) {
	for body, want := range map[string]string{`{"a":1}`: "application/json", "hello": "text/plain; charset=utf-8", "": ""} {
		st := all()
		st.Body = body
		r, err := Fill(st, nil, nil)
		check(t, err)
		if got := r.Header.Get("Content-Type"); got != want {
			t.Errorf("%q: %q", body, got)
		}
	}
}

func TestValuesAreStrippedForAHeader(t *testing.T) {
	st := all()
	st.Headers = append(header("x-note", "a {{s}}{{nobody}} {{n}}"), events.CustomHeader{Name: "X-Key", Secret: true})
	r, err := Fill(st, map[string]string{"x-key": "k{{s}}"}, json.RawMessage(`{"s":"b\r\nX-B: c\t\u0000\u007f\u0085","n":1}`))
	check(t, err)
	want := http.Header{"X-Note": {"a bX-B: c 1"}, "X-Key": {"k{{s}}"}}
	if len(r.Header) != 2 || r.Header.Get("X-Note") != want.Get("X-Note") || r.Header.Get("X-Key") != want.Get("X-Key") {
		t.Errorf("header %q", r.Header)
	}
	if len(r.Secret) != 1 || r.Secret[0] != "X-Key" {
		t.Errorf("secret %q", r.Secret)
	}
	if _, err := Fill(st, nil, nil); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("without its secret: %v", err)
	}
	long := json.RawMessage(`{"s":"` + strings.Repeat("a", maxHeader) + `"}`)
	if _, err := Fill(st, map[string]string{"X-Key": "k"}, long); !errors.Is(err, ErrArguments) {
		t.Errorf("a long value: %v", err)
	}
}

func TestArgumentsInWordsForAModel(t *testing.T) {
	st := all()
	st.Parameters[0].Required = true
	for _, c := range []struct{ args, want string }{ // want is in the error
		{`{"s":"x"}`, ""},
		{` {"s":"x","n":1.5,"i":-3,"b":true} `, ""},
		{``, `"s" is missing; give it as text`},
		{`{}`, `"s" is missing`},
		{`{"s":null}`, `"s" is missing`},
		{`null`, "one JSON object"},
		{`[1]`, "one JSON object"},
		{`"s"`, "one JSON object"},
		{`{"s":"x"`, "not valid JSON"},
		{`{'s':'x'}`, "not valid JSON"},
		{`s=x`, "not valid JSON"},
		{`{"s":"x"} {}`, "nothing behind it"},
		{`{"s":"x","s":"y"}`, "twice"},
		{`{"s":"x","\u0073":"y"}`, "twice"},
		{`{"s":"x","S":"y"}`, `"S" is not an argument of this tool; it takes s, u, n, i, b`},
		{`{"s":1}`, `"s" must be text, in quotes`},
		{`{"s":{"a":1}}`, `"s" must be text`},
		{`{"s":["a"]}`, `"s" must be text`},
		{`{"s":"x","n":"1"}`, `"n" must be a number, without quotes`},
		{`{"s":"x","i":1.5}`, `"i" must be a whole number`},
		{`{"s":"x","b":"true"}`, `"b" must be true or false`},
		{`{"n":"1","b":0}`, `"s" is missing`}, // with the others
		{`{"n":"1","b":0}`, `"b" must be`},
		{`{"s":"` + strings.Repeat("a", maxArguments) + `"}`, "larger than"},
	} {
		_, err := Fill(st, nil, json.RawMessage(c.args))
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrArguments) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.80s: %v, want %q", c.args, err, c.want)
		}
	}
	st.Parameters = nil
	if _, err := Fill(st, nil, json.RawMessage(`{"x":1}`)); err == nil || !strings.Contains(err.Error(), "takes no arguments") {
		t.Errorf("without parameters: %v", err)
	}
}

func TestSchemaSaysWhatFillWants(t *testing.T) {
	st := all()
	st.Parameters[1].Required, st.Parameters[1].Description = true, `a "u"`
	want := `{"type":"object","properties":{"b":{"type":"boolean"},"i":{"type":"integer"},"n":{"type":"number"},"s":{"type":"string"},` +
		`"u":{"type":"string","description":"a \"u\""}},"required":["u"],"additionalProperties":false}`
	if got := string(Schema(st)); got != want {
		t.Errorf("%s", got)
	}
	if got := string(Schema(events.CustomState{})); got != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Errorf("%s", got)
	}
}

// TestStoredRowsAreCheckedAgain fills rows that a check of today would refuse.
func TestStoredRowsAreCheckedAgain(t *testing.T) {
	for name, change := range map[string]func(*events.CustomState){
		"host":   func(s *events.CustomState) { s.URL = "https://api.test{{s}}" },
		"method": func(s *events.CustomState) { s.Method = "{{s}}" },
		"header": func(s *events.CustomState) { s.Headers = header("X-{{s}}", "1") },
		"Host":   func(s *events.CustomState) { s.Headers = header("Host", "{{s}}") },
		"key":    func(s *events.CustomState) { s.Body = `{"{{s}}":1}` },
	} {
		st := all()
		change(&st)
		if r, err := Fill(st, nil, json.RawMessage(`{"s":".evil.test/"}`)); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// FuzzFill holds that no argument changes where a request goes or what keys its
// body has.
func FuzzFill(f *testing.F) {
	for _, s := range []string{"42", "../..", "..", "@evil.test", "\r\nX: y", `","admin":"`, "1,\"a\":2", "\\", "%2e", "\u2028", "\xff"} {
		f.Add(s, s)
	}
	st := all()
	st.Method, st.URL, st.Body = "POST", "https://api.test/a/{{s}}/b?q={{u}}&r=1", `{"a":"{{s}}","b":{{u}}}`
	st.Headers = header("X-Note", "{{s}}")
	f.Fuzz(func(t *testing.T, s, u string) {
		args, err := json.Marshal(map[string]string{"s": s, "u": u})
		check(t, err)
		r, err := Fill(st, nil, args)
		if err != nil {
			return
		}
		if parts := strings.Split(r.URL, "/"); len(parts) != 6 || !strings.HasPrefix(r.URL, "https://api.test/a/") || strings.Count(r.URL, "&") != 1 {
			t.Errorf("address %q", r.URL)
		}
		if strings.ContainsAny(r.Header.Get("X-Note"), "\r\n\x00") {
			t.Errorf("header %q", r.Header.Get("X-Note"))
		}
		keys, err := keysOf(string(r.Body))
		if err != nil || strings.Join(keys, " ") != "a b" {
			t.Errorf("body %q: %q, %v", r.Body, keys, err)
		}
	})
}
