package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"lembas/commands/tools"
	"lembas/commands/tools/guard"
	"lembas/events"
)

const (
	maxPage    = 5 << 20 // bytes of an answer
	maxText    = 20_000  // characters for the model
	maxFailure = 2_000   // of the text of an error page
	pageTime   = 30 * time.Second
	readTime   = 5 * time.Second // of making text of it; what is there by then is given
	agent      = "Mozilla/5.0 (compatible; LLeMbas)"
)

// Fetch is the tool that reads one address of the web for a model.
func Fetch(g *guard.Client) tools.Tool {
	return tools.Tool{
		Spec: tools.Spec{
			Name: "fetch", Risk: events.RiskRead, Gate: "fetch", Scope: "fetch", Label: "Read a page", Icon: "globe", Detail: "url", Timeout: pageTime + 10*time.Second,
			Description: "Gives the text of one http or https address. An HTML page comes as readable text with its links; JSON, XML and plain text come as they are. " +
				"At most 20,000 characters are given, and it says when there are more. No script runs, no cookies are sent, binary files (PDF, pictures) are refused, " +
				"and only public addresses are reached.",
			Schema: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string","description":"The whole address, with https:// or http://"},"why":{"type":"string","description":"One line for the person: why this is needed"}},"required":["url"],"additionalProperties":false}`),
		},
		Run: func(ctx context.Context, call tools.Call) (res tools.Result) {
			defer rescue(&res)
			return fetch(ctx, g, call)
		},
	}
}

// rescue makes a panic over hostile input a failed call.
func rescue(res *tools.Result) {
	if p := recover(); p != nil {
		*res = tools.Failed("What came back could not be read. Try another source.")
	}
}

func fetch(ctx context.Context, g *guard.Client, call tools.Call) tools.Result {
	address, err := one(call.Arguments, "url", 8<<10)
	if err != nil {
		return tools.Failed(sentence(err))
	}
	res, err := g.Do(ctx, guard.Request{URL: address, Redirects: guard.FollowGet, MaxBody: maxPage, Timeout: pageTime,
		Header: http.Header{"User-Agent": {agent}, "Accept": {"text/html,application/xhtml+xml,application/json,text/*;q=0.9,*/*;q=0.5"}}})
	switch {
	case errors.Is(err, guard.ErrRefused):
		return tools.Result{Status: events.ToolRefused, Output: sentence(err)}
	case err != nil:
		return tools.Failed(sentence(err))
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	title, text, err := readable(ctx, res)
	if res.Status < 200 || res.Status > 299 {
		text, _ = cut(text, maxFailure)
		return tools.Failed(strings.TrimSpace(fmt.Sprintf("%s answered %s.\n\n%s", res.URL.Host, status(res.Status), text)))
	}
	if err != nil {
		return tools.Failed(sentence(err))
	}
	return tools.Result{Status: events.ToolOK, Output: report(res, title, text)}
}

// report puts what a model needs to know of a page before its text.
func report(res *guard.Response, title, text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Address: %s\n", clip(res.URL.String(), 2000))
	if title = line(title, 300); title != "" {
		fmt.Fprintf(&b, "Title: %s\n", title)
	}
	b.WriteString("\n")
	text, more := cut(text, maxText)
	if strings.TrimSpace(text) == "" {
		text = "(There is no readable text. The page may be empty, or be built by a script.)"
	}
	b.WriteString(text)
	switch {
	case more:
		fmt.Fprintf(&b, "\n\n(Cut here: these are the first %d characters, there are more.)", maxText)
	case res.Truncated:
		fmt.Fprintf(&b, "\n\n(Cut here: only the first %d MB were read.)", maxPage>>20)
	}
	return b.String()
}

// readable gives the text of an answer, or what to say of one that has none.
func readable(ctx context.Context, res *guard.Response) (title, text string, err error) {
	kind, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || !strings.Contains(kind, "/") || oneOf(kind, "application/octet-stream", "binary/octet-stream", "application/x-unknown", "unknown/unknown") {
		kind, params, _ = mime.ParseMediaType(http.DetectContentType(res.Body))
		delete(params, "charset") // a guess, not the server's word
	}
	html := oneOf(kind, "text/html", "application/xhtml+xml")
	if !html && !textual(kind) {
		return "", "", fmt.Errorf("this is not text but %s (%s); fetch reads only text", line(kind, 60), size(len(res.Body), res.Truncated))
	}
	s := decode(res.Body, params["charset"], html, strings.HasSuffix(kind, "xml"))
	if start, _ := cut(s, 4096); strings.ContainsRune(start, 0) {
		return "", "", fmt.Errorf("this calls itself %s but is binary (%s); fetch reads only text", line(kind, 60), size(len(res.Body), res.Truncated))
	}
	if !html {
		return "", clean(s), nil
	}
	title, text = page(ctx, s, res.URL)
	return title, text, nil
}

func textual(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml") ||
		oneOf(kind, "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript", "application/yaml",
			"application/x-yaml", "application/toml", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-sh", "application/sql",
			"application/graphql", "application/x-httpd-php", "application/x-tex", "application/rtf", "message/rfc822")
}

func size(n int, more bool) string {
	if more {
		return fmt.Sprintf("more than %d MB", n>>20)
	}
	if n < 10<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KB", n>>10)
}

func status(code int) string {
	if s := http.StatusText(code); s != "" {
		return fmt.Sprintf("%d (%s)", code, s)
	}
	return fmt.Sprint(code)
}

// sentence makes an error a sentence for the model.
func sentence(err error) string {
	s := line(err.Error(), 1000)
	if s == "" {
		return "It failed."
	}
	if c := s[0]; c >= 'a' && c <= 'z' {
		s = string(c-'a'+'A') + s[1:]
	}
	return strings.TrimRight(s, ".") + "."
}

// resolve gives an address of a page as a whole http, https or mailto one, "" for
// others and for places within the page.
func resolve(base *url.URL, ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || ref[0] == '#' || len(ref) > 1000 {
		return ""
	}
	u, err := base.Parse(ref)
	if err != nil || !oneOf(u.Scheme, "http", "https", "mailto") || (u.Scheme != "mailto" && u.Host == "") {
		return ""
	}
	return u.String()
}
