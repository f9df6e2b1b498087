package js_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lembas/web/markdown"
)

// apply runs ops in the page without a stream.
func (p *tab) apply(ops ...op) {
	p.t.Helper()
	data, err := json.Marshal(ops)
	if err != nil {
		p.t.Fatal(err)
	}
	p.exec(`import(document.querySelector('script[type=module]').src.replace('app.js', 'ops.js')).then(m => m.apply(` + string(data) + `))`)
}

// TestOpsTwice: ops are absolute, so that applying them again changes nothing,
// and what they give is what a fresh page would have.
func TestOpsTwice(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	const start = `<div id="box"><p>one</p><p>two</p></div><ul id="list"><li id="a">a</li><li id="b">b</li></ul>` +
		`<div id="deep"><ol><li><p>a</p><p>b</p></li><li>x</li></ol><p>after</p></div>`
	cases := []struct {
		name string
		ops  []op
		want string
	}{
		{"blocks", []op{{"op": "blocks", "target": "box", "keep": 1, "html": "<p>two!</p><p>three</p>"}},
			`<div id="box"><p>one</p><p>two!</p><p>three</p></div>`},
		{"blocks to nothing", []op{{"op": "blocks", "target": "box", "keep": 0, "html": ""}}, `<div id="box"></div>`},
		{"blocks other element", []op{{"op": "blocks", "target": "box", "keep": 1, "html": "<pre>x</pre>"}}, `<div id="box"><p>one</p><pre>x</pre></div>`},
		{"blocks further down", []op{{"op": "blocks", "target": "deep", "keep": []int{0, 0, 1}, "html": "<li>c</li>"}},
			`<div id="deep"><ol><li><p>a</p><li>c</li></li></ol></div>`},
		{"blocks in place", []op{{"op": "blocks", "target": "deep", "keep": []int{0, 1}, "html": "<li>b2</li>"}},
			`<div id="deep"><ol><li><p>a</p><p>b</p></li><li>b2</li></ol></div>`},
		{"blocks beyond", []op{{"op": "blocks", "target": "deep", "keep": []int{4, 1}, "html": "<li>b2</li>"}}, `<div id="deep">`},
		{"put again", []op{{"op": "put", "target": "a", "into": "list", "html": `<li id="a" class="x">A</li>`}}, `<ul id="list"><li id="a" class="x">A</li><li id="b">b</li></ul>`},
		{"put in place", []op{{"op": "put", "target": "a", "html": `<li id="a">A <b>x</b></li>`}}, `<ul id="list"><li id="a">A <b>x</b></li><li id="b">b</li></ul>`},
		{"put new before", []op{{"op": "put", "target": "c", "into": "list", "before": "b", "html": `<li id="c">c</li>`}}, `<ul id="list"><li id="a">a</li><li id="c">c</li><li id="b">b</li></ul>`},
		{"put moves", []op{{"op": "put", "target": "b", "into": "list", "before": "a", "html": `<li id="b">b</li>`}}, `<ul id="list"><li id="b">b</li><li id="a">a</li></ul>`},
		{"put before itself gone", []op{{"op": "put", "target": "c", "into": "list", "before": "nothing", "html": `<li id="c">c</li>`}}, `<ul id="list"><li id="a">a</li><li id="b">b</li><li id="c">c</li></ul>`},
		{"remove", []op{{"op": "remove", "target": "a"}}, `<ul id="list"><li id="b">b</li></ul>`},
		{"attr", []op{{"op": "attr", "target": "a", "name": "data-status", "value": "failed"}}, `<ul id="list"><li id="a" data-status="failed">a</li><li id="b">b</li></ul>`},
		{"attr only of its kinds", []op{{"op": "attr", "target": "a", "name": "onclick", "value": "x"}, {"op": "attr", "target": "a", "name": "style", "value": "x"}}, `<ul id="list"><li id="a">a</li><li id="b">b</li></ul>`},
		{"attr removed", []op{{"op": "attr", "target": "a", "name": "hidden", "value": ""}, {"op": "attr", "target": "a", "name": "hidden", "value": nil}}, `<ul id="list"><li id="a">a</li><li id="b">b</li></ul>`},
		{"text", []op{{"op": "text", "target": "a", "text": "<i>"}}, `<ul id="list"><li id="a">&lt;i&gt;</li><li id="b">b</li></ul>`},
		{"unknown target and op", []op{{"op": "put", "target": "zz", "html": "<p>"}, {"op": "later"}, {"op": "text", "target": "zz", "text": "x"}}, start},
	}
	for _, c := range cases {
		for times := 1; times <= 2; times++ {
			p.exec(`document.getElementById('log').innerHTML = ` + quote(start) + `, 0`)
			for range times {
				p.apply(c.ops...)
			}
			got := run[string](p, `document.getElementById('log').innerHTML`)
			if !strings.Contains(got, c.want) {
				t.Errorf("%s, applied %d times: %s\nwant %s", c.name, times, got, c.want)
			}
		}
	}
}

