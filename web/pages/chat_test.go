package pages_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"lembas/commands"
	"lembas/events"
)

const hostile = `<img src=x onerror=alert(1)>"'</script>`

func TestPublicPages(t *testing.T) {
	h := newHouse(t)
	nobody := human{h: h}
	nobody.get("/auth/register").is(200).says("h1", "") // the first account
	d := nobody.get("/auth/login?next=/chat/x").is(200)
	if v := attr(d.node("input[name=next]"), "value"); v != "/chat/x" {
		t.Errorf("next is %q", v)
	}
	h.human("ann")
	d = nobody.do("POST", "/auth/login", "email", hostile, "password", "wrong")
	if strings.Contains(d.source, "<img") {
		t.Errorf("a typed address came back as markup")
	}
	d = nobody.get("/settings")
	if to := d.header.Get("Location"); d.status != http.StatusSeeOther || !strings.HasPrefix(to, "/auth/login") {
		t.Errorf("signed out: %d to %q", d.status, to)
	}
}

func TestNewChat(t *testing.T) {
	h := newHouse(t)
	ann, bob := h.human("ann"), h.human("bob")
	ann.get("/").is(200).says(".notice", "Add a connection").node("main[data-chat-id=]")
	d := bob.get("/").is(200)
	d.says(".notice", "administrator").lacks(".notice a")
	if attr(d.node("#send"), "aria-disabled") != "true" {
		t.Error("Send is on without a model")
	}
	h.connect(ann.Caller, "Shop "+hostile, "")
	d = bob.get("/").is(200).lacks(".notice")
	if n := len(d.all("#model option")); n != 3 {
		t.Errorf("%d models to choose from", n)
	}
	if !strings.Contains(d.one("#model"), hostile) || len(d.all("#model img")) > 0 {
		t.Error("the connection's name is not shown as it is")
	}
	models, err := h.Models(t.Context(), true)
	h.ok(err)
	name, seeds := "Deep", map[string]string{"model": models[2].ID, "effort": "high"}
	folder, _, err := h.CreateFolder(t.Context(), bob.Caller, commands.PatchFolder{Name: &name, Seeds: &seeds})
	h.ok(err)
	d = bob.get("/?folder="+folder.ID).is(200).says("#model option[selected]", "third").says("#effort option[selected]", "high")
	if attr(d.node("input[name=folder]"), "value") != folder.ID {
		t.Error("the folder is not in the form")
	}
	if v := attr(ann.get("/?folder="+folder.ID).is(200).node("input[name=folder]"), "value"); v != "" {
		t.Errorf("another person's folder %q", v)
	}
}

func TestChatPage(t *testing.T) {
	h := newHouse(t)
	ann, bob := h.human("ann"), h.human("bob")
	h.connect(ann.Caller, "Shop", "")
	made, messages := ann.chat(50)
	d := ann.get("/chat/"+made.Chat).is(200).says("title", "turn 1 · LLeMbas").says("#chat-title", "turn 1")
	if n := len(d.all("#log [data-message]")); n != 40 {
		t.Errorf("%d messages, want 40", n)
	}
	d.says("#m-"+made.Reply+" strong", "50").says("#text-"+messages[49], "turn 50").lacks("#m-" + messages[29])
	if c, want := attr(d.node("body"), "data-cursor"), fmt.Sprintf("%s.%d", h.log.Epoch(), h.log.Head()); c != want {
		t.Errorf("cursor %q, want %q", c, want)
	}
	if len(d.all("#c-"+made.Chat)) != 1 {
		t.Error("the chat is not in the sidebar")
	}
	seen := len(d.all("#log [data-message]"))
	for older := attr(d.node("#older"), "hx-get"); older != ""; {
		p := ann.get(older).is(200)
		seen += len(p.all("[data-message]"))
		older = ""
		if next := p.all("#older"); len(next) > 0 {
			older = attr(next[0], "hx-get")
		}
	}
	if seen != 100 {
		t.Errorf("%d messages in all, want 100", seen)
	}
	for _, path := range []string{"", "/messages?before=" + messages[30], "/messages/" + made.Reply + "?version=1"} {
		bob.get("/chat/" + made.Chat + path).is(404)
	}
	bob.get("/chat/none").is(404).says(".fault-status", "404")
	_, err := h.DeleteChat(t.Context(), ann.Caller, made.Chat)
	h.ok(err)
	ann.get("/chat/" + made.Chat).is(404)
}

