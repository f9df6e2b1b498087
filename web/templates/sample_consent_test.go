package templates_test

import "lembas/web/templates"

// samplePython stands for a long argument that has to be read whole.
const samplePython = `{
  "path": "/srv/reports/quarter.py",
  "mode": "0644",
  "content": "import csv\nimport sys\n\ndef main(path):\n    with open(path) as f:\n        for row in csv.DictReader(f):\n            print(row[\"name\"], row[\"total\"])\n\nmain(sys.argv[1])\n"
}`

func sampleItem(key, label, icon, exact, why string) templates.CardItem {
	return templates.CardItem{Card: "k1", Key: key, Call: "call_" + key, Icon: icon, Label: label, Name: "fetch", Risk: "read", Exact: exact,
		Reason: "Fetching asks before each new host on this instance.", Why: why, Pattern: "fetch",
		Edit: &templates.CardEdit{Name: "url", Text: exact, Arguments: `{"url":"` + exact + `"}`}}
}

func sampleAsk(id string, items ...templates.CardItem) templates.Card {
	c := templates.Card{ID: id, Reply: "r1", N: 1, Kind: "approval", State: "waiting", Title: "Allow “" + items[0].Label + "”?", Many: len(items) > 1, Items: items,
		Expires: templates.Time{ISO: "2026-03-04T14:02:00Z", Short: "Wed 14:02 UTC", Full: "Wednesday, 4 March 2026, 14:02 UTC"}}
	if c.Many {
		c.Title = "Allow these 3 calls?"
	}
	for i := range c.Items {
		c.Items[i].Card = id
	}
	return c
}

func sampleThree() templates.Card {
	write := templates.CardItem{Key: "b", Call: "call_b", Icon: "file", Label: "Write a file", Name: "store_put", Risk: "write", Exact: "/srv/reports/quarter.py",
		Arguments: samplePython, Texts: []templates.TextArgument{{Name: "content", Text: "import csv\nimport sys\n\ndef main(path):\n    with open(path) as f:\n        for row in csv.DictReader(f):\n            print(row[\"name\"], row[\"total\"])\n\nmain(sys.argv[1])\n"}}, Reason: "Tools that change something ask in this chat.", Why: "so that the report can be made again next quarter"}
	run := templates.CardItem{Key: "c", Call: "call_c", Icon: "terminal", Label: "Run a command", Name: "shell", Risk: "execute", Unseen: true,
		Exact: `ls \u{202e}txt.sh\u{202c} \x1b[2K\x07 rm -rf /srv`, Reason: "Tools that run something ask in this chat.", Why: "list what is there"}
	items := []templates.CardItem{sampleItem("a", "Read a page", "globe", "https://example.org/reports/2026/q1.html", "the figures of the first quarter"), write, run}
	for i, n := range []string{"1 of 3", "2 of 3", "3 of 3"} {
		items[i].Number = n
	}
	return sampleAsk("k3", items...)
}

func sampleAsks() templates.Card {
	return templates.Card{ID: "k4", Reply: "r1", N: 1, Kind: "question", State: "waiting", Title: "2 questions for you", Many: true,
		Expires: templates.Time{ISO: "2026-03-04T14:02:00Z", Short: "Wed 14:02 UTC", Full: "Wednesday"},
		Items: []templates.CardItem{
			{Card: "k4", Key: "1", Call: "c", Number: "1 of 2", Question: "Which quarter is the report for?", Options: []templates.CardOption{{Value: "Q1", Text: "The first quarter"}, {Value: "Q2", Text: "The second quarter, although the books are still open"}}},
			{Card: "k4", Key: "2", Call: "c", Number: "2 of 2", Question: "Who is going to read it?"},
		}}
}

