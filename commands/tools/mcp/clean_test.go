package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"lembas/events"
)

func TestWhatOfATextStays(t *testing.T) {
	for in, want := range map[string]string{
		"two\nlines\tand more":                     "two\nlines\tand more",
		"\x1b[31mred\x1b[0m\u009b":                 "[31mred[0m",
		"a\u202eb\u2066c\u200fd\ufeffe\u200bf":     "abcdef",
		"tag\U000e0041\U000e0042 and \U000e0100vs": "tag and vs",
		"नि\u200dमा 👩\u200d🚀":                      "नि\u200dमा 👩\u200d🚀",
		"bad \xff byte\u2028":                      "bad � byte",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := line(" a\n\n b ", 10); got != "a b" {
		t.Errorf("a line is %q", got)
	}
	if got := text(strings.Repeat("é", 11), 10); got != strings.Repeat("é", 9)+"…" {
		t.Errorf("cut to %q", got)
	}
}

func TestToolsThatAreLeftOut(t *testing.T) {
	schema := map[string]any{"type": "object"}
	for name, tool := range map[string]*mcp.Tool{
		"none":                nil,
		"no name":             {InputSchema: schema},
		"control in the name": {Name: "a\x00", InputSchema: schema},
		"turned name":         {Name: "a\u202eb", InputSchema: schema},
		"endless name":        {Name: strings.Repeat("a", 257), InputSchema: schema},
		"schema is a list":    {Name: "a", InputSchema: []any{}},
		"schema is a string":  {Name: "a", InputSchema: "object"},
		"arguments are none":  {Name: "a", InputSchema: map[string]any{"type": "string"}},
		"type is a number":    {Name: "a", InputSchema: map[string]any{"type": 1.0}},
		"type is a map":       {Name: "a", InputSchema: map[string]any{"type": map[string]any{}}},
		"turned property":     {Name: "a", InputSchema: map[string]any{"properties": map[string]any{"a\u202e": true}}},
	} {
		if got, ok := cleanTool(tool); ok {
			t.Errorf("%s: kept as %+v", name, got)
		}
	}
}

func TestSchemas(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"none":                 {`null`, `{"properties":{},"type":"object"}`},
		"texts":                {`{"description":"a\u001bb","properties":{"x":{"title":"t\u202e","enum":["a\u0007"]}}}`, `{"description":"ab","properties":{"x":{"enum":["a"],"title":"t"}},"type":"object"}`},
		"an object or nothing": {`{"type":["object","null"],"properties":{}}`, `{"properties":{},"type":"object"}`},
		"names like keywords":  {`{"properties":{"$ref":{"type":"string"},"enum":{},"properties":{"type":"string"},"$schema":true,"description":{}}}`, `{"properties":{"$ref":{"type":"string"},"$schema":true,"description":{},"enum":{},"properties":{"type":"string"}},"type":"object"}`},
		"no schemas":           {`{"properties":{"a":1,"b":"x","c":[]},"items":3,"anyOf":{"a":1},"not":null}`, `{"properties":{},"type":"object"}`},
		"addresses":            {`{"$schema":"https://a","$id":"https://b","$comment":"c","properties":{"a":{"$ref":"https://evil.test/x","$dynamicRef":"#a","$anchor":"q"}}}`, `{"properties":{"a":{}},"type":"object"}`},
		"a use of a part":      {`{"$defs":{"p":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/p"},"b":{"$ref":"#/properties/a"}}}`, `{"$defs":{"p":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/p"},"b":{"$ref":"#/properties/a"}},"type":"object"}`},
		"a part of itself":     {`{"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}}}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"$defs":{"n":{"properties":{"next":{}}}},"properties":{"a":{"$ref":"#/$defs/n"}},"type":"object"}`},
		"parts of each other":  {`{"$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{"items":{"$ref":"#/$defs/a"}}}}`, `{"$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{"items":{}}},"properties":{},"type":"object"}`},
		"into a holder":        {`{"properties":{"x":{"$ref":"#/properties/y/properties/z"},"y":{"properties":{"z":{"items":{"$ref":"#/properties/y"}}}}}}`, `{"properties":{"x":{"$ref":"#/properties/y/properties/z"},"y":{"properties":{"z":{"items":{}}}}},"type":"object"}`},
		"to the whole":         {`{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#/"},"c":{"$ref":"#/properties"},"d":{"$ref":"x"},"e":{"$ref":1},"f":{"$ref":"#/nowhere"}}}`, `{"properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{}},"type":"object"}`},
		"escaped":              {`{"$defs":{"a/b~c d":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/a~1b~0c%20d"},"b":{"$ref":"#/$defs/%zz"}}}`, `{"$defs":{"a/b~c d":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/a~1b~0c%20d"},"b":{}},"type":"object"}`},
		"in a list":            {`{"anyOf":[{"type":"object"},{"properties":{"a":{"$ref":"#/anyOf/0"},"b":{"$ref":"#/anyOf/1"},"c":{"$ref":"#/anyOf/9"}}}]}`, `{"anyOf":[{"type":"object"},{"properties":{"a":{"$ref":"#/anyOf/0"},"b":{},"c":{}}}],"properties":{},"type":"object"}`},
		"values":               {`{"properties":{"a":{"const":{"k":[1,true,null,"s"]},"minimum":1.5,"x-mcp-header":"H"}},"required":["a"]}`, `{"properties":{"a":{"const":{"k":[1,true,null,"s"]},"minimum":1.5,"x-mcp-header":"H"}},"required":["a"],"type":"object"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var v any
			if err := json.Unmarshal([]byte(c.in), &v); err != nil {
				t.Fatal(err)
			}
			if got, ok := cleanSchema(v); !ok || string(got) != c.want {
				t.Errorf("became %s (%v)\nwant %s", got, ok, c.want)
			}
		})
	}
}

// TestALargeSchemaLosesItsExplanations before its tool is left out.
func TestALargeSchemaLosesItsExplanations(t *testing.T) {
	wide := func(n int, about string) map[string]any {
		props := map[string]any{}
		for i := range n {
			props[fmt.Sprintf("p%d", i)] = map[string]any{"type": "string", "description": about}
		}
		return map[string]any{"type": "object", "properties": props}
	}
	got, ok := cleanSchema(wide(100, strings.Repeat("a", 1000)))
	if !ok || len(got) > maxSchema || !strings.Contains(string(got), `"p99":{"type":"string"}`) {
		t.Errorf("%d bytes: %.100s", len(got), got)
	}
	if _, ok := cleanSchema(wide(2000, "")); ok {
		t.Error("a schema of 2,000 properties is kept")
	}
}

func TestADigestIsOfAllThatIsShown(t *testing.T) {
	base := events.ServerTool{Name: "a", Title: "b", Description: "c", Schema: json.RawMessage(`{}`)}
	seen := map[string]bool{digest(base): true}
	for _, t2 := range []events.ServerTool{
		{Name: "x", Title: "b", Description: "c", Schema: base.Schema}, {Name: "a", Title: "x", Description: "c", Schema: base.Schema},
		{Name: "a", Title: "b", Description: "x", Schema: base.Schema}, {Name: "a", Title: "b", Description: "c", Schema: json.RawMessage(`{"x":1}`)},
		{Name: "a", Title: "bc", Schema: base.Schema}, {Name: "ab", Title: "", Description: "c", Schema: base.Schema},
	} {
		if seen[digest(t2)] {
			t.Errorf("%+v has the digest of another", t2)
		}
		seen[digest(t2)] = true
	}
}

func TestOfferedNames(t *testing.T) {
	taken := func(n string) bool { return n == "shell_run" }
	tools := func(own ...string) (out []events.ServerTool) {
		for _, n := range own {
			out = append(out, events.ServerTool{Name: n})
		}
		return out
	}
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		slug string
		own  []string
		want []string // "" is: another name than those of the others
	}{
		"plain":               {"srv", []string{"get-sum", "get_sum"}, []string{"srv_get-sum", "srv_get_sum"}},
		"letters":             {"srv", []string{"getSum"}, []string{"srv_getsum"}},
		"the exact one first": {"srv", []string{"GetSum", "getsum", "getSum"}, []string{"", "srv_getsum", ""}},
		"signs":               {"srv", []string{"a.b", "a/b", "a b"}, []string{"", "", ""}},
		"too long":            {"srv", []string{long + "1", long + "2", long}, []string{"", "", ""}},
		"a built-in":          {"shell", []string{"run", "Run"}, []string{"", ""}},
		"a mark of another":   {"srv", []string{"A", "a", marked("srv", "A", 4)[4:]}, []string{"", "srv_a", marked("srv", "A", 4)}},
	} {
		t.Run(name, func(t *testing.T) {
			got := offeredNames(c.slug, tools(c.own...), taken)
			back := slices.Clone(c.own)
			slices.Reverse(back)
			again := offeredNames(c.slug, tools(back...), taken)
			seen := map[string]bool{"shell_run": true}
			for i, own := range c.own {
				n := got[own]
				if seen[n] || !regexp.MustCompile(`^[a-z0-9_-]{1,64}$`).MatchString(n) || c.want[i] != "" && n != c.want[i] || again[own] != n {
					t.Errorf("%q is offered as %q, in the other order %q; want %q", own, n, again[own], c.want[i])
				}
				seen[n] = true
			}
		})
	}
}

func TestWhatIsNotOffered(t *testing.T) {
	list := []events.ServerTool{{Name: "a", Title: "A"}, {Name: "b"}, {Name: "c", Title: "C", Description: "D"}}
	st := events.ServerState{Slug: "srv", Name: "Kitchen", Guidance: "Knead first.", Risk: events.RiskExecute, Enabled: true, Off: []string{"a"}, Timeout: 7}
	c := &Client{}
	got := c.Tools(Server{State: st, Tools: list, Held: func(t events.ServerTool) bool { return t.Name == "b" }}, nil, free)
	if len(got) != 1 {
		t.Fatalf("%d are offered", len(got))
	}
	s := got[0].Spec
	if s.Name != "srv_c" || s.Label != "Kitchen: C" || s.Description != "D" || s.Guidance != "Knead first." || s.Risk != events.RiskExecute || s.Gate != "mcp" ||
		s.Scope != "mcp:srv" || s.Icon != "plug" || s.Detail != "" || s.Timeout.Seconds() != 7 {
		t.Errorf("offered as %+v", s)
	}
	st.Off = nil
	if all := c.Tools(Server{State: st, Tools: list}, nil, free); len(all) != 3 || all[1].Guidance != "" || all[1].Description != "b" || all[1].Label != "Kitchen: b" {
		t.Errorf("offered as %+v", all)
	}
	if st.Enabled = false; len(c.Tools(Server{State: st, Tools: list}, nil, free)) != 0 {
		t.Error("a server that is switched off offers tools")
	}
}
