package projections

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"lembas/events"
)

// auditCalls keeps what rows of a chat's calls and cards need to know of what
// came before, as long as their reply is open.
type auditCalls struct {
	tx   *Tx
	chat string
}

// auditCall is one call. Consent and Edited come with its card.
type auditCall struct {
	Tool    string `json:"tool"`
	Risk    string `json:"risk,omitempty"`
	Hash    string `json:"hash,omitempty"`
	Consent string `json:"consent,omitempty"`
	Edited  bool   `json:"edited,omitempty"`
}

// auditCard is a card that waits.
type auditCard struct {
	Reply string      `json:"reply"`
	Round int         `json:"round"`
	Kind  string      `json:"kind"`
	Mode  string      `json:"mode"`
	Items []AuditItem `json:"items"`
}

// Keys: "l"CHAT 0 REPLY 0 and then a round and the hash of a call's id, which is
// a model's text; "k"CHAT 0 CONSENT.
func (a auditCalls) replyPrefix(reply string) []byte {
	return append(append(ownerPrefix('l', a.chat), reply...), 0)
}

func (a auditCalls) callKey(reply string, round int, call string) []byte {
	sum := sha256.Sum256([]byte(call))
	return append(binary.BigEndian.AppendUint32(a.replyPrefix(reply), uint32(round)), sum[:16]...)
}

func (a auditCalls) cardKey(consent string) []byte { return cardPlaceKey(a.chat, consent) }

// unknownTool stands for a name that no tool had.
const unknownTool = "unknown"

func (a auditCalls) called(p events.ToolCalled) error {
	name := p.Name
	if p.Risk == "" { // not offered: the name is a model's words, and they are content
		name = unknownTool
	}
	return setJSON(a.tx, a.callKey(p.Reply, p.Round, p.Call), auditCall{Tool: name, Risk: p.Risk, Hash: argumentsHash(p.Arguments)})
}

// fill says in a row which call it is about.
func (a auditCalls) fill(r *AuditRow, reply string, round int, call string) error {
	var c auditCall
	_, err := getJSON(a.tx, a.callKey(reply, round, call), &c)
	r.Reply, r.Call, r.Tool, r.Risk = reply, call, c.Tool, c.Risk
	r.Consent, r.Edited, r.Arguments = c.Consent, c.Edited, c.Hash
	return err
}

// update changes a call that is known.
func (a auditCalls) update(card *auditCard, call string, change func(*auditCall)) error {
	key := a.callKey(card.Reply, card.Round, call)
	var c auditCall
	if found, err := getJSON(a.tx, key, &c); err != nil || !found {
		return err
	}
	change(&c)
	return setJSON(a.tx, key, c)
}

func (a auditCalls) requested(r *AuditRow, p events.ConsentRequested) error {
	card := auditCard{Reply: p.Reply, Round: p.Round, Kind: p.Kind, Mode: p.Mode}
	for _, x := range p.Items {
		card.Items = append(card.Items, AuditItem{Key: x.Key, Call: x.Call, Tool: x.Name, Risk: x.Risk, Arguments: argumentsHash(x.Arguments)})
		if err := a.update(&card, x.Call, func(c *auditCall) { c.Consent = p.Consent }); err != nil {
			return err
		}
	}
	r.card(p.Consent, &card)
	return setJSON(a.tx, a.cardKey(p.Consent), card)
}

func (a auditCalls) answered(r *AuditRow, p events.ConsentAnswered) error {
	r.Session, r.Token, r.Address = p.Session, p.Token, p.Address
	var card auditCard
	if _, err := getJSON(a.tx, a.cardKey(p.Consent), &card); err != nil {
		return err
	}
	if len(card.Items) == 0 { // of a card that is not known: its words still count
		for _, w := range p.Answers {
			card.Items = append(card.Items, AuditItem{Key: w.Key})
		}
	}
	for i := range card.Items {
		if err := a.answer(&card, &card.Items[i], p.Answers); err != nil {
			return err
		}
	}
	r.card(p.Consent, &card)
	if card.Kind == events.ConsentPlan {
		a.tx.Delete(a.cardKey(p.Consent))
	}
	return nil
}

