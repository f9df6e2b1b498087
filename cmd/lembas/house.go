package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"lembas/cmd/lembas/demo"
	"lembas/commands/push"
	"lembas/events"
	"lembas/projections"
	"lembas/web"
	"lembas/web/markdown"
	"lembas/web/pages"
	"lembas/web/pages/view"
	"lembas/web/request"
	"lembas/web/static"
	"lembas/web/stream"
	"lembas/web/templates"
)

func newDemo() *demo.Server { return demo.New(demo.Options{}) }

// viewCache is how many bytes of finished texts' HTML are kept.
const viewCache = 32 << 20

// house is all rooms of a running server, wired.
type house struct {
	app      *app
	set      *projections.Set
	reactors *reactors
	pushes   *push.Sender
	hub      *stream.Hub
	handler  http.Handler
	metrics  *prometheus.Registry
	stop     context.CancelFunc // ends what runs in the background
	work     sync.WaitGroup     // the projections
}

// build wires the rooms and starts what runs in the background: projections,
// reactors and feeds. What it started, close ends.
func build(ctx context.Context, a *app, policy request.Policy) (*house, error) {
	files, err := static.New()
	if err != nil {
		return nil, err
	}
	set, err := templates.New(files)
	if err != nil {
		return nil, err
	}
	read, err := projections.Open(a.log)
	if err != nil {
		return nil, err
	}
	h := &house{app: a, set: read, metrics: newMetrics(a)}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	h.work.Go(func() {
		if err := read.Run(background); err != nil {
			a.logger.Error("the projections stopped; lists are stale until the next start", "err", err)
		}
	})
	md := markdown.New(markdown.Options{})
	views := view.New(md, h.modelTitle, viewCache)
	h.hub = &stream.Hub{Log: a.log, Users: a.service, Chats: a.service, Sidebar: pageList{read}, Views: views,
		Parts: stream.Fragments(set), Now: time.Now, Slog: a.logger, Options: stream.Options{Gap: h.frameGap}}
	h.hub.Open()
	keys, err := push.EnsureKeys(ctx, a.log, secrets{a.vault})
	if err != nil {
		h.hub.Close()
		return nil, errors.Join(fmt.Errorf("the keys of web push: %w", err), h.close())
	}
	h.pushes = push.New(push.Options{Service: a.service, Keys: keys, Client: a.guard, Logger: a.logger, Contact: contact(policy)})
	a.loop.Cards = openCards{read}
	h.work.Go(func() { (&expirer{service: a.service, log: a.log, cards: read, logger: a.logger}).run(background) })
	if h.reactors, err = startReactors(background, a, h.pushes.Handle); err != nil {
		h.hub.Close()
		return nil, errors.Join(err, h.close())
	}
	people := accounts{read, a.service}
	h.handler = web.New(web.Config{Service: a.service, Policy: policy, Log: a.logger, Sidebar: chatList{read}, Accounts: people,
		Waiting: waitingList{read}, Audit: auditList{read}, Blobs: a.blobs,
		PushKey: keys.Public(), Try: a.tools.TryTool,
		Markdown: md, Static: files.Handler(), Fixed: files.Root(), Metrics: h.metrics, Ready: h.ready,
		Pages: &pages.Pages{Service: a.service, Sidebar: pageList{read}, Accounts: people, Windows: read.Windows, Tools: a.tools, Waiting: waitingList{read}, Audit: auditList{read},
			Try: a.tools.TryTool, TrySearch: a.tools.TrySearch, Views: views, Set: set,
			Demo: a.demo, ReadOnly: h.readOnly},
		Streams: web.Streams{Chat: h.hub.ChatEvents, Person: h.hub.Events, Page: h.hub.Page}})
	return h, nil
}

// contact is where push services reach who runs this instance.
func contact(p request.Policy) string {
	if p.BaseURL != nil && p.BaseURL.Scheme == "https" {
		return p.BaseURL.String()
	}
	return ""
}

// close ends the background work, after the HTTP server; replies in flight are
// left to the next start.
func (h *house) close() error {
	var err error
	if h.reactors != nil {
		err = h.reactors.close()
	}
	if h.pushes != nil {
		h.pushes.Close()
	}
	h.stop()
	h.work.Wait()
	return err
}

// modelTitle is what people call a model.
func (h *house) modelTitle(id string) string {
	m, err := h.app.service.Model(context.Background(), id)
	if err != nil {
		return ""
	}
	return m.Title()
}

// frameGap lets frames follow each other as fast as chunks are gathered: with
// no gathering each chunk is a frame.
func (h *house) frameGap() time.Duration {
	s, err := h.app.service.Settings(context.Background())
	if err != nil {
		return 0
	}
	return time.Duration(s.Int("limits.gather_ms")) * time.Millisecond * 3 / 4
}

func (h *house) readOnly() string {
	if is, why := h.app.log.ReadOnly(); is {
		return why
	}
	return ""
}

// ready says why the server cannot do all of its work: it takes none, answers
// nothing, or its lists have stopped.
func (h *house) ready(context.Context) error {
	if why := h.readOnly(); why != "" {
		return fmt.Errorf("%s: %w", why, events.ErrReadOnly)
	}
	if err := h.set.Failed(); err != nil {
		return fmt.Errorf("the projections have stopped: %w", err)
	}
	return h.reactors.stopped()
}

func newMetrics(a *app) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge := func(name, help string, f func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f))
	}
	gauge("lembas_log_head", "Position of the last event.", func() float64 { return float64(a.log.Head()) })
	gauge("lembas_replies_running", "Replies that this process is working on.", func() float64 { return float64(a.loop.Running()) })
	gauge("lembas_read_only", "1 when new work is refused for want of disk space.", func() float64 {
		if is, _ := a.log.ReadOnly(); is {
			return 1
		}
		return 0
	})
	return r
}

// serveMetrics serves /metrics without a token on an address of its own.
func (h *house) serveMetrics(address string, failed chan<- error) (*http.Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s for metrics: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(h.metrics, promhttp.HandlerOpts{}))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}() // ends with Close
	return s, nil
}
