package templates_test

import "lembas/web/templates"

func sampleScope(chat string) *templates.Scope {
	s := &templates.Scope{Chat: chat, Count: "11 of 14", Word: "tools", Rows: []templates.ScopeRow{
		{Key: "web_search", Label: "Search the web", Icon: "search", On: true, Tools: 1},
		{Key: "fetch", Label: "Fetch pages", Icon: "globe", Tools: 1},
		{Key: "ask_user", Label: "Ask you", Icon: "question", Tools: 1, On: true, Off: "You do not have this permission"},
		{Key: "custom", Label: "Custom tools", Icon: "tool", Tools: 2},
		{Key: "custom:weather", Label: "Weather at the mill", Icon: "tool", Tools: 1, On: true, Under: true, Shut: true},
		{Key: "custom:tide", Label: "Tide", Icon: "tool", Tools: 1, Under: true, Shut: true},
		{Key: "mcp", Label: "Servers", Icon: "server", On: true, Tools: 9},
		{Key: "mcp:lab", Label: "Laboratory", Icon: "server", On: true, Tools: 8, Under: true},
		{Key: "mcp:attic", Label: "Attic", Icon: "server", Tools: 1, Under: true},
	}}
	if chat != "" {
		s.Allow = []string{"git status", "fetch", "logrotate -d /etc/logrotate.d/nginx"}
	}
	return s
}

// sampleCard asks about calls: the first can be edited.
func sampleCard(id string, calls int) templates.Card {
	c := templates.Card{ID: id, Reply: "r9", N: 1, Kind: "approval", State: "waiting", Title: "Allow Run a command?", Many: calls > 1,
		Expires: templates.Time{ISO: "2026-03-04T14:02:00Z", Short: "Wed 14:02 UTC", Full: "Wednesday, 4 March 2026, 14:02 UTC"}}
	all := []templates.CardItem{
		{Key: "a", Label: "Run a command", Icon: "terminal", Risk: "execute", Exact: "logrotate --force /etc/logrotate.d/nginx", Reason: "Commands ask on this instance",
			Why: "rotate once now so the disk is freed", Pattern: "logrotate --force /etc/logrotate.d/nginx",
			Edit: &templates.CardEdit{Name: "command", Text: "logrotate --force /etc/logrotate.d/nginx", Arguments: `{"command":"logrotate --force /etc/logrotate.d/nginx"}`}},
		{Key: "b", Label: "Fetch a page", Icon: "globe", Risk: "read", Exact: "https://nginx.org/en/docs/control.html", Reason: "Reading asks on this instance", Pattern: "fetch"},
		{Key: "c", Label: "Weather at the mill", Icon: "tool", Risk: "write", Exact: "{\n  \"place\": \"mill\"\n}", Reason: "Changes ask on this instance"},
	}
	for i, item := range all[:calls] {
		item.Card, item.Call = id, "call_"+item.Key
		if calls > 1 {
			item.Number = string(rune('1'+i)) + " of " + string(rune('0'+calls))
			c.Title = "Allow these " + string(rune('0'+calls)) + " calls?"
		}
		c.Items = append(c.Items, item)
	}
	return c
}

func sampleQuestions(id string) templates.Card {
	c := sampleCard(id, 0)
	c.Kind, c.Title, c.Many = "question", "2 questions for you", true
	c.Items = []templates.CardItem{
		{Card: id, Key: "q1", Call: "call_q", Number: "1 of 2", Question: "Which rotation shall it be?", Options: []templates.CardOption{{Value: "daily", Text: "Daily, keep 14"}, {Value: "weekly", Text: "Weekly, keep 8"}}},
		{Card: id, Key: "q2", Call: "call_q", Number: "2 of 2", Question: "Whom shall the mail go to?"},
	}
	return c
}

func sampleWaiting() templates.Waiting {
	v := templates.Waiting{Shell: sampleShell("waiting", "Waiting for you")}
	v.Shell.Waiting = templates.WaitingNav{Count: 3, Here: true}
	for _, w := range []templates.WaitingCard{
		{Chat: "c2", Title: "Rotate the nginx logs", Card: sampleCard("k1", 1)},
		{Chat: "c7", Title: "Port the parser to Go, with all of its corpus and the benchmarks", Card: sampleCard("k2", 3)},
		{Chat: "c8", Title: "Read-only replica", Card: sampleQuestions("k3")},
	} {
		w.Path, w.Since = "/chat/"+w.Chat+"#m-r9", at("14:02 UTC")
		v.List.Cards = append(v.List.Cards, w)
	}
	v.List.More = 2
	return v
}

// sampleAsking is a chat whose reply waits on a card.
func sampleAsking() templates.Chat {
	c := sampleChat()
	c.Shell.Waiting.Count = 1
	c.Queue, c.Composer, c.Status = templates.Queue{Chat: "c1"}, sampleComposer("c1", "waiting"), templates.ChatStatus{Status: "waiting"}
	c.Messages = templates.MessagePage{Chat: "c1", Messages: sampleMessages()[:2:2]}
	c.Messages.Messages = append(c.Messages.Messages,
		templates.Message{Chat: "c1", ID: "m9", Role: "user", Status: "complete", Author: "You", Time: at("14:01"), Text: "Set up rotation: daily, keep 14. Don't restart nginx."},
		templates.Message{Chat: "c1", ID: "r9", Role: "assistant", Status: "waiting", Author: "Qwen3 Coder", Time: at("14:02"),
			Rounds: []templates.Round{{Reply: "r9", N: 1, HTML: "<p>The dry run is clean. One real run now will compress the 9 GB file.</p>", Cards: []templates.Card{sampleCard("k2", 3)}}}})
	return c
}
