package events

// ClaimStream is a stream that at most one thing may own: its first event is
// expected at version 0, or after a release. Names are hashes where the thing
// is personal ("claim/email/HMAC"), because stream names are keys on disk.
func ClaimStream(name string) string { return "claim/" + name }

// ClaimMade takes a name; ClaimReleased gives it back.
type ClaimMade struct {
	Owner string `json:"owner"`
}

// ClaimReleased gives a name back.
type ClaimReleased struct{}

// InstanceCreated is the first event of a log: which version made it.
type InstanceCreated struct {
	Version string `json:"version"`
}

// SettingChanged is an administrator's change of one instance setting.
type SettingChanged struct {
	Key   string  `json:"key"`
	Value RawJSON `json:"value"` // null is the default again
}

// LogRestored says that the log was restored from a copy and got a new epoch.
type LogRestored struct {
	FromEpoch string   `json:"from_epoch"`
	At        Position `json:"at"`
}

func (ClaimMade) EventType() string       { return "claim.made" }
func (ClaimReleased) EventType() string   { return "claim.released" }
func (InstanceCreated) EventType() string { return "instance.created" }
func (SettingChanged) EventType() string  { return "setting.changed" }
func (LogRestored) EventType() string     { return "log.restored" }

func instanceTypes() []Info {
	return []Info{
		define[ClaimMade](1, permits), define[ClaimReleased](1, permits),
		define[InstanceCreated](1), define[SettingChanged](1, permits), define[LogRestored](1),
	}
}
