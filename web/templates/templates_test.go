package templates_test

import (
	"bytes"
	"html/template"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"lembas/web/templates"
)

func TestWrongNameOrTypeIsAnError(t *testing.T) {
	_, set := newSet(t)
	for _, c := range []struct {
		name string
		call func(b *bytes.Buffer) error
	}{
		{"unknown page", func(b *bytes.Buffer) error { return set.Page(b, "nothing", sampleNew()) }},
		{"page of another type", func(b *bytes.Buffer) error { return set.Page(b, "chat", sampleNew()) }},
		{"pointer", func(b *bytes.Buffer) error { return set.Page(b, "new", &templates.NewChat{}) }},
		{"unknown fragment", func(b *bytes.Buffer) error { return set.Fragment(b, "reply", templates.Message{}) }},
		{"fragment of another type", func(b *bytes.Buffer) error { return set.Fragment(b, "message", templates.Round{}) }},
		{"nothing", func(b *bytes.Buffer) error { return set.Fragment(b, "message", nil) }},
	} {
		var out bytes.Buffer
		if err := c.call(&out); err == nil || out.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes written", c.name, err, out.Len())
		}
	}
}

// walk visits every element of a page.
func walk(t *testing.T, page string, visit func(n *html.Node, attr map[string]string)) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		attr := map[string]string{}
		for _, a := range n.Attr {
			attr[a.Key] = a.Val
		}
		visit(n, attr)
	}
}

// eachPage runs the check on every sample page.
func eachPage(t *testing.T, check func(t *testing.T, page string)) {
	_, set := newSet(t)
	for name, data := range samplePages() {
		t.Run(name, func(t *testing.T) {
			kind, _, _ := strings.Cut(name, "-")
			check(t, render(t, set, kind, data))
		})
	}
}

// TestNothingInline: the policy of the pages allows neither inline style nor
// inline script, and nothing from another host.
func TestNothingInline(t *testing.T) {
	eachPage(t, func(t *testing.T, page string) {
		walk(t, page, func(n *html.Node, attr map[string]string) {
			if n.Data == "style" || (n.Data == "script" && attr["src"] == "") {
				t.Errorf("an inline %s", n.Data)
			}
			for key, value := range attr {
				if key == "style" || strings.HasPrefix(key, "on") || strings.HasPrefix(key, "hx-on") {
					t.Errorf("<%s %s=%q>", n.Data, key, value)
				}
				if (key == "src" || (key == "href" && n.Data == "link")) && !strings.HasPrefix(value, "/") {
					t.Errorf("<%s %s=%q> is not ours", n.Data, key, value)
				}
				if strings.Contains(value, "ZgotmplZ") {
					t.Errorf("<%s %s>: a value that the template refused", n.Data, key)
				}
			}
		})
	})
}

// TestIdsAndReferences: an id stands once, and whatever refers to an id or an
// icon finds it.
func TestIdsAndReferences(t *testing.T) {
	eachPage(t, func(t *testing.T, page string) {
		ids := map[string]bool{}
		var refs []string
		walk(t, page, func(n *html.Node, attr map[string]string) {
			if id, ok := attr["id"]; ok {
				if id == "" || ids[id] {
					t.Errorf("id %q stands twice or is empty", id)
				}
				ids[id] = true
			}
			for _, key := range []string{"for", "aria-labelledby", "aria-controls", "popovertarget"} {
				if attr[key] != "" {
					refs = append(refs, attr[key])
				}
			}
			if href := attr["href"]; n.Data == "use" || strings.HasPrefix(href, "#") {
				refs = append(refs, strings.TrimPrefix(href, "#"))
			}
			if target := attr["hx-target"]; strings.HasPrefix(target, "#") {
				refs = append(refs, target[1:])
			}
		})
		for _, ref := range refs {
			if !ids[ref] {
				t.Errorf("nothing has the id %q", ref)
			}
		}
	})
}

