package pages_test

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"testing"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/pages"
)

// waits is what waits, by person, and how far it is up to date.
type waits struct {
	cards map[string][]pages.WaitingCard
	at    events.Position
}

func (w *waits) Wait(ctx context.Context, at events.Position) error { w.at = at; return nil }

func (w *waits) Waiting(_ context.Context, user string) ([]pages.WaitingCard, error) {
	return w.cards[user], nil
}

func waitingCard(chat, title, consent string, since time.Time) pages.WaitingCard {
	return pages.WaitingCard{Chat: chat, Title: title, Since: since, ConsentRequested: events.ConsentRequested{Consent: consent, Reply: "r1", Round: 1, Kind: events.ConsentApproval,
		Items:   []events.ConsentItem{{Key: "a", Call: "call_a", Name: "fetch", Label: "Fetch", Detail: "https://example.org/" + hostile, Arguments: events.RawJSON(`{"url":"https://example.org/"}`), Risk: events.RiskRead, Pattern: "fetch"}},
		Expires: "2036-03-04T14:00:00Z"}}
}

// TestWaitingPage lists a person's own cards with their chats, and gives the
// parts that a page asks for again.
func TestWaitingPage(t *testing.T) {
	h := newHouse(t)
	ann, bob := h.human("ann"), h.human("bob")
	w := &waits{cards: map[string][]pages.WaitingCard{ann.User: {
		waitingCard("c1", "Rome "+hostile, "k1", time.Now().AddDate(0, 0, -3)), waitingCard("c2", "", "k2", time.Now()),
	}}}
	h.pages.Waiting = w
	d := ann.get("/waiting").is(200).says("h1", "Waiting for you").says("#w-k1 h2", "Rome "+hostile).says("#w-k2 h2", "New chat").says("#waiting .count", "2")
	if len(d.all("#waiting-list img"))+len(d.all("#waiting-list script")) > 0 {
		t.Error("what a model wrote is markup")
	}
	if a := d.node("#w-k1 h2 a"); attr(a, "href") != "/chat/c1#m-r1" || attr(d.node("#w-k1"), "data-chat") != "c1" {
		t.Error("a card does not lead to its chat")
	}
	d.node("#card-k1[data-consent=k1][data-state=waiting]")
	d.node("#w-k1 [data-verdict=allow]")
	d.says("#w-k1 header .hint time", "UTC").node("#waiting[aria-current=page]")
	if w.at != h.Log.Head() {
		t.Errorf("the list is waited for up to %d, the log is at %d", w.at, h.Log.Head())
	}
	ann.get("/settings").is(200).says("#waiting .count", "2").lacks("#waiting[aria-current]")
	ann.get("/waiting?part=nav").is(200).says("#waiting .count", "2").lacks("main")
	ann.get("/waiting?part=nav&here=1").is(200).node("#waiting[aria-current=page]")
	ann.get("/waiting?part=list").is(200).lacks("main").node("#waiting-list #w-k1")
	bob.get("/waiting").is(200).says(".empty", "Nothing waits for you").lacks("[data-consent]").lacks("#waiting .count")
	human{h: h}.get("/waiting").is(http.StatusSeeOther)
}

// TestManyWait: the page is bounded, and says what it leaves out.
func TestManyWait(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	w := &waits{cards: map[string][]pages.WaitingCard{}}
	for i := range 60 {
		w.cards[ann.User] = append(w.cards[ann.User], waitingCard("c1", "Rome", "k"+strconv.Itoa(i), time.Now()))
	}
	h.pages.Waiting = w
	d := ann.get("/waiting").is(200).says("#waiting-list", "10 more wait").says("#waiting .count", "60")
	if n := len(d.all("[data-consent]")); n != 50 {
		t.Errorf("%d cards", n)
	}
}

// TestWithoutWhatWaits the pages are there all the same.
func TestWithoutWhatWaits(t *testing.T) {
	h := newHouse(t)
	h.human("ann").get("/waiting").is(200).says(".empty", "Nothing waits").node("#waiting[data-count=0]")
}

// scopes is the tools that models have, by model and chat scope.
type scopes struct{ asked []any }

func (s *scopes) ScopeRows(_ context.Context, user, model string, scope map[string]bool) ([]commands.ScopeRow, error) {
	s.asked = []any{user, model, scope}
	if model == "" {
		return nil, nil
	}
	if model == "gone" {
		return nil, events.ErrNotFound
	}
	on := func(key string) bool { off, ok := scope[key]; return !ok || off }
	return []commands.ScopeRow{
		{Key: "fetch", Label: "Fetch " + hostile, Icon: "globe", On: on("fetch"), Tools: 1},
		{Key: "web_search", Label: "Search", On: on("web_search"), Tools: 1, Off: "switched off here"},
		{Key: "mcp", Label: "Servers", On: on("mcp"), Tools: 7},
		{Key: "mcp:lab", Label: "Lab", Group: "mcp", On: on("mcp:lab"), Tools: 5},
		{Key: "mcp:attic", Label: "Attic", Group: "mcp", On: on("mcp:attic"), Tools: 2},
	}, nil
}

