// Package markdown is the one way from Markdown, written by a model or a
// person, to HTML.
//
// A text is cut into top-level blocks by a line scanner (splitter). Each block
// goes through goldmark and then bluemonday. Trusted parts (copy button, code
// figure, table box, check box, footnote marks) are put in after the
// sanitiser, at places named by an unguessable token; so the sanitiser's policy
// knows no class, no id, no button and no data attribute, and no text can
// forge one. Raw HTML is not parsed at all: it is text.
//
// Because blocks are rendered one by one, a growing reply (Stream) renders and
// sends each of them once. What is still open is shown by a simpler, strictly
// append-only view (view) and replaced when the block closes.
//
// Work is bounded: see limits.go. What is beyond a bound is shown as escaped
// preformatted text with a note; text is never lost.
//
// The package imports nothing of ours. It may be imported by web only.
package markdown
