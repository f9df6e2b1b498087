// Package api is the JSON API under /api/v1: one file per noun with its
// handlers and the shapes they take and give. The shapes are promises; the
// OpenAPI document is made from the same Go types, so it cannot say otherwise.
//
// A handler reads, calls one command or one fold, and answers; every refusal is
// a returned error. It imports commands, the pure folds and web/request. What it
// needs of the stored projections and of the Markdown pipeline it declares as
// interfaces here.
package api
