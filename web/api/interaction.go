package api

import (
	"net/http"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/request"
)

// waiting is a card that waits for the caller.
type waiting struct {
	Chat    string               `json:"chat_id"`
	Consent string               `json:"consent"`
	Kind    string               `json:"kind"`
	Items   []events.ConsentItem `json:"items"`
	Since   string               `json:"since"`
	Expires string               `json:"expires"`
}

// Interactions lists everything that waits for the caller. Nothing asks yet on
// this version, so it is empty. It is a bare list, as the contract has it: what
// waits is never so much that it would be paged.
func (a *API) Interactions(w http.ResponseWriter, _ *http.Request) error {
	return request.JSON(w, http.StatusOK, []waiting{})
}

// AnswerInteraction answers a card of one chat of the caller. This version asks
// nothing, so there is none.
func (a *API) AnswerInteraction(_ http.ResponseWriter, r *http.Request) error {
	who, _ := request.Identity(r.Context())
	err := a.Service.ViewChat(r.Context(), who.User.ID, id(r), func(*transcript.Chat) error { return nil })
	if err != nil {
		return err
	}
	return request.NotFound()
}
