// Package templates turns typed views into pages and fragments.
//
// A view holds only values that are ready to be shown: strings, numbers and
// template.HTML made by web/markdown. The handlers make views from events; the
// templates have no logic beyond range and if. Every name that Page and
// Fragment know has one Go type, listed in names.go.
//
// Ids, data attributes and actions are those of docs/page-protocol.md. White
// space between two tags is dropped when a template is parsed, so a fragment
// sent over the stream and the same fragment in a fresh page give one DOM.
// An optional attribute is therefore written with its space inside the
// condition: <div{{if .Open}} open{{end}}>.
//
// It may import the standard library and web/static.
package templates