// tools are the names on a card, nil when it is not known any more.
func (a auditCalls) tools(consent string) (names []string, err error) {
	var card auditCard
	_, err = getJSON(a.tx, a.cardKey(consent), &card)
	for _, x := range card.Items {
		names = append(names, x.Tool)
	}
	return names, err
}

// answer puts the word on an item, and on its call what really runs.
func (a auditCalls) answer(card *auditCard, x *AuditItem, answers []events.ConsentAnswer) error {
	for _, w := range answers {
		if w.Key != x.Key {
			continue
		}
		x.Verdict = w.Verdict
		x.Pattern, x.PatternHash = patternOf(w.Pattern, x.Tool)
		h := argumentsHash(w.Arguments)
		if h == "" || h == x.Arguments || w.Verdict == events.VerdictDeny {
			return nil
		}
		x.Edited, x.Arguments = true, h
		return a.update(card, x.Call, func(c *auditCall) { c.Edited, c.Hash = true, h })
	}
	return nil
}

// ended is the row of a card that nobody answered.
func (a auditCalls) ended(r *AuditRow, consent, verdict string) error {
	var card auditCard
	if _, err := getJSON(a.tx, a.cardKey(consent), &card); err != nil {
		return err
	}
	for i := range card.Items {
		card.Items[i].Verdict = verdict
	}
	r.card(consent, &card)
	r.Verdict = verdict
	a.tx.Delete(a.cardKey(consent))
	return nil
}

// forget drops the calls and cards of a reply that has ended, but for plans,
// which outlive it.
func (a auditCalls) forget(reply string) error {
	if err := deleteAll(a.tx, a.replyPrefix(reply)); err != nil {
		return err
	}
	prefix := a.cardKey("")
	for row, err := range a.tx.Scan(prefix, after(prefix)) {
		var card auditCard
		if err == nil {
			err = parseRow(row.Value, &card)
		}
		if err != nil {
			return err
		}
		if card.Reply == reply && card.Kind != events.ConsentPlan {
			a.tx.Delete(row.Key)
		}
	}
	return nil
}

// card puts a card into a row. What all items have in common is the row's own.
func (r *AuditRow) card(consent string, c *auditCard) {
	r.Consent, r.Reply, r.Kind, r.Items = consent, c.Reply, c.Kind, c.Items
	if c.Mode != "" {
		r.Mode = c.Mode
	}
	for i, x := range c.Items {
		r.Edited = r.Edited || x.Edited
		if i == 0 {
			r.Call, r.Tool, r.Risk, r.Verdict, r.Arguments = x.Call, x.Tool, x.Risk, x.Verdict, x.Arguments
			continue
		}
		r.Call, r.Arguments = same(r.Call, x.Call, ""), same(r.Arguments, x.Arguments, "")
		r.Tool, r.Risk = same(r.Tool, x.Tool, ""), same(r.Risk, x.Risk, "")
		r.Verdict = same(r.Verdict, x.Verdict, AuditMixed)
	}
}

func same(a, b, otherwise string) string {
	if a == b {
		return a
	}
	return otherwise
}

// forgetChat takes from the rows of a chat what its events said, and drops what
// was kept for later ones.
func forgetChat(tx *Tx, chat string) error {
	for _, kind := range []byte{'l', 'k'} {
		if err := deleteAll(tx, ownerPrefix(kind, chat)); err != nil {
			return err
		}
	}
	prefix := ownerPrefix(byChat, chat)
	for index, err := range tx.Scan(prefix, after(prefix)) {
		if err != nil {
			return err
		}
		at := auditPosition(index.Key)
		var row AuditRow
		if found, err := getJSON(tx, auditKey(at), &row); err != nil {
			return err
		} else if !found {
			return fmt.Errorf("%w: audit row %d is indexed and not there", events.ErrDamaged, at)
		}
		if row.Consent != "" { // an event that was erased does not say it
			tx.Delete(auditIndex(byConsent, row.Consent, at))
		}
		if err := setJSON(tx, auditKey(at), row.remains()); err != nil {
			return err
		}
	}
	return nil
}
