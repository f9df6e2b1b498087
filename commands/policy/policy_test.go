package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"lembas/events"
)

func TestDecide(t *testing.T) {
	usual := []string{events.RiskWrite, events.RiskExecute}
	for name, c := range map[string]struct {
		rules Rules
		risk  string
		ask   bool
		keeps string
	}{
		"a read goes":              {Rules{Ask: usual}, events.RiskRead, false, "post"},
		"a write asks":             {Rules{Ask: usual}, events.RiskWrite, true, "post"},
		"running asks":             {Rules{Ask: usual}, events.RiskExecute, true, "post"},
		"a read where reads ask":   {Rules{Ask: []string{events.RiskRead}}, events.RiskRead, true, "post"},
		"nothing asks":             {Rules{}, events.RiskExecute, false, "post"},
		"what is remembered goes":  {Rules{Ask: usual, Allow: []string{"other", "post"}}, events.RiskWrite, false, "post"},
		"a longer name does not":   {Rules{Ask: usual, Allow: []string{"pos", "posts", "POST"}}, events.RiskWrite, true, "post"},
		"a pattern goes":           {Rules{Ask: usual, Allow: []string{"p*t"}}, events.RiskWrite, false, "post"},
		"deny asks, and wins":      {Rules{Allow: []string{"post"}, Deny: []string{"post"}}, events.RiskRead, true, ""},
		"a risk nobody knows asks": {Rules{}, "harmless", true, "post"},
		"no risk asks":             {Rules{}, "", true, "post"},
	} {
		d := c.rules.Decide("post", c.risk, nil)
		if d.Ask != c.ask || d.Ask == (d.Reason == "") || d.Pattern != c.keeps {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"", "", true}, {"*", "", true}, {"*", "any thing", true}, {"a*", "abc", true}, {"a*", "ba", false},
		{"*c", "abc", true}, {"a*c", "ac", true}, {"a*c", "acd", false}, {"a*b*c", "a-b-c", true}, {"a*b*c", "a-c-b", false}, {"aa*aa", "aaa", false},
		{"a**c", "abc", true}, {"[a]", "a", false}, {"a?", "ab", false}, {"notes_*", "notes_edit", true}, {"A", "a", false},
	} {
		if Match(c.pattern, c.text) != c.want {
			t.Errorf("%q against %q", c.pattern, c.text)
		}
	}
}

func TestObject(t *testing.T) {
	for raw, bad := range map[string]string{
		`{}`: "", `{"a":1,"b":{"a":[1,{"a":null}]}}`: "", ` {"a":"x"} `: "",
		``: "valid JSON", `[]`: "must be a JSON object", `"a"`: "must be a JSON object", `{"a":1}{}`: "nothing after it", `{"a":1} x`: "nothing after it",
		`{"a":1,"a":2}`: "twice", `{"a":1,"A":2}`: "twice", `{"b":{"a":1,"a":2}}`: "twice", `{"a":`: "valid JSON", `{"a" 1}`: "valid JSON", `{1:2}`: "valid JSON",
		strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100): "nest",
	} {
		_, err := Object(json.RawMessage(raw))
		if (err == nil) != (bad == "") || err != nil && !strings.Contains(err.Error(), bad) {
			t.Errorf("%.60s: %v, want %q", raw, err, bad)
		}
	}
}

// TestArgumentsAreWrittenAsTheyAreRead: a card shows what would run, not escapes.
func TestArgumentsAreWrittenAsTheyAreRead(t *testing.T) {
	got, err := Encode(map[string]any{"cmd": "x < y && rm -rf / > \"z\"", "n": json.Number("12345678901234567890")})
	if want := `{"cmd":"x < y && rm -rf / > \"z\"","n":12345678901234567890}`; err != nil || string(got) != want {
		t.Errorf("%s (%v)", got, err)
	}
}
