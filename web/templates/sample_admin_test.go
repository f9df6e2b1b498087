package templates_test

import "lembas/web/templates"

func sampleSettings() templates.Settings {
	return templates.Settings{
		Shell:       sampleShell("settings", "Settings"),
		Preferences: templates.Preferences{Models: []templates.Option{{Label: "The instance’s default"}, {Value: "x1", Label: "Qwen3 Coder", Selected: true}}, Follow: true, Shortcuts: true, Saved: "Saved."},
		Password:    templates.PasswordForm{Email: "ann@example.org", Errors: templates.Errors{"current": "That is not your present password."}},
		Push: templates.Push{This: "p1", Items: []templates.PushBrowser{
			{ID: "p1", Device: "Firefox on Linux", Host: "updates.push.services.mozilla.com", Since: at("3 March"), This: true},
			{ID: "p2", Device: "Chrome on Android", Host: "fcm.googleapis.com", Since: at("1 March")},
		}},
		Sessions: templates.Sessions{Items: []templates.Session{
			{ID: "s1", Device: "Firefox on Linux", Address: "192.0.2.7", Since: at("3 March"), Current: true},
			{ID: "s2", Device: "Safari on iPhone", Address: "2001:db8::17", Since: at("1 March")},
		}},
		Tokens: templates.Tokens{
			New:    &templates.NewToken{Name: "backup script", Secret: "lembas_9f2c41d87a6b5e30c2f1a4d9e8b7c6a5f4e3d2c1b0a99887"},
			Items:  []templates.Token{{ID: "t1", Name: "backup script", Scope: "read", Created: at("today"), Expires: at("1 June")}, {ID: "t2", Name: "old laptop", Scope: "write", Created: at("2 May"), Expires: at("2 June"), Expired: true}},
			Scopes: []templates.Option{{Value: "read", Label: "read"}, {Value: "write", Label: "write"}, {Value: "admin", Label: "admin"}},
			Spans:  []templates.Option{{Value: "30", Label: "30 days"}, {Value: "90", Label: "90 days"}, {Label: "for ever"}},
		},
	}
}

func sampleConnections() templates.Connections {
	return templates.Connections{
		Shell: sampleShell("connections", "Connections"),
		List: templates.ConnectionList{Items: []templates.ConnectionRow{
			{ID: "k1", Name: "Workshop", BaseURL: "http://127.0.0.1:8081/v1", Enabled: true, Models: 3, Demo: true, Health: templates.Health{State: "ok", Text: "reachable", Time: at("14:02")}},
			{ID: "k2", Name: "Attic", BaseURL: "https://attic.example.org/openai/v1", Key: "••••9f2c", Enabled: true, Models: 12, Health: templates.Health{State: "failed", Text: "refused the key (401)", Time: at("13:40")}},
			{ID: "k3", Name: "Cellar", BaseURL: "https://cellar.example.org/v1", Key: "••••77aa", Models: 1, Health: templates.Health{State: "off", Text: "switched off"}},
		}},
		New: templates.ConnectionForm{Name: "Tower", BaseURL: "ftp://tower.example.org", Enabled: true, Errors: templates.Errors{"base_url": "Only http and https addresses."}},
	}
}

func sampleRows() []templates.ModelRow {
	return []templates.ModelRow{
		{ID: "x1", Title: "Qwen3 Coder", Name: "qwen3-coder-30b-a3b-instruct", Connection: "Workshop", Enabled: true, Default: true, Badges: []string{"tools", "128k"}, Down: "x3", CanDown: true},
		{ID: "x2", Title: "Gemma 3 27B", Name: "gemma-3-27b-it", Connection: "Workshop", Enabled: true, Badges: []string{"vision", "32k"}, Up: "x1", CanUp: true, CanDown: true},
		{ID: "x3", Title: "Old faithful", Name: "old-faithful-7b", Connection: "Attic", Gone: true, Up: "x2", CanUp: true},
	}
}

func sampleConnection() templates.Connection {
	return templates.Connection{
		Shell:  sampleShell("connections", "Attic"),
		Form:   templates.ConnectionForm{ID: "k2", Name: "Attic", BaseURL: "https://attic.example.org/openai/v1", Key: "••••9f2c", Enabled: true, Saved: "Saved."},
		Health: templates.ConnectionHealth{ID: "k2", Health: templates.Health{State: "failed", Text: "refused the key (401)", Detail: "Incorrect API key provided: ••••9f2c.", Time: at("13:40")}},
		Models: templates.ConnectionModels{ID: "k2", Items: sampleRows(), Result: "1 new, 1 gone"},
	}
}

