package api

import (
	"net/http"
	"slices"
	"strconv"

	"lembas/events"
)

// How many items a page of a list has.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// list is one page of a list.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

func listOf[T any](items []T, next string) list[T] {
	if items == nil {
		items = []T{}
	}
	return list[T]{Items: items, Next: next}
}

// listQuery reads ?q=, ?folder=, ?limit= and ?cursor=.
func listQuery(r *http.Request) (ListQuery, error) {
	v := r.URL.Query()
	q := ListQuery{Query: v.Get("q"), Cursor: v.Get("cursor")}
	if v.Has("folder") {
		folder := v.Get("folder")
		q.Folder = &folder
	}
	if len(q.Query) > 500 {
		return q, events.Invalid("q", "at most 500 bytes")
	}
	if len(q.Cursor) > 500 {
		return q, events.Invalid("cursor", "is not one that was given out")
	}
	var err error
	q.Limit, err = limit(r, DefaultLimit)
	return q, err
}

func limit(r *http.Request, otherwise int) (int, error) {
	raw := r.URL.Query().Get("limit")
	if raw == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < 1 || n > MaxLimit {
		return 0, events.Invalid("limit", "a whole number from 1 to %d", MaxLimit)
	}
	return n, nil
}

// page cuts a list that is held whole. The cursor is the id of the last item of
// the page before.
func page[T any](r *http.Request, items []T, id func(T) string) (list[T], error) {
	q, err := listQuery(r)
	if err != nil {
		return list[T]{}, err
	}
	if q.Cursor != "" {
		i := slices.IndexFunc(items, func(x T) bool { return id(x) == q.Cursor })
		if i < 0 {
			return list[T]{}, events.Invalid("cursor", "its item is gone; begin again without a cursor")
		}
		items = items[i+1:]
	}
	if len(items) > q.Limit {
		return listOf(items[:q.Limit], id(items[q.Limit-1])), nil
	}
	return listOf(items, ""), nil
}
