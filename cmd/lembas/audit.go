package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"lembas/events"
	"lembas/projections"
	"lembas/web/api"
)

// auditList is the audit trail for API and pages. It waits for what the caller
// wrote.
type auditList struct{ *projections.Set }

func (l auditList) Audit(ctx context.Context, q projections.AuditQuery) ([]projections.AuditRow, string, error) {
	if err := awaitHead(ctx, l.Set); err != nil {
		return nil, "", err
	}
	return l.Set.Audit.List(ctx, q)
}

// Interactions is what waits, for the API.
func (l waitingList) Interactions(ctx context.Context, user string) ([]api.Interaction, error) {
	if err := awaitHead(ctx, l.Set); err != nil {
		return nil, err
	}
	cards, err := l.Consents.Waiting(ctx, user)
	out := make([]api.Interaction, 0, len(cards))
	for _, c := range cards {
		out = append(out, api.Interaction{Chat: c.Chat, Title: c.Title, Consent: c.Consent, Kind: c.Kind, Items: c.Items, Since: c.Since, Expires: c.Expires})
	}
	return out, err
}

// AuditCmd is the audit trail.
type AuditCmd struct {
	List AuditListCmd `cmd:"" help:"List who allowed and changed what, newest first: metadata, no content."`
}

// AuditListCmd lists rows of the trail.
type AuditListCmd struct {
	User    string `help:"Of this account, or done by it: its e-mail address or id." placeholder:"E"`
	Chat    string `help:"Only of this chat." placeholder:"ID"`
	Profile string `help:"Only on this SSH profile." placeholder:"ID"`
	Consent string `help:"Only what belongs to this card." placeholder:"ID"`
	Tool    string `help:"Only of this tool." placeholder:"NAME"`
	Verdict string `help:"allow, always, deny, expired or withdrawn."`
	Type    string `help:"Only types that match, such as 'consent.*'." placeholder:"GLOB"`
	From    string `help:"Not before this date or RFC 3339 time." placeholder:"T"`
	To      string `help:"Before this RFC 3339 time, or up to the end of this date." placeholder:"T"`
	Limit   int    `help:"At most this many rows; 0 is all." default:"100"`
	Format  string `help:"text or jsonl." default:"text" enum:"text,jsonl"`
}

// Run lists them.
func (c *AuditListCmd) Run(ctx context.Context, p *program, g *Globals) error {
	call := &auditListCall{Filters: map[string]string{"user": c.User, "chat": c.Chat, "profile": c.Profile, "consent": c.Consent,
		"tool": c.Tool, "verdict": c.Verdict, "type": c.Type, "from": c.From, "to": c.To}, Limit: c.Limit, Format: c.Format}
	q, err := call.query()
	if err == nil {
		err = q.Check()
	}
	var wrong *events.FieldError
	if errors.As(err, &wrong) {
		return &usageError{fmt.Sprintf("--%s: %s", wrong.Field, wrong.Detail)}
	}
	if err == nil && c.Limit < 0 {
		err = &usageError{"--limit is a number of rows, 0 for all"}
	}
	if err != nil {
		return err
	}
	return perform(ctx, p, g, call, false)
}

type auditListCall struct {
	Filters map[string]string
	Limit   int
	Format  string
}

func (*auditListCall) name() string { return "audit-list" }

func (c *auditListCall) query() (projections.AuditQuery, error) {
	v := url.Values{}
	for name, value := range c.Filters {
		v.Set(name, value)
	}
	return api.AuditQuery(v)
}

func (c *auditListCall) run(ctx context.Context, a *app, out io.Writer) error {
	q, err := c.query()
	if err != nil {
		return err
	}
	if strings.Contains(q.User, "@") {
		u, err := a.service.UserByEmail(ctx, q.User)
		if err != nil {
			return explain("account", err)
		}
		q.User = u.ID
	}
	trail := projections.NewAudit(a.log)
	if !a.serving { // nobody else keeps the rows up
		runner, err := projections.NewRunner(a.log, trail)
		if err == nil {
			err = runner.CatchUp(ctx)
		}
		if err != nil {
			return err
		}
	}
	w := newAuditWriter(ctx, a, out, c.Format)
	if err := eachAudit(ctx, trail, q, c.Limit, w.row); err != nil {
		return err
	}
	return w.close()
}

// eachAudit gives rows, page by page, at most limit unless that is 0.
func eachAudit(ctx context.Context, trail *projections.Audit, q projections.AuditQuery, limit int, give func(*projections.AuditRow) error) error {
	for n := 0; ; {
		q.Limit = 500
		if limit > 0 {
			q.Limit = min(q.Limit, limit-n)
		}
		rows, next, err := trail.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := give(&rows[i]); err != nil {
				return err
			}
		}
		if n += len(rows); next == "" || (limit > 0 && n >= limit) {
			return nil
		}
		q.Cursor = next
	}
}

// auditWriter writes rows as a table or as JSON lines.
type auditWriter struct {
	ctx    context.Context
	app    *app
	table  *tabwriter.Writer // nil: JSON lines
	json   *json.Encoder
	people map[string]string // addresses by id
}

func newAuditWriter(ctx context.Context, a *app, out io.Writer, format string) *auditWriter {
	w := &auditWriter{ctx: ctx, app: a, people: map[string]string{}}
	if format == "jsonl" {
		w.json = json.NewEncoder(out)
		return w
	}
	w.table = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w.table, "TIME\tTYPE\tBY\tCHAT\tTOOL\tVERDICT\tSTATUS\tMODE\tABOUT")
	return w
}

func (w *auditWriter) row(r *projections.AuditRow) error {
	if w.json != nil {
		return w.json.Encode(r)
	}
	tool, verdict := onCard(r)
	columns := []string{r.Time.UTC().Format(time.RFC3339), r.Type, w.who(r.Actor), r.Chat, tool, verdict, r.Status, r.Mode,
		strings.TrimSpace(r.Subject + " " + r.Detail + " " + r.Pattern)}
	for i, c := range columns {
		if columns[i] = printable(c); columns[i] == "" {
			columns[i] = "-"
		}
	}
	_, err := fmt.Fprintln(w.table, strings.Join(columns, "\t"))
	return err
}

// onCard gives the tools and verdicts of a row, of several items in their order.
func onCard(r *projections.AuditRow) (tools, verdicts string) {
	said := func(verdict string, edited bool) string {
		if edited {
			return strings.TrimSpace(verdict + " edited")
		}
		return verdict
	}
	if len(r.Items) == 0 {
		return r.Tool, said(r.Verdict, r.Edited)
	}
	var names, words []string
	for _, x := range r.Items {
		names = append(names, x.Tool)
		if x.Verdict != "" {
			words = append(words, said(x.Verdict, x.Edited))
		}
	}
	return strings.Join(names, ", "), strings.Join(words, ", ")
}

// who is a person's address, or else what acted.
func (w *auditWriter) who(a projections.AuditActor) string {
	if a.Kind != events.Person {
		return a.Kind
	}
	if _, known := w.people[a.ID]; !known {
		w.people[a.ID] = a.ID
		if u, err := w.app.service.User(w.ctx, a.ID); err == nil {
			w.people[a.ID] = u.Email
		}
	}
	return w.people[a.ID]
}

func (w *auditWriter) close() error {
	if w.table == nil {
		return nil
	}
	return w.table.Flush()
}
