package tools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

func runs(context.Context, Call) Result { return Result{} }

var search = Tool{Run: runs, Spec: Spec{Name: "search", Schema: json.RawMessage(`{"type":"object","required":["query","count"],
 "properties":{"query":{"type":"string"},"count":{"type":"integer"},"deep":{"type":["boolean","null"]}},"additionalProperties":false}`)}}

var fetch = Tool{Run: runs, Spec: Spec{Name: "fetch", Schema: json.RawMessage(`{"type":"object","required":["url"],"properties":{"url":{"type":"string"}}}`)}}

var ask = Tool{Spec: Spec{Name: "ask_user", Schema: json.RawMessage(`{"type":"object","required":["questions"],"properties":{"questions":{"type":"array"}}}`)}}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		tool      Tool
		raw, want string // want "!words" is an error with them
	}{
		{fetch, `{"url":"https://a.test/"}`, `{"url":"https://a.test/"}`},
		{fetch, `https://a.test/`, `{"url":"https://a.test/"}`},
		{fetch, `"https://a.test/"`, `{"url":"https://a.test/"}`},
		{fetch, ` {"url":"x","more":1} `, `{"more":1,"url":"x"}`},
		{fetch, `7`, `{"url":"7"}`},
		{fetch, ``, `!"url" is missing; send an object such as {"url": "…"}`},
		{fetch, `null`, `!"url" is missing`},
		{fetch, `{"url":1}`, `!"url" must be of type string`},
		{fetch, `{"url":"a"`, `!not valid JSON; send an object such as {"url": "…"}`},
		{fetch, `{"url":"a","url":"b"}`, `!"url" is given twice`},
		{fetch, `{"url":"a","URL":"b"}`, `!"URL" is given twice`},
		{fetch, `{"url":"a"} {"url":"b"}`, `!nothing after it`},
		{fetch, `{"url":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, `!nest deeper`},
		{search, `{"query":"q","count":3,"deep":null}`, `{"count":3,"deep":null,"query":"q"}`},
		{search, `{"query":"q","count":3.5}`, `!"count" must be of type integer`},
		{search, `{"query":"q","count":3,"deep":"yes"}`, `!"deep" must be of type boolean or null`},
		{search, `{"query":"q","count":3,"wide":1}`, `!no argument "wide"; there are: count, deep, query`},
		{search, `just words`, `!"count" is missing`},
		{ask, `"Which one?"`, `{"questions":"Which one?"}`},
		{ask, `["a","b"]`, `{"questions":["a","b"]}`},
		{ask, `{"question":"Which?"}`, `{"question":"Which?"}`},
		{Tool{Run: runs}, `{"a":12345678901234567890}`, `{"a":12345678901234567890}`},
		{Tool{Run: runs}, `words`, `!not valid JSON`},
		{fetch, strings.Repeat("a", maxArguments+1), `!longer than`},
	} {
		got, err := c.tool.Arguments(c.raw)
		if words, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%.80s: %s, error %v, want %s", c.raw, got, err, words)
			}
			continue
		}
		if err != nil || string(got) != c.want {
			t.Errorf("%.80s: %s (%v), want %s", c.raw, got, err, c.want)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"url":"a"}`, `"a"`, `{`, `[1]`, ``, `{"url":{"a":[1,{}]}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, tool := range []Tool{fetch, search, ask} {
			got, err := tool.Arguments(raw)
			var o map[string]any
			if err == nil && json.Unmarshal(got, &o) != nil {
				t.Errorf("%q became %s, which is no object", raw, got)
			}
		}
	})
}

// TestANumberAloneKeepsItsDigits: what a card shows is what the model sent.
func TestANumberAloneKeepsItsDigits(t *testing.T) {
	tool := Tool{Spec: Spec{Schema: json.RawMessage(`{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}`)},
		Run: runs}
	if got, err := tool.Arguments("12345678901234567891"); err != nil || string(got) != `{"id":12345678901234567891}` {
		t.Errorf("%s (%v)", got, err)
	}
}
