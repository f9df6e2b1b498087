package generation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"lembas/commands"
	"lembas/events"
	"lembas/projections/transcript"
)

// isSummary says whether a request asks for a summary.
func isSummary(req map[string]any) bool {
	_, text, _ := lastTurn(req)
	return text == summaryPrompt
}

func (w *world) send(chat, text string) commands.Submitted {
	w.t.Helper()
	s, _, err := w.service.SubmitMessage(w.t.Context(), w.ann, chat, text)
	must(w.t, err)
	must(w.t, w.handle(w.t.Context(), chat))
	return s
}

// TestALongChatIsSummarised (GEN-13): past the threshold the earlier turns leave
// the request and stay in the transcript; without a known length nothing does.
func TestALongChatIsSummarised(t *testing.T) {
	for _, length := range []int{1000, 0} {
		w, _ := withTools(t, nil)
		w.answer = func(_ int, rw http.ResponseWriter, _ *http.Request) {
			if isSummary(w.requests()[len(w.requests())-1]) {
				stream(rw, "it was about stones")
				return
			}
			stream(rw, strings.Repeat("stone ", 150))
		}
		w.loop.Tools = nil
		w.context(length)
		c := w.chat(strings.Repeat("ask ", 200))
		must(t, w.handle(t.Context(), c.Chat))
		w.send(c.Chat, strings.Repeat("more ", 200))
		w.send(c.Chat, "and now?")
		all := w.requests()
		first := all[len(all)-1]["messages"].([]any)
		if length == 0 {
			if len(all) != 3 || len(first) != 5 {
				t.Errorf("unknown length: %d requests, the last with %d turns", len(all), len(first))
			}
			continue
		}
		if !isSummary(all[len(all)-2]) {
			t.Fatalf("%d requests, none for a summary before the last", len(all))
		}
		lead := first[0].(map[string]any)
		if len(first) != 3 || lead["role"] != "user" || !strings.Contains(lead["content"].(string), "it was about stones") ||
			first[1].(map[string]any)["role"] != "assistant" || first[2].(map[string]any)["content"] != "and now?" {
			t.Errorf("the last request has %v", first)
		}
		must(t, w.service.WithChat(t.Context(), c.Chat, func(chat *transcript.Chat) error {
			if len(chat.Turns) != 3 || chat.Summary == nil || chat.Summary.N != 1 {
				t.Errorf("%d turns, summary %+v", len(chat.Turns), chat.Summary)
			}
			return nil
		}))
	}
}

// TestCompactByHand: once at a time, on an idle chat, and what goes wrong is
// said and changes nothing.
func TestCompactByHand(t *testing.T) {
	w, _ := withTools(t, nil)
	broken := false
	w.answer = func(_ int, rw http.ResponseWriter, _ *http.Request) {
		switch {
		case !isSummary(w.requests()[len(w.requests())-1]):
			stream(rw, "an answer")
		case broken:
			rw.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprint(rw, `{"error":{"message":"no such thing, sk-secret-key"}}`)
		default:
			stream(rw, "short")
		}
	}
	c := w.chat("x")
	_, _, err := w.service.Compact(t.Context(), w.ann, c.Chat)
	if !isConflictOrSo(err) {
		t.Errorf("while a reply runs: %v", err)
	}
	must(t, w.handle(t.Context(), c.Chat))
	broken = true
	for _, fails := range []bool{true, false} {
		broken = fails
		asked, _, err := w.service.Compact(t.Context(), w.ann, c.Chat)
		must(t, err)
		if _, _, err := w.service.Compact(t.Context(), w.ann, c.Chat); !isConflictOrSo(err) {
			t.Errorf("two at once: %v", err)
		}
		env := w.last(c.Chat, "compaction.requested")
		must(t, w.loop.Compact(t.Context(), &env))
		must(t, w.loop.Compact(t.Context(), &env)) // delivered again
		must(t, w.service.WithChat(t.Context(), c.Chat, func(chat *transcript.Chat) error {
			switch {
			case chat.Compacting != "":
				t.Errorf("%s is still going on", asked.Compaction)
			case fails && (chat.Summary != nil || chat.CompactError == nil || strings.Contains(chat.CompactError.Message, "secret")):
				t.Errorf("summary %+v, error %+v", chat.Summary, chat.CompactError)
			case !fails && (chat.Summary == nil || chat.Summary.Text != "short" || chat.CompactError != nil):
				t.Errorf("summary %+v, error %+v", chat.Summary, chat.CompactError)
			}
			return nil
		}))
	}
	if _, _, err := w.service.Compact(t.Context(), w.ann, c.Chat); !isConflictOrSo(err) {
		t.Errorf("with nothing new: %v", err)
	}
	summaries := 0
	for _, r := range w.requests() {
		if isSummary(r) {
			summaries++
		}
	}
	if summaries != 2 {
		t.Errorf("%d summaries were asked for", summaries)
	}
}

func isConflictOrSo(err error) bool { return errors.Is(err, events.ErrConflict) }

// TestASummaryOfWhatIsSaidAnewIsDropped: the last turn was edited or asked again
// while its summary was made; the reply to it must still see the turn.
func TestASummaryOfWhatIsSaidAnewIsDropped(t *testing.T) {
	for name, anew := range map[string]func(w *world, c commands.Created) error{
		"edited": func(w *world, c commands.Created) error {
			_, _, err := w.service.EditMessage(context.Background(), w.ann, c.Chat, c.Message, "other words")
			return err
		},
		"asked again": func(w *world, c commands.Created) error {
			_, _, err := w.service.Regenerate(context.Background(), w.ann, c.Chat, c.Reply)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := withTools(t, nil)
			var c commands.Created
			w.answer = func(_ int, rw http.ResponseWriter, _ *http.Request) {
				if isSummary(w.requests()[len(w.requests())-1]) {
					if err := anew(w, c); err != nil {
						t.Error(err)
					}
				}
				stream(rw, "an answer")
			}
			c = w.chat("x")
			must(t, w.handle(t.Context(), c.Chat))
			_, _, err := w.service.Compact(t.Context(), w.ann, c.Chat)
			must(t, err)
			env := w.last(c.Chat, "compaction.requested")
			must(t, w.loop.Compact(t.Context(), &env))
			must(t, w.handle(t.Context(), c.Chat))
			if role, text, _ := lastTurn(w.requests()[2]); role != "user" || strings.Contains(text, "Summary") {
				t.Errorf("the new reply was asked with %s %q last", role, text)
			}
			must(t, w.service.WithChat(t.Context(), c.Chat, func(chat *transcript.Chat) error {
				if chat.Summary != nil || chat.Compacting != "" || chat.CompactError == nil {
					t.Errorf("summary %+v, compacting %q, error %+v", chat.Summary, chat.Compacting, chat.CompactError)
				}
				return nil
			}))
		})
	}
}
