package templates

import "reflect"

// pageTypes is every page and the type of its data.
func pageTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"login":       reflect.TypeFor[Login](),
		"register":    reflect.TypeFor[Register](),
		"error":       reflect.TypeFor[ErrorPage](),
		"offline":     reflect.TypeFor[Offline](),
		"new":         reflect.TypeFor[NewChat](),
		"chat":        reflect.TypeFor[Chat](),
		"waiting":     reflect.TypeFor[Waiting](),
		"settings":    reflect.TypeFor[Settings](),
		"connections": reflect.TypeFor[Connections](),
		"connection":  reflect.TypeFor[Connection](),
		"models":      reflect.TypeFor[Models](),
		"model":       reflect.TypeFor[Model](),
		"tools":       reflect.TypeFor[Tools](),
		"tool":        reflect.TypeFor[Tool](),
		"servers":     reflect.TypeFor[Servers](),
		"server":      reflect.TypeFor[Server](),
		"search":      reflect.TypeFor[Search](),
		"audit":       reflect.TypeFor[Audit](),
		"users":       reflect.TypeFor[Users](),
		"instance":    reflect.TypeFor[Instance](),
	}
}

// fragmentTypes is every fragment and the type of its data.
func fragmentTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		// A chat.
		"messages":      reflect.TypeFor[MessagePage](), // older ones, with their own "older" link
		"message":       reflect.TypeFor[Message](),     // #m-ID
		"who":           reflect.TypeFor[Message](),     // #who-ID: author, status, time of a reply
		"round":         reflect.TypeFor[Round](),       // #r-ID-N
		"think":         reflect.TypeFor[Think](),       // #think-ID-N
		"note":          reflect.TypeFor[Note](),        // #note-ID-N-KEY
		"tools":         reflect.TypeFor[Round](),       // #tools-ID-N
		"tool":          reflect.TypeFor[ToolLine](),    // #tool-ID-N-INDEX
		"tool-head":     reflect.TypeFor[ToolLine](),    // #toolhead-ID-N-INDEX
		"tool-end":      reflect.TypeFor[ToolLine](),    // #toolend-ID-N-INDEX
		"tool-body":     reflect.TypeFor[ToolLine](),    // #toolbody-ID-N-INDEX
		"consent":       reflect.TypeFor[Card](),        // #card-CARD
		"summary":       reflect.TypeFor[Summary](),     // #summary
		"compact":       reflect.TypeFor[Compact](),     // #compact
		"error":         reflect.TypeFor[Message](),     // #err-ID
		"foot":          reflect.TypeFor[Message](),     // #foot-ID
		"queue":         reflect.TypeFor[Queue](),       // #queue
		"queue-row":     reflect.TypeFor[QueueRow](),    // #q-ID
		"composer-send": reflect.TypeFor[Send](),        // #send
		"chat-status":   reflect.TypeFor[ChatStatus](),  // #chat-status
		"chat-meter":    reflect.TypeFor[Meter](),       // #chat-meter
		"scope":         reflect.TypeFor[Scope](),       // #scope
		// What waits, of all chats.
		"waiting-nav":  reflect.TypeFor[WaitingNav](),  // #waiting
		"waiting-list": reflect.TypeFor[WaitingList](), // #waiting-list
		// The sidebar.
		"sidebar-tree": reflect.TypeFor[SidebarTree](), // #side-tree
		"sidebar-more": reflect.TypeFor[SidebarTree](), // replaces the "Older chats" button
		"chat-row":     reflect.TypeFor[ChatRow](),     // #c-ID
		"folder":       reflect.TypeFor[Folder](),      // #f-ID
		// Settings, each a section.
		"settings-preferences": reflect.TypeFor[Preferences](),
		"settings-password":    reflect.TypeFor[PasswordForm](),
		"settings-pushes":      reflect.TypeFor[Push](), // #pushes
		"settings-sessions":    reflect.TypeFor[Sessions](),
		"settings-tokens":      reflect.TypeFor[Tokens](),
		// Administration.
		"connection-list":   reflect.TypeFor[ConnectionList](),
		"connection-form":   reflect.TypeFor[ConnectionForm](), // new and edit
		"connection-health": reflect.TypeFor[ConnectionHealth](),
		"connection-models": reflect.TypeFor[ConnectionModels](),
		"model-list":        reflect.TypeFor[ModelList](),
		"model-row":         reflect.TypeFor[ModelRow](), // PATCH …?row=1
		"model-form":        reflect.TypeFor[ModelForm](),
		"tool-list":         reflect.TypeFor[ToolList](),
		"tool-row":          reflect.TypeFor[ToolRow](), // PATCH …?row=1
		"tool-edit":         reflect.TypeFor[ToolEdit](),
		"tool-try":          reflect.TypeFor[ToolTry](),
		"header-row":        reflect.TypeFor[HeaderRow](),
		"parameter-row":     reflect.TypeFor[ParameterRow](),
		"server-list":       reflect.TypeFor[ServerList](),
		"server-form":       reflect.TypeFor[ServerForm](), // new and edit
		"server-tools":      reflect.TypeFor[ServerTools](),
		"server-tool":       reflect.TypeFor[ServerTool](),
		"search-edit":       reflect.TypeFor[SearchEdit](),
		"search-try":        reflect.TypeFor[SearchTry](),
		"user-list":         reflect.TypeFor[UserList](),
		"user-row":          reflect.TypeFor[UserRow](),
		"user-form":         reflect.TypeFor[UserForm](),
		"instance-form":     reflect.TypeFor[InstanceForm](),
	}
}
