package view

import (
	"container/list"
	"hash/maphash"
	"html/template"
	"strings"
	"sync"

	"lembas/web/markdown"
)

// texts keeps the HTML of finished texts, the last used ones, within a bound of
// bytes. Rendering is pure, so an entry is never wrong, only dropped.
type texts struct {
	max  int
	seed maphash.Seed

	mu    sync.Mutex // guards the rest
	size  int
	order *list.List // of *rendered, the front used last
	byKey map[textKey]*list.Element
}

// textKey tells texts apart by their place and their content.
type textKey struct {
	prefix string
	length int
	hash   uint64
}

type rendered struct {
	key  textKey
	html template.HTML
}

func newTexts(max int) *texts {
	return &texts{max: max, seed: maphash.MakeSeed(), order: list.New(), byKey: map[textKey]*list.Element{}}
}

// get gives the HTML of a text, rendering it when it is not there.
func (t *texts) get(prefix, src string, render func() template.HTML) template.HTML {
	key := textKey{prefix, len(src), maphash.String(t.seed, src)}
	t.mu.Lock()
	if e, ok := t.byKey[key]; ok {
		t.order.MoveToFront(e)
		t.mu.Unlock()
		return e.Value.(*rendered).html
	}
	t.mu.Unlock()
	html := render()
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.byKey[key]; !ok {
		t.byKey[key] = t.order.PushFront(&rendered{key, html})
		t.size += len(html)
	}
	for t.size > t.max && t.order.Len() > 0 {
		old := t.order.Remove(t.order.Back()).(*rendered)
		delete(t.byKey, old.key)
		t.size -= len(old.html)
	}
	return html
}

// maxOpen is how many texts that still grow are kept as streams.
const maxOpen = 64

// opens keeps the Markdown streams of texts that still grow, so that a page that
// is opened in the middle of a long reply costs only what is new since another
// one was.
type opens struct {
	mu    sync.Mutex // guards texts
	texts map[string]*openText
}

type openText struct {
	mu     sync.Mutex // guards the rest
	stream *markdown.Stream
	fed    string
}

// get shows a text that was cut here and goes on.
func (o *opens) get(md *markdown.Renderer, prefix, src string) template.HTML {
	t := o.text(prefix)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stream == nil || !strings.HasPrefix(src, t.fed) { // it was taken for another kind of text
		t.stream, t.fed = md.NewStream(prefix), ""
	}
	t.stream.Append(src[len(t.fed):])
	t.fed = src
	return t.stream.State()
}

func (o *opens) text(prefix string) *openText {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.texts[prefix]
	if t == nil {
		if len(o.texts) >= maxOpen {
			clear(o.texts)
		}
		t = &openText{}
		o.texts[prefix] = t
	}
	return t
}

// drop forgets a text that has ended.
func (o *opens) drop(prefix string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.texts, prefix)
}
