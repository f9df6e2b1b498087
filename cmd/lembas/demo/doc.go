// Package demo is an OpenAI-compatible endpoint with scripted models, for trying the product without a real one and for
// tests. Nothing in it thinks: every reply is a text from replies/ and says so. It is reached over HTTP on a
// loopback port of its own, like any other endpoint; the product has no special path for it.
//
// # Trigger words
//
// Whole words in the last user message, in any case, change the reply. A word of the first three rows wins over those
// below it; how a reply goes, what it says and how fast it comes can be combined.
//
//	fail                  HTTP 500 with a JSON error
//	busy                  HTTP 429 with Retry-After: 1; the same message works on the next try
//	html                  a web page instead of a reply
//	stall cut error       after some words: silence; a broken connection; an error object in the stream
//	tools                 a call of get_weather, offered or not
//	long table code think what the reply is
//	trickle slow          a token every 300 ms; a quarter of the speed
//
// A request that asks for a title gets a short one, whatever else its words say. It imports only the standard library.
package demo
