package templates_test

import (
	"html/template"
	"maps"

	"lembas/web/templates"
)

// The samples are one instance, as rich as a real one, for the tests and for
// the gallery.

func at(short string) templates.Time {
	return templates.Time{ISO: "2026-03-03T14:02:00Z", Short: short, Full: "Tuesday, 3 March 2026, " + short}
}

func sampleShell(page, title string) templates.Shell {
	return templates.Shell{
		Title: title, Page: page, Epoch: "k3v9", Cursor: "k3v9.812",
		Person:  templates.Person{ID: "u1", Name: "Ann Harrow", Email: "ann@example.org", Initial: "A", Admin: true},
		Sidebar: sampleTree(), Demo: true,
	}
}

func sampleTree() templates.SidebarTree {
	row := func(id, title string) templates.ChatRow {
		return templates.ChatRow{ID: id, Title: title, Time: at("14:02")}
	}
	current := row("c1", "Lifetimes of connections in Go’s sql package, and why the pool starved")
	current.Current, current.Status = true, "streaming"
	needs := row("c2", "Rotate the nginx logs")
	needs.NeedsYou, needs.Status = true, "waiting"
	unread := row("c3", "Upgrade postgres on the mill")
	unread.Unread = true
	failed := row("c4", "Why is the backup slow")
	failed.Status = "failed"
	pinned := row("c5", "House rules for reviews")
	pinned.Pinned = true
	return templates.SidebarTree{
		Pinned: []templates.ChatRow{pinned},
		Folders: []templates.Folder{
			{ID: "f1", Name: "Servers", Open: true, Chats: []templates.ChatRow{needs, unread}, Folders: []templates.Folder{
				{ID: "f2", Name: "Lab", Parent: "f1", Open: true, Chats: []templates.ChatRow{row("c6", "Certificates for the lab")}},
			}},
			{ID: "f3", Name: "Reading"},
		},
		Groups: []templates.ChatGroup{
			{Label: "Today", Chats: []templates.ChatRow{current, failed, row("c7", "Port the parser to Go")}},
			{Label: "Last week", Chats: []templates.ChatRow{row("c8", "Read-only replica"), row("c9", "Flaky test in ci"), row("c10", "A letter to the landlord about the damp in the north wall")}},
		},
		More: "/sidebar?before=c10",
	}
}

const sampleCode = `<figure class="code"><figcaption><span class="lang">go</span><button type="button" class="copy" data-copy="code">Copy</button></figcaption><pre tabindex="0"><code class="chroma"><span class="c">// withConn runs fn on one connection and always gives it back.
</span><span class="k">func</span> <span class="nf">withConn</span>(ctx <span class="kt">context</span>.Context, db <span class="o">*</span><span class="kt">sql</span>.DB, fn <span class="k">func</span>(<span class="o">*</span>sql.Conn) <span class="kt">error</span>) <span class="kt">error</span> {
	conn, err <span class="o">:=</span> db.<span class="nf">Conn</span>(ctx)
	<span class="k">if</span> err <span class="o">!=</span> <span class="m">nil</span> {
		<span class="k">return</span> fmt.<span class="nf">Errorf</span>(<span class="s">"taking a connection: %w"</span>, err)
	}
	<span class="k">defer</span> conn.<span class="nf">Close</span>()
	<span class="k">return</span> <span class="nf">fn</span>(conn) <span class="c">// a long line that has to scroll in its own box: retries, deadlines, tracing, and the rest of it</span>
}
</code></pre></figure>`

