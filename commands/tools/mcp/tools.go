package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"lembas/commands/tools"
	"lembas/events"
)

const (
	maxProgress     = 500 // lines of one call
	maxProgressLine = 300 // characters
	callTime        = 60 * time.Second
)

// Server is an MCP server with the tools that it listed last.
type Server struct {
	State events.ServerState
	Tools []events.ServerTool
	// Held says whether a tool waits for a look of an administrator; nil is no.
	Held func(events.ServerTool) bool
}

// Tools gives what of a server can be offered: neither off nor held. taken says
// which offered names belong to others, the built-ins among them. The server's
// guidance is with the first tool only.
func (c *Client) Tools(srv Server, secrets map[string]string, taken func(string) bool) []tools.Tool {
	names := offeredNames(srv.State.Slug, srv.Tools, taken)
	var out []tools.Tool
	for _, t := range srv.Tools {
		name, ok := names[t.Name]
		if !ok || !srv.State.Enabled || slices.Contains(srv.State.Off, t.Name) || srv.Held != nil && srv.Held(t) {
			continue
		}
		timeout := cmp.Or(time.Duration(srv.State.Timeout)*time.Second, callTime)
		spec := tools.Spec{Name: name, Description: cmp.Or(t.Description, t.Title, t.Name), Schema: t.Schema, Risk: srv.State.Risk, Gate: "mcp",
			Scope: "mcp:" + srv.State.Slug, Label: line(srv.State.Name+": "+cmp.Or(t.Title, t.Name), 2*maxTitle), Icon: "plug", Timeout: timeout}
		if len(out) == 0 {
			spec.Guidance = srv.State.Guidance
		}
		out = append(out, tools.Tool{Spec: spec, Run: func(ctx context.Context, call tools.Call) tools.Result {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			return c.run(ctx, srv.State, secrets, t, call)
		}})
	}
	return out
}

// run makes one call, in a second session where the first had expired before
// the call could run.
func (c *Client) run(ctx context.Context, st events.ServerState, secrets map[string]string, t events.ServerTool, call tools.Call) tools.Result {
	args, ok := object(call.Arguments)
	if !ok {
		return tools.Failed("The arguments must be one JSON object.")
	}
	told := newLines(call, secrets)
	defer told.end()
	for try := 1; ; try++ {
		res, w, err := inSession(ctx, c, st, secrets, told.take, func(ctx context.Context, s *mcp.ClientSession) (*mcp.CallToolResult, error) {
			if bytes.Contains(t.Schema, []byte(`"x-mcp-header"`)) { // the SDK knows the headers only from a list
				if err := pages(ctx, s, func(found *mcp.Tool) bool { return found.Name != t.Name }); err != nil {
					return nil, err
				}
			}
			params := &mcp.CallToolParams{Name: t.Name, Arguments: args}
			params.SetProgressToken(call.ID)
			return s.CallTool(ctx, params)
		})
		switch {
		case err == nil:
			return result(res, secrets)
		case try == 1 && ctx.Err() == nil && w.expired():
			continue
		}
		return tools.Failed(explain(err, w, st, secrets))
	}
}

func object(args json.RawMessage) (json.RawMessage, bool) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 {
		return json.RawMessage("{}"), true
	}
	return args, args[0] == '{' && json.Valid(args)
}

// lines makes progress of one call into lines for who watches. The SDK tells of
// it behind the call's back: a line can come after the answer, and is dropped.
type lines struct {
	call    tools.Call
	secrets map[string]string
	mu      sync.Mutex
	left    int
}

func newLines(call tools.Call, secrets map[string]string) *lines {
	return &lines{call: call, secrets: secrets, left: maxProgress}
}

func (l *lines) take(p *mcp.ProgressNotificationParams) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.ProgressToken != l.call.ID || l.left <= 0 || l.call.Progress == nil {
		return
	}
	l.left--
	amount := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		amount += fmt.Sprintf(" of %g", p.Total)
	}
	l.call.Progress(strings.TrimSpace(line(conceal(p.Message, l.secrets), maxProgressLine) + " (" + amount + ")"))
}

func (l *lines) end() {
	l.mu.Lock()
	l.left = 0
	l.mu.Unlock()
}

// explain says in words what went wrong. It names no address: there may be a key
// in it.
func explain(err error, w *watch, st events.ServerState, secrets map[string]string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	hide := func(s string) string { return line(conceal(strings.ReplaceAll(s, st.URL, "the server"), secrets), 500) }
	var rpc *jsonrpc.Error
	isRPC := errors.As(err, &rpc) && rpc.Code != codeRejected && rpc.Code != codeClosing
	switch {
	case errors.Is(err, context.Canceled):
		return "The call was stopped." + unknown(w)
	case errors.Is(err, context.DeadlineExceeded):
		return "The server did not answer in time." + unknown(w)
	case w.large:
		return fmt.Sprintf("The server's answer is larger than %d MB and was not read.", MaxBody>>20)
	case w.fault != nil:
		return "The server could not be asked: " + hide(w.fault.Error()) + unknown(w)
	case isRPC && w.status != 0:
		return fmt.Sprintf("The server answered with status %d: %s", w.status, hide(rpc.Message))
	case isRPC:
		return "The server answered with an error: " + hide(rpc.Message)
	case w.status == 401 || w.status == 403:
		return fmt.Sprintf("The server answered with status %d: it does not accept who asks. An administrator checks its headers.", w.status)
	case w.status != 0:
		return fmt.Sprintf("The server answered with status %d.", w.status) + unknown(w)
	}
	return "The server's answer could not be read: " + hide(err.Error()) + unknown(w)
}

// Codes of errors that the SDK makes itself.
const (
	codeClosing  = -32004
	codeRejected = -32005
)

// unknown warns of a call that may have run.
func unknown(w *watch) string {
	if w.called && (w.answered < 300 || w.answered >= 500) { // 0 is no answer
		return " Whether the tool ran is not known."
	}
	return ""
}

// conceal hides a server's secrets in what it says, before anything is cut: the
// part of one that is left would no longer be known as one.
func conceal(s string, secrets map[string]string) string {
	for _, value := range secrets {
		_, token, _ := strings.Cut(value, " ")
		for _, secret := range []string{value, token} {
			if len(secret) >= minSecret {
				s = strings.ReplaceAll(s, secret, "***")
			}
		}
	}
	return s
}

// minSecret is the shortest secret that is looked for, in bytes.
const minSecret = 8
