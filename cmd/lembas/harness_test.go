package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lembas/events"
)

// asMain makes the test binary the product: what is tested is the real process.
const asMain = "LEMBAS_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) == "1" {
		main()
		return
	}
	if dir := os.Getenv(asMinimal); dir != "" {
		minimal(dir)
	}
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lembas makes a command of the product with an environment of its own.
func lembas(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Env = append(os.Environ(), asMain+"=1", "LEMBAS_SECRET_KEY=", "LEMBAS_DATA=", "LEMBAS_LISTEN=", "LEMBAS_BASE_URL=")
	return c
}

// cli runs a subcommand and gives what it printed and its exit status.
func cli(t testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := lembas(ctx, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	c.Stdin = strings.NewReader(stdin)
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		must(t, err)
	}
	return out.String(), errs.String(), code
}

// mustCLI is cli for what has to work.
func mustCLI(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, errs, code := cli(t, stdin, args...)
	if code != 0 {
		t.Fatalf("lembas %s: exit %d\n%s", strings.Join(args, " "), code, errs)
	}
	return out
}

// server is a running lembas serve.
type server struct {
	t    testing.TB
	dir  string
	args []string
	env  []string // beside lembas's
	url  string
	cmd  *exec.Cmd
	mu   sync.Mutex // guards log
	log  bytes.Buffer
	gone chan struct{} // closed when the process has ended
	err  error         // how; read after gone
}

// serve starts the product on a data directory and waits for its one line.
func serve(t testing.TB, dir string, args ...string) *server {
	t.Helper()
	return serveWith(t, nil, dir, args...)
}

// serveWith is serve with variables.
func serveWith(t testing.TB, env []string, dir string, args ...string) *server {
	t.Helper()
	s := &server{t: t, dir: dir, args: args, env: env}
	s.start()
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			s.mu.Lock()
			t.Logf("the server's log:\n%s", s.log.String())
			s.mu.Unlock()
		}
	})
	return s
}

func (s *server) start() {
	s.t.Helper()
	listen := "127.0.0.1:0"
	if s.url != "" { // a restart keeps its address, as a person's browser needs
		listen = strings.TrimPrefix(s.url, "http://")
	}
	s.cmd = lembas(context.Background(), append([]string{"serve", "--listen", listen, "--data", s.dir}, s.args...)...)
	s.cmd.Env = append(s.cmd.Env, s.env...)
	out, err := s.cmd.StdoutPipe()
	must(s.t, err)
	s.cmd.Stderr = logTo{s}
	must(s.t, s.cmd.Start())
	s.gone = make(chan struct{})
	line := make(chan string, 1)
	go func() {
		r := bufio.NewReader(out)
		first, _ := r.ReadString('\n')
		line <- first
		_, _ = io.Copy(io.Discard, r)
		s.err = s.cmd.Wait()
		close(s.gone)
	}()
	select {
	case first := <-line:
		url, ok := strings.CutPrefix(strings.TrimSpace(first), "lembas: listening on ")
		if !ok {
			<-s.gone
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("the server said %q and ended with %v\n%s", first, s.err, s.log.String())
		}
		s.url = url
	case <-time.After(time.Minute):
		s.t.Fatal("the server did not start within a minute")
	}
}

// logTo keeps the server's standard error.
type logTo struct{ s *server }

func (l logTo) Write(b []byte) (int, error) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.s.log.Write(b)
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.gone
}

// stop asks the server to go down and gives its exit status.
func (s *server) stop() error {
	must(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.gone:
		return s.err
	case <-time.After(15 * time.Second):
		s.t.Fatal("the server did not end within 15 seconds")
		return nil
	}
}

// client is a person at the API.
type client struct {
	t     testing.TB
	url   string
	token string
	http  *http.Client
}

// person makes an account (an administrator, when admin) and its token.
func (s *server) person(email string, admin bool) *client {
	s.t.Helper()
	if admin {
		mustCLI(s.t, "correct horse battery\n", "create-admin", "--data", s.dir, "--email", email, "--password-stdin")
	} else {
		c := &client{t: s.t, url: s.url, http: &http.Client{}}
		res := c.do("POST", "/auth/register", map[string]any{"email": email, "password": "correct horse battery"})
		if res.status/100 != 2 {
			s.t.Fatalf("registering %s: %d %s", email, res.status, res.body)
		}
	}
	scope := "write"
	if admin {
		scope = "admin"
	}
	token := strings.TrimSpace(mustCLI(s.t, "", "token", "create", "--data", s.dir, "--user", email, "--scope", scope))
	return &client{t: s.t, url: s.url, token: token, http: &http.Client{}}
}

// raw is a body that is sent as it stands.
type raw string

type answer struct {
	status int
	header http.Header
	body   []byte
}

// json decodes the body.
func (a answer) json(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
	return v
}

func (c *client) try(method, path string, body any, headers ...string) (answer, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case raw:
		r = strings.NewReader(string(b))
	default:
		text, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		r = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, c.url+path, r)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Origin", c.url)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, b}, err
}

func (c *client) do(method, path string, body any, headers ...string) answer {
	c.t.Helper()
	a, err := c.try(method, path, body, headers...)
	must(c.t, err)
	return a
}

// want is do for an expected status.
func (c *client) want(status int, method, path string, body any, headers ...string) map[string]any {
	c.t.Helper()
	a := c.do(method, path, body, headers...)
	if a.status != status {
		c.t.Fatalf("%s %s: %d, want %d: %s", method, path, a.status, status, a.body)
	}
	if len(a.body) == 0 {
		return nil
	}
	return a.json(c.t)
}

// event is one frame of a stream.
type event struct {
	id, typ string
	data    []byte
}

// follow reads a chat's stream until the function says enough, or the
// connection ends.
func (c *client) follow(ctx context.Context, chat, after string, each func(event) (more bool)) error {
	req, err := http.NewRequestWithContext(ctx, "GET", c.url+"/api/v1/chats/"+chat+"/events?after="+after, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "text/event-stream")
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	sc := bufio.NewScanner(res.Body)
	sc.Buffer(nil, 16<<20)
	var e event
	for sc.Scan() {
		line := sc.Text()
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && e.typ != "":
			if !each(e) {
				return nil
			}
			e = event{}
		case name == "id":
			e.id = value
		case name == "event":
			e.typ = value
		case name == "data":
			e.data = append(e.data, value...)
		}
	}
	return sc.Err()
}

// stored gives a chat's events as the log has them.
func (s *server) stored(chat string) []events.Envelope {
	s.t.Helper()
	out := mustCLI(s.t, "", "events", "--data", s.dir, "--stream", "chat/"+chat)
	var all []events.Envelope
	for line := range strings.Lines(out) {
		var e events.Envelope
		must(s.t, json.Unmarshal([]byte(line), &e))
		all = append(all, e)
	}
	return all
}

// awaitEnd waits until a reply has ended and gives its status.
func (c *client) awaitEnd(chat, reply string) (status string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := c.follow(ctx, chat, "0", func(e event) bool {
		if e.typ != "reply.finished" {
			return true
		}
		var env events.Envelope
		must(c.t, json.Unmarshal(e.data, &env))
		var end events.ReplyFinished
		must(c.t, json.Unmarshal(env.Data, &end))
		if end.Reply == reply {
			status = end.Status
		}
		return status == ""
	})
	if err != nil || status == "" {
		c.t.Fatalf("waiting for the end of a reply: %v", err)
	}
	return status
}

func text(v any) string { s, _ := v.(string); return s }

func dataDir(t testing.TB) string { return filepath.Join(t.TempDir(), "data") }