const sampleText = template.HTML(`<p>The pool starved because every request held <strong>two</strong> connections: one for the rows still open, one for the nested lookup. With <code>SetMaxOpenConns(10)</code> ten requests are enough to wait for each other for ever.</p>
<h2>What to change</h2>
<ol><li>Close the rows before the second query.</li><li>Or read the rows into memory first, if there are few.</li><li>Set <code>SetConnMaxLifetime</code>, so a dead connection does not stay.<ul><li>Five minutes is a common choice.</li><li>Shorter than the proxy’s idle time.</li></ul></li></ol>` +
	sampleCode + `<div class="table"><button type="button" class="copy" data-copy="table">Copy</button><div class="scroll" tabindex="0"><table>
<thead><tr><th>Setting</th><th>Default</th><th align="right">Here</th><th>Why</th></tr></thead>
<tbody><tr><td><code>MaxOpenConns</code></td><td>unlimited</td><td align="right">10</td><td>The database allows forty, four services share it.</td></tr>
<tr><td><code>MaxIdleConns</code></td><td>2</td><td align="right">10</td><td>Otherwise every burst dials again.</td></tr>
<tr><td><code>ConnMaxLifetime</code></td><td>for ever</td><td align="right">5 min</td><td>The proxy drops what is idle for six.</td></tr></tbody></table></div></div>
<blockquote><p>A pool is a queue with a polite name.</p></blockquote>
<p>See <a href="https://go.dev/doc/database/manage-connections" rel="noopener noreferrer nofollow" target="_blank">the Go documentation</a>, and measure with <code>db.Stats()</code>.</p>
<ul><li><input type="checkbox" checked disabled> rows closed</li><li><input type="checkbox" disabled> lifetime set</li></ul><hr>
<figure class="code"><figcaption><span class="lang">diff</span><button type="button" class="copy" data-copy="code">Copy</button></figcaption><pre tabindex="0"><code class="chroma"><span class="gd">-	defer rows.Close()
</span><span class="gi">+	rows.Close()
</span></code></pre></figure>`)

func sampleMessages() []templates.Message {
	return []templates.Message{
		{Chat: "c1", ID: "m1", Role: "user", Status: "complete", Author: "You", Time: at("13:58"), Day: "Tuesday, 3 March", Edited: true, Editable: true,
			Text:     "Our Go service hangs under load. All goroutines wait in database/sql. What is it?\n\nPool size is 10, and each handler runs a query inside rows.Next().",
			Versions: &templates.Versions{Index: 2, Count: 2, Prev: "/chat/c1/messages/m1?version=1"}},
		{Chat: "c1", ID: "r1", Role: "assistant", Status: "complete", Author: "Qwen3 Coder", Time: at("13:58"), Again: true,
			Rounds: []templates.Round{
				{Reply: "r1", N: 1, Think: &templates.Think{Reply: "r1", N: 1, Summary: "Thought for 4 s", HTML: "<p>Nested queries while rows are open: each handler holds two connections. With ten in the pool that deadlocks.</p>"},
					HTML: "<p>I will look at the pool’s figures first.</p>",
					Tools: []templates.ToolLine{
						{Reply: "r1", N: 1, Index: 0, Call: "call_1", Label: "fetch", Target: "https://go.dev/doc/database/manage-connections", Why: "the official words on the pool", Status: "refused", Result: "not offered", Arguments: "{\n  \"url\": \"https://go.dev/doc/database/manage-connections\"\n}", Output: templates.Output{Head: "This tool was not offered."}},
						{Reply: "r1", N: 1, Index: 1, Call: "call_2", Label: "file_read", Target: "internal/store/pool.go", Status: "ok", Result: "82 lines", Duration: "0.3 s"},
					},
					Notes: []templates.Note{{Reply: "r1", N: 1, Key: "retry", Kind: "warn", Text: "The endpoint was busy (503): tried again after 2 s."}}},
				{Reply: "r1", N: 2, HTML: sampleText, Turns: []templates.Message{{ID: "m2", Text: "Keep it short, please."}}},
			},
			Metrics:  []templates.Metric{{Text: "~3,210 in · 412 out", Title: "estimated at four characters a token"}, {Text: "31 tok/s"}, {Text: "first word 0.6 s"}, {Text: "14.1 s"}, {Text: "12 % of context"}},
			Versions: &templates.Versions{Index: 2, Count: 3, Prev: "/chat/c1/messages/r1?version=1", Next: "/chat/c1/messages/r1?version=3"}},
		{Chat: "c1", ID: "m3", Role: "user", Status: "complete", Author: "You", Time: at("14:01"), Editable: true, Text: "And in Rust?"},
		{Chat: "c1", ID: "r3", Role: "assistant", Status: "failed", Author: "Qwen3 Coder", Time: at("14:01"), Again: true,
			Rounds: []templates.Round{{Reply: "r3", N: 1, HTML: "<p>With <code>sqlx</code> the same thing happens, only</p>"}},
			Error:  &templates.ReplyError{Title: "The endpoint cut the stream.", Detail: "What had arrived is kept. Retry asks again.", Provider: "upstream connect error or disconnect/reset before headers. reset reason: connection termination", Retry: true}},
		{Chat: "c1", ID: "m5", Role: "user", Status: "complete", Author: "You", Time: at("14:02"), Day: "Today", Editable: true, Text: "Go on."},
		{Chat: "c1", ID: "r5", Role: "assistant", Status: "stopped", Author: "Qwen3 Coder", Time: at("14:02"), Again: true, Notice: "Stopped by you.",
			Rounds: []templates.Round{{Reply: "r5", N: 1, HTML: "<p>In Rust the pool gives a guard,</p>"}}, Metrics: []templates.Metric{{Text: "40 out"}}},
		{Chat: "c1", ID: "r6", Role: "assistant", Status: "streaming", Author: "Qwen3 Coder", Time: at("14:03"), Waiting: "Asking Qwen3 Coder …",
			Rounds: []templates.Round{{Reply: "r6", N: 1, Think: &templates.Think{Reply: "r6", N: 1, Running: true, Summary: "Thinking: the guard is dropped at the end of the scope …"}}}},
	}
}

