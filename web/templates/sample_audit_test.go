package templates_test

import "lembas/web/templates"

func sampleAudit() templates.Audit {
	facts := []templates.AuditFact{{Name: "Mode", Value: "manual"}, {Name: "Address", Value: "192.0.2.7"}, {Name: "Event", Value: "consent.answered at 812", Code: true},
		{Name: "Arguments of shell_run, SHA-256", Value: "9f2c41d87a6b5e30c2f1a4d9e8b7c6a5f4e3d2c1b0a998879f2c41d87a6b5e30", Code: true}}
	links := []templates.Option{{Value: "/audit?consent=k1", Label: "From the question to the result"}, {Value: "/chat/c1", Label: "Open the chat"}, {Value: "/audit?chat=c1", Label: "Only this chat"}}
	return templates.Audit{
		Shell: sampleShell("audit", "Audit"), All: true,
		Form: templates.AuditForm{All: true, Tool: "fetch", Chat: "01KB2M7QZX6T3V9D5N8R1W4Y0A", Consent: "01KB2M7QZX6T3V9D5N8R1W4Y0B", User: "bob@example.org", From: "2026-03-01",
			Types: []templates.Option{{Label: "Everything"}, {Value: "consent.*", Label: "Approvals", Selected: true}}, Verdicts: []templates.Option{{Label: "Any"}, {Value: "deny", Label: "denied"}}},
		List: templates.AuditList{Total: "6 entries", Filtered: true, Next: "/audit?cursor=700", Short: true, Days: []templates.AuditDay{
			{Label: "Tuesday, 3 March 2026", Rows: []templates.AuditRow{
				{Position: "815", Type: "tool.finished", Time: at("14:03"), Icon: "tool", What: "Tool finished", Who: "Qwen3 Coder", Whose: "in a chat of Bob", Outcomes: []templates.AuditOutcome{{Tool: "shell_run", Status: "ok", Edited: true}}, Facts: facts},
				{Position: "814", Type: "tool.interrupted", Time: at("14:03"), Icon: "cut", What: "Tool cut off", Who: "LLeMbas", Outcomes: []templates.AuditOutcome{{Tool: "mcp_everything_with_a_long_name_of_a_tool", State: "interrupted", Icon: "cut", Word: "outcome unknown"}}, Facts: facts},
				{Position: "812", Type: "consent.answered", Time: at("14:02"), Icon: "check", What: "Answered", Who: "you", Mode: "manual", Facts: facts, Links: links, Outcomes: []templates.AuditOutcome{
					{Tool: "shell_run", State: "ok", Icon: "check", Word: "allowed", Edited: true}, {Tool: "fetch", State: "ok", Icon: "check", Word: "always allowed", Pattern: "fetch"}, {Tool: "notes_add", State: "denied", Icon: "ban", Word: "denied"}}},
				{Position: "811", Type: "consent.requested", Time: at("14:01"), Icon: "hand", What: "Asked", About: "for permission", Who: "Qwen3 Coder", Whose: "in a chat of Bob", Mode: "manual", Facts: facts, Links: links,
					Outcomes: []templates.AuditOutcome{{Tool: "shell_run"}, {Tool: "fetch"}, {Tool: "notes_add"}}},
			}},
			{Label: "Monday, 2 March 2026", Rows: []templates.AuditRow{
				{Position: "702", Type: "setting.changed", Time: at("09:12"), Icon: "gear", What: "Setting changed", About: `tools.ask is now ["write","execute"]`, Who: "Ann", Facts: facts},
				{Position: "701", Type: "user.sign_in_failed", Time: at("09:10"), Icon: "alert", What: "Wrong password", Who: "LLeMbas", Whose: "about the account of Bob", Facts: facts, Erased: true},
			}},
		}},
	}
}

func sampleAuditOf(list templates.AuditList) templates.Audit {
	return templates.Audit{Shell: sampleShell("audit", "Audit"), List: list,
		Form: templates.AuditForm{Types: []templates.Option{{Label: "Everything"}}, Verdicts: []templates.Option{{Label: "Any"}}, Errors: templates.Errors{"from": "a date"}}}
}