// TestControlsHaveNames: every button, link and field can be named aloud. The
// boxes of a task list, which have no name and cannot be used, are not ours.
func TestControlsHaveNames(t *testing.T) {
	eachPage(t, func(t *testing.T, page string) {
		walk(t, page, func(n *html.Node, attr map[string]string) {
			switch n.Data {
			case "button", "a", "summary":
				if attr["aria-label"] == "" && text(n) == "" && attr["data-slot"] == "" && n.Parent.Data != "select" {
					t.Errorf("<%s %v> has no name", n.Data, attr)
				}
			case "input", "select", "textarea":
				if attr["type"] == "hidden" || attr["aria-label"] != "" || attr["aria-hidden"] == "true" || class(n.Parent) == "" && attr["name"] == "" {
					return
				}
				for p := n.Parent; p != nil; p = p.Parent {
					if p.Data == "label" {
						return
					}
				}
				if !strings.Contains(page, `for="`+attr["id"]+`"`) || attr["id"] == "" {
					t.Errorf("<%s name=%q> has no label", n.Data, attr["name"])
				}
			}
		})
	})
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// TestLandmarks: one main, one h1, a skip link that comes first, a language.
func TestLandmarks(t *testing.T) {
	eachPage(t, func(t *testing.T, page string) {
		count := map[string]int{}
		walk(t, page, func(n *html.Node, attr map[string]string) {
			count[n.Data]++
			if n.Data == "html" && attr["lang"] != "en" {
				t.Errorf("lang is %q", attr["lang"])
			}
		})
		if count["main"] != 1 || count["h1"] != 1 || count["title"] < 1 {
			t.Errorf("main %d, h1 %d, title %d", count["main"], count["h1"], count["title"])
		}
		if first := strings.Index(page, "<a "); !strings.HasPrefix(page[first:], `<a class="skip" href="#main">`) {
			t.Error("the first link does not skip to the content")
		}
	})
}

// routes are the verbs that docs/page-protocol.md gives to htmx controls. A
// control that asks for another would be a dead button.
var routes = []string{
	"get /chat/ID/messages", "get /chat/ID/messages/ID", "get /sidebar", "get /settings/push", "delete /settings/push/ID", "get /admin/models", "get /admin/users", "get /audit",
	"post /settings/preferences", "post /settings/password", "post /settings/tokens",
	"delete /settings/tokens/ID", "delete /settings/sessions/ID",
	"post /admin/connections", "patch /admin/connections/ID", "delete /admin/connections/ID",
	"post /admin/connections/ID/check", "post /admin/connections/ID/refresh",
	"get /admin/tools", "get /admin/tools/row", "post /admin/tools", "post /admin/tools/try", "patch /admin/tools/ID", "delete /admin/tools/ID",
	"get /admin/mcp", "post /admin/mcp", "patch /admin/mcp/ID", "delete /admin/mcp/ID", "patch /admin/mcp/ID/tools", "post /admin/mcp/ID/refresh", "post /admin/mcp/ID/review",
	"patch /admin/search", "post /admin/search/try",
	"patch /admin/models/ID", "post /admin/models/ID/move", "post /admin/users", "patch /admin/users/ID", "patch /admin/settings",
}

func TestControlsUseKnownRoutes(t *testing.T) {
	known := map[string]bool{}
	for _, route := range routes {
		known[route] = true
	}
	used := map[string]bool{}
	id := regexp.MustCompile(`/[a-z]{1,2}\d+(/|$)`)
	eachPage(t, func(t *testing.T, page string) {
		walk(t, page, func(n *html.Node, attr map[string]string) {
			for key, value := range attr {
				verb, ok := strings.CutPrefix(key, "hx-")
				if !ok || !strings.Contains("get post put patch delete", verb) {
					continue
				}
				path, _, _ := strings.Cut(value, "?")
				route := verb + " " + id.ReplaceAllString(path, "/ID$1")
				used[route] = true
				if !known[route] {
					t.Errorf("a control asks for %s", route)
				}
			}
		})
	})
	for route := range known {
		if !used[route] {
			t.Errorf("no control asks for %s", route)
		}
	}
}

// TestFragmentEqualsPart: what the stream sends is byte for byte what a fresh
// page has.
func TestFragmentEqualsPart(t *testing.T) {
	_, set := newSet(t)
	chat := sampleChat()
	page := render(t, set, "chat", chat)
	reply := chat.Messages.Messages[1]
	for name, data := range map[string]any{
		"message": chat.Messages.Messages[0], "who": reply, "round": reply.Rounds[1], "think": *reply.Rounds[0].Think,
		"note": reply.Rounds[0].Notes[0], "tools": reply.Rounds[0], "error": chat.Messages.Messages[3], "foot": reply,
		"queue": chat.Queue, "queue-row": chat.Queue.Rows[1], "composer-send": chat.Composer.Send,
		"chat-status": chat.Status, "chat-meter": chat.Meter, "sidebar-tree": chat.Sidebar,
		"chat-row": chat.Sidebar.Pinned[0], "folder": chat.Sidebar.Folders[0],
	} {
		var part bytes.Buffer
		if err := set.Fragment(&part, name, data); err != nil {
			t.Fatal(err)
		}
		if part.Len() == 0 || !strings.Contains(page, part.String()) {
			t.Errorf("the fragment %s is not in the page: %s", name, part.String())
		}
	}
}

// TestNoSpaceBetweenElements: in the transcript a text node between two
// elements would be one that a streamed page does not have.
func TestNoSpaceBetweenElements(t *testing.T) {
	_, set := newSet(t)
	walk(t, render(t, set, "chat", sampleChat()), func(n *html.Node, attr map[string]string) {
		if attr["id"] != "log" {
			return
		}
		for d := range n.Descendants() {
			inText := false
			for p := d.Parent; p != n && p != nil; p = p.Parent {
				inText = inText || p.Data == "div" && strings.Contains(" text turn-text text thought ", " "+class(p)+" ")
			}
			if d.Type == html.TextNode && !inText && strings.TrimSpace(d.Data) == "" && d.PrevSibling != nil && d.NextSibling != nil {
				t.Errorf("white space between <%s> and <%s> in <%s class=%q>", d.PrevSibling.Data, d.NextSibling.Data, d.Parent.Data, class(d.Parent))
			}
		}
	})
}

func class(n *html.Node) string {
	for _, a := range n.Attr {
		if a.Key == "class" {
			return a.Val
		}
	}
	return ""
}

// TestHostileText fills every string of every view with markup. Nothing of it
// may become an element or leave its attribute.
func TestHostileText(t *testing.T) {
	_, set := newSet(t)
	const evil = `x"'><img src=x onerror=alert(1)><script>alert(1)</script> javascript:alert(1)`
	for name, data := range samplePages() {
		kind, _, _ := strings.Cut(name, "-")
		copied := reflect.New(reflect.TypeOf(data)).Elem()
		copied.Set(poison(reflect.ValueOf(data), evil))
		page := render(t, set, kind, copied.Interface())
		walk(t, page, func(n *html.Node, attr map[string]string) {
			if n.Data == "img" && attr["src"] == "x" || attr["onerror"] != "" || (n.Data == "script" && strings.Contains(text(n), "alert")) {
				t.Errorf("%s: hostile text became <%s %v>", name, n.Data, attr)
			}
			for _, key := range []string{"href", "action", "src"} {
				if strings.HasPrefix(strings.TrimSpace(strings.ToLower(attr[key])), "javascript:") {
					t.Errorf("%s: <%s %s=%q>", name, n.Data, key, attr[key])
				}
			}
		})
	}
}

// TestHostileLinks: an address that a view carries cannot become a script.
func TestHostileLinks(t *testing.T) {
	_, set := newSet(t)
	page := sampleChat()
	page.Exports = []templates.Option{{Value: "javascript:alert(1)", Label: "x"}}
	if got := render(t, set, "chat", page); strings.Contains(got, `href="javascript:`) {
		t.Error("a javascript: address came through")
	}
	var out bytes.Buffer
	fault := templates.ErrorPage{Status: 404, Back: "javascript:alert(1)"}
	if err := set.Page(&out, "error", fault); err != nil || strings.Contains(out.String(), `href="javascript:`) {
		t.Errorf("a javascript: address came through (%v)", err)
	}
}

// poison copies a view with every plain string replaced. The few that choose a
// branch of a template (roles, statuses) keep theirs in a second pass of the
// samples themselves.
func poison(v reflect.Value, evil string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[template.HTML]() {
			out.Set(v)
		} else {
			out.SetString(evil)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name == "Role" || name == "Kind" || name == "Act" || name == "State" && v.Type() == reflect.TypeFor[templates.Card]() {
				out.Field(i).Set(v.Field(i))
			} else {
				out.Field(i).Set(poison(v.Field(i), evil))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = reflect.Append(out, poison(v.Index(i), evil))
		}
	case reflect.Map:
		out.Set(reflect.MakeMap(v.Type()))
		for _, key := range v.MapKeys() {
			out.SetMapIndex(key, poison(v.MapIndex(key), evil))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(poison(v.Elem(), evil))
		}
	default:
		out.Set(v)
	}
	return out
}
