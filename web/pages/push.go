package pages

import (
	"net/http"

	"lembas/commands"
	"lembas/web/request"
	"lembas/web/templates"
)

// pushes are the browsers that are told when a card waits, the newest first.
func (p *Pages) pushes(r *http.Request, u commands.User) (v templates.Push) {
	id, _ := request.Identity(r.Context())
	for _, x := range u.LivePushes(p.now()) {
		this := id.Session != "" && x.Session == id.Session
		if this && v.This == "" {
			v.This = x.ID
		}
		v.Items = append(v.Items, templates.PushBrowser{ID: x.ID, Device: device(x.Agent), Host: x.Host, Since: dated(x.Created), This: this})
	}
	return v
}

// toldBrowsers is their list: the script asks for it after a change.
func (p *Pages) toldBrowsers(w http.ResponseWriter, r *http.Request) error {
	return p.part(w, http.StatusOK, "settings-pushes", p.pushes(r, me(r)))
}

func (p *Pages) removePush(w http.ResponseWriter, r *http.Request) error {
	if _, err := p.Service.UnsubscribePush(r.Context(), caller(r), r.PathValue("id")); err != nil {
		return err
	}
	u, err := p.Service.User(r.Context(), me(r).ID)
	if err != nil {
		return err
	}
	return p.part(w, http.StatusOK, "settings-pushes", p.pushes(r, u))
}
