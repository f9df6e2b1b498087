package stream

import (
	"encoding/json"
	"strings"

	"lembas/events"
)

const digest = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"

func started(k, card string) events.Payload {
	return events.ToolStarted{Reply: "r1", Round: 1, Call: k, Consent: card}
}
func goes(k, line string) events.Payload {
	return events.ToolProgressed{Reply: "r1", Round: 1, Call: k, Text: line}
}
func came(k, status, output string) events.Payload {
	return events.ToolFinished{Reply: "r1", Round: 1, Call: k, Status: status, Output: output, Bytes: int64(len(output)), MS: 300}
}
func item(key, call string) events.ConsentItem {
	return events.ConsentItem{Key: key, Call: call, Name: "fetch", Label: "Fetch", Arguments: json.RawMessage(`{"url":"https://example.org"}`),
		Detail: "https://example.org", Risk: "execute", Reason: "runs ask here", Why: "to <see>", Edits: "url", Pattern: "fetch"}
}
func card(id string, items ...events.ConsentItem) events.Payload {
	return events.ConsentRequested{Consent: id, Reply: "r1", Round: 1, Kind: events.ConsentApproval, Items: items, Expires: "2026-12-01T23:59:30Z"}
}
func says2(key, verdict string) events.ConsentAnswer {
	return events.ConsentAnswer{Key: key, Verdict: verdict}
}

// three is a round with three calls, of which a card asks about two.
func three() []events.Payload {
	return chain(begun(), says("r1", 1, events.ChunkContent, "I look."), call("r1", 1, 0, "fetch", `{"url":"https://example.org"}`),
		call("r1", 1, 1, "web_search", `{"query":"x"}`), call("r1", 1, 2, "fetch", `{"url":"https://example.com"}`),
		roundEnd("r1", 1, "tool_calls", nil), card("q1", item("a", "k10"), item("b", "k12")))
}

func done() []events.Payload {
	return chain(round("r1", 2), says("r1", 2, events.ChunkContent, "Done."), roundEnd("r1", 2, "stop", nil), end("r1", events.Complete, "", nil))
}

