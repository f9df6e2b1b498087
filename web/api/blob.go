package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/request"
)

// Blobs reads bytes by their digest: ErrNotFound for one that is not there.
type Blobs interface {
	Get(digest string) ([]byte, error)
}

// blobChats is how many of the caller's chats, used last first, are looked
// through for a blob of which it is not said where it belongs.
const blobChats = 20

// Blob gives bytes that a chat of the caller refers to: ?chat= says which one.
// A digest alone opens nothing. Bytes are an attachment and no type is guessed;
// only pictures of known types are shown in place.
func (a *API) Blob(w http.ResponseWriter, r *http.Request) error {
	digest := chi.URLParam(r, "digest")
	mime, err := a.blobType(r.Context(), r.URL.Query().Get("chat"), digest)
	if err != nil {
		return err
	}
	data, err := a.Blobs.Get(digest)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", mime)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache") // a right may end
	h.Set("ETag", `"`+digest+`"`)
	disposition := `attachment; filename="output-` + digest[:12] + `.txt"`
	if picture(mime) {
		disposition = `inline; filename="picture-` + digest[:12] + `"`
	}
	h.Set("Content-Disposition", disposition)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	return nil
}

// blobType gives the type of a blob that a chat of the caller refers to.
func (a *API) blobType(ctx context.Context, chat, digest string) (mime string, err error) {
	who, _ := request.Identity(ctx)
	look := func(chat string) error {
		return a.Service.ViewChat(ctx, who.User.ID, chat, func(c *transcript.Chat) error {
			mime = blobOf(c, digest)
			return nil
		})
	}
	if chat != "" {
		err = look(chat)
	} else {
		rows, _, listErr := a.Sidebar.Chats(ctx, who.User.ID, ListQuery{Limit: blobChats})
		err = listErr
		for i := 0; i < len(rows) && mime == "" && err == nil; i++ {
			if err = look(rows[i].ID); errors.Is(err, events.ErrNotFound) {
				err = nil // it was deleted just now
			}
		}
	}
	if err == nil && mime == "" {
		err = events.ErrNotFound
	}
	return mime, err
}

// blobOf is the type of a blob that a chat refers to, "" when it does not. Turns
// that have left count: their versions can be looked at.
func blobOf(c *transcript.Chat, digest string) string {
	for _, turns := range [][]*transcript.Turn{c.Turns, c.Left} {
		for _, t := range turns {
			if mime := fileType(t.Attachments, digest); mime != "" {
				return mime
			}
			for _, r := range t.Replies {
				if mime := replyBlob(r, digest); mime != "" {
					return mime
				}
			}
		}
	}
	return ""
}

func replyBlob(r *transcript.Reply, digest string) string {
	for _, x := range r.Rounds {
		for _, k := range x.Calls {
			if k.Blob != nil && k.Blob.Digest == digest {
				return plainText
			}
			if mime := fileType(k.Images, digest); mime != "" {
				return mime
			}
		}
	}
	return ""
}

const plainText = "text/plain; charset=utf-8"

// fileType is the type of a file with a digest, "" when it is not among them.
func fileType(files []events.Attachment, digest string) string {
	for _, f := range files {
		switch {
		case f.Blob.Digest != digest:
		case picture(f.Type):
			return f.Type
		default:
			return plainText
		}
	}
	return ""
}

// picture says whether a browser shows a type of file in place.
func picture(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}
