package pages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"lembas/commands"
	"lembas/web/templates"
)

// settingText is a setting in words.
type settingText struct{ key, label, help string }

// settingGroups are the settings that an administrator sees, under headings.
// Those that change nothing in this version are not shown.
func settingGroups() []struct {
	title    string
	settings []settingText
} {
	return []struct {
		title    string
		settings []settingText
	}{
		{"Accounts", []settingText{
			{"signup", "Sign-up", "Anybody who reaches this instance can make an account."},
			{"permissions", "Everybody may", "Administrators may do all of it. What is taken away is not offered to models in that person's chats."},
		}},
		{"Asking first", []settingText{
			{"tools.ask", "A card asks before tools that", "The reply stops until the person says yes. What is not ticked runs at once."},
			{"approval_timeout", "A card waits for", "Then it counts as not answered, which is a refusal. A day is 86400 s, the least is a minute."},
			{"resume_window", "An approval outlives a restart for", "What was approved and had not begun runs after a restart of the server if that is not longer ago; else it is asked again."},
		}},
		{"Reading the web", []settingText{
			{"fetch.enabled", "The tool fetch", "Models may read a page by its address. A person's own link is another matter."},
			{"fetch.private", "Private addresses too", "Lets fetch, HTTP tools, MCP servers and search reach this machine and the local network. Whoever can make a model ask can then ask there."},
		}},
		{"Replies", []settingText{
			{"limits.gather_ms", "Gather text for", "How long words are gathered before they are written down and shown. 0 writes each delta."},
			{"limits.stream_idle", "Give up on a silent endpoint after", "Time without a byte from the endpoint."},
			{"limits.wall_clock", "Longest reply", "A reply that takes longer is ended, and says so."},
			{"limits.output_tokens", "Most tokens of a reply", "0 is no bound."},
			{"limits.rounds", "Most rounds of a reply", "A round is one request to the model; each set of tool calls leads to the next. 0 is no bound but the built-in one."},
			{"limits.tool_output", "Most output of tools in a reply", "Beyond it the model is asked to wrap up."},
		}},
		{"Long chats", []settingText{
			{"limits.compact_at", "Summarise earlier turns at", "A share of the model's context length, from 0.1 to 1. What was said stays readable; the model gets the summary."},
			{"limits.context_headroom", "Wrap up a reply at", "The same, for a reply that grows while it runs. Counts only for models whose context length is known."},
		}},
	}
}

// instance is the administrator's page of instance settings.
func (p *Pages) instance(w http.ResponseWriter, r *http.Request) error {
	at := p.Service.Log.Head()
	form, err := p.instanceForm(r)
	if err != nil {
		return err
	}
	v := templates.Instance{Form: form}
	if v.Shell, err = p.shell(r, "instance", "Instance", at); err != nil {
		return err
	}
	return p.page(w, "instance", v)
}

func (p *Pages) instanceForm(r *http.Request) (v templates.InstanceForm, err error) {
	settings, err := p.Service.Settings(r.Context())
	if err != nil {
		return v, err
	}
	values := settings.All()
	for _, g := range settingGroups() {
		group := templates.SettingGroup{Title: g.title}
		for _, t := range g.settings {
			if s, ok := settingOf(t.key); ok {
				group.Settings = append(group.Settings, setting(t, s, values[t.key]))
			}
		}
		v.Groups = append(v.Groups, group)
	}
	return v, nil
}

func settingOf(key string) (commands.Setting, bool) {
	table := commands.SettingsTable()
	i := slices.IndexFunc(table, func(s commands.Setting) bool { return s.Key == key })
	if i < 0 {
		return commands.Setting{}, false
	}
	return table[i], true
}

func setting(t settingText, s commands.Setting, value any) templates.Setting {
	v := templates.Setting{Key: t.key, Label: t.label, Help: t.help, Kind: "text", Value: written(value), Unit: s.Unit, Default: written(s.Default)}
	switch s.Default.(type) {
	case []string:
		v.Kind, v.Options = "checks", checks(s, value)
	case bool:
		v.Kind, v.Default = "switch", map[string]string{"true": "on", "false": "off"}[v.Default]
	case int64, float64:
		v.Kind, v.Min, v.Max = "number", decimal(s.Min), decimal(s.Max)
		v.Default = strings.TrimSpace(v.Default + " " + s.Unit)
	}
	return v
}

// checks are the members that a list can have, each ticked or not.
func checks(s commands.Setting, value any) []templates.Option {
	words := map[string]string{"read": "read: only look", "write": "write: change something", "execute": "execute: run something",
		"chat.use": "chat with models", "tools.web_search": "use web search", "tools.fetch": "use fetch", "tools.custom": "use HTTP tools", "tools.mcp": "use MCP servers"}
	now, _ := value.([]string)
	var out []templates.Option
	for _, member := range s.OneOf {
		out = append(out, templates.Option{Value: member, Label: cmp.Or(words[member], member), Selected: slices.Contains(now, member)})
	}
	return out
}

// written is a setting's value as a form has it.
func written(v any) string {
	if f, ok := v.(float64); ok {
		return decimal(f)
	}
	return fmt.Sprint(v)
}

// saveInstance changes the settings that are in the form and other than now.
func (p *Pages) saveInstance(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	settings, err := p.Service.Settings(r.Context())
	if err != nil {
		return err
	}
	now := settings.All()
	changed := map[string]json.RawMessage{}
	for key := range f.values {
		if list, ok := now[key].([]string); ok {
			if ticked := f.ticked(key); !sameMembers(ticked, list) {
				if changed[key], err = json.Marshal(ticked); err != nil {
					return err
				}
			}
		} else if text := f.text(key); text != written(now[key]) {
			changed[key] = parsed(key, text)
		}
	}
	if len(changed) > 0 {
		_, err = p.Service.ChangeSettings(r.Context(), caller(r), changed)
	}
	var errs templates.Errors
	if err != nil {
		if errs, err = refused(err); err != nil {
			return err
		}
	}
	v, err := p.instanceForm(r)
	if err != nil {
		return err
	}
	if errs == nil {
		v.Saved = "Saved."
		return p.part(w, http.StatusOK, "instance-form", v)
	}
	v.Errors = errs
	var shown []string
	for _, g := range v.Groups {
		for i := range g.Settings {
			s := &g.Settings[i]
			shown = append(shown, s.Key)
			if s.Kind == "checks" && f.maybe(s.Key) != nil {
				for j := range s.Options {
					s.Options[j].Selected = slices.Contains(f.ticked(s.Key), s.Options[j].Value)
				}
			}
			s.Value = cmp.Or(f.text(s.Key), s.Value)
		}
	}
	v.Errors = under(errs, shown...)
	return p.part(w, http.StatusUnprocessableEntity, "instance-form", v)
}

// ticked are the values of a list of boxes, less the hidden one that says that
// the list is in the form.
func (f form) ticked(key string) []string {
	out := []string{}
	for _, v := range f.values[key] {
		if v != "" {
			out = append(out, v)
		}
	}
	return out
}

func sameMembers(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x string) bool { return !slices.Contains(b, x) })
}

// parsed is a form's text as the JSON of the setting's type. What does not fit
// becomes a JSON text, which the command refuses with the bounds in words.
func parsed(key, text string) json.RawMessage {
	s, _ := settingOf(key)
	switch s.Default.(type) {
	case bool:
		if text == "true" || text == "false" {
			return json.RawMessage(text)
		}
	case int64, float64:
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return quoted
}
