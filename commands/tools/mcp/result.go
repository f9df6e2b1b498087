package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"lembas/commands/tools"
	"lembas/events"
)

const (
	maxImages = 8
	maxImage  = 5 << 20 // bytes
)

// result is what a server answered, as plain text and pictures. Where there is
// no text, the structured content stands for it.
func result(res *mcp.CallToolResult, secrets map[string]string) tools.Result {
	if res.NeedsInput() || res.InputRequests != nil {
		return tools.Failed("The server asks for more input before it goes on, which is not possible here.")
	}
	out := tools.Result{Status: events.ToolOK}
	var parts []string
	said := false
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			said = said || strings.TrimSpace(c.Text) != ""
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			if img, ok := picture(c.Data); ok && len(out.Images) < maxImages {
				out.Images = append(out.Images, img)
				continue
			}
			parts = append(parts, aside("image", conceal(c.MIMEType, secrets), len(c.Data)))
		case *mcp.AudioContent:
			parts = append(parts, aside("audio", conceal(c.MIMEType, secrets), len(c.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, "["+line(conceal("link: "+c.Name+" "+c.URI, secrets), 2*maxText)+"]")
		case *mcp.EmbeddedResource:
			text, ok := resource(c.Resource, secrets)
			said = said || ok
			parts = append(parts, text)
		default:
			parts = append(parts, "[content of a kind that is not shown]")
		}
	}
	if !said && res.StructuredContent != nil {
		parts = append(parts, structured(res.StructuredContent))
	}
	out.Output = strings.ToValidUTF8(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n"), "�")
	switch {
	case res.IsError:
		out.Status = events.ToolError
		if out.Output == "" {
			out.Output = "The tool failed and did not say why."
		}
	case out.Output == "" && len(out.Images) > 0:
		out.Output = fmt.Sprintf("The tool gave %d image(s).", len(out.Images))
	case out.Output == "":
		out.Output = "The tool finished without output."
	}
	return out
}

// picture takes what the bytes are, not what the server calls them.
func picture(data []byte) (tools.Image, bool) {
	typ := http.DetectContentType(data)
	if len(data) > maxImage || !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, typ) {
		return tools.Image{}, false
	}
	return tools.Image{Type: typ, Data: data}, true
}

func aside(what, typ string, n int) string {
	return "[" + line(fmt.Sprintf("%s %s, %d bytes, not shown", what, typ, n), maxText) + "]"
}

// resource is an embedded resource, and whether it has text.
func resource(r *mcp.ResourceContents, secrets map[string]string) (string, bool) {
	switch {
	case r == nil:
		return "[a resource without content]", false
	case r.Text != "":
		return "[" + line(conceal("resource: "+r.URI, secrets), 2*maxText) + "]\n" + r.Text, true
	}
	return aside(conceal("resource "+r.URI, secrets), conceal(r.MIMEType, secrets), len(r.Blob)), false
}

func structured(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "[structured content that cannot be shown]"
	}
	return strings.TrimSpace(b.String())
}
