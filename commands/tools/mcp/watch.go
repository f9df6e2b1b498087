package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
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

	mu       sync.Mutex
	tell     sync.Once
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
	return &watch{next: next, told: make(chan struct{})}
}

// RoundTrip sends one request of the SDK.
func (w *watch) RoundTrip(req *http.Request) (*http.Response, error) {
	method := ""
	if req.Method == http.MethodPost {
		method = rpcMethod(req)
	}
	if method == "tools/call" {
		w.mu.Lock()
		w.called, w.answered = true, 0
		w.mu.Unlock()
	}
	res, err := w.next.RoundTrip(req)
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
		return nil, err
	}
	res.Body = &bounded{ReadCloser: res.Body, left: MaxBody, cut: func() {
		w.mu.Lock()
		w.large = true
		w.mu.Unlock()
	}}
	return res, nil
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
func (w *watch) awaitCancelled(most time.Duration) {
	w.mu.Lock()
	called := w.called
	w.mu.Unlock()
	if !called {
		return
	}
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-w.told:
	case <-t.C:
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
