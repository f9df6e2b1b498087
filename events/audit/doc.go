// Package audit is proofs over the log: signed checkpoints, inclusion and
// consistency. The tree itself is kept by events/store from the first event on.
// It may import events and events/store. Its issue comes later.
package audit
