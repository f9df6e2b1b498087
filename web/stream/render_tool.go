package stream

import (
	"fmt"
	"strconv"

	"lembas/projections/transcript"
)

// calls shows the touched calls of a round. The line of a new one is put; one
// that is there is never put again, only its parts, so that it stays as the
// person left it.
func (d *drawing) calls(r *transcript.Reply, x *transcript.Round, m *roundMarks) {
	for i, call := range x.Calls {
		mark := m.calls[call.ID]
		if mark == 0 {
			continue
		}
		line := d.v.Tool(d.c, r, x, i)
		key := fmt.Sprintf("-%s-%d-%d", r.ID, x.N, i)
		if mark == callNew {
			d.add(put("tool"+key, fmt.Sprintf("tools-%s-%d", r.ID, x.N), "", d.part("tool", line)))
			continue
		}
		d.add(attr("tool"+key, "data-status", line.Status), put("toolhead"+key, "", "", d.part("tool-head", line)),
			put("toolend"+key, "", "", d.part("tool-end", line)))
		if mark == callAll {
			d.add(put("toolbody"+key, "", "", d.part("tool-body", line)))
		}
	}
}

// cards shows the touched cards of a round, in the order in which they came.
func (d *drawing) cards(r *transcript.Reply, x *transcript.Round, m *roundMarks) {
	for _, k := range x.Consents {
		if m.cards[k.Consent] {
			d.add(put("card-"+k.Consent, fmt.Sprintf("cards-%s-%d", r.ID, x.N), "", d.part("consent", d.v.Card(d.c, r, k))))
		}
	}
}

// scope lets the page fetch its scope menu again, whose parts are of other
// read models.
func (d *drawing) scope(m *marks) {
	if m.scope {
		d.add(attr("scope", "data-at", strconv.FormatUint(uint64(d.c.Position), 10)))
	}
}

// summary shows the divider after the turns that travel as a summary, and the
// line about one that is being made.
func (d *drawing) summary(m *marks) {
	if !m.summary {
		return
	}
	d.add(put("compact", "", "", d.part("compact", d.v.Compact(d.c))))
	if m.log {
		return // the messages have it
	}
	shown := d.v.Summary(d.c)
	if shown == nil {
		d.add(remove("summary"))
		return
	}
	if t := d.c.Turn(d.c.Summary.Message); t != nil && t.Reply() != nil {
		d.add(put("summary", "m-"+t.Reply().ID, "", d.part("summary", *shown)))
	}
}
