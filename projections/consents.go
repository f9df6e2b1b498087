package projections

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"lembas/events"
	"lembas/events/store"
)

// WaitingCard is a card that waits for its person.
type WaitingCard struct {
	events.ConsentRequested
	Chat     string          `json:"chat"`
	Title    string          `json:"title"` // of the chat, as it is now
	Since    time.Time       `json:"since"`
	Position events.Position `json:"position"` // of consent.requested
}

// OpenCard is a card that waits, without what it shows.
type OpenCard struct {
	User    string // whose chat it is
	Chat    string
	Consent string
	Kind    string
	Since   time.Time
	Expires time.Time // zero: never
}

// Consents lists the cards that wait for an answer, by person.
type Consents struct{ ks *store.Keyspace }

// NewConsents is the list over a log; a Runner keeps it up.
func NewConsents(st *store.Store) *Consents { return &Consents{keyspace(st, Consents{}.Name())} }

// Name implements Projection.
func (Consents) Name() string { return "consents" }

// Version implements Projection.
func (Consents) Version() int { return 1 }

// Types implements Projection.
func (Consents) Types() []string {
	return []string{"chat.created", "chat.renamed", "chat.imported", "chat.deleted", "reply.finished",
		"consent.requested", "consent.answered", "consent.expired", "consent.withdrawn"}
}

// consentChat is what a card's row needs to know of its chat.
type consentChat struct {
	Owner string `json:"owner"`
	Title string `json:"title"`
}

// Keys: "c"CHAT is the chat's owner and title; "w"OWNER 0 POSITION is a card,
// so that the oldest comes first; "k"CHAT 0 CONSENT is that position.
func cardKey(owner string, at uint64) []byte {
	return binary.BigEndian.AppendUint64(ownerPrefix('w', owner), at)
}

func cardPlaceKey(chat, consent string) []byte { return append(ownerPrefix('k', chat), consent...) }

// Apply implements Projection.
func (Consents) Apply(_ context.Context, tx *Tx, e *events.Envelope, p events.Payload) error {
	chat, ok := strings.CutPrefix(e.Stream, "chat/")
	if !ok {
		return nil
	}
	if created, ok := p.(events.ChatCreated); ok {
		return setJSON(tx, chatKey(chat), consentChat{Owner: created.Owner, Title: created.Title})
	}
	var of consentChat
	found, err := getJSON(tx, chatKey(chat), &of)
	if err != nil || !found {
		return err
	}
	if e.Type == "chat.deleted" { // by its name: the payload may be erased
		tx.Delete(chatKey(chat))
		return endCards(tx, chat, of.Owner, func(*WaitingCard) bool { return true })
	}
	switch p := p.(type) {
	case events.ChatRenamed:
		of.Title = p.Title
		return setJSON(tx, chatKey(chat), of)
	case events.ChatImported:
		return changeOwner(tx, chat, of, p.Owner)
	case events.ConsentRequested:
		tx.Set(cardPlaceKey(chat, p.Consent), strconv.AppendUint(nil, uint64(e.Position), 10))
		return setJSON(tx, cardKey(of.Owner, uint64(e.Position)), WaitingCard{ConsentRequested: p, Chat: chat, Since: e.Time, Position: e.Position})
	case events.ConsentAnswered:
		return endCard(tx, chat, of.Owner, p.Consent)
	case events.ConsentExpired:
		return endCard(tx, chat, of.Owner, p.Consent)
	case events.ConsentWithdrawn:
		return endCard(tx, chat, of.Owner, p.Consent)
	case events.ReplyFinished: // a plan's card outlives the reply that made it
		return endCards(tx, chat, of.Owner, func(w *WaitingCard) bool { return w.Reply == p.Reply && w.Kind != events.ConsentPlan })
	}
	return nil
}

func endCard(tx *Tx, chat, owner, consent string) error {
	var at uint64
	found, err := getJSON(tx, cardPlaceKey(chat, consent), &at)
	if found && err == nil {
		tx.Delete(cardPlaceKey(chat, consent))
		tx.Delete(cardKey(owner, at))
	}
	return err
}

// endCards removes the cards of a chat that a condition holds for.
func endCards(tx *Tx, chat, owner string, ended func(*WaitingCard) bool) error {
	return eachCard(tx, chat, owner, func(key []byte, w *WaitingCard) error {
		if ended(w) {
			tx.Delete(cardPlaceKey(chat, w.Consent))
			tx.Delete(key)
		}
		return nil
	})
}

// eachCard visits the cards of a chat with their keys.
func eachCard(tx *Tx, chat, owner string, visit func(key []byte, w *WaitingCard) error) error {
	prefix := ownerPrefix('k', chat)
	for place, err := range tx.Scan(prefix, after(prefix)) {
		var at uint64
		if err == nil {
			err = parseRow(place.Value, &at)
		}
		if err != nil {
			return err
		}
		var w WaitingCard
		key := cardKey(owner, at)
		if found, err := getJSON(tx, key, &w); err != nil {
			return err
		} else if !found {
			continue
		}
		if err := visit(key, &w); err != nil {
			return err
		}
	}
	return nil
}

// changeOwner gives a chat and its cards to whoever imported it.
func changeOwner(tx *Tx, chat string, of consentChat, owner string) error {
	err := eachCard(tx, chat, of.Owner, func(key []byte, w *WaitingCard) error {
		tx.Delete(key)
		return setJSON(tx, cardKey(owner, uint64(w.Position)), w)
	})
	if err != nil {
		return err
	}
	of.Owner = owner
	return setJSON(tx, chatKey(chat), of)
}

// maxWaiting bounds a person's list: far more than anybody answers, and each
// card may show several large calls.
const maxWaiting = 200

// Waiting gives the cards that wait for a person, the oldest first, at most 200.
func (s *Consents) Waiting(ctx context.Context, user string) (cards []WaitingCard, err error) {
	err = view(s.ks, func(r rows) error {
		prefix := ownerPrefix('w', user)
		for row, err := range r.Scan(prefix, after(prefix)) {
			if err == nil {
				err = ctx.Err()
			}
			var w WaitingCard
			if err == nil {
				err = parseRow(slices.Clone(row.Value), &w)
			}
			if err != nil {
				return err
			}
			var of consentChat
			if _, err := getJSON(r, chatKey(w.Chat), &of); err != nil {
				return err
			}
			w.Title = of.Title
			if cards = append(cards, w); len(cards) == maxWaiting {
				return nil
			}
		}
		return nil
	})
	return cards, err
}

// Open gives all cards that wait, of all persons, in no promised order. It is
// what timers are set from after a restart.
func (s *Consents) Open(ctx context.Context) (open []OpenCard, err error) {
	for row, err := range (reader{s.ks}).Scan([]byte("w"), after([]byte("w"))) {
		if err == nil {
			err = ctx.Err()
		}
		var w WaitingCard
		if err == nil {
			err = parseRow(row.Value, &w)
		}
		if err != nil {
			return nil, err
		}
		owner, _, _ := strings.Cut(string(row.Key[1:]), "\x00")
		expires, err := time.Parse(time.RFC3339, w.Expires)
		if err != nil { // a card that does not expire has no time
			expires = time.Time{}
		}
		open = append(open, OpenCard{User: owner, Chat: w.Chat, Consent: w.Consent, Kind: w.Kind, Since: w.Since, Expires: expires})
	}
	return open, nil
}
