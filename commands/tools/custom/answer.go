package custom

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"lembas/commands/tools"
	"lembas/commands/tools/guard"
	"lembas/events"
)

const (
	// MaxAnswer bounds what is taken of an answer, in bytes.
	MaxAnswer = 1 << 20
	maxFault  = 4 << 10 // bytes of an answer that is an error
)

// answer is what a model and a reader see of an answer: a status line, then the
// text as it came. HTML stays text. Secrets that a service sends back are hidden.
func answer(r Request, res *guard.Response) tools.Result {
	head := statusLine(r, res)
	body, ok := readable(res)
	if !ok {
		return tools.Failed(head + fmt.Sprintf("\nThe answer is not text (%s, %s) and is not shown.", mediaType(res), sizeOf(res)))
	}
	body = r.mask(body)
	if res.Truncated {
		body = r.cutTail(body)
	}
	good := res.Status >= 200 && res.Status < 300
	if !good && len(body) > maxFault {
		body = clip(body, maxFault) + "\n[the rest of this answer is left out]"
	} else if res.Truncated {
		body += fmt.Sprintf("\n[cut: the answer is larger than %d bytes]", MaxAnswer)
	}
	if body == "" {
		body = "(the answer is empty)"
	}
	out := tools.Result{Status: events.ToolOK, Output: head + "\n\n" + body}
	if !good {
		out.Status = events.ToolError
	}
	return out
}

func statusLine(r Request, res *guard.Response) string {
	line := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", res.Status, http.StatusText(res.Status)))
	if typ := mediaType(res); typ != "" {
		line += " · " + typ
	}
	if res.URL != nil && res.URL.String() != r.URL {
		line += " · from " + clip(r.mask(res.URL.String()), 300)
	}
	return line
}

// mediaType is an answer's type without parameters, as one line.
func mediaType(res *guard.Response) string {
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return clip(withoutControls(media), 100)
}

func sizeOf(res *guard.Response) string {
	if res.Truncated {
		return fmt.Sprintf("more than %d bytes", MaxAnswer)
	}
	return fmt.Sprintf("%d bytes", len(res.Body))
}

// readable gives an answer's text as UTF-8, or false for what is not text.
func readable(res *guard.Response) (string, bool) {
	media, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err == nil && !textual(media) {
		return "", len(res.Body) == 0
	}
	b := res.Body
	if charset := params["charset"]; err == nil && charset != "" {
		if enc, err := htmlindex.Get(charset); err == nil {
			if decoded, err := enc.NewDecoder().Bytes(b); err == nil {
				b = decoded
			}
		}
	}
	if len(b) > MaxAnswer { // another charset grew
		b = b[:MaxAnswer]
	}
	if bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b) && garbled(b) {
		return "", false
	}
	return strings.ToValidUTF8(string(b), "\ufffd"), true
}

// textual says whether a type is text by its name. What names no type is looked
// at.
func textual(media string) bool {
	kind, sub, _ := strings.Cut(media, "/")
	if kind == "text" || strings.HasSuffix(sub, "+json") || strings.HasSuffix(sub, "+xml") {
		return true
	}
	switch sub {
	case "json", "xml", "javascript", "x-www-form-urlencoded", "yaml", "x-yaml", "toml", "graphql", "x-ndjson", "ndjson", "jsonl", "json-seq", "sql":
		return kind == "application"
	}
	return false
}

// garbled says whether more than one character in ten is none: a text of another
// charset, or no text.
func garbled(b []byte) bool {
	bad := 0
	for rest := b; len(rest) > 0; {
		c, n := utf8.DecodeRune(rest)
		if c == utf8.RuneError && n == 1 {
			bad++
		}
		rest = rest[n:]
	}
	return bad*10 > len(b)
}

// cutTail takes away what may be the beginning of a secret that was cut.
func (r Request) cutTail(s string) string {
	most := 0
	for _, secret := range r.spellings() {
		for n := min(len(secret)-1, len(s)); n > most; n-- {
			if strings.HasSuffix(s, secret[:n]) {
				most = n
			}
		}
	}
	return s[:len(s)-most]
}
