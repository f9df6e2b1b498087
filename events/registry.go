package events

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Payload is the data of an event. EventType is its registered name.
type Payload interface{ EventType() string }

// Upcaster turns a payload of version n into one of version n+1.
type Upcaster func(json.RawMessage) (json.RawMessage, error)

// Info is what the registry knows about a type.
type Info struct {
	Name string
	// Version is the payload version that this binary writes.
	Version int
	// Weak events decide nothing: they do not move the deciding version.
	Weak bool
	// Permits marks types that can change what is allowed. A log that holds a
	// newer version of one is refused rather than half understood.
	Permits bool
	// Opens and Closes name the payload member that holds the scope which the
	// event opens or closes in its stream.
	Opens, Closes string
	// upcasters[i] lifts version i+1 to i+2.
	upcasters []Upcaster
	decode    func(json.RawMessage) (Payload, error)
}

type option func(*Info)

func weak(i *Info)    { i.Weak = true }
func permits(i *Info) { i.Permits = true }
func opens(member string) option {
	return func(i *Info) { i.Opens = member }
}
func closes(member string) option {
	return func(i *Info) { i.Closes = member }
}

func define[T Payload](version int, opts ...option) Info {
	var zero T
	i := Info{Name: zero.EventType(), Version: version, decode: func(b json.RawMessage) (Payload, error) {
		var v T
		if err := json.Unmarshal(b, &v); err != nil {
			return nil, err
		}
		return v, nil
	}}
	for _, o := range opts {
		o(&i)
	}
	return i
}

// types is the registry, read-only after it is built.
var types = func() map[string]Info {
	m := make(map[string]Info)
	for _, i := range slices.Concat(chatTypes(), messageTypes(), replyTypes(), roundTypes(), toolTypes(),
		consentTypes(), userTypes(), folderTypes(), connectionTypes(), modelTypes(), instanceTypes(), busTypes(),
		planTypes(), customTypes(), serverTypes(), searchTypes(), pushTypes()) {
		if _, dup := m[i.Name]; dup {
			panic("event type registered twice: " + i.Name)
		}
		m[i.Name] = i
	}
	return m
}()

// Lookup gives what is known of a type; false for one that this binary does not
// know. An unknown type is kept and skipped by projections.
func Lookup(name string) (Info, bool) {
	i, ok := types[name]
	return i, ok
}

// Types lists all registered names, sorted.
func Types() []string {
	names := make([]string, 0, len(types))
	for n := range types {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Erased is the payload that erasure leaves in place of what was there.
type Erased struct {
	// Hash is hex of SHA-256(salt ‖ payload) of what was removed.
	Hash string `json:"erased"`
}

// EventType is empty: it stands for any type.
func (Erased) EventType() string { return "" }

// Unknown is an event whose type, or whose version of a type, this binary does
// not know.
type Unknown struct{ Data json.RawMessage }

// EventType is empty: the envelope has the name.
func (Unknown) EventType() string { return "" }

// Decode gives the payload of an event in the newest version, as a value (not a
// pointer) of the registered type; Unknown for a type or version from the
// future; an error that matches ErrDamaged for bytes that are not that payload.
func Decode(e *Envelope) (Payload, error) {
	i, ok := types[e.Type]
	if !ok || e.TypeVersion > i.Version {
		return Unknown{Data: e.Data}, nil
	}
	if len(e.Data) > 11 && string(e.Data[:11]) == `{"erased":"` {
		var x Erased
		if err := json.Unmarshal(e.Data, &x); err == nil {
			return x, nil
		}
	}
	data := e.Data
	for v := e.TypeVersion; v < i.Version; v++ {
		if v < 1 || v > len(i.upcasters) {
			return nil, fmt.Errorf("%w: %s at %d has version %d, which has no way to %d", ErrDamaged, e.Type, e.Position, v, i.Version)
		}
		var err error
		if data, err = i.upcasters[v-1](data); err != nil {
			return nil, fmt.Errorf("%w: %s at %d: version %d: %w", ErrDamaged, e.Type, e.Position, v, err)
		}
	}
	p, err := i.decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s at %d: %w", ErrDamaged, e.Type, e.Position, err)
	}
	return p, nil
}

// Scopes gives the scope that an event opens and the one it closes, "" for none.
func Scopes(typ string, data json.RawMessage) (opened, closed string) {
	i, ok := types[typ]
	if !ok || (i.Opens == "" && i.Closes == "") {
		return "", ""
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return "", ""
	}
	member := func(name string) (s string) {
		if name != "" {
			_ = json.Unmarshal(members[name], &s) // absent or not text: no scope
		}
		return s
	}
	return member(i.Opens), member(i.Closes)
}
