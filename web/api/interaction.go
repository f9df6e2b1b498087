package api

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"lembas/commands"
	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/request"
)

// Waiting lists what waits for people.
type Waiting interface {
	// Interactions gives the cards that wait for a person, the oldest first, with
	// what the caller wrote before.
	Interactions(ctx context.Context, user string) ([]Interaction, error)
}

// Interaction is a card that waits.
type Interaction struct {
	Chat    string               `json:"chat_id"`
	Title   string               `json:"title"` // of the chat
	Consent string               `json:"consent"`
	Kind    string               `json:"kind"`
	Items   []events.ConsentItem `json:"items"`
	Since   time.Time            `json:"since"`
	Expires string               `json:"expires"`
}

// Interactions lists everything that waits for the caller. It is a bare list, as
// the contract has it: what waits is never so much that it would be paged.
func (a *API) Interactions(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Identity(r.Context())
	cards, err := a.Waiting.Interactions(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	if cards == nil {
		cards = []Interaction{}
	}
	return request.JSON(w, http.StatusOK, cards)
}

// answerCard is a person's word on a whole card.
type answerCard struct {
	Answers []answerItem `json:"answers"`
}

type answerItem struct {
	Key     string `json:"key"`
	Verdict string `json:"verdict"` // allow, always or deny
	// Arguments are the item's with the one argument corrected that may be.
	Arguments events.RawJSON `json:"arguments,omitempty"`
	Text      string         `json:"text,omitempty"`   // the answer to a question
	Reason    string         `json:"reason,omitempty"` // of a denial
}

// answeredCard is a card that is closed, and what came of it.
type answeredCard struct {
	Consent string                 `json:"consent"`
	State   string                 `json:"state"` // answered, expired or withdrawn
	Answers []events.ConsentAnswer `json:"answers"`
	By      string                 `json:"by,omitempty"` // the person's id
	At      time.Time              `json:"at"`
	accepted
}

// closedCard is the problem of answering a card that is closed: what stands.
type closedCard struct {
	request.Problem
	Consent string                 `json:"consent"`
	State   string                 `json:"state"`
	Answers []events.ConsentAnswer `json:"answers"`
	By      string                 `json:"by,omitempty"`
	At      time.Time              `json:"at"`
}

// AnswerInteraction answers a card of one chat of the caller. The first answer
// in the log stands; a later one is told it.
func (a *API) AnswerInteraction(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Identity(r.Context())
	// Whether there is such a card, for the caller, comes before what is wrong with
	// the request.
	err := a.Service.ViewChat(r.Context(), who.User.ID, id(r), func(c *transcript.Chat) error {
		if c.Consent(chi.URLParam(r, "iid")) == nil {
			return request.NotFound()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := deliberate(r); err != nil {
		return err
	}
	var in answerCard
	if err := request.Read(r, &in); err != nil {
		return err
	}
	answers := make([]commands.Answer, 0, len(in.Answers))
	for _, x := range in.Answers {
		answers = append(answers, commands.Answer{Key: x.Key, Verdict: x.Verdict, Arguments: json.RawMessage(x.Arguments), Text: x.Text, Reason: x.Reason})
	}
	card, res, err := a.Service.AnswerConsent(r.Context(), request.Caller(r), id(r), chi.URLParam(r, "iid"), answers)
	var closed *commands.ConsentClosedError
	if errors.As(err, &closed) {
		return writeClosed(w, closed)
	}
	if err != nil {
		return err
	}
	if !res.Time.IsZero() {
		card.Ended = res.Time // as the log has it, and as who comes later is told
	}
	return request.JSON(w, http.StatusOK, answeredCard{Consent: card.Consent, State: card.State, Answers: words(&card), By: card.By, At: card.Ended, accepted: accepted{res.Last}})
}

// words are the answers of a card, [] without any.
func words(c *transcript.Consent) []events.ConsentAnswer {
	return append([]events.ConsentAnswer{}, c.Answers...)
}

func writeClosed(w http.ResponseWriter, closed *commands.ConsentClosedError) error {
	c := &closed.Consent
	detail := closed.Error()
	detail = strings.ToUpper(detail[:1]) + detail[1:] + "."
	body, err := json.Marshal(closedCard{Problem: *request.Fail(http.StatusConflict, "%s", detail),
		Consent: c.Consent, State: c.State, Answers: words(c), By: c.By, At: c.Ended})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusConflict)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
	return nil
}

// deliberate refuses an answer with a session that no script of ours sent. That
// the request came from our own origin was checked before; here also a form that
// a model's text smuggled into one of our pages must not be an answer. A form
// can neither send JSON by that name nor another mode than navigate or no-cors.
func deliberate(r *http.Request) error {
	if who, _ := request.Identity(r.Context()); who.Token != "" {
		return nil
	}
	mode, origin := r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Origin")
	if (mode != "" && mode != "cors" && mode != "same-origin") || origin == "null" {
		return request.Fail(http.StatusForbidden, "A card is answered by its own buttons only. Nothing was changed.")
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return request.Fail(http.StatusUnsupportedMediaType, "An answer is sent as application/json. Nothing was changed.")
	}
	return nil
}
