package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"html/template"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
)

// history is a chat with a tool call, reasoning, a stopped reply and a version
// that is no longer in force.
func history() []events.Payload {
	return []events.Payload{
		events.ChatCreated{Chat: "c1", Owner: "ann", Kind: events.KindChat, Model: "m1", Title: "Bread & <b>butter</b>"},
		events.MessageSubmitted{Message: "t1", Text: "What is in\n```\nthe jar?"},
		events.ReplyRequested{Reply: "r0", Message: "t1", Reason: events.ForMessage},
		events.RoundStarted{Reply: "r0", Round: 1},
		events.ReplyChunk{Reply: "r0", Round: 1, Kind: events.ChunkContent, Text: "not in force"},
		events.ReplyFinished{Reply: "r0", Status: events.Complete},
		events.ReplyRequested{Reply: "r1", Message: "t1", Reason: events.ForRegenerate},
		events.ReplyStarted{Reply: "r1", Model: "m1", ModelName: "qwen3"},
		events.RoundStarted{Reply: "r1", Round: 1},
		events.ReplyChunk{Reply: "r1", Round: 1, Kind: events.ChunkReasoning, Text: "I </details> look."},
		events.ToolCalled{Reply: "r1", Round: 1, Call: "k1", Name: "file_read", Arguments: events.RawJSON(`{"path":"jar"}`), Raw: `{"path":"jar"}`},
		events.ToolFinished{Reply: "r1", Round: 1, Call: "k1", Status: events.ToolOK, Output: "````jam````"},
		events.RoundStarted{Reply: "r1", Round: 2},
		events.ReplyChunk{Reply: "r1", Round: 2, Kind: events.ChunkContent, Text: "**Jam.**"},
		events.ReplyFinished{Reply: "r1", Status: events.Complete},
		events.MessageSubmitted{Message: "t2", Text: "More"},
		events.ReplyRequested{Reply: "r2", Message: "t2", Reason: events.ForMessage},
		events.RoundStarted{Reply: "r2", Round: 1},
		events.ReplyChunk{Reply: "r2", Round: 1, Kind: events.ChunkContent, Text: "Half"},
		events.ReplyFinished{Reply: "r2", Status: events.Stopped},
	}
}

func envelopes(t *testing.T) []events.Envelope {
	t.Helper()
	var out []events.Envelope
	for i, p := range history() {
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := events.Lookup(p.EventType())
		out = append(out, events.Envelope{Position: events.Position(i + 1), Version: events.Version(i + 1), Stream: "chat/c1",
			Type: info.Name, TypeVersion: info.Version, Time: time.Date(2026, 11, 30, 12, 0, i, 0, time.UTC), Data: data})
	}
	return out
}

func chat(t *testing.T) *transcript.Chat {
	t.Helper()
	c := &transcript.Chat{}
	for _, e := range envelopes(t) {
		if err := c.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestJSON(t *testing.T) {
	b, err := JSON(chat(t))
	if err != nil {
		t.Fatal(err)
	}
	var got Conversation
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := []Message{
		{Role: "user", Content: "What is in\n```\nthe jar?"},
		{Role: "assistant", Reasoning: "I </details> look.", ToolCalls: []ToolCall{
			{ID: "k1", Type: "function", Function: Function{Name: "file_read", Arguments: `{"path":"jar"}`}}}},
		{Role: "tool", ToolCallID: "k1", Content: "````jam````"},
		{Role: "assistant", Content: "**Jam.**"},
		{Role: "user", Content: "More"},
		{Role: "assistant", Content: "Half", Status: "stopped"},
	}
	if !reflect.DeepEqual(got.Messages, want) || got.Title != "Bread & <b>butter</b>" {
		t.Errorf("got %q %+v", got.Title, got.Messages)
	}
}

func TestMarkdown(t *testing.T) {
	got := string(Markdown(chat(t)))
	for _, want := range []string{"# Bread & <b>butter</b>\n", "\n## You\n", "\n## qwen3\n", "<summary>Reasoning</summary>",
		"I &lt;/details&gt; look.", "**Tool: file_read** (ok)", "\"path\": \"jar\"", "\n`````\n````jam````\n`````\n", "**Jam.**", "*Stopped.*"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "not in force") {
		t.Error("a version that is not in force was exported")
	}
}

func TestHTML(t *testing.T) {
	b, err := HTML(chat(t), func(prefix, src string) template.HTML {
		return template.HTML("<p>" + template.HTMLEscapeString(src) + "</p>")
	})
	got := string(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>Bread &amp; &lt;b&gt;butter&lt;/b&gt;</title>", "<p>**Jam.**</p>", "I &lt;/details&gt; look.", "Stopped."} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	for _, not := range []string{"<script", "src=", "href=", "url("} {
		if strings.Contains(got, not) {
			t.Errorf("%q is in the file", not)
		}
	}
}

func TestLines(t *testing.T) {
	all := envelopes(t)
	var b bytes.Buffer
	if err := Lines(&b, each(all, nil)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != len(all) {
		t.Fatalf("%d lines of %d events", len(lines), len(all))
	}
	for i, l := range lines {
		var e events.Envelope
		if err := json.Unmarshal([]byte(l), &e); err != nil || !reflect.DeepEqual(e, all[i]) {
			t.Errorf("line %d: %v: %s", i+1, err, l)
		}
	}
	if err := Lines(&b, each(all, events.ErrDamaged)); !errors.Is(err, events.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

func each(all []events.Envelope, then error) iter.Seq2[events.Envelope, error] {
	return func(yield func(events.Envelope, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
		if then != nil {
			yield(events.Envelope{}, then)
		}
	}
}
