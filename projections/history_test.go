package projections_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"lembas/events"
	"lembas/events/store"
	"lembas/projections"
	"lembas/projections/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openStore(t testing.TB, fs vfs.FS) *store.Store {
	t.Helper()
	st, err := store.Open("data", store.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func openSet(t testing.TB, st *store.Store) *projections.Set {
	t.Helper()
	s, err := projections.Open(st)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func catchUp(t testing.TB, s *projections.Set) {
	t.Helper()
	if err := s.CatchUp(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t testing.TB, st *store.Store, stream string, payloads ...events.Payload) events.Result {
	t.Helper()
	part := events.Part{Stream: stream}
	for _, p := range payloads {
		part.Events = append(part.Events, events.New{Payload: p})
	}
	res, err := st.Append(context.Background(), events.Batch{Actor: events.Actor{Kind: events.System, ID: "test"}, Parts: []events.Part{part}})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// fold is the whole fold of a chat's stream: what windows must agree with. It
// decodes the long way.
func fold(t testing.TB, st *store.Store, chat string) *transcript.Chat {
	t.Helper()
	c := &transcript.Chat{}
	for env, err := range st.ReadStream(context.Background(), events.ChatStream(chat), 0) {
		if err != nil {
			t.Fatal(err)
		}
		p, err := events.Decode(&env)
		if err != nil {
			t.Fatal(err)
		}
		c.ApplyDecoded(&env, p)
	}
	return c
}

// history makes random but possible events: what commands and the loop would
// append.
type history struct {
	t     testing.TB
	st    *store.Store
	rng   *rand.Rand
	ids   int
	chats []string
	users []string
}

func newHistory(t testing.TB, st *store.Store, seed uint64) *history {
	return &history{t: t, st: st, rng: rand.New(rand.NewPCG(seed, 7))}
}

func (h *history) id(kind string) string {
	h.ids++
	return fmt.Sprintf("%s%d", kind, h.ids)
}

func (h *history) text() string {
	return strings.Repeat([]string{"héllo ", "<b>&\"", "a\nb ", "\u2028", "𝄞"}[h.rng.IntN(5)], 1+h.rng.IntN(4))
}

func (h *history) pick(list []string) string { return list[h.rng.IntN(len(list))] }

func (h *history) user() {
	u := h.id("user")
	h.users = append(h.users, u)
	appendTo(h.t, h.st, events.UserStream(u), events.UserRegistered{User: u, Email: u + "@x.test", Name: "Name of " + u, Admin: h.rng.IntN(3) == 0})
}

func (h *history) create() {
	c, m, r := h.id("chat"), h.id("m"), h.id("r")
	h.chats = append(h.chats, c)
	appendTo(h.t, h.st, events.ChatStream(c), events.ChatCreated{Chat: c, Owner: h.pick(h.users), Kind: events.KindChat, Model: "mo", Title: h.text()},
		events.MessageSubmitted{Message: m, Text: h.text(), Attachments: []events.Attachment{}},
		events.ReplyRequested{Reply: r, Message: m, Reason: events.ForMessage, Model: "mo"})
}

// step does one thing somewhere.
func (h *history) step() {
	switch n := h.rng.IntN(40); {
	case n == 0 || len(h.users) == 0:
		h.user()
	case n <= 2 && len(h.chats) < 3+h.ids/300 || len(h.chats) == 0:
		h.create()
	case n <= 5:
		h.aboutUser(h.pick(h.users))
	default:
		chat := h.pick(h.chats)
		c := fold(h.t, h.st, chat)
		var out []events.Payload
		switch r := c.Open(); {
		case c.Deleted:
			return
		case h.rng.IntN(12) == 0:
			out = h.settings(c)
		case r != nil:
			out = h.running(c, r)
		default:
			out = h.idle(c)
		}
		if len(out) > 0 {
			appendTo(h.t, h.st, events.ChatStream(chat), out...)
		}
	}
}

func (h *history) aboutUser(u string) {
	yes := h.rng.IntN(2) == 0
	var p events.Payload
	switch h.rng.IntN(5) {
	case 0:
		p = events.UserChanged{Disabled: &yes}
	case 1:
		name := h.text()
		p = events.UserChanged{Name: &name, Admin: &yes}
	case 2:
		p = events.FolderCreated{Folder: fmt.Sprint("f", h.rng.IntN(3)), State: events.FolderState{Parent: []string{"", "f1"}[h.rng.IntN(2)]}}
	case 3:
		p = events.FolderRemoved{Folder: fmt.Sprint("f", h.rng.IntN(3))}
	default:
		if len(h.chats) == 0 {
			return
		}
		p = events.ChatSeen{Chat: h.pick(h.chats), Position: events.Position(h.rng.IntN(int(h.st.Head()))) + 1}
	}
	appendTo(h.t, h.st, events.UserStream(u), p)
}

func (h *history) settings(c *transcript.Chat) []events.Payload {
	switch h.rng.IntN(9) {
	case 0:
		return []events.Payload{events.ChatRenamed{Title: h.text(), Origin: "person"}}
	case 1:
		return []events.Payload{events.ChatMoved{Folder: fmt.Sprint("f", h.rng.IntN(3))}}
	case 2:
		return []events.Payload{events.ChatPinned{Pinned: !c.Pinned}}
	case 3:
		return []events.Payload{events.ChatModelChanged{From: c.Model, To: h.id("mo")}, events.ChatEffortChanged{Effort: "low"}}
	case 4:
		return []events.Payload{events.ChatAllowAdded{Pattern: h.text()}}
	case 5:
		return []events.Payload{events.ChatScopeChanged{Scope: map[string]bool{"z": true, "a": false}}}
	case 6: // an old reply's chunks are folded
		if replies := endedReplies(c); len(replies) > 0 {
			r := replies[h.rng.IntN(len(replies))]
			return []events.Payload{events.ReplyFolded{Reply: r.ID, Rounds: []events.FoldedRound{{Round: 1, Content: h.text(), Reasoning: h.text()}}}}
		}
	case 7:
		if h.rng.IntN(6) == 0 {
			return append(h.end(c, "deleted"), events.ChatDeleted{})
		}
	}
	return nil
}

func endedReplies(c *transcript.Chat) (out []*transcript.Reply) {
	for _, turns := range [][]*transcript.Turn{c.Turns, c.Left} {
		for _, t := range turns {
			for _, r := range t.Replies {
				if r.Ended() {
					out = append(out, r)
				}
			}
		}
	}
	return out
}

func (h *history) end(c *transcript.Chat, why string) (out []events.Payload) {
	r := c.Open()
	if r == nil {
		return nil
	}
	for _, p := range c.Pending {
		out = append(out, events.ConsentWithdrawn{Consent: p.Consent, Reason: why})
	}
	return append(out, events.ReplyFinished{Reply: r.ID, Status: events.Stopped, Reason: why})
}

func (h *history) idle(c *transcript.Chat) []events.Payload {
	m, r := h.id("m"), h.id("r")
	ask := func(message, reason string) events.Payload {
		return events.ReplyRequested{Reply: r, Message: message, Reason: reason, Model: c.Model}
	}
	switch n := h.rng.IntN(8); {
	case n == 0 && len(c.Turns) > 0: // regenerate, often of the last
		t := c.Turns[max(h.rng.IntN(len(c.Turns)), h.rng.IntN(len(c.Turns)))]
		if t == c.Last() {
			return []events.Payload{ask(t.ID, events.ForRegenerate)}
		}
		return []events.Payload{events.ChatRewound{Message: t.ID}, ask(t.ID, events.ForRegenerate)}
	case n == 1 && len(c.Turns) > 0:
		t := c.Turns[h.rng.IntN(len(c.Turns))]
		return []events.Payload{events.MessageEdited{Message: t.ID, Text: h.text()}, events.ChatRewound{Message: t.ID}, ask(t.ID, events.ForEdit)}
	case n == 2 && len(c.Queue) > 0:
		q := c.Queue[h.rng.IntN(len(c.Queue))].ID
		return []events.Payload{events.MessageDelivered{Message: q, Reply: r}, ask(q, events.ForQueue)}
	case n == 3 && len(c.Queue) > 0:
		return []events.Payload{events.MessageWithdrawn{Message: c.Queue[0].ID}}
	default:
		return []events.Payload{events.MessageSubmitted{Message: m, Text: h.text(), Attachments: []events.Attachment{}}, ask(m, events.ForMessage)}
	}
}

func (h *history) running(c *transcript.Chat, r *transcript.Reply) []events.Payload {
	x := r.Current()
	if x == nil || x.Done && h.rng.IntN(2) == 0 {
		n := 1
		if len(r.Rounds) > 0 {
			n = r.Rounds[len(r.Rounds)-1].N + 1
		}
		return []events.Payload{events.ReplyStarted{Reply: r.ID, Model: "mo", ModelName: "Mo", Connection: "co"},
			events.RoundStarted{Reply: r.ID, Round: n, Request: []byte(`{"a":["<",1]}`), Estimate: n}}
	}
	call := fmt.Sprint("call", len(x.Calls))
	switch h.rng.IntN(14) {
	case 0:
		return []events.Payload{events.RoundFinished{Reply: r.ID, Round: x.N, FinishReason: "stop", Usage: &events.Usage{Prompt: 3}, MS: 5}}
	case 1:
		return []events.Payload{events.ToolCalled{Reply: r.ID, Round: x.N, Call: call, Name: "fetch", Arguments: []byte(`{"u":"<é>"}`), Raw: `{"u" :1}`}}
	case 2:
		if len(x.Calls) > 0 {
			id := x.Calls[len(x.Calls)-1].ID
			return []events.Payload{events.ToolStarted{Reply: r.ID, Round: x.N, Call: id},
				events.ToolFinished{Reply: r.ID, Round: x.N, Call: id, Status: events.ToolOK, Output: h.text()}}
		}
	case 3:
		return []events.Payload{events.MessageQueued{Message: h.id("m"), Text: h.text(), Attachments: []events.Attachment{}}}
	case 4:
		if len(c.Queue) > 0 {
			q := c.Queue[0].ID
			return [][]events.Payload{
				{events.MessageDelivered{Message: q, Reply: r.ID, Round: x.N}},
				{events.MessageEdited{Message: q, Text: h.text()}},
				{events.MessageWithdrawn{Message: q}},
			}[h.rng.IntN(3)]
		}
	case 5:
		return []events.Payload{h.card(r, x)}
	case 6:
		if len(c.Pending) > 0 {
			return h.settle(&c.Pending[0])
		}
	case 7:
		return []events.Payload{events.RoundSuperseded{Reply: r.ID, Round: x.N}, events.ReplyResumed{Reply: r.ID}}
	case 8, 10, 11, 12:
		out := h.end(c, "")
		if len(c.Queue) > 0 { // the next one goes at once
			q := c.Queue[0].ID
			out = append(out, events.MessageDelivered{Message: q, Reply: h.id("r")})
			out = append(out, events.ReplyRequested{Reply: fmt.Sprint("r", h.ids), Message: q, Reason: events.ForQueue})
		}
		return out
	case 9:
		return []events.Payload{events.ReplyReclassified{Reply: r.ID, Round: x.N, From: events.ChunkContent, To: events.ChunkReasoning}}
	}
	kind := []string{events.ChunkContent, events.ChunkReasoning, events.ChunkArguments}[h.rng.IntN(3)]
	return []events.Payload{events.ReplyChunk{Reply: r.ID, Round: x.N, Kind: kind, Text: h.text(), Cuts: [][2]int64{{0, int64(h.rng.IntN(90))}}}}
}

// card asks about all calls of a round.
func (h *history) card(r *transcript.Reply, x *transcript.Round) events.Payload {
	out := events.ConsentRequested{Consent: h.id("k"), Reply: r.ID, Round: x.N, Kind: events.ConsentApproval, Mode: "manual", Expires: "2026-12-01T00:00:00Z"}
	for i, call := range x.Calls {
		out.Items = append(out.Items, events.ConsentItem{Key: fmt.Sprint(i), Call: call.ID, Name: call.Name, Arguments: []byte(`{"u":"<é>"}`), Detail: h.text()})
	}
	return out
}

// settle ends a card in one of the ways.
func (h *history) settle(card *events.ConsentRequested) []events.Payload {
	switch h.rng.IntN(6) {
	case 0:
		return []events.Payload{events.ConsentExpired{Consent: card.Consent}}
	case 1:
		return []events.Payload{events.ConsentWithdrawn{Consent: card.Consent, Reason: "stopped"}}
	}
	out := events.ConsentAnswered{Consent: card.Consent, Session: "s", Address: "192.0.2.1"}
	always := false
	for _, x := range card.Items {
		a := events.ConsentAnswer{Key: x.Key, Verdict: []string{events.VerdictAllow, events.VerdictAlways, events.VerdictDeny}[h.rng.IntN(3)]}
		if h.rng.IntN(3) == 0 {
			a.Arguments = []byte(`{"u":"other"}`)
		}
		if a.Verdict == events.VerdictAlways {
			a.Pattern, always = x.Name, true
		}
		out.Answers = append(out.Answers, a)
	}
	if always {
		return []events.Payload{out, events.ChatAllowAdded{Pattern: "fetch", Consent: card.Consent}}
	}
	return []events.Payload{out}
}
