package tools

import (
	"context"
	"encoding/json"
	"time"

	"lembas/events"
)

// Spec is what is known of a tool that can be offered.
type Spec struct {
	Name        string          // as the model calls it: [a-z0-9_-]{1,64}
	Description string          // facts about the runner, fixed
	Schema      json.RawMessage // JSON Schema of the arguments: an object
	Risk        string          // events.Risk…
	Gate        string          // its family: web_search, fetch, ask_user, custom, mcp
	Scope       string          // its key in a chat's scope: the gate, custom:SLUG or mcp:SLUG
	Label       string          // for people
	Icon        string          // a name in the sprite
	// Detail names the argument that a reader is shown first and may correct on
	// the card; "" shows all arguments and allows no edit.
	Detail   string
	Guidance string        // for the system prompt, "" for none
	Timeout  time.Duration // of one call
	// Changed is when its name came to mean this, zero for always. What was
	// decided before is not run.
	Changed time.Time
}

// Tool is a tool with its runner.
type Tool struct {
	Spec
	// Run never panics and ends with ctx. It is nil for tools that a person
	// answers (ask_user).
	Run func(ctx context.Context, call Call) Result
}

// Call is one call to run.
type Call struct {
	ID, Chat, Reply, User string
	Arguments             json.RawMessage // the one parsed object
	// Progress takes a line for who watches; it never blocks and may be nil.
	Progress func(line string)
}

// Result is what a call came to.
type Result struct {
	Status string // events.ToolOK, ToolError or ToolRefused
	// Output is the text for the model and the reader, whole; who records it
	// cuts it. It is untrusted.
	Output  string
	Sources []events.Source
	Images  []Image
}

// Image is a picture that a result brought.
type Image struct {
	Type string // image/png, image/jpeg, image/gif or image/webp
	Data []byte
}

// Failed is a result that tells the model what went wrong and what to do.
func Failed(text string) Result { return Result{Status: events.ToolError, Output: text} }
