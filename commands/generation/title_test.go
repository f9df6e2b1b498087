package generation

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestCleanTitle: what a model answers is a title, or none; no answer is a
// panic, which would ask for the title again and again.
func TestCleanTitle(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "",
		"\n\n  \n":                               "",
		"A short walk":                           "A short walk",
		"## \"A short walk.\"\nand more":         "A short walk",
		"Title: A walk":                          "A walk",
		"TITLE:A walk":                           "A walk",
		"title:":                                 "",
		"Title: İstanbul, İzmir":                 "İstanbul, İzmir", // shorter in lower case
		"Title: Ⱥ and Ⱦ":                         "Ⱥ and Ⱦ",         // longer in lower case
		"title:" + strings.Repeat("Ⱥ", 30):       strings.Repeat("Ⱥ", 30),
		"Titlé: x":                               "Titlé: x",
		"titl\xffe: x":                           "titl\xffe: x",
		`{"title": "A walk"}`:                    "",
		strings.Repeat("very ", 20) + "long one": "",
	} {
		if got := cleanTitle(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	// Every character whose lower case has another length.
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if l := unicode.ToLower(r); l != r && len(string(l)) != len(string(r)) {
			if got := cleanTitle("Title: a" + strings.Repeat(string(r), 20) + "b"); got != "a"+strings.Repeat(string(r), 20)+"b" {
				t.Errorf("%U gives %q", r, got)
			}
		}
	}
}

// TestATitleThatAShutdownCutIsAskedAgain: its message is not acknowledged.
func TestATitleThatAShutdownCutIsAskedAgain(t *testing.T) {
	asked := make(chan struct{})
	w := newWorld(t, func(n int, rw http.ResponseWriter, r *http.Request) {
		switch n {
		case 2:
			close(asked)
			<-r.Context().Done()
		default:
			stream(rw, "Second breakfast")
		}
	})
	c := w.chat("What is the way?")
	must(t, w.handle(t.Context(), c.Chat))
	env := w.last(c.Chat, "reply.finished")
	life, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.loop.Title(life, &env) }()
	<-asked
	end()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	must(t, w.loop.Title(t.Context(), &env))
	if !slices.Contains(w.types(c.Chat), "chat.renamed") {
		t.Error("the chat has no title")
	}
}
