package demo

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ToolsPath is where the MCP server is, on the host of the endpoint.
const ToolsPath = "/demo-tools"

// Bounds of what the tools do.
const (
	maxCount = 20
	maxLines = 5000
)

type ravenInput struct {
	To   string `json:"to" jsonschema:"who gets the message"`
	Text string `json:"text" jsonschema:"the message"`
}

type weatherInput struct {
	Place string `json:"place" jsonschema:"where"`
}

type countInput struct {
	N int `json:"n" jsonschema:"1 to 20"`
}

type sagaInput struct {
	Lines int `json:"lines,omitempty" jsonschema:"how many lines, 1 to 5000; 100 when left out"`
}

type nothing struct{}

// toolServer is an MCP server over streamable HTTP. Nothing that its tools do
// leaves the process.
func toolServer(opts Options) http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "lembas-demo", Title: "Demo tools", Version: "1"}, nil)
	var ravens atomic.Int64
	add(s, "send_raven", "Send a raven", "Sends a message by raven. The demo counts the raven and forgets it: nothing leaves this machine.",
		func(_ context.Context, _ *mcp.CallToolRequest, in ravenInput) *mcp.CallToolResult {
			return say(fmt.Sprintf("Raven %d flies to %s with %d characters.", ravens.Add(1), clip(in.To, 100), len([]rune(in.Text))))
		})
	add(s, "weather", "Weather", "Tells the weather of a place. It is made up, and the same every day.",
		func(_ context.Context, _ *mcp.CallToolRequest, in weatherInput) *mcp.CallToolResult {
			return say(weatherOf(in.Place))
		})
	add(s, "count_to", "Count", "Counts to a number, one step after the other, and says where it is.",
		func(ctx context.Context, r *mcp.CallToolRequest, in countInput) *mcp.CallToolResult {
			return count(ctx, r, in.N, opts.pace(700*time.Millisecond))
		})
	add(s, "saga", "Tell a saga", "Tells a saga of many lines, to see what becomes of a long output.",
		func(_ context.Context, _ *mcp.CallToolRequest, in sagaInput) *mcp.CallToolResult {
			return say(saga(in.Lines))
		})
	add(s, "picture", "Draw a picture", "Draws a ring.",
		func(context.Context, *mcp.CallToolRequest, nothing) *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "A ring, drawn by the demo."}, &mcp.ImageContent{Data: ring(), MIMEType: "image/png"}}}
		})
	add(s, "cross_bridge", "Cross the bridge", "Crosses a bridge that is broken: this tool always fails.",
		func(context.Context, *mcp.CallToolRequest, nothing) *mcp.CallToolResult {
			return failed("The bridge is broken and nobody can cross. Take another way.")
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{SessionTimeout: 5 * time.Minute, MaxRequestBodyBytes: 1 << 20})
}

// add adds a tool whose arguments the SDK checks against their type.
func add[In any](s *mcp.Server, name, title, description string, run func(context.Context, *mcp.CallToolRequest, In) *mcp.CallToolResult) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Title: title, Description: description},
		func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			return run(ctx, r, in), nil, nil
		})
}

func say(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func failed(s string) *mcp.CallToolResult {
	out := say(s)
	out.IsError = true
	return out
}

func weatherOf(place string) string {
	sky := []string{"clear", "misty", "rain", "snow on the heights", "a shadow in the east"}
	return fmt.Sprintf("%s: %s, %d °C.", clip(place, 100), sky[len(place)%len(sky)], 5+len(place)%17)
}

// count says where it is at each step, and ends with ctx.
func count(ctx context.Context, r *mcp.CallToolRequest, n int, step time.Duration) *mcp.CallToolResult {
	if n < 1 || n > maxCount {
		return failed(fmt.Sprintf("The demo counts from 1 to %d at most.", maxCount))
	}
	var said []string
	for i := 1; i <= n; i++ {
		t := time.NewTimer(step)
		select {
		case <-ctx.Done():
			t.Stop()
			return failed("Counting was stopped at " + fmt.Sprint(i-1) + ".")
		case <-t.C:
		}
		said = append(said, fmt.Sprint(i))
		if token := r.Params.GetProgressToken(); token != nil {
			// Who does not listen any more misses nothing.
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: "Counting", Progress: float64(i), Total: float64(n)})
		}
	}
	return say(strings.Join(said, ", ") + ".")
}

func saga(lines int) string {
	if lines == 0 {
		lines = 100
	}
	var b strings.Builder
	for i := 1; i <= min(max(lines, 1), maxLines); i++ {
		fmt.Fprintf(&b, "%4d  And they went on, for there was no other way.\n", i)
	}
	return b.String()
}

// ring is a picture of 160 by 160 dots.
func ring() []byte {
	const size, outer, inner = 160, 70 * 70, 52 * 52
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			dx, dy := x-size/2, y-size/2
			if d := dx*dx + dy*dy; d <= outer && d >= inner {
				img.Set(x, y, color.RGBA{R: 222, G: uint8(150 + y/3), B: 40, A: 255})
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic("demo: " + err.Error()) // a buffer takes everything
	}
	return b.Bytes()
}
