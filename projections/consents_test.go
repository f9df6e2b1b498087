package projections_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
	"lembas/events/store"
	"lembas/projections"
)

func waiting(t *testing.T, set *projections.Set, user string) (ids []string) {
	t.Helper()
	cards, err := set.Consents.Waiting(context.Background(), user)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cards {
		ids = append(ids, c.Consent)
	}
	return ids
}

// ask puts a card into a chat whose reply is open.
func ask(t *testing.T, st *store.Store, chat, consent, kind string) {
	t.Helper()
	expires := "2026-12-01T10:00:00Z"
	if kind == events.ConsentPlan {
		expires = ""
	}
	appendTo(t, st, events.ChatStream(chat), events.ConsentRequested{Consent: consent, Reply: "r", Round: 1, Kind: kind, Expires: expires,
		Items: []events.ConsentItem{{Key: "1", Call: "call", Name: "fetch", Arguments: []byte(`{"url":"https://x.test"}`)}}})
}

func TestWaitingAgreesWithTheFold(t *testing.T) {
	total := 0
	for seed := range uint64(3) {
		st := openStore(t, vfs.NewMem())
		set := openSet(t, st)
		h := newHistory(t, st, 700+seed)
		for i := range 400 {
			if h.step(); i%10 == 0 {
				catchUp(t, set)
				total += compareWaiting(t, set, st, h)
			}
		}
	}
	if total < 20 {
		t.Errorf("the histories had %d cards that wait: the test looks at nothing", total)
	}
}

// compareWaiting holds the list against the fold of all chats, and counts cards.
func compareWaiting(t *testing.T, set *projections.Set, st *store.Store, h *history) (total int) {
	t.Helper()
	want, titles := map[string][]string{}, map[string]string{}
	for _, chat := range h.chats {
		full := fold(t, st, chat)
		for _, p := range full.Pending {
			if !full.Deleted {
				want[full.Owner] = append(want[full.Owner], p.Consent)
				titles[p.Consent] = full.Title
			}
		}
	}
	for _, u := range h.users {
		got := waiting(t, set, u)
		slices.Sort(got)
		slices.Sort(want[u])
		if !slices.Equal(got, want[u]) {
			t.Errorf("at %d: %s waits for %v, the fold says %v", st.Head(), u, got, want[u])
		}
		cards, _ := set.Consents.Waiting(context.Background(), u)
		for _, c := range cards {
			if c.Title != titles[c.Consent] || c.Chat == "" || c.Since.IsZero() {
				t.Errorf("at %d: %+v, want the title %q", st.Head(), c, titles[c.Consent])
			}
		}
	}
	open, err := set.Consents.Open(context.Background())
	if err != nil || len(open) != len(titles) {
		t.Errorf("at %d: %d cards are open, %v; want %d", st.Head(), len(open), err, len(titles))
	}
	return len(titles)
}

func TestWhatEndsACard(t *testing.T) {
	for name, c := range map[string]struct {
		ends []events.Payload
		want []string
	}{
		"nothing":       {nil, []string{"k1", "k2", "plan"}},
		"an answer":     {[]events.Payload{events.ConsentAnswered{Consent: "k1"}}, []string{"k2", "plan"}},
		"its time":      {[]events.Payload{events.ConsentExpired{Consent: "k2"}}, []string{"k1", "plan"}},
		"a withdrawal":  {[]events.Payload{events.ConsentWithdrawn{Consent: "plan", Reason: "stopped"}}, []string{"k1", "k2"}},
		"another's":     {[]events.Payload{events.ConsentAnswered{Consent: "other"}}, []string{"k1", "k2", "plan"}},
		"twice":         {[]events.Payload{events.ConsentAnswered{Consent: "k1"}, events.ConsentExpired{Consent: "k1"}}, []string{"k2", "plan"}},
		"the reply":     {[]events.Payload{events.ReplyFinished{Reply: "r", Status: events.Stopped}}, []string{"plan"}},
		"another reply": {[]events.Payload{events.ReplyFinished{Reply: "r-x", Status: events.Stopped}}, []string{"k1", "k2", "plan"}},
		"the chat":      {[]events.Payload{events.ChatDeleted{}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			st := openStore(t, vfs.NewMem())
			set := openSet(t, st)
			chatOf(t, st, "ann", "c", "Trip")
			chatOf(t, st, "bob", "d", "Other")
			ask(t, st, "c", "k1", events.ConsentApproval)
			ask(t, st, "d", "bobs", events.ConsentQuestion)
			ask(t, st, "c", "k2", events.ConsentApproval)
			ask(t, st, "c", "plan", events.ConsentPlan)
			catchUp(t, set)
			if len(c.ends) > 0 {
				appendTo(t, st, events.ChatStream("c"), c.ends...)
			}
			catchUp(t, set)
			if got := waiting(t, set, "ann"); !slices.Equal(got, c.want) {
				t.Errorf("ann waits for %v, want %v in this order", got, c.want)
			}
			places := 0
			for k := range dump(t, st, "consents") {
				if strings.HasPrefix(k, "rkc\x00") {
					places++
				}
			}
			if places != len(c.want) {
				t.Errorf("%d cards are still looked for", places)
			}
			if got := waiting(t, set, "bob"); !slices.Equal(got, []string{"bobs"}) {
				t.Errorf("bob waits for %v", got)
			}
		})
	}
}

func TestOpenCards(t *testing.T) {
	st := openStore(t, vfs.NewMem())
	set := openSet(t, st)
	chatOf(t, st, "ann", "c", "Trip")
	ask(t, st, "c", "k1", events.ConsentApproval)
	ask(t, st, "c", "plan", events.ConsentPlan)
	catchUp(t, set)
	appendTo(t, st, events.ChatStream("c"), events.ChatImported{Owner: "bob", From: "elsewhere"}, events.ChatRenamed{Title: "Journey"})
	catchUp(t, set)
	if got := waiting(t, set, "ann"); got != nil {
		t.Errorf("what somebody else imported waits for its old owner: %v", got)
	}
	cards, err := set.Consents.Waiting(context.Background(), "bob")
	if err != nil || len(cards) != 2 || cards[0].Title != "Journey" {
		t.Fatalf("%+v %v", cards, err)
	}
	open, err := set.Consents.Open(context.Background())
	want := []projections.OpenCard{
		{User: "bob", Chat: "c", Consent: "k1", Kind: events.ConsentApproval, Since: cards[0].Since, Expires: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)},
		{User: "bob", Chat: "c", Consent: "plan", Kind: events.ConsentPlan, Since: cards[1].Since},
	}
	if err != nil || !slices.Equal(open, want) {
		t.Errorf("%+v %v\nwant %+v", open, err, want)
	}
}
