package builtin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"lembas/events"
)

const story = `<!doctype html><html><head><title>The &amp; story</title><style>p{color:red}</style></head><body>
<nav><a href="/home">Home</a><ul><li>Menu</li></ul></nav>
<main><h1>Bread</h1><p>It is   <b>thin</b> and <a href="../more?x=1#y">keeps</a> well.<br>New line</p>
<ul><li>one<ol><li>deep</li><li>deeper</li></ol></li><li>two</li></ul>
<table><tr><th>Name</th><th>Days</th></tr><tr><td>Lembas</td><td>90</td></tr></table>
<pre>  keep
    this</pre><p hidden>secret</p><p>` + "shown" + `</p><div style="Display : none">never</div><svg/><span>after</span>
<img src="x" alt="A leaf"><script>var x = "<p>no</p>"</script><a href="javascript:alert(1)">click</a>` + words + `</main>
<footer>Imprint</footer></body></html>`

const words = `<p>It is baked in the shape of thin cakes, of a meal that is baked a light brown on the outside, and inside is the colour of cream. One will keep
a traveller on his feet for a day of long labour, even if he be one of the tall Men.</p>`

func TestAPageBecomesText(t *testing.T) {
	_, g := newWeb(t, says("text/html; charset=utf-8", story))
	res := run(t, Fetch(g), `{"url":"http://a.test/dir/page"}`)
	if res.Status != events.ToolOK {
		t.Fatal(res)
	}
	wantIn(t, res.Output, "Address: http://a.test/dir/page\n", "Title: The & story\n", "# Bread\n", "It is thin and [keeps](http://a.test/more?x=1#y) well.\nNew line\n",
		"\n- one\n  1. deep\n  2. deeper\n- two\n", "Name | Days\nLembas | 90\n", "```\n  keep\n    this\n```", "shown", "after", "[image: A leaf]", "click", "even if he be")
	wantNotIn(t, res.Output, "Menu", "Imprint", "secret", "never", "color:red", "var x", "javascript:", "<")
}

func TestTheTextOfAPageIsFound(t *testing.T) {
	for name, c := range map[string]struct{ page, in, out string }{
		"without main":        {"<nav>menu</nav><div>" + words + "</div><footer>foot</footer>", "cakes", "menu"},
		"role main":           {"<div>sidebar</div><div role=main><div>" + words + "</div></div><div>end</div>", "cakes", "sidebar"},
		"article":             {"<div>sidebar</div><article>" + words + "</article>", "cakes", "sidebar"},
		"teasers are less":    {"<article>" + words[:220] + "</article><p>The text</p>" + words, "The text", "\x00"},
		"hidden to the next":  {"<p hidden>secret<p>shown", "shown", "secret"},
		"other schemes":       {`<a href="ftp://x.test/f">file</a>`, "file", "ftp:"},
		"blocks in cells":     {"<table><tr><td><p>a</p></td><td>b</td></tr></table>", "a\n\nb", "|"},
		"main without text":   {"<main><div id=app></div></main>" + words, "cakes", "\x00"},
		"a menu never closed": {"<nav>" + words, "cakes", "\x00"},
		"all hidden":          {"<body hidden>" + words, "cakes", "\x00"},
		"two mains":           {"<main>" + words + "</main>between<main>second</main>", "second", "between"},
		"fragments":           {"x</p></div>" + words + "</main></nav>y", "y", "\x00"},
		"only text":           {"just text", "just text", "\x00"},
		"upper case":          {"<SCRIPT>evil()</SCRIPT><P>fine</P>", "fine", "evil"},
		"base":                {`<base href="http://b.test/x/"><a href="y">go</a>`, "[go](http://b.test/x/y)", "\x00"},
		"cards":               {`<a href="/c"><h3>Card</h3><p>text</p></a>after`, "### [Card](http://a.test/c)", "](http://a.test/c)after"},
		"comments":            {"a<!-- hidden -->b", "ab", "hidden"},
		"entities":            {"&lt;b&gt; &amp;lt; &copy;", "<b> &lt; ©", "\x00"},
		"no text":             {"<script>app()</script>", "no readable text", "app()"},
		"empty":               {"", "no readable text", "\x00"},
	} {
		_, g := newWeb(t, says("text/html", c.page))
		res := run(t, Fetch(g), `{"url":"http://a.test/"}`)
		if res.Status != events.ToolOK || !strings.Contains(res.Output, c.in) || strings.Contains(res.Output, c.out) {
			t.Errorf("%s: want %q and not %q in %q", name, c.in, c.out, res)
		}
	}
}

