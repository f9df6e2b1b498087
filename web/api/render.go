package api

import (
	"net/http"

	"lembas/events"
	"lembas/web/request"
)

type renderText struct {
	Markdown  *string `json:"markdown"`
	Streaming bool    `json:"streaming,omitempty"` // the text was cut here and goes on
}

type rendered struct {
	HTML string `json:"html"`
}

// Render gives the HTML of Markdown as in a bubble.
func (a *API) Render(w http.ResponseWriter, r *http.Request) error {
	var in renderText
	if err := request.Read(r, &in); err != nil {
		return err
	}
	if in.Markdown == nil {
		return events.Invalid("markdown", "is missing")
	}
	render := a.Markdown.Render
	if in.Streaming {
		render = a.Markdown.RenderOpen
	}
	return request.JSON(w, http.StatusOK, rendered{HTML: string(render("render", *in.Markdown))})
}
