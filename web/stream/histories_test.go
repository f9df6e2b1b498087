package stream

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"lembas/events"
)

func submit(m string) events.Payload {
	return events.MessageSubmitted{Message: m, Text: "What is <" + m + ">?\n\nPlease **say**.", Attachments: []events.Attachment{}}
}
func asked(r, m string) events.Payload {
	return events.ReplyRequested{Reply: r, Message: m, Reason: events.ForMessage, Model: "m1"}
}
func start(r string) events.Payload {
	return events.ReplyStarted{Reply: r, Model: "m1", ModelName: "mellon-7b", Connection: "x1"}
}
func round(r string, n int) events.Payload {
	return events.RoundStarted{Reply: r, Round: n, Estimate: 40}
}

// says is a text in several chunks, cut anywhere.
func says(r string, n int, kind, words string) (out []events.Payload) {
	for i := 0; len(words) > 0; i++ {
		cut := min(len(words), 3+(i*7)%11)
		out = append(out, events.ReplyChunk{Reply: r, Round: n, Kind: kind, Text: words[:cut], Cuts: [][2]int64{{0, int64(400 * (i + 1))}}})
		words = words[cut:]
	}
	return out
}

func roundEnd(r string, n int, why string, err *events.RoundError) events.Payload {
	first := int64(120)
	return events.RoundFinished{Reply: r, Round: n, FinishReason: events.FinishReason(why), Usage: &events.Usage{Prompt: 40, Completion: 20}, MS: 2200, FirstMS: &first, Error: err}
}
func end(r, status, why string, err *events.RoundError) events.Payload {
	share, first := 12.4, int64(900)
	return events.ReplyFinished{Reply: r, Status: status, Reason: why, Error: err, Metrics: events.Metrics{Prompt: 3210, Completion: 77,
		Estimated: status != events.Complete, Context: &share, Rounds: 2, MS: 61_000, FirstMS: &first, TokensPerSecond: 31.4}}
}
func call(r string, n, index int, name, arguments string) events.Payload {
	return events.ToolCalled{Reply: r, Round: n, Call: fmt.Sprintf("k%d%d", n, index), Index: index, Name: name, Arguments: json.RawMessage(arguments), Raw: arguments, Risk: "read", Why: "to <see>"}
}

const words = "Some *text*, then\n\n- a list\n- of `two`\n\n```go\nfmt.Println(1)\n```\n\nand a [link](https://example.org).\n"

// begun is a chat whose first reply has begun.
func begun() []events.Payload {
	return []events.Payload{
		events.ChatCreated{Chat: "c1", Owner: "ann", Kind: events.KindChat, Model: "m1", Title: "A <title>"},
		submit("t1"), asked("r1", "t1"), start("r1"), round("r1", 1),
	}
}

func chain(parts ...any) (out []events.Payload) {
	for _, p := range parts {
		switch p := p.(type) {
		case []events.Payload:
			out = append(out, p...)
		case events.Payload:
			out = append(out, p)
		}
	}
	return out
}

// answered is a chat with n finished replies.
func answered(n int) (out []events.Payload) {
	out = begun()[:1]
	for i := 1; i <= n; i++ {
		t, r := fmt.Sprint("t", i), fmt.Sprint("r", i)
		out = chain(out, submit(t), asked(r, t), start(r), round(r, 1), says(r, 1, events.ChunkContent, "Answer *"+r+"*."),
			roundEnd(r, 1, "stop", nil), end(r, events.Complete, "", nil))
	}
	return out
}

