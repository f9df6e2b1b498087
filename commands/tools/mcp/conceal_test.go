package mcp

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSecretsAreHiddenBeforeTextIsCut: the part of one that a cut leaves is not
// known as one by who masks later.
func TestSecretsAreHiddenBeforeTextIsCut(t *testing.T) {
	secrets := map[string]string{"Authorization": "Bearer mcp-secret-token-777"}
	for n := range 80 {
		uri := "https://x.test/" + strings.Repeat("e", 2*maxText-60+n) + "mcp-secret-token-777"
		got := result(&mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{URI: uri}}}, secrets).Output
		if strings.Contains(got, "mcp-secr") {
			t.Fatalf("%d: %s", n, got[len(got)-60:])
		}
	}
	if got := conceal("Bearer mcp-secret-token-777 and mcp-secret-token-777, but short", map[string]string{"a": "Bearer mcp-secret-token-777", "b": "short"}); got != "*** and ***, but short" {
		t.Errorf("%q", got)
	}
}
