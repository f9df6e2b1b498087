package builtin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"lembas/commands/tools"
	"lembas/events"
)

// Bounds of one card of questions.
const (
	MaxQuestions = 8
	MaxOptions   = 8
	maxQuestion  = 1000 // characters
	maxOption    = 200
)

// Question is one question of an ask_user call.
type Question struct {
	Question string
	Options  []string // none for free text only
}

// AskUser is what is offered of ask_user; a person answers it, on a card.
func AskUser() tools.Spec {
	return tools.Spec{
		Name: "ask_user", Risk: events.RiskRead, Gate: "ask_user", Scope: "ask_user", Label: "Ask you", Icon: "question",
		Description: "Puts questions to the person on one card and waits until they are answered. Each question may have options to choose from; " +
			"the person may always answer in words of their own, or not at all. At most 8 questions with at most 8 options each.",
		Schema: json.RawMessage(`{"type":"object","properties":{"questions":{"type":"array","minItems":1,"maxItems":8,"items":{"type":"object",` +
			`"properties":{"question":{"type":"string","maxLength":1000},"options":{"type":"array","maxItems":8,"items":{"type":"string","maxLength":200}}},` +
			`"required":["question"],"additionalProperties":false}}},"required":["questions"],"additionalProperties":false}`),
	}
}

const askShape = `give {"questions": [{"question": "…", "options": ["…", "…"]}]}`

// Questions reads what a model asks. Besides the schema it understands a bare
// text, a list of texts, one question in place of a list, the singular, options
// as objects with a label, and all of that as a text that holds JSON. The error
// tells the model what to give.
func Questions(args json.RawMessage) ([]Question, error) {
	if len(args) > maxArguments {
		return nil, fmt.Errorf("the questions are too long; %s", askShape)
	}
	out, err := questions(jsontext.Value(args), 6)
	switch {
	case err != nil:
		return nil, err
	case len(out) == 0:
		return nil, fmt.Errorf("there is no question; %s", askShape)
	case len(out) > MaxQuestions:
		return nil, fmt.Errorf("these are %d questions, at most %d fit on one card; ask the most important ones first", len(out), MaxQuestions)
	}
	return out, nil
}

// questions reads a text, a list or an object; depth bounds loose wrapping.
func questions(raw jsontext.Value, depth int) ([]Question, error) {
	raw = jsontext.Value(strings.TrimSpace(string(raw)))
	if depth == 0 || !raw.IsValid() { // duplicate names are refused, too
		return nil, fmt.Errorf("the questions cannot be read; %s", askShape)
	}
	switch raw.Kind() {
	case '"':
		s := text(raw)
		if inner := jsontext.Value(s); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
			if inner.IsValid() {
				return questions(inner, depth-1)
			}
		}
		return question(s, nil)
	case '[':
		var list []jsontext.Value
		if err := jsonv2.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("the questions cannot be read; %s", askShape)
		}
		var out []Question
		for _, item := range list {
			q, err := questions(item, depth-1)
			if err != nil {
				return nil, err
			}
			out = append(out, q...)
		}
		return out, nil
	case '{':
		return questionObject(raw, depth)
	}
	return nil, fmt.Errorf("a question is a text; %s", askShape)
}

func questionObject(raw jsontext.Value, depth int) ([]Question, error) {
	var members map[string]jsontext.Value
	if err := jsonv2.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("the questions cannot be read; %s", askShape)
	}
	if inner, ok := members["questions"]; ok {
		return questions(inner, depth-1)
	}
	for _, name := range []string{"question", "text", "prompt"} {
		v, ok := members[name]
		if !ok {
			continue
		}
		if v.Kind() != '"' { // {"question": ["…", "…"]}, {"question": {…}}
			return questions(v, depth-1)
		}
		options := members["options"]
		if options == nil {
			options = members["choices"]
		}
		list, err := optionList(options)
		if err != nil {
			return nil, err
		}
		return question(text(v), list)
	}
	return nil, fmt.Errorf("a question is missing; %s", askShape)
}

// optionList reads options: texts, numbers, or objects that name one.
func optionList(raw jsontext.Value) ([]string, error) {
	if raw == nil || raw.Kind() == 'n' {
		return nil, nil
	}
	var list []jsontext.Value
	if raw.Kind() != '[' {
		list = []jsontext.Value{raw}
	} else if err := jsonv2.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("the options cannot be read; %s", askShape)
	}
	var out []string
	for _, v := range list {
		if v.Kind() == '{' {
			var members map[string]jsontext.Value
			if jsonv2.Unmarshal(v, &members) == nil {
				v = firstOf(members, "label", "option", "text", "title", "name", "value")
			}
		}
		s := line(text(v), 10*maxOption)
		switch n := utf8.RuneCountInString(s); {
		case s == "" && v.Kind() != '"':
			return nil, fmt.Errorf("an option is a text; %s", askShape)
		case n > maxOption:
			return nil, fmt.Errorf("the option %q is longer than %d characters; shorten it and put the rest into the question", clip(s, 60), maxOption)
		case s != "" && !slices.Contains(out, s):
			out = append(out, s)
		}
	}
	if len(out) > MaxOptions {
		return nil, fmt.Errorf("a question has %d options, at most %d are shown; give the best ones, the person can always write another answer", len(out), MaxOptions)
	}
	return out, nil
}

func firstOf(members map[string]jsontext.Value, names ...string) jsontext.Value {
	for _, n := range names {
		if v, ok := members[n]; ok {
			return v
		}
	}
	return nil
}

// text gives a JSON text, or a number or truth value as one.
func text(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		var s string
		if jsonv2.Unmarshal(v, &s) == nil {
			return strings.TrimSpace(s)
		}
	case '0', 't', 'f':
		return string(v)
	}
	return ""
}

// question checks one question; one without words is left out.
func question(s string, options []string) ([]Question, error) {
	s = strings.TrimSpace(clean(s))
	switch {
	case s == "" && len(options) == 0:
		return nil, nil
	case s == "":
		return nil, fmt.Errorf("a question with options has no words; %s", askShape)
	case utf8.RuneCountInString(s) > maxQuestion:
		return nil, fmt.Errorf("the question that begins with %q is longer than %d characters; write the background as your answer and ask the question alone", clip(s, 60), maxQuestion)
	}
	return []Question{{Question: s, Options: options}}, nil
}