func TestVersions(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	h.connect(ann.Caller, "Shop", "")
	made, messages := ann.chat(1)
	again, _, err := h.Regenerate(t.Context(), ann.Caller, made.Chat, made.Reply)
	h.ok(err)
	h.answer(made.Chat, again.Reply, "another answer")
	d := ann.get("/chat/"+made.Chat).is(200).says("#m-"+again.Reply+" .versions", "2/2").lacks("#m-" + made.Reply)
	prev := attr(d.all("#m-" + again.Reply + " .versions button")[0], "hx-get")
	d = ann.get(prev).is(200).says(".versions", "1/2").says("article.msg strong", "1")
	if next := attr(d.all(".versions button")[1], "hx-get"); !strings.Contains(ann.get(next).is(200).source, "another answer") {
		t.Error("the later version is not the newest reply")
	}
	edited, _, err := h.EditMessage(t.Context(), ann.Caller, made.Chat, messages[0], "other words")
	h.ok(err)
	h.answer(made.Chat, edited.Reply, "to those")
	d = ann.get("/chat/"+made.Chat).is(200).says("#text-"+messages[0], "other words").says("#foot-"+messages[0], "edited")
	ann.get(attr(d.all("#m-" + messages[0] + " .versions button")[0], "hx-get")).is(200).says("#text-"+messages[0], "turn 1")
	for _, version := range []string{"0", "9", "x", ""} {
		ann.get("/chat/" + made.Chat + "/messages/" + edited.Reply + "?version=" + version).is(404)
	}
}

// TestRepliesAsTheyAre: figures with a tilde where estimated, thinking with its
// time, retries, errors in words with a way on, and nothing of it as markup.
func TestRepliesAsTheyAre(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	h.connect(ann.Caller, "Shop", "")
	made, _, err := h.CreateChat(t.Context(), ann.Caller, commands.CreateChat{Text: hostile})
	h.ok(err)
	first, share := int64(1200), 12.4
	trouble := events.RoundError{Kind: "http", Status: 429, Message: hostile}
	h.append(made.Chat, events.RoundStarted{Reply: made.Reply, Round: 1})
	ann.get("/chat/"+made.Chat).is(200).says("#wait-"+made.Reply, "Asking small").says("#chat-title", hostile).lacks("main img")
	h.append(made.Chat, events.RoundRetried{Reply: made.Reply, Round: 1, Attempt: 1, Error: trouble, WaitMS: 1000})
	ann.get("/chat/"+made.Chat).is(200).says("#wait-"+made.Reply, "Endpoint busy, trying again in 1 s")
	h.append(made.Chat,
		events.ReplyChunk{Reply: made.Reply, Round: 1, Kind: events.ChunkReasoning, Text: hostile, Cuts: [][2]int64{{0, 4000}}},
		events.ReplyChunk{Reply: made.Reply, Round: 1, Kind: events.ChunkContent, Text: hostile, Cuts: [][2]int64{{0, 5000}}},
		events.ToolCalled{Reply: made.Reply, Round: 1, Call: hostile, Name: hostile, Raw: hostile, Why: hostile},
		events.ToolFinished{Reply: made.Reply, Round: 1, Call: hostile, Status: events.ToolRefused, Output: hostile},
		events.RoundFinished{Reply: made.Reply, Round: 1, Error: &trouble},
		events.ReplyFinished{Reply: made.Reply, Status: events.Failed, Error: &trouble, Metrics: events.Metrics{Prompt: 3210, Completion: 40, Estimated: true, Context: &share, MS: 61_000, FirstMS: &first, TokensPerSecond: 31.4, Rounds: 1}})
	d := ann.get("/chat/" + made.Chat).is(200)
	d.says("#thinkline-"+made.Reply+"-1", "Thought for 4.0 s").says("#note-"+made.Reply+"-1-retry1", "trying again in 1 s")
	d.says("#err-"+made.Reply, "The endpoint is busy").says("#err-"+made.Reply+" pre", hostile).says("#err-"+made.Reply+" [data-act=retry]", "Retry")
	for _, want := range []string{"~3,210 in", "~40 out", "~31.4 tok/s", "first after 1.2 s", "61 s", "~12.4 % of context"} {
		d.says(".metrics", want)
	}
	d.lacks("main img").lacks("main script").says("#chat-status", "failed").says("#toolhead-"+made.Reply+"-1-0 b", hostile)
	if state := attr(d.node("#composer"), "data-state"); state != "idle" {
		t.Errorf("the composer is %q", state)
	}
}

