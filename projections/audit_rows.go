package projections

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"lembas/events"
)

// maxDetail bounds what a row says of a change, in bytes.
const maxDetail = 200

// account fills in an event of a person's stream.
func (r *AuditRow) account(p events.Payload) {
	switch p := p.(type) {
	case events.UserRegistered:
		r.Subject = p.User
		if p.Admin {
			r.Detail = "administrator"
		}
	case events.UserChanged:
		r.Subject, r.Detail = r.User, userDetail(p)
	case events.UserSignedIn:
		r.Session, r.Address = p.Session, p.Address
	case events.UserSignInFailed:
		r.Session, r.Address = p.Session, p.Address
	case events.SessionOpened: // not its hash: what is not here cannot leak from here
		r.Session, r.Address = p.Session, p.Address
	case events.SessionRevoked:
		r.Session, r.Detail = p.Session, p.Reason
	case events.TokenCreated: // not its name, which the person chose
		r.Subject, r.Detail = p.Token, p.Scope
	case events.TokenRevoked:
		r.Subject = p.Token
	case events.PushSubscribed:
		r.Subject, r.Session, r.Detail = p.Push, p.Session, detail(p.Host)
	case events.PushUnsubscribed:
		r.Subject, r.Detail = p.Push, p.Reason
	}
}

func userDetail(p events.UserChanged) string {
	var parts []string
	if p.Name != nil {
		parts = append(parts, "name")
	}
	if p.Admin != nil {
		parts = append(parts, fmt.Sprintf("administrator %s", onOff(*p.Admin)))
	}
	if p.Disabled != nil {
		parts = append(parts, fmt.Sprintf("account %s", onOff(!*p.Disabled)))
	}
	return strings.Join(parts, ", ")
}

// modelDetail says what a model may do: all of its state, because the event has
// no other.
func modelDetail(st events.ModelState) string {
	parts := []string{st.Title, onOff(st.Enabled), "tools " + onOff(st.Tools), "vision " + onOff(st.Vision)}
	for _, flag := range slices.Sorted(maps.Keys(st.Flags)) {
		parts = append(parts, flag+" "+onOff(st.Flags[flag]))
	}
	return strings.Trim(strings.Join(parts, ", "), ", ")
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// instance fills in an administrator's change.
func (r *AuditRow) instance(p events.Payload) {
	switch p := p.(type) {
	case events.ConnectionCreated:
		r.Subject, r.Detail = p.Connection, detail(p.State.Name+", "+onOff(p.State.Enabled))
	case events.ConnectionChanged:
		r.Subject, r.Detail = p.Connection, detail(p.State.Name+", "+onOff(p.State.Enabled))
	case events.ConnectionRemoved:
		r.Subject = p.Connection
	case events.ModelChanged:
		r.Subject, r.Detail = p.Model, detail(modelDetail(p.State))
	case events.SettingChanged:
		r.Subject, r.Detail = p.Key, detail(string(p.Value))
	case events.CustomAdded:
		r.Subject, r.Tool, r.Risk, r.Detail = p.Tool, p.State.Slug, p.State.Risk, onOff(p.State.Enabled)
	case events.CustomChanged:
		r.Subject, r.Tool, r.Risk, r.Detail = p.Tool, p.State.Slug, p.State.Risk, onOff(p.State.Enabled)
	case events.CustomRemoved:
		r.Subject = p.Tool
	case events.ServerAdded:
		r.Subject, r.Risk, r.Detail = p.Server, p.State.Risk, detail(p.State.Slug+", "+onOff(p.State.Enabled))
	case events.ServerChanged:
		r.Subject, r.Risk, r.Detail = p.Server, p.State.Risk, detail(p.State.Slug+", "+onOff(p.State.Enabled))
	case events.ServerListed:
		r.Subject, r.Detail = p.Server, fmt.Sprintf("%d tools", len(p.Tools))
		if p.Error != "" {
			r.Detail = "failed"
		}
	case events.ServerReviewed:
		r.Subject, r.Detail = p.Server, fmt.Sprintf("%d tools", len(p.Digests))
	case events.ServerRemoved:
		r.Subject = p.Server
	case events.SearchChanged:
		r.Detail = detail(p.State.Provider)
	case events.InstanceCreated:
		r.Detail = detail(p.Version)
	case events.LogRestored:
		r.Detail = fmt.Sprintf("at %d of epoch %s", p.At, detail(p.FromEpoch))
	}
}

// detail is at most maxDetail bytes of a text without control characters.
func detail(s string) string {
	s = strings.Trim(s, ", ")
	if len(s) > maxDetail {
		s = s[:maxDetail] + "…"
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || (c >= 0x7f && c < 0xa0) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, ""))
}

// chat fills in an event of a chat that was not erased.
func (r *AuditRow) chat(calls auditCalls, p events.Payload) error {
	switch p := p.(type) {
	case events.ChatModeChanged:
		r.Detail = detail(p.From + " → " + p.To)
	case events.ChatScopeChanged:
		r.Detail = scopeDetail(p.Scope)
	case events.ChatAllowAdded:
		r.Consent = p.Consent
		tools, err := calls.tools(p.Consent)
		r.Pattern, r.PatternHash = patternOf(p.Pattern, tools...)
		return err
	case events.ChatCreated:
		r.Detail = detail(p.Kind)
	case events.ChatForked:
		r.Subject = p.From
	case events.ToolStarted:
		return calls.fill(r, p.Reply, p.Round, p.Call)
	case events.ToolInterrupted:
		return calls.fill(r, p.Reply, p.Round, p.Call)
	case events.ToolFinished:
		r.Status, r.Bytes, r.MS, r.Exit, r.Output = p.Status, p.Bytes, p.MS, p.Exit, hashOf([]byte(p.Output))
		if p.Blob != nil {
			r.Output = p.Blob.Digest
		}
		return calls.fill(r, p.Reply, p.Round, p.Call)
	case events.ConsentRequested:
		return calls.requested(r, p)
	case events.ConsentAnswered:
		return calls.answered(r, p)
	case events.ConsentExpired:
		return calls.ended(r, p.Consent, AuditExpired)
	case events.ConsentWithdrawn:
		r.Detail = p.Reason
		return calls.ended(r, p.Consent, AuditWithdrawn)
	}
	return nil
}

func scopeDetail(scope map[string]bool) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(scope)) {
		parts = append(parts, key+" "+onOff(scope[key]))
	}
	if len(parts) == 0 {
		return "all tools"
	}
	return detail(strings.Join(parts, ", "))
}

// patternOf gives a pattern that is the name of one of the tools, else its hash:
// a command may say anything.
func patternOf(pattern string, tools ...string) (name, hash string) {
	switch {
	case pattern == "":
		return "", ""
	case slices.Contains(tools, pattern):
		return pattern, ""
	}
	return "", hashOf([]byte(pattern))
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// argumentsHash hashes arguments in the canonical form, so that spaces and the
// order of members do not count.
func argumentsHash(raw events.RawJSON) string {
	if len(raw) == 0 {
		return ""
	}
	v := jsontext.Value(slices.Clone(raw))
	if v.Canonicalize() != nil {
		return hashOf(raw)
	}
	return hashOf(v)
}
