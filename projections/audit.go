package projections

import (
	"context"
	"strings"
	"time"

	"lembas/events"
	"lembas/events/store"
)

// AuditRow is one event of the audit trail, as metadata: who, when, where,
// which tool, which verdict, sizes and hashes. It never has what a tool was
// given or gave, a reason, a question or a title, so that reading it is not
// reading somebody's chat.
type AuditRow struct {
	Position    events.Position `json:"position"`
	Time        time.Time       `json:"time"`
	Type        string          `json:"type"`
	Actor       AuditActor      `json:"actor"`
	Correlation string          `json:"correlation,omitempty"`
	// User is whose chat or account it is about, "" for the instance's own.
	User    string `json:"user,omitempty"`
	Chat    string `json:"chat,omitempty"`
	Profile string `json:"profile,omitempty"`
	Reply   string `json:"reply,omitempty"`
	// Consent is the card that it belongs to: of a tool's event the one that its
	// call was on.
	Consent string `json:"consent,omitempty"`
	Kind    string `json:"kind,omitempty"` // of the card: approval, question or plan
	Call    string `json:"call,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Risk    string `json:"risk,omitempty"`
	Mode    string `json:"mode,omitempty"` // in force, or moved to
	// Verdict is allow, always, deny, expired or withdrawn; "mixed" when the items
	// have several.
	Verdict string `json:"verdict,omitempty"`
	Edited  bool   `json:"edited,omitempty"`
	Status  string `json:"status,omitempty"` // what a call came to
	// Items are what a card asks about, or the word on each.
	Items   []AuditItem `json:"items,omitempty"`
	Address string      `json:"address,omitempty"`
	Session string      `json:"session,omitempty"`
	Token   string      `json:"token,omitempty"` // the id of the API token it came with
	// Arguments is hex SHA-256 of the arguments as canonical JSON (RFC 8785), of
	// those that ran; Output that of the whole output.
	Arguments string `json:"arguments_sha256,omitempty"`
	Output    string `json:"output_sha256,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"`
	Exit      *int   `json:"exit,omitempty"`
	MS        int64  `json:"ms,omitempty"`
	// Pattern is what a chat now lets through: the pattern when it is a tool's
	// name, else only its hash, because it is a command.
	Pattern     string `json:"pattern,omitempty"`
	PatternHash string `json:"pattern_sha256,omitempty"`
	// Subject is the id (of a setting the key) of what an account's or an
	// administrator's change is about, Detail what changed, in our own words.
	Subject string `json:"subject,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// Erased says that the chat was deleted: who, when and what kind remain.
	Erased bool `json:"erased,omitempty"`
}

// AuditActor is who did it.
type AuditActor struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// AuditItem is one item of a card.
type AuditItem struct {
	Key         string `json:"key"`
	Call        string `json:"call"`
	Tool        string `json:"tool"`
	Risk        string `json:"risk,omitempty"`
	Verdict     string `json:"verdict,omitempty"`
	Edited      bool   `json:"edited,omitempty"`
	Arguments   string `json:"arguments_sha256,omitempty"`
	Pattern     string `json:"pattern,omitempty"`
	PatternHash string `json:"pattern_sha256,omitempty"`
}

// The verdicts of rows besides those of an answer.
const (
	AuditExpired   = "expired"
	AuditWithdrawn = "withdrawn"
	AuditMixed     = "mixed"
)

// Audit is the audit trail: what ran where, who allowed it, under which mode,
// was it edited, what came back; and logins, accounts and the administrator's
// changes.
type Audit struct{ ks *store.Keyspace }

// NewAudit is the trail over a log; a Runner keeps it up.
func NewAudit(st *store.Store) *Audit { return &Audit{keyspace(st, Audit{}.Name())} }

// Name implements Projection.
func (Audit) Name() string { return "audit" }

// Version implements Projection.
func (Audit) Version() int { return 2 }

// Types implements Projection: those that are rows, and those that rows need.
func (Audit) Types() []string { return append(AuditTypes(), "tool.called", "reply.finished") }

