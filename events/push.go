package events

// PushSubscribed lets one browser be told, by its maker's push service, that a
// card waits. Address and keys are in the vault under "push/ID": who has them
// can send.
type PushSubscribed struct {
	Push    string `json:"push"`
	Host    string `json:"host"` // of the push service
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"` // or the id of the API token it came with
}

// PushUnsubscribed ends that.
type PushUnsubscribed struct {
	Push   string `json:"push"`
	Reason string `json:"reason"` // person, gone (the push service said so) or session
}

func (PushSubscribed) EventType() string   { return "push.subscribed" }
func (PushUnsubscribed) EventType() string { return "push.unsubscribed" }

func pushTypes() []Info { return []Info{define[PushSubscribed](1), define[PushUnsubscribed](1)} }
