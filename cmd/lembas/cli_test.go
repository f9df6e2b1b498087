package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the command line by script. Commands of ours:
//
//	lembas [-N] ARG…        exit status N (0 when left out); a failure is one
//	                        line on standard error that begins with "lembas: "
//	serve DIR [ARG…]        a server, until the script ends; sets URL
//	kill9 · sigterm · sigint    ends that server; the last two expect status 0
//	person EMAIL [admin]    an account and its token; sets TOKEN
//	chat TEXT               a chat with the demo, answered; sets CHAT and REPLY
//	get PATH TOKEN STATUS   what the server answers to a token
//	only COUNT REGEX        standard output has COUNT lines and each matches
//	flip GLOB TEXT          one bit of TEXT, where the first of the files has it
//	mode FILE 0600          a file's permissions
//	env0 NAME               sets NAME to the first line of standard output
func TestScripts(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv(asMain, "1")
			e.Setenv("SELF", self)
			e.Values["world"] = &scriptWorld{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"lembas": scriptLembas, "serve": scriptServe, "kill9": scriptKill, "sigterm": scriptStop, "sigint": scriptStop,
			"person": scriptPerson, "chat": scriptChat, "only": scriptOnly, "flip": scriptFlip, "mode": scriptMode, "env0": scriptEnv, "get": scriptGet,
		},
	})
}

// scripted is a script as a test, for the harness. Its methods run in the
// script's goroutine.
type scripted struct {
	testing.TB
	ts *testscript.TestScript
}

func (s scripted) Helper()                   {}
func (s scripted) Failed() bool              { return false }
func (s scripted) Logf(f string, a ...any)   { s.ts.Logf(f, a...) }
func (s scripted) Fatal(a ...any)            { s.ts.Fatalf("%v", a) }
func (s scripted) Fatalf(f string, a ...any) { s.ts.Fatalf(f, a...) }
func (s scripted) Errorf(f string, a ...any) { s.ts.Fatalf(f, a...) }
func (s scripted) Cleanup(f func())          { s.ts.Defer(f) }

// scriptWorld is what a script has set up.
type scriptWorld struct {
	server *server
	person *client
}

func worldOf(ts *testscript.TestScript) *scriptWorld { return ts.Value("world").(*scriptWorld) }

func scriptLembas(ts *testscript.TestScript, neg bool, args []string) {
	want := 0
	if len(args) > 0 && len(args[0]) == 2 && args[0][0] == '-' && args[0] != "-h" {
		want = int(args[0][1] - '0')
		args = args[1:]
	}
	err := ts.Exec(ts.Getenv("SELF"), args...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if neg || code != want {
		ts.Fatalf("lembas %q: exit status %d, want %d", args, code, want)
	}
	errs := ts.ReadFile("stderr")
	if want != 0 && (!strings.HasPrefix(errs, "lembas: ") || strings.Count(errs, "\n") != 1 || len(errs) < 20) {
		ts.Fatalf("lembas %q: not one line that says why:\n%s", args, errs)
	}
}

func scriptServe(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	s := serve(scripted{ts: ts}, ts.MkAbs(args[0]), args[1:]...)
	if !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		ts.Fatalf("listening on %q", s.url)
	}
	w.server = s
	ts.Setenv("URL", s.url)
}

func scriptKill(ts *testscript.TestScript, _ bool, _ []string) { worldOf(ts).server.kill() }

func scriptStop(ts *testscript.TestScript, _ bool, _ []string) {
	if err := worldOf(ts).server.stop(); err != nil {
		ts.Fatalf("the server ended with %v", err)
	}
}

func scriptPerson(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	w.person = w.server.person(args[0], len(args) > 1)
	ts.Setenv("TOKEN", w.person.token)
}

func scriptChat(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	made := w.person.want(201, "POST", "/api/v1/chats", map[string]any{"model": "demo-chat", "text": args[0]})
	w.person.until(text(made["chat_id"]), "chat.renamed") // by the model, after the reply's end
	ts.Setenv("CHAT", text(made["chat_id"]))
	ts.Setenv("REPLY", text(made["reply_id"]))
}

func scriptGet(ts *testscript.TestScript, _ bool, args []string) {
	c := &client{t: scripted{ts: ts}, url: ts.Getenv("URL"), token: args[1], http: &http.Client{}}
	if got := c.do("GET", args[0], nil); strconv.Itoa(got.status) != args[2] {
		ts.Fatalf("GET %s: %d %s", args[0], got.status, got.body)
	}
}

// scriptOnly looks at what the last command printed.
func scriptOnly(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	want := regexp.MustCompile(args[1])
	lines := 0
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		if lines++; !want.MatchString(strings.TrimSuffix(line, "\n")) {
			ts.Fatalf("line %d does not match %s: %s", lines, want, line)
		}
	}
	if lines != n {
		ts.Fatalf("%d lines, want %d", lines, n)
	}
}

func scriptFlip(ts *testscript.TestScript, _ bool, args []string) {
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, name := range files {
		b, err := os.ReadFile(name)
		ts.Check(err)
		if at := bytes.Index(b, []byte(args[1])); at >= 0 {
			b[at] ^= 1
			ts.Check(os.WriteFile(name, b, 0o600))
			return
		}
	}
	ts.Fatalf("%q is in none of %d files", args[1], len(files))
}

func scriptMode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Lstat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%#o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}

func scriptEnv(ts *testscript.TestScript, _ bool, args []string) {
	line, _, _ := strings.Cut(ts.ReadFile("stdout"), "\n")
	ts.Setenv(args[0], line)
}
