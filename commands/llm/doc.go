// Package llm is the client for OpenAI-compatible endpoints: it posts a chat completion, reads the reply in whatever
// dialect it comes, and gives out deltas as they arrive and one Result at the end. It imports nothing of ours.
//
// # What counts as a reply
//
// Framing is the WHATWG event stream grammar (LF, CRLF or CR, one byte order mark, comments and unknown fields
// ignored), and more forgiving where servers are: an event pending at the end counts, an event may hold several JSON texts, a frame
// glued behind a broken one is found, a field or event called error is an error. The first character of the body, not
// its content type, decides between a stream, JSON (one big chunk) and a web page. Every member is read without
// believing in its type. [DONE] or a finish reason makes a reply whole; anything else ends as an Error with the text so
// far kept. Calls of a reply that is not whole are listed and never runnable.
//
// Reasoning comes by field, by part, or in think tags in the content; see splitter. Usage is the last one that counts
// something, never a sum.
//
// # Deltas
//
// Text is held back only while it may be part of a tag or of a character. When a lone closing tag shows that the
// answer so far was reasoning, KindReclassify says so; a log of deltas folds to the Result's texts exactly.
//
// # Limits
//
// Nothing is awaited for ever and nothing grows without bound: see Endpoint. A trickle does not count as life: only a
// whole line, or a KB of one, resets the idle watch. Cancelling the context ends a call at once. Requests are repeated
// only before the first byte of a reply, only for transient trouble, and visibly (Handler.Retry). The key goes to one origin
// only and into no error.
//
// # Why not r3labs/sse
//
// Its EventStreamReader (v2.10.0, buffer of 16 MB) with a field parser of ours (its own is not exported, and drops a
// field called error) was run over the 114 recorded replies with status 200: 110 came out the same; the byte order mark, the
// error field and the two JSON bodies did not. Beyond that it hands out an event only at its blank line, so a server
// that sends none shows nothing until the end; its bound is on events, not lines; and it searches the whole pending event five times after each read:
// a line of 8 MB in packets of 4 KB took 620 ms, here 41 ms, and grows with the square. So the framing is our own, in sse.go.
package llm
