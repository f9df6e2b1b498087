package projections_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
	"lembas/projections"
	"lembas/projections/transcript"
)

// A window of any size is the end of the whole fold, whatever happened to the
// chat and however far the projection has come.
func TestWindowIsTheEndOfTheFold(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			st := openStore(t, vfs.NewMem())
			set := openSet(t, st)
			h := newHistory(t, st, seed)
			for i := range 600 {
				h.step()
				if h.rng.IntN(10) == 0 {
					catchUp(t, set)
				}
				if i%30 == 29 {
					for _, chat := range h.chats {
						compare(t, set.Windows, chat, fold(t, st, chat), h.rng.IntN(5))
					}
				}
			}
		})
	}
}

func compare(t *testing.T, w *projections.Windows, chat string, full *transcript.Chat, n int) {
	t.Helper()
	ctx := context.Background()
	if full.Deleted {
		if _, err := w.Window(ctx, chat, n); !errors.Is(err, events.ErrNotFound) {
			t.Fatalf("deleted %s: %v", chat, err)
		}
		return
	}
	all, err := w.Window(ctx, chat, -1)
	if err != nil {
		t.Fatal(err)
	}
	left, err := w.Left(ctx, chat)
	if err != nil {
		t.Fatal(err)
	}
	same(t, chat+": chat", all, full)
	same(t, chat+": turns", all.Turns, full.Turns)
	same(t, chat+": left", left, full.Left)

	part, err := w.Window(ctx, chat, n)
	if err != nil {
		t.Fatal(err)
	}
	cut := max(0, len(full.Turns)-n)
	if part.Earlier != cut {
		t.Fatalf("%s: a window of %d leaves out %d of %d turns", chat, n, part.Earlier, len(full.Turns))
	}
	same(t, chat+": window", part.Turns, full.Turns[cut:])
	before, err := w.Before(ctx, chat, cut, n)
	if err != nil {
		t.Fatal(err)
	}
	same(t, chat+": page before", before, full.Turns[max(0, cut-n):cut])
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	g, w := asJSON(t, got), asJSON(t, want)
	if g == "null" {
		g = "[]"
	}
	if w == "null" {
		w = "[]"
	}
	if g != w {
		t.Fatalf("%s\n got %s\nwant %s", what, g, w)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	var buf bytes.Buffer
	if err := json.NewEncoder(&buf).Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(buf.Bytes()))
}

func TestWindowOfNoChat(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	if _, err := set.Windows.Window(context.Background(), "none", 5); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("no chat: %v", err)
	}
	newHistory(t, st, 1).user()
	if _, err := set.Windows.Before(context.Background(), "../user/user1", 5, 5); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("a stream that is no chat: %v", err)
	}
}

// No turn that left stays behind at its old place.
func TestRowsAreTheTurns(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	h := newHistory(t, st, 3)
	h.user()
	h.create()
	checked := 0
	for range 400 {
		h.step()
		catchUp(t, set)
		chat := h.chats[0]
		full := fold(t, st, chat)
		if full.Open() != nil || full.Deleted {
			continue
		}
		turns, left := 0, 0
		for k := range dump(t, st, "windows") {
			switch {
			case strings.HasPrefix(k, "r"+chat+"\x00t"):
				turns++
			case strings.HasPrefix(k, "r"+chat+"\x00l"):
				left++
			}
		}
		if turns != len(full.Turns) || left != len(full.Left) {
			t.Fatalf("at %d: rows of %d turns and %d that left, want %d and %d", full.Position, turns, left, len(full.Turns), len(full.Left))
		}
		checked++
	}
	if checked < 50 {
		t.Errorf("only %d quiet points", checked)
	}
}

