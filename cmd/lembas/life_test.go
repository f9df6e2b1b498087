package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lembas/events"
)

// TestASignalEndsTheServerAndTheNextStartFinishesTheReply: SIGTERM and SIGINT
// in mid-reply end the process with status 0 although a browser's stream is open
// and the endpoint goes on; the next start asks again and ends the reply once.
func TestASignalEndsTheServerAndTheNextStartFinishesTheReply(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t, func(n int, w http.ResponseWriter, r *http.Request) {
				says(w, "So far ")
				if n == 1 {
					<-r.Context().Done() // it would go on for ever
					return
				}
				says(w, "and on.")
				ends(w)
			})
			s := serve(t, dataDir(t))
			ann := s.person("ann@example.test", true)
			ann.connect(e, "")
			chat, reply := ann.ask("m", "hello")
			var last event
			ended := make(chan error, 1)
			seen := make(chan struct{})
			go func() {
				ended <- ann.follow(context.Background(), chat, "0", func(e event) bool {
					if e.typ == "reply.chunk" {
						close(seen)
					}
					last = e
					return true
				})
			}()
			<-seen
			begun := time.Now()
			must(t, s.cmd.Process.Signal(sig))
			<-s.gone
			if s.err != nil || time.Since(begun) > 10*time.Second {
				t.Errorf("the server ended with %v after %v", s.err, time.Since(begun))
			}
			<-ended
			if last.typ != "end" || !bytes.Contains(last.data, []byte(`"shutdown"`)) {
				t.Errorf("the stream's last frame is %s %s", last.typ, last.data)
			}
			s.start()
			if status := ann.awaitEnd(chat, reply); status != events.Complete {
				t.Errorf("the reply ended %s", status)
			}
			if got := ann.transcript(chat).last(); got.Content != "So far and on." || e.count() != 2 {
				t.Errorf("%q after %d requests", got.Content, e.count())
			}
		})
	}
}

// TestAMessageThatWasAcceptedIsAnsweredOnceAfterAKill: killed before the first
// byte the endpoint is asked once more; killed after the end, never again (F02).
func TestAMessageThatWasAcceptedIsAnsweredOnceAfterAKill(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{}, 10)
	e := newEndpoint(t, func(n int, w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		if n == 1 {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		says(w, "Here.")
		ends(w)
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "")
	chat, reply := ann.ask("m", "hello")
	<-asked // before the first byte
	s.kill()
	close(release)
	s.start()
	if status := ann.awaitEnd(chat, reply); status != events.Complete {
		t.Errorf("the reply ended %s", status)
	}
	for range 2 { // what has ended is not taken up again
		s.kill()
		s.start()
	}
	if got := ann.transcript(chat); got.last().Content != "Here." || len(got.Messages) != 2 || e.count() != 2 {
		t.Errorf("%+v after %d requests", got, e.count())
	}
}

// TestFollowBesideAServerIsLive: the command prints an event while the reply is
// still running, and ends with the server.
func TestFollowBesideAServerIsLive(t *testing.T) {
	release := make(chan struct{})
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		says(w, "first")
		<-release
		says(w, " last")
		ends(w)
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "")
	chat, _ := ann.ask("m", "hello")
	cmd := lembas(t.Context(), "follow", chat, "--data", s.dir, "--after", "1")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	dec := json.NewDecoder(out)
	var last events.Envelope
	next := func() string {
		var env events.Envelope
		must(t, dec.Decode(&env))
		if env.Position <= last.Position || env.Stream != events.ChatStream(chat) {
			t.Errorf("%d after %d of %s", env.Position, last.Position, env.Stream)
		}
		last = env
		return env.Type
	}
	for next() != "reply.chunk" {
	}
	close(release) // not before it was shown
	for next() != "reply.finished" {
	}
	must(t, cmd.Process.Signal(syscall.SIGINT))
	if err := cmd.Wait(); err != nil {
		t.Errorf("interrupted, follow ended with %v", err)
	}
}

// TestFollowDoesNotHoldTheServerUp: a command that waits on the control socket
// ends with the server, whichever way that ends.
func TestFollowDoesNotHoldTheServerUp(t *testing.T) {
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		says(w, "Here.")
		ends(w)
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "")
	chat, reply := ann.ask("m", "hello")
	ann.awaitEnd(chat, reply)
	for _, hard := range []bool{false, true} {
		cmd := lembas(t.Context(), "follow", chat, "--data", s.dir)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		_, err = out.Read(make([]byte, 1))
		must(t, err)
		go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the command
		if hard {
			s.kill()
		} else if err := s.stop(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
		_ = cmd.Wait() // its status is looked at below
		switch code := cmd.ProcessState.ExitCode(); {
		case hard && (code != 1 || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), "broke off")):
			t.Errorf("after a kill: status %d, %q", code, errs.String())
		case !hard && (code != 0 || errs.Len() > 0):
			t.Errorf("after a shutdown: status %d, %q", code, errs.String())
		}
		s.start()
	}
}

