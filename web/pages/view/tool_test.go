package view

import (
	"strings"
	"testing"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/markdown"
	"lembas/web/templates"
)

func testViews() *Views {
	return New(markdown.New(markdown.Options{}), func(string) string { return "" }, 1<<16)
}

// oneCall is a chat with one call in its only round.
func oneCall(status string, k transcript.Call) (*transcript.Chat, *transcript.Reply, *transcript.Round) {
	x := &transcript.Round{N: 1, Calls: []*transcript.Call{&k}}
	r := &transcript.Reply{ID: "r1", Status: status, Rounds: []*transcript.Round{x}}
	return &transcript.Chat{ID: "c1", Owner: "ann", Turns: []*transcript.Turn{{ID: "t1", Replies: []*transcript.Reply{r}}}}, r, x
}

func lineWith(t *testing.T, k transcript.Call) templates.ToolLine {
	t.Helper()
	c, r, x := oneCall(transcript.Streaming, k)
	return testViews().Tool(c, r, x, 0)
}

func TestWhereACallStands(t *testing.T) {
	card := func(state, call string) []*transcript.Consent {
		return []*transcript.Consent{{ConsentRequested: events.ConsentRequested{Items: []events.ConsentItem{{Call: call}}}, State: state}}
	}
	for _, row := range []struct {
		reply, call string
		cards       []*transcript.Consent
		want        string
	}{
		{transcript.Streaming, transcript.Called, nil, "called"},
		{transcript.Waiting, transcript.Called, card(transcript.CardWaiting, "k"), "waiting"},
		{transcript.Waiting, transcript.Called, card(transcript.CardWaiting, "other"), "called"},
		{transcript.Streaming, transcript.Called, card(transcript.CardAnswered, "k"), "called"},
		{transcript.Waiting, transcript.Running, card(transcript.CardWaiting, "k"), "running"},
		{transcript.Stopped, transcript.Called, nil, "stopped"},
		{transcript.Failed, transcript.Running, nil, "interrupted"},
		{transcript.Failed, events.ToolOK, nil, "ok"},
		{transcript.Streaming, transcript.Interrupted, nil, "interrupted"},
	} {
		c, r, x := oneCall(row.reply, transcript.Call{ID: "k", Status: row.call})
		x.Consents = row.cards
		if got := testViews().Tool(c, r, x, 0).Status; got != row.want {
			t.Errorf("%+v: %s", row, got)
		}
	}
}

func TestLineOfACall(t *testing.T) {
	for _, row := range []struct {
		detail, arguments, want string
	}{
		{"", `{"why":"w","path":"a/b"}`, "a/b"}, {"", `{"command":"ls\n-l\u202e"}`, `ls ↵ -l\u{202e}`}, {"", `{}`, ""}, {"", `{"n":1}`, ""}, {"", `[]`, ""},
		{"", `{"b":"x","a":"y"}`, "y"}, {"", ``, ""}, {"the detail", `{"path":"a/b"}`, "the detail"}, {"ls \x1b[2K\x07", `{}`, `ls \x1b[2K\x07`},
		{"a\r\nb", `{}`, `a\x0d ↵ b`}, {"zero\u200bwidth", `{}`, `zero\u{200b}width`},
	} {
		if got := lineWith(t, transcript.Call{Detail: row.detail, Arguments: events.RawJSON(row.arguments)}).Target; got != row.want {
			t.Errorf("%q %s: %q, want %q", row.detail, row.arguments, got, row.want)
		}
	}
	long := lineWith(t, transcript.Call{Detail: strings.Repeat("é", 5000), Label: strings.Repeat("x", 5000), Why: strings.Repeat("y", 5000)})
	if n := len([]rune(long.Target)); n != maxLine || !strings.HasSuffix(long.Target, "…") {
		t.Errorf("a target of %d characters", n)
	}
	if len(long.Label) > 100 || len(long.Why) > 1000 {
		t.Errorf("%d %d", len(long.Label), len(long.Why))
	}
	if got := lineWith(t, transcript.Call{}).Label; got != "unnamed tool" {
		t.Errorf("a call without a name is %q", got)
	}
}

