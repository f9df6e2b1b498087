package main

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sys/unix"

	"lembas/web/request"
)

// TestALogFromTheFutureThatCouldPermit: an event type that this binary does not
// know and that its writer says can change what is permitted refuses the
// directory, and names the release that is needed. The row is the one that
// events/store/doc.go describes.
func TestALogFromTheFutureThatCouldPermit(t *testing.T) {
	dir := small(t)
	db, err := pebble.Open(filepath.Join(dir, "log"), &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quietPebble{}})
	must(t, err)
	row := append(binary.AppendUvarint(nil, 1), 1)
	row = append(binary.AppendUvarint(row, uint64(len("9.9.0"))), "9.9.0"...)
	must(t, db.Set([]byte("yconsent.delegated"), row, pebble.Sync))
	must(t, db.Close())
	before := treeOf(t, dir)
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"info"}} {
		_, errs, code := cli(t, "", append(args, "--data", dir)...)
		if code != 1 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "consent.delegated") || !strings.Contains(errs, "9.9.0 or later") {
			t.Errorf("%s: status %d, %q", args[0], code, errs)
		}
	}
	sameTree(t, dir, before)
}

type quietPebble struct{}

func (quietPebble) Infof(string, ...any)      {}
func (quietPebble) Errorf(string, ...any)     {}
func (quietPebble) Fatalf(f string, a ...any) { panic(f) }

// TestAReadOnlyDirectory: root may write anywhere, so as root the product runs
// as nobody here.
func TestAReadOnlyDirectory(t *testing.T) {
	dir := small(t)
	self := os.Args[0]
	var as *syscall.Credential
	if os.Getuid() == 0 {
		self = readableCopy(t, self)
		as = &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}
		must(t, os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755))
	}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o555)
		}
		return os.Chmod(path, 0o444)
	}))
	t.Cleanup(func() { must(t, os.Chmod(dir, 0o700)); must(t, os.Chmod(filepath.Join(dir, "log"), 0o700)) })
	before := treeOf(t, dir)
	for _, target := range []string{dir, filepath.Join(dir, "below")} { // one that is there, one that cannot be made
		c := lembas(t.Context(), "serve", "--listen", "127.0.0.1:0", "--data", target)
		c.Path, c.Dir = self, "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		out, err := c.CombinedOutput()
		if c.ProcessState.ExitCode() != 1 || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "permission denied") {
			t.Errorf("%s: %v: %s", target, err, out)
		}
		sameTree(t, dir, before)
	}
}

// readableCopy is the test binary where everybody can run it.
func readableCopy(t *testing.T, name string) string {
	t.Helper()
	in, err := os.Open(name)
	must(t, err)
	defer func() { _ = in.Close() }()
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	out, err := os.OpenFile(filepath.Join(dir, "lembas"), os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
	return out.Name()
}

// TestBelowTheLowWaterMark: with too little free space the whole product reads
// on and refuses new work with a reason (F18, its first half).
func TestBelowTheLowWaterMark(t *testing.T) {
	dir := small(t)
	token := strings.TrimSpace(mustCLI(t, "", "token", "create", "--data", dir, "--user", "ann@example.test", "--scope", "admin"))
	p := &program{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, env: func(string) string { return "" }}
	a, err := openApp(t.Context(), p, dir, slog.New(slog.NewTextHandler(io.Discard, nil)), 1<<60)
	must(t, err)
	head := a.log.Head()
	h, err := build(context.Background(), a, request.Policy{})
	must(t, err)
	web := httptest.NewServer(h.handler)
	t.Cleanup(func() {
		h.hub.Close()
		web.Close()
		must(t, h.close())
		must(t, a.close())
	})
	ann := &client{t: t, url: web.URL, token: token, http: &http.Client{}}
	for path, want := range map[string]int{"/api/v1/me": 200, "/api/v1/chats": 200, "/auth/login": 200, "/readyz": 503} {
		if got := ann.do("GET", path, nil); got.status != want {
			t.Errorf("GET %s: %d, want %d: %s", path, got.status, want, got.body)
		}
	}
	for path, body := range map[string]any{
		"/api/v1/folders":     map[string]any{"name": "Letters"},
		"/api/v1/connections": map[string]any{"name": "x", "base_url": "http://127.0.0.1:1/v1"},
		"/auth/login":         map[string]any{"email": "ann@example.test", "password": "correct horse battery"},
	} {
		got := ann.do("POST", path, body)
		if got.status != 503 || !strings.Contains(string(got.body), "free") {
			t.Errorf("POST %s: %d %s", path, got.status, got.body)
		}
	}
	if a.log.Head() != head {
		t.Errorf("the log went from %d to %d", head, a.log.Head())
	}
}

// TestAWriteThatFailsEndsTheServer: when the disk takes no more the process ends
// at once with one line; what was acknowledged is there after space is freed,
// what was not is wholly there or wholly absent (F18, F01).
func TestAWriteThatFailsEndsTheServer(t *testing.T) {
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	names := map[string]bool{}
	add := func(name string) int {
		res, err := ann.try("POST", "/api/v1/folders", map[string]any{"name": name})
		if err != nil {
			return 0
		}
		return res.status
	}
	if got := add("before"); got != 201 {
		t.Fatalf("a folder: %d", got)
	}
	names["before"] = true
	// A bound on the size of files stands for a full disk: writes fail with an
	// error, here after the next few.
	limit := unix.Rlimit{Cur: largest(t, s.dir, "log/*.log") + 4096, Max: unix.RLIM_INFINITY}
	must(t, unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil))
	last := ""
	for i := 0; ; i++ {
		last = strings.Repeat("x", 50) + string(rune('a'+i%26)) + strings.Repeat("y", i%40)
		if add(last) != 201 {
			break
		}
		names[last] = true
		if i > 1000 {
			t.Fatal("writes go on past the bound")
		}
	}
	<-s.gone
	s.mu.Lock()
	said := s.log.String()
	s.mu.Unlock()
	if s.cmd.ProcessState.ExitCode() != 1 || strings.Count(said, "cannot write the log, stopping") != 1 {
		t.Errorf("it ended with %v and said\n%s", s.err, said)
	}
	s.start()
	items, _ := ann.want(200, "GET", "/api/v1/folders", nil)["items"].([]any)
	found := map[string]int{}
	for _, f := range items {
		found[text(f.(map[string]any)["name"])]++
	}
	for name := range names {
		if found[name] != 1 {
			t.Errorf("folder %q is there %d times", name, found[name])
		}
		delete(found, name)
	}
	delete(found, last)
	if len(found) > 0 {
		t.Errorf("folders that nobody made: %v", found)
	}
	if got := add("after"); got != 201 {
		t.Errorf("after space was freed: %d", got)
	}
}

func largest(t *testing.T, dir, pattern string) (size uint64) {
	t.Helper()
	for _, name := range glob(t, dir, pattern) {
		info, err := os.Stat(name)
		must(t, err)
		size = max(size, uint64(info.Size()))
	}
	return size
}
