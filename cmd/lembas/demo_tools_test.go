package main

import (
	"encoding/json"
	"strings"
	"testing"

	"lembas/events"
)

// awaitCard waits for the n-th card of a chat, from 1.
func (c *client) awaitCard(chat string, n int) (out events.ConsentRequested) {
	c.t.Helper()
	seen := 0
	c.readEvents(chat, func(env events.Envelope) bool {
		if env.Type == "consent.requested" {
			seen++
			must(c.t, json.Unmarshal(env.Data, &out))
		}
		return seen < n
	})
	return out
}

// readEvents follows a chat until the function has had enough.
func (c *client) readEvents(chat string, each func(events.Envelope) (more bool)) {
	c.t.Helper()
	enough := false
	err := c.follow(c.t.Context(), chat, "0", func(e event) bool {
		if !strings.Contains(e.typ, ".") {
			return true
		}
		var env events.Envelope
		must(c.t, json.Unmarshal(e.data, &env))
		enough = !each(env)
		return !enough
	})
	if !enough {
		c.t.Fatalf("the events of a chat ended: %v", err)
	}
}

// answerEach gives every item of a card the same verdict; the words answer its
// questions, or are the reason of a denial.
func (c *client) answerEach(chat string, card events.ConsentRequested, verdict, words string) {
	c.t.Helper()
	var answers []map[string]any
	for _, item := range card.Items {
		a := map[string]any{"key": item.Key, "verdict": verdict}
		if item.Question != "" && verdict != "deny" {
			a["text"] = words
		} else if verdict == "deny" {
			a["reason"] = words
		}
		answers = append(answers, a)
	}
	c.want(200, "POST", "/api/v1/chats/"+chat+"/interactions/"+card.Consent, map[string]any{"answers": answers})
}

// endedCalls are the calls of a chat that have ended, in order.
func (s *server) endedCalls(chat string) (out []events.ToolFinished) {
	for _, env := range s.stored(chat) {
		if env.Type == "tool.finished" {
			var p events.ToolFinished
			must(s.t, json.Unmarshal(env.Data, &p))
			out = append(out, p)
		}
	}
	return out
}

// TestTheDemoActs: what a newcomer meets in the first minute, word by word.
func TestTheDemoActs(t *testing.T) {
	s := serve(t, dataDir(t), "--demo")
	person := s.person("ann@example.org", true)
	at := func(t *testing.T) *client { return &client{t: t, url: s.url, token: person.token, http: person.http} }

	t.Run("allowed", func(t *testing.T) {
		ann := at(t)
		chat, reply := ann.ask("demo-chat", "use your tools")
		card := ann.awaitCard(chat, 1)
		if len(card.Items) != 1 || card.Items[0].Name != "demo_send_raven" || card.Items[0].Risk != events.RiskWrite {
			t.Fatalf("the card asks %+v", card.Items)
		}
		ann.answerEach(chat, card, "allow", "")
		if got := ann.awaitEnd(chat, reply); got != "complete" {
			t.Fatalf("the reply ended %s", got)
		}
		if said := ann.transcript(chat).last().Content; !strings.Contains(said, "Raven 1 flies to Elrond") {
			t.Errorf("it ends with %q", said)
		}
	})
	t.Run("denied", func(t *testing.T) {
		ann := at(t)
		chat, reply := ann.ask("demo-chat", "a card, please")
		card := ann.awaitCard(chat, 1)
		if len(card.Items) != 3 {
			t.Fatalf("the card asks %+v", card.Items)
		}
		ann.answerEach(chat, card, "deny", "not on a Monday")
		ann.awaitEnd(chat, reply)
		if said := ann.transcript(chat).last().Content; strings.Count(said, "not on a Monday") != 3 {
			t.Errorf("it ends with %q", said)
		}
	})
	t.Run("questions beside a call", func(t *testing.T) {
		ann := at(t)
		chat, reply := ann.ask("demo-chat", "tools and questions")
		card := ann.awaitCard(chat, 1)
		if len(card.Items) != 3 || len(card.Items[1].Options) != 3 || card.Items[2].Question == "" {
			t.Fatalf("the card asks %+v", card.Items)
		}
		ann.answerEach(chat, card, "allow", "Around it")
		ann.awaitEnd(chat, reply)
		said := ann.transcript(chat).last().Content
		if strings.Count(said, "Answer: Around it") != 2 || !strings.Contains(said, "Raven 2 ") {
			t.Errorf("it ends with %q", said)
		}
	})
	t.Run("a loop ends", func(t *testing.T) {
		ann := at(t)
		chat, reply := ann.ask("demo-chat", "loop")
		ann.answerEach(chat, ann.awaitCard(chat, 1), "always", "")
		if got := ann.awaitEnd(chat, reply); got != "complete" {
			t.Fatalf("the reply ended %s", got)
		}
		spent := 0
		for _, env := range s.stored(chat) {
			if env.Type == "reply.budget_spent" {
				spent++
			}
		}
		if n := len(s.endedCalls(chat)); spent != 1 || n < 2 || n > 10 {
			t.Errorf("%d calls, %d budgets", n, spent)
		}
	})
}

