package pages

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"lembas/commands"
	"lembas/events"
	"lembas/web/request"
	"lembas/web/templates"
)

// tryTool sends one request of the tool that the form makes, saved or not.
func (p *Pages) tryTool(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	list := parameters(f)
	v := templates.ToolTry{ID: f.text("id"), Arguments: toolArguments(list, f), Errors: templates.Errors{}}
	args, faults := argumentsOf(list, f)
	maps.Copy(v.Errors, faults)
	cmd, err := patchTool(f)
	if err == nil && len(faults) == 0 {
		begun := time.Now()
		var got commands.Tried
		if got, err = p.send(r, f.text("id"), cmd, args); err == nil {
			v.Result = &templates.ToolResult{Status: got.Status, Took: took(time.Since(begun)), Request: got.Request, Output: got.Output}
			return p.part(w, http.StatusOK, "tool-try", v)
		}
	}
	errs, err := refusedOrNone(err)
	if err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(errs)) {
		v.Errors[""] = strings.TrimSpace(v.Errors[""] + " " + named(field, errs[field]))
	}
	return p.part(w, http.StatusUnprocessableEntity, "tool-try", v)
}

func (p *Pages) send(r *http.Request, id string, cmd commands.PatchTool, args json.RawMessage) (commands.Tried, error) {
	if p.Try == nil {
		return commands.Tried{}, request.Fail(http.StatusServiceUnavailable, "Nothing can be tried here.")
	}
	return p.Service.TryTool(r.Context(), id, cmd, args, p.Try)
}

func refusedOrNone(err error) (templates.Errors, error) {
	if err == nil {
		return nil, nil
	}
	return refused(err)
}

// named says which field of a form an error is of.
func named(field, detail string) string {
	switch field {
	case "", "arguments":
		return detail
	case "url":
		return "Address: " + detail
	}
	return capital(field) + ": " + detail
}

// took is a duration as a person reads it.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "under 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// toolArguments are the fields to try a tool with, with what was typed.
func toolArguments(list []events.CustomParameter, f form) []templates.ToolArgument {
	var out []templates.ToolArgument
	for _, x := range list {
		a := templates.ToolArgument{Name: x.Name, Type: x.Type, Description: x.Description, Required: x.Required, Value: f.text("arg." + x.Name)}
		if x.Type == "boolean" {
			a.Options = choose(a.Value, "", "not given", "true", "true", "false", "false")
		}
		out = append(out, a)
	}
	return out
}

// argumentsOf makes a call's arguments of what was typed. Text that is empty is
// not given.
func argumentsOf(list []events.CustomParameter, f form) (json.RawMessage, templates.Errors) {
	out, errs := map[string]json.RawMessage{}, templates.Errors{}
	for _, x := range list {
		field := "arg." + x.Name
		text := f.text(field)
		if x.Type != "string" {
			text = strings.TrimSpace(text)
		}
		switch {
		case text == "" && x.Required:
			errs[field] = "Give a value."
		case text == "":
		case x.Type == "string":
			b, err := json.Marshal(text)
			if err != nil {
				errs[field] = "This is no text."
			}
			out[x.Name] = b
		case !json.Valid([]byte(text)) || strings.ContainsAny(text[:1], `"[{n`):
			errs[field] = "This must be a number."
			if x.Type == "boolean" {
				errs[field] = "True or false."
			}
		default:
			out[x.Name] = json.RawMessage(text)
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		errs[""] = "The arguments make no JSON."
	}
	return b, errs
}
