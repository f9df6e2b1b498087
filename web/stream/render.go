package stream

import (
	"bytes"
	"strconv"

	"lembas/projections/transcript"
	"lembas/web/pages/view"
	"lembas/web/templates"
)

// Parts renders fragments. *templates.Set is one.
type Parts interface {
	Fragment(name string, data any) (string, error)
}

// Fragments makes Parts of a set of templates.
func Fragments(set *templates.Set) Parts { return fragments{set} }

type fragments struct{ set *templates.Set }

func (f fragments) Fragment(name string, data any) (string, error) {
	var b bytes.Buffer
	err := f.set.Fragment(&b, name, data)
	return b.String(), err
}

// drawing turns marks into ops. Texts that grow are kept in texts between
// frames; nil draws each touched text as a whole.
type drawing struct {
	c     *transcript.Chat
	v     *view.Views
	parts Parts
	texts *growing
	ops   []Op
	err   error // the first failure
}

// draw gives the ops that bring a page from any position of the batch to the
// chat's present state.
func (d *drawing) draw(m *marks) ([]Op, error) {
	if m.deleted {
		return []Op{{Op: "toast", Kind: "warn", Text: ptr("This chat was deleted."), Href: "/", Key: "deleted-" + d.c.ID}}, nil
	}
	m.settle(d.c)
	if m.log {
		d.whole()
	} else {
		d.messages(m)
		for _, p := range m.order {
			d.round(p, m.rounds[p])
		}
	}
	d.around(m)
	d.summary(m)
	d.scope(m)
	d.add(m.said...)
	return d.ops, d.err
}

func (d *drawing) add(ops ...Op) { d.ops = append(d.ops, ops...) }

// part renders a fragment.
func (d *drawing) part(name string, data any) string {
	html, err := d.parts.Fragment(name, data)
	if err != nil && d.err == nil {
		d.err = err
	}
	return html
}

// whole shows the last turns anew.
func (d *drawing) whole() {
	d.add(all("log", d.part("messages", d.v.Last(d.c))))
	if r := d.c.Open(); r != nil {
		d.sync(r)
	}
}

// messages shows touched turns and replies, in the order of the transcript. New
// ones go to the end of the log; others only replace themselves, because a page
// may not have them loaded.
func (d *drawing) messages(m *marks) {
	for i := max(0, len(d.c.Turns)-2*view.Window); i < len(d.c.Turns); i++ {
		t := d.c.Turns[i]
		if isNew, ok := m.turns[t.ID]; ok {
			d.add(put("m-"+t.ID, into("log", isNew), "", d.part("message", d.v.Turn(d.c, i))))
		}
		r := t.Reply()
		if r == nil {
			continue
		}
		if isNew, ok := m.reply[r.ID]; ok {
			for _, old := range t.Replies[:len(t.Replies)-1] {
				d.add(remove("m-" + old.ID))
			}
			shown := d.v.Reply(d.c, t, r)
			if shown.Summary != nil && m.summary {
				d.add(remove("summary")) // it may still stand at another reply
			}
			d.add(put("m-"+r.ID, into("log", isNew), "", d.part("message", shown)))
			d.sync(r)
		} else if m.state[r.ID] {
			d.state(t, r)
		}
	}
}

// state shows how a reply stands, without its words.
func (d *drawing) state(t *transcript.Turn, r *transcript.Reply) {
	shown := d.v.Frame(d.c, t, r)
	d.add(attr("m-"+r.ID, "data-status", shown.Status), put("who-"+r.ID, "", "", d.part("who", shown)),
		put("err-"+r.ID, "", "", d.part("error", shown)), put("foot-"+r.ID, "", "", d.part("foot", shown)))
	if r.Status == transcript.Streaming {
		d.add(attr("m-"+r.ID, "aria-busy", "true"))
	} else {
		d.add(noAttr("m-"+r.ID, "aria-busy"))
	}
	if shown.Waiting == "" {
		d.add(remove("wait-" + r.ID))
	}
}

func into(target string, isNew bool) string {
	if isNew {
		return target
	}
	return ""
}

// sync lets the growing texts know that a reply was shown as it stands.
func (d *drawing) sync(r *transcript.Reply) {
	for _, x := range view.Rounds(r) {
		d.texts.sync(r, x)
	}
}

