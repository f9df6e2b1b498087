package events

// FolderCreated makes a folder, in the stream of its person.
type FolderCreated struct {
	Folder string      `json:"folder"`
	State  FolderState `json:"state"`
}

// FolderChanged carries the whole state after the change.
type FolderChanged struct {
	Folder string      `json:"folder"`
	State  FolderState `json:"state"`
}

// FolderState is what a folder is.
type FolderState struct {
	Name         string            `json:"name"`
	Parent       string            `json:"parent,omitempty"`
	SystemPrompt string            `json:"system_prompt,omitempty"`
	Seeds        map[string]string `json:"seeds,omitempty"` // what a new chat in it left empty: model, effort
}

// FolderRemoved takes a folder away; chats and folders in it move up.
type FolderRemoved struct {
	Folder string `json:"folder"`
}

func (FolderCreated) EventType() string { return "folder.created" }
func (FolderChanged) EventType() string { return "folder.changed" }
func (FolderRemoved) EventType() string { return "folder.removed" }

func folderTypes() []Info {
	return []Info{define[FolderCreated](1), define[FolderChanged](1), define[FolderRemoved](1)}
}