// toolHistories are what can happen with tools, cards, remarks and summaries.
func toolHistories() map[string][]events.Payload {
	edited, always, denied := says2("a", events.VerdictAllow), says2("a", events.VerdictAlways), says2("b", events.VerdictDeny)
	edited.Arguments, always.Pattern, denied.Reason = json.RawMessage(`{"url":"https://example.net"}`), "fetch", "not that one"
	questions := events.ConsentRequested{Consent: "q1", Reply: "r1", Round: 1, Kind: events.ConsentQuestion, Items: []events.ConsentItem{
		{Key: "1", Call: "k10", Name: "ask_user", Question: "Which <one>?", Options: []string{"this", "\"that\""}}, {Key: "2", Call: "k10", Name: "ask_user", Question: "And why?"}}}
	asks := chain(begun(), call("r1", 1, 0, "ask_user", `{"questions":[]}`), roundEnd("r1", 1, "tool_calls", nil), questions)
	full := events.ToolFinished{Reply: "r1", Round: 1, Call: "k11", Status: events.ToolOK, Output: strings.Repeat("line\n", 3500), Bytes: 90_000, MS: 1200,
		Blob: &events.BlobRef{Digest: digest, Size: 90_000}, Sources: []events.Source{{Title: "A <page>", URL: "https://example.org/a"}, {Title: "no", URL: "javascript:alert(1)"}},
		Images: []events.Attachment{{ID: "i1", Name: "shot.png", Type: "image/png", Blob: events.BlobRef{Digest: digest, Size: 10}}}}
	return map[string][]events.Payload{
		"a card with several items": chain(three(), started("k11", ""), goes("k11", "page 1"), goes("k11", "page 2"), full,
			events.ConsentAnswered{Consent: "q1", Answers: []events.ConsentAnswer{edited, denied}, Session: "s1"},
			came("k12", events.ToolDenied, "denied"), started("k10", "q1"), goes("k10", "\x1b[1mhalf"), came("k10", events.ToolOK, "a\r\n\x1b[31mb\x1b[0m\n"), done()),
		"always": chain(three(), events.ConsentAnswered{Consent: "q1", Answers: []events.ConsentAnswer{always, says2("b", events.VerdictAllow)}},
			events.ChatAllowAdded{Pattern: "fetch", Consent: "q1"}, started("k10", "q1"), came("k10", events.ToolError, "no\nroute"),
			started("k12", "q1"), came("k12", events.ToolOK, ""), came("k11", events.ToolRefused, "not offered"), done()),
		"a card that expired": chain(three(), events.ConsentExpired{Consent: "q1"}, came("k10", events.ToolExpired, "nobody answered"),
			came("k12", events.ToolExpired, "nobody answered"), done()),
		"stopped on a card": chain(three(), events.ConsentWithdrawn{Consent: "q1", Reason: "stopped"}, came("k10", events.ToolStopped, ""),
			came("k12", events.ToolStopped, ""), end("r1", events.Stopped, "stopped", nil)),
		"ended with calls open": chain(three(), events.ConsentWithdrawn{Consent: "q1", Reason: "disabled"}, started("k11", ""), end("r1", events.Failed, "disk full", nil)),
		"asked again after a restart": chain(three(), events.ConsentAnswered{Consent: "q1", Answers: []events.ConsentAnswer{says2("a", "allow"), says2("b", "allow")}},
			events.ReplyResumed{Reply: "r1", Reason: "restart"}, events.ConsentRequested{Consent: "q2", Reply: "r1", Round: 1, Kind: events.ConsentApproval,
				Items: []events.ConsentItem{item("a", "k10")}, Caused: "q1"}, events.ConsentAnswered{Consent: "q2", Answers: []events.ConsentAnswer{says2("a", "deny")}},
			came("k10", events.ToolDenied, ""), done()),
		"questions": chain(asks, events.ConsentAnswered{Consent: "q1", Answers: []events.ConsentAnswer{{Key: "1", Verdict: "allow", Text: "this"}, {Key: "2", Verdict: "allow", Text: "<b>so</b>"}}},
			came("k10", events.ToolOK, "this"), done()),
		"questions not answered": chain(asks, events.ConsentAnswered{Consent: "q1", Answers: []events.ConsentAnswer{{Key: "1", Verdict: "deny", Reason: "no"}, {Key: "2", Verdict: "deny"}}},
			came("k10", events.ToolDenied, ""), done()),
		"nudged and out of budget": chain(begun(), says("r1", 1, events.ChunkContent, "So."), roundEnd("r1", 1, "stop", nil), events.ReplyNudged{Reply: "r1", Text: "Your plan has open tasks."},
			round("r1", 2), says("r1", 2, events.ChunkContent, "More."), roundEnd("r1", 2, "stop", nil), events.ReplyBudgetSpent{Reply: "r1", Budget: "limits.rounds", Limit: 2},
			events.ReplyBudgetSpent{Reply: "r1", Budget: "limits.wall_clock", Limit: 3600}, round("r1", 3), says("r1", 3, events.ChunkContent, "End."), roundEnd("r1", 3, "stop", nil), end("r1", events.Complete, "", nil)),
		"two turns delivered while a card waits": chain(three(), events.MessageQueued{Message: "t2", Text: "also this"}, events.MessageQueued{Message: "t3", Text: "and that"},
			events.ConsentAnswered{Consent: "q1", Answers: []events.ConsentAnswer{says2("a", "allow"), says2("b", "deny")}}, started("k10", "q1"), came("k10", events.ToolOK, "x"),
			round("r1", 2), events.MessageDelivered{Message: "t2", Reply: "r1", Round: 2}, events.MessageDelivered{Message: "t3", Reply: "r1", Round: 2},
			says("r1", 2, events.ChunkContent, "Both."), roundEnd("r1", 2, "stop", nil), end("r1", events.Complete, "", nil)),
		"compacted twice": chain(answered(3), events.CompactionRequested{Compaction: "x1"}, events.ChatCompacted{Message: "t1", Summary: "They *spoke*."},
			events.CompactionRequested{Compaction: "x2"}, events.CompactionFailed{Error: events.RoundError{Kind: "timeout", Message: "<slow>"}},
			events.CompactionRequested{Compaction: "x3"}, events.ChatCompacted{Message: "t2", Summary: "# More"},
			submit("t4"), asked("r4", "t4"), start("r4"), round("r4", 1), says("r4", 1, events.ChunkContent, "On."), roundEnd("r4", 1, "stop", nil), end("r4", events.Complete, "", nil)),
		"compacted, then asked anew": chain(answered(2), events.ChatCompacted{Message: "t2", Summary: "All."},
			events.ReplyRequested{Reply: "r3", Message: "t2", Reason: events.ForRegenerate, Model: "m1"}, start("r3"), round("r3", 1), says("r3", 1, events.ChunkContent, "Anew."),
			roundEnd("r3", 1, "stop", nil), end("r3", events.Complete, "", nil), events.ChatCompacted{Message: "t1", Summary: "Some."},
			events.ReplyFolded{Reply: "r1"}, events.ChatRewound{Message: "t1"}),
		"hostile calls": chain(begun(), call("r1", 1, 0, "</b><script>", "{\"path\":\"</code>\u202e\"}"), roundEnd("r1", 1, "tool_calls", nil),
			card("q1", events.ConsentItem{Key: "\"><i>", Call: "k10", Name: "<x>", Label: "</h3>", Icon: "\"><script>", Arguments: json.RawMessage(`{"path":"</pre>"}`),
				Detail: "</pre><script>\x1b[2K", Risk: "\"x", Reason: "<i>", Why: "</q>", Edits: "path", Pattern: "</code>"}),
			events.ConsentAnswered{Consent: "q1", Answers: []events.ConsentAnswer{{Key: "\"><i>", Verdict: "allow", Arguments: json.RawMessage(`{"path":"</del>"}`)}}},
			started("k10", "q1"), goes("k10", "</span><b>"), came("k10", events.ToolOK, "# Heading\n[x](https://evil.test/) <b>bold</b>"), done()),
	}
}