func TestQueueOfAChat(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	h.connect(ann.Caller, "Shop", "")
	made, _, err := h.CreateChat(t.Context(), ann.Caller, commands.CreateChat{Text: "one"})
	h.ok(err)
	queued, _, err := h.SubmitMessage(t.Context(), ann.Caller, made.Chat, "two")
	h.ok(err)
	d := ann.get("/chat/"+made.Chat).is(200).says("#q-"+queued.Message, "two").says("#chat-status", "1 queued")
	if !has(d.node("#q-"+queued.Message+" [data-act=send-now]"), "hidden") || attr(d.node("#send"), "data-act") != "stop" {
		t.Error("while a reply runs, Stop is offered and Send now is not")
	}
	_, err = h.Stop(t.Context(), ann.Caller, made.Chat)
	h.ok(err)
	d = ann.get("/chat/"+made.Chat).is(200).says("#err-"+made.Reply, "Stopped by you.")
	if has(d.node("#q-"+queued.Message+" [data-act=send-now]"), "hidden") || attr(d.node("#send"), "data-act") != "send" {
		t.Error("after Stop, Send now is offered")
	}
}

// BenchmarkOpenLongChat: a chat of 5,000 messages against one of 50 (P11).
func BenchmarkOpenLongChat(b *testing.B) {
	h := newHouse(b)
	ann := h.human("ann")
	h.connect(ann.Caller, "Shop", "")
	short, _ := ann.chat(25)
	long, _ := ann.chat(2500)
	open := func(chat string) func(*testing.B) {
		return func(b *testing.B) {
			ann.h.t = b
			for b.Loop() {
				ann.get("/chat/" + chat).is(200)
			}
		}
	}
	b.Run("50", open(short.Chat))
	b.Run("5000", open(long.Chat))
}

// BenchmarkAttach: one more browser opens a chat in the middle of a reply of
// 100 KB, which goes on meanwhile (P7).
func BenchmarkAttach(b *testing.B) {
	h := newHouse(b)
	ann := h.human("ann")
	h.connect(ann.Caller, "Shop", "")
	made, _, err := h.CreateChat(b.Context(), ann.Caller, commands.CreateChat{Text: "write much"})
	h.ok(err)
	h.append(made.Chat, events.RoundStarted{Reply: made.Reply, Round: 1})
	grow := func(words string) {
		h.append(made.Chat, events.ReplyChunk{Reply: made.Reply, Round: 1, Kind: events.ChunkContent, Text: words, Cuts: [][2]int64{{0, 1}}})
	}
	grow(strings.Repeat("Some *words* and `code`.\n\n```go\nfunc f() int { return 1 }\n```\n\n", 1500))
	ann.get("/chat/" + made.Chat).is(200)
	for b.Loop() {
		grow("and **more** words\n\n")
		ann.get("/chat/" + made.Chat).is(200)
	}
}
