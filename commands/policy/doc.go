// Package policy decides what a call may do: modes, deny and allow lists, shell
// parsing. It will be pure and import events only. Its issue comes later.
package policy
