package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

const sessionHeader = "Mcp-Session-Id"

// errLarge says that an answer is larger than MaxBody.
var errLarge = fmt.Errorf("the answer is larger than %d MB", MaxBody>>20)

// watch is the transport under the SDK: it bounds every body, refuses session
// ids that are none, and notes what went over the wire, which the SDK's errors do
// not tell apart.
type watch struct {
	next http.RoundTripper
	told chan struct{} // closed when the server was told of a cancelled call
	// life ends whatever is still under way. The SDK answers a server's own
	// requests without any bound of time, and waits for that when it closes.
	life context.Context
	end  context.CancelFunc

	mu       sync.Mutex
	tell     sync.Once
	shook    bool  // initialize was handed to the network
	called   bool  // tools/call was handed to the network
	answered int   // the status of its answer, 0 for none
	lost     bool  // a request in a session was answered with 404
	status   int   // of the last answer to a POST, where it was no success
	fault    error // of the last POST
	large    bool  // a body was cut
}

func newWatch(next http.RoundTripper) *watch {
	if next == nil {
		next = http.DefaultTransport
	}
	w := &watch{next: next, told: make(chan struct{})}
	w.life, w.end = context.WithCancel(context.Background())
	return w
}

// RoundTrip sends one request of the SDK.
func (w *watch) RoundTrip(req *http.Request) (*http.Response, error) {
	method := ""
	if req.Method == http.MethodPost {
		method = rpcMethod(req)
	}
	w.before(method)
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(w.life, cancel)
	done := func() { stop(); cancel() }
	res, err := w.next.RoundTrip(req.WithContext(ctx))
	if method == "notifications/cancelled" {
		w.tell.Do(func() { close(w.told) })
	}
	if err == nil && !plainSession(res.Header.Values(sessionHeader)) {
		_ = res.Body.Close()
		err = errors.New("the server gave a session id that is none")
	}
	if req.Method == http.MethodPost {
		w.note(req, method, res, err)
	}
	if err != nil {
		done()
		return nil, err
	}
	res.Body = &bounded{ReadCloser: res.Body, left: MaxBody, cut: w.tooLarge, done: done}
	return res, nil
}

func (w *watch) before(method string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch method {
	case "initialize":
		w.shook = true
	case "tools/call":
		w.called, w.answered = true, 0
	}
}

func (w *watch) tooLarge() {
	w.mu.Lock()
	w.large = true
	w.mu.Unlock()
}

// greeted says whether the older handshake was begun.
func (w *watch) greeted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shook
}

func (w *watch) note(req *http.Request, method string, res *http.Response, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status, w.fault = 0, err
	if err != nil {
		return
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		w.status = res.StatusCode
	}
	if method == "tools/call" {
		w.answered = res.StatusCode
	}
	if res.StatusCode == http.StatusNotFound && req.Header.Get(sessionHeader) != "" {
		w.lost = true
	}
}

// expired says that the server has forgotten the session, and that a call, if
// there was one, certainly did not run: it was not sent, or it was itself
// answered with 404.
func (w *watch) expired() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost && (!w.called || w.answered == http.StatusNotFound)
}

// awaitCancelled waits until the server was told that a call is cancelled, which
// the SDK does in the background. Without a call that was sent nobody is told.
func (w *watch) awaitCancelled() {
	w.mu.Lock()
	called := w.called
	w.mu.Unlock()
	if !called {
		return
	}
	select {
	case <-w.told:
	case <-w.life.Done():
	}
}

// rpcMethod reads the method out of a request's body, "" for an answer.
func rpcMethod(req *http.Request) string {
	if req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer func() { _ = body.Close() }()
	var msg struct {
		Method string `json:"method"`
	}
	if json.NewDecoder(body).Decode(&msg) != nil {
		return ""
	}
	return msg.Method
}

// plainSession says whether a server's session id is what the protocol allows:
// visible ASCII, once.
func plainSession(ids []string) bool {
	if len(ids) > 1 || len(ids) == 1 && len(ids[0]) > 1024 {
		return false
	}
	for _, id := range ids {
		for _, b := range []byte(id) {
			if b < 0x21 || b > 0x7e {
				return false
			}
		}
	}
	return true
}

// bounded gives up where an answer is larger than allowed.
type bounded struct {
	io.ReadCloser
	left int64
	cut  func()
	done func()
}

func (b *bounded) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.cut()
		return 0, errLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}
