// Package guard is the one HTTP client for addresses that others name: what a
// model asks to fetch, what a custom tool, an MCP server, a search provider or a
// push service answers with. It decides by the address that is dialled, not by
// the text of the URL: a name is resolved once, every answer is checked, and the
// checked address itself is connected to, on every hop of a redirect.
//
// Three classes of addresses (ranges.go):
//
//   - public ones are dialled;
//   - loopback, private, shared (CGNAT), unique local and benchmarking ones only
//     where an administrator opened them (Config.Private, the setting
//     fetch.private) or for the one origin that an administrator configured
//     (Request.Trusted, HTTPOptions.Trusted);
//   - never, whatever is set: unspecified, link-local (the metadata services of
//     clouds), multicast, reserved, documentation, transition forms (mapped in a
//     URL, IPv4-compatible, 6to4, Teredo), and the metadata addresses and names
//     outside link-local.
//
// There is no proxy from the environment, no cookie jar, no Referer. It may
// import events.
package guard
