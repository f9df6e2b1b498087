package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"lembas/events"
)

// Text grows by appending without copying what was there.
type Text struct{ b []byte }

// String is the text so far.
func (t *Text) String() string { return string(t.b) }

// Len is its length in bytes.
func (t *Text) Len() int { return len(t.b) }

func (t *Text) add(s string) { t.b = append(t.b, s...) }

// MarshalJSON writes it as a JSON string.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(string(t.b)) }

// UnmarshalJSON reads a JSON string.
func (t *Text) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	t.b = []byte(s)
	return nil
}

// Reply is one answer of a model.
type Reply struct {
	ID         string             `json:"id"`
	Message    string             `json:"message"`
	Reason     string             `json:"reason"`
	Model      string             `json:"model"`
	ModelName  string             `json:"model_name"`
	Connection string             `json:"connection"`
	Status     string             `json:"status"`            // streaming, waiting, complete, stopped or failed
	Why        string             `json:"why,omitempty"`     // of a stop or a failure
	TextNo     int                `json:"text_no"`           // which wording of the turn it answers
	Begun      bool               `json:"begun,omitempty"`   // the loop took it up
	Resumed    int                `json:"resumed,omitempty"` // restarts without progress
	Requested  time.Time          `json:"requested"`
	Finished   time.Time          `json:"finished"`
	Position   events.Position    `json:"position"` // of reply.requested
	Rounds     []*Round           `json:"rounds"`
	Error      *events.RoundError `json:"error,omitempty"`
	Metrics    *events.Metrics    `json:"metrics,omitempty"`
}

// Ended says whether the reply is over.
func (r *Reply) Ended() bool {
	return r.Status == Complete || r.Status == Stopped || r.Status == Failed
}

// Current is the newest round that counts, nil before the first.
func (r *Reply) Current() *Round {
	for i := len(r.Rounds) - 1; i >= 0; i-- {
		if !r.Rounds[i].Superseded {
			return r.Rounds[i]
		}
	}
	return nil
}

// Live yields the rounds that count.
func (r *Reply) Live() []*Round {
	return slices.DeleteFunc(slices.Clone(r.Rounds), func(x *Round) bool { return x.Superseded })
}

// Content is the reply's words: the text of its rounds, apart by a blank line.
func (r *Reply) Content() string { return r.join(func(x *Round) *Text { return &x.Content }) }

// Reasoning is the reply's thinking.
func (r *Reply) Reasoning() string { return r.join(func(x *Round) *Text { return &x.Reasoning }) }

