// Package js has no Go code of its own: the folder holds the page's script
// modules, embedded by web/static, and their tests, which run in a real
// Chromium against a small server.
//
// app.js starts everything. line.js, hub.js, shared.js and stream.js are the
// stream; ops.js and morph.js apply it; the others are one behaviour each.
// docs/page-protocol.md is the agreement with handlers and markup.
package js
