package projections

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"path"
	"slices"
	"strconv"
	"time"

	"lembas/events"
)

// Keys: "e"^POSITION is a row, so that the newest comes first. An index has a
// kind, a value, 0 and ^POSITION; its value is the row's type. "b"^BLOCK is the
// span of time of a block of positions: times may go back between streams.
const (
	byUser    = 'u' // whose it is, and who did it
	byChat    = 'h'
	byType    = 't'
	byConsent = 'x'
)

func auditKey(at events.Position) []byte {
	return binary.BigEndian.AppendUint64([]byte("e"), ^uint64(at))
}

func auditIndex(kind byte, value string, at events.Position) []byte {
	return binary.BigEndian.AppendUint64(ownerPrefix(kind, value), ^uint64(at))
}

// auditPosition is the position at the end of a key.
func auditPosition(key []byte) events.Position {
	return events.Position(^binary.BigEndian.Uint64(key[len(key)-8:]))
}

func putAudit(tx *Tx, row *AuditRow) error {
	typ := []byte(row.Type)
	if row.User != "" {
		tx.Set(auditIndex(byUser, row.User, row.Position), typ)
	}
	if row.Actor.Kind == events.Person && row.Actor.ID != row.User {
		tx.Set(auditIndex(byUser, row.Actor.ID, row.Position), typ)
	}
	if row.Chat != "" {
		tx.Set(auditIndex(byChat, row.Chat, row.Position), typ)
	}
	if row.Consent != "" {
		tx.Set(auditIndex(byConsent, row.Consent, row.Position), typ)
	}
	tx.Set(auditIndex(byType, row.Type, row.Position), typ)
	if err := widenBlock(tx, row); err != nil {
		return err
	}
	return setJSON(tx, auditKey(row.Position), row)
}

// blockBits is how many positions share a span of time: few enough to look
// through, many enough that there are few spans.
const blockBits = 12

func blockKey(at events.Position) []byte {
	return binary.BigEndian.AppendUint64([]byte("b"), ^(uint64(at) >> blockBits))
}

// widenBlock takes a row's time into the span of its block.
func widenBlock(tx *Tx, row *AuditRow) error {
	t := row.Time.UnixMicro()
	span := [2]int64{t, t}
	if _, err := getJSON(tx, blockKey(row.Position), &span); err != nil {
		return err
	}
	return setJSON(tx, blockKey(row.Position), [2]int64{min(span[0], t), max(span[1], t)})
}

// AuditQuery narrows the trail; zero values are no bound.
type AuditQuery struct {
	// Owner leaves only what is of a person's own chats and account: what somebody
	// who is no administrator may see.
	Owner   string
	User    string // whose it is, or who did it
	Chat    string
	Profile string
	Consent string
	Tool    string
	Verdict string // allow, always, deny, expired or withdrawn, of any item
	Type    string // a pattern with *, ? and [ ]
	// From ≤ time < To.
	From, To time.Time
	Limit    int    // 1 to 1000, 0 is 50
	Cursor   string // what the last page said comes next
}

// AuditVerdicts are the verdicts that can be asked for.
func AuditVerdicts() []string {
	return []string{events.VerdictAllow, events.VerdictAlways, events.VerdictDeny, AuditExpired, AuditWithdrawn}
}

// Check refuses what cannot be a bound: an error that names its member of a query.
func (q *AuditQuery) Check() error {
	if q.Verdict != "" && !slices.Contains(AuditVerdicts(), q.Verdict) {
		return events.Invalid("verdict", "one of allow, always, deny, expired and withdrawn")
	}
	if _, err := path.Match(q.Type, ""); err != nil || len(q.Type) > 100 {
		return events.Invalid("type", "a type, or a pattern such as consent.*")
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		return events.Invalid("to", "a time after from")
	}
	return nil
}

// types are the types that can match, nil for all.
func (q *AuditQuery) types() []string {
	if q.Type == "" && q.Verdict == "" && q.Tool == "" {
		return nil
	}
	out := []string{}
	for _, typ := range AuditTypes() {
		ok, _ := path.Match(q.Type, typ) // it was checked
		consent := len(typ) > 8 && typ[:8] == "consent."
		if (q.Type == "" || ok) && (q.Verdict == "" || consent) && (q.Tool == "" || consent || typ[:5] == "tool.") {
			out = append(out, typ)
		}
	}
	return out
}

