package events

// Why a reply was asked for.
const (
	ForMessage    = "message"
	ForEdit       = "edit"
	ForRegenerate = "regenerate"
	ForQueue      = "queue"
	ForJob        = "job"
	ForPlan       = "plan"
)

// How a reply ended.
const (
	Complete = "complete"
	Stopped  = "stopped"
	Failed   = "failed"
)

// The kinds of a chunk.
const (
	ChunkContent   = "content"
	ChunkReasoning = "reasoning"
	ChunkArguments = "tool_arguments"
)

// ReplyRequested asks the loop for an answer to a message. It opens the reply.
type ReplyRequested struct {
	Reply   string `json:"reply"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Model   string `json:"model,omitempty"` // the model's id at that moment
}

// ReplyStarted says that the loop took the reply up for the first time.
type ReplyStarted struct {
	Reply      string `json:"reply"`
	Model      string `json:"model"`      // id
	ModelName  string `json:"model_name"` // as the endpoint calls it
	Connection string `json:"connection"`
}

// ReplyChunk is the deltas of at most 40 ms or 2 KB.
type ReplyChunk struct {
	Reply string `json:"reply"`
	Round int    `json:"round"`
	Kind  string `json:"kind"`
	Call  *int   `json:"call,omitempty"` // index of the call, for tool_arguments
	Text  string `json:"text"`
	// Cuts has, for each delta, its byte offset in Text and the milliseconds
	// since the round began.
	Cuts [][2]int64 `json:"cuts"`
}

// ReplyReclassified says that the text of a round so far was of another kind: a
// lone closing think tag turns the content before it into reasoning.
type ReplyReclassified struct {
	Reply string `json:"reply"`
	Round int    `json:"round"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// ReplyResumed says that a reply is taken up again after a restart.
type ReplyResumed struct {
	Reply  string `json:"reply"`
	Reason string `json:"reason"`
}

// ReplyFolded carries the final text of a reply whose chunks were erased.
type ReplyFolded struct {
	Reply  string        `json:"reply"`
	Rounds []FoldedRound `json:"rounds"`
}

// FoldedRound is the text of one round of a folded reply.
type FoldedRound struct {
	Round     int    `json:"round"`
	Content   string `json:"content"`
	Reasoning string `json:"reasoning"`
}

// ReplyNudged says that a model that stopped was asked to go on.
type ReplyNudged struct {
	Reply string `json:"reply"`
	Round int    `json:"round"`
	Text  string `json:"text"`
}

// ReplyBudgetSpent says which budget a reply has used up.
type ReplyBudgetSpent struct {
	Reply  string `json:"reply"`
	Budget string `json:"budget"`
	Limit  int64  `json:"limit"`
}

// Metrics are the figures of one reply. Milliseconds; tokens.
type Metrics struct {
	Prompt     int  `json:"prompt"`
	Completion int  `json:"completion"`
	Estimated  bool `json:"estimated"` // no usage was reported: four characters a token
	// Context is the share of the model's context that the last round's prompt
	// took, in percent; nil when its length is not known.
	Context         *float64 `json:"context"`
	Rounds          int      `json:"rounds"`
	MS              int64    `json:"ms"`
	FirstMS         *int64   `json:"first_ms"`
	TokensPerSecond float64  `json:"tokens_per_second"`
}

// ReplyFinished ends a reply. It closes it.
type ReplyFinished struct {
	Reply   string      `json:"reply"`
	Status  string      `json:"status"`
	Reason  string      `json:"reason,omitempty"`
	Error   *RoundError `json:"error,omitempty"`
	Metrics Metrics     `json:"metrics"`
}

func (ReplyRequested) EventType() string    { return "reply.requested" }
func (ReplyStarted) EventType() string      { return "reply.started" }
func (ReplyChunk) EventType() string        { return "reply.chunk" }
func (ReplyReclassified) EventType() string { return "reply.reclassified" }
func (ReplyResumed) EventType() string      { return "reply.resumed" }
func (ReplyFolded) EventType() string       { return "reply.folded" }
func (ReplyNudged) EventType() string       { return "reply.nudged" }
func (ReplyBudgetSpent) EventType() string  { return "reply.budget_spent" }
func (ReplyFinished) EventType() string     { return "reply.finished" }

func replyTypes() []Info {
	return []Info{
		define[ReplyRequested](1, opens("reply")), define[ReplyStarted](1, weak), define[ReplyChunk](1, weak),
		define[ReplyReclassified](1, weak), define[ReplyResumed](1, weak), define[ReplyFolded](1),
		define[ReplyNudged](1, weak), define[ReplyBudgetSpent](1, weak), define[ReplyFinished](1, closes("reply")),
	}
}
