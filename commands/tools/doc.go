// Package tools is the registry of tools, their schemas and runners. It may import
// events, commands/policy and ssh. Its issue comes later; until then every call
// that a model makes is recorded and refused by commands/generation.
package tools