func sampleComposer(chat, state string) templates.Composer {
	act := "send"
	if state != "idle" {
		act = "stop"
	}
	return templates.Composer{
		Chat: chat, State: state, Placeholder: "Message Qwen3 Coder", Waiting: "Message, or answer the card above", Scope: sampleScope(chat), MaxLength: 200000, Send: templates.Send{Chat: chat, Act: act},
		Models: []templates.ModelOption{
			{ID: "x1", Title: "Qwen3 Coder", Connection: "Workshop", Badges: []string{"tools", "128k"}, Selected: true},
			{ID: "x2", Title: "Gemma 3 27B", Connection: "Workshop", Badges: []string{"vision", "32k"}},
			{ID: "x3", Title: "Old faithful", Connection: "Attic", Gone: true},
		},
		Efforts: []templates.Option{{Label: "not set"}, {Value: "off", Label: "off"}, {Value: "low", Label: "low"}, {Value: "medium", Label: "medium"}, {Value: "high", Label: "high", Selected: true}},
	}
}

func sampleChat() templates.Chat {
	return templates.Chat{
		Shell: sampleShell("chat", "Lifetimes of connections"), ID: "c1", Name: "Lifetimes of connections in Go’s sql package, and why the pool starved",
		Messages: templates.MessagePage{Chat: "c1", Older: "/chat/c1/messages?before=m1", Messages: sampleMessages()},
		Queue:    templates.Queue{Chat: "c1", Rows: []templates.QueueRow{{Chat: "c1", ID: "m7", Text: "Then write the test for it, table-driven."}, {Chat: "c1", ID: "m8", Text: "And a line for the changelog."}}},
		Composer: sampleComposer("c1", "running"), Status: templates.ChatStatus{Status: "streaming", Detail: "2 queued"},
		Meter:   templates.Meter{Known: true, Percent: 12, Text: "12 % of 131,072 tokens"},
		Exports: []templates.Option{{Value: "/api/v1/chats/c1/export?format=md", Label: "Markdown"}, {Value: "/api/v1/chats/c1/export?format=json", Label: "JSON"}, {Value: "/api/v1/chats/c1/export?format=jsonl", Label: "Events (JSONL)"}},
	}
}

