package pages

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/pages/view"
	"lembas/web/templates"
)

// maxCards is how many cards the page of what waits shows at once.
const maxCards = 50

// Waiting is the read model of what waits for people.
type Waiting interface {
	// Wait returns when the model has applied the log up to a position, or with
	// ctx's error.
	Wait(ctx context.Context, at events.Position) error
	// Waiting gives the cards that wait for a person, the oldest first.
	Waiting(ctx context.Context, user string) ([]WaitingCard, error)
}

// WaitingCard is a card that waits, with the chat that it is in.
type WaitingCard struct {
	events.ConsentRequested
	Chat  string
	Title string // of the chat
	Since time.Time
}

// waitingNav is the entry in the navigation.
func (p *Pages) waitingNav(ctx context.Context, user string, here bool) (templates.WaitingNav, error) {
	cards, err := p.waitingCards(ctx, user)
	return templates.WaitingNav{Count: len(cards), Here: here}, err
}

func (p *Pages) waitingCards(ctx context.Context, user string) ([]WaitingCard, error) {
	if p.Waiting == nil {
		return nil, nil
	}
	short, cancel := context.WithTimeout(ctx, sidebarWait)
	defer cancel()
	if err := p.Waiting.Wait(short, p.Service.Log.Head()); err != nil && short.Err() == nil {
		return nil, err
	}
	return p.Waiting.Waiting(ctx, user) // late, it is as of a moment ago: the stream says what is new
}

// waiting is the page of everything that waits for a person, or with ?part= one
// of the parts that the page asks for again.
func (p *Pages) waiting(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	u, q := me(r), r.URL.Query()
	cards, err := p.waitingCards(r.Context(), u.ID)
	if err != nil {
		return err
	}
	switch q.Get("part") {
	case "nav":
		return p.part(w, http.StatusOK, "waiting-nav", templates.WaitingNav{Count: len(cards), Here: q.Get("here") != ""})
	case "list":
		return p.part(w, http.StatusOK, "waiting-list", p.waitingList(u.ID, cards))
	}
	v := templates.Waiting{List: p.waitingList(u.ID, cards)}
	if v.Shell, err = p.shell(r, "waiting", "Waiting for you", at); err != nil {
		return err
	}
	return p.page(w, "waiting", v)
}

func (p *Pages) waitingList(user string, cards []WaitingCard) templates.WaitingList {
	var v templates.WaitingList
	for i, c := range cards {
		if i == maxCards {
			v.More = len(cards) - maxCards
			break
		}
		since := view.Time(c.Since)
		since.Short = moment(c.Since, p.now())
		v.Cards = append(v.Cards, templates.WaitingCard{Chat: c.Chat, Title: cmp.Or(c.Title, "New chat"), Path: "/chat/" + c.Chat + "#m-" + c.Reply, Since: since,
			Card: p.Views.Card(&transcript.Chat{ID: c.Chat, Owner: user}, &transcript.Reply{ID: c.Reply},
				&transcript.Consent{ConsentRequested: c.ConsentRequested, Since: c.Since, State: transcript.CardWaiting})})
	}
	return v
}

// moment says when something was, with the day when that is not today.
func moment(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04 UTC")
	}
	return t.Format("2 January, 15:04 UTC")
}
