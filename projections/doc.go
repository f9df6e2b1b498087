// Package projections is what is read: lists and windows that are derived from
// the log, stored beside it, and can be thrown away at any time.
//
// A projection says which event types it wants and what each does to its rows.
// The Runner reads the log once for all of them, and writes the rows of a
// projection together with the position it has come to (its checkpoint) in one
// batch: each event counts exactly once, also over a crash. A projection whose
// Version was raised is dropped and built again from the first event. What
// Apply does depends on nothing but the event, the projection's own rows and
// the log up to the event, so rows that are rebuilt are the same bytes.
//
// The rows of projection NAME are in the keyspace "p/NAME": row "c" is the
// version and the checkpoint, and "r" begins the keys of all others. Keys are
// ids, kinds and positions; titles, addresses and texts are only in values,
// because keys outlive what they named (see events/store).
//
// It may import events, events/store and projections/transcript.
package projections
