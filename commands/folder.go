package commands

import (
	"context"
	"fmt"
	"unicode/utf8"

	"lembas/events"
)

// Bounds of folders.
const (
	maxFolders     = 500
	maxFolderDepth = 8
	maxSeed        = 200      // bytes of what a folder gives new chats: an id or a word
	MaxPrompt      = 64 << 10 // bytes of an authored system prompt
)

// PatchFolder is what a person sets on a folder; nil is unchanged.
type PatchFolder struct {
	Name         *string
	Parent       *string // "" is the top
	SystemPrompt *string
	Seeds        *map[string]string
}

// CreatedFolder answers CreateFolder.
type CreatedFolder struct {
	ID string `json:"id"`
}

// CreateFolder makes a folder.
func (s *Service) CreateFolder(ctx context.Context, c Caller, cmd PatchFolder) (CreatedFolder, events.Result, error) {
	id := s.NewID()
	return onUser(ctx, s, c, c.User, func(u *User) ([]events.Payload, []events.Put, CreatedFolder, error) {
		if len(u.Folders) >= maxFolders {
			return nil, nil, CreatedFolder{}, fmt.Errorf("%d folders exist already: %w", maxFolders, events.ErrConflict)
		}
		if cmd.Name == nil {
			return nil, nil, CreatedFolder{}, events.Invalid("name", "a folder needs a name")
		}
		st, err := patchFolder(u, id, events.FolderState{}, cmd)
		if err != nil {
			return nil, nil, CreatedFolder{}, err
		}
		return []events.Payload{events.FolderCreated{Folder: id, State: st}}, nil, CreatedFolder{ID: id}, nil
	})
}

// ChangeFolder renames, moves or sets up a folder.
func (s *Service) ChangeFolder(ctx context.Context, c Caller, folder string, cmd PatchFolder) (events.Result, error) {
	_, res, err := onUser(ctx, s, c, c.User, func(u *User) ([]events.Payload, []events.Put, struct{}, error) {
		old, ok := u.Folders[folder]
		if !ok {
			return nil, nil, struct{}{}, fmt.Errorf("folder: %w", events.ErrNotFound)
		}
		st, err := patchFolder(u, folder, old, cmd)
		if err != nil {
			return nil, nil, struct{}{}, err
		}
		return []events.Payload{events.FolderChanged{Folder: folder, State: st}}, nil, struct{}{}, nil
	})
	return res, err
}

func patchFolder(u *User, id string, st events.FolderState, cmd PatchFolder) (events.FolderState, error) {
	if cmd.Name != nil {
		st.Name = oneLine(*cmd.Name)
	}
	if n := utf8.RuneCountInString(st.Name); n == 0 || n > MaxName {
		return st, events.Invalid("name", "1 to %d characters", MaxName)
	}
	if cmd.SystemPrompt != nil {
		st.SystemPrompt = *cmd.SystemPrompt
	}
	if len(st.SystemPrompt) > MaxPrompt {
		return st, events.Invalid("system_prompt", "at most %d bytes", MaxPrompt)
	}
	if cmd.Seeds != nil {
		for k, v := range *cmd.Seeds {
			if k != "model" && k != "effort" {
				return st, events.Invalid("seeds", "%q is not a seed; model and effort are", clip(k, 100))
			}
			if len(v) > maxSeed {
				return st, events.Invalid("seeds", "at most %d bytes each", maxSeed)
			}
		}
		st.Seeds = *cmd.Seeds
	}
	if cmd.Parent != nil {
		st.Parent = *cmd.Parent
	}
	return st, checkParent(u, id, st.Parent)
}

// checkParent refuses a parent that does not exist, one inside the folder
// itself, and a tree that is too deep.
func checkParent(u *User, id, parent string) error {
	depth := 0
	for p := parent; p != ""; depth++ {
		f, ok := u.Folders[p]
		switch {
		case !ok:
			return events.Invalid("parent_id", "there is no such folder")
		case p == id:
			return events.Invalid("parent_id", "a folder cannot be inside itself")
		case depth >= maxFolderDepth:
			return events.Invalid("parent_id", "folders nest at most %d deep", maxFolderDepth)
		}
		p = f.Parent
	}
	return nil
}

// RemoveFolder takes a folder away; what was in it moves up.
func (s *Service) RemoveFolder(ctx context.Context, c Caller, folder string) (events.Result, error) {
	_, res, err := onUser(ctx, s, c, c.User, func(u *User) ([]events.Payload, []events.Put, struct{}, error) {
		if _, ok := u.Folders[folder]; !ok {
			return nil, nil, struct{}{}, fmt.Errorf("folder: %w", events.ErrNotFound)
		}
		return []events.Payload{events.FolderRemoved{Folder: folder}}, nil, struct{}{}, nil
	})
	return res, err
}

// folderFor gives a folder of a person; "" is none.
func (s *Service) folderFor(ctx context.Context, user, folder string) (events.FolderState, error) {
	if folder == "" {
		return events.FolderState{}, nil
	}
	u, err := s.User(ctx, user)
	if err != nil {
		return events.FolderState{}, err
	}
	f, ok := u.Folders[folder]
	if !ok {
		return f, events.Invalid("folder_id", "there is no such folder")
	}
	return f, nil
}

// FolderPrompt is the system prompt in force for a folder: its own, or that of
// the nearest folder above. The walk is bounded and survives a cycle.
func (u *User) FolderPrompt(folder string) string {
	folder = u.Folder(folder)
	for range maxFolderDepth + 1 {
		f, ok := u.Folders[folder]
		if !ok {
			return ""
		}
		if f.SystemPrompt != "" {
			return f.SystemPrompt
		}
		folder = f.Parent
	}
	return ""
}
