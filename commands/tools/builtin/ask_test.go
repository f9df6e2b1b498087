package builtin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestShapesOfQuestions(t *testing.T) {
	plain := []Question{{Question: "Which?"}}
	choice := []Question{{Question: "Which?", Options: []string{"a", "b"}}}
	for raw, want := range map[string][]Question{
		`{"questions":[{"question":"Which?","options":["a","b"]}]}`:               choice,
		`{"questions":[{"question":"Which?"},{"question":"How?"}]}`:               {{Question: "Which?"}, {Question: "How?"}},
		`{"questions":["Which?","How?"]}`:                                         {{Question: "Which?"}, {Question: "How?"}},
		`{"questions":{"question":"Which?","options":["a","b"]}}`:                 choice,
		`{"questions":"Which?"}`:                                                  plain,
		`{"question":"Which?","options":["a","b"]}`:                               choice,
		`{"question":"Which?","choices":["a","b"]}`:                               choice,
		`{"question":["Which?","How?"]}`:                                          {{Question: "Which?"}, {Question: "How?"}},
		`{"question":{"question":"Which?","options":["a","b"]}}`:                  choice,
		`{"text":"Which?"}`:                                                       plain,
		`"Which?"`:                                                                plain,
		`["Which?"]`:                                                              plain,
		`[{"question":"Which?"}]`:                                                 plain,
		`"{\"questions\":[{\"question\":\"Which?\",\"options\":[\"a\",\"b\"]}]}"`: choice,
		`{"questions":"[{\"question\":\"Which?\"}]"}`:                             plain,
		`{"questions":[{"question":"Which?","options":[{"label":"a","description":"x"},{"value":"b"}]}]}`: choice,
		`{"questions":[{"question":"Which?","options":"a"}]}`:                                             {{Question: "Which?", Options: []string{"a"}}},
		`{"questions":[{"question":"Which?","options":[1,2.5,true]}]}`:                                    {{Question: "Which?", Options: []string{"1", "2.5", "true"}}},
		`{"questions":[{"question":"Which?","options":null}]}`:                                            plain,
		`{"questions":[{"question":"Which?","options":[]}]}`:                                              plain,
		`{"questions":[{"question":"Which?","options":["a","a "," ","b"]}]}`:                              choice,
		`{"questions":[{"question":" Which?\u001b\u202e ","options":["a\u0007","b\nb"]}]}`:                {{Question: "Which?", Options: []string{"a", "b b"}}},
		`{"questions":[{"question":"Which?"},{"question":"  "}]}`:                                         plain,
		`{"questions":[{"question":"Which?","header":"x","multiple":true}],"why":"to know"}`:              plain,
		`"{not json}"`: {{Question: "{not json}"}},
	} {
		got, err := Questions(json.RawMessage(raw))
		if err != nil || !slices.EqualFunc(got, want, func(a, b Question) bool { return a.Question == b.Question && slices.Equal(a.Options, b.Options) }) {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
}

func TestQuestionsThatCannotBeAsked(t *testing.T) {
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	var options []string
	for i := range MaxOptions + 1 {
		options = append(options, fmt.Sprintf(`"o%d"`, i))
	}
	for raw, want := range map[string]string{
		``:                                  `{"questions"`,
		`{}`:                                "a question is missing",
		`null`:                              "a question is a text",
		`5`:                                 "a question is a text",
		`[]`:                                "no question",
		`""`:                                "no question",
		`{"questions":[]}`:                  "no question",
		`{"questions":null}`:                "a question is a text",
		`{"questions":[5]}`:                 "a question is a text",
		`{"questions":[{"options":["a"]}]}`: "a question is missing",
		`{"questions":[{"question":"","options":["a"]}]}`:                         "has no words",
		`{"question":"a","question":"b"}`:                                         "cannot be read",
		`{"questions":[`:                                                          "cannot be read",
		strings.Repeat(`[`, 50) + `"a"` + strings.Repeat(`]`, 50):                 "cannot be read",
		strings.Repeat(`{"questions":`, 9) + `"a"` + strings.Repeat(`}`, 9):       "cannot be read",
		`{"questions":[` + many(MaxQuestions+1, `"a?"`) + `]}`:                    "these are 9 questions, at most 8",
		`{"question":"a","options":[` + strings.Join(options, ",") + `]}`:         "9 options, at most 8",
		`{"question":"a","options":[{}]}`:                                         "an option is a text",
		`{"question":"a","options":[["x"]]}`:                                      "an option is a text",
		`{"question":"` + strings.Repeat("ä", maxQuestion+1) + `"}`:               "longer than 1000 characters",
		`{"question":"a","options":["` + strings.Repeat("ä", maxOption+1) + `"]}`: "longer than 200 characters",
		`"` + strings.Repeat("a", maxArguments) + `"`:                             "too long",
	} {
		got, err := Questions(json.RawMessage(raw))
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%.80s: %+v, %v", raw, got, err)
		}
	}
	if got, err := Questions(json.RawMessage(`{"questions":[` + many(MaxQuestions, `"`+strings.Repeat("ä", maxQuestion)+`"`) + `]}`)); err != nil || len(got) != MaxQuestions {
		t.Errorf("as many as fit: %d, %v", len(got), err)
	}
}

func FuzzQuestions(f *testing.F) {
	f.Add(`{"questions":[{"question":"Which?","options":[{"label":"a"}]}]}`)
	f.Add(`"[\"a\"]"`)
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := Questions(json.RawMessage(raw))
		if (err == nil) != (len(got) > 0) || len(got) > MaxQuestions {
			t.Errorf("%q: %v, %v", raw, got, err)
		}
		for _, q := range got {
			if strings.TrimSpace(q.Question) == "" || len(q.Options) > MaxOptions || q.Question != clean(q.Question) || slices.Contains(q.Options, "") {
				t.Errorf("%q: %+v", raw, q)
			}
		}
	})
}
