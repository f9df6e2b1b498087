package api

import (
	"cmp"
	"net/http"
	"time"

	"lembas/commands"
	"lembas/web/request"
)

// pushes is what a browser needs to be told, and who is told already.
type pushes struct {
	// PublicKey is the instance's key for applicationServerKey, in base64url.
	PublicKey     string `json:"public_key"`
	Subscriptions []push `json:"subscriptions"`
}

type push struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"` // of the push service
	Agent   string    `json:"agent"`
	Created time.Time `json:"created"`
	// This says that the caller's own login or token made it.
	This bool `json:"this,omitempty"`
}

// Pushes lists the browsers of the caller that are told when a card waits, the
// newest first, less their addresses.
func (a *API) Pushes(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Identity(r.Context())
	out := pushes{PublicKey: a.PushKey, Subscriptions: []push{}}
	for _, p := range who.User.LivePushes(a.Service.Now()) {
		out.Subscriptions = append(out.Subscriptions, push{ID: p.ID, Host: p.Host, Agent: p.Agent, Created: p.Created,
			This: p.Session == cmp.Or(who.Session, who.Token)})
	}
	return request.JSON(w, http.StatusOK, out)
}

// createPush is a browser's PushSubscription.
type createPush struct {
	Endpoint string   `json:"endpoint"`
	Keys     pushKeys `json:"keys"`
}

type pushKeys struct {
	P256dh string `json:"p256dh"`
	Auth   string `json:"auth"`
}

type createdPush struct {
	ID string `json:"id"`
}

// CreatePush lets a browser be told, until its login ends.
func (a *API) CreatePush(w http.ResponseWriter, r *http.Request) error {
	var in createPush
	if err := request.Read(r, &in); err != nil {
		return err
	}
	made, _, err := a.Service.SubscribePush(r.Context(), request.Caller(r), commands.Subscribe{Endpoint: in.Endpoint,
		P256dh: in.Keys.P256dh, Auth: in.Keys.Auth, Agent: r.UserAgent()})
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusCreated, createdPush{ID: made.ID})
}

// DeletePush ends one subscription of the caller.
func (a *API) DeletePush(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.Service.UnsubscribePush(r.Context(), request.Caller(r), id(r)); err != nil {
		return err
	}
	return noContent(w)
}
