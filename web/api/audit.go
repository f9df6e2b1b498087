package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/projections"
	"lembas/web/request"
)

// Audit reads the audit trail.
type Audit interface {
	// Audit gives one page, the newest first, with what the caller wrote before,
	// and the cursor of the next, "" at the end.
	Audit(ctx context.Context, q projections.AuditQuery) (rows []projections.AuditRow, next string, err error)
}

// auditFilters are the members of a query that narrow the trail.
const auditFilters = "user chat profile consent tool verdict type from to"

// maxFilter bounds the value of one filter, in bytes.
const maxFilter = 500

// AuditTrail lists what ran, who allowed it, and who changed what: metadata
// only. An administrator sees all people's, everybody else the rows of their own
// chats and account.
func (a *API) AuditTrail(w http.ResponseWriter, r *http.Request) error {
	q, err := AuditQuery(r.URL.Query())
	if err == nil {
		q.Limit, err = limit(r, DefaultLimit)
	}
	if err == nil {
		q, err = AuditFor(r, a.Service, q)
	}
	if err != nil {
		return err
	}
	rows, next, err := a.Audit.Audit(r.Context(), q)
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, listOf(rows, next))
}

// AuditFor narrows a query to what the caller may see, and finds whose e-mail
// address its user is.
func AuditFor(r *http.Request, s *commands.Service, q projections.AuditQuery) (projections.AuditQuery, error) {
	who, all := AuditReader(r)
	if !all {
		q.Owner = who.User.ID
	}
	if !strings.Contains(q.User, "@") {
		return q, nil
	}
	u, err := s.UserByEmail(r.Context(), q.User)
	switch {
	case err == nil && (all || u.ID == who.User.ID):
		q.User = u.ID
	case err != nil && !errors.Is(err, events.ErrNotFound) && !errors.Is(err, events.ErrInvalid):
		return q, err
	case all:
		return q, events.Invalid("user", "nobody has this address")
	}
	return q, nil // whether others have an address is not told
}

// AuditReader says who reads, and whether they see all people's rows.
func AuditReader(r *http.Request) (who commands.Identity, all bool) {
	who, _ = request.Identity(r.Context())
	return who, who.User.Admin && (who.Token == "" || who.Scope == events.ScopeAdmin)
}

// AuditQuery reads the filters of a query: user (an id or an e-mail address),
// chat, profile, consent, tool, verdict, type (with *), from and to, and the
// cursor. Times are RFC 3339, or a date, in UTC; a date as to means its whole
// day. A filter that is not known is refused: without it the answer would say
// too much.
func AuditQuery(v url.Values) (projections.AuditQuery, error) {
	known := append(strings.Fields(auditFilters), "limit", "cursor")
	for name, values := range v {
		switch {
		case !slices.Contains(known, name):
			return projections.AuditQuery{}, events.Invalid(clipped(name), "is no filter; there are %s", strings.Join(known, ", "))
		case len(values) > 1:
			return projections.AuditQuery{}, events.Invalid(name, "is there twice")
		case len(values[0]) > maxFilter:
			return projections.AuditQuery{}, events.Invalid(name, "at most %d bytes", maxFilter)
		}
	}
	q := projections.AuditQuery{User: v.Get("user"), Chat: v.Get("chat"), Profile: v.Get("profile"), Consent: v.Get("consent"),
		Tool: v.Get("tool"), Verdict: v.Get("verdict"), Type: v.Get("type"), Cursor: v.Get("cursor")}
	var err error
	if q.From, err = moment("from", v.Get("from"), 0); err != nil {
		return q, err
	}
	q.To, err = moment("to", v.Get("to"), 24*time.Hour)
	return q, err
}

// moment reads a time; to a date it adds what of the day is meant.
func moment(field, s string, day time.Duration) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.Add(day), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, events.Invalid(field, "a date such as 2026-11-30, or a time such as 2026-11-30T14:00:00Z")
}

// clipped is a name from outside, at most 100 bytes of it.
func clipped(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
