package api

import (
	"net/http"
	"slices"

	"lembas/events"
	"lembas/projections/export"
	"lembas/projections/transcript"
	"lembas/web/request"
)

// Export gives a chat of the caller as a file.
func (a *API) Export(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("format")
	if name == "" {
		name = "md"
	}
	formats := export.Formats()
	i := slices.IndexFunc(formats, func(f export.Format) bool { return f.Name == name })
	if i < 0 {
		return events.Invalid("format", "md, html, json or jsonl")
	}
	who, _ := request.Identity(r.Context())
	var body []byte
	err := a.Service.ViewChat(r.Context(), who.User.ID, id(r), func(c *transcript.Chat) (err error) {
		switch name {
		case "md":
			body = export.Markdown(c)
		case "html":
			body, err = export.HTML(c, a.Markdown.Render)
		case "json":
			body, err = export.JSON(c)
		}
		return err
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", formats[i].Type)
	w.Header().Set("Content-Disposition", `attachment; filename="chat-`+id(r)+`.`+name+`"`)
	if name != "jsonl" {
		_, _ = w.Write(body) // the client may be gone
		return nil
	}
	if err := export.Lines(w, a.Service.Log.ReadStream(r.Context(), events.ChatStream(id(r)), 0)); err != nil {
		// The answer has begun: cut it, so that it is not taken for the whole.
		panic(http.ErrAbortHandler)
	}
	return nil
}
