package markdown

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// allowed is every element and attribute that may be on the page at all, with
// what the value must look like; written down apart from the policy.
var allowed = map[string]map[string]string{
	"p": {}, "h1": {}, "h2": {}, "h3": {}, "h4": {}, "h5": {}, "h6": {}, "em": {}, "strong": {}, "del": {},
	"blockquote": {}, "ul": {}, "li": {}, "br": {}, "hr": {}, "table": {}, "thead": {}, "tbody": {}, "tr": {},
	"ol":         {"start": `\d{1,9}`},
	"th":         {"align": `left|right|center`},
	"td":         {"align": `left|right|center`},
	"code":       {"class": `chroma|math`},
	"span":       {"class": `[a-z]{1,2}|lang`},
	"figure":     {"class": `code`},
	"figcaption": {},
	"pre":        {"tabindex": `0`},
	"button":     {"type": `button`, "class": `copy`, "data-copy": `code|table`},
	"input":      {"type": `checkbox`, "checked": ``, "disabled": ``},
	"sup":        {"class": `footnote-ref`, "id": `m1-ref-[\w-]+`},
	"div":        {"class": `table|scroll|math|unformatted|footnote`, "tabindex": `0`, "id": `m1-fn-[\w-]+`, "role": `doc-footnote`},
	"a": {"class": `remote-image|footnote-back`, "href": `.*`, "rel": `noopener noreferrer nofollow`, "target": `_blank`,
		"role": `doc-noteref|doc-backlink`, "aria-label": `Back to reference .*`},
	"math": {"display": `block`, "alttext": `(?s).*`}, "mrow": {}, "mi": {"mathvariant": `normal`}, "mn": {},
	"mo": {"stretchy": `true`}, "mtext": {}, "mspace": {"width": `-?[\d.]+em`}, "msup": {}, "msub": {}, "msubsup": {},
	"mfrac": {"linethickness": `0`}, "msqrt": {}, "mroot": {}, "mover": {"accent": `true`}, "munder": {}, "munderover": {},
	"mtable": {"columnalign": `left|right left`, "displaystyle": `true`}, "mtr": {}, "mtd": {},
}

// checkSafe holds for every output whatever the input was.
func checkSafe(t testing.TB, out string) {
	t.Helper()
	ids := map[string]bool{}
	box := dom(t, out)
	walk(box, func(n *html.Node) {
		switch n.Type {
		case html.TextNode:
			if n.Parent == box && strings.TrimSpace(n.Data) != "" {
				t.Fatalf("text at the top level: %q in %.500s", n.Data, out)
			}
			return
		case html.ElementNode:
		default:
			t.Fatalf("node of type %d in %.500s", n.Type, out)
		}
		attrs, ok := allowed[n.Data]
		if !ok {
			t.Fatalf("element <%s> in %.500s", n.Data, out)
		}
		for _, a := range n.Attr {
			pattern, ok := attrs[a.Key]
			if !ok || a.Namespace != "" || !regexp.MustCompile("^(?:"+pattern+")$").MatchString(a.Val) {
				t.Fatalf("attribute %s=%q on <%s> in %.500s", a.Key, a.Val, n.Data, out)
			}
			if a.Key == "id" && ids[a.Val] {
				t.Fatalf("id %q twice in %.500s", a.Val, out)
			}
			ids[a.Val] = ids[a.Val] || a.Key == "id"
		}
		if n.Data == "a" {
			checkAnchor(t, n)
		}
	})
}

func checkAnchor(t testing.TB, n *html.Node) {
	t.Helper()
	href, _ := attr(n, "href")
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Data == "a" {
			t.Fatalf("link in a link: %q", href)
		}
	}
	if strings.HasPrefix(href, "#m1-") {
		return
	}
	u, err := url.Parse(href)
	if err != nil || !slices.Contains([]string{"http", "https", "mailto"}, strings.ToLower(u.Scheme)) {
		t.Fatalf("link to %q", href)
	}
	if u.Scheme != "mailto" && u.Host == "" {
		t.Fatalf("link to %q has no host", href)
	}
	rel, _ := attr(n, "rel")
	if where, _ := attr(n, "target"); rel != "noopener noreferrer nofollow" || where != "_blank" {
		t.Fatalf("link to %q with rel %q target %q", href, rel, where)
	}
}