func (r *Reply) join(of func(*Round) *Text) string {
	var parts []string
	for _, x := range r.Rounds {
		if s := of(x).String(); !x.Superseded && strings.TrimSpace(s) != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n\n")
}

func (r *Reply) round(n int) *Round {
	for i := len(r.Rounds) - 1; i >= 0; i-- {
		if r.Rounds[i].N == n {
			return r.Rounds[i]
		}
	}
	return nil
}

// With gives a copy of the reply as it will be after a round.finished among
// events that are not yet appended, for who appends more beside them.
func (r *Reply) With(pending ...events.Payload) *Reply {
	out := *r
	out.Rounds = slices.Clone(r.Rounds)
	for _, p := range pending {
		end, ok := p.(events.RoundFinished)
		i := slices.IndexFunc(out.Rounds, func(x *Round) bool { return ok && x.N == end.Round && !x.Superseded })
		if i >= 0 {
			x := *out.Rounds[i]
			x.finish(end)
			out.Rounds[i] = &x
		}
	}
	return &out
}

// Clone is a copy that later events do not change.
func (x *Round) Clone() *Round {
	out := *x
	out.Calls, out.Consents = make([]*Call, len(x.Calls)), make([]*Consent, len(x.Consents))
	for i, k := range x.Calls {
		cp := *k
		out.Calls[i] = &cp
	}
	for i, k := range x.Consents {
		cp := *k
		out.Consents[i] = &cp
	}
	out.Notes, out.Injected = slices.Clone(x.Notes), slices.Clone(x.Injected)
	return &out
}

// finish is the end of the round's request.
func (x *Round) finish(p events.RoundFinished) {
	x.Done, x.Finish, x.Usage, x.Error, x.MS, x.FirstMS = true, string(p.FinishReason), p.Usage, p.Error, p.MS, p.FirstMS
}

// Round is one request and what came of it.
type Round struct {
	N          int                `json:"n"`
	Started    time.Time          `json:"started"`
	Position   events.Position    `json:"position"` // of round.started
	Content    Text               `json:"content"`
	Reasoning  Text               `json:"reasoning"`
	Done       bool               `json:"done"`
	Superseded bool               `json:"superseded,omitempty"`
	Finish     string             `json:"finish,omitempty"`
	Usage      *events.Usage      `json:"usage,omitempty"`
	Error      *events.RoundError `json:"error,omitempty"`
	Estimate   int                `json:"estimate"`
	MS         int64              `json:"ms"`
	FirstMS    *int64             `json:"first_ms,omitempty"`
	// ThoughtMS is from the round's start to the last reasoning delta.
	ThoughtMS int64            `json:"thought_ms,omitempty"`
	Retries   []Retry          `json:"retries,omitempty"`
	Calls     []*Call          `json:"calls,omitempty"`
	Injected  []*QueuedMessage `json:"injected,omitempty"`
	// Consents are the cards of the round, in the order in which they came.
	Consents []*Consent `json:"consents,omitempty"`
	// Notes say why the reply went on after this round or why tools were taken
	// away: nudges and budgets.
	Notes []Note `json:"notes,omitempty"`
}

// Note is a nudge or a spent budget, where it happened.
type Note struct {
	Kind   string `json:"kind"` // nudge or budget
	Budget string `json:"budget,omitempty"`
	Limit  int64  `json:"limit,omitempty"`
	Text   string `json:"text,omitempty"`
}

// Retry is one attempt that got no first byte.
type Retry struct {
	Attempt int               `json:"attempt"`
	Error   events.RoundError `json:"error"`
	WaitMS  int64             `json:"wait_ms"`
}

// Call is one tool call.
type Call struct {
	ID        string          `json:"call"`
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments events.RawJSON  `json:"arguments"`
	Raw       string          `json:"raw"`
	Extra     events.RawJSON  `json:"extra,omitempty"`
	Risk      string          `json:"risk"`
	Why       string          `json:"why,omitempty"`
	Status    string          `json:"status"` // Called, Running, then as events.Tool…, or Interrupted
	Consent   string          `json:"consent,omitempty"`
	Output    string          `json:"output"`
	Bytes     int64           `json:"bytes"`
	Blob      *events.BlobRef `json:"blob,omitempty"`
	Exit      *int            `json:"exit,omitempty"`
	Diff      string          `json:"diff,omitempty"`
	MS        int64           `json:"ms"`
	// Edited says that a person corrected Arguments on the card; Raw is what the
	// model sent.
	Edited   bool                `json:"edited,omitempty"`
	Label    string              `json:"label,omitempty"`
	Icon     string              `json:"icon,omitempty"`
	Detail   string              `json:"detail,omitempty"`
	Progress string              `json:"progress,omitempty"` // the last line, while it runs
	Started  time.Time           `json:"started,omitzero"`
	Sources  []events.Source     `json:"sources,omitempty"`
	Images   []events.Attachment `json:"images,omitempty"`
}

// Over says whether the call has come to something.
func (k *Call) Over() bool { return k.Status != Called && k.Status != Running }

func (x *Round) call(id string) *Call {
	for _, c := range x.Calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// Told is the words that the model is told of a call that is over, or, while it
// is not, where it stands.
func (k *Call) Told() string {
	switch {
	case k.Status == Interrupted:
		return "The server was restarted while this ran. Whether it took effect is not known. It was not run again: look before you repeat it."
	case k.Status == Running:
		return "This has not ended yet."
	case k.Status == Called:
		return "This has not run yet."
	case k.Status == events.ToolStopped && k.Output == "":
		return "This was stopped."
	}
	return k.Output
}

// Shortened joins the head and the tail of an output of size bytes with the note
// that tells the model how it reads on. A call's Output is this when its Blob
// has the whole.
func (k *Call) Shortened(head, tail string, size int) string {
	return head + k.gap(len(head), size-len(head)-len(tail)) + tail
}

func (k *Call) gap(from, missing int) string {
	return fmt.Sprintf("%s%d bytes left out; read_output with call %q reads on from byte %d%s", gapBegin, missing, k.ID, from, gapEnd)
}

const (
	gapBegin = "\n\n[… "
	gapEnd   = " …]\n\n"
)

// Parts takes apart what Shortened joined: the head, how many bytes are left out
// and the tail. An output that stands whole is the head, with 0 left out. Text
// that only looks like the note, within the output, is not taken for it.
func (k *Call) Parts() (head string, missing int64, tail string) {
	if k.Blob == nil {
		return k.Output, 0, ""
	}
	for at := 0; ; {
		i := strings.Index(k.Output[at:], gapBegin)
		if i < 0 {
			return k.Output, max(0, k.Bytes-int64(len(k.Output))), ""
		}
		at += i
		if j := strings.Index(k.Output[at:], gapEnd); j >= 0 {
			end := at + j + len(gapEnd)
			head, tail = k.Output[:at], k.Output[end:]
			missing = k.Bytes - int64(len(head)+len(tail))
			if k.Output[at:end] == k.gap(at, int(missing)) {
				return head, missing, tail
			}
		}
		at += len(gapBegin)
	}
}