// TestWhatRanIsToldExactly: arguments keep their order, their numbers and their
// escapes; what the model sent is beside them when that is something else.
func TestWhatRanIsToldExactly(t *testing.T) {
	same := lineWith(t, transcript.Call{Arguments: events.RawJSON(`{"z":12345678901234567890,"a":"<\u202e>"}`), Raw: `{"z":12345678901234567890,"a":"<\u202e>"}`})
	if want := "{\n  \"z\": 12345678901234567890,\n  \"a\": \"<\\u202e>\"\n}"; same.Arguments != want || same.Sent != "" || same.Edited {
		t.Errorf("%q %q", same.Arguments, same.Sent)
	}
	raw := lineWith(t, transcript.Call{Arguments: events.RawJSON("{\"a\":\"\u202e\"}"), Raw: "ls \u202e"})
	if raw.Arguments != "{\n  \"a\": \"\\u{202e}\"\n}" || raw.Sent != `ls \u{202e}` {
		t.Errorf("repaired: %q %q", raw.Arguments, raw.Sent)
	}
	edited := lineWith(t, transcript.Call{Arguments: events.RawJSON(`{"a":"b"}`), Raw: `{"a":"a"}`, Edited: true})
	if edited.Sent != "{\n  \"a\": \"a\"\n}" || !edited.Edited {
		t.Errorf("corrected: %+v", edited)
	}
	if none := lineWith(t, transcript.Call{Arguments: events.RawJSON(`{}`)}); none.Arguments != "" {
		t.Errorf("no arguments: %q", none.Arguments)
	}
	big := lineWith(t, transcript.Call{Arguments: events.RawJSON(`{"a":"` + strings.Repeat("é", 20<<10) + `"}`)})
	if len(big.Arguments) > maxArguments+40 || !strings.HasSuffix(big.Arguments, " more") {
		t.Errorf("%d bytes", len(big.Arguments))
	}
}

func TestOutput(t *testing.T) {
	digest := strings.Repeat("0f", 32)
	for _, row := range []struct{ output, head, note string }{
		{"a\r\nb\tc", "a\nb\tc", ""},
		{"\x1b[31mred\x1b[0m", "red", "2 terminal sequences left out"},
		{"\x1b]8;;https://evil.test\x07link\x1b]8;;\x1b\\ \x1bM", "link ", "3 terminal sequences left out"},
		{"50%\r100%\a \x9b31m", `50%\x0d100%\x07 \x9b31m`, ""},
		{"a\u202eb\u2066c\u200fd", `a\u{202e}b\u{2066}c\u{200f}d`, ""},
		{"👩\u200d💻 ✔\ufe0f \ufffd", "👩\u200d💻 ✔\ufe0f \ufffd", ""},
		{"\x1b", `\x1b`, ""}, {"", "", ""},
	} {
		got := output("c1", &transcript.Call{Output: row.output})
		if got.Head != row.head || got.Note != row.note || got.Tail != "" || got.All != "" {
			t.Errorf("%q: %+v", row.output, got)
		}
	}
	long := output("c 1", &transcript.Call{Output: strings.Repeat("é line\n", 9000), Bytes: 3 << 20, Blob: &events.BlobRef{Digest: digest, Size: 3 << 20}})
	if len(long.Head) > maxHead || len(long.Tail) > maxTail || !strings.HasPrefix(long.Tail, "é") || strings.HasSuffix(long.Head, "\n") || long.Gap == "" {
		t.Errorf("%d %d %q", len(long.Head), len(long.Tail), long.Gap)
	}
	if long.All != "/api/v1/blobs/"+digest+"?chat=c+1" || long.Size != "3.0 MB" {
		t.Errorf("%q %q", long.All, long.Size)
	}
	if bad := output("c1", &transcript.Call{Blob: &events.BlobRef{Digest: "../../x"}}); bad.All != "" {
		t.Errorf("%q", bad.All)
	}
}

