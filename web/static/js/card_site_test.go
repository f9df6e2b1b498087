package js_test

import (
	"bytes"
	"context"
	"encoding/json"
	"html/template"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/markdown"
	"lembas/web/pages/view"
	"lembas/web/static"
	"lembas/web/templates"
)

// house serves the product's own markup of a chat whose reply waits on cards, and
// of the page with everything that waits.
type house struct {
	*site
	t     *testing.T
	set   *templates.Set
	views *view.Views
	// What pages show; guarded by site.mu.
	cards  []*transcript.Consent
	titles map[string]string // chat to title, of the page of what waits
	scope  *templates.Scope
}

const answerRoute = "POST /api/v1/chats/c1/interactions/k1"

func newHouse(t *testing.T, cards ...*transcript.Consent) *house {
	t.Helper()
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	set, err := templates.New(files)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{site: newSite(t), t: t, set: set, cards: cards, titles: map[string]string{"c1": "Rome"},
		views: view.New(markdown.New(markdown.Options{}), func(string) string { return "Model" }, 1<<20)}
	h.files, h.root = files.Handler(), files.Root()
	h.answer("GET /chat/c1", func(w http.ResponseWriter, r *http.Request) { h.page(w, "chat", h.chat()) })
	h.answer("GET /", func(w http.ResponseWriter, r *http.Request) {
		h.page(w, "new", templates.NewChat{Shell: h.shell("new"), Composer: h.composer("", transcript.Idle)})
	})
	h.answer("GET /waiting", h.waiting)
	h.answer(answerRoute, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(`{"position":12}`)) })
	return h
}

