package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Options changes the demo for tests.
type Options struct {
	// Pace scales all waiting: 0 is the usual speed of about 32 tokens a second, 2 twice as fast. Below 0 nothing waits.
	Pace float64
}

func (o Options) pace(d time.Duration) time.Duration {
	switch {
	case o.Pace < 0:
		return 0
	case o.Pace == 0:
		return d
	}
	return time.Duration(float64(d) / o.Pace)
}

// maxRequest bounds a request's body in bytes; maxRemembered the messages that were answered with 429.
const (
	maxRequest    = 16 << 20
	maxRemembered = 1000
)

// Server is the endpoint. Any key, or none, is accepted.
type Server struct {
	opts Options
	mux  *http.ServeMux

	mu   sync.Mutex
	busy map[string]bool // guarded by mu: messages that have had their 429
}

// New returns an endpoint that answers under /v1.
func New(opts Options) *Server {
	s := &Server{opts: opts, mux: http.NewServeMux(), busy: map[string]bool{}}
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.mux.Handle(ToolsPath, toolServer(opts))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", "The demo endpoint has /v1/models and /v1/chat/completions, nothing else.")
	})
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Start serves on a free loopback port until ctx ends or stop is called; replies that are running are then broken off.
// baseURL is what to enter as a connection's address. stop waits until the port is closed and may be called twice.
func (s *Server) Start(ctx context.Context) (baseURL string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("demo endpoint: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan struct{})
	go func() { // ended by Close below
		defer close(served)
		srv.Serve(l)
	}()
	closed := context.AfterFunc(ctx, func() { srv.Close() })
	return "http://" + l.Addr().String() + "/v1", func() {
		closed()
		cancel()
		srv.Close()
		<-served
	}, nil
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type row struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Name    string `json:"name"`
		OwnedBy string `json:"owned_by"`
		Context int    `json:"context_length"`
	}
	var rows []row
	for _, m := range models() {
		rows = append(rows, row{m.id, "model", m.name, "demo", 32768})
	}
	answer(w, http.StatusOK, map[string]any{"object": "list", "data": rows})
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			refuse(w, http.StatusRequestEntityTooLarge, "too_large", "The demo reads at most 16 MB.")
			return
		}
		refuse(w, http.StatusBadRequest, "invalid_request_error", "The demo cannot read this request: it is not the JSON of a chat completion.")
		return
	}
	known := false
	for _, m := range models() {
		known = known || m.id == req.Model
	}
	switch {
	case !known:
		refuse(w, http.StatusNotFound, "model_not_found", fmt.Sprintf("The demo has no model %q.", clip(req.Model, 100)))
		return
	case len(req.Messages) == 0:
		refuse(w, http.StatusBadRequest, "invalid_request_error", "The demo needs at least one message.")
		return
	}
	plan := s.opts.plan(req)
	if s.faulty(w, plan, req) {
		return
	}
	out := &sender{w: w, ctx: r.Context(), req: req, script: plan, id: "demo-" + rand.Text()[:16], created: time.Now().Unix()}
	out.send()
}

// faulty answers a request whose words asked for a fault, and reports whether it did.
func (s *Server) faulty(w http.ResponseWriter, plan script, req request) bool {
	switch plan.fault {
	case faultFail:
		refuse(w, http.StatusInternalServerError, "server_error", "The demo failed because your message says “fail”.")
	case faultPage:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!DOCTYPE html><html><head><title>Demo web page</title></head><body><h1>Not an API</h1><script>document.title='script ran'</script></body></html>")
	case faultBusy:
		if !s.firstTime(req.Model + "\x00" + req.turn().prompt) {
			return false
		}
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "rate_limit_exceeded", "The demo is busy because your message says “busy”. The next try will work.")
	default:
		return false
	}
	return true
}

// firstTime remembers a message the first time and forgets it the second.
func (s *Server) firstTime(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[key] {
		delete(s.busy, key)
		return false
	}
	if len(s.busy) >= maxRemembered {
		clear(s.busy)
	}
	s.busy[key] = true
	return true
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // a reader that has gone away is no concern of ours
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]any{"error": map[string]any{"message": message, "type": code, "code": code, "param": nil}})
}