// histories are what can happen to a chat.
func histories() map[string][]events.Payload {
	down := &events.RoundError{Kind: "http", Status: 429, Message: "slow <down>"}
	queue := func(m string) events.Payload { return events.MessageQueued{Message: m, Text: "queued " + m} }
	all := map[string][]events.Payload{
		"a reply": chain(begun(), says("r1", 1, events.ChunkReasoning, "First I *think*.\n\nThen more."), says("r1", 1, events.ChunkContent, words),
			roundEnd("r1", 1, "stop", nil), end("r1", events.Complete, "", nil), events.ChatRenamed{Title: "Better & longer", Origin: "model"},
			submit("t2"), asked("r2", "t2"), start("r2"), round("r2", 1), says("r2", 1, events.ChunkContent, "Second."), roundEnd("r2", 1, "stop", nil), end("r2", events.Complete, "", nil)),
		"stopped while it was thinking": chain(begun(), says("r1", 1, events.ChunkReasoning, "Hm, hm, hm"), end("r1", events.Stopped, "stopped", nil)),
		"stopped in a list":             chain(begun(), says("r1", 1, events.ChunkContent, "- one\n- tw"), end("r1", events.Stopped, "stopped", nil)),
		"retried, then failed": chain(begun(), events.RoundRetried{Reply: "r1", Round: 1, Attempt: 1, Error: *down, WaitMS: 1000},
			events.RoundRetried{Reply: "r1", Round: 1, Attempt: 2, Error: events.RoundError{Kind: "transport", Message: "no"}, WaitMS: 2500},
			roundEnd("r1", 1, "", down), end("r1", events.Failed, "", down)),
		"failed in the middle": chain(begun(), says("r1", 1, events.ChunkContent, "It begins"), roundEnd("r1", 1, "", &events.RoundError{Kind: "truncated"}),
			end("r1", events.Failed, "", &events.RoundError{Kind: "truncated"})),
		"retried, then answered": chain(begun(), events.RoundRetried{Reply: "r1", Round: 1, Attempt: 1, Error: *down, WaitMS: 1000},
			says("r1", 1, events.ChunkContent, "Now."), roundEnd("r1", 1, "stop", nil), end("r1", events.Complete, "", nil)),
		"regenerated": chain(answered(2), events.ReplyRequested{Reply: "r3", Message: "t2", Reason: events.ForRegenerate, Model: "m2"}, start("r3"),
			round("r3", 1), says("r3", 1, events.ChunkContent, "Other."), roundEnd("r3", 1, "stop", nil), end("r3", events.Complete, "", nil),
			events.ReplyRequested{Reply: "r4", Message: "t2", Reason: events.ForRegenerate, Model: "m1"}, end("r4", events.Stopped, "stopped", nil)),
		"regenerated in the middle": chain(answered(3), events.ChatRewound{Message: "t1"},
			events.ReplyRequested{Reply: "r4", Message: "t1", Reason: events.ForRegenerate, Model: "m1"}, start("r4"), round("r4", 1),
			says("r4", 1, events.ChunkContent, "Anew."), roundEnd("r4", 1, "stop", nil), end("r4", events.Complete, "", nil)),
		"edited": chain(answered(3), events.MessageEdited{Message: "t2", Text: "Other words"}, events.ChatRewound{Message: "t2"},
			events.ReplyRequested{Reply: "r4", Message: "t2", Reason: events.ForEdit, Model: "m1"}, start("r4"), round("r4", 1),
			says("r4", 1, events.ChunkContent, "To those."), roundEnd("r4", 1, "stop", nil), end("r4", events.Complete, "", nil), submit("t4"), asked("r5", "t4")),
		"queued": chain(begun(), queue("t2"), queue("t3"), says("r1", 1, events.ChunkContent, "While"), events.MessageEdited{Message: "t3", Text: "changed"},
			queue("t4"), events.MessageWithdrawn{Message: "t2"}, roundEnd("r1", 1, "stop", nil), end("r1", events.Complete, "", nil),
			events.MessageDelivered{Message: "t3", Reply: "r2"}, events.ReplyRequested{Reply: "r2", Message: "t3", Reason: events.ForQueue, Model: "m1"},
			start("r2"), round("r2", 1), says("r2", 1, events.ChunkContent, "Next"), end("r2", events.Stopped, "stopped", nil), events.MessageWithdrawn{Message: "t4"}),
		"delivered into a running reply": chain(begun(), queue("t2"), call("r1", 1, 0, "fetch", `{"url":"https://example.org"}`), roundEnd("r1", 1, "tool_calls", nil),
			events.ToolStarted{Reply: "r1", Round: 1, Call: "k10"}, events.ToolFinished{Reply: "r1", Round: 1, Call: "k10", Status: events.ToolOK, Output: "a\nb\n", Bytes: 4, MS: 300},
			round("r1", 2), events.MessageDelivered{Message: "t2", Reply: "r1", Round: 2}, says("r1", 2, events.ChunkContent, "I see."),
			roundEnd("r1", 2, "stop", nil), end("r1", events.Complete, "", nil)),
		"refused calls": chain(begun(), says("r1", 1, events.ChunkReasoning, "tools?"), call("r1", 1, 0, "shell_run", `{"command":"rm -rf /","why":"x"}`), call("r1", 1, 1, "nope", `{}`),
			roundEnd("r1", 1, "tool_calls", nil), events.ToolFinished{Reply: "r1", Round: 1, Call: "k10", Status: events.ToolRefused, Output: "not offered"},
			events.ToolFinished{Reply: "r1", Round: 1, Call: "k11", Status: events.ToolRefused, Output: "not offered"},
			round("r1", 2), says("r1", 2, events.ChunkContent, "Sorry."), roundEnd("r1", 2, "stop", nil), end("r1", events.Complete, "", nil)),
		"reclassified": chain(begun(), says("r1", 1, events.ChunkContent, "this was a thought"), events.ReplyReclassified{Reply: "r1", Round: 1, From: events.ChunkContent, To: events.ChunkReasoning},
			says("r1", 1, events.ChunkContent, "The answer."), roundEnd("r1", 1, "stop", nil), end("r1", events.Complete, "", nil)),
		"reclassified and as long again": chain(begun(), says("r1", 1, events.ChunkContent, "thi"), events.ReplyReclassified{Reply: "r1", Round: 1, From: events.ChunkContent, To: events.ChunkReasoning},
			says("r1", 1, events.ChunkContent, "The"), says("r1", 1, events.ChunkContent, " answer."), roundEnd("r1", 1, "stop", nil), end("r1", events.Complete, "", nil)),
		"restarted under the same number": chain(begun(), says("r1", 1, events.ChunkReasoning, "hm"), says("r1", 1, events.ChunkContent, "half of it"),
			events.RoundSuperseded{Reply: "r1", Round: 1, Reason: "restart"}, events.ReplyResumed{Reply: "r1", Reason: "restart"}, round("r1", 1),
			says("r1", 1, events.ChunkContent, "All of it."), roundEnd("r1", 1, "stop", nil), end("r1", events.Complete, "", nil)),
		"restarted under the next number": chain(begun(), call("r1", 1, 0, "fetch", `{}`), roundEnd("r1", 1, "tool_calls", nil), events.ToolStarted{Reply: "r1", Round: 1, Call: "k10"},
			events.ToolInterrupted{Reply: "r1", Round: 1, Call: "k10"}, round("r1", 2), says("r1", 2, events.ChunkContent, "hal"),
			events.RoundSuperseded{Reply: "r1", Round: 2, Reason: "restart"}, events.ReplyResumed{Reply: "r1", Reason: "restart"}, round("r1", 3),
			says("r1", 3, events.ChunkContent, "All."), roundEnd("r1", 3, "stop", nil), end("r1", events.Complete, "", nil)),
		"a card": chain(begun(), call("r1", 1, 0, "fetch", `{"url":"https://example.org"}`), roundEnd("r1", 1, "tool_calls", nil), events.ConsentRequested{Consent: "q1", Reply: "r1", Round: 1, Kind: "approval"},
			events.ConsentAnswered{Consent: "q1"}, events.ToolStarted{Reply: "r1", Round: 1, Call: "k10", Consent: "q1"},
			events.ToolFinished{Reply: "r1", Round: 1, Call: "k10", Status: events.ToolDenied, Output: "no"}, round("r1", 2), says("r1", 2, events.ChunkContent, "Well."),
			events.ConsentRequested{Consent: "q2", Reply: "r1", Round: 2, Kind: "question"}, events.ConsentWithdrawn{Consent: "q2", Reason: "stopped"}, end("r1", events.Stopped, "stopped", nil)),
		"hostile": chain(begun(), says("r1", 1, events.ChunkReasoning, "</div></details><script>alert(1)</script>"), says("r1", 1, events.ChunkContent, "<img src=x onerror=alert(1)>\n\n</section>\n\n"+strings.Repeat("> ", 30)+"deep\n"),
			call("r1", 1, 0, "</b><script>", `{"path":"</code>"}`), roundEnd("r1", 1, "stop", nil), end("r1", events.Complete, "", nil)),
	}
	maps.Copy(all, toolHistories())
	return all
}
