package export

import (
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"reflect"
	"strings"
	"testing"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
)

var digest = strings.Repeat("ab", 32)

const shape = `{"url":"https://a.test"}`

// acted is a chat whose reply has one call of each ending, then waits. Ann owns
// it; root answers one card.
func acted(t *testing.T) *transcript.Chat {
	t.Helper()
	c := &transcript.Chat{}
	n := 0
	add := func(who string, list ...events.Payload) {
		t.Helper()
		for _, p := range list {
			n++
			data, _ := json.Marshal(p)
			info, _ := events.Lookup(p.EventType())
			e := events.Envelope{Position: events.Position(n), Version: events.Version(n), Stream: "chat/c1", Type: info.Name, TypeVersion: info.Version,
				Actor: events.Actor{Kind: events.Person, ID: who}, Time: time.Date(2026, 11, 30, 12, 0, n, 0, time.UTC), Data: data}
			if err := c.Apply(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
	call := func(round int, id string) events.Payload {
		return events.ToolCalled{Reply: "r1", Round: round, Call: id, Name: "fetch", Arguments: events.RawJSON(shape), Raw: shape}
	}
	item := func(key, call, question string) events.ConsentItem {
		return events.ConsentItem{Key: key, Call: call, Name: "fetch", Arguments: events.RawJSON(shape), Question: question, Edits: "url", Pattern: "fetch"}
	}
	card := func(id string, round int, items ...events.ConsentItem) events.Payload {
		return events.ConsentRequested{Consent: id, Reply: "r1", Round: round, Kind: events.ConsentApproval, Items: items}
	}
	over := func(round int, id, status, output string) events.Payload {
		return events.ToolFinished{Reply: "r1", Round: round, Call: id, Status: status, Output: output}
	}
	long := (&transcript.Call{ID: "long"}).Shortened("head", "tail", 5000)
	add("ann", events.ChatCreated{Chat: "c1", Owner: "ann", Kind: events.KindChat, Model: "m1", Title: "Acts"},
		events.MessageSubmitted{Message: "t1", Text: "go"}, events.ReplyRequested{Reply: "r1", Message: "t1", Reason: events.ForMessage},
		events.ReplyStarted{Reply: "r1", Model: "m1", ModelName: "qwen3"}, events.RoundStarted{Reply: "r1", Round: 1},
		events.ReplyChunk{Reply: "r1", Round: 1, Kind: events.ChunkContent, Text: "I look."},
		call(1, "yes"), call(1, "no"), call(1, "ever"), call(1, "ask"), events.RoundFinished{Reply: "r1", Round: 1, FinishReason: "tool_calls"},
		card("k1", 1, item("1", "yes", ""), item("2", "no", ""), item("3", "ever", ""), item("4", "ask", "Which one?"), item("5", "ask", "Why?")))
	add("root", events.ConsentAnswered{Consent: "k1", Answers: []events.ConsentAnswer{{Key: "1", Verdict: "allow"}, {Key: "2", Verdict: "deny", Reason: "not ```that"},
		{Key: "3", Verdict: "always", Pattern: "fetch b.test", Arguments: events.RawJSON(`{"url":"https://b.test"}`)},
		{Key: "4", Verdict: "allow", Text: "The blue one"}, {Key: "5", Verdict: "deny"}}})
	add("ann", over(1, "no", events.ToolDenied, "denied words"), over(1, "ask", events.ToolOK, "question words"),
		events.ToolStarted{Reply: "r1", Round: 1, Call: "yes", Consent: "k1"}, events.ToolStarted{Reply: "r1", Round: 1, Call: "ever", Consent: "k1"},
		events.ToolInterrupted{Reply: "r1", Round: 1, Call: "yes"}, over(1, "ever", events.ToolOK, "page"),
		events.MessageQueued{Message: "q1", Text: "also\nthis"}, events.MessageDelivered{Message: "q1", Reply: "r1", Round: 1},
		events.RoundStarted{Reply: "r1", Round: 2}, call(2, "late"), call(2, "gone"), call(2, "long"), events.RoundFinished{Reply: "r1", Round: 2, FinishReason: "tool_calls"},
		card("k2", 2, item("1", "late", "")), events.ConsentExpired{Consent: "k2"}, over(2, "late", events.ToolExpired, "late words"),
		card("k3", 2, item("1", "gone", "")), events.ConsentWithdrawn{Consent: "k3", Reason: "stopped"}, over(2, "gone", events.ToolStopped, ""),
		events.ToolFinished{Reply: "r1", Round: 2, Call: "long", Status: events.ToolOK, Output: long, Bytes: 5000, Blob: &events.BlobRef{Digest: digest, Size: 5000},
			Images: []events.Attachment{{ID: "i", Name: "a.png", Type: "image/png", Blob: events.BlobRef{Digest: strings.Repeat("cd", 32), Size: 9}}}},
		events.RoundStarted{Reply: "r1", Round: 3}, call(3, "open"), events.RoundFinished{Reply: "r1", Round: 3, FinishReason: "tool_calls"}, card("k4", 3, item("1", "open", "")))
	if c.Status() != transcript.Waiting {
		t.Fatalf("the chat is %s", c.Status())
	}
	return c
}

// TestOrderOfJSON: as a model is sent it, with the words it was told; what is
// more is members of the assistant's messages.
func TestOrderOfJSON(t *testing.T) {
	b, err := JSON(acted(t))
	if err != nil {
		t.Fatal(err)
	}
	var got Conversation
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, m := range got.Messages {
		s := m.Role + " " + m.ToolCallID + m.Status
		if m.Role == "tool" && (m.Content == "" || m.Status != "" || len(m.Verdicts) > 0) || m.Role == "user" && m.Content == "" {
			t.Errorf("%+v", m)
		}
		order = append(order, strings.TrimSpace(s))
	}
	want := []string{"user", "assistant", "tool yes", "tool no", "tool ever", "tool ask", "user", "assistant", "tool late", "tool gone", "tool long",
		"assistant waiting", "tool open"}
	if !reflect.DeepEqual(order, want) {
		t.Fatalf("%q", order)
	}
	for i, words := range map[int]string{2: "Whether it took effect is not known", 3: "denied words", 6: "also\nthis", 9: "This was stopped.", 12: "waits for its person"} {
		if !strings.Contains(got.Messages[i].Content, words) {
			t.Errorf("%d: %+v", i, got.Messages[i])
		}
	}
	if x := got.Messages[10]; strings.Contains(x.Content, "read_output") || !strings.Contains(x.Content, "4992 bytes are left out") || !strings.Contains(x.Content, digest) ||
		!reflect.DeepEqual(x.Images, []Image{{Name: "a.png", Type: "image/png", Size: 9, Digest: strings.Repeat("cd", 32)}}) {
		t.Errorf("%+v", x)
	}
	var said []string
	for _, i := range []int{1, 7, 11} {
		for _, v := range got.Messages[i].Verdicts {
			if v.At.IsZero() {
				t.Errorf("%+v says no time", v)
			}
			said = append(said, fmt.Sprintf("%s %s %s by=%s reason=%s pattern=%s q=%s a=%s sent=%s", v.Call, v.Consent, v.Verdict, v.By, v.Reason, v.Pattern, v.Question, v.Answer, v.Sent))
		}
	}
	verdicts := []string{"yes k1 allow by=root reason= pattern= q= a= sent=", "no k1 deny by=root reason=not ```that pattern= q= a= sent=",
		"ever k1 always by=root reason= pattern=fetch b.test q= a= sent=" + shape, "ask k1 answered by=root reason= pattern= q=Which one? a=The blue one sent=",
		"ask k1 declined by=root reason= pattern= q=Why? a= sent=", "late k2 expired by= reason= pattern= q= a= sent=",
		"gone k3 withdrawn by= reason=stopped pattern= q= a= sent=", "open k4 waiting by= reason= pattern= q= a= sent="}
	if !reflect.DeepEqual(said, verdicts) {
		t.Errorf("%s", strings.Join(said, "\n"))
	}
}

// TestReadersSeeTheSame: both documents say who allowed what, when, and what
// came of it, each call before what the person said after it.
func TestReadersSeeTheSame(t *testing.T) {
	c := acted(t)
	page, err := HTML(c, func(_, src string) template.HTML { return template.HTML(template.HTMLEscapeString(src)) })
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"md": string(Markdown(c)), "html": html.UnescapeString(string(page))} {
		at := 0
		for _, want := range []string{"I look.", "Tool: fetch", "Allowed by root, 2026-11-30 12:00:13 UTC", "Whether it took effect is not known",
			"Denied by root, 2026-11-30 12:00:13 UTC: not ```that", "What the model sent:", "https://a.test", "What ran, as it was corrected:", "https://b.test",
			"Allowed always by root, 2026-11-30 12:00:13 UTC", "Remembered for this chat: fetch b.test", "corrected", "page",
			"Question: Which one?", "Answered by root, 2026-11-30 12:00:13 UTC: The blue one", "Question: Why?", "Declined by root", "question words",
			"You, meanwhile:", "also", "this", "Not answered in time, 2026-11-30 12:00:", "late words", "Withdrawn without an answer, 2026-11-30 12:00:", ": stopped", "This was stopped.",
			"head", "4992 bytes are left out here; the whole output is the blob " + digest + " of 5000 bytes", "tail",
			"Picture: a.png, image/png, 9 bytes, blob " + strings.Repeat("cd", 32), "(waiting)", "Waiting for an answer since 2026-11-30 12:00:", "waits for its person",
			"Waiting for its person when this was exported."} {
			i := strings.Index(text[at:], want)
			if i < 0 {
				t.Fatalf("%s: %q is missing or stands too early in\n%s", name, want, text)
			}
			at += i + len(want)
		}
		for _, not := range []string{"read_output", "Still being written"} {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q is told to a reader", name, not)
			}
		}
	}
}

// TestTheOwnerIsYou: only of the chat's owner.
func TestTheOwnerIsYou(t *testing.T) {
	v := Verdict{Verdict: events.VerdictAllow, By: "ann"}
	if got := v.words("ann"); !strings.HasPrefix(got, "Allowed by you,") {
		t.Error(got)
	}
	if got := v.words("bob"); !strings.HasPrefix(got, "Allowed by ann,") {
		t.Error(got)
	}
}
