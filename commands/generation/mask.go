package generation

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"lembas/commands"
	"lembas/commands/llm"
	"lembas/events"
)

// A secret that an endpoint sends back never enters the log (EV-12): neither in
// an error, where commands/llm hides the key of its own call, nor in what a
// model says. The known secrets are the keys of all connections and those of
// tools, servers and web search. Only the value as it was entered, also within
// JSON, is recognised; a model that spells it backwards gets through.

// masked stands where a secret stood; those shorter than commands.MinSecret are
// left, because they would tear holes into ordinary text.
const masked = "***"

// mask hides secrets. The longest comes first, so that one that begins with
// another is hidden whole. The zero value hides nothing.
type mask []string

// secrets is the mask of this moment, also when the work was cut: what came is
// recorded. A key that does not open cannot be known, and is no reason to refuse
// an answer.
func (l *Loop) secrets(ctx context.Context) mask {
	known, err := l.Service.KnownSecrets(context.WithoutCancel(ctx))
	if err != nil {
		l.Logger.Error("reading the keys that must not enter the log", "err", err)
	}
	var keys []string
	for _, k := range known {
		keys = append(keys, k, inJSON(k, true), inJSON(k, false))
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return len(k) < commands.MinSecret })
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(keys)
}

// inJSON is a text as it stands within JSON, where a tool's arguments have it.
func inJSON(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	_ = enc.Encode(s) // text always encodes
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// text hides secrets in a text that is whole.
func (m mask) text(s string) string {
	for _, k := range m {
		s = strings.ReplaceAll(s, k, masked)
	}
	return s
}

func (m mask) error(e *llm.Error) *events.RoundError {
	return &events.RoundError{Kind: e.Kind, Status: e.Status, Message: m.text(e.Message)}
}

// begun is how many bytes at the end of s may be the beginning of a secret.
func (m mask) begun(s string) int {
	most := 0
	for _, k := range m {
		for n := min(len(k)-1, len(s)); n > most; n-- {
			if strings.HasSuffix(s, k[:n]) {
				most = n
			}
		}
	}
	return most
}

// veil hides secrets in a text that comes in pieces. What may be the beginning
// of a secret is held back until more came, at most the longest secret; texts of
// different kinds and calls are apart, because readers put them together so.
type veil struct {
	mask
	held []llm.Delta // at most one of a kind and call, in the order they came
}

// pass gives what may go on now, in order.
func (v *veil) pass(d llm.Delta) []llm.Delta {
	switch {
	case len(v.mask) == 0:
		return []llm.Delta{d}
	case d.Kind == llm.KindReclassify:
		return append(v.rest(), d)
	case d.Kind == llm.KindToolCall:
		return nil // the name and id are recorded with the whole call
	}
	d.Text = v.take(d.Kind, d.Call) + d.Text
	d.Text = v.text(d.Text)
	if n := v.begun(d.Text); n > 0 {
		tail := d
		tail.Text = d.Text[len(d.Text)-n:]
		d.Text = d.Text[:len(d.Text)-n]
		v.held = append(v.held, tail)
	}
	if d.Text == "" {
		return nil
	}
	return []llm.Delta{d}
}

func (v *veil) take(kind llm.Kind, call int) string {
	for i, h := range v.held {
		if h.Kind == kind && h.Call == call {
			v.held = slices.Delete(v.held, i, i+1)
			return h.Text
		}
	}
	return ""
}

// rest gives what was held back: no more comes, so it was no secret.
func (v *veil) rest() []llm.Delta {
	out := v.held
	v.held = nil
	return out
}