func (h *house) page(w http.ResponseWriter, name string, data any) {
	var b bytes.Buffer
	if err := h.set.Page(&b, name, data); err != nil {
		h.t.Errorf("rendering %s: %v", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = b.WriteTo(w)
}

// fragment renders a part of a page.
func (h *house) fragment(name string, data any) string {
	h.t.Helper()
	var b bytes.Buffer
	if err := h.set.Fragment(&b, name, data); err != nil {
		h.t.Fatalf("rendering %s: %v", name, err)
	}
	return b.String()
}

func (h *house) shell(page string) templates.Shell {
	return templates.Shell{Title: "Rome", Page: page, Person: templates.Person{ID: "u1", Name: "Ann", Initial: "A"}, Epoch: "E", Cursor: "E.10",
		Waiting: templates.WaitingNav{Count: len(h.cards), Here: page == "waiting"},
		Sidebar: templates.SidebarTree{Groups: []templates.ChatGroup{{Label: "Today", Chats: []templates.ChatRow{{ID: "c1", Title: "Rome"}}}}}}
}

func (h *house) composer(chat, state string) templates.Composer {
	c := templates.Composer{Chat: chat, State: state, Placeholder: "Write a message", Waiting: "Message, or answer the card above", Scope: h.scope, MaxLength: 100000,
		Send:   templates.Send{Chat: chat, Act: "send"},
		Models: []templates.ModelOption{{ID: "m1", Title: "One", Selected: true}, {ID: "m2", Title: "Two"}}}
	if state != transcript.Idle {
		c.Send.Act = "stop"
	}
	return c
}

func (h *house) chat() templates.Chat {
	round := templates.Round{Reply: "r1", N: 1, HTML: template.HTML("<p>One moment.</p>")}
	state := transcript.Running
	for _, k := range h.cards {
		round.Cards = append(round.Cards, h.card("c1", k))
		if k.State == transcript.CardWaiting {
			state = transcript.Waiting
		}
	}
	return templates.Chat{Shell: h.shell("chat"), ID: "c1", Name: "Rome", Composer: h.composer("c1", state),
		Messages: templates.MessagePage{Chat: "c1", Messages: []templates.Message{
			{Chat: "c1", ID: "t1", Role: "user", Status: "complete", Author: "You", Text: "Look it up."},
			{Chat: "c1", ID: "r1", Role: "assistant", Status: state, Author: "Model", Rounds: []templates.Round{round}},
		}}}
}

func (h *house) card(chat string, k *transcript.Consent) templates.Card {
	return h.views.Card(&transcript.Chat{ID: chat, Owner: "u1"}, &transcript.Reply{ID: "r1"}, k)
}

// waiting is the page of what waits, or one of its parts.
func (h *house) waiting(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	var list templates.WaitingList
	for _, k := range h.cards {
		chat := map[bool]string{true: "c1", false: "c2"}[k.Consent == "k1"]
		list.Cards = append(list.Cards, templates.WaitingCard{Chat: chat, Title: h.titles[chat], Path: "/chat/" + chat + "#m-r1", Since: templates.Time{Short: "14:02"}, Card: h.card(chat, k)})
	}
	data := templates.Waiting{Shell: h.shell("waiting"), List: list}
	h.mu.Unlock()
	switch r.URL.Query().Get("part") {
	case "list":
		_, _ = w.Write([]byte(h.fragment("waiting-list", list)))
	case "nav":
		_, _ = w.Write([]byte(h.fragment("waiting-nav", data.Shell.Waiting)))
	default:
		h.page(w, "waiting", data)
	}
}

// put is the op that shows a card as it stands.
func (h *house) put(k *transcript.Consent) op {
	return op{"op": "put", "target": "card-" + k.Consent, "into": "cards-r1-1", "html": h.fragment("consent", h.card("c1", k))}
}

// answered is a card as a record.
func answered(k *transcript.Consent, answers ...events.ConsentAnswer) *transcript.Consent {
	done := *k
	done.State, done.Answers, done.By, done.Ended = transcript.CardAnswered, answers, "u1", time.Date(2026, 3, 3, 14, 2, 0, 0, time.UTC)
	return &done
}

// approval is a card with so many calls: the first has an argument that may be
// corrected, and a number that a script's own numbers cannot hold.
func approval(id string, calls int) *transcript.Consent {
	k := &transcript.Consent{State: transcript.CardWaiting, Since: time.Date(2026, 3, 3, 14, 0, 0, 0, time.UTC),
		ConsentRequested: events.ConsentRequested{Consent: id, Reply: "r1", Round: 1, Kind: events.ConsentApproval, Expires: "2036-03-04T14:00:00Z"}}
	for i := range calls {
		key := string(rune('a' + i))
		item := events.ConsentItem{Key: key, Call: "call_" + key, Name: "shell_run", Label: "Run a command", Risk: events.RiskExecute, Reason: "Commands ask",
			Why: "to see what is there", Detail: "ls -l " + key, Arguments: events.RawJSON(`{"command":"ls -l ` + key + `","timeout":9007199254740993}`), Pattern: "ls -l " + key}
		if i == 0 {
			item.Edits = "command"
		}
		k.Items = append(k.Items, item)
	}
	return k
}

// questions is a card with one question that has options and one that has none.
func questions(id string) *transcript.Consent {
	k := approval(id, 0)
	k.Kind = events.ConsentQuestion
	k.Items = []events.ConsentItem{
		{Key: "q1", Call: "call_a", Name: "ask_user", Question: "Which city?", Options: []string{"Rome", "Sparta"}},
		{Key: "q2", Call: "call_a", Name: "ask_user", Question: "Which year?"},
	}
	return k
}

// sent gives the answers of a request.
func sent(t *testing.T, c call) []map[string]any {
	t.Helper()
	var body struct {
		Answers []map[string]any
	}
	d := json.NewDecoder(bytes.NewReader([]byte(c.Body)))
	d.UseNumber()
	if err := d.Decode(&body); err != nil {
		t.Fatalf("the body %s: %v", c.Body, err)
	}
	return body.Answers
}

// count is how many requests were made for "METHOD PATH".
func (s *site) count(route string) (n int) {
	s.set(func(s *site) {
		for _, c := range s.calls {
			if c.Method+" "+c.Path == route {
				n++
			}
		}
	})
	return n
}

// card opens the chat and waits for its stream.
func (h *house) open(before string) (*tab, *line) {
	h.t.Helper()
	p := openTab(h.t, before)
	p.open(h.URL + "/chat/c1")
	return p, h.next(h.t)
}

// tap touches the screen for a moment.
func (p *tab) tap(x, y float64) {
	p.t.Helper()
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchStart", TouchPoints: []*input.TouchPoint{{X: x, Y: y}}})
		if err == nil {
			_, err = cdp.Call(ctx, target, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchEnd", TouchPoints: []*input.TouchPoint{}})
		}
		return chromedp.Void{}, err
	})
}
