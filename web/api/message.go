package api

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"lembas/commands"
	"lembas/events"
	"lembas/web/request"
)

type text struct {
	Text string `json:"text"`
}

type submitMessage struct {
	Text        string   `json:"text"`
	Attachments []string `json:"attachments,omitempty"`
}

// submitted answers what may start a reply.
type submitted struct {
	commands.Submitted
	accepted
}

func answerSubmitted(w http.ResponseWriter, s commands.Submitted, res events.Result, err error) error {
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusAccepted, submitted{s, accepted{res.Last}})
}

func messageID(r *http.Request) string { return chi.URLParam(r, "mid") }

// SubmitMessage sends a turn, or queues it while a reply runs.
func (a *API) SubmitMessage(w http.ResponseWriter, r *http.Request) error {
	var in submitMessage
	if err := request.Read(r, &in); err != nil {
		return err
	}
	if len(in.Attachments) > 0 {
		return events.Invalid("attachments", "attachments are not possible on this instance yet; paste the text")
	}
	s, res, err := a.Service.SubmitMessage(r.Context(), request.Caller(r), id(r), in.Text)
	return answerSubmitted(w, s, res, err)
}

// EditQueued changes the words of a queued turn.
func (a *API) EditQueued(w http.ResponseWriter, r *http.Request) error {
	var in text
	if err := request.Read(r, &in); err != nil {
		return err
	}
	if _, err := a.Service.EditQueued(r.Context(), request.Caller(r), id(r), messageID(r), in.Text); err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, queued{Message: messageID(r), Text: in.Text})
}

// WithdrawMessage takes a queued turn back.
func (a *API) WithdrawMessage(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.Service.WithdrawMessage(r.Context(), request.Caller(r), id(r), messageID(r)); err != nil {
		return err
	}
	return noContent(w)
}

// SendNow delivers a queued turn of an idle chat.
func (a *API) SendNow(w http.ResponseWriter, r *http.Request) error {
	s, res, err := a.Service.SendNow(r.Context(), request.Caller(r), id(r), messageID(r))
	return answerSubmitted(w, s, res, err)
}

// EditMessage changes a turn that was sent and asks for a new reply.
func (a *API) EditMessage(w http.ResponseWriter, r *http.Request) error {
	var in text
	if err := request.Read(r, &in); err != nil {
		return err
	}
	s, res, err := a.Service.EditMessage(r.Context(), request.Caller(r), id(r), messageID(r), in.Text)
	return answerSubmitted(w, s, res, err)
}

// Regenerate asks for another reply to the same turn.
func (a *API) Regenerate(w http.ResponseWriter, r *http.Request) error {
	s, res, err := a.Service.Regenerate(r.Context(), request.Caller(r), id(r), chi.URLParam(r, "rid"))
	return answerSubmitted(w, s, res, err)
}

// Stop ends the running reply; without one it does nothing.
func (a *API) Stop(w http.ResponseWriter, r *http.Request) error {
	res, err := a.Service.Stop(r.Context(), request.Caller(r), id(r))
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusAccepted, accepted{res.Last})
}
