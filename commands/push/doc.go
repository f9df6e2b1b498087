// Package push tells a person's browsers, by Web Push, that a card waits.
//
// What is sent has no content: a constant, encrypted as RFC 8291 and RFC 8188
// want it, signed as RFC 8292 (VAPID) wants it. The service worker shows words
// of its own, so a push service learns when somebody is asked, and not what.
//
// Sender is the reactor of consent.requested. Telling is a courtesy: it never
// fails an event, holds up no other chat for longer than one try, and what a
// restart interrupts is not told again.
//
// The standards are written here over the standard library, about 120 lines,
// and not taken from SherClockHolmes/webpush-go: its last release computes with
// the deprecated big-number curve of crypto/elliptic, ignores the expiry that it
// is given for the signature, and brings a JWT library for one fixed header.
//
// It may import events, projections/transcript, commands and commands/tools/guard.
package push
