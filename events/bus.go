package events

// BusPublished is a message that was published on the bus under a topic which
// is not an event type: a handler's answer.
type BusPublished struct {
	UUID     string            `json:"uuid"`
	Metadata map[string]string `json:"metadata"`
	Payload  []byte            `json:"payload"` // base64 in JSON
}

// EventType is the registered name.
func (BusPublished) EventType() string { return "bus.published" }

func busTypes() []Info { return []Info{define[BusPublished](1, weak)} }
