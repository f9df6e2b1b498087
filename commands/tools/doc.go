// Package tools is the registry: which tools there are, how a reader sees them,
// and which of them a request may offer. The rooms below it run them: guard (the
// one HTTP client for addresses that others name), builtin, custom, mcp. It may
// import events, commands/policy and ssh.
package tools
