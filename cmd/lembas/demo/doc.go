// Package demo is an OpenAI-compatible endpoint with scripted models, and an MCP server with harmless tools, for trying
// the product without real ones and for tests. Nothing in it thinks: every reply is a text from replies/ and says so. It
// is reached over HTTP on a loopback port of its own, like any other; the product has no special path for it.
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
//	long table code think what the reply is
//	trickle slow          a token every 300 ms; a quarter of the speed
//
// These words call tools, if they are offered in the request, and win over those that say what the reply is. Several of
// them together make one round of calls. The reply ends with an answer that quotes what each call was told.
//
//	tools                 one call, of send_raven; where that is not offered, of a tool get_weather that nobody offers
//	card                  three calls at once
//	questions             two questions by ask_user, one of them with options
//	fetch                 a web page is read (https://example.org/)
//	picture               a tool that answers with a picture
//	output                a tool with a long output, and read_output for the rest
//	broken                a tool that fails
//	loop                  the same call in each round, until the product puts an end to it
//
// A request that asks for a title or a summary gets one, whatever else its words say. It imports nothing of ours.
package demo