// AuditTypes are the event types that are in the trail.
func AuditTypes() []string {
	return []string{
		"consent.requested", "consent.answered", "consent.expired", "consent.withdrawn",
		"tool.started", "tool.finished", "tool.interrupted",
		"chat.created", "chat.deleted", "chat.imported", "chat.forked",
		"chat.mode_changed", "chat.scope_changed", "chat.allow_added", "chat.allow_cleared",
		"user.registered", "user.changed", "user.signed_in", "user.sign_in_failed", "user.password_changed",
		"session.opened", "session.revoked", "token.created", "token.revoked", "push.subscribed", "push.unsubscribed",
		"connection.created", "connection.changed", "connection.removed", "model.changed", "setting.changed",
		"tool.added", "tool.changed", "tool.removed", "search.changed",
		"server.added", "server.changed", "server.listed", "server.reviewed", "server.removed",
		"instance.created", "log.restored",
	}
}

// auditChat is what rows need to know of their chat. A deleted one stays, so
// that what comes late is told apart.
type auditChat struct {
	Owner   string `json:"owner"`
	Profile string `json:"profile,omitempty"`
	Mode    string `json:"mode,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
}

// Apply implements Projection.
func (Audit) Apply(_ context.Context, tx *Tx, e *events.Envelope, p events.Payload) error {
	row := AuditRow{Position: e.Position, Time: e.Time, Type: e.Type, Actor: AuditActor{e.Actor.Kind, e.Actor.ID}, Correlation: e.Correlation}
	if user, ok := strings.CutPrefix(e.Stream, "user/"); ok {
		row.User = user
		row.account(p)
		return putAudit(tx, &row)
	}
	chat, ok := strings.CutPrefix(e.Stream, "chat/")
	if !ok {
		row.instance(p)
		return putAudit(tx, &row)
	}
	row.Chat = chat
	return applyAuditChat(tx, &row, e, p)
}

// applyAuditChat adds the row of an event of a chat.
func applyAuditChat(tx *Tx, row *AuditRow, e *events.Envelope, p events.Payload) error {
	var of auditChat
	if _, err := getJSON(tx, chatKey(row.Chat), &of); err != nil {
		return err
	}
	if changed := of.apply(e, p); changed {
		if err := setJSON(tx, chatKey(row.Chat), of); err != nil {
			return err
		}
	}
	row.User, row.Profile, row.Mode = of.Owner, of.Profile, of.Mode
	switch {
	case e.Type == "chat.deleted":
		if err := forgetChat(tx, row.Chat); err != nil {
			return err
		}
		return putAudit(tx, row.remains())
	case of.Deleted:
		return putAudit(tx, row.remains())
	}
	calls := auditCalls{tx: tx, chat: row.Chat}
	switch p := p.(type) {
	case events.ToolCalled:
		return calls.called(p)
	case events.ReplyFinished:
		return calls.forget(p.Reply)
	case events.Erased, events.Unknown:
	default:
		if err := row.chat(calls, p); err != nil {
			return err
		}
	}
	if e.Type == "tool.called" || e.Type == "reply.finished" { // what erasure left of them
		return nil
	}
	return putAudit(tx, row)
}

// apply keeps whose a chat is. Of erased events the envelope says it: a person
// makes and imports chats for themselves.
func (c *auditChat) apply(e *events.Envelope, p events.Payload) (changed bool) {
	_, erased := p.(events.Erased)
	switch {
	case e.Type == "chat.deleted":
		c.Deleted, c.Profile, c.Mode = true, "", ""
		return true
	case erased && (e.Type == "chat.created" || e.Type == "chat.imported") && e.Actor.Kind == events.Person:
		c.Owner = e.Actor.ID
		return true
	}
	switch p := p.(type) {
	case events.ChatCreated:
		c.Owner, c.Profile, c.Mode = p.Owner, p.Profile, p.Mode
	case events.ChatImported:
		c.Owner = p.Owner
	case events.ChatModeChanged:
		c.Mode = p.To
	default:
		return false
	}
	return true
}

// remains is what stays of the row of a deleted chat (EV-10).
func (r *AuditRow) remains() *AuditRow {
	return &AuditRow{Position: r.Position, Time: r.Time, Type: r.Type, Actor: r.Actor, Correlation: r.Correlation,
		User: r.User, Chat: r.Chat, Erased: true}
}
