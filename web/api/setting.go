package api

import (
	"encoding/json"
	"net/http"

	"lembas/web/request"
)

// Settings gives every setting's value in force.
func (a *API) Settings(w http.ResponseWriter, r *http.Request) error {
	s, err := a.Service.Settings(r.Context())
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, s.All())
}

// PatchSettings changes settings; null is the default again.
func (a *API) PatchSettings(w http.ResponseWriter, r *http.Request) error {
	var in map[string]json.RawMessage
	if err := request.Read(r, &in); err != nil {
		return err
	}
	if _, err := a.Service.ChangeSettings(r.Context(), request.Caller(r), in); err != nil {
		return err
	}
	return a.Settings(w, r)
}
