package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"lembas/events"
)

// The control socket carries the same calls that the CLI makes on a directory
// of its own: POST /NAME with the call's arguments as JSON; the answer's body is
// what goes to standard output. An error is the trailer below, because it may
// come after output.
const (
	socketName   = "lembas.sock"
	errorTrailer = "Lembas-Error"
)

// call is one thing that a subcommand does on an open directory. It must not
// need more than the app and its own arguments.
type call interface {
	name() string
	run(ctx context.Context, a *app, out io.Writer) error
}

// newCalls makes an empty call of each kind for the socket to decode into.
func newCalls() map[string]func() call {
	return map[string]func() call{
		"info": func() call { return &infoCall{} }, "create-admin": func() call { return &createAdminCall{} },
		"token-create": func() call { return &tokenCreateCall{} }, "token-list": func() call { return &tokenListCall{} },
		"token-revoke": func() call { return &tokenRevokeCall{} }, "events": func() call { return &eventsCall{} },
		"follow": func() call { return &followCall{} }, "export": func() call { return &exportCall{} },
		"audit-list": func() call { return &auditListCall{} },
		"backup":     func() call { return &backupCall{} }, "verify": func() call { return &verifyCall{} },
	}
}

// perform runs a call: over the socket when a server holds the directory, else
// on the directory itself.
func perform(ctx context.Context, p *program, g *Globals, c call, create bool) error {
	return performTo(ctx, p, g, c, create, p.stdout)
}

func performTo(ctx context.Context, p *program, g *Globals, c call, create bool, out io.Writer) error {
	if !create {
		if err := mustExist(g.Data); err != nil {
			return err
		}
	}
	done, err := overSocket(ctx, g.Data, c, out)
	if done {
		return err
	}
	logger, err := newLogger(p.stderr, "warn", "text")
	if err != nil {
		return err
	}
	a, err := openApp(ctx, p, g.Data, logger, 0)
	if err != nil {
		return err
	}
	return errors.Join(c.run(ctx, a, out), a.close())
}

// socketPath gives the socket's address and what keeps it valid. An address
// holds at most 107 bytes, so a longer path goes through the directory's own
// descriptor.
func socketPath(dir string) (path string, release func(), err error) {
	path = filepath.Join(dir, socketName)
	if len(path) <= 100 {
		return path, func() {}, nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), socketName), func() { _ = d.Close() }, nil
}

// overSocket tries a running server; done is false when there is none.
func overSocket(ctx context.Context, dir string, c call, out io.Writer) (done bool, err error) {
	path, release, err := socketPath(dir)
	if err != nil {
		return false, nil
	}
	defer release()
	conn, err := net.DialTimeout("unix", path, 5*time.Second)
	if err != nil {
		return false, nil // nobody listens: a stale socket, or none
	}
	args, err := json.Marshal(c)
	if err != nil {
		_ = conn.Close()
		return true, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://lembas/"+c.name(), newReader(args))
	if err != nil {
		return true, err
	}
	res, err := client.Do(req)
	if err != nil {
		return true, fmt.Errorf("the running server did not answer: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(out, res.Body); err != nil {
		return true, fmt.Errorf("the running server broke off: %w", err)
	}
	if msg := res.Trailer.Get(errorTrailer); msg != "" {
		return true, errors.New(msg)
	}
	if res.StatusCode != http.StatusOK {
		return true, fmt.Errorf("the running server answered %s: is it of another version?", res.Status)
	}
	return true, nil
}

// control serves the calls of the CLI beside a running server.
type control struct {
	app    *app
	server *http.Server
	cancel context.CancelFunc // ends the calls that are under way
}

// listenControl opens the socket. The caller holds the directory's lock, so a
// socket that lies there is stale and may go.
func listenControl(a *app) (*control, error) {
	path, release, err := socketPath(a.dir)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := os.Remove(filepath.Join(a.dir, socketName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing a stale control socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("opening the control socket: %w", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // its name may be a descriptor that is gone by then
	if err := os.Chmod(filepath.Join(a.dir, socketName), 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &control{app: a, cancel: cancel}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() { _ = c.server.Serve(l) }() // ends with close
	return c, nil
}

// controlTime is how long a call may take to notice that the server goes down.
const controlTime = time.Second

// close ends all calls, because a follow would go on for ever, and takes the
// socket away.
func (c *control) close() {
	c.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), controlTime)
	defer cancel()
	_ = c.server.Shutdown(ctx)
	_ = c.server.Close()
	_ = os.Remove(filepath.Join(c.app.dir, socketName))
}

// ServeHTTP runs one call.
func (c *control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	make, ok := newCalls()[r.URL.Path[min(1, len(r.URL.Path)):]]
	if !ok || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	k := make()
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(k); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Trailer", errorTrailer)
	if err := k.run(r.Context(), c.app, &flusher{w: w, rc: http.NewResponseController(w)}); err != nil {
		w.Header().Set(errorTrailer, oneLine(err))
	}
}

// flusher sends each write at once: follow is live.
type flusher struct {
	w  io.Writer
	rc *http.ResponseController
}

func (f *flusher) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if err != nil {
		return n, err
	}
	return n, f.rc.Flush()
}

// explain turns an error of a lookup into words of the command line.
func explain(what string, err error) error {
	if errors.Is(err, events.ErrNotFound) {
		return fmt.Errorf("there is no such %s", what)
	}
	return err
}

func isNotFound(err error) bool { return errors.Is(err, events.ErrNotFound) }
