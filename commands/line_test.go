package commands

import (
	"strings"
	"testing"

	"lembas/events"
)

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		" \t\n":                        "",
		"A  walk\r\nin the\twoods":     "A walk in the woods",
		"\x1b]0;title\x07\x1b[2Jx":     "]0;title [2Jx",
		"\x00a\u0085b\u2028c\u2029d":   "a b c d",
		"bill\u202egnp.exe":            "billgnp.exe",
		"\u2066a\u2067b\u2068c\u2069d": "abcd",
		"\u202aa\u202bb\u202cc\u202dd": "abcd",
		"שלום \u200fعربي 👩\u200d🚀 é": "שלום \u200fعربي 👩\u200d🚀 é", // scripts and joined signs stay
		"not \xff UTF-8": "not \ufffd UTF-8",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

// TestNamesAreOneLine: no name or title gets into the log with what would move
// a cursor or turn the text behind it.
func TestNamesAreOneLine(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann := h.register(t, "ann@example.test")
	h.connect(t, ann)
	made, _, err := h.CreateChat(ctx, ann, CreateChat{Text: "hello"})
	check(t, err)
	before := h.log.Head()
	name := "a\x1b[31m\u202e\nb"
	_, _, err = h.Register(ctx, Caller{}, Register{Email: "bob@example.test", Name: name, Password: "correct horse"})
	check(t, err)
	_, err = h.ChangeUser(ctx, ann, ann.User, ChangeUser{Name: &name})
	check(t, err)
	_, _, err = h.CreateFolder(ctx, ann, PatchFolder{Name: &name})
	check(t, err)
	_, err = h.CreateToken(ctx, ann, CreateToken{Name: name})
	check(t, err)
	url := "http://127.0.0.1:9/v1"
	_, _, err = h.CreateConnection(ctx, ann, PatchConnection{Name: &name, BaseURL: &url})
	check(t, err)
	models, err := h.Models(ctx, false)
	check(t, err)
	_, err = h.ChangeModel(ctx, ann, models[0].ID, PatchModel{Title: &name})
	check(t, err)
	check(t, h.SetTitle(ctx, made.Chat, name, "m", &events.Envelope{}))
	_, err = h.PatchChat(ctx, ann, made.Chat, PatchChat{Title: &name})
	check(t, err)
	if got := TitleFromPrompt(name); got != "a [31m b" {
		t.Errorf("a title from the prompt is %q", got)
	}
	n := 0
	for e, err := range h.log.Read(ctx, before) {
		check(t, err)
		n += strings.Count(string(e.Data), "a [31m b")
		if strings.ContainsAny(string(e.Data), "\u202e\x1b\n") || strings.Contains(string(e.Data), `\u001b`) || strings.Contains(string(e.Data), `\u202e`) {
			t.Errorf("%s has %s", e.Type, e.Data)
		}
	}
	if n != 8 {
		t.Errorf("%d names and titles were kept, want 8", n)
	}
	_, _, err = h.Register(ctx, Caller{}, Register{Email: "x\u202ey@example.test", Password: "correct horse"})
	wantField(t, err, "email")
}