func sampleNew() templates.NewChat {
	return templates.NewChat{
		Shell: sampleShell("new", ""), Greeting: "Good afternoon, Ann", Composer: sampleComposer("", "idle"),
		Suggestions: []templates.Suggestion{
			{Title: "Explain", Text: "Explain this error message and what to try first:"},
			{Title: "Review", Text: "Review this function for correctness and style:"},
			{Title: "Draft", Text: "Draft a short, friendly answer to this mail:"},
			{Title: "Plan", Text: "Plan the steps to move a service to another host."},
		},
	}
}

// samplePages is each page by a name for its picture: PAGE or PAGE-VARIANT.
func samplePages() map[string]any {
	noModel := sampleNew()
	noModel.NoModel, noModel.NoModelLink = "No model is enabled yet. Add an endpoint, and its models appear here.", "/admin/connections"
	noModel.Composer = templates.Composer{State: "idle", Placeholder: "Message", Send: templates.Send{Act: "send", Disabled: "No model is enabled yet."}}
	noModel.Sidebar = templates.SidebarTree{}
	emptyConnections := templates.Connections{Shell: sampleShell("connections", "Connections"), New: templates.ConnectionForm{Enabled: true}}
	idle := sampleChat()
	idle.Messages = templates.MessagePage{Chat: "c1", Messages: sampleMessages()[:2]}
	idle.Queue, idle.Composer, idle.Status = templates.Queue{Chat: "c1"}, sampleComposer("c1", "idle"), templates.ChatStatus{}
	pages := map[string]any{
		"new": sampleNew(), "new-empty": noModel, "chat": sampleChat(), "chat-idle": idle,
		"login":         templates.Login{Public: templates.Public{Title: "Sign in", Demo: true}, Email: "ann@example.org", Signup: true, Next: "/chat/c1", Errors: templates.Errors{"": "E-mail and password do not fit together."}},
		"register":      templates.Register{Public: templates.Public{Title: "Register"}, First: true, Name: "Ann", Errors: templates.Errors{"password": "At least 8 characters."}},
		"error-404":     templates.ErrorPage{Public: templates.Public{Title: "Not found"}, Status: 404, Detail: "There is no such page, or it is not yours.", Request: "01KB2M7Q"},
		"error-500":     templates.ErrorPage{Public: templates.Public{Title: "Something went wrong"}, Status: 500, Detail: "The error is in the log under this number.", Request: "01KB2M7Q"},
		"offline":       templates.Offline{Public: templates.Public{Title: "Offline"}},
		"waiting":       sampleWaiting(),
		"waiting-0":     templates.Waiting{Shell: sampleShell("waiting", "Waiting for you")},
		"chat-asking":   sampleAsking(),
		"settings":      sampleSettings(),
		"connections":   sampleConnections(),
		"connections-0": emptyConnections,
		"connection":    sampleConnection(),
		"models":        sampleModels(),
		"model":         sampleModel(),
		"tools":         sampleTools(),
		"tools-0":       templates.Tools{Shell: sampleShell("tools", "Tools"), List: templates.ToolList{Total: "0 tools"}},
		"tool":          sampleTool(),
		"tool-new":      sampleNewTool(),
		"servers":       sampleServers(),
		"servers-0":     templates.Servers{Shell: sampleShell("servers", "MCP servers")},
		"server":        sampleServer(),
		"search":        sampleSearch(),
		"search-0":      templates.Search{Shell: sampleShell("search", "Web search"), Edit: templates.SearchEdit{Try: templates.SearchTry{Off: "Choose a provider and save."}}},
		"audit":         sampleAudit(),
		"audit-0":       sampleAuditOf(templates.AuditList{Total: "0 entries"}),
		"audit-none":    sampleAuditOf(templates.AuditList{Total: "0 entries", Filtered: true}),
		"audit-wrong":   sampleAuditOf(templates.AuditList{Filtered: true, Error: "From: a date such as 2026-11-30."}),
		"users":         sampleUsers(),
		"instance":      sampleInstance(),
	}
	maps.Copy(pages, sampleToolChats())
	return pages
}
