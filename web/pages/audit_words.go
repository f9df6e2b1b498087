package pages

import (
	"cmp"
	"fmt"
	"strconv"

	"lembas/events"
	"lembas/projections"
	"lembas/web/templates"
)

// auditWord is how an entry of a type is shown.
type auditWord struct{ icon, what string }

var auditWords = map[string]auditWord{
	"consent.requested": {"hand", "Asked"}, "consent.answered": {"check", "Answered"},
	"consent.expired": {"clock", "Not answered in time"}, "consent.withdrawn": {"square", "Card withdrawn"},
	"tool.started": {"run", "Tool started"}, "tool.finished": {"tool", "Tool finished"}, "tool.interrupted": {"cut", "Tool cut off"},
	"chat.created": {"plus", "Chat begun"}, "chat.deleted": {"trash", "Chat deleted"}, "chat.imported": {"down-load", "Chat imported"}, "chat.forked": {"copy", "Chat copied"},
	"chat.mode_changed": {"gear", "Mode changed"}, "chat.scope_changed": {"tool", "Tools of the chat changed"},
	"chat.allow_added": {"check", "Always allowed from here on"}, "chat.allow_cleared": {"ban", "Nothing is always allowed any more"},
	"user.registered": {"users", "Account made"}, "user.changed": {"users", "Account changed"}, "user.signed_in": {"key", "Signed in"},
	"user.sign_in_failed": {"alert", "Wrong password"}, "user.password_changed": {"key", "Password changed"},
	"session.opened": {"key", "Session begun"}, "session.revoked": {"leave", "Session ended"},
	"token.created": {"key", "API token made"}, "token.revoked": {"ban", "API token ended"},
	"push.subscribed": {"info", "Notifications switched on"}, "push.unsubscribed": {"info", "Notifications switched off"},
	"connection.created": {"plug", "Connection added"}, "connection.changed": {"plug", "Connection changed"}, "connection.removed": {"plug", "Connection removed"},
	"model.changed": {"model", "Model changed"}, "setting.changed": {"gear", "Setting changed"}, "search.changed": {"globe", "Web search changed"},
	"tool.added": {"tool", "Tool added"}, "tool.changed": {"tool", "Tool changed"}, "tool.removed": {"tool", "Tool removed"},
	"server.added": {"server", "MCP server added"}, "server.changed": {"server", "MCP server changed"}, "server.removed": {"server", "MCP server removed"},
	"server.listed": {"server", "Tools of an MCP server read"}, "server.reviewed": {"server", "Tools of an MCP server looked at"},
	"instance.created": {"dot", "Instance made"}, "log.restored": {"again", "Restored from a copy"},
}

// verdictWords are the words on an item, with the status that they are coloured
// as.
var verdictWords = map[string]struct{ state, icon, word string }{
	events.VerdictAllow:        {"ok", "check", "allowed"},
	events.VerdictAlways:       {"ok", "check", "always allowed"},
	events.VerdictDeny:         {"denied", "ban", "denied"},
	projections.AuditExpired:   {"expired", "clock", "not answered"},
	projections.AuditWithdrawn: {"stopped", "square", "withdrawn"},
}

// outcomes are the tools of an entry with what came of each.
func outcomes(r *projections.AuditRow) (out []templates.AuditOutcome) {
	one := templates.AuditOutcome{Tool: r.Tool, Status: r.Status, Edited: r.Edited}
	switch r.Type {
	case "tool.started":
		one.Icon, one.Word = "run", "started"
	case "tool.interrupted":
		one.State, one.Icon, one.Word = "interrupted", "cut", "outcome unknown"
	}
	for _, x := range r.Items {
		v := verdictWords[x.Verdict]
		out = append(out, templates.AuditOutcome{Tool: x.Tool, State: v.state, Icon: v.icon, Word: v.word, Edited: x.Edited, Pattern: cmp.Or(x.Pattern, x.PatternHash)})
	}
	if len(out) == 0 && (one.Tool != "" || one.Status != "" || one.Word != "") {
		out = append(out, one)
	}
	return out
}

// about is what changed, or what kind of card it is.
func about(r *projections.AuditRow) string {
	switch {
	case r.Kind == events.ConsentQuestion:
		return "questions"
	case r.Kind == events.ConsentPlan:
		return "a plan"
	case r.Type == "consent.requested":
		return "for permission"
	case r.Kind != "":
		return r.Detail
	case r.Type == "setting.changed":
		return r.Subject + " is now " + r.Detail
	case r.Type == "chat.created":
		return ""
	case r.Pattern != "":
		return r.Pattern
	}
	return r.Detail
}

// facts are the details of an entry, those that it has.
func facts(r *projections.AuditRow) (out []templates.AuditFact) {
	add := func(name, value string, code bool) {
		if value != "" && value != "0" {
			out = append(out, templates.AuditFact{Name: name, Value: value, Code: code})
		}
	}
	add("Mode", r.Mode, false)
	add("Risk", r.Risk, false)
	add("Address", r.Address, false)
	if r.Exit != nil {
		out = append(out, templates.AuditFact{Name: "Exit status", Value: strconv.Itoa(*r.Exit)})
	}
	if r.Status != "" {
		add("Output", fmt.Sprintf("%d bytes in %d ms", r.Bytes, r.MS), false)
	}
	add("Event", r.Type+" at "+strconv.FormatUint(uint64(r.Position), 10), true)
	for _, f := range []struct{ name, value string }{{"About", r.Subject}, {"Profile", r.Profile}, {"Chat", r.Chat}, {"Card", r.Consent}, {"Call", r.Call}, {"Session", r.Session}, {"Token", r.Token},
		{"Request", r.Correlation}, {"Arguments, SHA-256", r.Arguments}, {"Output, SHA-256", r.Output}, {"Pattern, SHA-256", r.PatternHash}} {
		add(f.name, f.value, true)
	}
	for _, x := range r.Items {
		if len(r.Items) > 1 {
			add("Arguments of "+cmp.Or(x.Tool, x.Key)+", SHA-256", x.Arguments, true)
		}
		add("Always allowed: "+cmp.Or(x.Tool, x.Key), cmp.Or(x.Pattern, x.PatternHash), true)
	}
	return out
}