// matches says whether a row, whose type does, is asked for.
func (q *AuditQuery) matches(r *AuditRow) bool {
	item := func(f func(*AuditItem) bool) bool {
		return slices.ContainsFunc(r.Items, func(x AuditItem) bool { return f(&x) })
	}
	return (q.Owner == "" || r.User == q.Owner) &&
		(q.User == "" || r.User == q.User || (r.Actor.Kind == events.Person && r.Actor.ID == q.User)) &&
		(q.Chat == "" || r.Chat == q.Chat) && (q.Profile == "" || r.Profile == q.Profile) &&
		(q.Consent == "" || r.Consent == q.Consent) &&
		(q.Tool == "" || r.Tool == q.Tool || item(func(x *AuditItem) bool { return x.Tool == q.Tool })) &&
		(q.Verdict == "" || r.Verdict == q.Verdict || item(func(x *AuditItem) bool { return x.Verdict == q.Verdict })) &&
		(q.From.IsZero() || !r.Time.Before(q.From)) && (q.To.IsZero() || r.Time.Before(q.To))
}

// How much one page may look at: an index entry costs one, a row much more.
// What is beyond it comes with the next page.
const (
	auditBudget = 200_000
	rowCost     = 8
)

// List gives rows, the newest first, and the cursor of the next page, "" at the
// end. A search that finds little stops after a bounded look: then a page has
// fewer rows than asked for, or none, and still a cursor. ErrInvalid, naming the
// field, for a bound that is none.
func (s *Audit) List(ctx context.Context, q AuditQuery) (page []AuditRow, next string, err error) {
	if err := q.Check(); err != nil {
		return nil, "", err
	}
	top := uint64(math.MaxUint64)
	if q.Cursor != "" {
		if top, err = parseCursor(q.Cursor); err != nil || top == 0 {
			return nil, "", events.Invalid("cursor", "is not one that a page gave")
		}
		top--
	}
	err = view(s.ks, func(r rows) error {
		l := auditLook{r: r, q: &q, types: q.types(), limit: auditPage(q.Limit), budget: auditBudget}
		if err := l.look(ctx, events.Position(top)); err != nil {
			return err
		}
		page, next = l.page, l.next
		return nil
	})
	return page, next, err
}

func auditPage(limit int) int {
	if limit <= 0 {
		return 50
	}
	return min(limit, 1000)
}

// auditLook is one page in the making.
type auditLook struct {
	r      rows
	q      *AuditQuery
	types  []string
	limit  int
	budget int
	page   []AuditRow
	next   string
}

