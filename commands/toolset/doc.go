// Package toolset resolves which tools a request may offer: the built-in ones,
// the administrator's HTTP tools and those of MCP servers, through the gates of
// the instance, the person, the model and the chat. It may import commands and
// the rooms of commands/tools.
package toolset