func sampleRecords() []templates.Card {
	done := func(id, state, title, sign, tone string, items ...templates.CardItem) templates.Card {
		c := sampleAsk(id, items...)
		c.State, c.Title, c.Sign, c.Tone, c.Ended = state, title, sign, tone, at("14:04")
		for i := range c.Items {
			c.Items[i].Edit, c.Items[i].Pattern, c.Items[i].Card = nil, "", id
		}
		return c
	}
	item := func() templates.CardItem {
		return sampleItem("a", "Read a page", "globe", "https://example.org/reports/2026/q1.html", "the figures of the first quarter")
	}
	edited := item()
	edited.Verdict, edited.Said, edited.Corrected = "allow", "allowed", &templates.Correction{Name: "url", Before: edited.Exact, After: "https://example.org/reports/2026/"}
	always := item()
	always.Verdict, always.Said, always.Remembered = "always", "allowed, always in this chat", "fetch"
	denied := item()
	denied.Verdict, denied.Said, denied.Because = "deny", "denied", "That page is behind our login; ask me for the file instead."
	three := sampleThree()
	for i, v := range []string{"allow", "deny", "always"} {
		three.Items[i].Verdict, three.Items[i].Said = v, map[string]string{"allow": "allowed", "deny": "denied", "always": "allowed, always in this chat"}[v]
	}
	return []templates.Card{
		done("d1", "answered", "You allowed “Read a page”, corrected", "check", "ok", edited),
		done("d2", "answered", "You always allow “Read a page” in this chat", "check", "ok", always),
		done("d3", "answered", "You denied “Read a page”", "ban", "danger", denied),
		done("d4", "answered", "You allowed 2 of 3 calls", "check", "ok", three.Items...),
		done("d5", "expired", "Not answered in time, so it did not run", "clock", "warn", item()),
		done("d6", "withdrawn", "Not answered: the reply was stopped", "square", "", item()),
		{ID: "d7", Reply: "r1", N: 1, Kind: "question", State: "answered", Title: "You answered 2 of 2 questions", Sign: "check", Tone: "ok", Many: true, Ended: at("14:05"),
			Items: []templates.CardItem{{Card: "d7", Key: "1", Question: "Which quarter is the report for?", Verdict: "allow", Text: "The first quarter"}, {Card: "d7", Key: "2", Question: "Who is going to read it?", Verdict: "allow", Text: "The board, on paper."}}},
	}
}

// sampleTools are calls in every state.
func sampleLines(reply string, n int) (out []templates.ToolLine) {
	add := func(l templates.ToolLine) {
		l.Reply, l.N, l.Index, l.Call = reply, n, len(out), "call_"+l.Label
		out = append(out, l)
	}
	add(templates.ToolLine{Icon: "search", Label: "Search the web", Target: "quarterly report layout", Why: "how others lay it out", Status: "ok", Result: "2 sources", Duration: "0.8 s",
		Arguments: "{\n  \"query\": \"quarterly report layout\"\n}", Output: templates.Output{Head: "1. How to lay out a report\n2. Reports that are read"},
		Sources: []templates.SourceLink{{Title: "How to lay out a report", URL: "https://example.org/layout", Host: "example.org"}, {Title: "Reports that are read, and why most are not: a study of four hundred boards", URL: "https://press.example.com/a", Host: "press.example.com"}}})
	add(templates.ToolLine{Icon: "globe", Label: "Read a page", Target: "https://example.org/reports/2026/q1.html", Why: "the figures of the first quarter", Status: "running", Progress: "18 of 40 KB", Since: at("14:02"), Arguments: "{}"})
	add(templates.ToolLine{Icon: "file", Label: "Write a file", Target: "/srv/reports/quarter.py", Status: "waiting", Arguments: samplePython})
	add(templates.ToolLine{Icon: "terminal", Label: "Run a command", Target: "make -C /srv/reports quarter", Status: "called", Arguments: "{}"})
	add(templates.ToolLine{Icon: "terminal", Label: "Run a command", Target: "go test ./...", Status: "error", Result: "exit 1", Duration: "12 s", Edited: true, Arguments: "{\n  \"command\": \"go test ./...\"\n}", Sent: "{\n  \"command\": \"go test -count=1 ./...\"\n}",
		Output: templates.Output{Head: "=== RUN   TestRows\n    rows_test.go:14: got 3, want 4\n--- FAIL: TestRows (0.01s)", Gap: "88 KB not shown here", Tail: "FAIL\texample.org/reports\t0.214s\nFAIL", Note: "12 terminal sequences left out", All: "/api/v1/blobs/00?chat=c1", Size: "91 KB"}})
	add(templates.ToolLine{Icon: "plug", Label: "Atlas: Draw a map", Target: "Rhûn", Status: "ok", Result: "1 picture", Duration: "2.1 s", Arguments: "{}", Images: []templates.ImageLink{{Name: "map.png", Path: "/static/sample.png"}}})
	add(templates.ToolLine{Icon: "globe", Label: "Read a page", Target: "http://169.254.169.254/latest/meta-data", Status: "refused", Result: "the address is not public", Arguments: "{}"})
	add(templates.ToolLine{Icon: "globe", Label: "Read a page", Target: "https://example.net", Status: "denied", Arguments: "{}"})
	add(templates.ToolLine{Icon: "globe", Label: "Read a page", Target: "https://example.com", Status: "expired", Arguments: "{}"})
	add(templates.ToolLine{Icon: "globe", Label: "Read a page", Target: "https://example.org/b", Status: "stopped", Arguments: "{}"})
	add(templates.ToolLine{Icon: "tool", Label: "Order paper", Target: "500 sheets", Status: "interrupted", Arguments: "{}"})
	return out
}

