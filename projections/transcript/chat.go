package transcript

import (
	"slices"
	"time"

	"lembas/events"
)

// Where a chat, a message or a reply stands. One language everywhere.
const (
	Idle        = "idle"
	Running     = "running"
	Waiting     = "waiting"
	Streaming   = "streaming"
	Queued      = "queued"
	Complete    = events.Complete
	Stopped     = events.Stopped
	Failed      = events.Failed
	Interrupted = "interrupted"
	Called      = "called" // of a call: neither refused nor started yet
)

// Chat is one conversation at a position. It is changed only by Apply; a reader
// that shares it must hold its owner's lock.
type Chat struct {
	ID        string `json:"id"`
	Owner     string `json:"owner"`
	Kind      string `json:"kind"`
	Title     string `json:"title"`
	Origin    string `json:"origin"` // of the title: prompt, model or person
	Model     string `json:"model"`
	Profile   string `json:"profile,omitempty"`
	Directory string `json:"directory,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Effort    string `json:"effort,omitempty"`
	// EffortByHand keeps a model's default from replacing what a person chose,
	// also when that was to clear it.
	EffortByHand bool            `json:"effort_by_hand,omitempty"`
	Folder       string          `json:"folder,omitempty"`
	Pinned       bool            `json:"pinned,omitempty"`
	Deleted      bool            `json:"deleted,omitempty"`
	Scope        map[string]bool `json:"scope,omitempty"`
	Allow        []string        `json:"allow,omitempty"`
	// AllowedAt says since when, by pattern.
	AllowedAt map[string]time.Time `json:"allowed_at,omitempty"`
	Created   time.Time            `json:"created"`
	Updated   time.Time            `json:"updated"`

	// Position, Version and Deciding are of the last event applied.
	Position events.Position `json:"position"`
	Version  events.Version  `json:"version"`
	Deciding events.Version  `json:"deciding"`

	// Turns is the conversation as it stands. Earlier counts turns before
	// Turns[0] that a windowed copy does not hold.
	Turns   []*Turn `json:"-"`
	Earlier int     `json:"earlier,omitempty"`
	// Queue is the turns that wait for the running reply to end.
	Queue []*QueuedMessage `json:"queue,omitempty"`
	// Left is the turns that an edit or a regeneration took out.
	Left []*Turn `json:"-"`
	// Pending is the cards that wait for an answer.
	Pending []events.ConsentRequested `json:"pending,omitempty"`
	// Plan is the newest plan as it stands, nil before the first.
	Plan *Plan `json:"plan,omitempty"`
	// Summary is the newest compaction, nil before the first. Compacting is the
	// one that was asked for by hand and is not there yet.
	Summary    *Summary `json:"summary,omitempty"`
	Compacting string   `json:"compacting,omitempty"`
	// CompactError is why the last compaction by hand failed.
	CompactError *events.RoundError `json:"compact_error,omitempty"`
}

// Plan is what a model set out to do.
type Plan struct {
	events.PlanSubmitted
}

// Open counts the tasks that are neither done nor dropped.
func (p *Plan) Open() (n int) {
	if p == nil {
		return 0
	}
	for _, ph := range p.Phases {
		for _, t := range ph.Tasks {
			if t.State != events.TaskDone && t.State != events.TaskDropped {
				n++
			}
		}
	}
	return n
}

// Summary stands for the turns up to and with a message in what the model is
// sent. The turns stay in the transcript.
type Summary struct {
	Message string    `json:"message"`
	N       int       `json:"n"` // of that message's turn
	Text    string    `json:"text"`
	Time    time.Time `json:"time"`
}

// Turn is one message of the person with the replies it had.
type Turn struct {
	ID string `json:"id"`
	// N counts turns from 0, over the whole life of the chat.
	N    int       `json:"n"`
	Time time.Time `json:"time"`
	// Texts are its versions, the last one in force.
	Texts       []Wording           `json:"texts"`
	Attachments []events.Attachment `json:"attachments,omitempty"`
	// Replies are all answers it ever got, the last one in force.
	Replies []*Reply `json:"replies"`
	// Left says at which position the turn left the transcript.
	Left events.Position `json:"left,omitempty"`
}

// Wording is one version of a turn's words.
type Wording struct {
	Text string    `json:"text"`
	Time time.Time `json:"time"`
}

// QueuedMessage is a turn that is not yet part of the conversation.
type QueuedMessage struct {
	ID          string              `json:"id"`
	Text        string              `json:"text"`
	Attachments []events.Attachment `json:"attachments,omitempty"`
	Time        time.Time           `json:"time"`
}

// Text is the turn's words in force.
func (t *Turn) Text() string { return t.Texts[len(t.Texts)-1].Text }

// Reply is the answer in force, nil before there is one.
func (t *Turn) Reply() *Reply {
	if len(t.Replies) == 0 {
		return nil
	}
	return t.Replies[len(t.Replies)-1]
}

// Last is the newest turn, nil in a chat without one.
func (c *Chat) Last() *Turn {
	if len(c.Turns) == 0 {
		return nil
	}
	return c.Turns[len(c.Turns)-1]
}

// Open is the reply that has not ended, nil when there is none.
func (c *Chat) Open() *Reply {
	if t := c.Last(); t != nil {
		if r := t.Reply(); r != nil && !r.Ended() {
			return r
		}
	}
	return nil
}

// Status is idle, running or waiting.
func (c *Chat) Status() string {
	switch r := c.Open(); {
	case r == nil:
		return Idle
	case len(c.Pending) > 0:
		return Waiting
	default:
		return Running
	}
}

// Turn finds a turn of the transcript by its message's id.
func (c *Chat) Turn(message string) *Turn {
	if i := c.turnIndex(message); i >= 0 {
		return c.Turns[i]
	}
	return nil
}

func (c *Chat) turnIndex(message string) int {
	return slices.IndexFunc(c.Turns, func(t *Turn) bool { return t.ID == message })
}

// Reply finds a reply, in force or an earlier version, by its id; the turn is
// nil when there is none.
func (c *Chat) Reply(id string) (*Turn, *Reply) {
	for _, turns := range [][]*Turn{c.Turns, c.Left} {
		for i := len(turns) - 1; i >= 0; i-- {
			for _, r := range turns[i].Replies {
				if r.ID == id {
					return turns[i], r
				}
			}
		}
	}
	return nil, nil
}

// QueuedTurn finds a queued turn by its message's id, nil when it is not queued.
func (c *Chat) QueuedTurn(message string) *QueuedMessage {
	for _, q := range c.Queue {
		if q.ID == message {
			return q
		}
	}
	return nil
}
