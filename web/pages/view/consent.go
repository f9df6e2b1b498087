package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
	"lembas/web/markdown"
	"lembas/web/templates"
)

// Card is a card of a round as it stands: it asks, or it is the record of what
// came of it.
func (v *Views) Card(c *transcript.Chat, r *transcript.Reply, k *transcript.Consent) templates.Card {
	card := templates.Card{ID: k.Consent, Reply: r.ID, N: k.Round, Kind: k.Kind, State: k.State, Many: len(k.Items) > 1,
		Ended: Time(k.Ended), Again: k.Caused != "", Title: Asks(k)}
	if at, err := time.Parse(time.RFC3339, k.Expires); err == nil {
		card.Expires = Time(at)
		card.Expires.Short = at.UTC().Format("Mon 15:04") + " UTC"
	}
	for i := range k.Items {
		item := cardItem(k, i)
		if k.State != transcript.CardWaiting {
			recordItem(&item, &k.Items[i], k)
		}
		card.Items = append(card.Items, item)
	}
	if k.State != transcript.CardWaiting {
		record(&card, c, k)
	}
	return card
}

func cards(v *Views, c *transcript.Chat, r *transcript.Reply, x *transcript.Round) (out []templates.Card) {
	for _, k := range x.Consents {
		out = append(out, v.Card(c, r, k))
	}
	return out
}

// Asks says in a sentence what a card asks.
func Asks(k *transcript.Consent) string {
	n := len(k.Items)
	switch {
	case k.Kind == events.ConsentPlan:
		return "Carry out this plan?"
	case k.Kind == events.ConsentQuestion && n == 1:
		return "A question for you"
	case k.Kind == events.ConsentQuestion:
		return strconv.Itoa(n) + " questions for you"
	case n == 1:
		return "Allow “" + itemLabel(&k.Items[0]) + "”?"
	}
	if q := questions(k); q > 0 {
		return "Allow " + counted(n-q, "call") + ", and answer " + counted(q, "question") + "?"
	}
	return "Allow these " + strconv.Itoa(n) + " calls?"
}

// questions counts the items of a card that are questions: one card has all that
// a round asks.
func questions(k *transcript.Consent) (n int) {
	for _, i := range k.Items {
		if i.Question != "" {
			n++
		}
	}
	return n
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func itemLabel(i *events.ConsentItem) string { return lineOf(cmp.Or(i.Label, i.Name, "a call"), 60) }

// cardItem is what a card shows of an item. What would run is shown whole, and
// so that what is seen is what runs.
func cardItem(k *transcript.Consent, n int) templates.CardItem {
	i := &k.Items[n]
	item := templates.CardItem{Card: k.Consent, Key: i.Key, Call: i.Call, Icon: i.Icon, Label: itemLabel(i), Name: lineOf(i.Name, 64), Risk: i.Risk,
		Reason: markdown.VisibleControls(i.Reason), Why: markdown.VisibleControls(i.Why), Question: markdown.VisibleControls(i.Question)}
	if len(k.Items) > 1 {
		item.Number = fmt.Sprintf("%d of %d", n+1, len(k.Items))
	}
	for _, o := range i.Options {
		item.Options = append(item.Options, templates.CardOption{Value: o, Text: markdown.VisibleControls(o)})
	}
	if i.Question != "" {
		return item
	}
	item.Exact, item.Arguments = exact(i.Detail, i.Arguments)
	if item.Arguments != "" || i.Detail == "" {
		item.Texts = written(i)
	}
	item.Unseen = unseen(i)
	item.Pattern = markdown.VisibleControls(i.Pattern)
	if text, ok := members(i.Arguments)[i.Edits].(string); ok && i.Edits != "" {
		item.Edit = &templates.CardEdit{Name: i.Edits, Text: text, Arguments: string(i.Arguments)}
	}
	return item
}

// unseen says whether what would run has characters that a reader does not see
// as they are.
func unseen(i *events.ConsentItem) bool {
	hidden := func(s string) bool { return markdown.VisibleControls(s) != s }
	return hidden(i.Detail) || slices.ContainsFunc(slices.Collect(maps.Values(members(i.Arguments))), func(v any) bool {
		text, ok := v.(string)
		return ok && hidden(text)
	})
}

// exact is what would run: the detail, and below it all arguments when the
// detail is not all of them. Without a detail the arguments are it.
func exact(detail string, arguments events.RawJSON) (first, rest string) {
	all := pretty(arguments)
	if strings.TrimSpace(detail) == "" {
		return all, ""
	}
	args := members(arguments)
	maps.DeleteFunc(args, func(name string, _ any) bool { return name == "why" })
	if len(args) == 1 && slices.Collect(maps.Values(args))[0] == any(detail) {
		all = ""
	}
	return markdown.VisibleControls(detail), all
}

// written are the arguments that have several lines, as the texts that they
// are: JSON is hard to read there. The detail is shown already.
func written(i *events.ConsentItem) (out []templates.TextArgument) {
	args := members(i.Arguments)
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if text, ok := args[name].(string); ok && text != i.Detail && strings.Contains(strings.TrimSpace(text), "\n") {
			out = append(out, templates.TextArgument{Name: lineOf(name, 60), Text: markdown.VisibleControls(text)})
		}
	}
	return out
}