// xssRow is one row of testdata/cases/xss.json.
type xssRow struct {
	ID     string
	Input  json.RawMessage
	Expect string
}

// siblings are of the kinds of the file.
var siblings = []xssRow{
	sibling("a1", "<IMG SRC=x ONERROR=alert(1)>", "text"),
	sibling("a2", "<img/src=x/onerror=alert(1)//", "text"),
	sibling("a3", "<svg/onload=alert(1)", "text"),
	sibling("a4", "- <script>alert(1)</script>\n  > <iframe src=//evil.test>", "text"),
	sibling("a5", "<form action=https://evil.test/><input type=submit></form>", "text"),
	sibling("a6", "<object data=//evil.test/x></object><embed src=//evil.test/x>", "no_fetch"),
	sibling("a7", "<link rel=stylesheet href=//evil.test/x.css>", "no_fetch"),
	sibling("a8", "<a name=lembas id=location class=copy data-copy=code>x</a>", "no_attrs"),
	sibling("a9", "<div hx-get=/x hx-trigger=load onclick=alert(1)>x</div>", "no_attrs"),
	sibling("a10", `<button type="button" class="copy" data-copy="code">Copy</button>`, "text"),
	sibling("a11", "<![CDATA[<img src=x onerror=alert(1)>]]>", "text"),
	sibling("a12", "<?xml <img src=x onerror=alert(1)> ?>", "text"),
	sibling("a13", "</div></div><script>alert(1)</script>", "text"),
	sibling("a14", "# <svg onload=alert(1)>\n\n| <b onclick=x> |\n|---|\n| <i id=a> |", "text"),
	sibling("a15", "[^1]\n\n[^1]: <img src=x onerror=alert(1)>", "text"),
	sibling("a16", "$<img src=x onerror=alert(1)>$ $$\\text{<script>alert(1)</script>}$$", "text"),
	sibling("a17", "\\(\\text{</mtext><img src=x onerror=alert(1)>}\\)", "text"),
	sibling("b1", "[x](JAVASCRIPT:alert(1))", "no_link"),
	sibling("b2", "[x](java\tscript:alert(1))", "no_link"),
	sibling("b3", "[x](java&NewLine;script:alert(1))", "no_link"),
	sibling("b4", "[x](&#x6A;avascript:alert(1))", "no_link"),
	sibling("b5", "[x](&#0000106avascript:alert(1))", "no_link"),
	sibling("b6", "[x](\\\\evil.test\\a)", "no_link"),
	sibling("b7", "[x](/\\evil.test)", "no_link"),
	sibling("b8", "[x](///evil.test)", "no_link"),
	sibling("b9", "[x](https:evil.test)", "no_link"),
	sibling("b10", "[x](https:///evil.test)", "no_link"),
	sibling("b11", "<javascript:alert(1)>", "no_link"),
	sibling("b12", "<data:text/html,x>", "no_link"),
	sibling("b13", "[x](blob:https://example.test/1)", "no_link"),
	sibling("b14", "[x](ftp://example.test/a)", "no_link"),
	sibling("b15", "[x](#top)", "no_link"),
	sibling("b16", "[x](/admin/users/1/delete)", "no_link"),
	sibling("b17", "[a][r]\n\n[R]: vbscript:x", "no_link"),
	sibling("b18", "![x](javascript:alert(1))", "no_link"),
	sibling("b19", "[x](%6Aavascript:alert(1))", "no_link"),
	sibling("b20", "[x](view-source:https://example.test/)", "no_link"),
	sibling("c1", "[x](http://example.test)", "link"),
	sibling("c2", "https://example.test/a", "link"),
	sibling("c3", "[ref][1]\n\n[1]: https://example.test/ 'title'", "link"),
	sibling("c4", "[x](HTTPS://example.test/?a=1&b=\"><img src=x>)", "link_or_text"),
	sibling("d1", "![x](https://evil.test/p.png)", "no_fetch"),
	sibling("d2", "[![x](https://evil.test/p.png)](https://example.test/)", "no_fetch"),
	sibling("d3", "![x][i]\n\n[i]: //evil.test/p.png", "no_fetch"),
	sibling("e1", "~~~<script>\n<script>alert(1)</script>\n~~~", "code"),
	sibling("e2", "    <script>alert(1)</script>", "code"),
	sibling("e3", "```\"><script>alert(1)</script>\n</code></pre></figure><script>x</script>\n```", "code"),
}

