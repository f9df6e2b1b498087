//go:build npm

package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"lembas/commands/tools"
	"lembas/events"
)

// everything starts @modelcontextprotocol/server-everything, a server that is
// not ours, and gives its address.
func everything(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("LEMBAS_MCP_EVERYTHING")
	if dir == "" {
		t.Fatal("LEMBAS_MCP_EVERYTHING must name the directory where @modelcontextprotocol/server-everything is installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", filepath.Join(dir, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "streamableHttp")
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port), "LEMBAS_TEST_MARK=seen")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listening on port") {
			go func() { // its pipe must not fill
				for lines.Scan() {
				}
			}()
			return fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
		}
	}
	t.Fatal("the server did not start")
	return ""
}

// everythingCalls are all tools that it shows to a client that neither answers
// questions nor samples, with arguments and what is true of the answer.
var everythingCalls = map[string]struct {
	args   string
	status string
	says   []string
	images []string
}{
	"echo":                           {args: `{"message":"crumbs & <b>1</b>"}`, says: []string{"Echo: crumbs & <b>1</b>"}},
	"get-sum":                        {args: `{"a":19,"b":23}`, says: []string{"The sum of 19 and 23 is 42."}},
	"get-env":                        {args: `{}`, says: []string{`"LEMBAS_TEST_MARK": "seen"`}},
	"get-annotated-message":          {args: `{"messageType":"error","includeImage":true}`, says: []string{"Error: Operation failed"}, images: []string{"image/png"}},
	"get-resource-links":             {args: `{"count":2}`, says: []string{"Here are 2 resource links", "[link: Blob Resource 1 demo://", "[link: Text Resource 2 demo://"}},
	"get-resource-reference":         {args: `{"resourceType":"Text","resourceId":3}`, says: []string{"Returning resource reference for Resource 3", "[resource: demo://resource/dynamic/text/3]\nResource 3: "}},
	"get-structured-content":         {args: `{"location":"Chicago"}`, says: []string{`"temperature":36`}},
	"get-tiny-image":                 {args: `{}`, says: []string{"the MCP logo"}, images: []string{"image/png"}},
	"gzip-file-as-resource":          {args: `{"name":"a.gz","data":"data:text/plain,hello","outputType":"resource"}`, says: []string{"[resource demo://", "application/gzip", "bytes, not shown]"}},
	"toggle-simulated-logging":       {args: `{}`, says: []string{"Started simulated, random-leveled logging"}},
	"toggle-subscriber-updates":      {args: `{}`, says: []string{"Started simulated resource updated notifications"}},
	"trigger-long-running-operation": {args: `{"duration":0.3,"steps":3}`, says: []string{"Long running operation completed. Duration: 0.3 seconds, Steps: 3."}},
	// It wants to be run as a task, which no client of one answer can.
	"simulate-research-query": {args: `{"topic":"bread"}`, status: events.ToolError, says: []string{"task"}},
}

func TestEverythingIsListedAndCalled(t *testing.T) {
	st := at(everything(t))
	found := list(t, st.URL)
	for _, tool := range found {
		if !json.Valid(tool.Schema) || len(tool.Digest) != 64 || tool.Description == "" || tool.Title == "" {
			t.Errorf("listed as %+v", tool)
		}
		if _, ok := everythingCalls[tool.Name]; !ok {
			t.Errorf("%s is listed and not called here", tool.Name)
		}
	}
	for name, c := range everythingCalls {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(names(found), name) {
				t.Fatal("not listed")
			}
			if c.status == "" {
				c.status = events.ToolOK
			}
			r := run(t, st, name, c.args)
			want(t, r, c.status, c.says...)
			var types []string
			for _, i := range r.Images {
				types = append(types, i.Type)
			}
			if !slices.Equal(types, c.images) {
				t.Errorf("images %v, want %v", types, c.images)
			}
		})
	}
}

func TestEverythingTellsProgress(t *testing.T) {
	st := at(everything(t))
	var mu sync.Mutex
	var told []string
	r := one(t, client(), st, "trigger-long-running-operation").Run(t.Context(), tools.Call{ID: "c1", Arguments: json.RawMessage(`{"duration":0.3,"steps":3}`),
		Progress: func(s string) { mu.Lock(); told = append(told, s); mu.Unlock() }})
	wantOK(t, r, "completed")
	mu.Lock()
	defer mu.Unlock()
	steps := []string{"(1 of 3)", "(2 of 3)", "(3 of 3)"} // the last ones may come with the answer and are dropped
	if len(told) == 0 || len(told) > 3 || !slices.Equal(told, steps[:len(told)]) {
		t.Errorf("told %q", told)
	}
}

func TestEverythingRefusesWrongArguments(t *testing.T) {
	st := at(everything(t))
	want(t, run(t, st, "get-sum", `{"a":"x"}`), events.ToolError, "number")
	want(t, run(t, st, "no-such-tool", `{}`), events.ToolError, "no-such-tool")
}
