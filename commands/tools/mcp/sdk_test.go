package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"lembas/commands/tools"
	"lembas/events"
)

// tinyPNG is a picture of one dot.
var tinyPNG, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

type sdkServer struct {
	*mcp.Server
	url     string
	ended   chan error // what ended the tool "hang"
	started chan struct{}
}

// newSDKServer is the SDK's own server with a tool of each kind.
func newSDKServer(t *testing.T, opts *mcp.StreamableHTTPOptions, pageSize int) *sdkServer {
	t.Helper()
	s := &sdkServer{Server: mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, &mcp.ServerOptions{PageSize: pageSize}),
		ended: make(chan error, 1), started: make(chan struct{}, 1)}
	add := func(name string, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Title: "T " + name, Description: "D " + name, InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)}, h)
	}
	add("add", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say("got " + string(r.Params.Arguments)), nil
	})
	add("picture", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: tinyPNG, MIMEType: "image/png"}}}, nil
	})
	add("shape", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: map[string]any{"a": "<b>", "n": 3}}, nil
	})
	add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such city"}}}, nil
	})
	add("steps", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: fmt.Sprintf("step %d", i), Progress: float64(i), Total: 3})
		}
		return say("done"), nil
	})
	add("hang", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.started <- struct{}{}
		<-ctx.Done()
		s.ended <- ctx.Err()
		return nil, ctx.Err()
	})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server }, opts))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

func say(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// ways are how a server may answer.
var ways = map[string]*mcp.StreamableHTTPOptions{
	"event stream": {},
	"JSON":         {JSONResponse: true},
	"stateless":    {Stateless: true},
}

func TestTheSDKsOwnServer(t *testing.T) {
	for way, opts := range ways {
		t.Run(way, func(t *testing.T) {
			s := newSDKServer(t, opts, 2)
			st := at(s.url)
			found := names(list(t, s.url))
			slices.Sort(found)
			if !slices.Equal(found, []string{"add", "fail", "hang", "picture", "shape", "steps"}) {
				t.Errorf("three pages gave %q", found)
			}
			wantOK(t, run(t, st, "add", ` {"x": 9007199254740993} `), "9007199254740993")
			wantOK(t, run(t, st, "shape", ``), `{"a":"<b>","n":3}`)
			want(t, run(t, st, "fail", `{}`), events.ToolError, "no such city")
			want(t, run(t, st, "none", `{}`), events.ToolError, "The server answered")
			r := run(t, st, "picture", `{}`)
			if wantOK(t, r); len(r.Images) != 1 || r.Images[0].Type != "image/png" || !slices.Equal(r.Images[0].Data, tinyPNG) {
				t.Errorf("images %v", r.Images)
			}
		})
	}
}

func TestWhatIsListedOfATool(t *testing.T) {
	s := newSDKServer(t, nil, 0)
	found := list(t, s.url)
	i := slices.IndexFunc(found, func(t events.ServerTool) bool { return t.Name == "add" })
	got := found[i]
	if got.Title != "T add" || got.Description != "D add" || string(got.Schema) != `{"properties":{"x":{"type":"integer"}},"type":"object"}` || got.Digest != digest(got) {
		t.Errorf("listed as %+v", got)
	}
}

func TestProgressIsTold(t *testing.T) {
	s := newSDKServer(t, nil, 0)
	var mu sync.Mutex
	var told []string
	r := one(t, client(), at(s.url), "steps").Run(t.Context(), tools.Call{ID: "c1", Progress: func(l string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, l)
	}})
	wantOK(t, r, "done")
	mu.Lock()
	defer mu.Unlock()
	steps := []string{"step 0 (0 of 3)", "step 1 (1 of 3)", "step 2 (2 of 3)"} // those that come with the answer are dropped
	if len(told) > 3 || !slices.Equal(told, steps[:len(told)]) {
		t.Errorf("told %q", told)
	}
}

// TestAStoppedCallTellsTheServer: the tool's own context ends, which it does
// only when the server was sent notifications/cancelled.
func TestAStoppedCallTellsTheServer(t *testing.T) {
	for _, way := range []string{"event stream", "JSON"} {
		t.Run(way, func(t *testing.T) {
			s := newSDKServer(t, ways[way], 0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan tools.Result, 1)
			tool := one(t, client(), at(s.url), "hang")
			go func() { done <- tool.Run(ctx, tools.Call{ID: "c1"}) }()
			<-s.started
			cancel()
			want(t, <-done, events.ToolError, "stopped", "not known")
			if err := <-s.ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the tool ended with %v", err)
			}
		})
	}
}

func TestACallOverItsTime(t *testing.T) {
	s := newSDKServer(t, nil, 0)
	st := at(s.url)
	st.Timeout = 1
	want(t, run(t, st, "hang", `{}`), events.ToolError, "did not answer in time", "not known")
	<-s.ended
}

// TestAServerThatForgetsItsSessions: each call has a session of its own, so that
// nothing is lost when a server forgets the others.
func TestAServerThatForgetsItsSessions(t *testing.T) {
	s := newSDKServer(t, nil, 0)
	wantOK(t, run(t, at(s.url), "add", `{"x":1}`), `got {"x":1}`)
	for session := range s.Sessions() {
		_ = session.Close()
	}
	wantOK(t, run(t, at(s.url), "add", `{"x":2}`), `got {"x":2}`)
}

func TestArgumentsThatAreNoObject(t *testing.T) {
	s := newSDKServer(t, nil, 0)
	for _, args := range []string{`[1]`, `"x"`, `{"a":`, `{} {}`, `null`} {
		want(t, run(t, at(s.url), "add", args), events.ToolError, "one JSON object")
	}
	wantOK(t, run(t, at(s.url), "add", ``), "got {}")
}

// TestAHeaderMadeOfAnArgument: servers of the newest protocol may want an
// argument in a header, too, which the SDK knows from the list only.
func TestAHeaderMadeOfAnArgument(t *testing.T) {
	s := newSDKServer(t, &mcp.StreamableHTTPOptions{Stateless: true}, 1)
	s.AddTool(&mcp.Tool{Name: "zone", InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return say("in " + r.Extra.Header.Get("Mcp-Param-Region")), nil
		})
	found := list(t, s.url)
	i := slices.IndexFunc(found, func(t events.ServerTool) bool { return t.Name == "zone" })
	if i < 0 || !strings.Contains(string(found[i].Schema), "x-mcp-header") {
		t.Fatalf("listed %q", names(found))
	}
	offered := client().Tools(Server{State: at(s.url), Tools: found[i : i+1]}, nil, free)
	wantOK(t, offered[0].Run(t.Context(), tools.Call{ID: "c1", Arguments: json.RawMessage(`{"region":"eu"}`)}), "in eu")
}