func TestResultInAPhrase(t *testing.T) {
	one := 1
	for _, row := range []struct {
		call transcript.Call
		want string
	}{
		{transcript.Call{Status: events.ToolOK, Output: "a\nb\n"}, "2 lines"}, {transcript.Call{Status: events.ToolOK, Output: "a"}, "1 line"},
		{transcript.Call{Status: events.ToolOK}, "no output"}, {transcript.Call{Status: events.ToolOK, Exit: &one}, "exit 1"},
		{transcript.Call{Status: events.ToolOK, Sources: make([]events.Source, 2)}, "2 sources"}, {transcript.Call{Status: events.ToolOK, Images: make([]events.Attachment, 1)}, "1 picture"},
		{transcript.Call{Status: events.ToolError, Output: "no\nroute"}, "no"}, {transcript.Call{Status: events.ToolRefused, Output: "not offered"}, "not offered"},
		{transcript.Call{Status: events.ToolDenied, Output: "The person said no."}, ""}, {transcript.Call{Status: transcript.Running}, ""},
		{transcript.Call{Status: events.ToolOK, Output: "x", Bytes: 5 << 10, Blob: &events.BlobRef{Size: 5 << 10}}, "5 KB"},
	} {
		if got := result(&row.call); got != row.want {
			t.Errorf("%+v: %q, want %q", row.call, got, row.want)
		}
	}
}

func TestSourcesAndPictures(t *testing.T) {
	got := sources([]events.Source{{Title: "A", URL: "https://example.org/a?b=c"}, {URL: "http://b.test"}, {Title: "x", URL: "javascript:alert(1)"}, {Title: "x", URL: "//evil.test"},
		{Title: "x", URL: "https:evil.test"}, {Title: "x", URL: "https://"}, {Title: "x", URL: "data:text/html,x"}, {Title: "login", URL: "https://good.test@evil.test/"}})
	if len(got) != 3 || got[0].Host != "example.org" || got[0].Title != "A" || got[1].Title != "http://b.test" || got[2].Host != "evil.test" {
		t.Errorf("%+v", got)
	}
	if n := len(sources(make([]events.Source, 1000))); n != 0 {
		t.Errorf("%d", n)
	}
	ref := events.BlobRef{Digest: strings.Repeat("ab", 32)}
	shots := images("c1", []events.Attachment{{Name: "a", Type: "image/png", Blob: ref}, {Type: "image/svg+xml", Blob: ref}, {Type: "image/png", Blob: events.BlobRef{Digest: "x"}}})
	if len(shots) != 1 || shots[0].Path != "/api/v1/blobs/"+ref.Digest+"?chat=c1" {
		t.Errorf("%+v", shots)
	}
}

// TestOnlyARunningCallHasProgress: its last line, and since when it runs.
func TestOnlyARunningCallHasProgress(t *testing.T) {
	at := time.Date(2026, 3, 3, 14, 2, 0, 0, time.UTC)
	runs := lineWith(t, transcript.Call{Status: transcript.Running, Progress: "half\x1b[2K", Started: at})
	if runs.Progress != `half\x1b[2K` || runs.Since.ISO != "2026-03-03T14:02:00Z" {
		t.Errorf("%+v", runs)
	}
	if done := lineWith(t, transcript.Call{Status: events.ToolOK, Started: at, MS: 1500}); done.Since.ISO != "" || done.Duration != "1.5 s" {
		t.Errorf("%+v", done)
	}
}

func TestWordsOfRemarks(t *testing.T) {
	seen := map[string]string{}
	for _, budget := range []string{"limits.rounds", "limits.wall_clock", "limits.output_tokens", "limits.tool_output", "limits.context_headroom", "repeated_calls", "refused_calls", "later"} {
		text := budgetText(budget, 3600)
		if seen[text] != "" || strings.HasPrefix(text, "A limit") != (budget == "later") || !strings.Contains(text, "without tools") {
			t.Errorf("%s: %q as %s", budget, text, seen[text])
		}
		seen[text] = budget
	}
	for budget, want := range map[string]string{"limits.rounds": "3,600 rounds", "limits.wall_clock": "60 min", "limits.output_tokens": "3,600 tokens", "limits.tool_output": "3 KB"} {
		if text := budgetText(budget, 3600); !strings.Contains(text, want) {
			t.Errorf("%s: %q", budget, text)
		}
	}
}
