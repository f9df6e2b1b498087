package llm

import (
	"net/http"
	"strings"
	"testing"
)

// sibling is a reply like those of the corpus, for a rule or a corner of one that no recorded file covers.
type sibling struct {
	name               string
	body               string
	content, reasoning string
	finish             string
	err                string // kind
	words              string // in the error's message
	calls              string // name(arguments) or name!text when not valid, joined by spaces
}

// d is a chunk with a delta, c one with text, stop the usual end.
func d(delta string) string {
	return `data: {"id":"t","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n"
}
func c(text string) string { return d(`{"content":"` + text + `"}`) }
func fin(word string) string {
	return `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + word + `"}]}` + "\n\n"
}
func tool(fragment string) string { return d(`{"tool_calls":[` + fragment + `]}`) }

const done = "data: [DONE]\n\n"

var siblings = []sibling{
	{name: "CR only", body: strings.ReplaceAll(c("a")+fin("stop")+done, "\n", "\r"), content: "a", finish: "stop"},
	{name: "mixed line ends", body: strings.Replace(c("a"), "\n\n", "\r\n\n", 1) + strings.Replace(c("b"), "\n\n", "\r\r\n", 1) + done, content: "ab", finish: "stop"},
	{name: "several data lines with CRLF", body: "data: {\"choices\":[{\"delta\":\r\ndata: {\"content\":\"a\"}}]}\r\n\r\n" + done, content: "a", finish: "stop"},
	{name: "DONE unterminated", body: c("a") + "data: [DONE]", content: "a", finish: "stop"},
	{name: "blank lines first", body: "\n\n\n" + c("a") + done, content: "a", finish: "stop"},
	{name: "payload that is a comment", body: c("a") + "data: : ping\n\n" + c("b") + done, content: "ab", finish: "stop"},
	{name: "payload null between", body: c("a") + "data:null\ndata: {}\n\n" + c("b") + done, content: "ab", finish: "stop"},
	{name: "field without colon", body: "data\n\n" + c("a") + "nonsense\n\n" + done, content: "a", finish: "stop"},
	{name: "data twice", body: "data: " + c("a") + done, content: "a", finish: "stop"},
	{name: "only one space is optional", body: "data:  " + c("a")[6:] + done, content: "a", finish: "stop"},
	{name: "lines without event ends", body: strings.ReplaceAll(c("a")+c("b")+fin("stop")+done, "\n\n", "\n"), content: "ab", finish: "stop"},
	{name: "surrogates split over chunks", body: c(`\ud83d`) + c(`\ude00!`) + done, content: "😀!", finish: "stop"},
	{name: "lone surrogate", body: c(`a\ud83d`) + c(`b`) + done, content: "a\uFFFDb", finish: "stop"},
	{name: "raw character split over chunks", body: c("a\xE4\xB8") + c("\x96b") + done, content: "a世b", finish: "stop"},
	{name: "not UTF-8", body: c("a\xFFb") + done, content: "a\uFFFDb", finish: "stop"},
	{name: "escapes", body: c(`\"\\\/\b\f\n\r\t\u00e9`) + "" + c("x") + done, content: "\"\\/\b\f\n\r\té" + "x", finish: "stop"},
	{name: "NaN in logprobs", body: `data: {"choices":[{"delta":{"content":"n"},"logprobs":{"a":NaN,"b":-Infinity}}]}` + "\n\n" + done, content: "n", finish: "stop"},
	{name: "raw tab in a string", body: c("a\tb") + done, content: "a\tb", finish: "stop"},
	{name: "garbage line between", body: c("a") + "data: %%garbage%%\n\n" + c("b") + done, content: "ab", finish: "stop"},
	{name: "glued to DONE", body: c("a") + `data: {"choices":[{"delta":{"cont` + done, content: "a", finish: "stop"},
	{name: "comments only", body: ": ping\n\n: ping\n\n", err: KindEmpty},
	{name: "DONE only", body: done, err: KindEmpty},
	{name: "role only, then the end", body: d(`{"role":"assistant"}`), err: KindTruncated},
	{name: "garbage only", body: "data: hello\n\ndata: you\n\n", err: KindMalformed, words: "hello"},
	{name: "plain text body", body: "upstream is away", err: KindMalformed, words: "upstream is away"},
	{name: "page", body: " \n<!DOCTYPE html><title>Sign in</title><p>x", err: KindNotSSE, words: "Sign in"},
	{name: "page after a byte order mark", body: "\xEF\xBB\xBF<html><b>no</b>", err: KindNotSSE},
	{name: "JSON of another shape", body: `{"foo":[1,2]}`, err: KindMalformed, words: "foo"},
	{name: "JSON list of chunks", body: `[{"choices":[{"delta":{"content":"a"}}]},{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}]`, content: "ab", finish: "stop"},
	{name: "JSON lines", body: `{"choices":[{"delta":{"content":"a"}}]}` + "\n" + `{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}` + "\n", content: "ab", finish: "stop"},
	{name: "JSON cut", body: `{"choices":[{"message":{"content":"a`, err: KindTruncated},
	{name: "JSON error with status 200", body: `{"error":{"message":"no such model","code":"model_not_found"}}`, finish: "error", err: KindStream, words: "no such model"},
	{name: "cut in the first payload", body: `data: {"choices":[{"del`, err: KindTruncated},
	{name: "pretty JSON body", body: "{\n \"choices\": [\n  {\"message\": {\"content\": \"a\"},\n   \"finish_reason\": \"stop\"}\n ]\n}\n", content: "a", finish: "stop"},
	{name: "JSON body with calls", body: `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"b","function":{"name":"ls","arguments":"{\"p\":1}"}}]},"finish_reason":"tool_calls"}]}`, finish: "tool_calls", calls: `ls({}) ls({"p":1})`},

	{name: "vLLM error object", body: c("a") + `data: {"object":"error","message":"boom","code":400}` + "\n\n", content: "a", finish: "error", err: KindStream, words: "boom"},
	{name: "base_resp", body: `data: {"choices":null,"base_resp":{"status_code":1004,"status_msg":"login fail"}}` + "\n\n", finish: "error", err: KindStream, words: "login fail"},
	{name: "code and message", body: `data: {"code":50505,"message":"overloaded","data":null}` + "\n\n", finish: "error", err: KindStream, words: "overloaded"},
	{name: "error in the choice", body: c("a") + `data: {"choices":[{"index":0,"delta":{},"error":{"message":"bad"},"finish_reason":"error"}]}` + "\n\n", content: "a", finish: "error", err: KindStream, words: "bad"},
	{name: "finish error alone", body: c("a") + fin("error") + done, content: "a", finish: "error", err: KindStream},
	{name: "bare error line", body: c("a") + `{"error":{"message":"worker died"}}` + "\n", content: "a", finish: "error", err: KindStream, words: "worker died"},
	{name: "bare other line", body: c("a") + `{"note":1}` + "\n\n" + fin("stop"), content: "a", finish: "stop"},
	{name: "a chunk without its field name is no chunk", body: c("a") + c("b")[len("data: "):] + fin("stop"), content: "a", finish: "stop"},
	{name: "error null", body: `data: {"error":null,"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + done, content: "a", finish: "stop"},
	{name: "event error, plain words", body: c("a") + "event: error\ndata: it broke\n\n", content: "a", finish: "error", err: KindStream, words: "it broke"},
	{name: "error field, plain words", body: "error: no slot\n\n", finish: "error", err: KindStream, words: "no slot"},
	{name: "error list", body: `data: [{"error":{"message":"quota"}}]` + "\n\n", finish: "error", err: KindStream, words: "quota"},
	{name: "error after finish", body: c("a") + fin("stop") + `data: {"error":"late"}` + "\n\n", content: "a", finish: "error", err: KindStream, words: "late"},

	{name: "finish words", body: c("a") + fin("max_tokens"), content: "a", finish: "length"},
	{name: "filtered with nothing", body: fin("content_filter") + done, finish: "content_filter"},
	{name: "length is not undone by stop", body: c("a") + fin("length") + fin("stop") + done, content: "a", finish: "length"},
	{name: "unknown finish word", body: c("a") + fin("xyzzy"), content: "a", finish: "stop"},
	{name: "finish of another choice", body: c("a") + `data: {"choices":[{"index":1,"delta":{"content":"z"},"finish_reason":"stop"}]}` + "\n\n", content: "a", err: KindTruncated},

	{name: "text only", body: `data: {"choices":[{"index":0,"text":"old"}]}` + "\n\n" + done, content: "old", finish: "stop"},
	{name: "unknown parts", body: d(`{"content":[{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"t"},"u"]}`) + done, content: "tu", finish: "stop"},
	{name: "refusal beside content", body: d(`{"content":"no","refusal":"never"}`) + done, content: "no", finish: "stop"},

	{name: "details only", body: d(`{"reasoning_details":[{"type":"reasoning.text","text":"r1"},{"type":"reasoning.summary","summary":"r2"}]}`) + c("a") + done, content: "a", reasoning: "r1r2", finish: "stop"},
	{name: "empty field gives way", body: d(`{"reasoning_content":"","reasoning":"r"}`) + c("a") + done, content: "a", reasoning: "r", finish: "stop"},
	{name: "thought tags", body: c("<thought>r</thought>a") + done, content: "a", reasoning: "r", finish: "stop"},
	{name: "code span", body: c("Use `<think>` and `</think>` here") + done, content: "Use `<think>` and `</think>` here", finish: "stop"},
	{name: "double code span", body: c("``a ` <think>`` b") + done, content: "``a ` <think>`` b", finish: "stop"},
	{name: "apostrophe is not code", body: c("it`s so.\\n</think>\\nHi") + done, content: "Hi", reasoning: "it`s so.", finish: "stop"},
	{name: "apostrophe on the line of the tag", body: c("<think>it`s</think>Hi\\nthere") + done, content: "Hi\nthere", reasoning: "it`s", finish: "stop"},
	{name: "span at the very end", body: c("end with `</think>`") + done, content: "end with `</think>`", finish: "stop"},
	{name: "tag after a span that quotes one", body: c("<think>`</think>`</think>A") + done, content: "A", reasoning: "`</think>`", finish: "stop"},
	{name: "tilde fence", body: c("~~~\\n</think>\\n~~~\\nx") + done, content: "~~~\n</think>\n~~~\nx", finish: "stop"},
	{name: "fence characters inside a fence close nothing", body: c("```\\nx ```\\n</think>\\n```\\ny") + done, content: "```\nx ```\n</think>\n```\ny", finish: "stop"},
	{name: "longer fence holds a shorter", body: c("````\\n```\\n<think>\\n````\\nx") + done, content: "````\n```\n<think>\n````\nx", finish: "stop"},
	{name: "think after a closed fence", body: c("```\\nx\\n```\\n<think>r</think>a") + done, content: "```\nx\n```\na", reasoning: "r", finish: "stop"},
	{name: "one line of fence characters", body: c("```x``` <think>r</think>a") + done, content: "```x``` a", reasoning: "r", finish: "stop"},
	{name: "fence left open in reasoning", body: c("<think>\\n```\\ncode\\n</think>answer") + done, content: "answer", reasoning: "```\ncode", finish: "stop"},
	{name: "tags in a fence in reasoning", body: c("<think>\\n```\\n<think>x</think>\\n```\\nr</think>a") + done, content: "a", reasoning: "```\n<think>x</think>\n```\nr", finish: "stop"},
	{name: "empty block, then a stray close", body: c("<think>\\n\\n</think>\\n\\na</think>b") + done, content: "ab", finish: "stop"},
	{name: "two stray closes", body: c("r</think>a</think>b") + done, content: "ab", reasoning: "r", finish: "stop"},
	{name: "tag never completed in reasoning", body: c("<think>a </thi") + done, reasoning: "a </thi", finish: "stop"},
	{name: "almost a tag, then a tag", body: c("<<think>r</think>a") + done, content: "<a", reasoning: "r", finish: "stop"},
	{name: "tag with an attribute is text", body: c("<think x>r") + done, content: "<think x>r", finish: "stop"},

	{name: "arguments absent", body: tool(`{"index":0,"id":"x","function":{"name":"a"}}`) + fin("tool_calls"), finish: "tool_calls", calls: "a({})"},
	{name: "arguments null", body: tool(`{"index":0,"id":"x","function":{"name":"a","arguments":null}}`) + fin("tool_calls"), finish: "tool_calls", calls: "a({})"},
	{name: "arguments {} then text", body: tool(`{"index":0,"id":"x","function":{"name":"a","arguments":{}}}`) + tool(`{"index":0,"function":{"arguments":"{\"p\":1}"}}`) + fin("tool_calls"), finish: "tool_calls", calls: `a({"p":1})`},
	{name: "arguments a list", body: tool(`{"index":0,"id":"x","function":{"name":"a","arguments":"[1]"}}`) + fin("tool_calls"), finish: "tool_calls", calls: `a![1]`},
	{name: "arguments twice encoded", body: tool(`{"index":0,"id":"x","function":{"name":"a","arguments":"\"{}\""}}`) + fin("tool_calls"), finish: "tool_calls", calls: `a!"{}"`},
	{name: "two different objects", body: tool(`{"index":0,"id":"x","function":{"name":"a","arguments":"{\"p\":1}{\"p\":2}"}}`) + fin("tool_calls"), finish: "tool_calls", calls: `a({"p":1})`},
	{name: "text behind the arguments", body: tool(`{"index":0,"id":"x","function":{"name":"a","arguments":"{} and so"}}`) + fin("tool_calls"), finish: "tool_calls", calls: `a!{} and so`},
	{name: "name in pieces", body: tool(`{"index":0,"id":"x","function":{"name":"get_"}}`) + tool(`{"index":0,"function":{"name":"city","arguments":"{}"}}`) + fin("tool_calls"), finish: "tool_calls", calls: "get_city({})"},
	{name: "id comes late", body: tool(`{"index":0,"function":{"name":"a","arguments":"{\"p\""}}`) + tool(`{"index":0,"id":"x","function":{"arguments":":1}"}}`) + fin("tool_calls"), finish: "tool_calls", calls: `a({"p":1})`},
	{name: "same index, interleaved by id", body: tool(`{"index":0,"id":"x","function":{"name":"a","arguments":"{\"p\":"}}`) + tool(`{"index":0,"id":"y","function":{"name":"b","arguments":"{\"q\":"}}`) + tool(`{"index":0,"id":"x","function":{"arguments":"1}"}}`) + tool(`{"index":0,"id":"y","function":{"arguments":"2}"}}`) + fin("stop"), finish: "tool_calls", calls: `a({"p":1}) b({"q":2})`},
	{name: "one id for two indices", body: tool(`{"index":0,"id":"x","function":{"name":"a","arguments":"{}"}},{"index":1,"id":"x","function":{"name":"b","arguments":"{}"}}`) + fin("tool_calls"), finish: "tool_calls", calls: "a({}) b({})"},
	{name: "indices backwards", body: tool(`{"index":1,"id":"y","function":{"name":"b","arguments":"{\"q\":"}}`) + tool(`{"index":0,"id":"x","function":{"name":"a","arguments":"{}"}}`) + tool(`{"index":1,"function":{"arguments":"2}"}}`) + fin("tool_calls"), finish: "tool_calls", calls: `b({"q":2}) a({})`},
	{name: "index as text", body: tool(`{"index":"1","id":"y","function":{"name":"b","arguments":"{\"q\":"}}`) + tool(`{"index":1.0,"function":{"arguments":"2}"}}`) + fin("tool_calls"), finish: "tool_calls", calls: `b({"q":2})`},
	{name: "two without id, index or arguments", body: tool(`{"function":{"name":"a","arguments":""}},{"function":{"name":"a","arguments":""}}`) + fin("tool_calls"), finish: "tool_calls", calls: "a({}) a({})"},
	{name: "no index, other name", body: tool(`{"function":{"name":"a","arguments":"{}"}}`) + tool(`{"function":{"name":"b","arguments":"{}"}}`) + fin("tool_calls"), finish: "tool_calls", calls: "a({}) b({})"},
	{name: "empty tail that repeats the name", body: tool(`{"index":0,"function":{"name":"a","arguments":"{}"}}`) + tool(`{"index":0,"function":{"name":"a","arguments":""}}`) + fin("tool_calls"), finish: "tool_calls", calls: "a({})"},
	{name: "fragments that say nothing", body: c("t") + d(`{"tool_calls":[null,{},{"index":0,"function":null},"x"]}`) + fin("stop"), content: "t", finish: "stop"},
	{name: "call cut before its arguments", body: tool(`{"index":0,"id":"x","function":{"name":"a","arguments":""}}`), err: KindTruncated, calls: "a!{}"},
	{name: "filter beside a call", body: tool(`{"index":0,"id":"x","function":{"name":"a","arguments":"{}"}}`) + fin("content_filter"), finish: "content_filter", calls: "a({})"},
	{name: "DONE without finish beside a call", body: tool(`{"index":0,"id":"x","function":{"name":"a","arguments":"{}"}}`) + done, finish: "tool_calls", calls: "a({})"},
	{name: "tool_calls is one object", body: d(`{"tool_calls":{"id":"x","function":{"name":"a","arguments":"{}"}}}`) + fin("tool_calls"), finish: "tool_calls", calls: "a({})"},
	{name: "DeepSeek out of resources", body: c("a") + fin("insufficient_system_resource"), content: "a", finish: "error", err: KindStream},
}

func TestSiblings(t *testing.T) {
	for _, s := range siblings {
		t.Run(s.name, func(t *testing.T) {
			r := reply(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(s.body)) }), Endpoint{})
			if strings.TrimSpace(r.Content) != strings.TrimSpace(s.content) || strings.TrimSpace(r.Reasoning) != s.reasoning || r.FinishReason != s.finish {
				t.Errorf("got %q / %q / %q, want %q / %q / %q", r.Content, r.Reasoning, r.FinishReason, s.content, s.reasoning, s.finish)
			}
			if kind := ""; r.Err != nil || s.err != "" {
				if r.Err != nil {
					kind = r.Err.Kind
				}
				if kind != s.err || r.Err != nil && !strings.Contains(r.Err.Message, s.words) {
					t.Errorf("error %+v, want %s with %q", r.Err, s.err, s.words)
				}
			}
			if got := written(r.Calls); got != s.calls {
				t.Errorf("calls %s, want %s", got, s.calls)
			}
		})
	}
}

func written(calls []Call) string {
	var out []string
	ids := map[string]bool{}
	for _, c := range calls {
		form := c.Name + "!" + c.Arguments
		if c.ArgumentsValid {
			form = c.Name + "(" + c.Arguments + ")"
		}
		if c.ID == "" || ids[c.ID] {
			form = "id not unique: " + form
		}
		ids[c.ID] = true
		out = append(out, form)
	}
	return strings.Join(out, " ")
}

func TestUsage(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, tc := range []struct {
		name, body string
		want       *Usage
	}{
		{"x_groq", c("a") + `data: {"choices":[],"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":4}}}` + "\n\n", &Usage{Prompt: 3, Completion: 4}},
		{"null does not wipe", c("a") + `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}` + "\n\n" + `data: {"choices":[],"usage":null}` + "\n\n", &Usage{Prompt: 3, Completion: 4}},
		{"zeros are nothing", c("a") + `data: {"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}` + "\n\n", nil},
		{"other names", c("a") + `data: {"choices":[],"usage":{"input_tokens":"3","output_tokens":4.0,"input_tokens_details":{"cached_tokens":1},"output_tokens_details":{"reasoning_tokens":2}}}` + "\n\n", &Usage{3, 4, n(1), n(2)}},
		{"before the finish", `data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}` + "\n\n", &Usage{Prompt: 3, Completion: 4}},
		{"of another shape", c("a") + `data: {"choices":[],"usage":[1,2]}` + "\n\n", nil},
		{"after DONE", c("a") + fin("stop") + done + `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}` + "\n\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := outcome([]byte(tc.body + fin("stop") + done))
			if got, want := summary(Result{Usage: r.Usage}), summary(Result{Usage: tc.want}); got != want || r.Err != nil {
				t.Errorf("got %s, want %s (%v)", got, want, r.Err)
			}
		})
	}
}
