package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/oklog/ulid/v2"

	"lembas/commands"
	"lembas/commands/generation"
	"lembas/commands/llm"
	"lembas/commands/tools/guard"
	"lembas/commands/tools/mcp"
	"lembas/commands/toolset"
	"lembas/events"
	"lembas/events/blob"
	"lembas/events/store"
	"lembas/events/vault"
)

// app is an open data directory with the commands over it: what serve and the
// offline subcommands share.
type app struct {
	dir     string
	log     *store.Store
	vault   *vault.Vault
	blobs   *blob.Store
	service *commands.Service
	loop    *generation.Loop
	guard   *guard.Client // for addresses that others name
	tools   *toolset.Set
	http    *http.Client
	logger  *slog.Logger
	// serving says that a server runs on it, at address.
	serving bool
	address string
	demo    bool
}

// secrets adapts the vault: an empty secret is none.
type secrets struct{ *vault.Vault }

func (s secrets) Seal(name string, b []byte) (events.Put, error) {
	if len(b) == 0 {
		return vault.Delete(name), nil
	}
	return s.Vault.Seal(name, b)
}

// blobs adapts the blob room for the loop.
type blobs struct{ *blob.Store }

func (blobs) Put(data []byte) (events.BlobRef, events.Put, error) { return blob.Put(data) }

// keyFile is the master key's file in a data directory.
func keyFile(dir string) string { return filepath.Join(dir, "key") }

// openApp opens a data directory, or makes one.
func openApp(ctx context.Context, p *program, dir string, logger *slog.Logger, lowWater int64) (*app, error) {
	key := vault.Options{SecretKey: p.env("LEMBAS_SECRET_KEY"), KeyFile: keyFile(dir)}
	o := store.Options{Logger: logger, Release: version, LowWater: lowWater,
		Check: func(get func(string, []byte) ([]byte, error)) error { return vault.Check(get, key) }}
	if lowWater > 0 {
		o.Ballast = store.DefaultBallast
	}
	log, err := store.Open(dir, o)
	if err != nil {
		return nil, err
	}
	a := &app{dir: dir, log: log, logger: logger, http: llm.NewHTTP(), blobs: blob.New(log)}
	if err := a.complete(ctx, key); err != nil {
		_ = log.Close()
		return nil, err
	}
	return a, nil
}

func (a *app) complete(ctx context.Context, key vault.Options) (err error) {
	a.vault, err = vault.Open(a.log, key)
	if err != nil {
		return err
	}
	newID := func() string { return ulid.Make().String() }
	a.service = &commands.Service{Log: a.log, Secrets: secrets{a.vault}, Now: time.Now, NewID: newID,
		Passwords: commands.NewArgon(), Discover: a.discover}
	a.loop = &generation.Loop{Service: a.service, Log: a.log, HTTP: a.http, Blobs: blobs{a.blobs}, Now: time.Now,
		NewID: newID, Logger: a.logger, Retry: llm.Retry{Max: 4}}
	a.service.Stopper = a.loop
	a.guard = guard.New(guard.Config{Private: a.privateFetches})
	remote := &mcp.Client{HTTP: mcp.Guarded(a.guard), Version: version}
	a.tools = &toolset.Set{Service: a.service, Guard: a.guard, MCP: remote, Logger: a.logger}
	a.loop.Tools, a.service.ListTools = a.tools, remote.List
	if err := a.service.Open(ctx, version); err != nil {
		return err
	}
	a.loop.Since = a.log.Head()
	return nil
}

// privateFetches says whether an administrator opened private addresses.
func (a *app) privateFetches() bool {
	set, err := a.service.Settings(context.Background())
	return err == nil && set.Bool("fetch.private")
}

func (a *app) discover(ctx context.Context, baseURL, key string) ([]commands.Discovered, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	models, err := (&llm.Endpoint{BaseURL: baseURL, APIKey: key, HTTP: a.http}).Models(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]commands.Discovered, 0, len(models))
	for _, m := range models {
		out = append(out, commands.Discovered{Name: m.ID, ContextLength: int(min(m.ContextLength, 1e9))})
	}
	return out, nil
}

func (a *app) close() error {
	a.http.CloseIdleConnections()
	return a.log.Close()
}

// newLogger writes structured logs to w.
func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, &usageError{fmt.Sprintf("LEMBAS_LOG_LEVEL %q: debug, info, warn or error", level)}
	}
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, &usageError{fmt.Sprintf("LEMBAS_LOG_FORMAT %q: text or json", format)}
}

// mustExist refuses a directory that holds no log: a command that only looks
// must not make one.
func mustExist(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return fmt.Errorf("%s is not a data directory: give the right one with --data, or make one with lembas serve", dir)
	}
	return nil
}
