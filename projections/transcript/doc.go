// Package transcript is the pure fold of one chat: events in, what a reader
// sees out. Pages, prompts, exports, replay and the deciders all use this one
// fold. It does no I/O, reads no clock and imports only events.
package transcript