func TestKindsOfAnswers(t *testing.T) {
	latin := "caf\xe9 \x80"
	for _, c := range []struct{ kind, body, want string }{
		{"application/json", `{"a": [1,  2]}`, `{"a": [1,  2]}`},
		{"application/vnd.api+json; charset=utf-8", `{"ä":1}`, `{"ä":1}`},
		{"text/xml", "<?xml version='1.0'?><a>b</a>", "<?xml version='1.0'?><a>b</a>"},
		{"application/atom+xml", `<?xml version="1.0" encoding="iso-8859-1"?>` + latin, "café €"},
		{"text/xml", `<?xml version="1.0" encoding="koi8-r"?>` + "\xcb\xcf\xd4", "кот"},
		{"application/octet-stream", latin, "café €"},
		{"text/plain", "a < b", "a < b"},
		{"text/plain; charset=iso-8859-1", latin, "café €"},
		{"text/plain", latin, "café €"},
		{"text/plain; charset=utf-8", latin, "caf\ufffd \ufffd"},
		{"text/plain", "\xff\xfeh\x00i\x00", "hi"},
		{"text/plain", "\xef\xbb\xbfhi", "\n\nhi"},
		{"text/html", `<meta charset="windows-1252"><p>` + latin, "café €"},
		{"text/html", strings.Repeat(" ", 2000) + "<p>später", "später"},
		{"text/html; charset=shift_jis", "\x93\xfa\x96\x7b", "日本"},
		{"text/html; charset=no-such", "später", "später"},
		{"application/octet-stream", "plain words", "plain words"},
		{"nonsense", "<!doctype html><p>a<b>b</b>", "ab"},
		{"text/csv", "a,b\n1,2\n", "a,b\n1,2"},
	} {
		_, g := newWeb(t, says(c.kind, c.body))
		res := run(t, Fetch(g), `{"url":"http://a.test/"}`)
		if res.Status != events.ToolOK || !strings.Contains(res.Output, c.want) || !utf8.ValidString(res.Output) {
			t.Errorf("%s %q: %q", c.kind, c.body, res)
		}
	}
	for _, c := range []struct{ kind, body, want string }{
		{"application/pdf", "%PDF-1.7", "application/pdf"},
		{"image/png", "\x89PNG\r\n\x1a\n", "image/png"},
		{"application/octet-stream", "\x00\x01\x02\x03", "application/octet-stream"},
		{"application/octet-stream", "%PDF-1.7", "application/pdf"},
		{"text/plain", "a\x00b", "binary"},
		{"text/html", "<p>a\x00b", "binary"},
		{"application/zip", strings.Repeat("x", 20<<10), "20 KB"},
	} {
		_, g := newWeb(t, says(c.kind, c.body))
		res := run(t, Fetch(g), `{"url":"http://a.test/"}`)
		if res.Status != events.ToolError || !strings.Contains(res.Output, c.want) || strings.Contains(res.Output, "\x00") {
			t.Errorf("%s %q: %q", c.kind, c.body, res)
		}
	}
}

func TestLongAnswersAreCutAndSayso(t *testing.T) {
	for kind, body := range map[string]string{"text/plain": strings.Repeat("ä", 25_000), "text/html": "<p>" + strings.Repeat("ä ", 40_000), "application/json": `"` + strings.Repeat("x", 6<<20) + `"`} {
		_, g := newWeb(t, says(kind, body))
		res := run(t, Fetch(g), `{"url":"http://a.test/"}`)
		wantIn(t, res.Output, "first 20000 characters, there are more")
		if n := utf8.RuneCountInString(res.Output); n < 20_000 || n > 20_300 {
			t.Errorf("%s: %d characters", kind, n)
		}
	}
	_, g := newWeb(t, says("text/plain", strings.Repeat("ä", 20_000)))
	wantNotIn(t, run(t, Fetch(g), `{"url":"http://a.test/"}`).Output, "Cut here")
}

