package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"lembas/events/store"
	"lembas/web/request"
)

// ServeCmd serves the web interface and the API.
type ServeCmd struct {
	Listen         string `help:"Address to listen on; port 0 picks a free one." default:"127.0.0.1:8080" env:"LEMBAS_LISTEN" placeholder:"HOST:PORT"`
	BaseURL        string `help:"The address that people use, behind a proxy." env:"LEMBAS_BASE_URL" placeholder:"URL"`
	TrustedProxies string `help:"Addresses or prefixes of proxies whose X-Forwarded headers count." env:"LEMBAS_TRUSTED_PROXIES" placeholder:"LIST"`
	MetricsListen  string `help:"Serve /metrics without a token on this address too." env:"LEMBAS_METRICS_LISTEN" placeholder:"HOST:PORT"`
	Demo           bool   `help:"Add a demo endpoint with scripted models on its own loopback port."`
	Events         string `help:"Where the log is." default:"pebble" env:"LEMBAS_EVENTS" enum:"pebble"`
	LogLevel       string `help:"debug, info, warn or error." default:"info" env:"LEMBAS_LOG_LEVEL"`
	LogFormat      string `help:"text or json." default:"text" env:"LEMBAS_LOG_FORMAT"`
}

// shutdownTime is how long requests that are under way get; with the reactors'
// routerTime and the closing of files a graceful end takes at most the ten
// seconds of contract.md.
const shutdownTime = 5 * time.Second

// Run serves until a signal ends ctx; running replies are then left to the next
// start.
func (c *ServeCmd) Run(ctx context.Context, p *program, g *Globals) error {
	logger, err := newLogger(p.stderr, c.LogLevel, c.LogFormat)
	if err != nil {
		return err
	}
	policy, err := c.policy()
	if err != nil {
		return err
	}
	a, err := openApp(ctx, p, g.Data, logger, store.DefaultLowWater)
	if err != nil {
		return err
	}
	return errors.Join(c.serve(ctx, p, a, policy), a.close())
}

func (c *ServeCmd) policy() (request.Policy, error) {
	proxies, err := request.ParseProxies(c.TrustedProxies)
	if err != nil {
		return request.Policy{}, &usageError{fmt.Sprintf("LEMBAS_TRUSTED_PROXIES: %v", err)}
	}
	out := request.Policy{Proxies: proxies}
	if c.BaseURL == "" {
		return out, nil
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return out, &usageError{fmt.Sprintf("--base-url %q: an http or https address without a path, such as https://chat.example.org", c.BaseURL)}
	}
	out.BaseURL = u
	return out, nil
}

func (c *ServeCmd) serve(ctx context.Context, p *program, a *app, policy request.Policy) (err error) {
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", c.Listen, err)
	}
	defer func() { _ = l.Close() }()
	a.serving, a.address, a.demo = true, "http://"+l.Addr().String(), c.Demo

	if c.Demo {
		stop, err := startDemo(ctx, a)
		if err != nil {
			return fmt.Errorf("starting the demo endpoint: %w", err)
		}
		defer stop()
	}
	ctl, err := listenControl(a)
	if err != nil {
		return err
	}
	defer ctl.close()
	house, err := build(ctx, a, policy)
	if err != nil {
		return err
	}
	server := request.Server(house.handler, a.logger)
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(l) }() // ends with Shutdown
	if c.MetricsListen != "" {
		m, err := house.serveMetrics(c.MetricsListen, failed)
		if err != nil {
			return errors.Join(err, house.close(), server.Close())
		}
		defer func() { _ = m.Close() }()
	}
	if _, err := fmt.Fprintf(p.stdout, "lembas: listening on %s\n", a.address); err != nil {
		return errors.Join(err, house.close(), server.Close())
	}
	a.logger.Info("serving", "address", a.address, "data", a.dir, "head", a.log.Head(), "version", version)
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	return errors.Join(err, c.shutdown(house, server, a.logger))
}

// shutdown ends streams, then requests, then the work that goes on without
// them. What a reply had not yet said is asked again at the next start.
func (c *ServeCmd) shutdown(h *house, server *http.Server, logger *slog.Logger) error {
	logger.Info("shutting down", "running replies", h.app.loop.Running())
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	h.hub.Close()
	if err := server.Shutdown(ctx); err != nil {
		_ = server.Close()
	}
	return h.close()
}
