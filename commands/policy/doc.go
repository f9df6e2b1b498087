// Package policy decides what a call may do: which risks ask, deny and allow
// lists, what "always" remembers, and the one reading of a call's arguments. It
// is pure and imports events only. Modes and shell parsing come with agent
// chats.
package policy
