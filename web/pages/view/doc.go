// Package view makes the typed views of web/templates from a chat as the
// transcript has it. It is pure: the same chat at the same position gives the
// same view, whether for a whole page or for one part of a frame, so that both
// show the same. The only things from outside are the models' titles and the
// one Markdown pipeline.
//
// It imports events, projections/transcript, web/markdown and web/templates.
package view
