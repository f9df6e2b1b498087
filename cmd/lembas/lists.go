package main

import (
	"cmp"
	"context"
	"time"

	"lembas/commands"
	"lembas/commands/generation"
	"lembas/events"
	"lembas/projections"
	"lembas/projections/transcript"
	"lembas/web/api"
	"lembas/web/pages"
	"lembas/web/pages/view"
)

// The projections in the shapes that web declares.

// viewRow is a chat as pages show it.
func viewRow(c *projections.ChatRow) view.Row {
	r := view.Row{ID: c.ID, Title: c.Title, Folder: c.Folder, Pinned: c.Pinned, Unread: c.Unread(), NeedsYou: c.NeedsYou() > 0, Updated: c.Updated}
	switch c.Status() {
	case transcript.Running:
		r.Status = transcript.Streaming
	case transcript.Waiting:
		r.Status = transcript.Waiting
	default:
		r.Status = c.Last
	}
	return r
}

func viewRows(in []projections.ChatRow) []view.Row {
	out := make([]view.Row, 0, len(in))
	for i := range in {
		out = append(out, viewRow(&in[i]))
	}
	return out
}

// pageOf gives one page of a person's chats: all pinned ones and the newest
// others, or with a cursor older ones. The position is one that the rows are
// not behind.
func pageOf(ctx context.Context, s *projections.Set, user string, limit int, cursor string) (rows []projections.ChatRow, next string, at events.Position, err error) {
	at = s.Position()
	yes, no := true, false
	if cursor == "" {
		for more := ""; ; {
			var pinned []projections.ChatRow
			if pinned, more, err = s.Sidebar.List(ctx, user, projections.ChatQuery{Pinned: &yes, Limit: 200, Cursor: more}); err != nil {
				return nil, "", 0, err
			}
			if rows = append(rows, pinned...); more == "" {
				break
			}
		}
	}
	for next = cursor; limit > 0; {
		var some []projections.ChatRow
		if some, next, err = s.Sidebar.List(ctx, user, projections.ChatQuery{Pinned: &no, Limit: min(limit, 200), Cursor: next}); err != nil {
			return nil, "", 0, err
		}
		rows = append(rows, some...)
		if limit -= len(some); next == "" {
			break
		}
	}
	return rows, next, at, nil
}

// pageList is the sidebar for pages and their stream.
type pageList struct{ *projections.Set }

func (l pageList) Wait(ctx context.Context, at events.Position) error { return l.Await(ctx, at) }

func (l pageList) List(ctx context.Context, user string, limit int, cursor string) ([]view.Row, string, events.Position, error) {
	rows, next, at, err := pageOf(ctx, l.Set, user, limit, cursor)
	return viewRows(rows), next, at, err
}

func (l pageList) Owner(ctx context.Context, chat string) (string, error) {
	owner, err := l.Sidebar.Owner(ctx, chat)
	if isNotFound(err) {
		return "", nil
	}
	return owner, err
}

// chatList is the sidebar for the API. It waits for what the caller wrote.
type chatList struct{ *projections.Set }

func (l chatList) Chats(ctx context.Context, user string, q api.ListQuery) ([]api.ChatRow, string, error) {
	if err := l.awaitHead(ctx); err != nil {
		return nil, "", err
	}
	rows, next, err := l.Sidebar.List(ctx, user, projections.ChatQuery{Folder: q.Folder, Text: q.Query, Limit: q.Limit, Cursor: q.Cursor})
	out := make([]api.ChatRow, 0, len(rows))
	for i := range rows {
		c := &rows[i]
		out = append(out, api.ChatRow{ID: c.ID, Title: c.Title, Kind: c.Kind, Model: c.Model, Folder: c.Folder, Pinned: c.Pinned,
			Status: c.Status(), Unread: c.Unread(), NeedsYou: c.NeedsYou() > 0, Created: c.Created, Updated: c.Updated})
	}
	return out, next, err
}

// awaitHead waits until lists have what the log has now, but not for long: a
// list that is a moment old is better than none.
func (l chatList) awaitHead(ctx context.Context) error { return awaitHead(ctx, l.Set) }

func awaitHead(ctx context.Context, s *projections.Set) error {
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := s.Await(short, s.Head()); err != nil && short.Err() == nil {
		return err
	}
	return ctx.Err()
}

// accounts is the list of people for administrators.
type accounts struct {
	*projections.Set
	service *commands.Service
}

func (l accounts) Accounts(ctx context.Context, q api.ListQuery) ([]commands.User, string, error) {
	if err := awaitHead(ctx, l.Set); err != nil {
		return nil, "", err
	}
	page, next, err := l.Set.Accounts.List(ctx, projections.AccountQuery{Text: q.Query, Limit: cmp.Or(q.Limit, 50), Cursor: q.Cursor})
	if err != nil {
		return nil, "", err
	}
	out := make([]commands.User, 0, len(page))
	for _, a := range page {
		u, err := l.service.User(ctx, a.ID)
		if err != nil {
			return nil, "", err
		}
		out = append(out, u)
	}
	return out, next, nil
}

// waitingList is what waits, for pages.
type waitingList struct{ *projections.Set }

func (l waitingList) Wait(ctx context.Context, at events.Position) error { return l.Await(ctx, at) }

func (l waitingList) Waiting(ctx context.Context, user string) ([]pages.WaitingCard, error) {
	cards, err := l.Consents.Waiting(ctx, user)
	out := make([]pages.WaitingCard, 0, len(cards))
	for _, c := range cards {
		out = append(out, pages.WaitingCard{ConsentRequested: c.ConsentRequested, Chat: c.Chat, Title: c.Title, Since: c.Since})
	}
	return out, err
}

// openCards is what waits, for the loop.
type openCards struct{ *projections.Set }

func (l openCards) OpenCards(ctx context.Context) ([]generation.OpenCard, error) {
	if err := l.Await(ctx, l.Head()); err != nil {
		return nil, err
	}
	open, err := l.Consents.Open(ctx)
	out := make([]generation.OpenCard, 0, len(open))
	for _, c := range open {
		out = append(out, generation.OpenCard{Chat: c.Chat, Consent: c.Consent})
	}
	return out, err
}
