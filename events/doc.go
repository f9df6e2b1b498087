// Package events is the vocabulary of the log: the envelope, the registry of
// event types with their payloads and upcasters, the leaf of the Merkle tree,
// and the narrow Log interface that every other room reads and writes through.
//
// It does no I/O, keeps no mutable state and imports nothing but the standard
// library, so that any store (Pebble today, NATS JetStream later) can stand
// behind it. One file per noun holds the payloads of that noun's events.
//
// An event is a fact: past tense, immutable, named "noun.past_participle".
// Names are registered strings, never Go type names, because they are on disk
// and on the wire for ever.
package events
