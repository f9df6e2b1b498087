package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"lembas/events/store"
)

// InfoCmd shows what there is.
type InfoCmd struct{}

// Run shows it.
func (InfoCmd) Run(ctx context.Context, p *program, g *Globals) error {
	return perform(ctx, p, g, &infoCall{}, false)
}

type infoCall struct{}

func (*infoCall) name() string { return "info" }

func (*infoCall) run(ctx context.Context, a *app, out io.Writer) error {
	counts, err := countEvents(ctx, a)
	if err != nil {
		return err
	}
	models, err := a.service.Models(ctx, false)
	if err != nil {
		return err
	}
	connections, err := a.service.Connections(ctx)
	if err != nil {
		return err
	}
	root, err := a.log.Root(a.log.Head())
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return err
	}
	server := "not running"
	if a.serving {
		server = a.address
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]any{
		{"version", version}, {"data", dir}, {"server", server}, {"epoch", a.log.Epoch()}, {"head", a.log.Head()},
		{"root", root}, {"users", counts["user.registered"]}, {"chats", counts["chat.created"] - counts["chat.deleted"]},
		{"replies", counts["reply.requested"]}, {"connections", len(connections)}, {"models", len(models)},
	} {
		_, _ = fmt.Fprintf(w, "%v:\t%v\n", row[0], row[1])
	}
	return w.Flush()
}

// countEvents counts a few types by their headers.
func countEvents(ctx context.Context, a *app) (map[string]int, error) {
	n := map[string]int{}
	keep := func(typ, _ string) bool { // pure: it is called by several goroutines
		switch typ {
		case "user.registered", "chat.created", "chat.deleted", "reply.requested":
			return true
		}
		return false
	}
	for e, err := range a.log.ReadFilter(ctx, 0, keep) {
		if err != nil {
			return nil, err
		}
		n[e.Type]++
	}
	return n, nil
}

// BackupCmd copies a data directory.
type BackupCmd struct {
	Dir string `arg:"" help:"A directory that is new or empty."`
}

// Run makes the copy.
func (c *BackupCmd) Run(ctx context.Context, p *program, g *Globals) error {
	dir, err := filepath.Abs(c.Dir) // the server has another working directory
	if err != nil {
		return err
	}
	return perform(ctx, p, g, &backupCall{Dir: dir}, false)
}

type backupCall struct{ Dir string }

func (*backupCall) name() string { return "backup" }

func (c *backupCall) run(_ context.Context, a *app, out io.Writer) error {
	if err := a.log.Backup(c.Dir); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "copied up to position %d at least into %s\n", a.log.Head(), c.Dir)
	return err
}

// RestoreCmd makes a data directory from a copy.
type RestoreCmd struct {
	Dir     string `arg:"" help:"The copy that backup made."`
	Replace bool   `help:"Give up what the data directory holds."`
}

// Run restores; no server may hold the data directory.
func (c *RestoreCmd) Run(p *program, g *Globals) error {
	logger, err := newLogger(p.stderr, "warn", "text")
	if err != nil {
		return err
	}
	if err := store.Restore(c.Dir, g.Data, c.Replace, store.Options{Logger: logger, Release: version}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "restored %s into %s with a new epoch\n", c.Dir, g.Data)
	return err
}

// VerifyCmd reads everything.
type VerifyCmd struct{}

// Run verifies a directory, or what a running server holds.
func (VerifyCmd) Run(ctx context.Context, p *program, g *Globals) error {
	if err := mustExist(g.Data); err != nil {
		return err
	}
	if done, err := overSocket(ctx, g.Data, &verifyCall{}, p.stdout); done {
		return err
	}
	logger, err := newLogger(p.stderr, "warn", "text")
	if err != nil {
		return err
	}
	// Not through openApp: a damaged directory must still be looked at, and
	// nothing may be written to it.
	r, err := store.VerifyDir(ctx, g.Data, store.Options{Logger: logger, Release: version}, nil)
	return report(p.stdout, r, err)
}

type verifyCall struct{}

func (*verifyCall) name() string { return "verify" }

func (*verifyCall) run(ctx context.Context, a *app, out io.Writer) error {
	r, err := a.log.Verify(ctx, nil)
	return report(out, r, err)
}

func report(out io.Writer, r store.Report, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "good: %d events of %d streams, epoch %s, root %s\n", r.Head, r.Streams, r.Epoch, r.Root)
	return err
}