// recordItem adds to an item what was said to it.
func recordItem(item *templates.CardItem, i *events.ConsentItem, k *transcript.Consent) {
	item.Edit, item.Pattern = nil, ""
	if item.Exact == "{}" {
		item.Exact = "" // a call without arguments: its label says it all
	}
	a := k.Answer(i.Key)
	if a == nil {
		item.Said = map[string]string{transcript.CardExpired: "not answered", transcript.CardWithdrawn: "withdrawn"}[k.State]
		return
	}
	question := i.Question != ""
	item.Verdict, item.Because, item.Remembered = a.Verdict, markdown.VisibleControls(a.Reason), markdown.VisibleControls(a.Pattern)
	switch {
	case question && a.Verdict == events.VerdictDeny:
		item.Said = "not answered"
	case question:
		item.Said, item.Text = "answered", markdown.VisibleControls(a.Text)
	case a.Verdict == events.VerdictDeny:
		item.Said = "denied"
	case a.Verdict == events.VerdictAlways:
		item.Said = "allowed, always in this chat"
	default:
		item.Said = "allowed"
	}
	if len(a.Arguments) > 0 && a.Verdict != events.VerdictDeny {
		item.Corrected = correction(i, a)
	}
}

// correction is what a person changed before it ran, nil when nothing.
func correction(i *events.ConsentItem, a *events.ConsentAnswer) *templates.Correction {
	was, ok := members(i.Arguments)[i.Edits].(string)
	now, still := members(a.Arguments)[i.Edits].(string)
	if i.Edits == "" || !ok || !still || was == now {
		before, after := pretty(i.Arguments), pretty(a.Arguments)
		if sameJSON(i.Arguments, a.Arguments) {
			return nil
		}
		return &templates.Correction{Name: "arguments", Before: before, After: after}
	}
	return &templates.Correction{Name: lineOf(i.Edits, 60), Before: markdown.VisibleControls(was), After: markdown.VisibleControls(now)}
}

func sameJSON(a, b events.RawJSON) bool {
	x, errX := json.Marshal(members(a))
	y, errY := json.Marshal(members(b))
	return errX == nil && errY == nil && string(x) == string(y)
}

// record says in a line what came of a card.
func record(card *templates.Card, c *transcript.Chat, k *transcript.Consent) {
	who := "You"
	if k.By != "" && c.Owner != "" && k.By != c.Owner {
		who = "Another person" // an import keeps who it was
	}
	switch k.State {
	case transcript.CardExpired:
		card.Title, card.Sign, card.Tone = "Not answered in time, so it did not run", "clock", "warn"
		if k.Kind == events.ConsentQuestion {
			card.Title = "Not answered in time"
		}
	case transcript.CardWithdrawn:
		card.Title, card.Sign = withdrawn(k.Why), "square"
	default:
		answeredRecord(card, who, k)
	}
}

func withdrawn(why string) string {
	switch why {
	case "stopped":
		return "Not answered: the reply was stopped"
	case "deleted":
		return "Not answered: the chat was deleted"
	case "disabled":
		return "Not answered: what it needs was switched off"
	}
	return "Not answered: withdrawn"
}

func answeredRecord(card *templates.Card, who string, k *transcript.Consent) {
	n, allowed, corrected := len(k.Items), 0, 0
	for _, i := range card.Items {
		if i.Verdict != "" && i.Verdict != events.VerdictDeny {
			allowed++
		}
		if i.Corrected != nil {
			corrected++
		}
	}
	card.Sign, card.Tone = "check", "ok"
	if allowed == 0 {
		card.Sign, card.Tone = "ban", "danger"
	}
	card.Title = who + " " + verdictTitle(k, n, allowed)
	if corrected == 1 && n == 1 {
		card.Title += ", corrected"
	} else if corrected > 0 {
		card.Title += fmt.Sprintf(", %d corrected", corrected)
	}
}

func verdictTitle(k *transcript.Consent, n, allowed int) string {
	switch question := k.Kind == events.ConsentQuestion; {
	case question && allowed == 0:
		return "did not answer"
	case question && n == 1:
		return "answered"
	case question:
		return fmt.Sprintf("answered %d of %d questions", allowed, n)
	case k.Kind == events.ConsentPlan && allowed > 0:
		return "said to carry out the plan"
	case k.Kind == events.ConsentPlan:
		return "did not accept the plan"
	case n > 1 && questions(k) > 0:
		return fmt.Sprintf("allowed or answered %d of %d", allowed, n)
	case n == 1 && allowed == 0:
		return "denied “" + itemLabel(&k.Items[0]) + "”"
	case n == 1 && k.Answers[0].Verdict == events.VerdictAlways:
		return "always allow “" + itemLabel(&k.Items[0]) + "” in this chat"
	case n == 1:
		return "allowed “" + itemLabel(&k.Items[0]) + "”"
	case allowed == 0:
		return fmt.Sprintf("denied all %d calls", n)
	case allowed == n:
		return fmt.Sprintf("allowed all %d calls", n)
	}
	return fmt.Sprintf("allowed %d of %d calls", allowed, n)
}