// TestSelectionSurvives: a reader marks text of a reply that is being written.
func TestSelectionSurvives(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	l := s.next(t)
	l.send(t, frame(11, "c1", op{"op": "put", "target": "text-r1-1", "into": "log", "html": `<div id="text-r1-1"><p>Settled <em>words</em> here</p><p>Open</p></div>`}))
	p.until(`document.getElementById('text-r1-1')`)
	p.exec(`(window.first = document.querySelector('#text-r1-1 p'), getSelection().setBaseAndExtent(first.firstChild, 3, document.querySelector('#text-r1-1 p + p').firstChild, 4), 0)`)
	text := "Open"
	for i := 12; i < 40; i++ {
		text += fmt.Sprintf(" word%d", i)
		l.send(t, frame(i, "c1", op{"op": "blocks", "target": "text-r1-1", "keep": 1, "html": "<p>" + text + "</p>"}))
	}
	l.send(t, frame(40, "c1", op{"op": "blocks", "target": "text-r1-1", "keep": 1, "html": "<p>" + text + " and <strong>bold</strong></p><p>Next</p>"}))
	p.until(`document.querySelectorAll('#text-r1-1 p').length === 3`)
	p.equal(`[getSelection().toString().replace(/\s+/g, ' '), document.querySelector('#text-r1-1 p') === first, document.querySelector('#text-r1-1 p + p').textContent]`,
		[]any{"tled words here Open", true, text + " and bold"})
}

// TestMarkdownFrames follows growing replies with the frames of web/markdown:
// what stands in the page at the end is what a fresh page gets.
func TestMarkdownFrames(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	files, err := filepath.Glob("../../../testdata/corpus/markdown/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	r := markdown.New(markdown.Options{})
	for _, name := range files {
		var c struct {
			Markdown string `json:"markdown"`
		}
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(body, &c); err != nil {
			t.Fatal(err)
		}
		p.exec(`document.getElementById('log').innerHTML = '<div id="text-x"></div><div id="whole"></div>', 0`)
		stream, ops := r.NewStream("x"), []op{}
		take := func(f markdown.Frame) {
			for _, o := range f {
				ops = append(ops, op{"op": "blocks", "target": "text-x", "keep": o.Keep, "html": o.HTML})
			}
		}
		for text := c.Markdown; text != ""; {
			n := min(len(text), 23)
			stream.Append(text[:n])
			text = text[n:]
			if f, changed := stream.Frame(); changed {
				take(f)
			}
		}
		take(stream.Finish())
		p.apply(ops...)
		p.exec(`document.getElementById('whole').innerHTML = ` + quote(string(r.Render("x", c.Markdown))) + `, 0`)
		if same := run[bool](p, `document.getElementById('whole').innerHTML === document.getElementById('text-x').innerHTML`); !same {
			t.Errorf("%s: the frames leave\n%s\nand the whole render is\n%s", filepath.Base(name),
				run[string](p, `document.getElementById('text-x').innerHTML`), run[string](p, `document.getElementById('whole').innerHTML`))
		}
	}
}

// TestPersonsStateSurvivesPut: an editor, a fold and the focus stay through a put of the whole message.
func TestPersonsStateSurvivesPut(t *testing.T) {
	s := newSite(t)
	const reply = `<article id="m-r1" data-message="r1"><details id="think-r1-1"><summary>Thought</summary>x</details><div id="foot-r1"><button id="again">Again</button></div></article>`
	s.main = strings.Replace(chatMain, `<div id="room">`, reply+`<div id="room">`, 1)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.click(`#think-r1-1 summary`)
	p.click(`[data-act=edit-message]`)
	p.press("!")
	p.exec(`document.getElementById('again').focus()`)
	p.apply(op{"op": "put", "target": "m-r1", "html": strings.ReplaceAll(strings.Replace(reply, ">x<", ">x y<", 1), "Again", "Once more")},
		op{"op": "put", "target": "m-t1", "html": `<article id="m-t1" data-message="t1" data-role="user" data-status="complete"><div class="turn"><div id="text-t1">Edited elsewhere</div></div></article>`})
	p.equal(`[document.getElementById('think-r1-1').open, document.getElementById('think-r1-1').textContent, document.activeElement.textContent, document.querySelector('#m-t1 textarea').value, document.getElementById('text-t1').textContent]`,
		[]any{true, "Thoughtx y", "Once more", "When was Rome founded?!", "Edited elsewhere"})
}

func TestTitleAnnounceToast(t *testing.T) {
	s := newSite(t)
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	said := op{"op": "announce", "text": "Reply finished"}
	p.apply(op{"op": "title", "text": "Sparta · LLeMbas"}, said, op{"op": "announce", "text": "It failed", "assertive": true},
		op{"op": "toast", "kind": "ok", "text": "Done in Sparta", "href": "/chat/c9", "key": "k"}, op{"op": "toast", "kind": "ok", "text": "Done again", "href": "/chat/c9", "key": "k"},
		op{"op": "toast", "kind": "warn", "text": "Elsewhere", "href": "https://example.com/"}, op{"op": "toast", "kind": "ok", "text": "This chat", "href": "/chat/c1"})
	p.equal(`[document.title, document.getElementById('live').textContent, document.getElementById('alert').textContent]`, []string{"Sparta · LLeMbas", "Reply finished", "It failed"})
	p.equal(`[...document.querySelectorAll('.toast')].map(t => [t.querySelector('[data-slot=text]').textContent, t.querySelector('a').hidden, t.querySelector('a').getAttribute('href')])`,
		[]any{[]any{"Done again", false, "/chat/c9"}, []any{"Elsewhere", true, nil}})
	p.click(`[data-act=close-toast]`)
	p.equal(`document.querySelectorAll('.toast').length`, 1)
}