// TestScope: the menu says what is on, what cannot be and why, and what is always
// allowed; of another's chat it says nothing.
func TestScope(t *testing.T) {
	h := newHouse(t)
	ann, bob := h.human("ann"), h.human("bob")
	tools := &scopes{}
	h.pages.Tools = tools
	h.connect(ann.Caller, "Shop", "")
	made, _ := ann.chat(1)
	var model string
	h.ok(h.WithChat(t.Context(), made.Chat, func(c *transcript.Chat) error { model = c.Model; return nil }))
	h.append(made.Chat, events.ChatScopeChanged{Scope: map[string]bool{"mcp:lab": false}}, events.ChatAllowAdded{Pattern: hostile, Consent: "k"})
	for _, path := range []string{"/chat/" + made.Chat, "/chat/" + made.Chat + "/scope"} {
		d := ann.get(path).is(200).says("#scope button[data-menu]", "3 of 8 tools").says(".scope-allow code", hostile).says("#scope-menu", "switched off here")
		d.node("[data-scope=fetch][checked]")
		d.node("[data-scope=web_search][disabled]")
		d.lacks("[data-scope=web_search][data-off]").lacks("[data-scope=web_search][checked]")
		d.node("[data-scope=mcp:lab][data-off]")
		if len(d.all("#scope img")) > 0 {
			t.Error("a tool's name is markup")
		}
		if got := attr(d.node("#scope"), "data-src"); got != "/chat/"+made.Chat+"/scope" {
			t.Errorf("it is asked for again at %s", got)
		}
		if want := []any{ann.User, model, map[string]bool{"mcp:lab": false}}; !reflect.DeepEqual(tools.asked, want) {
			t.Errorf("asked with %v, want %v", tools.asked, want)
		}
	}
	bob.get("/chat/" + made.Chat + "/scope").is(404)
	ann.get("/").is(200).says("#scope button[data-menu]", "8 tools").lacks(".scope-allow").lacks("#scope[data-src]")
	ann.get("/scope?model="+model+"&off=fetch&off=mcp:lab").is(200).says("#scope button[data-menu]", "2 of 8 tools").node("[data-scope=fetch][data-off]")
	if want := []any{ann.User, model, map[string]bool{"fetch": false, "mcp:lab": false}}; !reflect.DeepEqual(tools.asked, want) {
		t.Errorf("asked with %v, want %v", tools.asked, want)
	}
	d := ann.get("/scope?model="+model+"&off=mcp").is(200).says("#scope button[data-menu]", "1 of 8 tools")
	d.node("[data-scope=mcp:lab][disabled]")
	d.node("[data-scope=mcp][data-off]")
	d.lacks("[data-scope=mcp:lab][data-off]").lacks("[data-scope=mcp:lab][checked]")
	for _, none := range []string{"", "gone"} {
		ann.get("/scope?model="+none).is(200).says("#scope button[data-menu]", "No tools").says("#scope-menu", "no tools for this model").lacks("[data-scope]")
	}
}

// TestNoScopeMenu: without tools, or without a model, there is none.
func TestNoScopeMenu(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	h.pages.Tools = &scopes{}
	ann.get("/").is(200).lacks("#scope")
	h.pages.Tools = nil
	h.connect(ann.Caller, "Shop", "")
	ann.get("/").is(200).lacks("#scope")
}

// TestPlaceholderOfAWaitingChat says that there is a card to answer.
func TestPlaceholderOfAWaitingChat(t *testing.T) {
	h := newHouse(t)
	ann := h.human("ann")
	h.connect(ann.Caller, "Shop", "")
	made, _, err := h.CreateChat(t.Context(), ann.Caller, commands.CreateChat{Text: "look"})
	h.ok(err)
	h.append(made.Chat, events.RoundStarted{Reply: made.Reply, Round: 1}, waitingCard("", "", "k1", time.Now()).ConsentRequested)
	d := ann.get("/chat/" + made.Chat).is(200)
	if got := attr(d.node("#prompt"), "placeholder"); got != "Message, or answer the card above" {
		t.Errorf("the box says %q", got)
	}
	if attr(d.node("#composer"), "data-state") != "waiting" || attr(d.node("#send"), "data-act") != "stop" {
		t.Error("Stop is not offered")
	}
}