func sibling(id, input, expect string) xssRow {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return xssRow{ID: id, Input: raw, Expect: expect}
}

func TestXSS(t *testing.T) {
	var rows []xssRow
	readJSON(t, "../../testdata/cases/xss.json", &rows)
	r := New(Options{})
	for _, row := range append(rows, siblings...) {
		t.Run(row.ID+"-"+row.Expect, func(t *testing.T) {
			if row.Input[0] == '{' {
				row.object(t, r)
				return
			}
			var src string
			if err := json.Unmarshal(row.Input, &src); err != nil {
				t.Fatal(err)
			}
			row.check(t, string(r.Render("m1", src)))
			for i := range src {
				checkSafe(t, string(r.RenderOpen("m1", src[:i])))
			}
		})
	}
}

// object rows name another place; three of them are this package's.
func (row xssRow) object(t *testing.T, r *Renderer) {
	var in struct {
		Context string
		Value   json.RawMessage
	}
	if err := json.Unmarshal(row.Input, &in); err != nil {
		t.Fatal(err)
	}
	switch in.Context {
	case "stream_chunks":
		var chunks []string
		if err := json.Unmarshal(in.Value, &chunks); err != nil {
			t.Fatal(err)
		}
		page := newPage(r)
		for _, c := range chunks {
			page.add(t, c)
			checkSafe(t, page.serial())
		}
		page.finish(t)
		row.check(t, page.serial())
	case "approval_card":
		var s string
		if err := json.Unmarshal(in.Value, &s); err != nil {
			t.Fatal(err)
		}
		got := VisibleControls(s)
		if want := `ls \u{202e}txt.sh\u{202c} \x1b[2K\x07 rm -rf /srv`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func (row xssRow) check(t *testing.T, out string) {
	t.Helper()
	checkSafe(t, out)
	anchors, code := 0, 0
	walk(dom(t, out), func(n *html.Node) {
		if href, ok := attr(n, "href"); ok && !strings.HasPrefix(href, "#m1-") {
			anchors++
		}
		if n.Data == "code" {
			code++
		}
	})
	switch row.Expect {
	case "no_link":
		if anchors != 0 {
			t.Errorf("a link: %s", out)
		}
	case "link":
		if anchors != 1 {
			t.Errorf("%d links: %s", anchors, out)
		}
	case "code":
		if code != 1 {
			t.Errorf("%d code elements: %s", code, out)
		}
	case "text", "no_fetch", "no_attrs", "link_or_text": // checkSafe has no element that loads, and no foreign attribute
	default:
		t.Fatalf("unknown expectation %q", row.Expect)
	}
}

// TestTrustedPartsCannotBeForged: the names that trusted parts carry mean
// nothing in a text.
func TestTrustedPartsCannotBeForged(t *testing.T) {
	r := New(Options{})
	out := string(r.Render("m1", "mdx0n0z "+strings.Replace(r.mark, "mdx", "mdx&#8203;", 1)+"0z\n\n- [x] a"))
	if n := strings.Count(out, "<input"); n != 1 {
		t.Errorf("%d check boxes: %s", n, out)
	}
	if strings.Contains(string(r.Render("m1", "- [x] a\n\n| a |\n|---|\n| `b` |\n")), r.mark) {
		t.Error("a token was left in the output")
	}
}
