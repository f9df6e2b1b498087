package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lembas/projections/transcript"
	"lembas/web/templates"
)

// Reply is a reply of a turn: the one in force, or an earlier version.
func (v *Views) Reply(c *transcript.Chat, t *transcript.Turn, r *transcript.Reply) templates.Message {
	m := v.Frame(c, t, r)
	for _, x := range Rounds(r) {
		m.Rounds = append(m.Rounds, v.Round(c, r, x))
	}
	if c.Summary != nil && c.Summary.Message == t.ID && t.Reply() == r {
		m.Summary = v.Summary(c)
	}
	return m
}

// Frame is a reply without its rounds.
func (v *Views) Frame(c *transcript.Chat, t *transcript.Turn, r *transcript.Reply) templates.Message {
	m := templates.Message{Chat: c.ID, ID: r.ID, Role: "assistant", Status: r.Status, Author: v.ModelTitle(r),
		Time: Time(r.Requested), Waiting: v.Waiting(r), Notice: notice(r), Metrics: metrics(r),
		Error: replyError(r), Again: r.Ended()}
	if i := slices.Index(t.Replies, r); r.Ended() {
		m.Versions = versions(c.ID, t.Reply().ID, i+1, len(t.Replies))
	}
	return m
}

// Rounds are the rounds that are shown: of several with one number, of which a
// restart cut the earlier ones, the last.
func Rounds(r *transcript.Reply) []*transcript.Round {
	var out []*transcript.Round
	for i, x := range r.Rounds {
		if !slices.ContainsFunc(r.Rounds[i+1:], func(y *transcript.Round) bool { return y.N == x.N }) {
			out = append(out, x)
		}
	}
	return out
}

// Begun says whether anything of a reply has come.
func Begun(r *transcript.Reply) bool {
	for _, x := range r.Rounds {
		if !x.Superseded && (x.Content.Len() > 0 || x.Reasoning.Len() > 0 || len(x.Calls) > 0) {
			return true
		}
	}
	return false
}

// Waiting is the line while nothing of a reply has come, "" after.
func (v *Views) Waiting(r *transcript.Reply) string {
	if r.Ended() || Begun(r) {
		return ""
	}
	if x := r.Current(); x != nil && len(x.Retries) > 0 {
		return retryText(x.Retries[len(x.Retries)-1])
	}
	return "Asking " + v.ModelTitle(r) + " …"
}

func retryText(t transcript.Retry) string {
	what := map[string]string{"transport": "Endpoint not reachable", "timeout": "Endpoint does not answer"}[t.Error.Kind]
	switch {
	case what != "":
	case t.Error.Status == 429:
		what = "Endpoint busy"
	case t.Error.Status > 0:
		what = fmt.Sprintf("Endpoint trouble (%d)", t.Error.Status)
	default:
		what = "Endpoint trouble"
	}
	return what + ", trying again in " + shortSeconds(t.WaitMS)
}

// shortSeconds leaves a zero fraction out: "1 s".
func shortSeconds(ms int64) string { return strings.Replace(seconds(ms), ".0 s", " s", 1) }

// notice says in a line what became of a reply that neither failed nor was
// completed.
func notice(r *transcript.Reply) string {
	if r.Status != transcript.Stopped {
		return ""
	}
	switch r.Why {
	case "", "stopped":
		return "Stopped by you."
	case "deleted":
		return "Stopped, because the chat was deleted."
	}
	return "Stopped: " + r.Why + "."
}

func replyError(r *transcript.Reply) *templates.ReplyError {
	if r.Status != transcript.Failed {
		return nil
	}
	if r.Error == nil {
		return &templates.ReplyError{Title: "The reply failed.", Detail: sentence(r.Why), Retry: true}
	}
	title, advice := errorText(r.Error)
	if r.Error.Kind == "transport" && Begun(r) {
		title, advice = "The connection to the endpoint broke in mid-answer.", "What arrived is kept. Try again."
	}
	return &templates.ReplyError{Title: title, Detail: advice, Provider: r.Error.Message, Retry: true}
}

// sentence turns a reason of the log into a sentence, "" stays.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// metrics is the line under an ended reply (GEN-12); estimates carry a tilde.
func metrics(r *transcript.Reply) []templates.Metric {
	m := r.Metrics
	if m == nil || !r.Ended() {
		return nil
	}
	about, title := "", "as the endpoint reported"
	if m.Estimated {
		about, title = "~", "estimated at four characters a token: the endpoint reported no usage"
	}
	out := []templates.Metric{
		{Text: about + number(m.Prompt) + " in", Title: "Tokens of the requests, " + title},
		{Text: about + number(m.Completion) + " out", Title: "Tokens of the answer, " + title},
	}
	if m.TokensPerSecond > 0 {
		out = append(out, templates.Metric{Text: about + strconv.FormatFloat(m.TokensPerSecond, 'f', 1, 64) + " tok/s", Title: "Tokens per second while it was writing"})
	}
	if m.FirstMS != nil {
		out = append(out, templates.Metric{Text: "first after " + seconds(*m.FirstMS), Title: "Time to the first token"})
	}
	out = append(out, templates.Metric{Text: seconds(m.MS), Title: "From the question to the end of the reply"})
	if m.Rounds > 1 {
		out = append(out, templates.Metric{Text: strconv.Itoa(m.Rounds) + " rounds", Title: "Requests to the endpoint"})
	}
	if m.Context != nil {
		out = append(out, templates.Metric{Text: about + strconv.FormatFloat(*m.Context, 'f', -1, 64) + " % of context", Title: "Share of the model's context that the last request took"})
	}
	return out
}

// Round is one round of a reply. Of one that a restart cut only the remark is
// shown: its text does not count.
func (v *Views) Round(c *transcript.Chat, r *transcript.Reply, x *transcript.Round) templates.Round {
	out := templates.Round{Reply: r.ID, N: x.N, Notes: notes(r, x)}
	if x.Superseded {
		return out
	}
	for _, q := range x.Injected {
		out.Turns = append(out.Turns, templates.Message{ID: q.ID, Role: "user", Author: "You", Text: q.Text, Time: Time(q.Time)})
	}
	out.Think = v.Think(r, x)
	out.HTML = v.text(TextPrefix(r.ID, x.N), x.Content.String(), Closed(r, x))
	out.Tools, out.Cards = v.Tools(c, r, x), cards(v, c, r, x)
	return out
}

// Think is a round's reasoning, nil when there is none.
func (v *Views) Think(r *transcript.Reply, x *transcript.Round) *templates.Think {
	if x.Reasoning.Len() == 0 {
		return nil
	}
	t := ThinkLine(r, x)
	t.HTML = v.text(ThoughtPrefix(r.ID, x.N), x.Reasoning.String(), Closed(r, x))
	return &t
}

// ThinkLine is a round's reasoning without its text.
func ThinkLine(r *transcript.Reply, x *transcript.Round) templates.Think {
	t := templates.Think{Reply: r.ID, N: x.N, Summary: "Thinking…", Running: Thinking(r, x)}
	if !t.Running {
		t.Summary = "Thought"
		if x.ThoughtMS > 0 {
			t.Summary = "Thought for " + seconds(x.ThoughtMS)
		}
	}
	return t
}

// Thinking says whether a round is still at its reasoning.
func Thinking(r *transcript.Reply, x *transcript.Round) bool {
	return !Closed(r, x) && x.Content.Len() == 0 && len(x.Calls) == 0
}