// sampleToolChats are conversations with calls, cards and what became of them.
func sampleToolChats() map[string]any {
	chat := func(state string, rounds ...templates.Round) templates.Chat {
		c := sampleChat()
		c.Queue, c.Composer, c.Status = templates.Queue{Chat: "c1"}, sampleComposer("c1", state), templates.ChatStatus{Status: "waiting"}
		m := templates.Message{Chat: "c1", ID: "r1", Role: "assistant", Status: "waiting", Author: "Qwen3 Coder", Time: at("14:02"), Rounds: rounds}
		c.Messages = templates.MessagePage{Chat: "c1", Messages: []templates.Message{
			{Chat: "c1", ID: "m1", Role: "user", Status: "complete", Author: "You", Time: at("14:01"), Editable: true, Text: "Write the report for this quarter."}, m}}
		return c
	}
	text := templates.Round{Reply: "r1", N: 1, HTML: "<p>I'll read the figures first, then write the script that makes the report.</p>"}
	one, three, asks, lines, records := text, text, text, text, text
	one.Tools = []templates.ToolLine{{Reply: "r1", N: 1, Icon: "globe", Label: "Read a page", Target: "https://example.org/reports/2026/q1.html", Why: "the figures of the first quarter", Status: "waiting", Arguments: "{}"}}
	one.Cards = []templates.Card{sampleAsk("k1", sampleItem("a", "Read a page", "globe", "https://example.org/reports/2026/q1.html", "the figures of the first quarter"))}
	one.Cards[0].Again = true
	three.Cards, asks.Cards, lines.Tools, records.Cards = []templates.Card{sampleThree()}, []templates.Card{sampleAsks()}, sampleLines("r1", 1), sampleRecords()
	ended := chat("idle", records, templates.Round{Reply: "r1", N: 2, HTML: "<p>Here it is.</p>",
		Turns: []templates.Message{{ID: "m2", Text: "On one page, please."}},
		Notes: []templates.Note{{Reply: "r1", N: 2, Key: "nudge1", Kind: "info", Text: "It stopped with open tasks in its plan, so it was asked to go on."},
			{Reply: "r1", N: 2, Key: "budget2", Kind: "warn", Text: "The limit of 20 rounds was reached. It was asked for its answer, without tools."}}})
	ended.Messages.Messages[1].Status = "complete"
	ended.Messages.Messages[1].Summary = &templates.Summary{Time: at("14:20"), HTML: "<p>Ann wants the report of the first quarter on one page.</p>"}
	ended.Compact = templates.Compact{Running: true}
	failed := chat("running", lines)
	failed.Compact = templates.Compact{Error: "The endpoint stopped answering.", Detail: "upstream timed out"}
	var run []templates.Round
	for i, l := range sampleLines("r1", 1)[4:8] {
		l.N, l.Index = i+1, 0
		run = append(run, templates.Round{Reply: "r1", N: i + 1, Tools: []templates.ToolLine{l}})
	}
	run[0].HTML = "<p>I'll look for it.</p>"
	run = append(run, templates.Round{Reply: "r1", N: 5, HTML: "<p>Nothing there.</p>"})
	return map[string]any{"chat-run": chat("running", run...), "chat-card": chat("waiting", one), "chat-cards": chat("waiting", three), "chat-questions": chat("waiting", asks), "chat-calls": failed, "chat-records": ended}
}
