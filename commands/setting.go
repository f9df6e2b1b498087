package commands

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"lembas/events"
)

// Setting is one instance setting: its default and what values it takes.
type Setting struct {
	Key     string
	Default any // bool, int64, float64, string or []string
	Min     float64
	Max     float64
	Unit    string // s, days, ms, bytes or ""
	// OneOf bounds a text, or the members of a list.
	OneOf []string
}

// settingTable is every setting (contract.md, Settings), in the order shown.
var settingTable = []Setting{
	{Key: "signup", Default: true},
	{Key: "approval_timeout", Default: int64(86400), Min: 60, Max: 365 * 86400, Unit: "s"},
	{Key: "resume_window", Default: int64(600), Min: 0, Max: 86400, Unit: "s"},
	{Key: "terminal_idle", Default: int64(3600), Min: 60, Max: 7 * 86400, Unit: "s"},
	{Key: "retention.chunks", Default: int64(0), Min: 0, Max: 36500, Unit: "days"},
	{Key: "tools.ask", Default: []string{"write", "execute"}, OneOf: []string{"read", "write", "execute"}},
	{Key: "permissions", Default: Permissions(), OneOf: Permissions()},
	{Key: "fetch.enabled", Default: true},
	{Key: "fetch.private", Default: false},
	{Key: "agents.enabled", Default: false},
	{Key: "agents.this_machine", Default: "never"},
	{Key: "agents.allow", Default: []string{}},
	{Key: "agents.deny", Default: []string{}},
	{Key: "agents.jobs", Default: false},
	{Key: "limits.gather_ms", Default: int64(40), Min: 0, Max: 1000, Unit: "ms"},
	{Key: "limits.rounds", Default: int64(0), Min: 0, Max: 10000},
	{Key: "limits.stream_idle", Default: int64(120), Min: 1, Max: 3600, Unit: "s"},
	{Key: "limits.wall_clock", Default: int64(3600), Min: 10, Max: 86400, Unit: "s"},
	{Key: "limits.output_tokens", Default: int64(0), Min: 0, Max: 1e9},
	{Key: "limits.tool_output", Default: int64(1 << 20), Min: 1024, Max: 1 << 30, Unit: "bytes"},
	{Key: "limits.command_timeout", Default: int64(120), Min: 1, Max: 86400, Unit: "s"},
	{Key: "limits.command_output", Default: int64(256 << 10), Min: 1024, Max: 1 << 30, Unit: "bytes"},
	{Key: "limits.jobs", Default: int64(8), Min: 0, Max: 1000},
	{Key: "limits.upload", Default: int64(25 << 20), Min: 1024, Max: 1 << 30, Unit: "bytes"},
	{Key: "limits.context_headroom", Default: 0.95, Min: 0.1, Max: 1},
	{Key: "limits.compact_at", Default: 0.8, Min: 0.1, Max: 1},
}

// SettingsTable lists all settings, in the order shown.
func SettingsTable() []Setting { return slices.Clone(settingTable) }

// Settings are the values in force.
type Settings struct{ values map[string]any }

// All gives every setting's value in force by its key.
func (s Settings) All() map[string]any { return maps.Clone(s.values) }

// Bool gives a switch.
func (s Settings) Bool(key string) bool { v, _ := s.values[key].(bool); return v }

// Int gives a whole number.
func (s Settings) Int(key string) int64 { v, _ := s.values[key].(int64); return v }

// Float gives a number.
func (s Settings) Float(key string) float64 { v, _ := s.values[key].(float64); return v }

// List gives a list of texts.
func (s Settings) List(key string) []string { v, _ := s.values[key].([]string); return slices.Clone(v) }

// Settings gives the values in force.
func (s *Service) Settings(ctx context.Context) (Settings, error) {
	out := Settings{values: map[string]any{}}
	err := s.instance.view(ctx, events.InstanceStream, func(in *Instance, _ events.Position) error {
		for _, t := range settingTable {
			out.values[t.Key] = t.Default
			if raw, ok := in.Settings[t.Key]; ok {
				if v, err := t.parse(raw); err == nil { // a bound that moved since leaves the default
					out.values[t.Key] = v
				}
			}
		}
		return nil
	})
	return out, err
}

// ChangeSettings sets several settings at once; null is the default again.
// Unknown keys and values out of bounds refuse the whole.
func (s *Service) ChangeSettings(ctx context.Context, c Caller, values map[string]json.RawMessage) (events.Result, error) {
	var out []events.Payload
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(settingTable, func(t Setting) bool { return t.Key == key })
		if i < 0 {
			errs = append(errs, events.Invalid(clip(key, 100), "there is no such setting"))
			continue
		}
		if string(values[key]) != "null" {
			if _, err := settingTable[i].parse(values[key]); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		out = append(out, events.SettingChanged{Key: key, Value: values[key]})
	}
	if err := errors.Join(errs...); err != nil {
		return events.Result{}, err
	}
	_, res, err := onInstance(ctx, s, c, func(*Instance) ([]events.Payload, []events.Put, struct{}, error) {
		return out, nil, struct{}{}, nil
	})
	return res, err
}

// parse reads a value of the setting's type and checks its bounds.
func (t Setting) parse(raw json.RawMessage) (any, error) {
	switch t.Default.(type) {
	case bool:
		var v bool
		if json.Unmarshal(raw, &v) != nil || string(raw) == "null" {
			return nil, events.Invalid(t.Key, "true or false")
		}
		return v, nil
	case int64:
		var v int64
		if json.Unmarshal(raw, &v) != nil || float64(v) < t.Min || float64(v) > t.Max {
			return nil, events.Invalid(t.Key, "a whole number from %.0f to %.0f", t.Min, t.Max)
		}
		return v, nil
	case float64:
		var v float64
		if json.Unmarshal(raw, &v) != nil || v < t.Min || v > t.Max {
			return nil, events.Invalid(t.Key, "a number from %g to %g", t.Min, t.Max)
		}
		return v, nil
	case string:
		return t.parseText(raw)
	}
	return t.parseList(raw)
}

func (t Setting) parseText(raw json.RawMessage) (any, error) {
	var v string
	if json.Unmarshal(raw, &v) != nil || !validMachine(v) {
		return nil, events.Invalid(t.Key, "never, port:N (1 to 65535, not 22) or any")
	}
	return v, nil
}

// validMachine checks agents.this_machine, the one setting that is a text.
func validMachine(v string) bool {
	port, ok := strings.CutPrefix(v, "port:")
	if !ok {
		return v == "never" || v == "any"
	}
	var n int
	if json.Unmarshal([]byte(port), &n) != nil {
		return false
	}
	return n >= 1 && n <= 65535 && n != 22
}

func (t Setting) parseList(raw json.RawMessage) (any, error) {
	var v []string
	if json.Unmarshal(raw, &v) != nil || v == nil || len(v) > 1000 {
		return nil, events.Invalid(t.Key, "a list of texts")
	}
	for _, item := range v {
		if item == "" || len(item) > 1000 || (t.OneOf != nil && !slices.Contains(t.OneOf, item)) {
			return nil, events.Invalid(t.Key, "%q cannot be a member", clip(item, 100))
		}
	}
	return v, nil
}
