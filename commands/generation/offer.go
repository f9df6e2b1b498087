package generation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"lembas/commands"
	"lembas/commands/llm"
	"lembas/commands/policy"
	"lembas/commands/tools"
	"lembas/commands/tools/builtin"
	"lembas/events"
	"lembas/projections/transcript"
)

// Toolbox gives the tools that a request may offer.
type Toolbox interface {
	// Offer gives the tools for a model and a person whose chat has that scope,
	// in a fixed order. It gives none for a model without tools.
	Offer(ctx context.Context, user string, m commands.ModelView, scope map[string]bool) ([]tools.Tool, error)
}

// offer is what one round was offered and under which rules.
type offer struct {
	tools []tools.Tool
	// ask are the risks that ask; allow is what the chat remembered when the
	// round began. What is remembered later counts from the next round on.
	ask   []string
	allow []string
	// timeout is how long a card waits.
	timeout time.Duration
	// wrap says that tools were taken away, because a budget is spent.
	wrap bool
}

func (o *offer) tool(name string) *tools.Tool {
	i := slices.IndexFunc(o.tools, func(t tools.Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &o.tools[i]
}

func (o *offer) schemas() []llm.Tool {
	var out []llm.Tool
	for _, t := range o.tools {
		out = append(out, llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	return out
}

// guidance is what the tools ask to be told about them, once each.
func (o *offer) guidance() string {
	var parts []string
	for _, t := range o.tools {
		if g := strings.TrimSpace(t.Guidance); g != "" && !slices.Contains(parts, g) {
			parts = append(parts, g)
		}
	}
	return strings.Join(parts, "\n\n")
}

// offer reads what the next round may use.
func (r *run) offer(ctx context.Context, t *target, wrap bool) (*offer, error) {
	ctx = context.WithoutCancel(ctx)
	o := &offer{wrap: wrap}
	var scope map[string]bool
	var long bool
	var since map[string]time.Time
	err := r.loop.Service.WithChat(ctx, r.chat, func(c *transcript.Chat) error {
		scope, o.allow = maps.Clone(c.Scope), slices.Clone(c.Allow)
		since = maps.Clone(c.AllowedAt)
		_, reply := c.Reply(r.reply)
		long = reply != nil && hasLongOutput(reply)
		return nil
	})
	if err != nil {
		return nil, err
	}
	set, err := r.loop.Service.Settings(ctx)
	if err != nil {
		return nil, err
	}
	o.ask, o.timeout = set.List("tools.ask"), set.ApprovalTimeout()
	if wrap || r.loop.Tools == nil {
		return o, nil
	}
	model, err := r.loop.Service.Model(ctx, t.model.ID) // its switches as they are now
	if err != nil {
		return nil, err
	}
	o.tools, err = r.loop.Tools.Offer(ctx, t.owner, model, scope)
	if err == nil && long && len(o.tools) > 0 {
		o.tools = append(o.tools, r.readOutput())
	}
	o.allow = slices.DeleteFunc(o.allow, func(pattern string) bool {
		t := o.tool(pattern) // what was allowed always was this tool as it was then
		return t != nil && t.Changed.After(since[pattern])
	})
	return o, err
}

const (
	// maxCalls is how many calls of one round are looked at.
	maxCalls = 32
	// maxItems is how many things one card asks about.
	maxItems = 64
)

// decided is a round's calls and what became of each, for one append.
type decided struct {
	called   []events.Payload // tool.called, with tool.finished for those refused
	items    []events.ConsentItem
	question bool // nothing but questions
}

// decide looks at the calls of a round, all at once: what was not offered, or
// cannot be read, is refused in words that the model can act on; what must ask
// goes onto one card. Allow is what the chat remembers now, used has the ids of
// the reply's earlier calls.
func (r *run) decide(n int, o *offer, res *llm.Result, m mask, allow []string, used map[string]bool) decided {
	d := decided{question: true}
	rules := policy.Rules{Ask: o.ask, Allow: both(o.allow, allow)}
	for i, c := range res.Calls {
		p := events.ToolCalled{Reply: r.reply, Round: n, Call: m.text(c.ID), Index: i, Name: oneLine(m.text(c.Name), maxName),
			Arguments: events.RawJSON("{}"), Raw: m.text(rawOf(c))}
		if used[p.Call] || !isID(p.Call) { // some endpoints count from 0 in each round, and what is masked looks alike
			p.Call = "call_" + r.loop.NewID()
		}
		used[p.Call] = true
		if len(c.Extra) <= maxExtra && isObject(string(c.Extra)) {
			p.Extra = events.RawJSON(m.text(string(c.Extra)))
		}
		if c.ArgumentsValid && isObject(c.Arguments) {
			p.Arguments = events.RawJSON(m.text(c.Arguments))
		}
		tool, args, status, why := o.look(c, res, i)
		if tool != nil {
			p.Risk, p.Label, p.Icon = tool.Risk, tool.Label, tool.Icon
		}
		if args != nil {
			p.Arguments = events.RawJSON(m.text(string(args)))
			p.Detail, p.Why = argument(p.Arguments, detailOf(tool)), oneLine(argument(p.Arguments, "why"), 300)
		}
		d.called = append(d.called, p)
		if why == "" {
			why, status = d.card(tool, p, rules), events.ToolError
		}
		if why = m.text(why); why != "" { // it may name what the model sent
			d.called = append(d.called, events.ToolFinished{Reply: r.reply, Round: n, Call: p.Call, Status: status,
				Output: why, Bytes: int64(len(why))})
		}
	}
	return d
}

const (
	maxName  = 100      // characters of a tool's name that a model made up
	maxExtra = 64 << 10 // bytes that an endpoint wants back with a call
)

// maxID is how long a call's id may be; a recorded server sends 2,053 bytes.
const maxID = 4096

// isID says whether a call's id can be kept. Another one is replaced: ids stand
// where words of a model have no place, as in the audit trail.
func isID(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
}

// isObject says whether JSON of a model can be kept as JSON: what is deeper, or
// not UTF-8, is in the raw text only.
func isObject(raw string) bool {
	if !utf8.ValidString(raw) {
		return false
	}
	_, err := policy.Object(json.RawMessage(raw))
	return err == nil
}

// callIDs are the ids of a reply's calls.
func callIDs(reply *transcript.Reply) map[string]bool {
	out := map[string]bool{}
	if reply != nil {
		for _, x := range reply.Rounds {
			for _, k := range x.Calls {
				out[k.ID] = true
			}
		}
	}
	return out
}

// rawOf is what the model sent.
func rawOf(c llm.Call) string {
	if c.Raw != "" {
		return c.Raw
	}
	return c.Arguments
}

func detailOf(t *tools.Tool) string {
	if t == nil {
		return ""
	}
	return t.Detail
}

// look finds a call's tool and reads its arguments, or says why it is not run.
func (o *offer) look(c llm.Call, res *llm.Result, i int) (tool *tools.Tool, args []byte, status, why string) {
	tool = o.tool(c.Name)
	switch {
	case res.Err != nil || cutShort(res.FinishReason):
		return tool, nil, events.ToolRefused, "The call was cut before it was complete and was not run."
	case o.wrap:
		return nil, nil, events.ToolRefused, "Tools are no longer available for this reply. Answer with what you have."
	case len(o.tools) == 0:
		return nil, nil, events.ToolRefused, "This tool was not offered in this chat. Answer without tools."
	case tool == nil:
		return nil, nil, events.ToolRefused, fmt.Sprintf("There is no tool %q in this chat. There are: %s.", oneLine(c.Name, 64), o.names())
	case i >= maxCalls:
		return tool, nil, events.ToolRefused, fmt.Sprintf("At most %d calls are taken at once; this one was not run. Make it again if it is still needed.", maxCalls)
	}
	args, err := tool.Arguments(c.Arguments)
	if err != nil {
		return tool, nil, events.ToolError, "Not run: " + err.Error() + "."
	}
	return tool, args, "", ""
}

func (o *offer) names() string {
	var names []string
	for _, t := range o.tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// card adds what a call asks to the card, if it asks. Why says that it cannot.
func (d *decided) card(tool *tools.Tool, p events.ToolCalled, rules policy.Rules) (why string) {
	item := events.ConsentItem{Key: strconv.Itoa(p.Index), Call: p.Call, Name: p.Name, Arguments: p.Arguments,
		Detail: p.Detail, Risk: p.Risk, Why: p.Why, Label: p.Label, Icon: p.Icon}
	if tool.Run == nil {
		questions, err := builtin.Questions(p.Arguments)
		if err != nil {
			return "Not asked: " + err.Error() + "."
		}
		if len(d.items)+len(questions) > maxItems {
			return "Not asked: there are too many questions at once. Ask fewer."
		}
		for i, q := range questions {
			one := item
			one.Key = item.Key + "." + strconv.Itoa(i)
			one.Question, one.Options, one.Detail = q.Question, q.Options, ""
			one.Reason = "The model asks you"
			d.items = append(d.items, one)
		}
		return ""
	}
	if tool.Gate == "" {
		return "" // read_output: the model had it already
	}
	word := rules.Decide(p.Name, p.Risk, p.Arguments)
	if !word.Ask {
		return ""
	}
	item.Reason, item.Pattern, item.Edits = word.Reason, word.Pattern, tool.Detail
	d.items, d.question = append(d.items, item), false
	return ""
}

// request is the card of a round, nil when nothing asks.
func (d *decided) request(consent, reply string, n int, c *transcript.Chat, o *offer, allow []string, now time.Time) events.Payload {
	if len(d.items) == 0 {
		return nil
	}
	kind := events.ConsentApproval
	if d.question {
		kind = events.ConsentQuestion
	}
	return events.ConsentRequested{Consent: consent, Reply: reply, Round: n, Kind: kind, Items: d.items, Mode: c.Mode,
		Allow: both(o.allow, allow), Deny: []string{}, Expires: now.Add(o.timeout).UTC().Format(time.RFC3339)}
}

// both gives what stands in both lists, never nil.
func both(a, b []string) []string {
	out := []string{}
	for _, x := range a {
		if slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

// argument gives an argument that is a text, "" when it is none.
func argument(args events.RawJSON, name string) string {
	o, err := policy.Object(args)
	if err != nil || name == "" {
		return ""
	}
	text, _ := o[name].(string)
	return text
}

// oneLine makes a text one line of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