func (l *auditLook) look(ctx context.Context, top events.Position) error {
	if l.types != nil && len(l.types) == 0 {
		return nil
	}
	spans, err := l.spans(top)
	if err != nil {
		return err
	}
	for _, span := range spans {
		for hit, err := range l.source(span) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			more, err := l.take(hit)
			if err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// take adds the row of a hit if it is asked for; false ends the page.
func (l *auditLook) take(hit auditHit) (more bool, err error) {
	if l.budget--; l.types != nil && !slices.Contains(l.types, hit.typ) && hit.row == nil {
		return l.enough(hit.at), nil
	}
	l.budget -= rowCost
	var row AuditRow
	if hit.row != nil {
		err = parseRow(hit.row, &row)
	} else if found, getErr := getJSON(l.r, auditKey(hit.at), &row); getErr == nil && !found {
		err = fmt.Errorf("%w: audit row %d is indexed and not there", events.ErrDamaged, hit.at)
	} else {
		err = getErr
	}
	if err != nil {
		return false, err
	}
	if l.q.matches(&row) {
		if len(l.page) == l.limit {
			l.next = strconv.FormatUint(uint64(hit.at)+1, 10)
			return false, nil
		}
		l.page = append(l.page, row)
	}
	return l.enough(hit.at), nil
}

// enough ends a page whose budget is spent.
func (l *auditLook) enough(at events.Position) (more bool) {
	if l.budget > 0 {
		return true
	}
	l.next = strconv.FormatUint(uint64(at), 10)
	return false
}

// auditSpan is positions from low to high, both with.
type auditSpan struct{ low, high events.Position }

// spans are the positions that can be asked for, the newest first.
func (l *auditLook) spans(top events.Position) ([]auditSpan, error) {
	if l.q.From.IsZero() && l.q.To.IsZero() {
		return []auditSpan{{0, top}}, nil
	}
	var out []auditSpan
	for row, err := range l.r.Scan(blockKey(top), after([]byte("b"))) {
		var span [2]int64
		if err == nil {
			err = parseRow(row.Value, &span)
		}
		if err != nil {
			return nil, err
		}
		if (!l.q.From.IsZero() && span[1] < l.q.From.UnixMicro()) || (!l.q.To.IsZero() && span[0] >= l.q.To.UnixMicro()) {
			continue
		}
		low := auditPosition(row.Key) << blockBits
		high := min(low|(1<<blockBits-1), top)
		if n := len(out); n > 0 && out[n-1].low == high+1 {
			out[n-1].low = low
		} else {
			out = append(out, auditSpan{low, high})
		}
	}
	return out, nil
}

// auditHit is a row that may be asked for, or its place and type.
type auditHit struct {
	at  events.Position
	typ string
	row []byte // valid until the next hit
}

// source is the narrowest list of what can be asked for.
func (l *auditLook) source(span auditSpan) iter.Seq2[auditHit, error] {
	q := l.q
	switch {
	case q.Consent != "":
		return l.index(byConsent, q.Consent, span)
	case q.Chat != "":
		return l.index(byChat, q.Chat, span)
	case q.Owner != "":
		return l.index(byUser, q.Owner, span)
	case q.User != "":
		return l.index(byUser, q.User, span)
	case l.types != nil && len(l.types) < len(AuditTypes()):
		return l.merged(span)
	}
	return func(yield func(auditHit, error) bool) {
		for row, err := range l.r.Scan(auditKey(span.high), past(auditKey(span.low))) {
			if err != nil {
				yield(auditHit{}, err)
				return
			}
			if !yield(auditHit{at: auditPosition(row.Key), row: row.Value}, nil) {
				return
			}
		}
	}
}

// past is the first key after a key.
func past(key []byte) []byte { return append(bytes.Clone(key), 0) }

func (l *auditLook) index(kind byte, value string, span auditSpan) iter.Seq2[auditHit, error] {
	return func(yield func(auditHit, error) bool) {
		for row, err := range l.r.Scan(auditIndex(kind, value, span.high), past(auditIndex(kind, value, span.low))) {
			if err != nil {
				yield(auditHit{}, err)
				return
			}
			if !yield(auditHit{at: auditPosition(row.Key), typ: string(row.Value)}, nil) {
				return
			}
		}
	}
}

// merged is the rows of all types that can be asked for, the newest first.
func (l *auditLook) merged(span auditSpan) iter.Seq2[auditHit, error] {
	return func(yield func(auditHit, error) bool) {
		var heads []auditHead
		defer func() {
			for _, h := range heads {
				h.stop()
			}
		}()
		for _, typ := range l.types {
			next, stop := iter.Pull2(l.index(byType, typ, span))
			h := auditHead{next: next, stop: stop}
			if heads = append(heads, h); !heads[len(heads)-1].pull() {
				stop()
				heads = heads[:len(heads)-1]
			}
		}
		for len(heads) > 0 {
			i := newest(heads)
			h := heads[i]
			if !yield(h.hit, h.err) || h.err != nil {
				return
			}
			if !heads[i].pull() {
				heads[i].stop()
				heads = slices.Delete(heads, i, i+1)
			}
		}
	}
}

// auditHead is what comes next of one type.
type auditHead struct {
	hit  auditHit
	err  error
	next func() (auditHit, error, bool)
	stop func()
}

func (h *auditHead) pull() (ok bool) {
	h.hit, h.err, ok = h.next()
	return ok
}

// newest is the head with the highest position, or with an error.
func newest(heads []auditHead) int {
	at := 0
	for i := range heads {
		if heads[i].err != nil {
			return i
		}
		if heads[i].hit.at > heads[at].hit.at {
			at = i
		}
	}
	return at
}
