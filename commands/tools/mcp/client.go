package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"lembas/commands/tools/guard"
	"lembas/events"
)

// Bounds.
const (
	MaxTools = 200      // of one server; what it lists beyond is not taken
	MaxBody  = 16 << 20 // bytes of one answer
	MaxList  = 2 << 20  // bytes of all tools of a server, as JSON: they are one event
	maxPages = 50
	listTime = 30 * time.Second
	// farewell is how long the end of a session may take, behind the back of who
	// called: the word that a call was cancelled, and the DELETE, which the SDK
	// gives 5 s of its own.
	farewell = 10 * time.Second
	// older is the protocol that begins with a handshake.
	older = "2025-11-25"
)

// Client lists and calls tools of MCP servers. Its fields are set once.
type Client struct {
	// HTTP gives the guarded client for a server, its headers included. It must
	// follow no redirect but 307 and 308. Guarded makes one.
	HTTP    func(st events.ServerState, secrets map[string]string) (*http.Client, error)
	Version string // of this program, for the server

	farewell time.Duration // 0 is the constant
}

// Guarded makes the HTTP field: every hop is checked by g, and a server's
// headers, secret or not, never leave the origin of its address. An
// administrator's own address may be a private one.
func Guarded(g *guard.Client) func(events.ServerState, map[string]string) (*http.Client, error) {
	return func(st events.ServerState, secrets map[string]string) (*http.Client, error) {
		header := http.Header{}
		for _, h := range st.Headers {
			name, value := http.CanonicalHeaderKey(h.Name), h.Value
			if h.Secret {
				value = secrets[name]
			}
			if value == "" {
				return nil, fmt.Errorf("the value of the header %s is missing; an administrator gives it again", name)
			}
			header.Set(name, value)
		}
		return g.HTTP(guard.HTTPOptions{URL: st.URL, Header: header, MaxBody: MaxBody, Trusted: true})
	}
}

// outcome is what the use of a session came to.
type outcome[T any] struct {
	value T
	err   error
}

// inSession opens a session, uses it and closes it. It ends with ctx, which must
// end once it returned; what is left to do then goes on behind it, for farewell
// at most. The watch says what went over the wire.
func inSession[T any](ctx context.Context, c *Client, st events.ServerState, secrets map[string]string, progress func(*mcp.ProgressNotificationParams),
	use func(context.Context, *mcp.ClientSession) (T, error)) (T, *watch, error) {
	var zero T
	base, err := c.HTTP(st, secrets)
	if err != nil {
		return zero, &watch{fault: err}, err
	}
	w := newWatch(base.Transport)
	context.AfterFunc(ctx, func() { time.AfterFunc(cmp.Or(c.farewell, farewell), w.end) })
	done := make(chan outcome[T], 1)
	go func() {
		defer base.CloseIdleConnections()
		session, err := c.connect(ctx, st, base, w, progress)
		if err != nil {
			done <- outcome[T]{err: err}
			return
		}
		value, err := use(ctx, session)
		cut := err != nil && ctx.Err() != nil
		done <- outcome[T]{value, err}
		if cut {
			w.awaitCancelled()
		}
		_ = session.Close() // a server may refuse to end a session
	}()
	select {
	case o := <-done:
		return o.value, w, o.err
	case <-ctx.Done():
	}
	select { // both at once: what arrived counts
	case o := <-done:
		return o.value, w, o.err
	default:
		return zero, w, ctx.Err()
	}
}

// connect shakes hands, first as the newest protocol does. A server that answers
// what it does not know with something that is no JSON-RPC breaks the SDK's
// connection before it can try the older way: then that is tried on its own.
func (c *Client) connect(ctx context.Context, st events.ServerState, base *http.Client, w *watch, progress func(*mcp.ProgressNotificationParams)) (*mcp.ClientSession, error) {
	client := *base
	client.Transport = w
	sdk := mcp.NewClient(&mcp.Implementation{Name: "lembas", Version: c.Version}, &mcp.ClientOptions{
		Logger:         slog.New(slog.DiscardHandler), // it would log what servers say
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	sdk.AddReceivingMiddleware(refuseRequests(progress))
	transport := func() mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: st.URL, HTTPClient: &client, MaxRetries: 2, DisableStandaloneSSE: true, MaxEventSize: MaxBody}
	}
	session, err := sdk.Connect(ctx, transport(), nil)
	if err == nil || ctx.Err() != nil || w.greeted() {
		return session, err
	}
	return sdk.Connect(ctx, transport(), &mcp.ClientSessionOptions{ProtocolVersion: older})
}

// refuseRequests lets nothing of a server's own requests through: no sampling,
// no elicitation, no roots. Of its notifications only progress is looked at.
func refuseRequests(progress func(*mcp.ProgressNotificationParams)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case "ping":
				return next(ctx, method, req)
			case "sampling/createMessage", "elicitation/create", "roots/list":
				return nil, errors.New("this client does not do that")
			case "notifications/progress":
				if p, ok := req.GetParams().(*mcp.ProgressNotificationParams); ok && p != nil && progress != nil {
					progress(p)
				}
			}
			return nil, nil
		}
	}
}

// List asks a server for its tools: all pages, MaxTools and MaxList at most,
// bounded and cleaned. A tool with nothing to call, or with a schema that cannot be offered,
// is left out. The error is what a person reads.
func (c *Client) List(ctx context.Context, st events.ServerState, secrets map[string]string) ([]events.ServerTool, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	found, w, err := inSession(ctx, c, st, secrets, nil, func(ctx context.Context, s *mcp.ClientSession) ([]events.ServerTool, error) {
		var out []events.ServerTool
		seen, size := map[string]bool{}, 0
		err := pages(ctx, s, func(t *mcp.Tool) bool {
			tool, ok := cleanTool(t)
			if !ok || seen[tool.Name] {
				return true
			}
			b, err := json.Marshal(tool)
			if size += len(b); err != nil || size > MaxList {
				return false
			}
			seen[tool.Name] = true
			out = append(out, tool)
			return len(out) < MaxTools
		})
		return out, err
	})
	if err != nil {
		return nil, errors.New(explain(err, w, st, secrets))
	}
	return found, nil
}

// pages gives the server's tools to fn until it has enough. A cursor that comes
// back ends the list.
func pages(ctx context.Context, s *mcp.ClientSession, fn func(*mcp.Tool) bool) error {
	cursor, seen := "", map[string]bool{}
	for range maxPages {
		res, err := s.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return err
		}
		for _, t := range res.Tools {
			if !fn(t) {
				return nil
			}
		}
		seen[cursor] = true
		cursor = res.NextCursor
		if cursor == "" || seen[cursor] {
			return nil
		}
	}
	return nil
}