func sampleModels() templates.Models {
	return templates.Models{
		Shell:       sampleShell("models", "Models"),
		Connections: []templates.Option{{Label: "All connections"}, {Value: "k1", Label: "Workshop"}},
		States:      []templates.Option{{Label: "All"}, {Value: "enabled", Label: "Enabled"}, {Value: "disabled", Label: "Disabled"}},
		List:        templates.ModelList{Items: sampleRows(), Total: "3 models", Next: "/admin/models?cursor=3"},
	}
}

func sampleModel() templates.Model {
	return templates.Model{
		Shell: sampleShell("models", "Qwen3 Coder"), Name: "qwen3-coder-30b-a3b-instruct", Connection: templates.Option{Value: "k1", Label: "Workshop"},
		Form: templates.ModelForm{
			ID: "x1", Name: "qwen3-coder-30b-a3b-instruct", Title: "Qwen3 Coder", Enabled: true, Default: true, Tools: true, Position: "1 of 3", ContextLength: "131072",
			Efforts: []templates.Option{{Label: "not set"}, {Value: "high", Label: "high", Selected: true}},
			Params: []templates.Param{
				{Key: "temperature", Label: "Temperature", Value: "0.7", Hint: "0 to 2", Step: "0.05", Min: "0", Max: "2"},
				{Key: "top_p", Label: "Top p", Hint: "0 to 1", Step: "0.05", Min: "0", Max: "1"},
				{Key: "max_tokens", Label: "Max tokens", Hint: "1 and up", Step: "1", Min: "1"},
				{Key: "presence_penalty", Label: "Presence penalty", Hint: "-2 to 2", Step: "0.1", Min: "-2", Max: "2"},
			},
			Flags: []templates.Flag{
				{Key: "tool_web_search", Label: "Web search", Icon: "search", Options: []templates.Option{{Label: "inherited", Selected: true}, {Value: "true", Label: "on"}, {Value: "false", Label: "off"}}},
				{Key: "tool_fetch", Label: "Read web pages", Icon: "globe", Options: []templates.Option{{Label: "inherited"}, {Value: "true", Label: "on"}, {Value: "false", Label: "off", Selected: true}}},
			},
			SystemPrompt: "Answer briefly. Say when you do not know.",
			Errors:       templates.Errors{"params.temperature": "Between 0 and 2."},
		},
	}
}

func sampleUsers() templates.Users {
	return templates.Users{
		Shell: sampleShell("users", "People"),
		List: templates.UserList{Total: "3 people", Items: []templates.UserRow{
			{ID: "u1", Name: "Ann Harrow", Email: "ann@example.org", Initial: "A", Admin: true, Self: true, Since: at("1 January")},
			{ID: "u2", Name: "Bo Tanner", Email: "bo@example.org", Initial: "B", Since: at("4 January")},
			{ID: "u3", Name: "Cal Miller", Email: "cal.miller.with.a.long.address@department.example.org", Initial: "C", Disabled: true, Since: at("9 February")},
		}},
		New: templates.UserForm{},
	}
}

func sampleInstance() templates.Instance {
	return templates.Instance{
		Shell: sampleShell("instance", "Instance"),
		Form: templates.InstanceForm{
			Groups: []templates.SettingGroup{
				{Title: "Accounts", Settings: []templates.Setting{{Key: "signup", Label: "Sign-up", Help: "Anybody who reaches the page can make an account.", Kind: "switch", Value: "true", Default: "on"}}},
				{Title: "Asking first", Settings: []templates.Setting{{Key: "tools.ask", Label: "A card asks before tools that", Help: "The reply stops.", Kind: "checks",
					Options: []templates.Option{{Value: "read", Label: "read: only look"}, {Value: "write", Label: "write: change something", Selected: true}}}}},
				{Title: "Limits", Settings: []templates.Setting{
					{Key: "limits.stream_idle", Label: "Silence of an endpoint", Help: "A stream without a byte for this long is given up.", Kind: "number", Value: "120", Unit: "s", Default: "120 s", Min: "1"},
					{Key: "limits.rounds", Label: "Rounds of a reply", Help: "0 is no limit but the backstop.", Kind: "number", Value: "-1", Default: "0", Min: "0"},
					{Key: "limits.gather_ms", Label: "Gathering", Help: "How long deltas are collected before they are written down.", Kind: "number", Value: "40", Unit: "ms", Default: "40 ms", Min: "0"},
				}},
			},
			Errors: templates.Errors{"limits.rounds": "0 or more."},
		},
	}
}
