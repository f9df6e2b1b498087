package generation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"lembas/commands"
	"lembas/commands/llm"
	"lembas/commands/tools"
	"lembas/events"
)

// TestVeil: whatever way a text is cut into deltas, what passes is the text
// with its secrets hidden, and each kind and call is for itself.
func TestVeil(t *testing.T) {
	m := mask{"sk-abcdefgh-longer", "sk-abcdefgh", "sk-sk-sk-x"}
	for _, tc := range []struct{ in, want string }{
		{"nothing to see", "nothing to see"},
		{"the key is sk-abcdefgh.", "the key is ***."},
		{"sk-abcdefgh-longer", "***"},
		{"sk-abcdefgsk-abcdefgh", "sk-abcdefg***"},
		{"sk-abcdefg", "sk-abcdefg"},
		{"sk-sk-sk-sk-sk-x!", "sk-sk-***!"},
		{"sk-abcdefghsk-abcdefgh", "******"},
		{"ends in sk-abcdefgh", "ends in ***"},
		{"é sk-abcdéf", "é sk-abcdéf"},
	} {
		if got := m.text(tc.in); got != tc.want {
			t.Errorf("whole %q: %q, want %q", tc.in, got, tc.want)
		}
		for i := range len(tc.in) + 1 {
			for k := i; k <= len(tc.in); k++ {
				got := through(&veil{mask: m}, llm.KindContent, tc.in[:i], tc.in[i:k], tc.in[k:])
				if strings.Contains(got, "sk-abcdefgh") || strings.Contains(got, "sk-sk-sk-x") {
					t.Errorf("%q cut at %d and %d: %q", tc.in, i, k, got)
				}
				// A secret that begins with another may be taken for the shorter one.
				if got != tc.want && tc.in != m[0] {
					t.Errorf("%q cut at %d and %d: %q, want %q", tc.in, i, k, got, tc.want)
				}
			}
		}
	}
}

func through(v *veil, kind llm.Kind, pieces ...string) string {
	var out strings.Builder
	for _, p := range pieces {
		for _, d := range v.pass(llm.Delta{Kind: kind, Text: p}) {
			out.WriteString(d.Text)
		}
	}
	for _, d := range v.rest() {
		out.WriteString(d.Text)
	}
	return out.String()
}

// TestVeilHoldsNothingElseBack: only a secret's beginning waits for more.
func TestVeilHoldsNothingElseBack(t *testing.T) {
	v := &veil{mask: mask{"sk-abcdefgh"}}
	if got := v.pass(llm.Delta{Kind: llm.KindContent, Text: "say sk-a"}); len(got) != 1 || got[0].Text != "say " {
		t.Errorf("passed %+v", got)
	}
	if got := v.pass(llm.Delta{Kind: llm.KindReasoning, Text: "bcdefgh"}); len(got) != 1 || got[0].Text != "bcdefgh" {
		t.Errorf("another kind: %+v", got)
	}
	if got := v.pass(llm.Delta{Kind: llm.KindContent, Text: " cat"}); len(got) != 1 || got[0].Text != "sk-a cat" {
		t.Errorf("passed %+v", got)
	}
	v.pass(llm.Delta{Kind: llm.KindContent, Text: "sk-"})
	if got := v.pass(llm.Delta{Kind: llm.KindReclassify}); len(got) != 2 || got[0].Text != "sk-" || got[1].Kind != llm.KindReclassify {
		t.Errorf("a reclassify overtook text: %+v", got)
	}
}

