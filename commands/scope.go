package commands

// ScopeRow is one line of a chat's scope: a gate of tools, or one custom tool or
// server, that a person can switch off for the chat.
type ScopeRow struct {
	Key   string // in the chat's scope: a gate, custom:SLUG or mcp:SLUG
	Label string // for people
	Icon  string // a name in the sprite
	Group string // the key of the family that it is of, and below; "" is a family
	On    bool   // not switched off in this chat
	Tools int    // how many tools it brings
	// Off is why it cannot be on: the instance, a right or the model. "" when it
	// can.
	Off string
}
