package events

import "encoding/json"

// ChatStream is the stream of a chat.
func ChatStream(chat string) string { return "chat/" + chat }

// The kinds of a chat.
const (
	KindChat  = "chat"
	KindAgent = "agent"
)

// ChatCreated begins a chat; it is always followed by its first message in the
// same append.
type ChatCreated struct {
	Chat      string `json:"chat"`
	Owner     string `json:"owner"`
	Kind      string `json:"kind"`
	Model     string `json:"model"` // the model's id
	Profile   string `json:"profile,omitempty"`
	Directory string `json:"directory,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Effort    string `json:"effort,omitempty"`
	Folder    string `json:"folder,omitempty"`
	// Title is what the chat is called until it is renamed: its first prompt,
	// trimmed.
	Title string `json:"title,omitempty"`
}

// ChatRenamed gives a chat another title.
type ChatRenamed struct {
	Title string `json:"title"`
	// Origin is "person", "model" (a title call) or "prompt" (a trimmed first
	// prompt). A person's title is never replaced by the others.
	Origin string `json:"origin"`
}

// ChatMoved puts a chat into a folder, or out of all with "".
type ChatMoved struct {
	Folder string `json:"folder"`
}

// ChatPinned pins a chat to the top of the sidebar, or takes the pin off.
type ChatPinned struct {
	Pinned bool `json:"pinned"`
}

// ChatModeChanged moves an agent chat's mode.
type ChatModeChanged struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// ChatModelChanged changes the model of later replies.
type ChatModelChanged struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// ChatEffortChanged sets the reasoning effort; "" is cleared by hand and stays
// cleared, "off" is a level.
type ChatEffortChanged struct {
	Effort string `json:"effort"`
	// ByHand is false when a model's default was copied.
	ByHand bool `json:"by_hand"`
}

// ChatScopeChanged narrows the tools of a chat: gate or row to on/off.
type ChatScopeChanged struct {
	Scope map[string]bool `json:"scope"`
}

// ChatAllowAdded remembers a pattern that an "always" answer gave.
type ChatAllowAdded struct {
	Pattern string `json:"pattern"`
	Consent string `json:"consent"`
}

// ChatAllowCleared forgets all remembered patterns.
type ChatAllowCleared struct{}

// ChatRewound takes a message's later turns out of the transcript, not out of
// the log. The message itself stays.
type ChatRewound struct {
	Message string `json:"message"`
}

// CompactionRequested asks for a summary of the chat so far, by hand.
type CompactionRequested struct {
	Compaction string `json:"compaction"`
	Message    string `json:"message"` // the last turn that it takes in
	Model      string `json:"model"`
}

// CompactionFailed says why there is no summary. Nothing has changed.
type CompactionFailed struct {
	Compaction string     `json:"compaction"`
	Error      RoundError `json:"error"`
}

// ChatCompacted says that the turns up to and with a message now travel as a
// summary.
type ChatCompacted struct {
	Message    string `json:"message"`
	Summary    string `json:"summary"`
	Compaction string `json:"compaction,omitempty"` // "" when a reply did it by itself
	Usage      *Usage `json:"usage,omitempty"`
}

// ChatImported closes an import.
type ChatImported struct {
	Owner string `json:"owner"`
	From  string `json:"from"`
}

// ChatForked begins a chat as a copy of another up to a message.
type ChatForked struct {
	From    string `json:"from"`
	Message string `json:"message"`
}

// ChatDeleted ends a chat. Its content is erased after it.
type ChatDeleted struct{}

func (ChatCreated) EventType() string       { return "chat.created" }
func (ChatRenamed) EventType() string       { return "chat.renamed" }
func (ChatMoved) EventType() string         { return "chat.moved" }
func (ChatPinned) EventType() string        { return "chat.pinned" }
func (ChatModeChanged) EventType() string   { return "chat.mode_changed" }
func (ChatModelChanged) EventType() string  { return "chat.model_changed" }
func (ChatEffortChanged) EventType() string { return "chat.effort_changed" }
func (ChatScopeChanged) EventType() string  { return "chat.scope_changed" }
func (ChatAllowAdded) EventType() string    { return "chat.allow_added" }
func (ChatAllowCleared) EventType() string  { return "chat.allow_cleared" }
func (ChatRewound) EventType() string       { return "chat.rewound" }
func (ChatCompacted) EventType() string     { return "chat.compacted" }
func (ChatImported) EventType() string      { return "chat.imported" }
func (ChatForked) EventType() string        { return "chat.forked" }
func (ChatDeleted) EventType() string       { return "chat.deleted" }

func (CompactionRequested) EventType() string { return "compaction.requested" }
func (CompactionFailed) EventType() string    { return "compaction.failed" }

func chatTypes() []Info {
	return []Info{
		define[ChatCreated](1, permits), define[ChatRenamed](1), define[ChatMoved](1), define[ChatPinned](1),
		define[ChatModeChanged](1, permits), define[ChatModelChanged](1), define[ChatEffortChanged](1),
		define[ChatScopeChanged](1, permits), define[ChatAllowAdded](1, permits),
		define[ChatAllowCleared](1, permits), define[ChatRewound](1), define[ChatCompacted](1),
		define[CompactionRequested](1), define[CompactionFailed](1),
		define[ChatImported](1), define[ChatForked](1), define[ChatDeleted](1, permits),
	}
}

// BlobRef points at bytes kept beside the log under their digest.
type BlobRef struct {
	Digest string `json:"digest"` // hex SHA-256
	Size   int64  `json:"size"`
}

// Attachment is a file that travels with a message.
type Attachment struct {
	ID   string  `json:"id"`
	Name string  `json:"name"`
	Type string  `json:"type"`
	Blob BlobRef `json:"blob"`
}

// RawJSON is JSON that is kept as it came.
type RawJSON = json.RawMessage