// round shows what was touched of a round.
func (d *drawing) round(p place, m *roundMarks) {
	t, r := d.c.Reply(p.reply)
	if r == nil || t.Left != 0 || t.Reply() != r {
		return
	}
	x := roundOf(r, p.n)
	if x == nil {
		return
	}
	first := d.texts.fed(view.TextPrefix(r.ID, x.N)) == 0 && d.texts.fed(view.ThoughtPrefix(r.ID, x.N)) == 0
	if m.whole {
		d.add(put("r-"+key(p), "rounds-"+r.ID, "", d.part("round", d.v.Round(d.c, r, x))))
		d.texts.sync(r, x)
	} else {
		d.roundParts(p, r, x, m)
	}
	d.waiting(r, m, first)
}

// roundOf finds the round that is shown under a number.
func roundOf(r *transcript.Reply, n int) *transcript.Round {
	for _, x := range view.Rounds(r) {
		if x.N == n {
			return x
		}
	}
	return nil
}

func key(p place) string { return p.reply + "-" + strconv.Itoa(p.n) }

func (d *drawing) roundParts(p place, r *transcript.Reply, x *transcript.Round, m *roundMarks) {
	if x.Superseded {
		return
	}
	k, shown := key(p), d.v.Round(d.c, r, x)
	firstWords := d.texts.fed(view.TextPrefix(r.ID, x.N)) == 0
	if m.reasoning && x.Reasoning.Len() > 0 {
		d.thought(k, r, x, shown.Think)
	}
	if shown.Think != nil && !shown.Think.Running && (m.reasoning || m.closed || firstWords) {
		d.add(noAttr("think-"+k, "data-running"), text("thinkline-"+k, shown.Think.Summary))
	}
	if m.content && x.Content.Len() > 0 {
		d.add(d.texts.grow("text-"+k, view.TextPrefix(r.ID, x.N), &x.Content, view.Closed(r, x), func() string { return string(shown.HTML) })...)
	}
	d.calls(r, x, m)
	d.cards(r, x, m)
	if m.notes {
		if r.Status == transcript.Failed {
			d.add(remove("note-" + k + "-error")) // the reply's own error says it
		}
		for _, n := range shown.Notes {
			d.add(put("note-"+k+"-"+n.Key, "notes-"+k, "", d.part("note", n)))
		}
	}
}

// thought shows a round's reasoning: the fold with its first words, then what
// is new in it. A fold that is there is not replaced, so that it stays as the
// person left it.
func (d *drawing) thought(k string, r *transcript.Reply, x *transcript.Round, t *templates.Think) {
	prefix := view.ThoughtPrefix(r.ID, x.N)
	if d.texts.fed(prefix) == 0 {
		d.add(put("think-"+k, "r-"+k, "text-"+k, d.part("think", *t)))
		d.texts.syncThought(r, x)
		return
	}
	d.add(d.texts.grow("thought-"+k, prefix, &x.Reasoning, view.Closed(r, x), func() string { return string(t.HTML) })...)
}

// waiting shows the line while nothing has come, and takes it away with the
// first words.
func (d *drawing) waiting(r *transcript.Reply, m *roundMarks, first bool) {
	if d.v.Waiting(r) == "" {
		if first || len(m.calls) > 0 {
			d.add(remove("wait-" + r.ID))
		}
	} else if m.notes {
		d.add(put("m-"+r.ID, "", "", d.part("message", d.v.Reply(d.c, d.c.Turn(r.Message), r))))
		d.sync(r)
	}
}

// around shows what stands around the transcript.
func (d *drawing) around(m *marks) {
	if m.title {
		d.add(text("chat-title", d.c.Title), title(d.c.Title+" · LLeMbas"))
	}
	if m.queue || m.status {
		d.add(put("queue", "", "", d.part("queue", d.v.Queue(d.c))))
	}
	if m.status {
		d.add(attr("composer", "data-state", d.c.Status()),
			put("send", "", "", d.part("composer-send", d.v.Send(d.c))),
			put("chat-status", "", "", d.part("chat-status", d.v.Status(d.c))),
			put("chat-meter", "", "", d.part("chat-meter", d.v.Meter(d.c))))
	}
}

func ptr[T any](v T) *T { return &v }