// TestFlagsWinOverVariables also shows what a variable alone does.
func TestFlagsWinOverVariables(t *testing.T) {
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer func() { must(t, l.Close()) }()
		return l.Addr().String()
	}
	one, two := free(), free()
	start := func(dir string, args ...string) string {
		c := lembas(t.Context(), append([]string{"serve"}, args...)...)
		c.Env = append(c.Env, "LEMBAS_LISTEN="+one, "LEMBAS_DATA="+dir, "LEMBAS_LOG_FORMAT=json")
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		b := make([]byte, 200)
		n, err := out.Read(b)
		must(t, err)
		must(t, c.Process.Signal(syscall.SIGTERM))
		must(t, c.Wait())
		for line := range strings.Lines(errs.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("a log line that is no JSON: %s", line)
			}
		}
		return string(b[:n])
	}
	dir, other := dataDir(t), dataDir(t)
	if got, want := start(dir), "lembas: listening on http://"+one+"\n"; got != want {
		t.Errorf("with variables: %q, want %q", got, want)
	}
	if _, _, code := cli(t, "", "info", "--data", dir); code != 0 {
		t.Error("LEMBAS_DATA was not used")
	}
	if got, want := start(dir, "--listen", two, "--data", other), "lembas: listening on http://"+two+"\n"; got != want {
		t.Errorf("with flags: %q, want %q", got, want)
	}
	if _, _, code := cli(t, "", "info", "--data", other); code != 0 {
		t.Error("--data was not used")
	}
}

// TestAddressesThatCannotBeListenedOn: one line, status 1, and no line that says
// it listens.
func TestAddressesThatCannotBeListenedOn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	for _, address := range []string{l.Addr().String(), "127.0.0.1", "127.0.0.1:99999", "192.0.2.1:0", "nonsense.invalid:0"} {
		out, errs, code := cli(t, "", "serve", "--listen", address, "--data", dataDir(t), "--log-level", "error")
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "cannot listen on "+address) {
			t.Errorf("%s: status %d, %q, %q", address, code, out, errs)
		}
	}
}

// TestAPrintedKeyIsTaken: secret-key's output is a LEMBAS_SECRET_KEY, and then
// there is no key file; without it the directory does not open.
func TestAPrintedKeyIsTaken(t *testing.T) {
	key := strings.TrimSpace(mustCLI(t, "", "secret-key"))
	dir := dataDir(t)
	with := func(key string, args ...string) ([]byte, error) {
		c := lembas(t.Context(), append(args, "--data", dir)...)
		c.Env = append(c.Env, "LEMBAS_SECRET_KEY="+key)
		c.Stdin = strings.NewReader("correct horse battery\n")
		return c.CombinedOutput()
	}
	if out, err := with(key, "create-admin", "--email", "ann@example.test", "--password-stdin"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "key*")); err != nil || len(found) > 0 {
		t.Errorf("with a variable there is %v, %v", found, err)
	}
	for name, wrong := range map[string]string{"none": "", "another": strings.TrimSpace(mustCLI(t, "", "secret-key")), "short": "abc"} {
		before := treeOf(t, dir)
		out, err := with(wrong, "info")
		var exit *exec.ExitError
		if !asExit(err, &exit) || exit.ExitCode() != 1 || bytes.Count(out, []byte("\n")) != 1 || !bytes.Contains(out, []byte("key")) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		sameTree(t, dir, before)
	}
	fresh := dataDir(t)
	c := lembas(t.Context(), "serve", "--listen", "127.0.0.1:0", "--data", fresh)
	c.Env = append(c.Env, "LEMBAS_SECRET_KEY=abc")
	if out, err := c.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("lembas secret-key")) {
		t.Errorf("a key of nonsense for a new directory: %v: %s", err, out)
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a directory was made for a key of nonsense")
	}
	if out, err := with(key, "info"); err != nil {
		t.Errorf("with the key again: %v: %s", err, out)
	}
}

// TestAfterARestoreOldCursorsAreOfNoUse: the epoch is another one, so whoever
// followed before is told to begin again instead of being shown other events.
func TestAfterARestoreOldCursorsAreOfNoUse(t *testing.T) {
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		says(w, "Here.")
		ends(w)
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "sk-a-key-that-must-still-open")
	chat, _ := ann.ask("m", "hello")
	ann.until(chat, "chat.renamed")
	copied := filepath.Join(t.TempDir(), "copy")
	mustCLI(t, "", "backup", copied, "--data", s.dir)
	old := ""
	_, err := ann.frames(t.Context(), eventsOf(chat), func(e event) bool {
		if e.id != "" {
			old = e.id
		}
		return e.typ != "ping"
	})
	must(t, err)
	must(t, s.stop())
	mustCLI(t, "", "restore", copied, "--replace", "--data", s.dir)
	s.start()
	var got []event
	_, err = ann.frames(t.Context(), eventsOf(chat), func(e event) bool { got = append(got, e); return true }, "Last-Event-ID", old)
	if err != nil || len(got) != 1 || got[0].typ != "reset" || string(got[0].data) != `{"reason":"foreign"}` {
		t.Errorf("an old cursor %s: %v, %+v", old, err, got)
	}
	next := ann.want(202, "POST", "/api/v1/chats/"+chat+"/messages", map[string]any{"text": "again"}) // the key still opens
	if status := ann.awaitEnd(chat, text(next["reply_id"])); status != events.Complete {
		t.Errorf("a reply after the restore ended %s", status)
	}
	_, err = ann.frames(t.Context(), eventsOf(chat), func(e event) bool {
		if e.id != "" && strings.HasPrefix(e.id, old[:16]) {
			t.Errorf("an id of the old epoch: %s", e.id)
		}
		return e.typ != "ping"
	})
	must(t, err)
}