// Rare orders in one tail, of events about turns far before the window.
func TestTailAboutOldTurns(t *testing.T) {
	folded := func(n int) events.Payload {
		return events.ReplyFolded{Reply: fmt.Sprint("r", n), Rounds: []events.FoldedRound{{Round: 1, Content: "new"}}}
	}
	again := func(n int) []events.Payload {
		return []events.Payload{events.ChatRewound{Message: fmt.Sprint("m", n)}, events.ReplyRequested{Reply: "x", Message: fmt.Sprint("m", n)}}
	}
	for name, tail := range map[string][]events.Payload{
		"folded, then left":            append([]events.Payload{folded(5)}, again(3)...),
		"folded, then in the window":   append([]events.Payload{folded(5)}, again(5)...),
		"left, then folded":            append(again(3), folded(5)),
		"folded twice":                 {folded(2), folded(2), folded(4)},
		"left, and left further":       append(append(again(6), events.ReplyFinished{Reply: "x", Status: events.Failed}), again(1)...),
		"nothing that is in this chat": {folded(99), events.ChatRewound{Message: "m99"}, events.MessageEdited{Message: "m99"}},
	} {
		t.Run(name, func(t *testing.T) {
			st := openStore(t, vfs.NewMem())
			set := openSet(t, st)
			longChat(t, newHistory(t, st, 1), "c", 8)
			catchUp(t, set)
			appendTo(t, st, events.ChatStream("c"), tail...)
			compare(t, set.Windows, "c", fold(t, st, "c"), 2)
			appendTo(t, st, events.ChatStream("c"), events.ReplyFinished{Reply: "x", Status: events.Failed})
			catchUp(t, set)
			compare(t, set.Windows, "c", fold(t, st, "c"), 2)
			appendTo(t, st, events.ChatStream("c"), folded(5), folded(7)) // which may have left
			compare(t, set.Windows, "c", fold(t, st, "c"), 2)
			catchUp(t, set)
			compare(t, set.Windows, "c", fold(t, st, "c"), 2)
		})
	}
}

// longChat makes a chat of n turns, each with an answer of a few chunks.
func longChat(t testing.TB, h *history, chat string, n int) {
	t.Helper()
	var out []events.Payload
	for i := range n {
		m, r := fmt.Sprint("m", i), fmt.Sprint("r", i)
		if i == 0 {
			out = append(out, events.ChatCreated{Chat: chat, Owner: "ann", Kind: events.KindChat})
		}
		out = append(out, events.MessageSubmitted{Message: m, Text: "question"}, events.ReplyRequested{Reply: r, Message: m},
			events.RoundStarted{Reply: r, Round: 1})
		for range 4 {
			out = append(out, events.ReplyChunk{Reply: r, Round: 1, Kind: events.ChunkContent, Text: "some words of an answer "})
		}
		out = append(out, events.RoundFinished{Reply: r, Round: 1}, events.ReplyFinished{Reply: r, Status: events.Complete})
		if len(out) > 5000 || i == n-1 {
			appendTo(t, h.st, events.ChatStream(chat), out...)
			out = nil
		}
	}
}

// The work for a reply must not grow with the chat: an event of a long chat
// changes only the rows of its last turn and the chat itself.
func TestReplyInLongChatTouchesFewRows(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	longChat(t, newHistory(t, st, 1), "c", 600)
	catchUp(t, set)
	before := dump(t, st, "windows")
	appendTo(t, st, events.ChatStream("c"), events.ReplyRequested{Reply: "again", Message: "m599"},
		events.ReplyFinished{Reply: "again", Status: events.Failed})
	catchUp(t, set)
	if n := changed(before, dump(t, st, "windows")); n > 6 {
		t.Errorf("%d rows changed for one reply", n)
	}
}

func changed(a, b map[string]string) (n int) {
	for k, v := range a {
		if b[k] != v {
			n++
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			n++
		}
	}
	return n
}

// Nothing of a deleted chat is left in the rows.
func TestDeletedChatLeavesNoText(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	appendTo(t, st, events.ChatStream("c"), events.ChatCreated{Chat: "c", Owner: "ann", Title: "Marker"},
		events.MessageSubmitted{Message: "m", Text: "Marker"}, events.ReplyRequested{Reply: "r", Message: "m"},
		events.ReplyFinished{Reply: "r", Status: events.Complete}, events.ChatDeleted{})
	catchUp(t, set)
	appendTo(t, st, events.ChatStream("c"), events.ChatRenamed{Title: "Marker again"}) // nobody can, and if
	catchUp(t, set)
	for _, p := range []string{"windows", "sidebar", "replies"} {
		for k, v := range dump(t, st, p) {
			if bytes.Contains([]byte(k+v), []byte("Marker")) {
				t.Errorf("%s has %q: %s", p, k, v)
			}
		}
	}
}

func BenchmarkWindow(b *testing.B) {
	for _, n := range []int{50, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			st := openStore(b, vfs.NewMem())
			set := openSet(b, st)
			longChat(b, newHistory(b, st, 1), "c", n)
			catchUp(b, set)
			for b.Loop() {
				if _, err := set.Windows.Window(context.Background(), "c", 30); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
