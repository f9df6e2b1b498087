// Package mcp lists and calls the tools of remote MCP servers, with the official
// Go SDK over streamable HTTP. Nothing is ever started on this host.
//
// What a server says is untrusted. Its tools' names, descriptions and schemas
// are bounded and cleaned before they are kept; its results are plain text. Each
// listing and each call has a session of its own. A call is sent once: it is
// repeated in a fresh session only where the server answered it with 404 for a
// session that it had given, which says that the call did not run.
//
// Traps of the SDK (v1.8.0), and what stands against them here:
//
//   - It reads JSON answers and error pages whole: every body is bounded under it.
//   - Its standing GET stream is opened with a context that nobody can end, so a
//     server that never answers it would block for ever: it is off. Progress
//     comes on the stream of the call.
//   - It sends a call again, up to ten times, where the answer asks for input
//     ("multi round trip"): that is off, such an answer is an error.
//   - It gives an empty list to a server that asks for roots: a middleware
//     refuses whatever a server asks for, but ping.
//   - A 404 with a JSON-RPC error in it is no ErrSessionMissing, and an error of
//     the HTTP client is said to mean that nothing was sent, which is not so: the
//     transport here looks for itself (watch.go).
//   - The word that a call was cancelled goes out behind the caller's back and is
//     lost when the session is closed at once: closing waits for it.
//   - Its answers to a server's own requests have no bound of time, and closing
//     waits for them: the life of a session has an end of its own.
//   - Progress can come after the answer, and is dropped then.
//   - One schema deeper than 1,000 levels makes it refuse the whole list.
//
// It may import events, commands/tools and commands/tools/guard.
package mcp