// TestTheDemosOtherTools: trouble, pictures, progress and long outputs, each on
// a card of its own.
func TestTheDemosOtherTools(t *testing.T) {
	s := serve(t, dataDir(t), "--demo")
	ann := s.person("ann@example.org", true)
	ann.want(200, "PATCH", "/api/v1/settings", map[string]any{"tools.ask": []string{}})
	done := func(t *testing.T, words string) []events.ToolFinished {
		t.Helper()
		chat, reply := ann.ask("demo-chat", words)
		if got := ann.awaitEnd(chat, reply); got != "complete" {
			t.Fatalf("the reply ended %s", got)
		}
		return s.endedCalls(chat)
	}
	if got := done(t, "broken"); len(got) != 1 || got[0].Status != events.ToolError || !strings.Contains(got[0].Output, "Take another way") {
		t.Errorf("broken: %+v", got)
	}
	if got := done(t, "picture"); len(got) != 1 || len(got[0].Images) != 1 || got[0].Images[0].Type != "image/png" {
		t.Errorf("picture: %+v", got)
	}
	got := done(t, "output")
	if len(got) != 2 || got[0].Blob == nil || got[1].Status != events.ToolOK || !strings.Contains(got[1].Output, "And they went on") {
		t.Errorf("output: %d calls", len(got))
	}
}

// TestTheDemoKeepsWhatWasSet: the next start has another port, and moves the
// addresses alone.
func TestTheDemoKeepsWhatWasSet(t *testing.T) {
	s := serve(t, dataDir(t), "--demo")
	ann := s.person("ann@example.org", true)
	rows := func() []any { return ann.want(200, "GET", "/api/v1/mcp", nil)["items"].([]any) }
	if n := len(rows()); n != 1 {
		t.Fatalf("%d servers", n)
	}
	row := rows()[0].(map[string]any)
	address, path := text(row["url"]), "/api/v1/mcp/"+text(row["id"])
	ann.want(200, "PATCH", path, map[string]any{"slug": "rivendell", "name": "Elves", "risk": "read", "off": []string{"saga"}})
	model := ann.want(200, "GET", "/api/v1/models", nil)["items"].([]any)[0].(map[string]any)
	if model["tools"] != true {
		t.Fatalf("the demo's model is %v", model)
	}
	ann.want(200, "PATCH", "/api/v1/models/"+text(model["id"]), map[string]any{"tools": false})

	must(t, s.stop())
	s.start()
	if n := len(rows()); n != 1 {
		t.Fatalf("%d servers after a restart", n)
	}
	row = ann.want(200, "GET", path, nil)
	if text(row["url"]) == address || row["slug"] != "rivendell" || row["name"] != "Elves" || row["risk"] != "read" || len(row["off"].([]any)) != 1 {
		t.Errorf("after a restart: %v", row)
	}
	for _, tool := range row["tools"].([]any) {
		if tool.(map[string]any)["held"] == true {
			t.Errorf("held: %v", tool)
		}
	}
	if m := ann.want(200, "GET", "/api/v1/models", nil)["items"].([]any)[0].(map[string]any); m["tools"] != false {
		t.Errorf("after a restart the model is %v", m)
	}

	ann.want(204, "DELETE", path, nil)
	must(t, s.stop())
	s.start()
	if n := len(rows()); n != 0 {
		t.Errorf("a server that was removed is back")
	}
}
