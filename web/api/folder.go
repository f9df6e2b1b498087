package api

import (
	"maps"
	"net/http"
	"slices"

	"lembas/commands"
	"lembas/events"
	"lembas/web/request"
)

type folder struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Parent       string            `json:"parent_id"`
	SystemPrompt string            `json:"system_prompt"`
	Seeds        map[string]string `json:"seeds"`
}

func folderOf(id string, s events.FolderState) folder {
	f := folder{ID: id, Name: s.Name, Parent: s.Parent, SystemPrompt: s.SystemPrompt, Seeds: s.Seeds}
	if f.Seeds == nil {
		f.Seeds = map[string]string{}
	}
	return f
}

// Folders lists the caller's folders, oldest first.
func (a *API) Folders(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Identity(r.Context())
	var out []folder
	for _, id := range slices.Sorted(maps.Keys(who.User.Folders)) {
		out = append(out, folderOf(id, who.User.Folders[id]))
	}
	p, err := page(r, out, func(f folder) string { return f.ID })
	if err != nil {
		return err
	}
	return request.JSON(w, http.StatusOK, p)
}

type patchFolder struct {
	Name         request.Optional[string]            `json:"name"`
	Parent       request.Optional[string]            `json:"parent_id"`
	SystemPrompt request.Optional[string]            `json:"system_prompt"`
	Seeds        request.Optional[map[string]string] `json:"seeds"`
}

func (p patchFolder) command() commands.PatchFolder {
	return commands.PatchFolder{Name: p.Name.Pointer(), Parent: p.Parent.Pointer(), SystemPrompt: p.SystemPrompt.Pointer(), Seeds: p.Seeds.Pointer()}
}

// CreateFolder makes a folder.
func (a *API) CreateFolder(w http.ResponseWriter, r *http.Request) error {
	var in patchFolder
	if err := request.Read(r, &in); err != nil {
		return err
	}
	made, _, err := a.Service.CreateFolder(r.Context(), request.Caller(r), in.command())
	if err != nil {
		return err
	}
	return a.answerFolder(w, r, made.ID, http.StatusCreated)
}

// PatchFolder renames, moves or sets up a folder.
func (a *API) PatchFolder(w http.ResponseWriter, r *http.Request) error {
	var in patchFolder
	if err := request.Read(r, &in); err != nil {
		return err
	}
	if _, err := a.Service.ChangeFolder(r.Context(), request.Caller(r), id(r), in.command()); err != nil {
		return err
	}
	return a.answerFolder(w, r, id(r), http.StatusOK)
}

// answerFolder looks again: the identity was found before the change.
func (a *API) answerFolder(w http.ResponseWriter, r *http.Request, id string, status int) error {
	who, _ := request.Identity(r.Context())
	u, err := a.Service.User(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	return request.JSON(w, status, folderOf(id, u.Folders[id]))
}

// DeleteFolder takes a folder away; what was in it moves up.
func (a *API) DeleteFolder(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.Service.RemoveFolder(r.Context(), request.Caller(r), id(r)); err != nil {
		return err
	}
	return noContent(w)
}