// TestASecretThatComesBackIsNotInTheLog: in content, reasoning and arguments,
// split anywhere, of this connection or another; in an error; in a title.
func TestASecretThatComesBackIsNotInTheLog(t *testing.T) {
	secrets := []string{"sk-secret-key", "sk-of-another-one"}
	rng := rand.New(rand.NewPCG(1, 2))
	w := newWorld(t, func(n int, rw http.ResponseWriter, _ *http.Request) {
		s := secrets[n%2]
		switch n {
		case 1, 2:
			cut := 1 + rng.IntN(len(s)-1)
			rw.Header().Set("Content-Type", "text/event-stream")
			for _, part := range []string{"The key is " + s[:cut], s[cut:] + ", yes."} {
				for _, member := range []string{"reasoning_content", "content"} {
					_, _ = fmt.Fprintf(rw, `data: {"choices":[{"delta":{%q:%q}}]}`+"\n\n", member, part)
					rw.(http.Flusher).Flush()
				}
			}
			stream(rw)
		case 3:
			http.Error(rw, `{"error":{"message":"bad key sk-of-another-one"}}`, http.StatusForbidden)
		case 4: // a title
			stream(rw, "About sk-", "secret-key")
		}
	})
	name, url := "other", "http://127.0.0.1:1/v1"
	_, _, err := w.service.CreateConnection(t.Context(), w.ann, commands.PatchConnection{Name: &name, BaseURL: &url, APIKey: &secrets[1]})
	must(t, err)
	var chats []commands.Created
	for range 3 {
		c := w.chat("x")
		must(t, w.handle(t.Context(), c.Chat))
		chats = append(chats, c)
	}
	for _, c := range chats[:2] {
		r := w.reply(c.Chat, c.Reply)
		if r.Content() != "The key is ***, yes." || r.Reasoning() != "The key is ***, yes." {
			t.Errorf("%q and %q", r.Content(), r.Reasoning())
		}
	}
	end := w.last(chats[0].Chat, "reply.finished")
	must(t, w.loop.Title(t.Context(), &end))
	p, err := events.Decode(&[]events.Envelope{w.last(chats[0].Chat, "chat.renamed")}[0])
	must(t, err)
	if p.(events.ChatRenamed).Title != "About" {
		t.Errorf("the title is %+v", p)
	}
	for e, err := range w.log.Read(t.Context(), 0) {
		must(t, err)
		b, err := json.Marshal(e)
		must(t, err)
		for _, s := range secrets {
			if strings.Contains(string(b), s) {
				t.Errorf("%s is in %s", s, b)
			}
		}
	}
}

// TestASecretWithMarksIsHiddenInArguments: JSON writes some characters in other
// ways, and a card shows what they stand for.
func TestASecretWithMarksIsHiddenInArguments(t *testing.T) {
	const key = `sk-a&b<c>d"e\f`
	arg, err := json.Marshal(map[string]string{"to": "with " + key, "why": key})
	must(t, err)
	plain := strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(string(arg))
	w, _ := withTools(t, script(calls(toolCall{"a", "send", string(arg)}, toolCall{"b", "send", plain}, toolCall{"c", "look", "{" + plain},
		toolCall{"d", "no " + key, "{}"}), says("done")))
	name, url, secret := "other", "http://127.0.0.1:1/v1", key
	_, _, err = w.service.CreateConnection(t.Context(), w.ann, commands.PatchConnection{Name: &name, BaseURL: &url, APIKey: &secret})
	must(t, err)
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	if k := w.card(c.Chat); len(k.Items) != 2 || k.Items[0].Detail != "with ***" || k.Items[1].Why != "***" || string(k.Items[0].Arguments) != `{"to":"with ***","why":"***"}` {
		t.Errorf("the card shows %+v", k.Items)
	}
	inJSON, _ := json.Marshal(key)
	for _, e := range w.events(c.Chat) {
		var v any
		must(t, json.Unmarshal(e.Data, &v))
		if text := fmt.Sprintf("%v", v); strings.Contains(text, key) || strings.Contains(text, strings.Trim(string(inJSON), `"`)) || strings.Contains(text, `sk-a&b<c>d\"e\\f`) {
			t.Errorf("%s has %s", e.Type, text)
		}
	}
}

// TestSecretsAreKnownAlsoWhenTheWorkIsCut: what came before the cut is recorded.
func TestSecretsAreKnownAlsoWhenTheWorkIsCut(t *testing.T) {
	w := newWorld(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := w.loop.secrets(ctx).text("sk-secret-key"); got != "***" {
		t.Errorf("%q", got)
	}
}

// TestWhatAToolSaysOfItselfIsMasked: a server may send back the key it was
// called with, also before it is done.
func TestWhatAToolSaysOfItselfIsMasked(t *testing.T) {
	w, m := withTools(t, script(calls(toolCall{"a", "look", `{"to":"1"}`}), says("done")))
	m.slow = func(_ context.Context, call tools.Call) { call.Progress("called with sk-secret-key") }
	c := w.chat("x")
	must(t, w.handle(t.Context(), c.Chat))
	p, err := events.Decode(&[]events.Envelope{w.last(c.Chat, "tool.progressed")}[0])
	must(t, err)
	if got := p.(events.ToolProgressed).Text; got != "called with ***" {
		t.Errorf("%q", got)
	}
}