func TestWhatIsNotFetched(t *testing.T) {
	moved := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	for _, c := range []struct {
		answer        http.HandlerFunc
		args          string
		status, wants string
	}{
		{says("text/plain", "x"), `{"url":"http://127.0.0.1:8080/api/chats"}`, events.ToolRefused, "public"},
		{says("text/plain", "x"), `{"url":"http://private.test/"}`, events.ToolRefused, "private"},
		{says("text/plain", "x"), `{"url":"file:///etc/passwd"}`, events.ToolRefused, "http and https"},
		{moved("http://169.254.169.254/latest"), `{"url":"http://a.test/"}`, events.ToolRefused, "metadata"},
		{moved("/again"), `{"url":"http://a.test/"}`, events.ToolRefused, "redirects"},
		{says("text/plain", "x"), `{"url":"http://nowhere.test/"}`, events.ToolError, "not found"},
		{says("text/plain", "x"), `{"address":"http://a.test/"}`, events.ToolError, `no argument "address"`},
		{says("text/plain", "x"), `"http://a.test/"`, events.ToolError, "JSON object"},
		{answers(404, "text/html", "<title>x</title><p>No such page"), `{"url":"http://a.test/"}`, events.ToolError, "a.test answered 404 (Not Found).\n\nNo such page"},
		{answers(500, "application/pdf", "%PDF"), `{"url":"http://a.test/"}`, events.ToolError, "500"},
		{answers(503, "text/plain", strings.Repeat("x", 5000)), `{"url":"http://a.test/"}`, events.ToolError, "503"},
	} {
		_, g := newWeb(t, c.answer)
		res := run(t, Fetch(g), c.args)
		if res.Status != c.status || !strings.Contains(res.Output, c.wants) || len(res.Output) > 3000 {
			t.Errorf("%s: %q", c.args, res)
		}
	}
}

func TestFetchSaysWhoItIsAndNoMore(t *testing.T) {
	w, g := newWeb(t, says("text/plain", "x"))
	run(t, Fetch(g), `{"url":"http://a.test/"}`)
	h := w.seen[0].Header
	if !strings.Contains(h.Get("User-Agent"), "LLeMbas") || h.Get("Cookie")+h.Get("Authorization")+h.Get("Referer") != "" {
		t.Error(h)
	}
}

// What would make a tree much larger than its page ends here, and what is given
// is bounded.
func TestHostilePages(t *testing.T) {
	for name, part := range map[string]string{
		"formatting": "<b a=%d>", "paragraphs": "<p>", "deep": "<div>", "lists": "<ul><li>", "links": `<a href="x">y`, "tables": "<table><tr><td>", "ends": "x</b>",
		"attributes": "<p a%d=1", "open": "<", "comments": "<!--", "entities": "&amp;&#x41", "raw": "<script>", "pre": "<pre>x", "skip": "<p hidden>", "title": "<title>",
		"base": `<base href="http://b.test/">`, "cells": "<td>x", "svg": "<svg>", "null": "x", "alt": `<img alt="x">`,
	} {
		var b strings.Builder
		if part != "<div>" {
			b.WriteString("<b><i><u>")
		}
		for i := 0; b.Len() < maxPage/20; i++ {
			if strings.Contains(part, "%d") {
				fmt.Fprintf(&b, part, i)
			} else {
				b.WriteString(part)
			}
		}
		_, g := newWeb(t, says("text/html", b.String()))
		out := run(t, Fetch(g), `{"url":"http://a.test/"}`).Output
		if utf8.RuneCountInString(out) > maxText+maxFailure {
			t.Errorf("%s: %d bytes", name, len(out))
		}
	}
}

func FuzzPage(f *testing.F) {
	f.Add(story)
	f.Add("<p hidden><a href=x><table><tr><td>")
	at := &url.URL{Scheme: "http", Host: "a.test", Path: "/"}
	f.Fuzz(func(t *testing.T, s string) {
		title, text := page(t.Context(), s, at)
		if strings.ContainsAny(text, "\x00\x1b\u202e") || strings.Contains(text, "](javascript:") || !utf8.ValidString(clean(title)) {
			t.Errorf("%q: %q", s, text)
		}
	})
}
